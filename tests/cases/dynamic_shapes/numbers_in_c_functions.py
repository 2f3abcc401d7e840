"""Numbers that became dynamic, given to functions that are not written in Python."""

import math

import torch
from torch._dynamo.testing import CompileCounterWithBackend

# Such a function needs the number, so the graph serves that number alone. A function of `math` that gives no float breaks the graph. A
# backend that asks AOTAutograd is called again, with the number in the place of the input.
functions = {
    "isinf": lambda x, k: x + 1 if math.isinf(k) else x * k,
    "isclose": lambda x, k: x * k + math.isclose(k, 3.5),
    "fmod": lambda x, k: x * k + math.fmod(k, 1.0),
    "copysign": lambda x, k: x * math.copysign(2.0, k) * k,
    "modf": lambda x, k: x * k + math.modf(k)[0],
    "radians": lambda x, k: x * k + math.radians(k),
    "key": lambda x, k: (x * k, {2.5: "a", 3.5: "b"}.get(k)),
    "is_integer": lambda x, k: (x * k, k.is_integer()),
    "as_integer_ratio": lambda x, k: (x * k, k.as_integer_ratio()),
    "hex": lambda x, k: (x * k, k.hex()),
    "real": lambda x, k: (x * k, k.real),
}
for backend in "eager", "aot_eager":
    for name, function in functions.items():
        torch._dynamo.reset()
        counter = CompileCounterWithBackend(backend)
        compiled = torch.compile(function, backend=counter)
        for k in 2.5, 3.5, 4.5, 5.5:
            print(backend, name, k, compiled(torch.ones(1), k), counter.frame_count)

# Integers.
functions = {
    "isqrt": lambda x, k: x * k + math.isqrt(k),
    "isfinite": lambda x, k: x * k + math.isfinite(k),
    "isinstance": lambda x, k: x + 1 if isinstance(k, int) else x,
}
for name, function in functions.items():
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(function, backend=counter)
    for k in 5, 6, 7:
        print(name, k, compiled(torch.ones(1), k), counter.frame_count)

def classes(x, k):
    return x + 1 if isinstance(k, bool) else (x + 2 if isinstance(k, int) else x + 3)


torch._dynamo.reset()
counter = CompileCounterWithBackend("eager")
compiled = torch.compile(classes, backend=counter)
# Whoever asks for the class of a number has a guard on its value; of a truth it is one on the class.
for k in 1, True, False, 1.0, 2, 3:
    print(k, compiled(torch.ones(1), k), counter.frame_count)
