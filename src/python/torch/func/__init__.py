"""`torch.func`: functional transforms. Each is read when it is first used."""

_PARTS = {
    "_functorch.eager_transforms": (
        "grad grad_and_value vjp jvp jacrev jacfwd hessian linearize functionalize debug_unwrap"
    ),
    "_functorch.vmap": "vmap",
    "_functorch.functional_call": "functional_call stack_module_state",
    "_functorch.batch_norm_replacement": "replace_all_batch_norm_modules_",
}
_HOME = {name: part for part, names in _PARTS.items() for name in names.split()}

__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'torch.func' has no attribute '{name}'")
    value = getattr(__import__(f"torch.{_HOME[name]}", fromlist=[name]), name)
    globals()[name] = value
    return value
