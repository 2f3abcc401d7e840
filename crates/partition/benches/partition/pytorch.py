"""Processor time that PyTorch's min-cut partitioner takes for joint graphs in text form (see partition.rs), and what it saves.

    python crates/partition/benches/partition/pytorch.py FILE.txt ...
"""

import re
import sys
import time

import torch
from torch import fx
from torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition
from torch._subclasses.fake_tensor import FakeTensorMode

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64, "b8": torch.bool}
PLACEHOLDER = re.compile(r'(\w+): "(\w+)\[([\d, ]*)\]\[([\d, ]*)\]cpu"')
CALL = re.compile(r'^(\w+)(?:: "[^"]*")? = (.*)$')


def numbers(text):
    return [int(n) for n in text.split(",") if n.strip()]


def read(path):
    """The text as a GraphModule whose nodes have fake values and know whether they are backward."""
    graph, values, proxies = fx.Graph(), {}, {"torch": torch}
    tracer = fx.proxy.GraphAppendingTracer(graph)
    backward = False
    with FakeTensorMode() as mode:
        for line in open(path):
            line = re.sub(r";  [\w =]+ = None$", "", line.strip())
            if line.startswith("primals_1:"):
                for name, dtype, sizes, strides in PLACEHOLDER.findall(line):
                    node = graph.placeholder(name)
                    node.meta["val"] = torch.empty_strided(numbers(sizes), numbers(strides), dtype=DTYPES[dtype])
                    proxies[name] = fx.Proxy(node, tracer)
            elif line.startswith("return"):
                inner = line[line.index("[") + 1 : line.rindex("]")]
                outputs = [None if n == "None" else proxies[n].node for n in inner.split(", ")]
                graph.output(tuple(outputs))
            elif (found := CALL.match(line)) and "fx_pytree" not in line:
                name, expression = found.groups()
                node = eval(expression, proxies).node
                node._rename(name)
                args, kwargs = fx.node.map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
                node.meta["val"] = node.target(*args, **kwargs)
                backward = backward or any(n.name.startswith("tangents") for n in node.all_input_nodes)
                if backward:
                    node.meta["partitioner_tag"] = "is_backward"
                proxies[name] = fx.Proxy(node, tracer)
    return fx.GraphModule(torch.nn.Module(), graph)


for path in sys.argv[1:]:
    for partition in (default_partition, min_cut_rematerialization_partition):
        module = read(path)
        start = time.process_time()
        forward, _ = partition(module, (), num_fwd_outputs=1)
        seconds = time.process_time() - start
        output = next(iter(reversed(forward.graph.nodes)))
        saved = [n.name for n in output.args[0][1:]]
        print(f"{path}: {len(module.graph.nodes)} nodes, {partition.__name__}: {seconds * 1e3:.1f} ms, {len(saved)} saved", flush=True)
