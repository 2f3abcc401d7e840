from contextlib import ExitStack

import torch
from torch import nn
from torch._functorch._aot_autograd.descriptors import ParamAOTInput, PlainAOTInput
from torch._functorch._aot_autograd.fx_utils import (
    get_all_output_and_tangent_nodes,
    get_named_buffer_nodes,
    get_param_nodes,
    get_plain_input_and_grad_nodes,
)
from torch._functorch.aot_autograd import (
    aot_compile_joint_with_descriptors,
    aot_export_joint_simple,
    aot_export_joint_with_descriptors,
)
from torch._functorch.partitioners import min_cut_rematerialization_partition


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 2)
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x, pair, *, scale):
        self.steps.add_(1)
        a, b = pair
        y = torch.tanh(self.lin(x)) * scale
        return {"y": y, "view": y.t(), "sum": (a + b).sum()}


def described(graph):
    for n in graph.nodes:
        if n.op in ("placeholder", "output"):
            print(n.op, n.name, n.meta.get("desc"))


torch.manual_seed(0)
net = Net()
x, a, b = torch.randn(4, 3, requires_grad=True), torch.ones(2), torch.ones(2)
with ExitStack() as stack:
    joint = aot_export_joint_with_descriptors(stack, net, (x, (a, b)), {"scale": 0.5})
    graph = joint.graph_module.graph
    described(graph)
    print(joint.params_spec, joint.buffers_spec)
    print([n.name for n in get_param_nodes(graph)], list(get_named_buffer_nodes(graph)))
    print({d.expr(): g and g.name for d, (n, g) in get_plain_input_and_grad_nodes(graph).items()})
    print({d.expr(): t and t.name for d, (n, t) in get_all_output_and_tangent_nodes(graph).items()})
    # The graph may be edited before it is split.
    for n in graph.nodes:
        if n.target is torch.ops.aten.mul.Tensor and n.args[1] == 0.5:
            n.args = (n.args[0], 2.0)
    joint.graph_module.recompile()

    def forward(gm, inputs):
        print(gm.code.strip())
        return gm

    fn = aot_compile_joint_with_descriptors(joint, partition_fn=min_cut_rematerialization_partition, fw_compiler=forward, bw_compiler=forward)
out = fn(*net.parameters(), *net.buffers(), x, (a, b), scale=0.5)
print({k: tuple(v.shape) for k, v in out.items()}, net.steps.item())
out["y"].sum().backward()
print(out["y"].detach(), x.grad)
with ExitStack() as stack, torch.no_grad():
    only = aot_export_joint_with_descriptors(stack, nn.Sequential(nn.ReLU()), (x.detach(),))
    described(only.graph_module.graph)
    compiled = aot_compile_joint_with_descriptors(only)
print(compiled(x.detach()).sum().item())
simple = aot_export_joint_simple(lambda x, w: [x @ w, w.sin()], (torch.ones(2, 3), torch.ones(3, 3, requires_grad=True)), trace_joint=True)
described(simple.graph)
print(PlainAOTInput(2).expr(), ParamAOTInput("a.b"), ParamAOTInput("a.b").is_param())
