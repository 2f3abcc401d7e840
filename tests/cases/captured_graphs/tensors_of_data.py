# torch.tensor of lists that hold tensors, torch.as_tensor and torch.asarray are calls of the graph; Tensor.random_ breaks it.
import torch


def backend(graph, examples):
    print(graph.code.strip())
    return graph


def show(f, *calls):
    torch._dynamo.reset()
    compiled = torch.compile(f, backend=backend)
    for args in calls:
        print(compiled(*args))


x = torch.ones(2)
three, five = torch.tensor(3.0), torch.tensor(5.0)
show(lambda x, s: x + torch.tensor([s, 1.0]), (x, three), (x, five))
show(lambda x, s: x + torch.tensor([[s, 1], [2, s * 2]], dtype=torch.float64), (x, three), (x, five))
show(lambda x, s: x + torch.tensor((s, 2)), (x, torch.tensor(3)), (x, torch.tensor([5])))
show(lambda x: torch.as_tensor(x) + 1, (x,))
show(lambda x: torch.as_tensor(x, dtype=torch.float64) + 1, (x,))
show(lambda x: torch.as_tensor([1.0, 2.0]) + x, (x,))
show(lambda x: torch.as_tensor(x.shape[0]) + x, (x,))
show(lambda x: torch.asarray(x) + 1, (x,))
show(lambda x: torch.asarray(x, copy=True) + 1, (x,))
show(lambda x: torch.asarray([1, 2], dtype=torch.float32) + x, (x,))


def random(x):
    y = x * 2
    y.random_(0, 10)
    return y * 0 + x


show(random, (x,))
print(torch._dynamo.utils.counters["graph_break"])
compiled = torch.compile(lambda x, s: (x + torch.tensor([[s], [1.0]])).sum() + torch.as_tensor(x).sum(), backend="aot_eager")
print(compiled(x.requires_grad_(), three))
