"""What those who write higher-order operators use: bodies as graphs, their names, what a body does to its inputs."""

import dataclasses
import functools

import torch
import torch.utils._pytree as pytree
from torch import _native_trace
from torch._keys import Left, Within
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, make_fx, traced_body

__all__ = [
    "UnsupportedAliasMutationException", "autograd_not_implemented", "has_potential_input_alias_or_mutation", "redirect_to_mode",
    "reenter_make_fx", "register_fake", "save_values_for_backward", "saved_values", "unique_graph_id",
]


@dataclasses.dataclass
class UnsupportedAliasMutationException(RuntimeError):
    """A body writes to its inputs or gives them back, where its operator cannot have that."""

    reason: str


def autograd_not_implemented_inner(operator, delayed_error, *args, **kwargs):
    """Calls an operator below autograd. Where something has a derivative that is an error: at once, or when it is asked for."""
    with torch._C._AutoDispatchBelowAutograd():
        result = operator(*args, **kwargs)
        operands = [t for t in pytree.arg_tree_leaves(*args) if isinstance(t, torch.Tensor)]
        if not torch.is_grad_enabled() or not any(t.requires_grad for t in operands):
            return result
        said = f"Autograd not implemented for {operator}"
        if not delayed_error:
            raise RuntimeError(said)

        def delayed(t):
            return _native_trace.with_error(t, said) if t.is_floating_point() or t.is_complex() else t

        return pytree.tree_map_only(torch.Tensor, delayed, result)


def autograd_not_implemented(op, deferred_error):
    """A function for `DispatchKey.Autograd` of an operator that has no derivative."""
    return functools.partial(autograd_not_implemented_inner, op, deferred_error)


def reenter_make_fx(fn, subgraph_decomp_table=None):
    """A function that gives the graph of `fn`, traced as what is traced around it is."""
    if subgraph_decomp_table is not None:
        raise NotImplementedError("reenter_make_fx with a table of its own is not available in the playground")

    @functools.wraps(fn)
    def wrapped(*args):
        return traced_body(fn, args)

    return wrapped


def _maybe_reenter_make_fx(fn, subgraph_decomp_table=None):
    """The same; where nothing is traced, the graph of `fn` alone."""
    from torch.fx.experimental import proxy_tensor

    if proxy_tensor._handled:
        return reenter_make_fx(fn, subgraph_decomp_table)
    return make_fx(fn, subgraph_decomp_table, "fake")


def unique_graph_id(proxy_mode, prefix):
    """A number and a name that are free for a graph."""
    return unique_graph_name_with_root(proxy_mode.tracer.root, prefix)


def unique_graph_name_with_root(root, prefix):
    i = 0
    while hasattr(root, f"{prefix}_{i}"):
        i += 1
    return i, f"{prefix}_{i}"


def redirect_to_mode(hop, mode):
    """Lets a mode's `__torch_dispatch__` answer calls of an operator."""

    @hop.py_impl(mode)
    def impl(mode, *args, **kwargs):
        return mode.__torch_dispatch__(hop, [], args, kwargs)

    return impl


def register_fake(hop, fn=None, *, skip_cache=False):
    """Says what the results of an operator look like: `fn` is called inside of the mode of fake tensors."""

    def register(func):
        @hop.py_impl(FakeTensorMode)
        def impl(mode, *args, **kwargs):
            with mode:
                return func(*args, **kwargs)

        return func

    return register if fn is None else register(fn)


def _aliases(first, second):
    """Which of the first have the memory of one of the second."""
    places = {_native_trace.memory(t): i for i, t in reversed(list(enumerate(second))) if isinstance(t, torch.Tensor)}
    found = {i: places.get(_native_trace.memory(t)) for i, t in enumerate(first) if isinstance(t, torch.Tensor)}
    return {i: j for i, j in found.items() if j is not None}


def potential_input_alias_or_mutation(gm, inputs, pre_dispatch=False):
    """What a body does to its inputs, seen on tensors without values: which inputs share memory, which results have that of an input,
    which results share memory; and which inputs are written to."""
    flat, spec = pytree.tree_flatten(list(inputs))
    memory = {}
    fakes = [_native_trace.fake_like(t) if isinstance(t, torch.Tensor) else t for t in flat]
    with Left("functional", "proxy"), Within("autograd"), Within("fake"), torch.no_grad():
        versions = [t._version if isinstance(t, torch.Tensor) else None for t in fakes]
        outputs = pytree.tree_leaves(gm(*pytree.tree_unflatten(fakes, spec)))
        written = [i for i, t in enumerate(fakes) if isinstance(t, torch.Tensor) and t._version != versions[i]]
    for i, t in enumerate(flat):
        if isinstance(t, torch.Tensor):
            memory.setdefault(_native_trace.memory(t), []).append(i)
    inputs_together = {same[0]: j for same in memory.values() for j in same[1:]}
    outputs_together = {i: j for i, j in _aliases(outputs, outputs).items() if i != j}
    return (inputs_together, _aliases(fakes, outputs), {j: i for i, j in outputs_together.items()}), written


