# keep: operator:aten._softmax_backward_data
import torch
import torch._functorch.config as fc
from torch._inductor.custom_graph_pass import CustomKnapsackSolver, CustomRuntimeEstimator


class SmallestFirst(CustomKnapsackSolver):
    """Keeps the smallest values until the room is used up."""

    def __call__(self, memory, joint_graph, max_memory, node_info, all_recomputable_banned_nodes):
        order = sorted(range(len(memory)), key=lambda i: (memory[i], i))
        keep, used = [], 0.0
        for i in order:
            if used + memory[i] <= max_memory:
                used += memory[i]
                keep.append(i)
        print("asked", len(memory), round(max_memory, 2), [n.name for n in all_recomputable_banned_nodes][:4], len(node_info.inputs))
        return keep, [i for i in range(len(memory)) if i not in keep]

    def uuid(self):
        return "smallest-first"


class ByName(CustomRuntimeEstimator):
    def __call__(self, node):
        return 10.0 if "mm" in node.name else 1.0

    def uuid(self):
        return "by-name"


@torch.compile
def f(x, a, b, c):
    h = torch.tanh(x @ a)
    h = torch.tanh(h @ b)
    return torch.softmax(h @ c, 1).log().sum()


torch.manual_seed(0)
x, a, b, c = torch.randn(4, 6), *(torch.randn(i, o, requires_grad=True) for i, o in ((6, 10), (10, 5), (5, 7)))
for options in (dict(activation_memory_budget_solver=SmallestFirst()),
                dict(activation_memory_budget_runtime_estimator=ByName()),
                dict(activation_memory_budget_runtime_estimator="testing")):
    torch._dynamo.reset()
    a.grad = None
    with fc.patch(activation_memory_budget=0.4, **options):
        f(x, a, b, c).backward()
    print(sorted(options), round(a.grad.norm().item(), 4))
try:
    torch._dynamo.reset()
    with fc.patch(activation_memory_budget=0.4, activation_memory_budget_solver="best"):
        f(x, a, b, c)
except Exception as e:
    print(type(e).__name__, str(e).splitlines()[0][:120])
try:
    torch._dynamo.reset()
    with fc.patch(activation_memory_budget=1.5):
        f(x, a, b, c)
except Exception as e:
    print(type(e).__name__, [l for l in str(e).splitlines() if "valid ranges" in l][0][:150])
