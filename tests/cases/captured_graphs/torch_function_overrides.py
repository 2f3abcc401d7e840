# What a class does in its __torch_function__ is not asked about again where a graph is captured.
import torch
log = []
class Money(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.Tensor.add:
            pre = args[0] * 2
            log.append(type(pre).__name__)
            log.append(isinstance(args[0], cls))
            return pre
        return super().__torch_function__(func, types, args, kwargs or {})
a = torch.tensor([1.0, 2.0]).as_subclass(Money)
def f(a):
    r = a + 1
    return r, r * 2, a * 2
for g in (f, torch.compile(f, backend="eager")):
    log.clear()
    print([type(x).__name__ for x in g(a)], log)
class Meta(torch.Tensor):
    @staticmethod
    def __new__(cls, x, tag): 
        r = torch.Tensor._make_subclass(cls, x); r.tag = tag; return r
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        tags = [a.tag for a in args if isinstance(a, Meta) and hasattr(a, "tag")]
        out = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(out, Meta) and tags: out.tag = tags[0]
        return out
m = Meta(torch.ones(2), "x")
def h(m): 
    y = m.sin()
    return y, y + 1
for g in (h, torch.compile(h, backend="eager")):
    try: r = g(m); print([(type(x).__name__, getattr(x, "tag", None)) for x in r])
    except Exception as e: print(type(e).__name__, str(e)[:100])
def make(body):
    class Money(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            out = super().__torch_function__(func, types, args, kwargs or {})
            return body(func, out)
    return Money
adds = (torch.Tensor.add, torch.add)
bodies = {
 "id": lambda f, o: o, "mul op": lambda f, o: o * 100 if f in adds else o, "mul": lambda f, o: o.mul(100) if f in adds else o, "torch.mul": lambda f, o: torch.mul(o, 100) if f in adds else o,
 "neg": lambda f, o: -o if f in adds else o, "add self": lambda f, o: o - o if f in adds else o, "sin": lambda f, o: torch.sin(o) if f in adds else o, "tuple": lambda f, o: (o, o * 2) if f in adds else o,
 "index": lambda f, o: o[0] if f in adds else o, "view": lambda f, o: o.view(-1) if f in adds else o,
}
def total(a, b): return a + b, torch.add(a, b), a - b, a.add(b)
def names(r): return [tuple(type(x).__name__ for x in t) if isinstance(t, tuple) else type(t).__name__ for t in r]
for n, body in bodies.items():
    M = make(body)
    a = torch.tensor([1.0, 2.0]).as_subclass(M); b = torch.tensor([0.5, 0.5])
    for f in (total, torch.compile(total, backend="eager")):
        torch._dynamo.reset()
        try: print(n, names(f(a, b)))
        except Exception as e: print(n, type(e).__name__, str(e)[:80])
class P(torch.Tensor): pass
a = torch.tensor([1.0, 2.0]).as_subclass(P)
print(names(torch.compile(lambda a: (a * 2, a.sin(), torch.cat([a, a]), a.sum(), a[0], a.view(2, 1), a + torch.ones(2), torch.ones(2) + a, a.unbind(0), a.max(0)[0]), backend="eager")(a)))
class Q(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.sin: return torch.cos(args[0])
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))
a = torch.tensor([1.0, 2.0]).as_subclass(Q)
print(names(torch.compile(lambda a: (a * 2, torch.sin(a), a.sum()), backend="eager")(a)), names((lambda a: (a * 2, torch.sin(a), a.sum()))(a)))
