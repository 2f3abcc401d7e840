"""Derivatives as transforms of functions: `grad`, `vjp`, `jvp`, Jacobians, Hessians.

Reverse mode has a tape of its own per level; in a level of forward mode tensors have tangents."""

import functools

import torch
from torch import _native_aot, _native_compile
from torch import _native_transforms as _native
from torch.autograd.graph import disable_saved_tensors_hooks
from torch._functorch.vmap import _touch_all, _vmap_list, call_whole, vmap
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten, treespec_pprint

_TENSOR = torch.Tensor
_NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."
)


class _Level:
    """A level of `grad` for a block. What is saved in it belongs to the level: hooks would see it in no level, so there may be none."""

    def __enter__(self):
        self.grad, self.hooks = torch.enable_grad(), disable_saved_tensors_hooks(_NO_HOOKS)
        self.hooks.__enter__()
        self.number = _native._grad_increment_nesting()
        self.grad.__enter__()
        return self.number

    def __exit__(self, *args):
        self.grad.__exit__(*args)
        _native._decrement_nesting()
        self.hooks.__exit__(*args)


def _wrap(tree, level):
    _touch_all(tree_flatten(tree)[0])
    return tree_map(lambda t: _native._wrap_for_grad(t, level) if isinstance(t, _TENSOR) else t, tree)


def _unwrap(tree, level):
    return tree_map(lambda t: _native._unwrap_for_grad(t, level) if isinstance(t, _TENSOR) else t, tree)


def _auxiliary(tree, level):
    """What a function returns beside its result: tensors alone."""
    for one in tree_flatten(tree)[0]:
        if not isinstance(one, _TENSOR):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(one)}")
    return _unwrap(tree, level)


def _differentiable(tree, name):
    def leaf(t):
        if not isinstance(t, _TENSOR):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(t)}")
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


def _grad_and_value(func, argnums, has_aux, args, kwargs):
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
        grads, output, aux = _unwrap(grads, level), _unwrap(output, level), _auxiliary(aux, level) if has_aux else None
    return (grads, (output, aux)) if has_aux else (grads, output)


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that computes the gradient of `func` and its value."""

    @functools.wraps(func, updated=())
    def wrapper(*args, **kwargs):
        return call_whole(_grad_and_value, (func, argnums, has_aux, args, kwargs), {})

    return wrapper


def _grad(func, argnums, has_aux, args, kwargs):
    result = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
    return (result[0], result[1][1]) if has_aux else result[0]


def grad(func, argnums=0, has_aux=False):
    """A function that computes the gradient of `func`, which returns a scalar."""

    @functools.wraps(func, updated=())
    def wrapper(*args, **kwargs):
        return call_whole(_grad, (func, argnums, has_aux, args, kwargs), {})

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
            aux = _auxiliary(aux, level)
        flat_outputs, out_spec = tree_flatten(outputs)
        for one in flat_outputs:
            if not isinstance(one, _TENSOR):
                raise RuntimeError(f"vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type {type(one)}")
            if not (one.is_floating_point() or one.is_complex()):
                raise RuntimeError(
                    f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {one.dtype}"
                )
        results = _unwrap(outputs, level)

    def flat_fn(weights):
        with torch.enable_grad():
            return _gradients(flat_outputs, inputs, weights)

    def vjp_fn(*cotangents):
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        flat, spec = tree_flatten(given)
        for number, (weight, output) in enumerate(zip(flat, tree_flatten(results)[0])):
            if not isinstance(weight, _TENSOR):
                raise TypeError(f"gradients can be either Tensors or None, but got {type(weight).__name__}")
            if len(flat) == len(flat_outputs) and weight.shape != output.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{number}] has a shape of {weight.shape} and output[{number}] has a shape of "
                    f"{output.shape}."
                )
        if len(flat) != len(flat_outputs):
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {treespec_pprint(spec)}, primal output: {treespec_pprint(out_spec)}"
            )
        return tree_unflatten(flat_fn(flat), in_spec)

    return results, vjp_fn, flat_fn, in_spec, out_spec, aux


def vjp(func, *primals, has_aux=False):
    """The function's result, and the function that multiplies with its transposed Jacobian."""
    results, vjp_fn, _, _, _, aux = call_whole(_vjp, (func, primals, has_aux), {})

    def wrapped(*cotangents, retain_graph=True, create_graph=None):
        found = vjp_fn(*cotangents)
        return found

    return (results, wrapped, aux) if has_aux else (results, wrapped)


class _DualLevel:
    """A level of `jvp` for a block; `torch.autograd.forward_ad` makes dual tensors of it."""

    def __enter__(self):
        from torch.autograd import forward_ad

        self.level = forward_ad._Level(_native._jvp_increment_nesting())
        return self.level.number

    def __exit__(self, *args):
        self.level.leave()


def _same_structure(primals, tangents, name):
    flat_primals, primals_spec = tree_flatten(primals)
    _touch_all(flat_primals)
    flat_tangents, tangents_spec = tree_flatten(tangents)
    _touch_all(flat_tangents)
    if primals_spec != tangents_spec:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals "
            f"is a tuple of 3 tensors, tangents also must be. Got primals with structure {primals_spec} and tangents with "
            f"structure {tangents_spec}"
        )
    return flat_primals, flat_tangents, primals_spec


def _nonempty_tensors(flat, api, what):
    if len(flat) == 0:
        raise RuntimeError(f"{api}: Expected {what} to contain at least one Tensor.")
    for one in flat:
        if not isinstance(one, _TENSOR):
            raise RuntimeError(f"{api}: Expected {what} to contain only Tensors, got unsupported type {type(one)}")


def _jvp(func, primals, tangents, argnums=None, strict=False, has_aux=False):
    from torch.autograd import forward_ad

    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    wanted = primals if argnums is None else _chosen(primals, argnums, _argnums(argnums, len(primals), "jvp"))
    flat_primals, flat_tangents, spec = _same_structure(wanted, tangents, name)
    _nonempty_tensors(flat_primals, name, "primals")
    _nonempty_tensors(flat_tangents, name, "tangents")
    with _DualLevel() as level:
        duals = tree_unflatten([forward_ad.make_dual(p, t) for p, t in zip(flat_primals, flat_tangents)], spec)
        if argnums is not None:
            numbers = _argnums(argnums, len(primals), "jvp")
            given = list(_wrap(primals, level))
            for number, dual in zip(numbers, duals if isinstance(argnums, tuple) else (duals,)):
                given[number] = dual
            duals = given
        results, aux = func(*duals), None
        if has_aux:
            if not (isinstance(results, tuple) and len(results) == 2):
                raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
            results, aux = results
            aux = _auxiliary(aux, level)
        flat_results, out_spec = tree_flatten(results)
        for one in flat_results:
            if not isinstance(one, _TENSOR):
                raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(one)}")
        _nonempty_tensors(flat_results, name, "the output of f")
        pairs = [_parts_of_dual(result, strict) for result in flat_results]
        primals_out = [_native._unwrap_for_grad(primal, level) for primal, _ in pairs]
        tangents_out = [_native._unwrap_for_grad(tangent, level) for _, tangent in pairs]
    out = (tree_unflatten(primals_out, out_spec), tree_unflatten(tangents_out, out_spec))
    return (*out, aux) if has_aux else out


def _parts_of_dual(dual, strict):
    primal, tangent = _native._unpack_dual(dual)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
                "strict=True."
            )
        tangent = torch.zeros_like(primal)
    return primal, tangent


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """The function's result, and the product of its Jacobian with `tangents`."""
    return call_whole(_jvp, (func, primals, tangents), {"strict": strict, "has_aux": has_aux})


def linearize(func, *primals):
    """The function's result, and the function that multiplies with its Jacobian at `primals`."""
    results, _, flat_fn, _, out_spec, _ = call_whole(_vjp, (func, primals), {})
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


def _bases(tensors, counts, chunk_size=None):
    """Unit vectors over all elements of the tensors, so many at a time: for each tensor its part of all of them."""
    total = sum(counts)
    parts = [(0, total)]
    if chunk_size and chunk_size < total:
        parts = [(begin, min(chunk_size, total - begin)) for begin in range(0, total, chunk_size)]
    for begin, rows in parts:
        chunks = [t.new_zeros(rows, count) for t, count in zip(tensors, counts)]
        at = -begin
        for chunk, count in zip(chunks, counts):
            chunk.diagonal(-at).fill_(1)
            at += count
        yield [chunk.view(rows, *t.shape) for chunk, t in zip(chunks, tensors)]


def _jacrev(func, argnums, has_aux, chunk_size, args):
    numbers = _argnums(argnums, len(args), "jacrev")
    results, _, flat_fn, in_spec, out_spec, aux = _vjp(func, args, has_aux, argnums)
    outputs, _ = tree_flatten(results)
    inputs, _ = tree_flatten(_chosen(args, argnums, numbers))
    counts = [one.numel() for one in outputs]
    chunks = []
    for basis in _bases(outputs, counts, chunk_size):
        if chunk_size == 1:
            rows = flat_fn([torch.squeeze(t, 0) for t in basis])
            chunks.append([torch.unsqueeze(row, 0) for row in rows])
        else:
            chunks.append(_vmap_list(lambda *weights: flat_fn(weights), basis))
    rows = chunks[0] if len(chunks) == 1 else [torch.cat(parts, 0) for parts in zip(*chunks)]
    split = [row.split(counts, dim=0) for row in rows]
    by_input = [
        [part.view(output.shape + one.shape) for part, output in zip(parts, outputs)] for parts, one in zip(split, inputs)
    ]
    jacobian = [tree_unflatten([parts[i] for parts in by_input], in_spec) for i in range(len(outputs))]
    jacobian = tree_unflatten(jacobian, out_spec)
    return (jacobian, aux) if has_aux else jacobian


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that computes the Jacobian, by reverse mode."""
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func, updated=())
    def wrapper(*args):
        return call_whole(_jacrev, (func, argnums, has_aux, chunk_size, args), {})

    return wrapper


def _unflattened(tensor, dim, shape):
    return tensor.squeeze(dim) if len(shape) == 0 else tensor.unflatten(dim, shape)


def _jacfwd(func, argnums, has_aux, randomness, args):
    numbers = _argnums(argnums, len(args), "jacfwd")
    wanted = _chosen(args, argnums, numbers)
    inputs, in_spec = tree_flatten(wanted)
    counts = [one.numel() for one in inputs]
    (flat_basis,) = _bases(inputs, counts)

    def push_forward(basis):
        out = _jvp(func, args, basis, argnums=argnums, has_aux=has_aux)
        return out[1:] if has_aux else out[1]

    results = vmap(push_forward, randomness=randomness)(tree_unflatten(flat_basis, in_spec))
    if has_aux:
        results, aux = results
        aux = tree_map(lambda t: t[0], aux)
    columns, spec = tree_flatten(results)
    jacobian = [
        tree_unflatten(
            [
                _unflattened(part, -1, one.shape)
                for one, part in zip(inputs, column.movedim(0, -1).split(counts, dim=-1))
            ],
            in_spec,
        )
        for column in columns
    ]
    jacobian = tree_unflatten(jacobian, spec)
    return (jacobian, aux) if has_aux else jacobian


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that computes the Jacobian, by forward mode."""

    @functools.wraps(func, updated=())
    def wrapper(*args):
        return call_whole(_jacfwd, (func, argnums, has_aux, randomness, args), {})

    return wrapper


def hessian(func, argnums=0):
    """A function that computes the Hessian: the forward-mode Jacobian of the reverse-mode one."""
    return jacfwd(jacrev(func, argnums), argnums)


def _functionalize(func, remove, args, kwargs):
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


def functionalize(func, *, remove="mutations"):
    """A function that writes to its inputs when it is done, and to nothing else; what it calls is functional."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): received invalid argument for remove=. Valid options are:\n"
            '     remove="mutations": all inplace and out= operators will be removed from the program and replaced with their '
            'out-of-place equivalents.\n     remove="mutations_and_views": In addition to the above, all aliasing operators '
            "will be replaced with their non-aliasing counterparts, {view}_copy."
        )

    @functools.wraps(func, updated=())
    def wrapped(*args, **kwargs):
        return call_whole(_functionalize, (func, remove, args, kwargs), {})

    return wrapped


def debug_unwrap(tensor, *, recurse=True):
    """What a tensor of a transform stands for."""
    while (found := _native._level_of(tensor)) is not None:
        tensor = found[2]
        if not recurse:
            break
    return tensor
