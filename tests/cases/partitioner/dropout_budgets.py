import torch, torch.nn as nn
import torch._functorch.config as config
m=nn.Sequential(nn.Linear(16,64),nn.Dropout(0.5),nn.ReLU(),nn.Linear(64,64),nn.Dropout(0.5),nn.Tanh(),nn.Linear(64,4))
x=torch.randn(8,16)
for b in (0.5,0.2):
    torch._dynamo.reset(); torch.manual_seed(0)
    with config.patch(activation_memory_budget=b): l=torch.compile(m,backend="aot_eager")(x).sum()
    l.backward(); print(b)
