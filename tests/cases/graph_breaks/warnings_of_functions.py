"""What a function of torch warns of does not break the graph that it is a call of; a script's own warning does."""
import warnings

import torch
import torch.nn.functional as F

warnings.simplefilter("ignore")
torch.manual_seed(0)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.softmax = torch.nn.Softmax()

    def forward(self, x):
        weights = F.softmax(self.linear(x))
        return self.softmax(F.log_softmax(weights * 2)) + F.tanh(weights) + F.softmin(x)


model = Attention()
out = torch.compile(model)(torch.randn(3, 4))
out.pow(2).sum().backward()
print(f"{out.sum().item():.4f} {model.linear.weight.grad.norm().item():.4f}")


def losses(x):
    larger = F.upsample(x, scale_factor=2)
    smooth = F.interpolate(x, scale_factor=2, mode="bilinear")
    return F.mse_loss(larger, smooth, size_average=True) + F.kl_div(torch.log_softmax(larger, 1), torch.softmax(smooth, 1))


print(f"{torch.compile(losses)(torch.randn(1, 2, 3, 3)).item():.4f}")


def own(x):
    x = x * 2
    warnings.warn("mine")
    return x + 1


print(torch.compile(own)(torch.ones(2)))
counters = torch._dynamo.utils.counters
print(counters["stats"]["unique_graphs"], len(counters["graph_break"]))
