"""Backends that walk and change graphs: nodes and what is known of them, inserting, replacing, erasing, recompiling, interpreting."""

from collections import Counter

import torch
from torch import fx, nn
from torch._dynamo import list_backends, register_backend
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import aot_function, make_boxed_func
from torch.fx import Interpreter, Transformer, symbolic_trace
from torch.fx.passes.shape_prop import ShapeProp
from functorch.compile import default_partition


def show(gm):
    for n in gm.graph.nodes:
        target = getattr(n.target, "__name__", n.target) if n.op == "call_function" else n.target
        print(n.op, n.name, target, n.args, n.kwargs, list(n.users), n.all_input_nodes, n.prev, n.next)
        print("   ", n.format_node())


def walking(gm, example_inputs):
    print(type(gm).__name__, isinstance(gm, nn.Module), [tuple(e.shape) for e in example_inputs])
    show(gm)
    print(gm.code)
    print(gm.graph)
    gm.graph.lint()
    gm.graph.print_tabular()
    return gm.forward


@torch.compile(backend=walking)
def walked(x, y):
    return (x + y).relu().sum(), x * 2 - y


print(walked(torch.arange(4.0), torch.ones(4)))


def forward_compiler(gm, example_inputs):
    print("forward", Counter(str(n.target) for n in gm.graph.nodes if n.op == "call_function"))
    show(gm)
    for n in gm.graph.nodes:
        value, known = n.meta.get("val"), n.meta.get("tensor_meta")
        if value is not None:
            print(n.name, tuple(value.shape), value.dtype, value.stride(), value.device, value)
            print("   ", known.shape, known.dtype, known.stride, known.memory_format)
    return make_boxed_func(gm.forward)


def backward_compiler(gm, example_inputs):
    print("backward", gm.code)
    return make_boxed_func(gm)


def partition(joint, inputs, *, num_fwd_outputs, **options):
    print("joint", num_fwd_outputs, sorted(options), joint.code)
    return default_partition(joint, inputs, num_fwd_outputs=num_fwd_outputs, **options)


layer = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
nn.init.constant_(layer[0].weight, 0.5)
nn.init.constant_(layer[0].bias, -0.25)
backend = aot_autograd(fw_compiler=forward_compiler, bw_compiler=backward_compiler, partition_fn=partition)
out = torch.compile(layer, backend=backend)(torch.ones(4, 2))
out.sum().backward()
print(out.shape, layer[0].bias.grad)


def replacing(gm, example_inputs):
    for n in gm.graph.nodes:
        if n.op == "call_function" and n.target is torch.ops.aten.sin.default:
            n.target = torch.ops.aten.cos.default
        if n.op == "call_function" and n.target is torch.ops.aten.add.Tensor:
            with gm.graph.inserting_after(n):
                scaled = gm.graph.call_function(torch.ops.aten.mul.Tensor, (n, 10))
            n.replace_all_uses_with(scaled, delete_user_cb=lambda user: user is not scaled)
        if n.op == "call_function" and n.target is torch.ops.aten.neg.default:
            n.replace_all_uses_with(n.args[0])
            gm.graph.erase_node(n)
    with gm.graph.inserting_before(gm.graph.output_node()):
        gm.graph.call_function(torch.ops.aten.exp.default, (next(iter(gm.graph.nodes)),))
    print(len(gm.graph.nodes), gm.graph.find_nodes(op="call_function", target=torch.ops.aten.exp.default))
    print(gm.graph.eliminate_dead_code(), len(gm.graph.nodes))
    try:
        gm.graph.erase_node(next(iter(gm.graph.nodes)))
    except RuntimeError as error:
        print(error)
    gm.graph.lint()
    gm.recompile()
    print(gm.code)
    print(gm.graph)
    return make_boxed_func(gm)


print(aot_function(lambda x: -(torch.sin(x) + 1) * 2, fw_compiler=replacing)(torch.arange(3.0)))


class Shapes(Interpreter):
    def run_node(self, n):
        result = super().run_node(n)
        print(n.name, tuple(result.shape) if isinstance(result, torch.Tensor) else type(result).__name__)
        return result


def interpreted(gm, example_inputs):
    return lambda *args: Shapes(gm).run(*args)


print(torch.compile(lambda x: (x @ x.t()).relu(), backend=interpreted)(torch.ones(2, 3)))


@register_backend
def mine(gm, example_inputs):
    print("mine", len(example_inputs))
    return gm


print(torch.compile(lambda x: x + 1, backend="mine")(torch.ones(1)), list_backends())
try:
    torch.compile(lambda x: x, backend="nobody")
except Exception as error:  # noqa: BLE001
    print(type(error).__name__, error)
print(torch.compile(lambda x: x + 2, backend=lambda gm, inputs, **given: print(given) or gm, options={"a": 1})(torch.ones(1)))


class Traced(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.weight = nn.Parameter(torch.ones(2))
        self.register_buffer("shift", torch.zeros(2))

    def forward(self, x, scale=2.0):
        y = self.body(x) * self.weight + self.shift
        return torch.cat([y, x.view(-1, 2)], dim=1)[:, 1:].sum(dim=0) / scale, nn.functional.gelu(y)


traced = symbolic_trace(Traced())
print(traced.graph)
print(traced.code)
print(traced)
print([name for name, _ in traced.named_parameters()])
ShapeProp(traced).propagate(torch.ones(3, 2))
for n in traced.graph.nodes:
    known = n.meta.get("tensor_meta")
    print(n.name, known.shape if isinstance(known, fx.passes.shape_prop.TensorMetadata) else type(known).__name__)


class Negated(Transformer):
    def call_function(self, target, args, kwargs):
        result = super().call_function(target, args, kwargs)
        return -result if target is torch.cat else result


print(Negated(traced).transform().code)


def branching(x):
    if x.sum() > 0:
        return x
    return -x


for function in (branching, lambda x: [y for y in x], lambda x: len(x)):
    try:
        symbolic_trace(function)
    except Exception as error:  # noqa: BLE001
        print(type(error).__name__, error)

graph = fx.Graph()
a = graph.placeholder("a")
b = graph.placeholder("b")
c = graph.call_function(torch.add, (a, b), {"alpha": 2})
d = graph.call_method("relu", (c,))
graph.output((d, {"c": c}))
made = fx.GraphModule({}, graph)
print(made.code, made(torch.ones(1), torch.ones(1)))
c.replace_input_with(b, a)
made.recompile()
print(made.code, [n.name for n in reversed(graph.nodes)])
d.prepend(graph.call_function(torch.neg, (d,)))
try:
    graph.lint()
except RuntimeError as error:
    print(str(error).splitlines()[0])
