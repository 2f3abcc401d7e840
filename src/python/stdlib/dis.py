"""What `inspect` needs to know of bytecode. There is no disassembler: this interpreter's bytecode is its own."""

from collections import namedtuple

COMPILER_FLAG_NAMES = {
    1: "OPTIMIZED",
    2: "NEWLOCALS",
    4: "VARARGS",
    8: "VARKEYWORDS",
    16: "NESTED",
    32: "GENERATOR",
    64: "NOFREE",
    128: "COROUTINE",
    256: "ITERABLE_COROUTINE",
    512: "ASYNC_GENERATOR",
}

Positions = namedtuple("Positions", "lineno end_lineno col_offset end_col_offset", defaults=(None,) * 4)


def dis(x=None, **kwargs):
    raise NotImplementedError("the playground has no disassembler")


def get_instructions(x, **kwargs):
    return iter(())


def findlinestarts(code):
    last = None
    for start, _, line in code.co_lines():
        if line is not None and line != last:
            last = line
            yield start, line
