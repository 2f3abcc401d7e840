"""Random indices between square brackets: reading, writing, writing through an operator, accumulating, and gradients."""
import torch, random
R = random
R.seed(5)
torch.manual_seed(5)
def shape():
    k = R.random()
    if k < .07: return ()
    if k < .15: return tuple(R.choice([0,1,2,3]) for _ in range(R.randint(1,4)))
    return tuple(R.choice([1,2,3,4,5]) for _ in range(R.randint(1,4)))
def item(m, full):
    k = R.random()
    if k < .2: return R.randint(-m, m-1) if m and R.random() > .03 else m
    if k < .45:
        a = R.choice([None, R.randint(-m-1, m+1)]); b = R.choice([None, R.randint(-m-1,m+1)]); s = R.choice([None,1,2,3] if R.random() > .03 else [-1,0])
        return slice(a,b,s)
    if k < .52: return slice(None)
    if k < .6: return None
    if k < .66: return Ellipsis
    if k < .69: return R.choice([True, False])
    if k < .76:
        if R.random() < .3: return torch.rand(m) < .5 if R.random() > .05 else torch.rand(m+1) < .5
        return torch.tensor([R.random() < .5 for _ in range(m)], dtype=torch.bool)
    if k < .8: return [R.randint(-m, m-1) for _ in range(R.randint(0,3))] if m else []
    if k < .82: return torch.tensor(R.random() < .5)
    if k < .85 and m: return range(R.randint(0,m))
    s = R.choice([(), (2,), (1,), (2,), (3,1), (2,2), (0,), (1,2)])
    n = 1
    for d in s: n *= d
    v = [R.randint(-m, m-1) if m else 0 for _ in range(n)]
    if R.random() < .02 and v: v[0] = m + 3
    t = torch.tensor(v, dtype=R.choice([torch.int64, torch.int64, torch.int32, torch.uint8 if min(v, default=0) >= 0 and R.random() < .1 else torch.int64])).reshape(s)
    return t
def index(t):
    out = []
    d = 0; k = R.randint(1, t.dim() + 2)
    # masks of several dims
    if R.random() < .08 and t.dim():
        n = R.randint(1, t.dim())
        m = torch.rand(t.shape[:n]) < .5
        out.append(m); d = n
    seen = False
    for _ in range(k):
        if d >= t.dim():
            it = R.choice([None, None, Ellipsis, True]) if R.random() > .05 else 0
        else: it = item(t.shape[d], True)
        if it is Ellipsis:
            if seen and R.random() > .05: continue
            seen = True
            rest = R.randint(0, t.dim()-d); d += rest
        elif it is None or it is True or it is False or (isinstance(it, torch.Tensor) and it.dtype is torch.bool and it.dim() == 0): pass
        else: d += 1
        out.append(it)
        if d >= t.dim() and R.random() < .7: break
    if len(out) == 1 and (R.random() < .7 or out[0] is True or out[0] is False): return out[0]
    return tuple(out)
def show(ix):
    if isinstance(ix, tuple): return '(' + ', '.join(show(x) for x in ix) + ')'
    if isinstance(ix, torch.Tensor): return f'T{ix.tolist()}:{str(ix.dtype)[6:]}:{tuple(ix.shape)}'
    return repr(ix)
def err(e):
    return type(e).__name__ + ' ' + str(e).split('\n')[0]
def desc(o):
    return f'{tuple(o.shape)} {o.stride()} {o.storage_offset()} {o._is_view()} {o.tolist()}'
for i in range(300):
    s = shape()
    n = 1
    for d in s: n *= d
    dt = R.choice([torch.float32, torch.float32, torch.int64, torch.float64, torch.bool, torch.complex64])
    base = torch.arange(n).reshape(s).to(dt)
    k = R.random()
    if k < .15 and base.dim() > 1: base = base.transpose(0, -1)
    elif k < .25 and base.dim(): base = base[::2]
    elif k < .3: base = base.expand(2, *base.shape)
    ix = index(base)
    print(i, tuple(base.shape), base.stride(), base.dtype, show(ix))
    try:
        o = base[ix]
        print('  get', desc(o))
    except Exception as e:
        print('  get', err(e)); o = None
    c = base.clone(memory_format=torch.preserve_format)
    vk = R.randint(0, 6)
    if vk == 0: v = R.choice([7, 2.5, True, -1])
    elif vk == 1: v = torch.tensor(R.choice([5, 1.5]))
    elif vk == 2 and o is not None: v = torch.arange(o.numel()).reshape(o.shape).to(dt) + (100 if dt != torch.bool else False)
    elif vk == 3 and o is not None: v = torch.arange(o.numel()).reshape(o.shape).to(dt)[None]
    elif vk == 4 and o is not None and o.dim(): v = torch.arange(o.shape[-1]).to(dt)
    elif vk == 5: v = torch.ones(R.choice([(2,),(3,),(1,3)]), dtype=R.choice([torch.float32, dt]))
    else: v = R.choice([complex(1,2), 3, [1,2], -0.5])
    try:
        c[ix] = v
        print('  set', vk, c.tolist())
    except Exception as e: print('  set', vk, err(e))
    c = base.clone(memory_format=torch.preserve_format)
    op = R.choice(['+=', '*=', '-='])
    try:
        if op == '+=': c[ix] += 2
        elif op == '*=': c[ix] *= 2
        else: c[ix] -= 1
        print('  op', op, c.tolist())
    except Exception as e: print('  op', err(e))
    if i % 3 == 0:
        c = base.clone(memory_format=torch.preserve_format)
        its = ix if isinstance(ix, tuple) else (ix,)
        ts = tuple(x for x in its if isinstance(x, torch.Tensor))
        if ts:
            acc = R.random() < .6 and base.numel() > 0 and all(x.dim() or x.dtype is not torch.bool for x in ts)
            try:
                r = base[ts]
                v = torch.ones(r.shape, dtype=dt) if R.random() < .7 else torch.ones((), dtype=dt)
                c.index_put_(ts, v, accumulate=acc)
                print('  put', acc, c.tolist())
            except Exception as e: print('  put', err(e))
        if base.dtype.is_floating_point:
            g = base.detach().clone().requires_grad_()
            try:
                (g[ix] * 2).sum().backward()
                print('  grad', g.grad.tolist(), g.grad.stride())
            except Exception as e: print('  grad', err(e))
            g = base.detach().clone().requires_grad_()
            try:
                h = g * 1
                h[ix] = 3
                (h * h).sum().backward()
                print('  setgrad', g.grad.tolist())
            except Exception as e: print('  setgrad', err(e))
