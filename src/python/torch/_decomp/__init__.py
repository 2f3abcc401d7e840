"""Decompositions: operators in terms of simpler ones, by overload.

The rules are the catalogue's (`torch.compile`'s default backend traces with them), as far as they are also those of PyTorch's own
table; what that table takes apart otherwise, or in addition, is not here, and asking for it is an error.
"""

from collections import defaultdict

import torch
from torch import _native_aot
from torch._decomp.core import RULES
from torch._ops import OpOverload, OpOverloadPacket

__all__ = ["decomposition_table", "register_decomposition", "get_decompositions", "core_aten_decompositions", "remove_decompositions"]

# The default backend's own: PyTorch's table has other rules for them, or none.
_OTHER_RULES = {
    f"aten.{name}"
    for name in (
        "_softmax_backward_data.default addmm.default amax.default amin.default angle.default bmm.default cat.default "
        "clamp.Tensor clamp.default embedding_dense_backward.default fmax.default fmin.default full.default full_like.default "
        "index_add.default lerp.Scalar lerp.Tensor lift.default max_pool2d_with_indices.default max_pool3d_with_indices.default "
        "mm.default narrow_copy.default native_layer_norm.default put.default rand_like.default randint.default "
        "randint_like.default randint_like.low_dtype randn_like.default round.decimals silu.default special_log_ndtr.default"
    ).split()
}
# Operators that the core of ATen has.
_CORE = {
    f"aten.{name}"
    for name in (
        "_log_softmax.default _native_batch_norm_legit.no_stats _native_batch_norm_legit_functional.default "
        "_native_batch_norm_legit_no_training.default _softmax.default _to_copy.default addmm.default addmv.default "
        "arange.start_step cauchy.default dist.default elu.default exponential.default flip.default gelu.default "
        "geometric.default hardtanh.default index_select.default leaky_relu.default log_normal.default "
        "max_pool2d_with_indices_backward.default clamp.default embedding.default native_layer_norm.default relu.default native_batch_norm.default native_dropout.default native_group_norm.default "
        "normal.Tensor_Tensor normal.Tensor_float normal.float_Tensor normal.float_float normal_functional.default "
        "add.Tensor adaptive_max_pool2d.default grid_sampler_2d.default repeat_interleave.Tensor tril_indices.default triu_indices.default "
        "permute_copy.default rrelu_with_noise_backward.default uniform.default"
    ).split()
}


class _Rule:
    """A decomposition of the catalogue's as a function of Python."""

    def __init__(self, overload):
        self.overload = overload
        self.__name__ = str(overload).split(".")[1]

    def __call__(self, *args, **kwargs):
        made = _native_aot._decomposed(self.overload, *args, **kwargs)
        # What the rule leaves alone stays the call it is.
        return self.overload(*args, **kwargs) if made is NotImplemented else made

    def __repr__(self):
        return f"<decomposition of {self.overload}>"


def _overload(name):
    namespace, packet, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet, None), overload, None)


_FOUND = [_overload(name) for name in _native_aot._decomposition_names() if name not in _OTHER_RULES]
decomposition_table = {op: _Rule(op) for op in _FOUND if op is not None}
decomposition_table |= RULES
global_decomposition_table = {"post_autograd": decomposition_table}


def _overloads(op):
    if isinstance(op, OpOverload):
        return [op]
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    raise RuntimeError(f"{op} is not an operator")


def register_decomposition(aten_op, registry=None, *, type="post_autograd", unsafe=False):
    """Says what an operator, or each of several, comes to; the table it goes to is `registry`."""
    if type != "post_autograd":
        raise NotImplementedError(f"register_decomposition(type={type!r}) is not available in the playground")
    table = decomposition_table if registry is None else registry

    def decorator(fn):
        for op in aten_op if isinstance(aten_op, (list, tuple)) else [aten_op]:
            for overload in _overloads(op):
                if overload in table:
                    raise RuntimeError(f"duplicate registrations for {overload}")
                table[overload] = fn
        return fn

    return decorator


def get_decompositions(aten_ops, type="post_autograd"):
    """The rules of some operators, of all their overloads."""
    from torch._arguments import unobeyed

    unobeyed("get_decompositions", type=(type, "post_autograd"))
    found = defaultdict(list)
    for op in decomposition_table:
        found[str(op).rpartition(".")[0]].append(op)
    rules = {}
    for op in aten_ops:
        overloads = [op] if isinstance(op, OpOverload) else found[str(op)]
        # Of what has no rule in PyTorch, there is none here.
        if not any(o in decomposition_table for o in overloads) and _packet(op) in _absent_names():
            raise NotImplementedError(f"the decomposition of {op} is not available in the playground")
        rules.update((o, decomposition_table[o]) for o in overloads if o in decomposition_table)
    return rules


def _packet(op):
    return str(op).split(".")[1]


def _absent_names():
    from torch._decomp._absent import NAMES

    return NAMES


def remove_decompositions(decompositions, aten_ops):
    """Takes the rules of some operators away."""
    for op in aten_ops:
        for overload in _overloads(op):
            decompositions.pop(overload, None)


def core_aten_decompositions():
    """Rules for what is not in ATen's core, with those of operators that are composed of others."""
    from torch.export import default_decompositions

    return default_decompositions()


def _core_rules():
    return {op: rule for op, rule in decomposition_table.items() if str(op) not in _CORE}
