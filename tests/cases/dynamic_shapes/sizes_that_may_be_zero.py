# Sizes that are zero for some calls: what is made of them asks no guard of that.
import torch
import torch.nn.functional as F
from torch._dynamo.testing import CompileCounter
def p1(x): n = x.shape[0]; return F.pad(x, (0, 0, 0, (-n) % 4))
def p2(x): n = x.shape[0]; return F.pad(x, (0, 0, 0, n % 4)) * 2
def p3(x): n = x.shape[0]; return F.pad(x, (0, n - 5), value=1.0)
def p4(x): n = x.shape[0]; return F.pad(x[None], (0, n % 3), mode="reflect")
def p5(x): n = x.shape[0]; return x.chunk(n)[0]
def p6(x): n = x.shape[0]; return x.split(n // 2)[0]
def p7(x): return x.chunk(4)[0] * 2
def p8(x): n = x.shape[0]; return x.expand(n, 4).narrow(0, 0, n % 4 + 1)
def p9(x): n = x.shape[0]; return torch.cat([x, x.new_zeros((-n) % 4, 4)])
def p10(x): n = x.shape[0]; return torch.roll(x, n % 4, 0)
def p11(x): n = x.shape[0]; return x.repeat(n % 4, 1)
def p12(x): n = x.shape[0]; return F.interpolate(x[None], size=n * 2)
def p13(x): n = x.shape[0]; return torch.tril(x, n % 3), torch.triu(x, -(n % 4))
def p14(x): n = x.shape[0]; return torch.arange(n % 4), torch.linspace(0, 1, n % 5)
def p15(x): n = x.shape[0]; return x.unfold(0, n // 2, 1)
def p16(x): n = x.shape[0]; return x[: n % 4], x[n % 4 :], x[:: n % 3 + 1]
for fn in (p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16):
    torch._dynamo.reset(); k = CompileCounter()
    c = torch.compile(fn, backend=k)
    counts = []
    for n in (5, 6, 7, 8, 9, 10, 12, 4):
        try:
            r = c(torch.arange(n * 4.0).reshape(n, 4)); w = fn(torch.arange(n * 4.0).reshape(n, 4))
            ok = all(torch.equal(a, b) for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (r, w))))
            counts.append((k.frame_count, ok))
        except Exception as e: counts.append(type(e).__name__ + str(e)[:40])
    print(fn.__name__, [c if not isinstance(c, tuple) else c[0] if c[1] else ("WRONG", c[0]) for c in counts])
