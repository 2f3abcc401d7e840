"""Options of how tensors print; the printing itself is native."""

from contextlib import contextmanager

from torch import _C

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}


class _PrinterOptions:
    def __init__(self):
        self.__dict__.update(_PROFILES["default"], sci_mode=None)


PRINT_OPTS = _PrinterOptions()


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
):
    """Sets digits, when to summarize, how many items a summary shows at each end, width and scientific notation."""
    options = PRINT_OPTS.__dict__
    options.update(_PROFILES.get(profile, {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    options.update((name, value) for name, value in given.items() if value is not None)
    options["sci_mode"] = sci_mode
    _C._set_printoptions(**options)


def get_printoptions():
    """The options as `set_printoptions` takes them."""
    return dict(PRINT_OPTS.__dict__)


@contextmanager
def printoptions(**kwargs):
    """Options for a block."""
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)
