"""What nodes of `make_fx` tell, those of subgraphs included; a line for each argument."""
import torch
from torch.fx.experimental.proxy_tensor import make_fx
g = make_fx(lambda x: torch.cond(x.sum() > 0, lambda x: x.cos(), lambda x: x.sin(), (x,)))(torch.randn(3))
print([(n.name, n.meta.get("stack_trace")) for n in g.graph.nodes])
g.print_readable()
print(g.print_readable(print_output=False, expanded_def=True))
