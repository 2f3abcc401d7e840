"""Which modules run: those whose `forward` has begun and not ended, and, during a backward, those whose outputs' gradients have come
and whose inputs' have not."""

import weakref

import torch
from torch.autograd.graph import register_multi_grad_hook
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._pytree import tree_flatten

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A block in which `parents` are the names of the modules that run; `Global` stands for all."""

    def __init__(self):
        self.parents = {"Global"}
        self._names = weakref.WeakKeyDictionary()
        self._named = weakref.WeakSet()
        self._handles = []
        self._task = -1

    @property
    def is_bw(self):
        """Whether a backward runs."""
        return torch._C._current_graph_task_id() != -1

    def _name_of(self, module):
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._named:
            self._named.add(module)
            for child_name, child in module.named_children():
                self._names[child] = f"{name}.{child_name}"
                self._name_of(child)
        return name

    def _begins_backward(self):
        # What an earlier backward has entered and not left is over.
        task = torch._C._current_graph_task_id()
        if task != self._task:
            self._task, self.parents = task, {"Global"}

    def _when_backward(self, tensors, act):
        wanted = [t for t in tree_flatten(tensors)[0] if isinstance(t, torch.Tensor) and t.requires_grad]
        if wanted:
            self._handles.append(register_multi_grad_hook(wanted, act))

    def _enter_module(self, module, args):
        name = self._name_of(module)
        if not self.is_bw and self._task != -1:
            self._task, self.parents = -1, {"Global"}
        self.parents.add(name)
        self._when_backward(args, lambda *_: self.parents.discard(name))

    def _leave_module(self, module, args, output):
        name = self._name_of(module)
        self.parents.discard(name)

        def enter(*_):
            self._begins_backward()
            self.parents.add(name)

        self._when_backward(output, enter)

    def __enter__(self):
        self._handles.append(register_module_forward_pre_hook(self._enter_module))
        self._handles.append(register_module_forward_hook(self._leave_module))
        return self

    def __exit__(self, *args):
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
