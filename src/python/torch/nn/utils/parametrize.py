"""Parameters that are functions of others: a property of the module's own new class computes them when they are read."""

from contextlib import contextmanager

import torch
from torch.nn.modules.container import ModuleDict, ModuleList
from torch.nn.parameter import Parameter

__all__ = [
    "cached", "ParametrizationList", "register_parametrization", "is_parametrized", "remove_parametrizations",
    "type_before_parametrizations",
]  # fmt: skip

_cache_enabled = 0
_cache = {}


@contextmanager
def cached():
    """Inside, each parametrized tensor is computed once."""
    global _cache, _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache = {}


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _set(target, value):
    """Lets `target` have the memory of `value`."""
    target.data = value.data if isinstance(value, Parameter) else value.detach()


def _mismatch(what, first, second, allowed):
    raise ValueError(f"{what}, unless {allowed}`unsafe` flag is enabled.\n{first}\n{second}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and what they are computed from: `original`, or `original0`, `original1`, ..."""

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with torch.no_grad():
            new = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass
        if not isinstance(new, (torch.Tensor, list, tuple)):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, torch.Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if original.dtype != new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            if original.device != new.device:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the device.\n"
                    f"original.device: {original.device}\nright_inverse(original).device: {new.device}"
                )
            with torch.no_grad():
                _set(original, new)
            _register(self, "original", original)
        else:
            for place, one in enumerate(new):
                if not isinstance(one, torch.Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                        f"{place} of the sequence with type {type(one).__name__}."
                    )
                if isinstance(original, Parameter):
                    one = Parameter(one, original.requires_grad)
                one.requires_grad_(original.requires_grad)
                _register(self, f"original{place}", one)
        if not unsafe:
            value = self()
            if not isinstance(value, torch.Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
            for kind, before, after in (("dtype", dtype, value.dtype), ("shape", shape, value.shape)):
                if before != after:
                    _mismatch(
                        f"Registering a parametrization may not change the {kind} of the tensor",
                        f"unparametrized {kind}: {before}",
                        f"parametrized {kind}: {after}",
                        "",
                    )

    def right_inverse(self, value):
        """Sets the originals so that the parametrized tensor is `value`."""
        with torch.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, torch.Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                        f"{self.original.dtype}"
                    )
                _set(self.original, value)
                return
            if not isinstance(value, (list, tuple)):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length "
                    f"{len(value)}."
                )
            for place, one in enumerate(value):
                original = getattr(self, f"original{place}")
                if original.dtype != one.dtype:
                    raise ValueError(
                        f"Tensor {place} returned by `right_inverse` has dtype {one.dtype} while `original{place}` has dtype "
                        f"{original.dtype}"
                    )
                _set(original, one)

    def forward(self):
        first, *rest = self
        if self.is_tensor:
            value = first(self.original)
        else:
            value = first(*(getattr(self, f"original{place}") for place in range(self.ntensors)))
        for module in rest:
            value = module(value)
        return value


def _inject_new_class(module):
    """Gives a module a class of its own, to which properties can be added."""
    cls = module.__class__

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        from copy import deepcopy

        replica = self.__new__(self.__class__)
        memo[id(self)] = replica
        replica.__dict__ = deepcopy(self.__dict__, memo)
        return replica

    def __getstate__(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    members = {"__getstate__": __getstate__}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = __deepcopy__
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module, name):
    def read(self):
        parametrization = self.parametrizations[name]
        if not _cache_enabled:
            return parametrization()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def write(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(module.__class__, name, property(read, write))


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Makes a parameter or buffer a function (a module) of what it was."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_kept(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
        return module
    if not (tensor_name in module._buffers or tensor_name in module._parameters):
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    chain = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    chains = _chains_of(module)
    _inject_property(module, tensor_name)
    chains[tensor_name] = chain
    return module


def _chains_of(module):
    """What computes each parametrized tensor of a module, which becomes of a class of its own with the first of them."""
    if not is_parametrized(module):
        _inject_new_class(module)
        module.parametrizations = ModuleDict()
    return module.parametrizations


def _check_kept(module, name, parametrization):
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, torch.Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for kind in ("dtype", "shape"):
        if getattr(before, kind) != getattr(after, kind):
            _mismatch(
                f"Registering a parametrization may not change the {kind} of the tensor",
                f"module.{name}.{kind}: {getattr(before, kind)}",
                f"parametrization(module.{name}).{kind}: {getattr(after, kind)}",
                "the ",
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, torch.Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for kind in ("dtype", "shape"):
        if getattr(before, kind) != getattr(back, kind):
            _mismatch(
                f"The tensor returned by parametrization.right_inverse must have the same {kind} as module.{name}",
                f"module.{name}.{kind}: {getattr(before, kind)}",
                f"returned {kind}: {getattr(back, kind)}",
                "the ",
            )


def is_parametrized(module, tensor_name=None):
    """Whether a module has parametrized tensors, or this one."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Makes a tensor plain again, with its computed value or the original one."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with torch.no_grad():
                _set(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of "
            "tensors."
        )
    delattr(module.__class__, tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = module.__class__.__bases__[0]
    return module


def type_before_parametrizations(module):
    """The class a module had."""
    return module.__class__.__bases__[0] if is_parametrized(module) else type(module)
