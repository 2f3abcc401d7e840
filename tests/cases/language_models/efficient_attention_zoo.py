"""Efficient attention kinds: Performer (FAVOR+), Linformer, Longformer window, Nystrom, ALiBi, LSH buckets, talking heads."""
import math
from enum import Enum
from functools import partial
import torch
from torch import nn, einsum
import torch.nn.functional as F


def exists(val):
    return val is not None


def default(val, d):
    return val if exists(val) else d


def orthogonal_matrix_chunk(cols):
    unstructured_block = torch.randn((cols, cols))
    q, r = torch.linalg.qr(unstructured_block, mode='reduced')
    q = q * torch.sign(torch.diagonal(r))
    return q.t()


def gaussian_orthogonal_random_matrix(nb_rows, nb_columns, scaling=0):
    nb_full_blocks = int(nb_rows / nb_columns)
    block_list = []
    for _ in range(nb_full_blocks):
        block_list.append(orthogonal_matrix_chunk(nb_columns))
    remaining_rows = nb_rows - nb_full_blocks * nb_columns
    if remaining_rows > 0:
        block_list.append(orthogonal_matrix_chunk(nb_columns)[:remaining_rows])
    final_matrix = torch.cat(block_list)
    if scaling == 0:
        multiplier = torch.randn((nb_rows, nb_columns)).norm(dim=1)
    elif scaling == 1:
        multiplier = math.sqrt((float(nb_columns))) * torch.ones((nb_rows,))
    else:
        raise ValueError(f'Invalid scaling {scaling}')
    return torch.diag(multiplier) @ final_matrix


def softmax_kernel(data, *, projection_matrix, is_query, normalize_data=True, eps=1e-4):
    b, h, *_ = data.shape
    data_normalizer = (data.shape[-1] ** -0.25) if normalize_data else 1.
    ratio = (projection_matrix.shape[0] ** -0.5)
    projection = projection_matrix.expand(b, h, -1, -1).type_as(data)
    data_dash = torch.einsum('...id,...jd->...ij', (data_normalizer * data), projection)
    diag_data = data ** 2
    diag_data = torch.sum(diag_data, dim=-1)
    diag_data = (diag_data / 2.0) * (data_normalizer ** 2)
    diag_data = diag_data.unsqueeze(dim=-1)
    if is_query:
        data_dash = ratio * (torch.exp(data_dash - diag_data - torch.amax(data_dash, dim=-1, keepdim=True).detach()) + eps)
    else:
        data_dash = ratio * (torch.exp(data_dash - diag_data - torch.amax(data_dash, dim=(-1, -2), keepdim=True).detach()) + eps)
    return data_dash.type_as(data)


class FastAttention(nn.Module):
    def __init__(self, dim_heads, nb_features=None, causal=False):
        super().__init__()
        nb_features = default(nb_features, int(dim_heads * math.log(dim_heads)))
        self.register_buffer('projection_matrix', gaussian_orthogonal_random_matrix(nb_features, dim_heads))
        self.causal = causal

    def forward(self, q, k, v):
        create_kernel = partial(softmax_kernel, projection_matrix=self.projection_matrix)
        q = create_kernel(q, is_query=True)
        k = create_kernel(k, is_query=False)
        if self.causal:
            k_cumsum = k.cumsum(dim=-2)
            D_inv = 1. / einsum('...nd,...nd->...n', q, k_cumsum + 1e-6)
            context = einsum('...nd,...ne->...nde', k, v).cumsum(dim=-3)
            return einsum('...nde,...nd,...n->...ne', context, q, D_inv)
        k_cumsum = k.sum(dim=-2)
        D_inv = 1. / torch.einsum('...nd,...d->...n', q, k_cumsum.type_as(q))
        context = torch.einsum('...nd,...ne->...de', k, v)
        return torch.einsum('...de,...nd,...n->...ne', context, q, D_inv)


class Linformer(nn.Module):
    def __init__(self, seq_len, k):
        super().__init__()
        self.proj_k = nn.Parameter(torch.randn(seq_len, k) / math.sqrt(k))
        self.proj_v = nn.Parameter(torch.randn(seq_len, k) / math.sqrt(k))

    def forward(self, q, k, v):
        k = torch.einsum('bhnd,nk->bhkd', k, self.proj_k)
        v = torch.einsum('bhnd,nk->bhkd', v, self.proj_v)
        return (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1) @ v


