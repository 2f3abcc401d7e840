# Own partition functions under torch.compile, with sizes that vary, parameters, writes to inputs, checkpoints.
import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._functorch import partitioners as p
from torch.utils.checkpoint import checkpoint


def save_all(gm, args, *, num_fwd_outputs, static_lifetime_input_indices=None, static_lifetime_input_nodes=None, **kw):
    p.force_save_effectful_ops(gm)
    p.force_save_bw_mutation_src(gm)
    info = p.classify_nodes(gm, static_lifetime_input_indices or [], num_fwd_outputs)
    values, syms = [], []
    for n in gm.graph.nodes:
        if n in info.required_bw_nodes or n.op == "output":
            continue
        if not any(u in info.required_bw_nodes for u in n.users):
            continue
        (syms if p.is_sym_node(n) else values).append(n)
        if p.is_sym_node(n):
            print("sym", n, p.sym_node_size(n))
    print("sizes", [(n.name, p._size_of(n)) for n in values])
    values = [n for n in values if not isinstance(n.meta.get("val"), (tuple, list))]
    fw, bw = p._extract_fwd_bwd_modules(gm, values, syms, num_fwd_outputs=num_fwd_outputs)
    print("saved", values, syms, "static", list(info.static_lifetime_input_nodes))
    print(fw.print_readable(print_output=False).count("torch.ops"), bw.code.strip())
    return fw, bw


backend = aot_autograd(fw_compiler=lambda g, a: make_boxed_func(g.forward), partition_fn=save_all)


def check(f, *args, **kw):
    c = torch.compile(f, backend=backend, **kw)
    torch.manual_seed(0)
    c(*args).backward()
    got = [a.grad.clone() for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
    [setattr(a, "grad", None) for a in args if isinstance(a, torch.Tensor)]
    torch.manual_seed(0)
    f(*args).backward()
    print("same", all(torch.allclose(a.grad, b) for a, b in zip([a for a in args if isinstance(a, torch.Tensor) and a.requires_grad], got)))
    torch._dynamo.reset()


def fresh():
    return torch.randn(3, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)


check(lambda x, y: (x * y.sin()).sum() * x.shape[0], *fresh(), dynamic=True)


def product(x, y):
    return (x @ y.t()).view(-1).softmax(0).max() * x.size(1)


check(product, *fresh(), dynamic=True)
x, y = fresh()
buf = torch.zeros(4)


def write(x, y):
    buf.add_(y.detach().sum(0))
    return (x.exp() * buf).sum()


c = torch.compile(write, backend=backend)
c(x, y).backward()
print(torch.equal(buf, y.detach().sum(0)))
lin = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.LayerNorm(5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
c = torch.compile(lin, backend=backend)
c(x).sum().backward()
print([tuple(q.grad.shape) for q in lin.parameters()])
