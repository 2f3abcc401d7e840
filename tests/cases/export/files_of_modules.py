"""Programs written to files and read again: parameters, buffers of both kinds, constants, mutation, sizes that vary, trees."""
import io

import torch
from torch.export import Dim


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.bn = torch.nn.BatchNorm2d(4)
        self.fc = torch.nn.Linear(4, 2)
        self.register_buffer("scale", torch.tensor([2.0, 3.0]), persistent=False)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.shift = torch.tensor([0.5, -0.5])

    def forward(self, x):
        self.calls.add_(1)
        y = torch.relu(self.bn(self.conv(x))).mean((2, 3))
        return self.fc(y) * self.scale + self.shift


def again(ep, **options):
    file = io.BytesIO()
    torch.export.save(ep, file, **options)
    return torch.export.load(file)


torch.manual_seed(0)
net = Net()
x = torch.randn(4, 3, 5, 5)
ep = torch.export.export(net, (x,), dynamic_shapes={"x": {0: Dim("batch", min=2, max=16)}})
loaded = again(ep)
print(loaded)
print(str(loaded) == str(ep), loaded.graph_signature == ep.graph_signature, loaded.module_call_graph == ep.module_call_graph)
print(list(loaded.state_dict), list(loaded.constants), loaded.dialect)
print([type(t).__name__ for t in loaded.state_dict.values()], [t.requires_grad for t in loaded.state_dict.values()])
print(all(torch.equal(a, loaded.state_dict[n]) for n, a in ep.state_dict.items()), loaded.constants["scale"], loaded.constants["shift"])
print([a.shape for a in loaded.example_inputs[0]], torch.equal(loaded.example_inputs[0][0], x))
one, two = ep.module(), loaded.module()
for size in (4, 7):
    x = torch.randn(size, 3, 5, 5)
    print(torch.equal(one(x), two(x)))
print(two.calls, two.bn.running_mean)
try:
    two(torch.randn(17, 3, 5, 5))
except AssertionError as error:
    print(error)
try:
    two(torch.randn(4, 3, 5, 6))
except AssertionError as error:
    print(error)
for node in loaded.graph.nodes:
    if "nn_module_stack" in node.meta:
        print(node.name, list(node.meta["nn_module_stack"].values()))

functional = ep.run_decompositions()
loaded = again(functional)
print(str(loaded) == str(functional), loaded.dialect)
print(loaded.graph_signature.buffers_to_mutate)
print(torch.equal(functional.module()(x), loaded.module()(x)))
