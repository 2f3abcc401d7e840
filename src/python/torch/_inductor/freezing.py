"""Freezing: the log of frozen graphs, and what stands for parameters that were discarded."""

import logging
import weakref

import torch
import torch.utils._pytree as pytree
from torch import _native_compile

log = logging.getLogger(__name__)


class ErasedTensor(torch.Tensor):
    """Stands for a parameter that was discarded: whatever is computed with it raises."""

    @staticmethod
    def __new__(cls, elem, name, owning_mod):
        made = super().__new__(cls, elem.to(device="meta"))
        made.erased_name = name
        made.owning_mod_ref = weakref.ref(owning_mod)
        # What compiled functions that it was frozen in find in its place.
        made._erased = elem
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        _refuse(func, next(e for e in pytree.arg_tree_leaves(*args, **(kwargs or {})) if isinstance(e, ErasedTensor)))


def _refuse(func, erased):
    raise RuntimeError(
        "Trying to run Pytorch Eager Module after Dynamo Freezing. The original parameters have been discarded for memory efficiency. "
        f"Found in op {func} for erased parameter {erased.erased_name} of {erased.owning_mod_ref()}"
    )


def _log(text):
    _native_compile._outside_of_calls(lambda: log.debug("%s", text))


def _discard(modules):
    """Discards what modules hold; gives it with what stands for it."""
    return _native_compile._outside_of_calls(lambda: _discarded(modules))


def _discarded(modules):
    discarded = []
    with torch.no_grad():
        for module in modules:
            held = [*module._parameters.items(), *module._buffers.items()]
            for name, tensor in held:
                if tensor is None or isinstance(tensor, ErasedTensor):
                    continue
                erased = ErasedTensor(tensor, name, module)
                if isinstance(tensor, torch.nn.Parameter):
                    erased.requires_grad_(True)
                    erased._is_param = True
                setattr(module, name, erased)
                discarded.append((tensor, erased))
    return discarded
