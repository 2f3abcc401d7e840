"""`torch.utils`: each part is read when first used."""


_POISONED = (
    "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run backward on a tensor "
    "that was swapped. For a module m with `torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device "
    "or dtype of the module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, please only change the "
    "device/dtype before running forward (or after both forward and backward)."
)


def swap_tensors(t1, t2):
    """Two tensors change what they are: class, attributes, elements and history. Their objects stay."""
    import copyreg
    import weakref

    from torch import _C
    from torch.autograd.graph import get_gradient_edge

    pair = {"t1": t1, "t2": t2}
    for name, tensor in pair.items():
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots = set(copyreg._slotnames(type(t1)))
    if slots != set(copyreg._slotnames(type(t2))):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")

    def refuse(grad):
        raise RuntimeError(_POISONED)

    for name, tensor in pair.items():
        count = _C._use_count(tensor)
        if count == 1:
            continue
        # Of a leaf that was used, the second one is its AccumulateGrad node.
        if count == 2 and tensor.is_leaf:
            node = get_gradient_edge(tensor).node
            if _C._use_count(tensor) == 2:
                node.register_prehook(refuse)
                continue
        raise RuntimeError(
            f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node but got {count} make sure you are not holding "
            "references to the tensor in other places."
        )

    t1.__class__, t2.__class__ = type(t2), type(t1)
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    missing = object()
    for slot in slots:
        values = getattr(t1, slot, missing), getattr(t2, slot, missing)
        for tensor, value in zip((t2, t1), values):
            if value is not missing:
                setattr(tensor, slot, value)
            elif hasattr(tensor, slot):
                delattr(tensor, slot)
    _C._swap_tensor_impl(t1, t2)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.utils' has no attribute '{name}'")
    try:
        return __import__(f"torch.utils.{name}", fromlist=["_"])
    except ModuleNotFoundError:
        raise AttributeError(f"module 'torch.utils' has no attribute '{name}'") from None
