"""Settings of symbolic sizes: sources and values that are dynamic, static or unbacked; equal sizes."""

import torch
import torch._dynamo.config as dynamo
import torch.compiler.config as compiler
import torch.fx.experimental._config as shapes

graphs = []


def backend(gm, inputs):
    graphs.append([str(i) if not isinstance(i, torch.Tensor) else [type(s).__name__ for s in i.shape] for i in
                   (n.meta["example_value"] for n in gm.graph.nodes if n.op == "placeholder") if isinstance(i, torch.Tensor)])
    return gm.forward


def ran(f, *calls, **options):
    torch._dynamo.reset()
    graphs.clear()
    g = torch.compile(f, backend=backend, **options)
    for call in calls:
        g(*call)
    print(len(graphs), graphs)


def f(x, y):
    return x.sum() + y.sum()


calls = [(torch.ones(3, 2), torch.ones(3)), (torch.ones(4, 2), torch.ones(3)), (torch.ones(4, 2), torch.ones(5))]
ran(f, *calls)
for name, text in (("dynamic_sources", "L['x']"), ("dynamic_sources", "L['x']:0"), ("dynamic_sources", r"L\['x.*'\]:1, L['y']"),
                   ("dynamic_sources", "G['x']"), ("dynamic_values", "3"), ("dynamic_values", "2, 5"), ("static_sources", "L['x']:0"),
                   ("static_sources", ".*"), ("unbacked_sources", "L['y']")):
    with compiler.patch({name: text}):
        print(name, text)
        ran(f, *calls)
with compiler.patch(dynamic_sources="L['x']", static_sources="L['x']:0"):
    ran(f, *calls)
    ran(f, *calls, dynamic=True)
with compiler.patch(dynamic_sources="L['x']"):
    ran(f, *calls, dynamic=False)
marked = torch.ones(3, 2)
torch._dynamo.mark_dynamic(marked, 0)
with compiler.patch(static_sources=".*"):
    ran(f, (marked, torch.ones(3)))


def scaled(x, n):
    return x * n


numbers = [(torch.ones(2), n) for n in (7, 8, 9)]
ran(scaled, *numbers)
for setting in ({"dynamic_sources": "L['n']"}, {"static_sources": "L['n']"}, {"dynamic_values": "7"}):
    with compiler.patch(setting):
        ran(scaled, *numbers)


for shared in (True, False):
    with shapes.patch(use_duck_shape=shared):
        ran(f, (torch.ones(3, 4), torch.ones(3)), (torch.ones(4, 5), torch.ones(3)), (torch.ones(4, 4), torch.ones(4)), dynamic=True)
