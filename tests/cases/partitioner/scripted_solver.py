import torch
import torch._functorch.config as config
from torch._inductor.custom_graph_pass import CustomKnapsackSolver, CustomRuntimeEstimator


class EveryOther(CustomKnapsackSolver):
    def __call__(self, memory, joint_graph, max_memory, node_info, all_recomputable_banned_nodes):
        print(len(memory), round(max_memory, 4), [n.name for n in all_recomputable_banned_nodes], len(node_info.inputs))
        print([round(m, 4) for m in memory], len(list(joint_graph.nodes)))
        every = list(range(len(memory)))
        return every[::2], every[1::2]

    def uuid(self):
        return "every other"


class BySize(CustomRuntimeEstimator):
    def __call__(self, node):
        return float(node.meta["val"].numel())

    def uuid(self):
        return "by size"


def f(x, ws):
    for i, w in enumerate(ws):
        x = torch.softmax(x @ w, -1) if i % 2 else torch.relu(x @ w)
        x = torch.cat([x, x[:1]])
    return x.sum()


torch.manual_seed(0)
x = torch.randn(8, 16)
ws = [torch.randn(16, 16, requires_grad=True) for _ in range(6)]
for switches in (
    {"activation_memory_budget_solver": EveryOther()},
    {"activation_memory_budget_runtime_estimator": BySize()},
    {"activation_memory_budget_solver": "dynamic_memory_budget_dp"},
    {"activation_memory_budget_solver": "dynamic_memory_budget_dp", "activation_memory_budget_runtime_estimator": "testing"},
):
    for budget in (0.3, 0.6, 0.9):
        torch._dynamo.reset()
        with config.patch(activation_memory_budget=budget, **switches):
            torch.compile(f, backend="aot_eager")(x, ws).backward()
