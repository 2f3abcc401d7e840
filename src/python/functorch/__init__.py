"""`functorch`: kept for scripts that say it; its parts are in `torch.func` and `torch._functorch`. Each is read when it is first used."""

_FUNC = "grad grad_and_value vjp jvp jacrev jacfwd hessian vmap functionalize"
_HOME = {name: "torch.func" for name in _FUNC.split()} | {"make_fx": "torch.fx.experimental.proxy_tensor"}
_HOME |= dict.fromkeys(("make_functional", "make_functional_with_buffers", "combine_state_for_ensemble"), "torch._functorch.make_functional")


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'functorch' has no attribute '{name}'")
    return getattr(__import__(_HOME[name], fromlist=[name]), name)
