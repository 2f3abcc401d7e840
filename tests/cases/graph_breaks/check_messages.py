# What the message of a `torch._check` reads around it: constants leave it in the graph, anything else ends the graph before it.
import torch
from torch._dynamo.testing import CompileCounterWithBackend


def run(name, f, *args, fullgraph=False):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    counter = CompileCounterWithBackend("aot_eager")
    try:
        found = torch.compile(f, backend=counter, fullgraph=fullgraph)(*args)
        print(name, found, counter.frame_count, list(torch._dynamo.utils.counters["graph_break"].values()))
    except Exception as error:
        print(name, type(error).__name__, str(error).split("\n")[0])


def of_tensor(x):
    y = x * 2
    torch._check(x.shape[0] == 2, lambda: f"rows of {x}")
    return y + 1


def of_constants(x):
    sizes, names, dtype, function = x.shape, [("a", 1), None], x.dtype, torch.relu
    torch._check_value(x.shape[0] == 2, lambda: f"rows of {sizes}, {names}, {dtype}, {function}")
    return function(x)


def of_functions(x):
    count = x.shape[0]
    words = lambda: f"{count} rows"
    shown = lambda: f"{x}"
    torch._check_index(count == 2, lambda: words())
    y = x.sin()
    torch._check_type(count == 2, lambda: shown())
    return y


def of_number(x, scale):
    torch._check(x.dim() == 1, lambda: f"scaled by {scale}")
    return x * scale


class Module(torch.nn.Module):
    def forward(self, x):
        torch._check(x.shape[0] == 2, lambda: f"training: {self.training}")
        return x.cos()


x = torch.zeros(2)
run("tensor", of_tensor, x)
run("constants", of_constants, x)
run("functions", of_functions, x)
run("module", Module(), x)
run("fails", of_tensor, torch.zeros(3))
run("whole", of_tensor, x, fullgraph=True)
run("number", of_number, x, 2.0)
