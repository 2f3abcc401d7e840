# A checkpoint saves its inputs as a node does: through the hooks around the call, and an input that is written to before the backward
# uses it again is an error.
import torch
from torch.utils.checkpoint import checkpoint


def block(x):
    return x.pow(2).pow(2)


for function in (block, torch.compile(block, backend="aot_eager")):
    log = []

    def pack(t):
        log.append("pack")
        return t

    def unpack(t):
        log.append("unpack")
        return t

    a = torch.ones(2, 2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        h = a.pow(2)
        log.append("checkpoint")
        h = checkpoint(function, h, use_reentrant=False)
        log.append("after")
        c = h.pow(2)
    c.sum().backward()
    print(a.grad, log)

for write_to_result in (True, False):
    x = torch.ones(3, requires_grad=True)
    h, b = x * 2, torch.zeros(3)
    out = checkpoint(lambda h, b: (h * b.exp()).sin(), h, b, use_reentrant=False).sum()
    (h.detach() if write_to_result else b).add_(1)
    try:
        out.backward()
        print(x.grad)
    except RuntimeError as e:
        print(str(e).split(". Hint")[0])

# What is given by name is not saved so.
w = torch.zeros(2)
x = torch.ones(2, requires_grad=True)
out = checkpoint(lambda a, scale=None: (a * scale).sin(), x, scale=w, use_reentrant=False).sum()
w.add_(1)
out.backward()
print(x.grad)