class Window(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w = w

    def forward(self, q, k, v):
        b, h, n, d = q.shape
        kp = F.pad(k, (0, 0, self.w, self.w), value=0.)
        vp = F.pad(v, (0, 0, self.w, self.w), value=0.)
        kw = kp.unfold(2, 2 * self.w + 1, 1)
        vw = vp.unfold(2, 2 * self.w + 1, 1)
        sim = einsum('bhnd,bhndw->bhnw', q, kw) * d ** -0.5
        pos = torch.arange(n)[:, None] + torch.arange(-self.w, self.w + 1)[None]
        sim.masked_fill_((pos < 0) | (pos >= n), -torch.finfo(sim.dtype).max)
        return einsum('bhnw,bhndw->bhnd', sim.softmax(-1), vw)


def moore_penrose_iter_pinv(x, iters=6):
    abs_x = torch.abs(x)
    col = abs_x.sum(dim=-1)
    row = abs_x.sum(dim=-2)
    z = x.transpose(-1, -2) / (torch.max(col) * torch.max(row))
    I = torch.eye(x.shape[-1], device=x.device).unsqueeze(0)
    for _ in range(iters):
        xz = x @ z
        z = 0.25 * z @ (13 * I - (xz @ (15 * I - (xz @ (7 * I - xz)))))
    return z


class Nystrom(nn.Module):
    def __init__(self, landmarks):
        super().__init__()
        self.m = landmarks

    def forward(self, q, k, v):
        q = q * q.shape[-1] ** -0.5
        ql = q.unflatten(2, (self.m, -1)).mean(3)
        kl = k.unflatten(2, (self.m, -1)).mean(3)
        a1 = (q @ kl.mT).softmax(-1)
        a2 = (ql @ kl.mT).softmax(-1)
        a3 = (ql @ k.mT).softmax(-1)
        return a1 @ moore_penrose_iter_pinv(a2) @ (a3 @ v)


class Alibi(nn.Module):
    def __init__(self, heads):
        super().__init__()
        slopes = torch.tensor([2 ** (-8 * (i + 1) / heads) for i in range(heads)])
        self.register_buffer('slopes', slopes.view(-1, 1, 1), persistent=False)
        self.pre = nn.Parameter(torch.eye(heads))

    def forward(self, q, k, v):
        n = q.shape[2]
        i = torch.arange(n)
        bias = -(i[None] - i[:, None]).abs() * self.slopes
        sim = q @ k.mT * q.shape[-1] ** -0.5 + bias
        sim = einsum('bhij,hg->bgij', sim, self.pre)
        return sim.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -1e9).softmax(-1) @ v


class LSH(nn.Module):
    def __init__(self, dim, buckets, chunk):
        super().__init__()
        self.register_buffer('rot', torch.randn(dim, buckets // 2))
        self.chunk = chunk

    def forward(self, q, k, v):
        b, h, n, d = q.shape
        qk = F.normalize(q, dim=-1)
        r = qk @ self.rot
        buckets = torch.argmax(torch.cat([r, -r], dim=-1), dim=-1)
        order = (buckets * n + torch.arange(n)).argsort(dim=-1)
        gather = lambda t: torch.gather(t, 2, order[..., None].expand_as(t)).unflatten(2, (-1, self.chunk))
        sq, sk, sv = gather(q), gather(qk), gather(v)
        sk = torch.cat([sk, sk.roll(1, dims=2)], dim=3)
        sv = torch.cat([sv, sv.roll(1, dims=2)], dim=3)
        out = ((sq @ sk.mT) * d ** -0.5).softmax(-1) @ sv
        return torch.gather(out.flatten(2, 3), 2, order.argsort(-1)[..., None].expand(b, h, n, d))


class Kind(Enum):
    PERFORMER = (partial(FastAttention, 8),)
    PERFORMER_CAUSAL = (partial(FastAttention, 8, nb_features=12, causal=True),)
    LINFORMER = (partial(Linformer, 12, 4),)
    WINDOW = (partial(Window, 2),)
    NYSTROM = (partial(Nystrom, 4),)
    ALIBI = (partial(Alibi, 2),)
    LSH = (partial(LSH, 8, 4, 4),)


class SelfAttention(nn.Module):
    def __init__(self, dim, heads, inner):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.inner = inner
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1))
        return self.to_out(self.inner(q, k, v).transpose(1, 2).flatten(2))


for kind in Kind:
    torch.manual_seed(0)
    attn = SelfAttention(16, 2, kind.value[0]())
    x = torch.randn(2, 12, 16)
    f = torch.compile(attn, backend="aot_eager")
    opt = torch.optim.SGD(attn.parameters(), lr=0.5)
    losses = []
    for _ in range(3):
        loss = F.mse_loss(f(x), x.roll(1, 1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(f"{loss.item():.4f}")
    print(kind.name, losses)
