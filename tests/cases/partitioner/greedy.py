import torch
import torch._functorch.config as config
config.activation_memory_budget_solver="greedy"
def f(x,ws):
    for i,w in enumerate(ws): x=torch.tanh(x@w) if i%2 else torch.relu(x@w)+x
    return x.sum()
torch.manual_seed(0); x=torch.randn(8,16); ws=[torch.randn(16,16,requires_grad=True) for _ in range(5)]
for b in (0.7,0.5,0.3):
    torch._dynamo.reset()
    config.activation_memory_budget=b
    torch.compile(f,backend="aot_eager")(x,ws).backward()
    print(b, ws[0].grad.abs().mean().item())
