"""Strides of dimensions of one element: of an output that hides what it views, of tangents, of gradients of norms."""
import torch


def views(x):
    return (x * 2).view(4, x.shape[1], 1, 5).permute(2, 0, 1, 3)


def beside(x):
    return views(x), x.sum()


def both(x):
    y = views(x)
    return y, y.view(-1)


torch.manual_seed(0)
x = torch.randn(4, 7, 5, requires_grad=True)
for f in (views, beside, both):
    for dynamic in (True, False):
        torch._dynamo.reset()
        out = torch.compile(f, dynamic=dynamic)(x)
        first = out if isinstance(out, torch.Tensor) else out[0]
        first.sum().backward()
        print(f.__name__, dynamic, first.stride(), first._is_view(), x.grad.sum().item())
        x.grad = None
print(torch.compile(views)(x.detach()).stride(), views(x).stride())


class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return views(x)

    @staticmethod
    def backward(ctx, g):
        return g.permute(1, 2, 0, 3).reshape(4, 7, 5) * 2


print(Function.apply(x).stride())


def norm(x, c):
    y = torch.nn.functional.batch_norm(c(x), None, None, training=True)
    return y.contiguous(memory_format=torch.channels_last if y.is_contiguous() else torch.contiguous_format)


for memory_format in (torch.contiguous_format, torch.channels_last):
    torch._dynamo.reset()
    c = torch.nn.Conv2d(3, 6, 1).to(memory_format=memory_format)
    image = torch.randn(2, 3, 2, 2).to(memory_format=memory_format).requires_grad_()
    torch.compile(norm)(image, c).pow(3).sum().backward()
    print(f"{image.grad.abs().sum().item():.4f}", image.grad.stride())
