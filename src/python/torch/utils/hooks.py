"""Handles that remove hooks, and how a module's backward hooks are put around its forward."""

import weakref
from collections import OrderedDict

import torch

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks", "BackwardHook"]


class RemovableHandle:
    """Removes the hook it stands for."""

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        if extra_dict is None:
            extra_dict = []
        elif isinstance(extra_dict, dict):
            extra_dict = [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extra_dict)

    def remove(self):
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return (self.hooks_dict_ref(), self.id, tuple(reference() for reference in self.extra_dict_ref))

    def __setstate__(self, state):
        hooks, self.id, extra = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if one is None else one) for one in extra)

    def __enter__(self):
        return self

    def __exit__(self, type, value, tb):
        self.remove()


def unserializable_hook(f):
    """Marks a hook that is not to be saved with its tensor."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    """Nothing is serialized here, so nothing is lost."""


class BackwardHook:
    """A module's full backward hooks around one call of its forward.

    An identity node on the inputs and one on the outputs mark the module's ends in the tape. The hook on the outputs' node
    keeps the gradients that arrive, the one on the inputs' node calls the script's hooks with both.
    """

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs = None
        self.n_inputs = self.n_outputs = -1
        self.input_tensors_index = self.output_tensors_index = None

    @staticmethod
    def _spread(indices, values, size):
        result = [None] * size
        for index, value in zip(indices, values, strict=True):
            result[index] = value
        return tuple(result)

    def _through_identity(self, register, args):
        places = [place for place, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        tensors = [args[place] for place in places]
        if not (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)):
            return args, None
        from torch.nn.modules._functions import BackwardHookFunction

        marked = BackwardHookFunction.apply(*tensors)
        nodes = [
            tensor.grad_fn
            for tensor in marked
            if tensor.grad_fn is not None and tensor.grad_fn.name() == "BackwardHookFunctionBackward"
        ]
        if not nodes:
            raise RuntimeError(
                "Error while setting up backward hooks. Please open an issue with a code sample to reproduce this."
            )
        register(nodes[0])
        replaced = list(args)
        for place, tensor in zip(places, marked):
            replaced[place] = tensor
        result = tuple(replaced) if type(args) is tuple else type(args)(*replaced)
        return result, places

    def setup_input_hook(self, args):
        def on_node(node):
            node.register_hook(self._on_input_gradients)

        result, self.input_tensors_index = self._through_identity(on_node, args)
        self.n_inputs = len(args)
        return result

    def _on_input_gradients(self, grad_input, _):
        if self.grad_outputs is None:
            return None
        gradients = self._spread(self.input_tensors_index, grad_input, self.n_inputs)
        for hook in self.user_hooks:
            out = hook(self.module, gradients, self.grad_outputs)
            if out is None:
                continue
            if not isinstance(out, tuple):
                out = (out,)
            if len(out) != len(gradients):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(out)}, but expected {len(gradients)}"
                )
            gradients = out
        self.grad_outputs = None
        return tuple(gradients[index] for index in self.input_tensors_index)

    def setup_output_hook(self, args):
        def on_node(node):
            node.register_hook(self._on_output_gradients)

        single = not isinstance(args, tuple)
        if single:
            args = (args,)
        result, self.output_tensors_index = self._through_identity(on_node, args)
        self.n_outputs = len(args)
        return result[0] if single else result

    def _on_output_gradients(self, _, grad_output):
        self.grad_outputs = self._spread(self.output_tensors_index, grad_output, self.n_outputs)
        expected = len(self.grad_outputs)
        for hook in self.user_pre_hooks:
            out = hook(self.module, self.grad_outputs)
            if out is None:
                continue
            if not isinstance(out, tuple):
                out = (out,)
            if len(out) != expected:
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(out)}, but expected {expected}"
                )
            self.grad_outputs = out
        gradients = self.grad_outputs
        if self.input_tensors_index is None:
            self._without_input_gradients()
        return tuple(gradients[index] for index in self.output_tensors_index)

    def _without_input_gradients(self):
        if self.user_hooks:
            import warnings

            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
                "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.register_full_backward_hook for more details.",
                stacklevel=5,
            )
        for hook in self.user_hooks:
            out = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if out is not None and not (isinstance(out, tuple) and all(one is None for one in out)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for all "
                    "gradients."
                )
        self.grad_outputs = None


def _node_handle(node, hook, before):
    """Registers a hook on a node of the tape."""
    handle = RemovableHandle(OrderedDict())
    number = handle.id
    (node._register_prehook if before else node._register_hook)(number, hook)
    handle.remove = lambda: node._remove_hook(number)
    return handle
