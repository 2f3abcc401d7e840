"""What `debug=True` adds to the error of a checkpoint: the operators of both forwards, with the lines that called them."""

import contextlib

from torch.utils._checkpoint_frame import CheckpointError

_BAR = "+" + "~" * 78 + "+"
_LINE = "+" + "-" * 78 + "+"

_HEAD = "An error happened while unpacking tensors; here is what ran, because `debug=True` was passed to `torch.utils.checkpoint.checkpoint()`."

_FOOT = """\
 ERROR: Detected non-determinism while running activation checkpointing

 Other tensors were saved for backward by the recomputation than by the original
 forward. Compare the two logs of operators above: where they part, find the
 operator's stack trace in section 1 or 2, whose headings you can search for.
"""


class _Log:
    """The operators of one forward."""

    def __init__(self):
        self.lines, self.traces = [], []

    @contextlib.contextmanager
    def recording(self):
        from torch.testing._internal.logging_tensor import LoggingTensorMode, capture_logs

        with LoggingTensorMode(), capture_logs(True, python_tb=True) as (self.lines, self.traces):
            yield

    def with_traces(self, label):
        text = ""
        for i, (line, trace) in enumerate(zip(self.lines, self.traces)):
            text += f"{line}   ({i + 1} of {len(self.lines)} in {label})\n\n"
            text += "".join(f"{place['filename']}:{place['line']}:{place['name']}\n" for place in trace) + "\n\n"
        return text


def _section(title):
    return f"{_BAR}\n|{title:^78}|\n{_LINE}\n\n"


def debugging():
    """Contexts for both forwards, and what makes the error of their logs."""
    first, second = _Log(), _Log()

    def explain():
        return CheckpointError(
            f"{_HEAD}\n\n"
            + _section("1. Stack traces of the operators that ran in the original forward")
            + f"{first.with_traces('original')}\n"
            + _section("2. Stack traces of the operators that ran during recomputation")
            + f"{second.with_traces('recompute')}\n"
            + _section("3. Log of operators in the original forward and recomputation")
            + "Checkpoints detach other tensors in one than in the other: such differences mean nothing.\n\n"
            + "Operations executed during the original forward:\n\n"
            + "\n".join(first.lines)
            + "\n\nOperations executed during recomputation:\n\n"
            + "\n".join(second.lines)
            + f"\n\n{_LINE}\n{_FOOT}"
        )

    return lambda: (first.recording(), second.recording()), explain
