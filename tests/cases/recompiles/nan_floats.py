# A float that is NaN is no symbol: one graph serves all calls with it, and graphs of symbols do not.
import torch

graphs = 0


def backend(graph, examples):
    global graphs
    graphs += 1
    return graph


def run(f, values):
    torch._dynamo.reset()
    for value in values:
        print(f(torch.ones(2), value), graphs)


nan, inf = float("nan"), float("inf")
run(torch.compile(lambda x, s: x * s, backend=backend), (1.0, 2.0, nan, inf, nan, -0.0, 3.0))
run(torch.compile(lambda x, s: x + s, backend=backend), (nan, nan, 2.0, 3.0, nan))
run(torch.compile(lambda x, s: x - s, backend=backend, dynamic=True), (nan, nan, 2.0, nan, 4.0))
run(torch.compile(lambda x, s: x * 2 if s > 1 else x, backend=backend), (0.0, 2.0, nan, 3.0))
held = [1.0]
g = torch.compile(lambda x: x * held[0], backend=backend)
for value in (1.0, 2.0, nan, nan, 3.0):
    held[0] = value
    print(g(torch.ones(2)), graphs)
