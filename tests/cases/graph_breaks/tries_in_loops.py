# Breaks in a try of a loop, where a finally or a handler stands behind them: the frame is skipped, or what precedes the loop is a graph.
import torch
from torch._dynamo.testing import CompileCounter
def brk(): torch._dynamo.graph_break()
def v1(x):
    for i in range(3):
        try:
            x = x + 1
            if i == 1:
                brk()
        finally: x = x * 2
    return x
def v2(x):
    for i in range(3):
        try:
            x = x + 1
            if i == 1:
                raise ValueError(i)
        except ValueError as e:
            brk()
    return x
def v3(x):
    for i in range(3):
        try:
            x = x + 1
            if i == 1:
                brk()
                raise ValueError(i)
        except ValueError as e:
            x = x * 3
    return x
def v4(x):
    for i in range(3):
        try:
            x = x + 1
            if i == 1:
                brk()
                raise ValueError(i)
        except ValueError as e:
            brk()
        finally: x = x * 2
    return x
def v5(x):
    for i in range(2):
        try:
            x = x + 1
            brk()
            raise ValueError(i)
        except ValueError as e:
            brk()
    return x
def v6(x):
    try:
        x = x + 1
        brk()
        raise ValueError(1)
    except ValueError as e:
        brk()
    return x * 2
def v7(x):
    y = x.sin()
    z = y.cos() + 1
    for i in range(3):
        try:
            z = z + y
            if i == 1:
                brk()
        finally: z = z * 2
    return z
def v8(x):
    y = x.sin()
    z = y.cos() + 1
    i = 0
    while i < 3:
        try:
            z = z + y
            if i == 1:
                brk()
                raise ValueError(i)
        except ValueError:
            z = z - 1
        finally: z = z * 2
        i += 1
    return z
def v9(x):
    y = x.sin()
    z = y.cos() + 1
    for i in range(2):
        try:
            z = z + y
            raise ValueError(i)
        except ValueError:
            brk()
        z = z * 2
    return z
for fn in (v1, v2, v3, v4, v5, v6, v7, v8, v9):
    torch._dynamo.reset(); k = CompileCounter()
    try: print(fn.__name__, torch.compile(fn, backend=k)(torch.ones(1)), k.frame_count, k.op_count)
    except Exception as e: print(fn.__name__, type(e).__name__, str(e)[:90])
