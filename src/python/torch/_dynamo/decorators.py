"""What a script says about the sizes of its tensors before they are compiled for."""

from torch._arguments import unobeyed


def _mark(t, index, mark):
    if isinstance(index, (list, tuple)):
        for i in index:
            _mark(t, i, mark)
        return
    if not isinstance(index, int):
        raise AssertionError(f"Expected index to be int, list, or tuple, got {type(index)}")
    marks = t.__dict__.setdefault("_dynamo_marks", {})
    marks[index % t.dim() if t.dim() else 0] = mark


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """Makes a dimension symbolic from the first compilation on."""
    unobeyed("mark_dynamic", hint_override=(hint_override, None), specialize_on=(specialize_on, None))
    _mark(t, index, ("dynamic", min, max))


def maybe_mark_dynamic(t, index, *, min=None, max=None):
    """Makes a dimension symbolic as long as nothing makes it a number."""
    _mark(t, index, ("maybe", min, max))


def mark_unbacked(t, index, hint_override=None, strict=False, specialize_on=None, shape_id=None, min=None, max=None):
    """Makes a dimension an unbacked symbol of what is compiled."""
    unobeyed("mark_unbacked", hint_override=(hint_override, None), strict=(strict, False))
    unobeyed("mark_unbacked", specialize_on=(specialize_on, None), shape_id=(shape_id, None))
    _mark(t, index, ("unbacked", min, max))


def mark_static(t, index=None):
    """Makes a dimension, or all of them, a number in every compilation."""
    _mark(t, list(range(t.dim())) if index is None else index, ("static", None, None))
