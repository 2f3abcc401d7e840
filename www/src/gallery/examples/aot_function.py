import torch
from functorch.compile import aot_function, min_cut_rematerialization_partition


def show(name):
    def compiler(graph, inputs):
        print(name, "takes", len(inputs), "tensors:")
        print(graph.code.strip())
        return graph

    return compiler


def f(a, b):
    return (a.sin() * b).sum()


compiled = aot_function(f, fw_compiler=show("forward"), bw_compiler=show("backward"), partition_fn=min_cut_rematerialization_partition)
a, b = torch.ones(3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)
compiled(a, b).backward()
print("gradients", [round(g, 4) for g in a.grad.tolist()], [round(g, 4) for g in b.grad.tolist()])
