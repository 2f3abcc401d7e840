# keep: operator:aten.relu
import torch
import torch._inductor.config as ind

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).eval()
x = torch.ones(2, 3)
want = net(x)
with ind.patch(freezing=True), torch.no_grad():
    f = torch.compile(net)
    got = f(x)
    print(torch.allclose(got, want), got.requires_grad)
    net[0].weight.data.zero_()
    print(torch.allclose(f(x), want))
    print(f(torch.ones(5, 3)).shape)