def has_potential_input_alias_or_mutation(gm, inputs, pre_dispatch=False):
    """Whether memory is shared, and whether an input is written to."""
    aliases, written = potential_input_alias_or_mutation(gm, inputs, pre_dispatch)
    return any(aliases), bool(written)


def _has_potential_branch_input_mutation(gm, inputs, pre_dispatch=False):
    return has_potential_input_alias_or_mutation(gm, inputs, pre_dispatch)[1]


def _has_potential_branch_input_alias(gm, inputs, pre_dispatch=False):
    return has_potential_input_alias_or_mutation(gm, inputs, pre_dispatch)[0]


def _check_alias_and_mutation(graph_module, inputs_fake, name, pre_dispatch):
    aliases, written = has_potential_input_alias_or_mutation(graph_module, inputs_fake, pre_dispatch)
    if aliases:
        raise RuntimeError(f"{name} might be aliasing the input or the output!")
    if written:
        raise RuntimeError(f"{name} might be modifying the input!")


def clone_outputs_aliasing_inputs(args):
    """A function that copies what has the memory of one of these."""
    memory = {_native_trace.memory(t) for t in args if isinstance(t, torch.Tensor)}

    def maybe_clone(t):
        return t.clone() if isinstance(t, torch.Tensor) and _native_trace.memory(t) in memory else t

    return maybe_clone


def save_values_for_backward(ctx, args):
    """Keeps tensors and numbers in the context of an `autograd.Function`."""
    if not all(isinstance(arg, (torch.Tensor, torch.SymInt, int, type(None))) for arg in args):
        raise AssertionError(f"Invalid arg types in {args}")
    if hasattr(ctx, "non_tensor_args"):
        raise AssertionError("ctx already has non_tensor_args attribute.")
    if hasattr(ctx, "pos"):
        raise AssertionError("ctx already has pos attribute.")
    ctx.pos = [0 if isinstance(arg, torch.Tensor) else 1 for arg in args]
    ctx.save_for_backward(*(arg for arg in args if isinstance(arg, torch.Tensor)))
    ctx.non_tensor_args = [arg for arg in args if not isinstance(arg, torch.Tensor)]


def saved_values(ctx):
    """What `save_values_for_backward` kept, in its order."""
    tensors, others = iter(ctx.saved_tensors), iter(ctx.non_tensor_args)
    return tuple(next(others if kind else tensors) for kind in ctx.pos)


def get_tensor_mask(tensor_list):
    return [isinstance(v, torch.Tensor) for v in tensor_list]


def mask_list(mask, inp, other=None):
    """The items of a list where the mask holds, those of another elsewhere; without another, those items alone."""
    if len(mask) != len(inp):
        raise AssertionError("The length of the mask needs to be identical to the length of the input")
    if other is None:
        return [i for m, i in zip(mask, inp) if m]
    if len(inp) != len(other):
        raise AssertionError("If an input and an other list is provided, they need to have the same length")
    return [i if m else o for m, i, o in zip(mask, inp, other)]


def split_into_chunks(iterable, chunk_sizes):
    """Consecutive parts of these sizes."""
    if sum(chunk_sizes) != len(iterable):
        raise AssertionError(
            f"the sum of all chunks ({sum(chunk_sizes)}) needs to match the length of the iterable ({len(iterable)})."
        )
    values = iter(iterable)
    return [[next(values) for _ in range(size)] for size in chunk_sizes]


def unmask_none_gradients(grads, operands):
    """Zeros for gradients of tensors that are missing."""
    allowed = (torch.Tensor, int, torch.SymInt)
    if not all(isinstance(o, allowed) for o in operands):
        raise AssertionError(f"operands can only be of {allowed} but got {[type(o) for o in operands]}")
    zeros = [torch.zeros_like(o) if isinstance(o, torch.Tensor) else None for o in operands]
    return [zero if g is None else g for g, zero in zip(grads, zeros)]
