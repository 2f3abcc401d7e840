"""A stub of tqdm: iterates and counts as tqdm does, and draws no progress bar (tqdm's goes to standard error)."""

import contextlib
import sys

__all__ = ["tqdm", "trange", "tqdm_notebook", "tnrange"]


class tqdm:
    def __init__(self, iterable=None, desc=None, total=None, leave=True, file=None, ncols=None, mininterval=0.1, maxinterval=10.0,
                 miniters=None, ascii=None, disable=False, unit="it", unit_scale=False, dynamic_ncols=False, smoothing=0.3,
                 bar_format=None, initial=0, position=None, postfix=None, unit_divisor=1000, **_options):
        if total is None and iterable is not None:
            with contextlib.suppress(TypeError, AttributeError):
                total = len(iterable)
        self.iterable, self.total, self.n = iterable, total, initial
        self.desc, self.disable, self.unit, self.leave, self.postfix = desc or "", disable, unit, leave, postfix

    def __iter__(self):
        for item in self.iterable:
            yield item
            self.n += 1

    def __len__(self):
        if self.iterable is None:
            return self.total
        return len(self.iterable) if hasattr(self.iterable, "__len__") else self.total

    def __bool__(self):
        if self.total is not None:
            return self.total > 0
        if self.iterable is None:
            raise TypeError("bool() undefined when iterable == total == None")
        return bool(self.iterable)

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()

    def update(self, n=1):
        self.n += n

    def reset(self, total=None):
        self.n = 0
        if total is not None:
            self.total = total

    def set_description(self, desc=None, refresh=True):
        self.desc = f"{desc}: " if desc else ""

    def set_description_str(self, desc=None, refresh=True):
        self.desc = desc or ""

    def set_postfix(self, ordered_dict=None, refresh=True, **values):
        self.postfix = ", ".join(f"{key}={value}".strip() for key, value in {**(ordered_dict or {}), **values}.items())

    def set_postfix_str(self, s="", refresh=True):
        self.postfix = str(s)

    def close(self):
        pass

    clear = refresh = unpause = display = lambda self, *_arguments, **_named: None

    @classmethod
    def write(cls, s, file=None, end="\n", nolock=False):
        (file if file is not None else sys.stdout).write(s + end)

    @classmethod
    def pandas(cls, *_arguments, **_named):
        raise ModuleNotFoundError("No module named 'pandas' (the package 'pandas' is not available in the playground)", name="pandas")


def trange(*arguments, **named):
    """`tqdm(range(...))`"""
    return tqdm(range(*arguments), **named)


tqdm_notebook, tnrange = tqdm, trange
