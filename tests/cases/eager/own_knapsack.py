# Costs and budgets asked of a joint graph; a solver and an estimator of the script's own.
import torch
from functorch.compile import aot_function, make_boxed_func
from torch._functorch import config, partitioners as p
from torch._inductor.custom_graph_pass import CustomKnapsackSolver, CustomRuntimeEstimator


def partition(gm, args, *, num_fwd_outputs, **kw):
    for n in gm.graph.nodes:
        if n.op == "call_function" and n.meta.get("partitioner_tag") == "is_forward":
            print(n.name, p.estimate_runtime(n), p._size_of(n))
    with config.patch(activation_memory_budget_runtime_estimator="testing"):
        print({p.estimate_runtime(n) for n in gm.graph.nodes if n.op == "call_function"})
    try:
        with config.patch(activation_memory_budget_runtime_estimator="clock"):
            p.estimate_runtime(next(n for n in gm.graph.nodes if n.op == "call_function"))
    except RuntimeError as e:
        print(e)
    return p.min_cut_rematerialization_partition(gm, args, num_fwd_outputs=num_fwd_outputs)


class Solver(CustomKnapsackSolver):
    def uuid(self):
        return "s"

    def __call__(self, memory, joint_graph, max_memory, node_info, banned):
        print([round(m, 4) for m in memory], max_memory, banned)
        print(node_info.inputs, node_info.required_fw_nodes[:3], len(node_info.required_bw_nodes), [node_info.is_required_bw(n) for n in banned], [node_info.get_fw_order(n) for n in banned], len(node_info.unclaimed_nodes), len(node_info.tangents_closure))
        return list(range(1, len(banned))), [0]


def compiler(tag):
    def go(gm, args):
        print(tag, [n.name for n in gm.graph.nodes])
        return make_boxed_func(gm.forward)
    return go


def f(x, w):
    for _ in range(3):
        x = torch.nn.functional.softplus(x @ w).cumsum(0)
    return x.sum()


for budget in (1.0, 0.5, 0.1):
    with config.patch(activation_memory_budget=budget):
        x, w = torch.full((8, 8), 0.1, requires_grad=True), torch.full((8, 8), 0.1, requires_grad=True)
        aot_function(f, fw_compiler=compiler("F"), bw_compiler=compiler("B"), partition_fn=partition)(x, w).backward()
with config.patch(activation_memory_budget=0.5, activation_memory_budget_solver=Solver()):
    aot_function(f, fw_compiler=compiler("F"), bw_compiler=compiler("B"), partition_fn=partition)(x, w).backward()
print(x.grad.sum())
