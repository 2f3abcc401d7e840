"""What operators that take functions have in common: functions of leaves, which give leaves."""

import torch
from torch import _native_compile
from torch.utils._pytree import tree_flatten


def traced(operator, *args, **kwargs):
    """A call of an operator that a tracer meets, captured for it."""
    from torch._dynamo.eval_frame import captured_for_trace

    return captured_for_trace(operator, *args, **kwargs)


class Flat:
    """A function of leaves that an operator takes. It keeps the containers that it gave last, and whether there were any."""

    def __init__(self, operator, function, arguments):
        _native_compile._refuse_side_effects(operator, function)
        self.function = function
        self.arguments = arguments
        self.spec = None
        self.is_nested = False

    def __call__(self, *leaves):
        return self._take(self.function(*self.arguments(leaves)))

    def _take(self, result):
        leaves, self.spec = tree_flatten(result)
        self.is_nested = not self.spec.is_leaf()
        return tuple(leaves)

    def together(self, leaves):
        """Its result, of leaves."""
        return self.spec.unflatten(leaves)


def wants_grad(leaves):
    """Whether a call on these tensors has a derivative."""
    return torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in leaves)


def in_rows(results):
    """The results of several calls, each a tuple, as tensors with a row per call; nothing where there is nothing."""
    return tuple(None if column[0] is None else torch.stack(column) for column in zip(*results))


_SHARED = (
    "Replace `return input` with `return input.clone()` to avoid aliasing.",
    "Consider using the debug context to change user code to avoid aliasing.",
    "Please open an issue.",
)
_WRITTEN = ("Consider using the debug context to change user code to avoid mutation.", "Please open an issue.")


def refuse(operator, is_write, found, place=""):
    """Raises what PyTorch raises of a function that writes to what it is given, or whose values share memory."""
    name = operator.rpartition(".")[2]
    what, hints, number = ("input mutation", _WRITTEN, 41) if is_write else ("aliasing", _SHARED, 40)
    lines = [f"Encountered {what} during higher order op tracing", f"  Higher Order Operator: {operator}"]
    lines.append(f"  Explanation: Higher order ops do not support {what}. Found in {name}")
    lines += [f"  Hint: {hint}" for hint in hints]
    lines += ["", f"  Developer debug context: {found}", "", " For more details about this graph break, please visit: "]
    page = f"https://meta-pytorch.github.io/compile-graph-break-site/gb/gb{number:04}.html"
    uncaptured("\n".join(lines) + page + place)


def uncaptured(why):
    """Raises that a function could not be captured whole."""
    raise torch._dynamo.exc.UncapturedHigherOrderOpError(
        "This higher order operator doesn't work unless it is captured completely with torch.compile. "
        f"Got graph break/error:\n\n{why}"
    )


def checked(operator, function, operands, is_free_without_grad=True):
    """Calls one of an operator's functions where nothing is captured. It may not write to what it is given, nor give it back, unless
    no gradients are computed and the operator is free to then."""
    _native_compile._refuse_side_effects(operator, function)
    leaves = [t for t in tree_flatten(operands)[0] if isinstance(t, torch.Tensor) and not t.is_inference()]
    if is_free_without_grad and not torch.is_grad_enabled():
        return function(*operands)
    before = [t._version for t in leaves]
    results = function(*operands)
    if written := [i for i, t in enumerate(leaves) if t._version != before[i]]:
        refuse(operator, True, f"Input mutation detected at {[f'l_args_3_{i}_' for i in written]}")
    given = [_root(t) for t in leaves]
    made = []
    for t in tree_flatten(results)[0]:
        if isinstance(t, torch.Tensor):
            root = _root(t)
            for known, what in ((made, "Output"), (given, "Input")):
                if any(root is other for other in known):
                    refuse(operator, False, f"{what}-to-output aliasing detected")
            made.append(root)
    return results


def _root(t):
    return t if t._base is None else t._base
