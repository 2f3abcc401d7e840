"""`Function.apply` in the transforms of `torch.func`: one level at a time, innermost first.

In a level of `grad` the call is a node of that level's tape, whose forward is the call one level down. In a level of `vmap` it is
the function's own rule for batches, or one made of its forward and backward, called one level down."""

import sys
from typing import NamedTuple

import torch
from torch import _C
from torch import _native_transforms as _native
from torch.autograd.function import Function
from torch.utils._pytree import tree_flatten, tree_unflatten


class _Below:
    """Calls for a block as the levels below one see them."""

    def __init__(self, number):
        self.number = number

    def __enter__(self):
        self.depth = _native._enter_below(self.number)
        self.grad = torch.enable_grad()
        self.grad.__enter__()

    def __exit__(self, *args):
        self.grad.__exit__(*args)
        _native._set_depth(self.depth)


def apply(cls, args, level):
    """Calls a custom function in the innermost level."""
    forward_ad = sys.modules.get("torch.autograd.forward_ad")
    if forward_ad is not None and forward_ad.is_dual_level(level[0]):
        return _in_dual(cls, args, level[0], forward_ad)
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
            "setup_context staticmethod. For more details, please see "
            "https://pytorch.org/docs/main/notes/extending.func.html"
        )
    number, size, randomness = level
    return _in_grad(cls, args, number) if size is None else _in_vmap(cls, args, number, size, randomness)


def _in_dual(cls, args, number, forward_ad):
    """In a level of forward mode its own rule gives the tangents; its `forward` runs once for the primals and once for that rule."""
    pairs = [forward_ad.unpack_dual(a) if isinstance(a, torch.Tensor) else (a, None) for a in args]
    primals, tangents = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    with _Below(number):
        result = cls.apply(*primals)
        if all(tangent is None for tangent in tangents):
            return result
        if cls.jvp is Function.jvp:
            Function.jvp(None)
        context = cls._backward_cls()
        context.needs_input_grad = tuple(tangent is not None for tangent in tangents)
        context._run_forward(tuple(primals))
        context.to_save = context.saved_for_forward
        if context.materialize_grads:
            tangents = [
                torch.zeros_like(primal) if tangent is None and isinstance(primal, torch.Tensor) else tangent
                for primal, tangent in zip(primals, tangents)
            ]
        found = cls.jvp(context, *tangents)
    if not isinstance(result, tuple):
        return result if found is None else forward_ad.make_dual(result, found)
    return tuple(one if tangent is None else forward_ad.make_dual(one, tangent) for one, tangent in zip(result, found))


def _each(values, fn):
    """`fn` of the tensors of a result, which is one value or a tuple."""
    if isinstance(values, tuple):
        return tuple(_each(one, fn) for one in values)
    return fn(values) if isinstance(values, torch.Tensor) else values


def _in_grad(cls, args, number):
    class Lowered(Function):
        @staticmethod
        def forward(*operands):
            inner = _each(operands, lambda t: _native._unwrap_for_grad(t, number))
            with _Below(number):
                result = cls.apply(*inner)
            return _each(result, lambda t: _native._wrap_for_grad(t, number))

        setup_context = staticmethod(cls.setup_context)
        backward = staticmethod(cls.backward)

    Lowered.__name__ = Lowered.__qualname__ = cls.__name__

    def lift(t):
        found = _native._level_of(t)
        return t if found is not None and found[0] == number else _native._wrap_for_grad(t, number)

    return _C._function_apply_in_level(Lowered, _each(tuple(args), lift))


def _dims(values, number):
    """What values of a `vmap` level stand for, and which dimension of each is hidden."""
    inner, dims = [], []
    for value in values:
        found = _native._level_of(value) if isinstance(value, torch.Tensor) else None
        own = found is not None and found[0] == number
        inner.append(found[2] if own else value)
        dims.append(found[1] if own else None)
    return inner, dims


def _batched(fn, in_dims, size, randomness):
    """The function in a `vmap` level of its own: its results, a tuple, and the dimension that each hides."""

    def call(*args):
        number = _native._vmap_increment_nesting(size, randomness)
        try:
            given = [a if dim is None else _native._add_batch_dim(a, dim, number) for a, dim in zip(args, in_dims)]
            result = fn(*given)
            single = not isinstance(result, tuple)
            inner, dims = _dims((result,) if single else result, number)
        finally:
            _native._decrement_nesting()
        return (inner[0], dims[0]) if single else (tuple(inner), tuple(dims))

    return call


