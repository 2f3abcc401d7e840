"""`Module`, the base of everything in `torch.nn`: what it registers, how it is called, moved and printed."""

__dynamo__ = "modules"

import sys
import weakref
from collections import OrderedDict

import torch
from torch import _native_compile
from torch._native_compile import _enter_module, _gives, _is_compiling, _leave_module, _touch
from torch.nn.modules._module_hooks import ModuleHooks, _has_global_call_hooks, _registration
from torch.nn.modules._module_hooks import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from torch.nn.modules._module_state import ModuleState, _IncompatibleKeys, _is_tensor_like
from torch.nn.parameter import Buffer, Parameter

__all__ = [
    "register_module_forward_pre_hook",
    "register_module_forward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_backward_hook",
    "register_module_full_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
    "Module",
]

def _addindent(text, count):
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * count + line if line.strip() else "" for line in rest)])


def _forward_unimplemented(self, *input):
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


# What a module keeps beside its attributes, in this order, and what makes its first value.
_FIRST_STATE = {
    "training": lambda: True,
    "_parameters": dict,
    "_buffers": dict,
    "_non_persistent_buffers_set": set,
    "_backward_pre_hooks": OrderedDict,
    "_backward_hooks": OrderedDict,
    "_is_full_backward_hook": lambda: None,
    **dict.fromkeys(
        (
            "_forward_hooks",
            "_forward_hooks_with_kwargs",
            "_forward_hooks_always_called",
            "_forward_pre_hooks",
            "_forward_pre_hooks_with_kwargs",
            "_state_dict_hooks",
            "_state_dict_pre_hooks",
            "_load_state_dict_pre_hooks",
            "_load_state_dict_post_hooks",
        ),
        OrderedDict,
    ),
    "_modules": dict,
}

# What has been there from the beginning; a module pickled by an older version may lack the rest.
_REQUIRED_STATE = ("training", "_parameters", "_buffers", "_backward_hooks", "_forward_hooks", "_modules")


def _is_fake(tensor):
    """Whether a tensor is a script's fake tensor."""
    fake = sys.modules.get("torch._subclasses.fake_tensor")
    return fake is not None and isinstance(tensor, fake.FakeTensor)


# Modules that were called without hooks while they were captured, and those before which a capture ended because they had backward hooks,
# by id.
_bare = weakref.WeakValueDictionary()
_left_out = weakref.WeakValueDictionary()


def _kept_way(module):
    """How a module is called that was captured before: "bare" without its hooks, "outside" of the capture, or None for as it is now. Dynamo
    guards neither on there being no hooks nor on there being some, so that a cache entry made before that changed serves on."""
    known = id(module)
    has_backward_hooks = module._backward_hooks or module._backward_pre_hooks
    if not (has_backward_hooks or module._forward_hooks or module._forward_pre_hooks):
        if known not in _left_out:
            if _has_global_call_hooks():
                # Hooks of all modules are the module's, too, and what was captured with some depends on them.
                if known in _bare and _native_compile._serves_again():
                    return "bare"
                _bare.pop(known, None)
                return None
            if known not in _bare:
                _bare[known] = module
            return None
        if _native_compile._serves_again():
            return "outside"
        del _left_out[known]
        _bare[known] = module
        return None
    if known in _bare and _native_compile._serves_again():
        return "bare"
    _bare.pop(known, None)
    if has_backward_hooks:
        _left_out[known] = module
        return "outside"
    return None


def _not_erased(value):
    """What a captured graph finds where a parameter was discarded: the graph that it was frozen in still serves."""
    if type(value) in (Parameter, torch.Tensor) or not _is_compiling():
        return value
    return getattr(value, "_erased", value)


