"""Stacks and exceptions as text."""

import sys

import linecache
from _playground import format_exception as _format, format_exception_only as _format_only

_MISSING = object()


class FrameSummary:
    """One frame of a stack."""

    def __init__(self, filename, lineno, name, *, lookup_line=True, locals=None, line=None, **positions):
        self.filename = filename
        self.lineno = lineno
        self.name = name
        self.locals = locals
        self.end_lineno = positions.get("end_lineno")
        self.colno = positions.get("colno")
        self.end_colno = positions.get("end_colno")
        self._line = line

    @property
    def line(self):
        if self._line is None:
            self._line = linecache.getline(self.filename, self.lineno)
        return self._line.strip()

    def __iter__(self):
        return iter((self.filename, self.lineno, self.name, self.line))

    def __getitem__(self, index):
        return (self.filename, self.lineno, self.name, self.line)[index]

    def __len__(self):
        return 4

    def __eq__(self, other):
        if isinstance(other, (FrameSummary, tuple)):
            return tuple(self) == tuple(other)
        return NotImplemented

    def __repr__(self):
        return f"<FrameSummary file {self.filename}, line {self.lineno} in {self.name}>"


class StackSummary(list):
    """Frames, outermost first."""

    @classmethod
    def extract(cls, frames, *, limit=None, lookup_lines=True, capture_locals=False):
        frames = list(frames)
        if limit is None:
            limit = getattr(sys, "tracebacklimit", None)
        if limit is not None:
            frames = frames[:limit] if limit >= 0 else frames[limit:]
        return cls(FrameSummary(f.f_code.co_filename, line, f.f_code.co_name) for f, line in frames)

    @classmethod
    def from_list(cls, entries):
        return cls(e if isinstance(e, FrameSummary) else FrameSummary(*e[:3], line=e[3]) for e in entries)

    def format_frame_summary(self, frame):
        text = f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n'
        return text + f"    {frame.line}\n" if frame.line else text

    def format(self, **kwargs):
        shown = []
        last, count = None, 0
        for frame in self:
            place = (frame.filename, frame.lineno, frame.name)
            if place != last:
                shown += _repeats(count)
                last, count = place, 0
            count += 1
            if count <= 3:
                shown.append(self.format_frame_summary(frame))
        return shown + _repeats(count)


def _repeats(count):
    more = count - 3
    return [f"  [Previous line repeated {more} more time{'s' if more > 1 else ''}]\n"] if more > 0 else []


class TracebackException:
    """An exception, ready to be shown."""

    def __init__(self, exc_type, exc_value, exc_traceback, **kwargs):
        self.exc_type = exc_type
        self.stack = extract_tb(exc_traceback)
        self._value = exc_value
        self._text = _format(exc_value) if exc_value is not None else "NoneType: None\n"
        self._only = _format_only(exc_value) if exc_value is not None else "NoneType: None\n"

    @classmethod
    def from_exception(cls, exc, **kwargs):
        return cls(type(exc), exc, exc.__traceback__, **kwargs)

    def format(self, *, chain=True, **kwargs):
        if chain:
            yield self._text
            return
        if self.stack:
            yield "Traceback (most recent call last):\n"
            yield from self.stack.format()
        yield self._only

    def format_exception_only(self, **kwargs):
        yield self._only

    def print(self, *, file=None, chain=True, **kwargs):
        print("".join(self.format(chain=chain)), file=sys.stderr if file is None else file, end="")

    def __str__(self):
        return str(self._value)


def walk_tb(tb):
    while tb is not None:
        yield tb.tb_frame, tb.tb_lineno
        tb = tb.tb_next


def walk_stack(f):
    if f is None:
        f = sys._getframe(1)
    while f is not None:
        yield f, f.f_lineno
        f = f.f_back


def extract_tb(tb, limit=None):
    return StackSummary.extract(walk_tb(tb), limit=limit)


def extract_stack(f=None, limit=None):
    frames = list(walk_stack(sys._getframe(1) if f is None else f))
    if limit is not None:
        frames = frames[:limit] if limit >= 0 else frames[limit:]
    return StackSummary.extract(reversed(frames))


def format_list(extracted_list):
    return StackSummary.from_list(extracted_list).format()


def print_list(extracted_list, file=None):
    print("".join(format_list(extracted_list)), file=sys.stderr if file is None else file, end="")


def format_tb(tb, limit=None):
    return extract_tb(tb, limit).format()


def print_tb(tb, limit=None, file=None):
    print("".join(format_tb(tb, limit)), file=sys.stderr if file is None else file, end="")


def format_stack(f=None, limit=None):
    return extract_stack(sys._getframe(1) if f is None else f, limit).format()


def print_stack(f=None, limit=None, file=None):
    text = "".join(format_stack(sys._getframe(1) if f is None else f, limit))
    print(text, file=sys.stderr if file is None else file, end="")


def _exception(exc, value):
    return exc if value is _MISSING else value


def format_exception(exc, /, value=_MISSING, tb=_MISSING, limit=None, chain=True, **kwargs):
    value = _exception(exc, value)
    tb = getattr(value, "__traceback__", None) if tb is _MISSING else tb
    return list(TracebackException(type(value), value, tb).format(chain=chain))


def format_exception_only(exc, /, value=_MISSING, **kwargs):
    return [_format_only(_exception(exc, value))]


def print_exception(exc, /, value=_MISSING, tb=_MISSING, limit=None, file=None, chain=True, **kwargs):
    text = "".join(format_exception(exc, value, tb, limit, chain))
    print(text, file=sys.stderr if file is None else file, end="")


def format_exc(limit=None, chain=True):
    return "".join(format_exception(sys.exception(), limit=limit, chain=chain))


def print_exc(limit=None, file=None, chain=True):
    print_exception(sys.exception(), limit=limit, file=file, chain=chain)


def print_last(limit=None, file=None, chain=True):
    print_exception(sys.last_value, limit=limit, file=file, chain=chain)


def clear_frames(tb):
    for frame, _ in walk_tb(tb):
        try:
            frame.clear()
        except RuntimeError:
            pass
