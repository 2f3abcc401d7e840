import torch
import torch._functorch.config as config
def f(x,ws):
    for i,w in enumerate(ws): x=torch.softmax(x@w,-1) if i%2 else torch.relu(x@w)
    return x.sum()
torch.manual_seed(0); x=torch.randn(8,16); ws=[torch.randn(16,16,requires_grad=True) for _ in range(6)]
for s in ("dp_knapsack_sliding_hirschberg","dp"):
  for e in ("testing","flops"):
    for b in (0.75,0.5,0.25):
      torch._dynamo.reset()
      with config.patch(activation_memory_budget=b,activation_memory_budget_solver=s,activation_memory_budget_runtime_estimator=e): torch.compile(f,backend="aot_eager")(x,ws).backward()
