import math

import torch

functions = {
    "power of a logarithm": lambda n: 2 ** math.ceil(math.log2(n)),
    "logarithm": lambda n: math.ceil(math.log2(n)),
    "root": lambda n: math.floor(math.sqrt(n)),
    "power": lambda n: 2**n,
    "own power": lambda n: n**n,
    "shifted": lambda n: 1 << n,
    "shifted by one": lambda n: n << 1,
    "rounded": lambda n: round(n * 0.5),
    "halves": lambda n: math.ceil(n / 2) + math.trunc(n / 2),
    "power of a difference": lambda n: 2 ** (n - 1),
}
for name, function in functions.items():
    torch._dynamo.reset()
    seen = []

    def backend(gm, inputs):
        seen.append([n.name for n in gm.graph.nodes if n.name.startswith(("pow", "lshift", "round"))])
        return gm

    compiled = torch.compile(lambda x: x * function(x.shape[0]), backend=backend)
    print(name, [compiled(torch.ones(n)).sum().item() for n in (3, 5, 7, 9)], seen)
