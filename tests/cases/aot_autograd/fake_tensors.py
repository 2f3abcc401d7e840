import copy

import torch
import torch.nn as nn
from torch._guards import detect_fake_mode
from torch._subclasses import FakeTensor, FakeTensorMode

mode = FakeTensorMode()
with mode:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    x = torch.randn(3, 4)
    y = model(x)
print(y, type(y), y.requires_grad, x.stride(), x.numel())
print(model[0].weight, type(model[0].weight), isinstance(model[0].weight, nn.Parameter))
y.sum().backward()
print(model[0].weight.grad, model[2].bias.grad)
torch.optim.SGD(model.parameters(), lr=0.1).step()
real = nn.Linear(4, 8)


def attempt(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


with mode:
    attempt(lambda: real(torch.randn(2, 4)))
    values = torch.tensor([1.0, 2.0, 3.0])
    number = torch.tensor(3.0)
    print(values, number.item(), (number * 2 + 1).item())
    attempt(lambda: (values > 1).nonzero())
    attempt(lambda: values[values > 1])
    attempt(lambda: values.sum().item())
    attempt(values.tolist)
    attempt(lambda: "yes" if values.sum() > 0 else "no")
    far = torch.empty(3, 4, device="cuda")
    print(far, far.device, (far + 1).device)
    attempt(lambda: far + torch.ones(3, 4))
    print(torch.ones(2, 3).cuda().to("cpu"), torch.empty(2, device="meta"))
    large = torch.empty(100000, 100000)
    print((large @ large).shape)

weight = mode.from_tensor(real.weight)
print(weight, weight.is_leaf, isinstance(weight, nn.Parameter), mode.from_tensor(real.weight) is weight)
print(weight.fake_mode is mode, weight.fake_device, weight.view(-1), weight[0], weight.detach())
written = weight.detach().clone()
written.mul_(2)
written[0] = 1
written.t_()
print(written, copy.deepcopy(written))
attempt(weight.numpy)
other = FakeTensorMode()
with other:
    ones = torch.ones(8, 4)
attempt(lambda: torch.ones(8, 4) + ones)
print(ones * 2 + 1, detect_fake_mode([ones]) is other, isinstance(ones, FakeTensor))
with FakeTensorMode(allow_non_fake_inputs=True):
    print(nn.Conv2d(3, 8, 3, padding=1, stride=2)(torch.randn(2, 3, 16, 16)))
with torch.no_grad(), FakeTensorMode():
    print(nn.TransformerEncoderLayer(16, 2)(torch.randn(5, 2, 16)))
print(torch.ones(2))
