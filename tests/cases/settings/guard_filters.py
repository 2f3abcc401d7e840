import torch
from torch._dynamo.testing import CompileCounter
K = 3
class Cfg: rate = 2
cfg = {"s": 4}
net = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.Dropout(0.5))
class Mine(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.scale = 2; s.l = torch.nn.Linear(2, 2, bias=False); s.mode = "a"
    def forward(s, x):
        return s.l(x) * s.scale if s.mode == "a" else x
torch.manual_seed(0)
x = torch.ones(1, 2)
for name in ("skip_guard_on_globals_unsafe", "skip_guard_on_all_nn_modules_unsafe", "skip_guard_on_inbuilt_nn_modules_unsafe", "keep_tensor_guards_unsafe", "keep_portable_guards_unsafe"):
    torch._dynamo.reset()
    c = CompileCounter()
    m = Mine()
    torch.nn.init.ones_(m.l.weight)
    K, Cfg.rate, cfg["s"] = 3, 2, 4
    def f(x, n, d):
        return x * K + n + d["k"] * cfg["s"] + Cfg.rate
    opt = {"guard_filter_fn": getattr(torch.compiler, name)}
    g, h = torch.compile(f, backend=c, options=opt), torch.compile(m, backend=c, options=opt)
    row = [g(x, 1, {"k": 2}).tolist(), h(x).tolist()]
    K = 5
    row.append(g(x, 1, {"k": 2}).tolist()); 
    Cfg.rate = 7; cfg["s"] = 9
    row.append(g(x, 1, {"k": 2}).tolist())
    row.append(g(x, 1, {"k": 3}).tolist())
    m.scale = 10
    row.append(h(x).tolist())
    m.mode = "b"
    row.append(h(x).tolist())
    print(name, row, c.frame_count)
seen = []
def filt(entries):
    seen.extend((e.name, e.guard_type, e.is_global) for e in entries if e.has_value and e.name)
    return [e.name != "n" for e in entries]
torch._dynamo.reset()
@torch.compile(backend="eager", options={"guard_filter_fn": filt})
def k(x, n, flag):
    return x * n if flag else x
print(k(x, 2, True), k(x, 3, True), k(x, 3, False))
print(sorted({s for s in seen if not s[2]}))
for bad in (lambda e: [True], lambda e: [1] * len(e)):
    try:
        torch.compile(lambda x: x + 1, backend="eager", options={"guard_filter_fn": bad})(x)
    except Exception as e:
        print(type(e).__name__)
