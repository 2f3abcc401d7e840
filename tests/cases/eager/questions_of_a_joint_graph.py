# A joint graph asked about: kinds of inputs, parts, sizes, counts.
import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._functorch import partitioners as p
from torch.utils.checkpoint import checkpoint, CheckpointPolicy


def look(gm, args, *, num_fwd_outputs, **kw):
    print("recomputable", p.has_recomputable_ops(gm), p.has_recomputable_rng_ops(gm))
    for n in gm.graph.nodes:
        kinds = [t.__name__ for t in (p._is_primal, p._is_tangent, p._is_fwd_seed_offset, p._is_bwd_seed_offset, p._is_backward_state, p._has_tag_is_backward, p._has_tag_is_forward, p._has_tag_must_be_in_forward, p._has_tag_must_be_in_backward, p._must_be_in_forward, p._must_be_in_backward, p.must_recompute, p.is_sym_node, p.is_rng_op, p._is_assert_only_symbool) if t(n)]
        print(n.name, kinds, p._size_of(n) if n.op != "output" else None)
    fo, bo, fd, bd = p._extract_fwd_bwd_outputs(gm, num_fwd_outputs=num_fwd_outputs)
    print(fo, bo, len(fd), len(bd))
    names = p.get_name_to_node(gm.graph)
    print(list(names)[:3], names["primals_1"] is next(iter(gm.graph.nodes)))
    p._count_ops(gm.graph)
    depth = {n: i for i, n in enumerate(gm.graph.nodes)}
    for n in list(gm.graph.nodes)[-4:-1]:
        print(n, p.sort_depths(n.args, depth))
    ops = p.get_default_op_list()
    for n in gm.graph.nodes:
        if n.op == "call_function":
            print(n.name, ops.is_fusible(n), ops.is_compute_intensive(n), ops.is_random(n), ops.is_view(n), ops.is_recomputable(n), p.get_aten_target(n))
    print([p._tensor_nbytes(3, d) for d in (torch.float32, torch.bool, torch.complex64)], p.INT_INF, p.AOT_PARTITIONER_DEBUG)
    gm = p.cleanup_recompute_tags(gm, is_default_partition=True)
    print({n.name: n.meta["recompute"].name for n in gm.graph.nodes if "recompute" in n.meta})
    return p.default_partition(gm, args, num_fwd_outputs=num_fwd_outputs, **kw)


def compiler(gm, args):
    print([n.name for n in gm.graph.nodes])
    return make_boxed_func(gm.forward)


def f(x, w):
    h = checkpoint(lambda t: torch.nn.functional.dropout((t @ w).relu(), 0.5), x, use_reentrant=False)
    h = checkpoint(lambda t: (t @ w).tanh(), h, use_reentrant=False)
    m, i = h.max(dim=1)
    return (m * h.std(dim=1)).sum()


torch.manual_seed(0)
x, w = torch.randn(3, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)
torch.compile(f, backend=aot_autograd(fw_compiler=compiler, partition_fn=look))(x, w).backward()
torch.compile(lambda x, y: (x[1:].cumsum(0) * y[:-1].view(-1)).sum() + y.mean(), backend=aot_autograd(fw_compiler=compiler, partition_fn=look))(torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)).backward()