class Module(ModuleHooks, ModuleState):
    """A part of a network: parameters, buffers and further modules, and a `forward`."""

    dump_patches = False
    _version = 1
    call_super_init = False
    _compiled_call_impl = None
    _is_never_captured = False
    forward = _forward_unimplemented

    def __init__(self, *args, **kwargs):
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        self.__dict__.update((name, make()) for name, make in _FIRST_STATE.items())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # Registration

    def _check_name(self, kind, name, registered):
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {torch.typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in registered and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is part of the module's state but no parameter."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not _is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _registration("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        """Adds a parameter."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{torch.typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param.grad_fn:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = _registration("parameter", self, name, param)

    def add_module(self, name, module):
        """Adds a child module."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = _registration("module", self, name, module)

    def register_module(self, name, module):
        """Alias of `add_module`."""
        self.add_module(name, module)

    def get_submodule(self, target):
        """The module at a dotted path."""
        module = self
        for item in target.split(".") if target else ():
            if not hasattr(module, item):
                raise AttributeError(f"{module._get_name()} has no attribute `{item}`")
            module = getattr(module, item)
            if not isinstance(module, Module):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Puts a module at a dotted path."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if hasattr(parent, name):
            if not isinstance(getattr(parent, name), Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        elif strict:
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        setattr(parent, name, module)

    def _get_member(self, target, registry, description):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in getattr(module, registry):
            raise AttributeError(f"`{name}` is not {description}")
        return getattr(module, name)

    def get_parameter(self, target):
        """The parameter at a dotted path."""
        return self._get_member(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target):
        """The buffer at a dotted path."""
        return self._get_member(target, "_buffers", "a buffer")

    # Attributes

    def __getattr__(self, name):
        state = self.__dict__
        for registry in ("_parameters", "_buffers", "_modules"):
            members = state.get(registry)
            if members is not None and name in members:
                value = members[name]
                if registry != "_modules" and value is not None:
                    # Captured graphs take parameters as inputs in the order in which they are read.
                    _touch(value := _not_erased(value))
                return value
        if name == "__qualname__":
            # Asked for by the interpreter before a call with `**kwargs`, for a message: without it, it prints the whole module.
            return type(self).__qualname__
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        state = self.__dict__
        parameters = state.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
            return
        modules = state.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers")
            modules[name] = _registration("module", self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = _registration("module", self, name, value)
            return
        buffers = state.get("_buffers")
        if buffers is not None and name in buffers or isinstance(value, Buffer):
            if value is not None and not _is_tensor_like(value):
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            if value is not None and buffers is not None and buffers.get(name) is value:
                _native_compile._stored_again(value)
            if isinstance(value, Buffer):
                persistent = value.persistent
                if buffers is not None and name not in buffers:
                    state.pop(name, None)
            else:
                persistent = name not in self._non_persistent_buffers_set
            self.register_buffer(name, value, persistent)
            return
        if state.get(name) is value and _is_tensor_like(value):
            _native_compile._stored_again(value)
        object.__setattr__(self, name, value)

    def _forget(self, name, *registries):
        """Takes `name` out of what it was registered as, before it becomes something else."""
        state = self.__dict__
        state.pop(name, None)
        for registry in registries:
            state[registry].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name):
        for registered in (self._parameters, self._buffers, self._modules):
            if name in registered:
                del registered[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        keys = [*dir(self.__class__), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(key for key in keys if not key[0].isdigit())

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name, make in _FIRST_STATE.items():
            if name not in _REQUIRED_STATE:
                self.__dict__.setdefault(name, make())

    # Calling

    def _wrapped_call_impl(self, *args, **kwargs):
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        if not _enter_module(self):
            return self._call_impl(*args, **kwargs)
        try:
            if "_initialize_hook" in self.__dict__ and _native_compile._is_capturing():
                self._initialize_before_capture(args, kwargs)
            way = _kept_way(self)
            if way == "bare":
                return _gives(self.forward(*args, **kwargs))
            if self._is_never_captured and _native_compile._is_capturing() or way == "outside":
                from torch._dynamo.eval_frame import call_outside

                return call_outside(self, args, kwargs)
            return _gives(self._call_impl(*args, **kwargs))
        finally:
            _leave_module()

    def _call_impl(self, *args, **kwargs):
        if not (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or _has_global_call_hooks()
        ):
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    __call__ = _wrapped_call_impl

    def _call_outside(self, reason, args, kwargs):
        """Calls the module as it is: what is being captured ends here."""
        _native_compile._graph_break("titled", reason)
        with _native_compile._suspended():
            return self._wrapped_call_impl(*args, **kwargs)

    def compile(self, *args, **kwargs):
        """Compiles the call of this module in place."""
        self._compiled_call_impl = torch.compile(self._call_impl, *args, **kwargs)

    # Walking

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                if isinstance(member, torch.Tensor):
                    _touch(member := _not_erased(member))
                yield (f"{path}.{name}" if path else name), member

    def parameters(self, recurse=True):
        """Iterates over the parameters."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Iterates over the parameters and their dotted names."""
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """Iterates over the buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Iterates over the buffers and their dotted names."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self):
        """Iterates over the immediate children."""
        for _, module in self.named_children():
            yield module

    def named_children(self):
        """Iterates over the immediate children and their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate=True):
        """Iterates over this module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Iterates over this module and all below it, with their dotted names."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def apply(self, fn):
        """Calls `fn` on every module, children first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # Modes

    def train(self, mode=True):
        """Sets training mode."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Sets evaluation mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Says whether the parameters want gradients."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forgets the parameters' gradients, or sets them to zero."""
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
                continue
            if param.grad.grad_fn is not None:
                param.grad.detach_()
            else:
                param.grad.requires_grad_(False)
            param.grad.zero_()

    def share_memory(self):
        """See `Tensor.share_memory_`."""
        return self._apply(lambda tensor: tensor.share_memory_())

    # Conversion

    def _apply(self, fn, recurse=True):
        if recurse:
            for module in self.children():
                module._apply(fn)
        for key, param in self._parameters.items():
            if param is None:
                continue
            with torch.no_grad():
                applied = fn(param)
            if _is_fake(param):
                # A mode of fake tensors knows its tensors by weak references.
                cause = RuntimeError("Cannot swap t1 because it has weakref associated with it")
                raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{key}") from cause
            grad = param.grad
            in_place = torch._has_compatible_shallow_copy_type(param, applied)
            if in_place:
                param.data = applied
                kept = param
            else:
                kept = Parameter(applied, param.requires_grad)
                self._parameters[key] = kept
            if grad is not None:
                with torch.no_grad():
                    grad_applied = fn(grad)
                if in_place:
                    kept.grad.data = grad_applied
                else:
                    kept.grad = grad_applied.requires_grad_(grad.requires_grad)
        for key, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[key] = fn(buffer)
        return self

    def cuda(self, device=None):
        """Moves everything to a CUDA device."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def cpu(self):
        """Moves everything to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def type(self, dst_type):
        """Casts everything to one dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self):
        """Casts floating-point tensors to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self):
        """Casts floating-point tensors to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self):
        """Casts floating-point tensors to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self):
        """Casts floating-point tensors to bfloat16."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def to_empty(self, *, device, recurse=True):
        """Moves everything to a device without its values."""
        return self._apply(lambda tensor: torch.empty_like(tensor, device=device), recurse=recurse)

    def to(self, *args, **kwargs):
        """Moves and casts everything."""
        device, dtype, non_blocking, memory_format = torch._C._nn._parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor):
            casts = tensor.is_floating_point() or tensor.is_complex()
            try:
                if memory_format is not None and tensor.dim() in (4, 5):
                    return tensor.to(device, dtype if casts else None, non_blocking, memory_format=memory_format)
                return tensor.to(device, dtype if casts else None, non_blocking)
            except NotImplementedError as error:
                base = "Cannot copy out of meta tensor; no data!"
                message = str(error)
                if not message.startswith(base):
                    raise
                raise NotImplementedError(
                    f"{base} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module from "
                    f"meta to a different device.{message[len(base) :]}"
                ) from None

        return self._apply(convert)

    # Printing

    def _get_name(self):
        return self.__class__.__name__

    def extra_repr(self):
        """What a subclass prints of itself beside its children."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        lines = [f"({key}): {_addindent(repr(module), 2)}" for key, module in self._modules.items()]
        if not lines and len(extra_lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(extra_lines + lines) + "\n)"
