import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

scale = 2.0


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))
        self.flag = True

    def forward(self, x, y, factor=1):
        x = self.inner(x) * factor
        return x + y * scale if self.flag else x - y


net = Net().eval()
compiled = torch.compile(net)
x, y = torch.ones(2, 3), torch.ones(3)
compiled(x, y)


def holds(**others):
    (entry,) = _debug_get_cache_entry_list(Net.forward)
    return entry.guard_manager.check({"self": net, "x": x, "y": y, "factor": 1, **others})


print(holds())
print("shape", holds(x=torch.ones(4, 3)), "rank", holds(y=torch.ones(2, 3)), "strides", holds(x=torch.ones(3, 2).t()))
print("dtype", holds(y=y.double()), "gradients", holds(x=x.clone().requires_grad_()), "one tensor twice", holds(x=x, y=x))
print("number", holds(factor=2), "type", holds(factor=1.0))
net.flag = False
print("attribute", holds())
net.flag = True
net.inner[1].train()
print("submodule", holds())
net.inner[1].eval()
scale = 3.0
print("global", holds())
scale = 2.0
with torch.no_grad():
    print("grad mode", holds())
net.inner[0].weight.requires_grad_(False)
print("parameter", holds())
net.inner[0].weight.requires_grad_(True)
print(holds())
for n in (3, 4):
    compiled(torch.ones(n, 3), y)
print([entry.guard_manager.check({"self": net, "x": torch.ones(9, 3), "y": y, "factor": 1}) for entry in _debug_get_cache_entry_list(Net.forward)])
