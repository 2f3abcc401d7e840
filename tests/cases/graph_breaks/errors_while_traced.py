# What an operator refuses while a function is traced is Dynamo's error, whatever the class of the operator's own.

import torch

positions = torch.tensor([0.5, 1.0])


class Scores(torch.nn.Module):
    def forward(self, x):
        return (x > 0).mean()


CALLS = [
    lambda x: x[positions],
    lambda x: x @ 2,
    lambda x: x @ 2.0,
    lambda x: x + "a",
    lambda x: x * None,
    lambda x: x - [1],
    lambda x: x**None,
    lambda x: x.mean(dtype=torch.int64),
    lambda x: torch.cat([]),
    lambda x: torch.nn.functional.cross_entropy(x, torch.ones(5)),
    lambda x: x.view(5),
    lambda x: x.sum(7),
    lambda x: torch.bmm(x, x),
    Scores(),
]
for f in CALLS:
    torch._dynamo.reset()
    try:
        print(torch.compile(f)(torch.ones(2, 3)))
    except Exception as error:
        print(type(error).__name__, str(error).split("\n")[0])
