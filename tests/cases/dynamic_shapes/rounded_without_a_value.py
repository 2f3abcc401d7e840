"""What is no integer, rounded in a graph: Python's errors."""

import math

import torch

torch._dynamo.config.capture_scalar_outputs = True
functions = {
    "int": lambda x: int(x[0]),
    "item": lambda x: x + int(x.sum().item()),
    "floor": lambda x: x * math.floor(x[0].item()),
}
for value in math.nan, math.inf, -math.inf, 2.5:
    for name, function in functions.items():
        torch._dynamo.reset()
        try:
            print(value, name, torch.compile(function, backend="aot_eager")(torch.tensor([value])))
        except (ValueError, OverflowError) as error:
            print(value, name, type(error).__name__, error)
