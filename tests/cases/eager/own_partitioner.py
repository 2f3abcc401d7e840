# A partitioner written of PyTorch's parts: classes of nodes, a cut, two modules, the order of the backward.
import torch
from functorch.compile import aot_function, make_boxed_func
from torch._functorch import config
from torch._functorch.partitioners import (
    MinCutOptions, _extract_fwd_bwd_modules, _is_primal, _is_tangent, _size_of, choose_saved_values_set, classify_nodes,
    cleanup_recompute_tags, get_default_op_list, has_recomputable_ops, is_sym_node, raise_getitems,
    reordering_to_mimic_autograd_engine, solve_min_cut,
)
from torch.utils.checkpoint import CheckpointPolicy

BUDGET = 1.0


def distances(gm, info):
    for node in reversed(gm.graph.nodes):
        if node.op == "output":
            node.dist_from_bw = int(1e9)
        elif not info.is_required_fw(node):
            node.dist_from_bw = 0
        else:
            node.dist_from_bw = min((user.dist_from_bw + 1 for user in node.users), default=int(1e9))


def partition(gm, args, *, num_fwd_outputs, static_lifetime_input_indices=None, **kw):
    if has_recomputable_ops(gm):
        gm = cleanup_recompute_tags(gm, is_default_partition=False)
    info = classify_nodes(gm, static_lifetime_input_indices or [], num_fwd_outputs)
    print("inputs", info.inputs, "static", list(info.static_lifetime_input_nodes))
    print("forward", info.required_fw_nodes)
    print("backward", list(info.required_bw_nodes))
    print("closure", list(info.tangents_closure), "unclaimed", list(info.unclaimed_nodes))
    distances(gm, info)
    print({n.name: n.dist_from_bw for n in gm.graph.nodes})
    options = MinCutOptions(True, True, True, True, True)
    cut, banned = solve_min_cut(gm.graph, info, options)
    print("cut", cut, "banned", list(banned))
    free, _ = solve_min_cut(gm.graph, info, MinCutOptions(False, False, False, False, False), dont_ban=list(banned)[2:])
    print("free", free)
    saved = choose_saved_values_set(gm.graph, info, memory_budget=BUDGET)
    print("saved", saved, [_size_of(n) for n in saved])
    syms = [n for n in saved if is_sym_node(n)]
    values = [n for n in saved if not is_sym_node(n)]
    fw, bw = _extract_fwd_bwd_modules(gm, values, saved_sym_nodes=syms, num_fwd_outputs=num_fwd_outputs, static_lifetime_input_nodes=info.static_lifetime_input_nodes)
    print("really saved", values, syms)
    bw = reordering_to_mimic_autograd_engine(bw)
    fw, bw = raise_getitems(fw), raise_getitems(bw)
    print(fw.code.strip())
    print(bw.code.strip())
    return fw, bw


def show(tag):
    def compiler(gm, args):
        print(tag, len(args), [n.name for n in gm.graph.nodes if n.op == "placeholder"])
        return make_boxed_func(gm.forward)
    return compiler


def f(x, w, b):
    h = torch.nn.functional.linear(x, w, b)
    a, c = h.chunk(2, dim=-1)
    g = torch.sigmoid(a) * torch.tanh(c)
    return (g.exp() @ g.T).cos().sum(), g.detach()


def run(f, *shapes):
    torch.manual_seed(0)
    args = [torch.randn(s, requires_grad=True) for s in shapes]
    g = aot_function(f, fw_compiler=show("F"), bw_compiler=show("B"), partition_fn=partition)
    out = g(*args)
    (out[0] if isinstance(out, (tuple, list)) else out).backward()
    got = [a.grad.clone() for a in args]
    for a in args:
        a.grad = None
    out = f(*args)
    (out[0] if isinstance(out, (tuple, list)) else out).backward()
    print("same", all(torch.allclose(a.grad, b) for a, b in zip(args, got)))


run(f, (4, 6), (8, 6), (8,))
for BUDGET in (0.0, 0.3, 0.7):
    print("budget", BUDGET)
    run(lambda x, w: ((x @ w).relu() @ w.T).gelu().sum() if hasattr(x, "gelu") else torch.nn.functional.gelu((x @ w).relu() @ w.T).sum(), (16, 4), (4, 16))
try:
    BUDGET = 2
    run(lambda x: x.sin().sum(), (3,))
except RuntimeError as e:
    print(e)


def marked(gm, args, **kw):
    for n in gm.graph.nodes:
        if n.op == "call_function" and n.target is torch.ops.aten.mm.default and n.meta.get("partitioner_tag") == "is_forward":
            n.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE
    return partition(gm, args, **kw)


BUDGET = 1.0
x, w = torch.ones(2, 3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
g = aot_function(lambda x, w: (x @ w).sigmoid().sum(), fw_compiler=show("F"), bw_compiler=show("B"), partition_fn=marked)
g(x, w).backward()
print(x.grad, w.grad)
