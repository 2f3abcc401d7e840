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


@contextmanager
def preserve_node_meta(enable=True):
    """Metadata is kept in any case."""
    yield


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
