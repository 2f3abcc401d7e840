import torch

net = torch.nn.Sequential(torch.nn.Conv1d(2, 4, 3), torch.nn.BatchNorm1d(4), torch.nn.ReLU()).bfloat16()
compiled = torch.compile(net)
torch.manual_seed(0)
out = compiled(torch.ones(2, 2, 5, dtype=torch.bfloat16))
out.sum().backward()
print(out.dtype, net[1].running_mean.dtype, net[1].running_var.dtype, net[0].weight.grad.dtype, net[1].num_batches_tracked)


@torch.compile
def phase(z):
    return z.angle() * 2


z = torch.tensor([1 + 1j, -2j, 0j], requires_grad=True)
phase(z).sum().backward()
print(z.grad)
