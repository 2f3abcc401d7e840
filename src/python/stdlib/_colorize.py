"""Nothing is printed in colour."""


class _Theme:
    """Any part of any theme: no escape sequence at all."""

    def __getattr__(self, name):
        return "" if name.islower() and name not in _PARTS else self


_PARTS = ("argparse", "difflib", "syntax", "traceback", "unittest")


def can_colorize(*, file=None):
    return False


def decolor(text):
    return text


def get_theme(*, tty_file=None, force_color=False, force_no_color=False):
    return _Theme()
