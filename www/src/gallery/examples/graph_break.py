import torch


@torch.compile
def f(x):
    y = torch.sin(x) * 2
    if y.sum().item() > 0:  # Python needs the number now: the first graph ends here
        return torch.relu(y) + 1
    return torch.tanh(y)


for x in (torch.full((3,), 0.5), torch.full((3,), -0.5)):
    x.requires_grad_()
    f(x).sum().backward()
    print([round(g, 4) for g in x.grad.tolist()])
