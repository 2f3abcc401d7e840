# What keeps a CUDA graph from being recorded is counted and logged.
import logging

import torch
from torch._dynamo.backends.cudagraphs import check_for_skip, find_input_mutations, get_device_node_mapping
from torch._dynamo.utils import counters
from torch._inductor.cudagraph_utils import format_default_skip_message, get_placeholder_info, log_cudagraph_skip_and_bump_counter
from torch.fx.experimental.proxy_tensor import make_fx

said = []


class Sayings(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())


logging.getLogger("torch._inductor.cudagraph_utils.__cudagraphs").addHandler(Sayings())


def skips():
    return counters["inductor"]["cudagraph_skips"]


def loss(x, w):
    return (x @ w).relu().sum()


x, w = torch.ones(2, 3), torch.ones(3, 3, requires_grad=True)
compiled = torch.compile(loss, backend="cudagraphs")
compiled(x, w).backward()
print(skips(), said[0].splitlines()[0], w.grad[0])
compiled(torch.ones(5, 3), w).backward()
print(skips(), len(said))
print(torch.compile(lambda x: x.sin(), backend="cudagraphs")(torch.zeros(2)), skips())

def writes(a, b):
    a.add_(1)
    return a * b


graph = make_fx(writes, tracing_mode="fake")(torch.ones(2), torch.ones(2))
print(find_input_mutations(graph.graph), list(get_device_node_mapping(graph)))
print([(info.name, [user.name for user in info.users]) for info in get_placeholder_info(graph.graph)])
print(check_for_skip(graph, 0).splitlines()[0])
print(check_for_skip(graph, 1).splitlines()[0])
with torch._dynamo.config.patch(cudagraph_backend_support_input_mutation=True):
    print(check_for_skip(graph, 0).splitlines()[0])
with torch._inductor.config.patch({"triton.cudagraphs": True}):
    print(check_for_skip(graph, 1))
    with torch._inductor.config.patch(graph_partition=False):
        print(check_for_skip(graph, 1).splitlines()[0])
for keeps in (False, True):
    torch._dynamo.reset()
    with torch._dynamo.config.patch(cudagraph_backend_keep_input_mutation=keeps):
        y = torch.zeros(2)
        print(keeps, torch.compile(lambda y: y.add_(1) * 2, backend="cudagraphs")(y), y, said[-1].splitlines()[0])
print(format_default_skip_message("a reason"))

with torch._inductor.config.patch({"triton.cudagraph_or_error": True}):
    try:
        log_cudagraph_skip_and_bump_counter("a sentence")
    except RuntimeError as error:
        print(error, skips(), said[-1])
