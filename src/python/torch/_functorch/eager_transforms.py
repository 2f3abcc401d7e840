"""Derivatives as transforms of functions: `grad`, `vjp`, `jvp`, Jacobians, Hessians.

Reverse mode has a tape of its own per level. Forward mode is reverse mode twice: the product of a vector with the transposed
Jacobian is linear in that vector, and its own derivative is the product with the Jacobian."""

import functools

import torch
from torch import _native_aot, _native_compile
from torch import _native_transforms as _native
from torch._functorch.vmap import _touch_all, _vmap_list
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

_TENSOR = torch.Tensor


class _Level:
    """A level of `grad` for a block."""

    def __enter__(self):
        self.grad = torch.enable_grad()
        self.number = _native._grad_increment_nesting()
        self.grad.__enter__()
        return self.number

    def __exit__(self, *args):
        self.grad.__exit__(*args)
        _native._decrement_nesting()


def _wrap(tree, level):
    _touch_all(tree_flatten(tree)[0])
    return tree_map(lambda t: _native._wrap_for_grad(t, level) if isinstance(t, _TENSOR) else t, tree)


def _unwrap(tree, level):
    return tree_map(lambda t: _native._unwrap_for_grad(t, level) if isinstance(t, _TENSOR) else t, tree)


def _differentiable(tree, name):
    def leaf(t):
        if not isinstance(t, _TENSOR):
            raise ValueError(f"{name}: Expected all arguments to be Tensors, got: {type(t)}")
        return _native._set_tensor_requires_grad(t)

    return tree_map(leaf, tree)


def _gradients(outputs, inputs, weights=None):
    found = _native._autograd_grad(list(outputs), list(inputs), [] if weights is None else list(weights))
    return [torch.zeros_like(one) if grad is None else grad for grad, one in zip(found, inputs)]


def _argnums(argnums, count, name):
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnum must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if len(numbers) == 0:
        raise RuntimeError("argnums must be non-empty")
    for number in numbers:
        if not -count <= number < count:
            raise RuntimeError(f"Got argnum={number}, but only {count} positional inputs")
    numbers = tuple(number % count for number in numbers)
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return numbers


def _chosen(args, argnums, numbers):
    return tuple(args[n] for n in numbers) if isinstance(argnums, tuple) else args[numbers[0]]


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that computes the gradient of `func` and its value."""

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        numbers = _argnums(argnums, len(args), "grad")
        with _Level() as level:
            args, kwargs = _wrap(args, level), _wrap(kwargs, level)
            wanted = _chosen(args, argnums, numbers)
            _differentiable(wanted, "grad")
            output = func(*args, **kwargs)
            aux = None
            if has_aux:
                if not (isinstance(output, tuple) and len(output) == 2):
                    raise RuntimeError(
                        "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
                    )
                output, aux = output
            if not isinstance(output, _TENSOR):
                raise RuntimeError(
                    f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            flat, spec = tree_flatten(wanted)
            grads = tree_unflatten(_gradients([output], flat), spec)
            grads, output, aux = _unwrap(grads, level), _unwrap(output, level), _unwrap(aux, level)
        return (grads, (output, aux)) if has_aux else (grads, output)

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that computes the gradient of `func`, which returns a scalar."""

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        result = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (result[0], result[1][1]) if has_aux else result[0]

    return wrapper


def _vjp(func, primals, has_aux=False, argnums=None):
    """The function's result and its vjp, of flat lists too: `(outputs, vjp_fn, flat_fn, flat inputs, output spec, aux)`."""
    with _Level() as level:
        wrapped = _wrap(primals, level)
        wanted = wrapped if argnums is None else _chosen(wrapped, argnums, _argnums(argnums, len(primals), "vjp"))
        _differentiable(wanted, "vjp")
        inputs, in_spec = tree_flatten(wanted)
        outputs, aux = func(*wrapped), None
        if has_aux:
            if not (isinstance(outputs, tuple) and len(outputs) == 2):
                raise RuntimeError("vjp(f, *primals): output of function f should be a tuple: (output, aux) if has_aux is True")
            outputs, aux = outputs
            aux = _unwrap(aux, level)
        flat_outputs, out_spec = tree_flatten(outputs)
        for one in flat_outputs:
            if not isinstance(one, _TENSOR):
                raise RuntimeError(f"vjp(f, *primals): Expected f(*primals) to return only tensors, got unsupported type {type(one)}")
        results = _unwrap(outputs, level)

    def flat_fn(weights):
        with torch.enable_grad():
            return _gradients(flat_outputs, inputs, weights)

    def vjp_fn(*cotangents):
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        flat, spec = tree_flatten(given)
        if len(flat) != len(flat_outputs):
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {spec}, primal output: {out_spec}"
            )
        return tree_unflatten(flat_fn(flat), in_spec)

    return results, vjp_fn, flat_fn, in_spec, out_spec, aux


def vjp(func, *primals, has_aux=False):
    """The function's result, and the function that multiplies with its transposed Jacobian."""
    results, vjp_fn, _, _, _, aux = _vjp(func, primals, has_aux)

    def wrapped(*cotangents, retain_graph=True, create_graph=None):
        found = vjp_fn(*cotangents)
        return found

    return (results, wrapped, aux) if has_aux else (results, wrapped)


