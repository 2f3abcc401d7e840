"""`FlopCounterMode`: the floating point operations of what is called, by operator and by module."""

import functools
import warnings
from collections import Counter, defaultdict
from math import prod

import torch
from torch._ops import OpOverloadPacket
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map
from torch.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

aten = torch.ops.aten
flop_registry = {}
suffixes = ["", "K", "M", "B", "T"]


def get_shape(value):
    """The shape of a tensor; anything else as it is."""
    return value.shape if isinstance(value, torch.Tensor) else value


def shape_wrapper(formula):
    """A formula of shapes as one of values."""

    @functools.wraps(formula)
    def of_values(*args, out_val=None, **kwargs):
        args, kwargs, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)

    return of_values


def register_flop_formula(targets, get_raw=False):
    """A decorator: the function counts the operations of calls of these operators. It is given shapes, or with `get_raw` values."""

    def decorator(formula):
        counts = formula if get_raw else shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. torch.ops.mylib.foo), "
                    f"JitFunction, or HigherOrderOperator, got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = counts
        return counts

    return decorator


def _packets(names):
    return [getattr(aten, name) for name in names.split() if hasattr(aten, name)]


def _product(rows, inner, columns):
    return 2 * rows * inner * columns


@register_flop_formula(aten.mm)
def mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """A multiplication and an addition for every pair that is multiplied."""
    (rows, inner), (same, columns) = a_shape, b_shape
    if inner != same:
        raise AssertionError(f"matmul: inner dimensions must match (k == k2), got {inner} and {same}")
    return _product(rows, inner, columns)


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape, a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Those of the product."""
    (rows, inner), (_, columns) = a_shape, b_shape
    return _product(rows, inner, columns)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Those of every product of the batch."""
    (batch, rows, inner), (_, _, columns) = a_shape, b_shape
    return batch * _product(rows, inner, columns)


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape, a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Those of the products."""
    (batch, rows, inner), (_, _, columns) = a_shape, b_shape
    return batch * _product(rows, inner, columns)


def conv_flop_count(x_shape, w_shape, out_shape, transposed=False):
    """The filter is applied at every place of the output, or, transposed, of the input; the bias is not counted."""
    places = (x_shape if transposed else out_shape)[2:]
    return 2 * x_shape[0] * prod(places) * prod(w_shape)


@register_flop_formula(_packets("convolution _convolution cudnn_convolution _slow_conv2d_forward convolution_overrideable"))
def conv_flop(x_shape, w_shape, _bias, _stride, _padding, _dilation, transposed, *args, out_shape=None, **kwargs):
    """Those of a convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_shape, x_shape, w_shape, _bias, _stride, _padding, _dilation, transposed, _output_padding, _groups, output_mask, out_shape, **kwargs
):  # fmt: skip
    """Both gradients are convolutions: the input's the opposite one, the weight's one of input and gradient over the batch."""

    def swapped(shape):
        return [shape[1], shape[0], *shape[2:]]

    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_shape, w_shape, out_shape[0], transposed=not transposed)
    if output_mask[1]:
        first, second = (grad_shape, x_shape) if transposed else (x_shape, grad_shape)
        count += conv_flop_count(swapped(first), swapped(second), swapped(out_shape[1]))
    return count


def sdpa_flop_count(query_shape, key_shape, value_shape):
    """Scores, and the values weighted by them; a mask saves nothing."""
    batch, heads, rows, width = query_shape
    keys, out_width = key_shape[-2], value_shape[-1]
    return batch * heads * (_product(rows, width, keys) + _product(rows, keys, out_width))


def _attention(suffix):
    kinds = ("efficient", "flash", "cudnn")
    names = [f"_scaled_dot_product_{kind}_attention{suffix}" for kind in kinds]
    return _packets(" ".join([*names, f"_scaled_dot_product_flash_attention_for_cpu{suffix}"]))


@register_flop_formula(_attention(""))
def sdpa_flop(query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs):
    """Those of an attention."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


@register_flop_formula(_attention("_backward"))
def sdpa_backward_flop(grad_out_shape, query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs):
    """The scores once more, and two products for each of the forward's two."""
    batch, heads, rows, width = query_shape
    keys, out_width = key_shape[-2], value_shape[-1]
    return batch * heads * (3 * _product(rows, width, keys) + 2 * _product(rows, keys, out_width))


def get_suffix_str(number):
    """The unit that a number is shown in, so that no digits before the point are lost."""
    return suffixes[max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number, suffix):
    """A number in a unit."""
    return f"{number / 1000 ** suffixes.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num, denom):
    """A part of a whole."""
    return "0%" if denom == 0 else f"{num / denom:.2%}"


class FlopCounterMode:
    """A block in which operations are counted; at its end a table is printed, unless `display` is False."""

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None, skip_unsupported=False):
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        self.depth, self.display, self.skip_unsupported = depth, display, skip_unsupported
        self._unsupported_ops = Counter()
        self.mode = None
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        own = {k: v if getattr(v, "_get_raw", False) else shape_wrapper(v) for k, v in (custom_mapping or {}).items()}
        self.flop_registry = {**flop_registry, **own}
        self.mod_tracker = ModuleTracker()

    def get_total_flops(self):
        """All that were counted."""
        return sum(self.flop_counts["Global"].values())

    def get_unsupported_ops(self):
        """Higher-order operators without a formula, and how often they were called."""
        return Counter(self._unsupported_ops)

    def get_flop_counts(self):
        """The counts by module and operator."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """The counts as a table, modules to a depth."""
        depth = self.depth if depth is None else depth
        depth = 999999 if depth is None else depth
        total = self.get_total_flops()
        unit = get_suffix_str(total)

        def lines(name):
            counts = self.flop_counts[name]
            shown = [(name, sum(counts.values())), *((f"- {operator}", n) for operator, n in counts.items())]
            return [[text, convert_num_with_suffix(n, unit), convert_to_percent_str(n, total)] for text, n in shown]

        rows, is_one_of_them = [], False
        for name in sorted(self.flop_counts):
            if name == "Global" or name.count(".") >= depth:
                continue
            is_one_of_them |= sum(self.flop_counts[name].values()) >= total
            rows += lines(name)
        if "Global" in self.flop_counts and not is_one_of_them:
            rows = lines("Global") + rows
        return _table(["Module", "FLOP", "% Total"], rows or [["Global", "0", "0%"]])

    def __enter__(self):
        self.flop_counts.clear()
        self._unsupported_ops.clear()
        self.mod_tracker.__enter__()
        self.mode = _FlopCounterMode(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *args):
        if self.mode is None:
            raise AssertionError("Internal error: FlopCounter.__exit__ called but mode is None")
        result = self.mode.__exit__(*args)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))
        return result

    def _count_flops(self, packet, out, args, kwargs):
        if packet in self.flop_registry:
            count = self.flop_registry[packet](*args, **kwargs, out_val=out)
            for name in self.mod_tracker.parents:
                self.flop_counts[name][packet] += count
        return out


def _table(header, rows):
    """Columns under their names, the first to the left, the others to the right, as `tabulate` prints them."""
    if not any(row[1].strip("0123456789.") for row in rows):
        rows = [[row[0], f"{float(row[1]):g}", row[2]] for row in rows]
    widths = [max(len(name) + 2, *(len(row[i]) for row in rows)) for i, name in enumerate(header)]
    texts = [[row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))] for row in [header, *rows]]
    texts.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join(row) for row in texts)


class _FlopCounterMode(TorchDispatchMode):
    def __init__(self, counter):
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        return self.counter._count_flops(func._overloadpacket, func(*args, **kwargs), args, kwargs)
