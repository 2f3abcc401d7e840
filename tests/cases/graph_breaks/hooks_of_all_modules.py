"""Hooks of all modules around compiled ones: the graph depends on them, and the compiled module has them called once more."""
import warnings

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

log = []
net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU())
torch.nn.init.constant_(net[0].weight, 1.0)
torch.nn.init.zeros_(net[0].bias)
x = torch.ones(1)
hook = register_module_forward_hook(lambda m, i, o: log.append(type(m).__name__))
net(x)
print(log)
log.clear()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    compiled = torch.compile(net)
    compiled(x)
print(log, [str(w.message).partition(";")[0] for w in caught])
log.clear()
hook.remove()
compiled(x)
print(log)
before = register_module_forward_pre_hook(lambda m, args: (args[0] + 1,) if isinstance(m, torch.nn.Linear) else None)
print(net(x), torch.compile(net)(x))
before.remove()
print(net(x), torch.compile(net)(x))
own = net.register_forward_pre_hook(lambda m, args: (args[0] * 5,))
print(net(x), torch.compile(net)(x))
own.remove()
