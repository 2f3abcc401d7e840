import torch
import torch.nn as nn

lin = nn.Linear(8, 4)

@torch.compile
def f(x):
    return lin(x).softmax(-1)

x = torch.randn(2, 8)
f(x)
with torch.no_grad():
    f(x)
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(f(x).dtype)
with torch.inference_mode():
    print(f(x).requires_grad)
print(f(x).shape)
