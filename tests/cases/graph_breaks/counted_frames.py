# counters["frames"] counts every frame that Dynamo looks into, also those that no graph is made of.
import torch
import torch.nn.functional as F

counters = torch._dynamo.utils.counters


def show(name):
    print(name, dict(counters["frames"]), dict(counters["stats"]))
    counters.clear()
    torch._dynamo.reset()


@torch.compile(backend="eager")
def loop(x):
    for i in range(3):
        if x.sum() > i:
            x = x + 1
    return x


loop(torch.ones(2))
show("loop")


@torch.compile(backend="eager")
def no_tensor(x):
    return x + 1


no_tensor(3)
show("no tensor")


@torch.compile(backend="eager")
def nothing(x):
    return [1]


nothing(torch.ones(1))
show("nothing")


@torch.compile(backend="eager")
def broken(x):
    x = x + 1
    print("x")
    return x * 2


broken(torch.ones(2))
show("broken")


@torch.compile(backend="eager")
def tried(x):
    try:
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2
    finally:
        x = 3


tried(torch.ones(2))
show("tried")


@torch.compile(backend="eager")
def raises(x):
    x = x + 1
    raise ValueError("a")


try:
    raises(torch.ones(2))
except ValueError:
    pass
show("raises")


@torch.compile(backend="eager")
def outer(x, rnn):
    return rnn(x)[0] + 1


outer(torch.randn(4, 1, 2), torch.nn.LSTM(2, 3))
print(list(counters["graph_break"]))
show("recurrent")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleDict({"gru": torch.nn.GRU(2, 3)})

    def forward(self, x):
        return self.parts["gru"](x)[0]


try:
    torch.compile(Model(), backend="eager", fullgraph=True)(torch.ones(4, 1, 2))
except torch._dynamo.exc.Unsupported as e:
    print(str(e).split("from user code")[0])
