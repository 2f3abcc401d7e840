"""Passes and partitioners of a script's own, on joint graphs."""

import torch
import torch._functorch.config as functorch
import torch._inductor.config as inductor
from torch._dynamo.backends.common import aot_autograd
from torch._inductor.custom_graph_pass import CustomGraphPass, CustomPartitionerFn
from functorch.compile import default_partition, make_boxed_func, min_cut_rematerialization_partition

aten = torch.ops.aten
# A compilation that is found in a cache runs no pass.
inductor.force_disable_caches = True


def swapped(graph, old, new):
    count = 0
    for node in graph.nodes:
        if node.op == "call_function" and node.target is old:
            node.target = new
            count += 1
    return count


def ran(f, *inputs, **options):
    """What a compiled function and its gradients come to."""
    torch._dynamo.reset()
    inputs = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    try:
        out = torch.compile(f, **options)(*inputs)
        out.sum().backward()
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[:2])
        return
    print([round(v, 4) for v in out.detach().flatten().tolist()],
          [[round(v, 4) for v in x.grad.flatten().tolist()] for x in inputs])


def f(x):
    return x.sin().exp()


x = torch.tensor([0.0, 1.0])


# A joint graph, before it is split: a target that is swapped, a node that is added, a graph that is made anew.
def sin_to_cos(gm, joint_inputs):
    primals, tangents = joint_inputs
    print(len(primals), len(tangents), swapped(gm.graph, aten.sin.default, aten.cos.default))
    return gm


def doubled(gm, joint_inputs):
    graph = gm.graph
    output = next(n for n in graph.nodes if n.op == "output")
    first = output.args[0][0]
    with graph.inserting_after(first):
        twice = graph.call_function(aten.mul.Tensor, (first, 2))
    twice.meta.update(first.meta)
    output.args = ([twice, *output.args[0][1:]],)
    gm.recompile()
    return gm


def anew(gm, joint_inputs):
    graph = torch.fx.Graph()
    known = {}
    for node in gm.graph.nodes:
        known[node] = graph.node_copy(node, lambda n: known[n])
        if node.op == "call_function" and node.target is aten.exp.default:
            known[node] = graph.call_function(aten.neg.default, (known[node],))
            known[node].meta["val"] = -node.meta["val"]
    return torch.fx.GraphModule(gm, graph)


def no_graph(gm, joint_inputs):
    gm.graph.eliminate_dead_code()


for joint_pass in (sin_to_cos, doubled, anew, no_graph):
    with functorch.patch(joint_custom_pass=joint_pass):
        ran(f, x)
        ran(f, x, backend="aot_eager_default_partitioner")
with functorch.patch(joint_custom_pass=sin_to_cos), torch.no_grad():
    torch._dynamo.reset()
    print(torch.compile(f)(x))
ran(f, x)


# Passes of Inductor, which only Inductor runs.
class Neg(CustomGraphPass):
    def __init__(self, name):
        self.name = name

    def __call__(self, graph):
        print(self.name, type(graph).__name__, swapped(graph, aten.exp.default, aten.sinh.default))

    def uuid(self):
        return b"1"


def cosine(graph):
    print("function", swapped(graph, aten.sin.default, aten.cos.default))


for name in ("joint_custom_pre_pass", "joint_custom_post_pass"):
    with inductor.patch({name: Neg(name)}):
        ran(f, x)
    with inductor.patch(name, [cosine, Neg(name)]):
        ran(f, x)
with inductor.patch(joint_custom_pre_pass=cosine, use_joint_graph_passes=False):
    ran(f, x)


class Partitioner(CustomPartitionerFn):
    def __init__(self, partition):
        self.partition = partition

    def __call__(self, gm, joint_inputs, **kwargs):
        print("partitioner", sorted(kwargs), kwargs["num_fwd_outputs"])
        if self.partition is default_partition:
            kwargs.pop("compiler")
        return self.partition(gm, joint_inputs, **kwargs)

    def uuid(self):
        return b"3"


for partition in (default_partition, min_cut_rematerialization_partition):
    with inductor.patch(custom_partitioner_fn=Partitioner(partition)):
        ran(f, x)
with inductor.patch(custom_partitioner_fn=default_partition):
    ran(f, x)


# A backend of the script's own that edits the joint graph and splits it, and edits the two graphs.
def edited(gm, joint_inputs, **kwargs):
    print(swapped(gm.graph, aten.sin.default, aten.cos.default))
    forward, backward = default_partition(gm, joint_inputs, **kwargs)
    swapped(forward.graph, aten.exp.default, aten.neg.default)
    forward.recompile()
    return forward, backward


def show(gm, inputs):
    print([n.name for n in gm.graph.nodes])
    return make_boxed_func(gm.forward)


ran(f, x, backend=aot_autograd(fw_compiler=show, bw_compiler=show, partition_fn=edited))
with functorch.patch(joint_custom_pass=doubled):
    ran(f, x, backend=aot_autograd(fw_compiler=show, bw_compiler=show, partition_fn=min_cut_rematerialization_partition))


# Sizes and dtypes of new nodes are found.
def halves(gm, joint_inputs):
    graph = gm.graph
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is aten.exp.default:
            with graph.inserting_after(node):
                rows = graph.call_function(aten.cat.default, ([node, node], 0))
            with graph.inserting_after(rows):
                first = graph.call_function(aten.slice.Tensor, (rows, 0, 0, 2))
            rows.meta["val"] = torch.cat([node.meta["val"]] * 2)
            first.meta["val"] = rows.meta["val"][:2]
            node.replace_all_uses_with(first, delete_user_cb=lambda user: user is not rows)
            graph.lint()
    return gm


with functorch.patch(joint_custom_pass=halves):
    ran(f, x)
