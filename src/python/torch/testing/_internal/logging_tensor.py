"""Operators as a log: `LoggingTensor`, whose operators are written down, `LoggingTensorMode`, which writes down all, and what
collects the lines."""

import contextlib
import logging
import sys

import torch
from torch import _native
from torch.utils._dtype_abbrs import dtype_abbrs
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

logger = logging.getLogger("LoggingTensor")


def _log(func, args, kwargs, result):
    logger.info(f"{func.__module__}.{func.__name__}", extra={"lt_args": args, "lt_kwargs": kwargs, "lt_rs": result})


class LoggingTensor(torch.Tensor):
    """A tensor whose operators are written down and run on `elem`."""

    __slots__ = ["elem"]
    context = contextlib.nullcontext

    @staticmethod
    def __new__(cls, elem, *, requires_grad=False):
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            elem.size(),
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            layout=elem.layout,
            device=elem.device,
            requires_grad=requires_grad,
        )
        made.elem = elem.detach() if made.requires_grad else elem
        return made

    def __repr__(self):
        return super().__repr__(tensor_contents=f"{self.elem}")

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        plain = lambda value: value.elem if isinstance(value, cls) else value
        with cls.context():
            result = func(*tree_map(plain, args), **tree_map(plain, kwargs))
        result = tree_map(lambda value: cls(value) if isinstance(value, torch.Tensor) else value, result)
        _log(func, args, kwargs, result)
        return result


class LoggingTensorMode(TorchDispatchMode):
    """While it is entered, every operator is written down."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        _log(func, args, kwargs, result)
        return result


def log_input(name, var):
    """Writes down a tensor that no operator made."""
    logger.info("input", extra={"lt_args": (name,), "lt_kwargs": {}, "lt_rs": var})


def _trace():
    """Where the operator was called from, the innermost frame first, without the frames of logging and of dispatch."""
    frame, found, is_below = sys._getframe(1), [], False
    while frame is not None:
        code = frame.f_code
        if is_below:
            found.append({"filename": code.co_filename, "line": frame.f_lineno, "name": code.co_name})
        is_below = is_below or code.co_name == "__torch_dispatch__"
        frame = frame.f_back
    return found


class LoggingTensorHandler(logging.Handler):
    """Turns records into lines: tensors are numbered in the order in which they are met."""

    def __init__(self, log_list, use_shortid_for_all_tensors, with_type, tracebacks_list):
        super().__init__()
        self.log_list, self.with_type, self.tracebacks_list = log_list, with_type, tracebacks_list
        self.numbered = torch.Tensor if use_shortid_for_all_tensors else LoggingTensor
        self.numbers = {}

    def _number(self, tensor):
        # The tensor is not kept, and the object that stands for it here may not be the one that does in another call.
        return self.numbers.setdefault(_native._tensor_id(tensor), len(self.numbers))

    def _shown(self, value, with_type=False):
        if not isinstance(value, self.numbered):
            return repr(value)
        of = f": {dtype_abbrs[value.dtype]}[{', '.join(map(str, value.shape))}]" if with_type and self.with_type else ""
        return f"${self._number(value)}{of}"

    def emit(self, record):
        args = [str(tree_map(self._shown, arg)) for arg in record.lt_args]
        args += [f"{name}={tree_map(self._shown, value)}" for name, value in record.lt_kwargs.items()]
        result = tree_map(lambda value: self._shown(value, True), record.lt_rs)
        self.log_list.append(f"{result} = {record.msg}({', '.join(args)})")
        if self.tracebacks_list is not None:
            self.tracebacks_list.append(_trace())


@contextlib.contextmanager
def capture_logs(is_mode=False, python_tb=False, script_tb=False, cpp_tb=False):
    """The lines that are written inside; with one of the last three, also each line's stack of Python frames."""
    lines, traces = [], [] if python_tb or script_tb or cpp_tb else None
    handler = LoggingTensorHandler(lines, is_mode, True, traces)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield lines if traces is None else (lines, traces)
    finally:
        logger.removeHandler(handler)


@contextlib.contextmanager
def capture_logs_with_logging_tensor_mode(python_tb=False, script_tb=False, cpp_tb=False):
    """The lines of every operator inside."""
    with LoggingTensorMode(), capture_logs(True, python_tb, script_tb, cpp_tb) as lines:
        yield lines
