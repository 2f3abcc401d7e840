"""Marks that a program does not keep: a dimension marked dynamic that turns out to be a number, or another's."""

import torch


def attempt(function, *args):
    torch._dynamo.reset()
    try:
        print(torch.compile(function)(*args).shape)
    except Exception as error:
        print(type(error).__name__)
        print(str(error).split("User stack")[0])


x = torch.randn(6, 4)
torch._dynamo.mark_dynamic(x, 0)
attempt(lambda x: x.view(6, 2, 2) * 2, x)
attempt(lambda x: x * 2 if x.shape[0] == 6 else x, x)
attempt(lambda x: x + 1, x)
y = torch.randn(6, 4)
torch._dynamo.mark_dynamic(y, 0)
attempt(lambda x, y: x + y, x, y)
z = torch.randn(1, 4)
torch._dynamo.mark_dynamic(z, 0)
attempt(lambda z: z * 2, z)
