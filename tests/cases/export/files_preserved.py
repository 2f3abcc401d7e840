"""A program in a file whose modules' signatures are kept, unflattened; shared weights; a program decomposed after it was read."""
import io

import torch


class Block(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.lin = torch.nn.Linear(n, n)

    def forward(self, x, scale):
        return {"out": self.lin(x).relu() * scale["s"]}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(4), Block(4)
        self.second.lin.weight = self.first.lin.weight
        self.head = torch.nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x):
        self.seen.add_(x.sum(0))
        x = self.first(x, {"s": 2.0})["out"]
        x = self.second(x, {"s": torch.ones(4)})["out"]
        return self.head(x)


torch.manual_seed(2)
x = torch.randn(3, 4)
ep = torch.export.export(Model(), (x,), preserve_module_call_signature=("first", "second"))
file = io.BytesIO()
torch.export.save(ep, file)
loaded = torch.export.load(file)
print([(e.fqn, e.signature and [a.__class__.__name__ for a in e.signature.inputs]) for e in loaded.module_call_graph])
print(loaded.module_call_graph == ep.module_call_graph)
print(loaded.state_dict["first.lin.weight"].data_ptr() == loaded.state_dict["second.lin.weight"].data_ptr())
flat = torch.export.unflatten(loaded)
print(torch.equal(flat(x), ep.module()(x)))
print(flat.first)
functional = loaded.run_decompositions()
print(functional)
print(str(functional) == str(ep.run_decompositions()))
print([n.meta.get("stack_trace", "").strip().splitlines()[-1:] for n in functional.graph.nodes if n.op == "call_function"])
