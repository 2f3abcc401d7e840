"""Which backends write to inputs in the graph: where one does not, a value that backward saves and the function then writes is refused."""
import torch


def scaled(x, stat):
    y = x * (stat + 1)
    stat.mul_(0.5)
    return y.sin()


def copied(x, stat):
    y = x * stat.clone()
    stat.add_(1)
    return y


for backend in ("aot_eager", "aot_eager_decomp_partition", "aot_eager_default_partitioner"):
    for f in (scaled, copied):
        torch._dynamo.reset()
        x, stat = torch.ones(3, requires_grad=True), torch.ones(1)
        try:
            torch.compile(f, backend=backend)(x, stat).sum().backward()
            print(backend, f.__name__, stat, x.grad)
        except RuntimeError as e:
            print(backend, f.__name__, stat, str(e)[:60])
        with torch.no_grad():
            print(torch.compile(f, backend=backend)(x.detach(), stat), stat)
