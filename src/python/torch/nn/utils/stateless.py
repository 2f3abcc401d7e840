"""A module called with other parameters than its own."""

import contextlib

import torch

__all__ = ["functional_call"]


def _with_tied_names(module, tensors):
    """The tensors also under the other names of parameters that are the same one."""
    own = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    names_of = {}
    for name, tensor in own.items():
        names_of.setdefault(tensor, set()).add(name)
    tied = {name: names for names in names_of.values() if len(names) > 1 for name in names}
    result = dict(tensors)
    given = [name for name in tensors if name in tied]
    for name in given:
        names = tied[name]
        if len({id(tensors[other]) for other in names if other in tensors}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider using "
                "tie_weights=False"
            )
        for other in names:
            result[other] = tensors[name]
    return result


def _swap(module, path, tensor):
    """Puts a tensor at a dotted path and gives the one that was there."""
    path, _, name = path.rpartition(".")
    owner = module.get_submodule(path)
    for registry in (owner._parameters, owner._buffers):
        if name in registry:
            before, registry[name] = registry[name], tensor
            return before
    before = getattr(owner, name)
    setattr(owner, name, tensor)
    return before


def _has(module, path):
    path, _, name = path.rpartition(".")
    try:
        return hasattr(module.get_submodule(path), name)
    except AttributeError:
        return False


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False, stack_weights=False):
    tensors = _with_tied_names(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        own = {name for name, _ in module.named_parameters(remove_duplicate=False)}
        own |= {name for name, _ in module.named_buffers(remove_duplicate=False)}
        unexpected = [name for name in tensors if name not in own]
        missing = [name for name in sorted(own) if name not in tensors]
        messages = []
        if unexpected:
            messages.append(f"Unexpected key(s): {', '.join(map(repr, unexpected))}.")
        if missing:
            messages.append(f"Missing key(s): {', '.join(map(repr, missing))}.")
        if messages:
            raise RuntimeError(
                "Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(), "\n\t".join(messages))
            )
    before = {}
    try:
        for name, tensor in tensors.items():
            if not isinstance(tensor, torch.Tensor):
                raise TypeError(f"{tensor} is not an instance of torch.Tensor")
            if _has(module, name):
                before[name] = _swap(module, name, tensor)
        yield
    finally:
        for name, tensor in before.items():
            after = _swap(module, name, tensor)
            if name in parameters_and_buffers:
                parameters_and_buffers[name] = after


def _functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    if type(module).__name__ == "DataParallel":
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    positional = args if isinstance(args, tuple) else () if args is None else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*positional, **(kwargs or {}))


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """Of old; see `torch.func.functional_call`."""
    import warnings

    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of "
        "PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )
