"""Which dimensions of a program's inputs may vary: `Dim`, and how `dynamic_shapes` says it."""

import collections
import dataclasses
import inspect
import re

import torch

__all__ = ["AdditionalInputs", "Dim", "ShapesCollection", "dims", "refine_dynamic_shapes_from_suggested_fixes"]


@dataclasses.dataclass(frozen=True)
class _DimHint:
    """A dimension that is decided while tracing (AUTO), or is to vary (DYNAMIC), or is not (STATIC)."""

    name: str
    min: int | None = None
    max: int | None = None

    def __call__(self, min=None, max=None):
        for bound, word in ((min, "min"), (max, "max")):
            if bound is not None and bound < 0:
                raise AssertionError(f"{word} must be non-negative")
        if self.min is not None or self.max is not None:
            raise TypeError(f"'{type(self).__name__}' object is not callable")
        return _DimHint(self.name, min, max)

    def __repr__(self):
        bounds = [f"{word}={bound}" for word, bound in (("min", self.min), ("max", self.max)) if bound is not None]
        return f"DimHint({', '.join([self.name, *bounds])})"


class Dim:
    """A dimension that may vary within bounds; the same `Dim` at two places says that they are equal.

    `2 * d + 1` is a dimension that is calculated from another.
    """

    AUTO = _DimHint("AUTO")
    DYNAMIC = _DimHint("DYNAMIC")
    STATIC = _DimHint("STATIC")

    def __init__(self, name, *, min=None, max=None):
        lower, upper = 0 if min is None else min, float("inf") if max is None else max
        if not upper > lower:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name
        self.min, self.max = lower, None if max is None else max
        # The dimension that this one is calculated from, times what and plus what.
        self._root, self._factor, self._summand = self, 1, 0

    def _derived(self, factor, summand):
        made = Dim.__new__(Dim)
        made._root, made._factor, made._summand = self._root, self._factor * factor, self._summand * factor + summand
        name = self._root.__name__
        text = name if made._factor == 1 else f"{made._factor}*{name}"
        made.__name__ = text if made._summand == 0 else f"{text} {'+' if made._summand > 0 else '-'} {abs(made._summand)}"
        calculated = lambda n: None if n is None else n * made._factor + made._summand
        made.min, made.max = calculated(self._root.min), calculated(self._root.max)
        return made

    @staticmethod
    def _number(other, operation):
        if type(other) is not int:
            raise NotImplementedError(
                f"Attempted to {operation} {other}, where an integer was expected. (Only increasing linear operations with integer "
                "coefficients are supported.)"
            )
        return other

    def __add__(self, other):
        return self._derived(1, self._number(other, f"add to {self.__name__}"))

    __radd__ = __add__

    def __sub__(self, other):
        return self._derived(1, -self._number(other, f"subtract from {self.__name__}"))

    def __rsub__(self, other):
        raise NotImplementedError(
            f"Attempted to negate {self.__name__}. (Only increasing linear operations with integer coefficients are supported.)"
        )

    def __mul__(self, other):
        if self._number(other, f"multiply with {self.__name__}") <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {other} with {self.__name__}, where a positive integer was expected. (Only increasing linear "
                "operations with integer coefficients are supported.)"
            )
        return self._derived(other, 0)

    __rmul__ = __mul__

    def __repr__(self):
        if self._root is not self:
            return self.__name__
        # A size is two at least, whatever is said.
        bounds = [f"{word}={n}" for word, n in (("min", None if self.min == 2 else self.min), ("max", self.max)) if n is not None]
        return f"Dim({', '.join([repr(self.__name__), *bounds])})"


def dims(*names, min=None, max=None):
    """Several dimensions with the same bounds."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ShapesCollection:
    """What varies, by the very tensors that are given."""

    def __init__(self):
        self._shapes = {}

    def __setitem__(self, t, shape):
        if not isinstance(t, torch.Tensor):
            raise AssertionError(f"Cannot assign shape to non-tensor type {type(t)}")
        if id(t) in self._shapes and self._shapes[id(t)] != shape:
            raise AssertionError(f"Shapes assigned to tensor do not match: expected {self._shapes[id(t)]}, got {shape}")
        self._shapes[id(t)] = shape

    def __getitem__(self, t):
        return self._shapes.setdefault(id(t), {})

    def __len__(self):
        return len(self._shapes)

    def dynamic_shapes(self, m, args, kwargs=None):
        """The same as a tree like that of the arguments."""
        return _mapped(combined_arguments(m, args, kwargs), lambda leaf: self._shapes.get(id(leaf)))


class AdditionalInputs:
    """What varies, by more inputs that the program is to take."""

    def __init__(self):
        self._examples = []

    def add(self, args, kwargs=None):
        """One more input."""
        if type(args) is not tuple:
            raise AssertionError(f"Representative args {args} must be a tuple")
        self._examples.append((args, kwargs))

    def dynamic_shapes(self, m, args, kwargs=None):
        """What differs between the inputs, as a tree like that of the arguments."""
        trees = [combined_arguments(m, *given) for given in ((args, kwargs), *self._examples)]
        others = [iter([leaf for _, leaf in with_paths(tree)]) for tree in trees[1:]]

        def varying(leaf):
            leaves = [leaf, *map(next, others)]
            if not isinstance(leaf, torch.Tensor):
                return None
            return tuple(None if len(set(sizes)) == 1 else Dim.DYNAMIC for sizes in zip(*(one.shape for one in leaves)))

        return _mapped(trees[0], varying)

    def verify(self, ep):
        """Runs the program's checks on every input."""
        module = ep.module()
        for args, kwargs in self._examples:
            module(*args, **(kwargs or {}))


def combined_arguments(mod, args, kwargs):
    """The arguments of a call by the names that `forward` has for them."""
    return dict(inspect.signature(mod.forward).bind(*args, **(kwargs or {})).arguments)


class Attribute(str):
    """The name of an attribute, as a key that leads to a leaf."""


def _children(tree):
    from torch.utils._treepaths import GetAttrKey, MappingKey, children

    below = children(tree)
    if below is None:
        return None
    return [(Attribute(key.name) if isinstance(key, GetAttrKey) else key.key if isinstance(key, MappingKey) else key.idx, value) for key, value in below]


def with_paths(tree, path=()):
    """Leaves with the keys that lead to them."""
    children = _children(tree)
    if children is None:
        return [(path, tree)]
    return [leaf for key, child in children for leaf in with_paths(child, (*path, key))]


# What a container of the arguments is in `dynamic_shapes`; of any other class it is the list of what the class holds.
_BUILT_IN = (list, tuple, dict, collections.deque)


def _mapped(tree, f):
    from torch.utils._pytree import tree_map

    def leaf(value):
        children = _children(value)
        return f(value) if children is None else [_mapped(child, f) for _, child in children]

    return tree_map(leaf, tree, is_leaf=lambda value: not isinstance(value, _BUILT_IN))


def _user_error(message, case=True):
    from torch._dynamo.exc import UserError

    place = "https://pytorch.org/docs/main/generated/exportdb/index.html#dynamic-shapes-validation"
    gap = " " if message.endswith(".") else "\n"
    return UserError(f"{message}{gap}For more information about this error, see: {place}" if case else message)


def spread(combined, dynamic_shapes):
    """What is said of every leaf of the arguments: None, or a specification per dimension."""
    if dynamic_shapes is None or len(dynamic_shapes) == 0:
        return [None] * len(with_paths(combined))
    if isinstance(dynamic_shapes, dict):
        got, expected = list(dynamic_shapes), list(combined)
        if sorted(map(str, got)) != sorted(expected):
            message = (
                f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {expected} of `inputs`, "
                f"but here they are {got}. "
            )
            is_enclosed = len(combined) == 1 and expected[0] not in got and isinstance(combined[expected[0]], dict)
            raise _user_error(
                message
                + (
                    "Since here `inputs` is a list/tuple enclosing a single dict, maybe you just forgot to enclose `dynamic_shapes` "
                    "in a list/tuple?"
                    if is_enclosed
                    else "Alternatively, you could also ignore arg names entirely and specify `dynamic_shapes` as a list/tuple "
                    "matching `inputs`."
                )
            )
        given = combined
    else:
        given = type(dynamic_shapes)(combined.values())
    found = []
    _spread(given, dynamic_shapes, "", found)
    return found


def _spread(tree, shapes, path, found):
    children = _children(tree)
    if children is None:
        found.append(_of_leaf(tree, shapes, path))
    elif shapes is None:
        found += [None] * len(with_paths(tree))
    elif not isinstance(tree, _BUILT_IN) and isinstance(shapes, (dict, tuple)):
        raise ValueError(f"Node type mismatch; expected {list}, but got {type(shapes)}.")
    elif isinstance(tree, dict) is not isinstance(shapes, dict) and isinstance(shapes, (dict, tuple, list)):
        raise _user_error(
            "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
            f"`inputs{path}` is a {type(tree)}, but `dynamic_shapes{path}` is a {type(shapes)}"
        )
    elif isinstance(tree, dict):
        if not isinstance(shapes, dict) or set(tree) != set(shapes):
            raise _user_error(
                "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
                f"`inputs{path}` has keys {list(tree)}, but `dynamic_shapes{path}` has keys {list(shapes)}"
            )
        for key, child in children:
            _spread(child, shapes[key], f"{path}[{key!r}]", found)
    else:
        if not isinstance(shapes, (tuple, list)) or len(shapes) != len(children):
            count = len(shapes) if isinstance(shapes, (tuple, list)) else 1
            raise _user_error(
                "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
                f"`inputs{path}` has {len(children)} elements, but `dynamic_shapes{path}` has {count} elements"
            )
        for (key, child), shape in zip(children, shapes):
            _spread(child, shape, f"{path}[{key}]", found)


def _of_leaf(leaf, shape, path):
    if type(leaf) is int:
        if isinstance(shape, _DimHint) and shape is not Dim.STATIC:
            raise NotImplementedError(f"an integer that varies (`dynamic_shapes{path}` is {shape!r}) is not supported in the playground")
        if shape is not None and not isinstance(shape, (int, _DimHint)):
            raise AssertionError(f"expected dynamic_shape to be None, int, or _DimHint for _IntWrapper, got {type(shape)}")
        return None
    if not isinstance(leaf, torch.Tensor):
        if shape is not None:
            raise _user_error(
                f"Cannot associate shape {shape} specified at `dynamic_shapes{path}` to non-tensor type {type(leaf)} at "
                f"`inputs{path}` (expected None)"
            )
        return None
    if shape is None:
        return None
    expected = "None, an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC"
    if isinstance(shape, dict):
        listed = [None] * leaf.dim()
        for i, dim in shape.items():
            if dim is not None and not isinstance(dim, (int, Dim, _DimHint)):
                raise _user_error(
                    f"Unexpected dimension mapped to index {i} in input tensor shape {shape} specified at `dynamic_shapes{path}` "
                    f"(expected {expected},  but got {dim!r} instead)"
                )
            listed[i] = dim
        return listed
    if not isinstance(shape, (tuple, list)):
        raise _user_error(
            f"Unexpected input tensor shape {shape} specified at `dynamic_shapes{path}` (expected either a list/tuple of dimensions, "
            "or a dict mapping indices to dimensions, where each dimension is an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC)"
        )
    if len(shape) != leaf.dim():
        raise _user_error(
            f"Expected dynamic shape spec {shape} specified at `dynamic_shapes{path}` to have the same length as the actual tensor "
            f"shape {leaf.shape} (expected {leaf.dim()}, but got {len(shape)} instead)"
        )
    for i, dim in enumerate(shape):
        if dim is not None and not isinstance(dim, (int, Dim, _DimHint)):
            raise _user_error(
                f"Unexpected dimension #{i} in input tensor shape {shape} specified at `dynamic_shapes{path}` "
                f"(expected {expected}, but got {dim!r} instead)"
            )
    return list(shape)


def refine_dynamic_shapes_from_suggested_fixes(msg, dynamic_shapes):
    """`dynamic_shapes` with what the message of a failed export suggests."""
    _, found, suggested = msg.partition("Suggested fixes:")
    if not found:
        raise _user_error("Suggested fixes not found in error message given to refine_dynamic_shapes_from_suggested_fixes()", case=False)
    named = _dims_by_name(dynamic_shapes)
    fixes, relations = {}, {}
    for line in suggested.strip().split("\n"):
        name, separator, text = line.strip().partition(" = ")
        if not separator:
            break
        if bounds := re.match(r"Dim\('.*?'(?:, min=(\d+))?(?:, max=(\d+))?", text):
            lower, upper = (None if bound is None else int(bound) for bound in bounds.groups())
            fixes[name] = Dim(name, min=lower, max=upper)
        elif text.isdigit():
            fixes[name] = int(text)
        else:
            relation = re.fullmatch(r"(?:(\d+)\*)?([A-Za-z_]\w*)(?: ([+-]) (\d+))?", text)
            if relation is None:
                raise AssertionError(f"sympy.Expr {text} is not a supported equivalence")
            relations[name] = relation.groups()
    roots = {root for _, root, _, _ in relations.values()}
    for name in (*fixes, *relations):
        if name not in named and name not in roots:
            raise AssertionError(f"shape_fixes key {name!r} not found in name_to_dim or roots")
    made = {}
    for name, (factor, root, sign, summand) in relations.items():
        dim = fixes[root] if root in fixes else named[root]
        if factor is not None:
            dim = int(factor) * dim
        if sign is not None:
            dim += int(sign + summand)
        made[name] = dim
    fixes.update(made)

    def fixed(dim):
        if not isinstance(dim, Dim):
            return dim
        if dim.__name__ in fixes:
            return fixes[dim.__name__]
        root = dim._root
        if root is not dim and root.__name__ in fixes:
            return dim._factor * fixes[root.__name__] + dim._summand
        return dim

    from torch.utils._pytree import tree_map

    return tree_map(fixed, dynamic_shapes)


def _dims_by_name(dynamic_shapes):
    """The dimensions that are named, and those that others are calculated from."""
    from torch.utils._pytree import tree_leaves

    named = {}
    for dim in tree_leaves(dynamic_shapes):
        if isinstance(dim, Dim):
            named[dim.__name__] = dim
            named.setdefault(dim._root.__name__, dim._root)
    return named
