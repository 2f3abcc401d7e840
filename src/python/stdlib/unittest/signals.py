"""What unittest does at Ctrl-C: nothing, since no signals arrive here."""

from functools import wraps

__unittest = True


def registerResult(result):
    """Would tell a result of an interrupt."""


def removeResult(result):
    """Whether the result was known."""
    return False


def installHandler():
    """Would catch interrupts."""


def removeHandler(method=None):
    """Would stop catching them; around a method, for its call."""
    if method is None:
        return None

    @wraps(method)
    def inner(*args, **kwargs):
        return method(*args, **kwargs)

    return inner
