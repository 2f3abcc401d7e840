"""A module's hooks: registering them on one module or on all, and the call of a module that has some."""

__dynamo__ = "modules"

from collections import OrderedDict

import torch
from torch._native_compile import _read_first
from torch.utils.hooks import BackwardHook, RemovableHandle

_registration_hooks = {"buffer": OrderedDict(), "module": OrderedDict(), "parameter": OrderedDict()}
_global_backward_pre_hooks = OrderedDict()
_global_backward_hooks = OrderedDict()
_global_is_full_backward_hook = None
_global_forward_pre_hooks = OrderedDict()
_global_forward_hooks = OrderedDict()
_global_forward_hooks_always_called = OrderedDict()
_global_forward_hooks_with_kwargs = OrderedDict()

_MIXED = (
    "Cannot use both regular backward hooks and full backward hooks {}. Please use only one of them."
)


def _add(hooks, hook, prepend=False, flags=()):
    """Adds `hook`, and its id to those of `flags` (pairs of a dict and whether) that are set."""
    handle = RemovableHandle(hooks, extra_dict=[flag for flag, _ in flags])
    hooks[handle.id] = hook
    for flag, is_set in flags:
        if is_set:
            flag[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _registration(kind, module, name, value):
    """`value` as the global registration hooks leave it."""
    for hook in _registration_hooks[kind].values():
        output = hook(module, name, value)
        if output is not None:
            value = output
    return value


def _has_global_call_hooks():
    return (
        _global_backward_pre_hooks or _global_backward_hooks or _global_forward_hooks or _global_forward_pre_hooks
    )


def register_module_buffer_registration_hook(hook):
    """Calls `hook(module, name, buffer)` whenever a buffer is registered."""
    return _add(_registration_hooks["buffer"], hook)


def register_module_module_registration_hook(hook):
    """Calls `hook(module, name, submodule)` whenever a module is registered."""
    return _add(_registration_hooks["module"], hook)


def register_module_parameter_registration_hook(hook):
    """Calls `hook(module, name, parameter)` whenever a parameter is registered."""
    return _add(_registration_hooks["parameter"], hook)


def register_module_forward_pre_hook(hook):
    """A forward pre-hook of all modules."""
    return _add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """A forward hook of all modules."""
    flags = [(_global_forward_hooks_always_called, always_call), (_global_forward_hooks_with_kwargs, with_kwargs)]
    return _add(_global_forward_hooks, hook, flags=flags)


def _register_global_backward(hook, full):
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(_MIXED.format("as a global Module hook"))
    _global_is_full_backward_hook = full
    return _add(_global_backward_hooks, hook)


def register_module_backward_hook(hook):
    """A backward hook of all modules, of the older kind."""
    return _register_global_backward(hook, False)


def register_module_full_backward_hook(hook):
    """A backward hook of all modules."""
    return _register_global_backward(hook, True)


def register_module_full_backward_pre_hook(hook):
    """A backward pre-hook of all modules."""
    return _add(_global_backward_pre_hooks, hook)


def _first_tensor(result):
    """The tensor that stands for what a module gives: the first, all the way down."""
    if isinstance(result, torch.Tensor):
        return result
    if isinstance(result, dict):
        return next(value for value in result.values() if isinstance(value, torch.Tensor))
    return _first_tensor(result[0])


class _WrappedHook:
    """A hook that is given its module first."""

    def __init__(self, hook, module=None):
        import functools
        import weakref

        self.hook = hook
        functools.update_wrapper(self, hook)
        self.module = None if module is None else weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if self.module is None:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)


class ModuleHooks:
    """The part of `Module` that is about hooks."""

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls `hook(module, args)` before every forward."""
        flags = [(self._forward_pre_hooks_with_kwargs, with_kwargs)]
        return _add(self._forward_pre_hooks, hook, prepend, flags)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls `hook(module, args, output)` after every forward."""
        flags = [(self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call)]
        return _add(self._forward_hooks, hook, prepend, flags)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls `hook(module, grad_output)` before this module's part of a backward."""
        return _add(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls `hook(module, grad_input, grad_output)` after this module's part of a backward."""
        return self._register_backward(hook, True, prepend)

    def register_backward_hook(self, hook):
        """The older backward hook, on the node that made the output."""
        return self._register_backward(hook, False)

    def _register_backward(self, hook, full, prepend=False):
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(_MIXED.format("on a single Module"))
        self._is_full_backward_hook = full
        return _add(self._backward_hooks, hook, prepend)

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return _add(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Calls `hook(module, state_dict, prefix, local_metadata)` after `state_dict`."""
        hook._from_public_api = True
        return _add(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        """Calls `hook(module, prefix, keep_vars)` before `state_dict`."""
        return _add(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return _add(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook):
        """Calls `hook(module, state_dict, ...)` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """Calls `hook(module, incompatible_keys)` after loading."""
        return _add(self._load_state_dict_post_hooks, hook)

    def _backward_hooks_of(self, full):
        """The global and own backward hooks of the full or of the older kind."""
        hooks = []
        if _global_is_full_backward_hook is full:
            hooks += _global_backward_hooks.values()
        if self._is_full_backward_hook is full:
            hooks += self._backward_hooks.values()
        return hooks

    def _call_with_hooks(self, args, kwargs):
        called = set()
        result = None
        _read_first(args)
        try:
            args, kwargs = self._run_forward_pre_hooks(args, kwargs)
            full, older = self._backward_hooks_of(True), self._backward_hooks_of(False)
            before = [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
            around = None
            if full or before:
                around = BackwardHook(self, full, before)
                args = around.setup_input_hook(args)
            result = self.forward(*args, **kwargs)
            for hook_id, hook in (*_global_forward_hooks.items(), *self._forward_hooks.items()):
                if hook_id in self._forward_hooks_always_called or hook_id in _global_forward_hooks_always_called:
                    called.add(hook_id)
                output = self._run_forward_hook(hook_id, hook, args, kwargs, result)
                if output is not None:
                    result = output
            if around is not None:
                if not isinstance(result, (torch.Tensor, tuple)):
                    import warnings

                    warnings.warn(
                        "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                        f"received {type(result)}",
                        stacklevel=2,
                    )
                result = around.setup_output_hook(result)
            if older:
                self._hook_output_node(older, args, result)
            return result
        except Exception:
            self._run_always_called_hooks(called, args, kwargs, result)
            raise

    def _run_forward_pre_hooks(self, args, kwargs):
        for hook_id, hook in (*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
            if hook_id in self._forward_pre_hooks_with_kwargs:
                output = hook(self, args, kwargs)
                if output is None:
                    continue
                if not (isinstance(output, tuple) and len(output) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {output}."
                    )
                args, kwargs = output
            else:
                output = hook(self, args)
                if output is not None:
                    args = output if isinstance(output, tuple) else (output,)
        return args, kwargs

    def _run_forward_hook(self, hook_id, hook, args, kwargs, result):
        if hook_id in self._forward_hooks_with_kwargs or hook_id in _global_forward_hooks_with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _run_always_called_hooks(self, called, args, kwargs, result):
        """After a failure: the hooks that are called always, unless they were already."""
        for kind, hooks, always in (
            ("global module", _global_forward_hooks, _global_forward_hooks_always_called),
            ("module", self._forward_hooks, self._forward_hooks_always_called),
        ):
            for hook_id, hook in hooks.items():
                if hook_id not in always or hook_id in called:
                    continue
                try:
                    output = self._run_forward_hook(hook_id, hook, args, kwargs, result)
                    if output is not None:
                        result = output
                except Exception as error:
                    import warnings

                    warnings.warn(
                        f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced as another "
                        f"error was raised in forward: {error}",
                        stacklevel=2,
                    )

    def _hook_output_node(self, hooks, args, result):
        """Puts hooks of the older kind on the node that made the (first) output."""
        node = _first_tensor(result).grad_fn
        if node is None:
            return
        for hook in hooks:
            node.register_hook(_WrappedHook(hook, self))
        self._warn_of_incomplete_gradients(args, result, node)

    def _warn_of_incomplete_gradients(self, inputs, result, node):
        def warn(why, missing, advice=True):
            import warnings

            end = " Please use register_full_backward_hook to get the documented behavior." if advice else ""
            warnings.warn(
                f"Using {why} is deprecated and will be removed in future versions. This hook will be missing some "
                f"{missing}.{end}",
                FutureWarning,
                stacklevel=2,
            )

        def tensors_of(value):
            if isinstance(value, torch.Tensor):
                return (value,)
            if isinstance(value, tuple) and all(isinstance(one, torch.Tensor) for one in value):
                return value
            return None

        outputs = tensors_of(result)
        if outputs is None:
            one = "a Module that does not return a single Tensor or a tuple of Tensors"
            warn(f"non-full backward hooks on {one}", "of the grad_output")
            return
        tensors = tensors_of(inputs)
        if tensors is None:
            one = "a Module that does not take as input a single Tensor or a tuple of Tensors"
            warn(f"non-full backward hooks on {one}", "of the grad_input")
            return
        makers = {tensor.grad_fn for tensor in outputs if tensor.grad_fn is not None}
        if len(makers) == 0 or (len(makers) == 1 and node not in makers):
            warn("a non-full backward hook when outputs are nested in python data structure", "grad_output", False)
        elif len(makers) > 1:
            warn("a non-full backward hook when outputs are generated by different autograd Nodes", "grad_output")
        else:
            before = {tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None}
            if before != {entry[0] for entry in node.next_functions}:
                warn("a non-full backward hook when the forward contains multiple autograd Nodes", "grad_input")
