import torch

@torch.compile
def f(q, k):
    s = torch.einsum("bhid,bhjd->bhij", q, k)
    i = torch.arange(s.size(-2), device=s.device)
    m = i[:, None] >= i[None, :]
    s = torch.where(m, s, torch.finfo(s.dtype).min)
    p = torch.softmax(s, dim=-1, dtype=torch.float32).to(q.dtype)
    top, ix = p.topk(2, dim=-1)
    return top.sum(), ix, torch.gather(p, -1, ix).log().mean()

torch.manual_seed(0)
q = torch.randn(1, 2, 4, 3, dtype=torch.bfloat16, requires_grad=True)
k = torch.randn(1, 2, 4, 3, dtype=torch.bfloat16, requires_grad=True)
a, ix, c = f(q, k)
(a + c).backward()
print(a, ix[0, 0], c)
print(q.grad.float().abs().sum().round(decimals=2), k.grad.dtype)
