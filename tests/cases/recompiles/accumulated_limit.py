# The accumulated limit holds where a script raises the other one: the code runs as it is from then on.
import torch

torch._dynamo.config.recompile_limit = 1000
torch._dynamo.config.accumulated_recompile_limit = 3


@torch.compile(dynamic=False)
def f(x):
    return x.sin()


for n in range(2, 8):
    print(f(torch.zeros(n)).shape)


@torch.compile(fullgraph=True, dynamic=False)
def g(x):
    return x.cos()


for n in range(2, 8):
    try:
        print(g(torch.zeros(n)).shape)
    except torch._dynamo.exc.FailOnRecompileLimitHit as error:
        print(str(error).split("\n")[0])
