"""What calls are annotated with while they are recorded."""

from contextlib import contextmanager

from torch import _native_compile

_MEMORY_BUDGET = "_region_activation_memory_budget"
_current = {}
# Annotations by what comments show of them.
_shown = {}


def _tell(annotation):
    shown = {name: value if len(str(value)) <= 40 else str(value)[:40] + "..." for name, value in annotation.items()}
    _shown[str(shown)] = annotation
    _native_compile._annotate(str(shown) if annotation else None, annotation.get(_MEMORY_BUDGET))


def annotation_shown_as(text):
    """The annotation that comments show like this."""
    return dict(_shown[text])


@contextmanager
def annotate(annotation_dict):
    """Calls in the block carry the dict in `node.meta["custom"]`."""
    global _current
    before = _current
    _current = {**before, **annotation_dict}
    _tell(_current)
    try:
        yield
    finally:
        _current = before
        _tell(before)


_preserves = False


@contextmanager
def preserve_node_meta(enable=True):
    """Graphs that are traced in the block by `make_fx` keep annotations; other metadata is kept in any case."""
    global _preserves
    before, _preserves = _preserves, enable
    _native_compile._preserve_meta(enable)
    try:
        yield
    finally:
        _preserves = before
        _native_compile._preserve_meta(before)


def has_preserved_node_meta():
    """Whether a block of `preserve_node_meta` runs."""
    return _preserves


def preserved_annotation():
    """What a node made now is annotated with, where metadata is preserved."""
    return dict(_current) if _preserves else {}


@contextmanager
def kept_annotations(keeps=True):
    """Calls that a tracer meets in the block keep annotations, or not."""
    before = _native_compile._keep_annotations(keeps)
    try:
        yield
    finally:
        _native_compile._keep_annotations(before)


def annotate_fn(annotation_dict):
    """A decorator: calls in the function carry the dict."""
    from functools import wraps

    def decorator(function):
        @wraps(function)
        def annotated(*args, **kwargs):
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorator
