"""Settings of Inductor that are obeyed: its passes on joint graphs, random numbers; by options, too."""

import torch
import torch._inductor.config as config
from torch._inductor.custom_graph_pass import CustomGraphPass


class Show(CustomGraphPass):
    def __call__(self, graph):
        print([n.name for n in graph.nodes if n.op == "call_function"])

    def uuid(self):
        return None


def f(x):
    return torch.softmax(x * 2, 0) + (x + 0) * torch.full((3,), 1.0)


def ran(**settings):
    torch._dynamo.reset()
    with torch.no_grad(), config.patch({"joint_custom_post_pass": Show(), "force_disable_caches": True, **settings}):
        print([round(v, 3) for v in torch.compile(f)(torch.arange(3.0)).tolist()])


ran()
ran(joint_graph_constant_folding=False)
ran(pattern_matcher=False)
ran(use_joint_graph_passes=False)

torch._dynamo.reset()
options = {"joint_custom_post_pass": Show(), "joint-graph-constant-folding": False}
with torch.no_grad(), config.patch(force_disable_caches=True):
    print([round(v, 3) for v in torch.compile(f, options=options)(torch.arange(3.0)).tolist()])


@torch.compile
def drawn(x):
    return torch.rand_like(x) + x


for fallback in (True,):
    with config.patch(fallback_random=fallback):
        torch._dynamo.reset()
        torch.manual_seed(0)
        values = drawn(torch.zeros(3))
        torch.manual_seed(0)
        print(values.tolist() == torch.rand(3).tolist())