def _in_vmap(cls, args, number, size, randomness):
    own_rule = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and own_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. "
            "Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity. For more details, "
            "please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    if not cls.generate_vmap_rule and not own_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True. For more details, please see "
            "https://pytorch.org/docs/main/notes/extending.func.html"
        )
    inner, in_dims = _dims(args, number)
    with _Below(number):
        if all(dim is None for dim in in_dims):
            return cls.apply(*args)
        if own_rule:
            result, out_dims = _two_returns(cls.vmap(VmapInfo(size, randomness), tuple(in_dims), *inner))
        else:
            made, found = _rule_of(cls, in_dims, size, randomness)
            result = made.apply(*inner)
            out_dims = found["out_dims"]

    return _hidden(result, out_dims, number)


def _hidden(result, out_dims, number):
    """Results of a rule for batches as tensors of the level."""

    def hide(value, dim):
        return value if dim is None else _native._add_batch_dim(value, dim % value.dim(), number)

    if not isinstance(result, tuple):
        return hide(result, out_dims)
    dims = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(result)
    return tuple(hide(value, dim) for value, dim in zip(result, dims))


def _two_returns(returned):
    said = "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the output. "
    if not isinstance(returned, tuple):
        raise RuntimeError(f"{said}Got a {type(returned)} instead")
    if len(returned) != 2:
        raise RuntimeError(f"{said}Got {len(returned)} returns instead")
    return returned


def batched(op, rule):
    """An operator's rule for batches, as a level of `vmap` calls it."""

    def call(number, size, randomness, *args, **kwargs):
        flat, spec = tree_flatten(args)
        inner, in_dims = _dims(flat, number)
        with _Below(number):
            if all(dim is None for dim in in_dims):
                return op(*args, **kwargs)
            info, dims = VmapInfo(size, randomness), tree_unflatten(in_dims, spec)
            result, out_dims = _two_returns(rule(info, dims, *tree_unflatten(inner, spec), **kwargs))
        return _hidden(result, out_dims, number)

    return call


class VmapInfo(NamedTuple):
    """What a rule for batches is told."""

    batch_size: int
    randomness: str


class _Context:
    """A context as the function of one item sees it."""

    def __init__(self, context, saved=()):
        self.__dict__.update(_context=context, saved_tensors=saved)

    def save_for_backward(self, *tensors):
        self.__dict__["saved_tensors"] = tensors

    def __getattr__(self, name):
        return getattr(self.__dict__["_context"], name)

    def __setattr__(self, name, value):
        setattr(self.__dict__["_context"], name, value)


def _rule_of(cls, in_dims, size, randomness):
    """A function of batches made of a function of items; and where it says which dimensions its results hide."""
    found = {}

    class Batched(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*operands):
            result, found["out_dims"] = _batched(cls.forward, in_dims, size, randomness)(*operands)
            return result

        @staticmethod
        def setup_context(ctx, inputs, output):
            outputs, out_dims = (output, found["out_dims"]) if isinstance(output, tuple) else ((output,), (found["out_dims"],))

            def tell(*values):
                item = _Context(ctx)
                given = values[len(inputs) :]
                cls.setup_context(item, values[: len(inputs)], given if isinstance(output, tuple) else given[0])
                return tuple(item.saved_tensors)

            saved, found["saved_dims"] = _batched(tell, (*in_dims, *out_dims), size, randomness)(*inputs, *outputs)
            ctx.save_for_backward(*saved)

        @staticmethod
        def backward(ctx, *grads):
            out_dims = found["out_dims"] if isinstance(found["out_dims"], tuple) else (found["out_dims"],)
            saved = ctx.saved_tensors

            def back(*values):
                result = cls.backward(_Context(ctx, values[: len(saved)]), *values[len(saved) :])
                return result if isinstance(result, tuple) else (result,)

            grad_dims = tuple(None if grad is None else dim for grad, dim in zip(grads, out_dims))
            result, dims = _batched(back, (*found["saved_dims"], *grad_dims), size, randomness)(*saved, *grads)
            return tuple(_reduced(grad, dim, in_dim, size) for grad, dim, in_dim in zip(result, dims, in_dims))

    Batched.__name__ = Batched.__qualname__ = f"Vmapped{cls.__name__}"
    return Batched, found


def _reduced(grad, dim, in_dim, size):
    """The gradient of an input: summed over items where the input is the same for all."""
    if grad is None:
        return None
    if in_dim is None:
        return grad if dim is None else grad.sum(dim)
    if dim is None:
        shape = list(grad.shape)
        shape.insert(in_dim, size)
        return grad.unsqueeze(in_dim).expand(shape)
    return grad.movedim(dim, in_dim)
