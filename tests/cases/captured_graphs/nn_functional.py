import torch
import torch.nn as nn
import torch.nn.functional as F


def show(gm, example_inputs):
    print(gm.graph)
    print(gm.code)
    print(gm.print_readable(print_output=False))
    for n in gm.graph.nodes:
        value = n.meta.get("example_value")
        told = (tuple(value.shape), value.dtype, value.requires_grad, value.is_leaf) if isinstance(value, torch.Tensor) else value is not None
        print(n.op, n.name, getattr(n.target, "__name__", n.target), n.args, n.kwargs, told, sorted(n.users, key=str))
    return gm


def compiled(f, **options):
    return torch.compile(f, backend=show, **options)


def f(x, w, b, t):
    a = F.relu(x)
    c = F.linear(x, w, b)
    d = F.dropout(x, 0.5)
    e = F.dropout(x.abs(), p=0.1, training=False)
    g = F.softmax(c, dim=-1)
    h = F.log_softmax(c, dim=1)
    i = F.cross_entropy(c, t)
    j = F.mse_loss(x, c, reduction="sum")
    k = F.layer_norm(x, (4,), w[0], b)
    l = F.gelu(x, approximate="tanh")
    m = F.softmin(x, dim=0)
    n = F.normalize(x, dim=1)
    o = F.one_hot(t, 4)
    p = F.leaky_relu(x, 0.2)
    q = F.nll_loss(h, t, reduction="none")
    r = F.scaled_dot_product_attention(x[None, None], w[None, None], x[None, None], is_causal=True)
    s = F.embedding(t, w)
    u = F.sigmoid(x) + F.tanh(x) + F.silu(x) + F.elu(x) + F.softplus(x) + F.hardtanh(x)
    v = F.binary_cross_entropy_with_logits(x, w)
    y = F.smooth_l1_loss(x, w), F.l1_loss(x, w), F.kl_div(h, g, reduction="batchmean"), F.cosine_similarity(x, w, dim=1)
    return a, c, d, e, g, i, j, k, l, m, n, o, p, q, r, s, u, v, y


compiled(f)(torch.randn(4, 4), torch.randn(4, 4), torch.randn(4), torch.tensor([0, 1, 2, 3]))