def _push_forward(func, primals, tangents, has_aux=False, argnums=None):
    results, _, flat_fn, _, out_spec, aux = _vjp(func, primals, has_aux, argnums)
    flat_results, _ = tree_flatten(results)
    # Made outside the level: what a level makes is of it already, and nothing captured would know it by its value.
    weights = [torch.ones_like(one) for one in flat_results]
    with _Level() as level:
        weights = [_native._wrap_for_grad(one, level) for one in weights]
        _differentiable(weights, "jvp")
        products = flat_fn(weights)
        flat = _gradients(products, weights, [_native._wrap_for_grad(t, level) for t in tangents])
        flat = [_native._unwrap_for_grad(one, level) for one in flat]
    return results, tree_unflatten(flat, out_spec), aux


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """The function's result, and the product of its Jacobian with `tangents`."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    flat_primals, primals_spec = tree_flatten(primals)
    flat_tangents, tangents_spec = tree_flatten(tangents)
    if len(flat_primals) != len(flat_tangents):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if primals "
            f"is a tuple of 3 tensors, tangents also must be. Got primals with structure {primals_spec} and tangents with "
            f"structure {tangents_spec}"
        )
    results, pushed, aux = _push_forward(func, primals, flat_tangents, has_aux)
    return (results, pushed, aux) if has_aux else (results, pushed)


def linearize(func, *primals):
    """The function's result, and the function that multiplies with its Jacobian at `primals`."""
    results, _, flat_fn, _, out_spec, _ = _vjp(func, primals)
    flat_results, _ = tree_flatten(results)

    def jvp_fn(*tangents):
        flat_tangents, _ = tree_flatten(tangents)
        weights = [torch.ones_like(one) for one in flat_results]
        with _Level() as level:
            weights = [_native._wrap_for_grad(one, level) for one in weights]
            _differentiable(weights, "linearize")
            flat = _gradients(flat_fn(weights), weights, [_native._wrap_for_grad(t, level) for t in flat_tangents])
            flat = [_native._unwrap_for_grad(one, level) for one in flat]
        return tree_unflatten(flat, out_spec)

    return results, jvp_fn


def _basis(tensors):
    """Unit vectors over all elements of the tensors: for each tensor its part of all of them."""
    counts = [t.numel() for t in tensors]
    total, at = sum(counts), 0
    parts = [t.new_zeros(total, count) for t, count in zip(tensors, counts)]
    for part, count in zip(parts, counts):
        part.diagonal(-at).fill_(1)
        at += count
    return [part.view(total, *t.shape) for part, t in zip(parts, tensors)]


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that computes the Jacobian, by reverse mode."""

    @functools.wraps(func)
    def wrapper(*args):
        numbers = _argnums(argnums, len(args), "jacrev")
        results, _, flat_fn, in_spec, out_spec, aux = _vjp(func, args, has_aux, argnums)
        outputs, _ = tree_flatten(results)
        inputs, _ = tree_flatten(_chosen(args, argnums, numbers))
        rows = _vmap_list(lambda *weights: flat_fn(weights), _basis(outputs))
        counts = [one.numel() for one in outputs]
        split = [row.split(counts, dim=0) for row in rows]
        jacobian = [
            tree_unflatten(
                [split[j][i].view(*output.shape, *one.shape) for j, one in enumerate(inputs)], in_spec
            )
            for i, output in enumerate(outputs)
        ]
        jacobian = tree_unflatten(jacobian, out_spec)
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that computes the Jacobian, by forward mode."""

    @functools.wraps(func)
    def wrapper(*args):
        numbers = _argnums(argnums, len(args), "jacfwd")
        wanted = _chosen(args, argnums, numbers)
        inputs, in_spec = tree_flatten(wanted)
        kept = {}

        def push(*tangents):
            results, pushed, kept["aux"] = _push_forward(func, args, tangents, has_aux, argnums)
            flat, kept["spec"] = tree_flatten(pushed)
            return flat

        columns = _vmap_list(push, _basis(inputs))
        counts = [one.numel() for one in inputs]
        jacobian = [
            tree_unflatten(
                [part.movedim(0, -1).reshape(*column.shape[1:], *one.shape) for part, one in zip(column.split(counts, dim=0), inputs)],
                in_spec,
            )
            for column in columns
        ]
        jacobian = tree_unflatten(jacobian, kept["spec"])
        return (jacobian, kept["aux"]) if has_aux else jacobian

    return wrapper


def hessian(func, argnums=0):
    """A function that computes the Hessian: the forward-mode Jacobian of the reverse-mode one."""
    return jacfwd(jacrev(func, argnums), argnums)


def functionalize(func, *, remove="mutations"):
    """A function that writes to its inputs when it is done, and to nothing else; what it calls is functional."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): received invalid argument for remove=. Valid options are:\n"
            '     remove="mutations": all inplace and out= operators will be removed from the program and replaced with their '
            'out-of-place equivalents.\n     remove="mutations_and_views": In addition to the above, all aliasing operators '
            "will be replaced with their non-aliasing counterparts, {view}_copy."
        )

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        if _native_compile._is_capturing():
            # What compiles the function takes its mutations away.
            return func(*args, **kwargs)
        flat, spec = tree_flatten((args, kwargs))
        kept = {}

        def run(values):
            args, kwargs = tree_unflatten(values, spec)
            leaves, kept["spec"] = tree_flatten(func(*args, **kwargs))
            return leaves

        return tree_unflatten(_native_aot._functionalize(run, flat, remove == "mutations_and_views"), kept["spec"])

    return wrapped


def debug_unwrap(tensor, *, recurse=True):
    """What a tensor of a transform stands for."""
    while (found := _native._level_of(tensor)) is not None:
        tensor = found[2]
        if not recurse:
            break
    return tensor
