"""Which keys a dictionary has is guarded where it is written to, copied or measured; their order where they are gone through."""
import torch
x = torch.ones(1)
def probe(name, fn, d1, d2):
    torch._dynamo.reset()
    n = []
    def be(gm, ex): n.append(1); return gm.forward
    c = torch.compile(fn, backend=be)
    c(dict(d1)); c(dict(d2)); print(name, len(n))
A = {"a": x, "b": 1, "c": 2}; B = {"c": 2, "a": x, "b": 1}
def w(d): d["z"] = 5; return d["a"] + 1
def w2(d): d["a"] = d["a"] + 1
def p(d): return d.pop("a") + 1
def t(d): return d["a"] + 1 if d else None
def i(d): return d["a"] + ("b" in d)
def ge(d): return d["a"] + d.get("q", 1)
def l(d): return d["a"] + len(d)
def k(d): return d["a"] + len(d.keys())
def v(d): return d["a"] + sum(1 for _ in d)
def it(d): return d["a"] + len(list(d.items()))
def cp(d): e = dict(d); return e["a"] + 1
def cp2(d): e = d.copy(); return e["a"] + 1
def un(d): e = {**d, "r": 1}; return e["a"] + e["r"]
def kw(d): return inner(**d)
def inner(a, b, c): return a + b + c
def eq(d): return d["a"] + (d == 3)
def dl(d): del d["b"]; return d["a"] + 1
def sd(d): return d["a"] + d.setdefault("m", 3)
def kin(d): return d["a"] + ("b" in d.keys())
def hk(d): return d["a"] * d["b"]
def cl(d): y = d["a"] + 1; d.clear(); return y
def un2(d): return (d | {"n": 1})["a"] + 1
FUNCTIONS = (w, w2, p, t, i, ge, l, k, v, it, cp, cp2, un, eq, dl, sd, kin, hk, cl, un2)
for f in FUNCTIONS + (kw,): probe(f.__name__, f, A, B)
def kw(d): return rest(**d)
def rest(a, **k): return a + 1
for f in FUNCTIONS + (kw,): probe(f.__name__, f, A, {"b": 1, "a": x, "q": 2})
