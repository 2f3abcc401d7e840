import torch
import torch.nn.functional as F
import torch._dynamo.compiled_autograd as ca


def show(gm):
    text = gm.print_readable(print_output=False)
    print("\n".join(line for line in text.split("\n") if line.strip() and not line.strip().startswith("#")))
    return gm


def backward(loss):
    with ca._enable(show):
        loss.backward()


x = torch.tensor([[1.0, 2.0], [3.0, 4.5]], requires_grad=True)
y = torch.tensor([0.5, -1.0], requires_grad=True)
backward((x * 2 + 3.0).sum())
backward((x @ x + y).relu().mean())
backward(torch.cat([x, x[:1] * y]).std() + x.max(0)[0].sum() + x.gather(1, torch.tensor([[0], [1]])).sum())
backward(F.layer_norm(x, (2,), y, None).pow(3).sum() / x.norm())
backward(F.cross_entropy(x, torch.tensor([0, 1])) + F.gelu(y).sum() + x.softmax(-1).log().sum())
v = x.clone()
v[0].mul_(y)
v.view(-1)[1:3].copy_(y)
backward((v * v).sum())
backward(x.to(torch.float64).t().expand(3, 2, 2).sum(0).select(0, 1).sum())
w = torch.ones(1, 1, 2, 2, requires_grad=True)
backward(F.max_pool2d(F.conv2d(x[None, None], w, padding=1), 2).sum())
backward(F.embedding(torch.tensor([1, 0, 1]), x).sum() + torch.where(x > 2, x, y).sum())
print(x.grad, y.grad, w.grad)
