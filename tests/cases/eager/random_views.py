"""Random chains of view operators: sizes, strides, offsets, contiguity, what is shared, and what is refused."""
import torch, random
R = random
R.seed(5)
torch.manual_seed(5)
def shape():
    k = R.random()
    if k < .1: return ()
    if k < .2: return tuple(R.choice([0,1,2,3]) for _ in range(R.randint(1,4)))
    return tuple(R.choice([1,2,2,3,3,4,6]) for _ in range(R.randint(1,4)))
def dim(t, extra=0):
    n = t.dim() + extra
    if R.random() < .03: return R.choice([n, -n-1, n+2])
    return R.randint(-n, n-1) if n else R.choice([0,-1])
def factor(n):
    # random shape with n elements
    out = []
    if n == 0:
        s = [R.choice([0,1,2,3]) for _ in range(R.randint(1,3))]
        if 0 not in s: s[R.randrange(len(s))] = 0
        return s
    while n > 1:
        d = R.choice([k for k in range(2, n+1) if n % k == 0])
        out.append(d); n //= d
    for _ in range(R.randint(0,2)): out.insert(R.randint(0,len(out)), 1)
    return out
def size(t, d):
    try: return t.size(d)
    except IndexError: return 3
def step(t):
    k = R.randint(0, 33)
    n = t.dim()
    if k == 0 or k == 1:
        s = factor(t.numel())
        if s and R.random() < .3: s[R.randrange(len(s))] = -1
        if R.random() < .04: s = s + [2]
        m = 'view' if k == 0 else 'reshape'
        return f'{m}({s})', lambda: getattr(t, m)(s)
    if k == 2:
        a, b = dim(t), dim(t); return f'transpose({a},{b})', lambda: t.transpose(a,b)
    if k == 3:
        p = list(range(n)); R.shuffle(p)
        if n and R.random() < .3: p[0] -= n
        if R.random() < .03: p = p + [0]
        return f'permute({p})', lambda: t.permute(p)
    if k == 4:
        s = [(R.choice([2,3]) if d == 1 and R.random() < .6 else R.choice([-1, d, d])) for d in t.shape]
        if R.random() < .4: s = [R.choice([1,2])] + s
        if R.random() < .04: s = [5] * n
        return f'expand({s})', lambda: t.expand(s)
    if k == 5 or k == 6:
        d = dim(t); m = size(t,d)
        a = R.choice([None, R.randint(-m-1, m+1)]); b = R.choice([None, R.randint(-m-1, m+1)]); s = R.choice([1,1,2,3])
        return f'slice({d},{a},{b},{s})', lambda: torch.ops.aten.slice.Tensor(t, d, a, b, s)
    if k == 7:
        d = dim(t); m = size(t,d); i = R.randint(-m, m) if m else 0
        return f'select({d},{i})', lambda: t.select(d,i)
    if k == 8:
        d = dim(t); m = size(t,d); i = R.randint(0,m); l = R.randint(0, m-i) if R.random() > .05 else m+1
        return f'narrow({d},{i},{l})', lambda: t.narrow(d,i,l)
    if k == 9:
        d = dim(t); m = size(t,d); s = R.randint(0 if R.random()<.1 else 1, m+1) if m else 1; st = R.randint(1,3)
        return f'unfold({d},{s},{st})', lambda: t.unfold(d,s,st)
    if k == 10: return 'squeeze()', lambda: t.squeeze()
    if k == 11:
        d = dim(t); return f'squeeze({d})', lambda: t.squeeze(d)
    if k == 12:
        d = tuple(sorted({dim(t) for _ in range(R.randint(1,2))})); return f'squeeze({d})', lambda: t.squeeze(d)
    if k == 13 or k == 14:
        d = dim(t,1); return f'unsqueeze({d})', lambda: t.unsqueeze(d)
    if k == 15:
        a,b = dim(t),dim(t); o = R.randint(-3,3); return f'diagonal({o},{a},{b})', lambda: t.diagonal(o,a,b)
    if k == 16:
        s = shape(); st = [R.randint(0,3) for _ in s]; o = R.choice([None,0,1,2])
        if R.random() < .05: st = st + [1]
        return f'as_strided({s},{st},{o})', lambda: t.as_strided(s, st, o)
    if k == 17:
        d = dim(t); m = size(t,d); c = R.randint(1,m+1)
        return f'split({c},{d})', lambda: t.split(c,d)
    if k == 18:
        d = dim(t); m = size(t,d); c = R.randint(0,m)
        s = [c, m-c] if R.random() > .06 else [c, m]
        return f'split({s},{d})', lambda: t.split(s,d)
    if k == 19:
        d = dim(t); c = R.randint(1,4); return f'chunk({c},{d})', lambda: t.chunk(c,d)
    if k == 20:
        a,b = dim(t),dim(t); return f'movedim({a},{b})', lambda: t.movedim(a,b)
    if k == 21:
        d = dim(t); m = size(t,d); s = factor(m)
        if not s: s = [1]
        if R.random() < .4: s[R.randrange(len(s))] = -1
        return f'unflatten({d},{s})', lambda: t.unflatten(d,s)
    if k == 22:
        a,b = dim(t),dim(t); return f'flatten({a},{b})', lambda: t.flatten(a,b)
    if k == 23:
        if t.dtype.is_complex: return 'view_as_real', lambda: torch.view_as_real(t)
        if t.dtype in (torch.float32, torch.float64): return 'view_as_complex', lambda: torch.view_as_complex(t)
    if k == 24:
        d = dim(t); return f'unbind({d})', lambda: t.unbind(d)
    if k == 25: return 'mT', lambda: t.mT
    if k == 26:
        d = dim(t); c = R.randint(1,4); return f'tensor_split({c},{d})', lambda: t.tensor_split(c,d)
    if k == 27:
        d = dim(t); m = size(t,d); c = sorted(R.randint(-m, m) for _ in range(R.randint(0,3))); return f'tensor_split({c},{d})', lambda: t.tensor_split(c,d)
    if k == 28:
        a,b = dim(t),dim(t); return f'swapaxes({a},{b})', lambda: t.swapaxes(a,b)
    if k == 29:
        s = [max(1, d) for d in t.shape]; s = ([2] if R.random() < .5 else []) + s; return f'broadcast_to({s})', lambda: t.broadcast_to(s)
    if k == 30:
        dt = R.choice([torch.float64, torch.float32, torch.int32, torch.int16, torch.uint8, torch.int64])
        return f'view({dt})', lambda: t.view(dt)
    if k == 31: 
        names = ['t','ravel','adjoint','hsplit2','vsplit2','dsplit2','T','H','real','imag','contiguous','detach','view_as','expand_as']
        f = R.choice([name for name in names if not (t.dtype.is_complex and name in ('adjoint', 'H'))])
        if f == 'hsplit2': return f, lambda: t.hsplit(2)
        if f == 'vsplit2': return f, lambda: t.vsplit(2)
        if f == 'dsplit2': return f, lambda: t.dsplit(2)
        if f in ('T','H','real','imag'): return f, lambda: getattr(t,f)
        if f == 'view_as':
            s = factor(t.numel()); o = torch.empty(s); return f'view_as{s}', lambda: t.view_as(o)
        if f == 'expand_as':
            o = torch.empty([2]+[max(d,1) for d in t.shape]); return f, lambda: t.expand_as(o)
        return f, lambda: getattr(t,f)()
    if k == 32:
        f = R.choice([torch.atleast_1d, torch.atleast_2d, torch.atleast_3d]); return f.__name__, lambda: f(t)
    return 'same', lambda: t
def place(t, base):
    if not (base.numel() and t.numel()): return 'empty'
    same = t.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
    return t.data_ptr() - base.data_ptr() if same else 'other'
def describe(t):
    c = (t.is_contiguous(),)
    if t.dim() == 4: c += (t.is_contiguous(memory_format=torch.channels_last),)
    v = t.reshape(-1)
    if t.dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128): v = torch.nan_to_num(torch.view_as_real(v).reshape(-1) if v.is_complex() else v)
    h = v[:12].tolist()
    if not all(abs(x) < 1e6 for x in h): h = '-'
    return f'{tuple(t.shape)} {t.stride()} {t.storage_offset()} {c} {t.dtype} {h}'
for i in range(250):
    s = shape()
    n = 1
    for d in s: n *= d
    base = torch.arange(n).to(R.choice([torch.float32, torch.float32, torch.int64, torch.complex64, torch.float64])).reshape(s)
    t = base
    print(i, tuple(s), base.dtype)
    for j in range(R.randint(1, 7)):
        name, f = step(t)
        try: o = f()
        except Exception as e:
            print('  ', name, type(e).__name__, str(e).split('\n')[0])
            continue
        if isinstance(o, (tuple, list)):
            print('  ', name, len(o))
            for p in o: print('     ', tuple(p.shape), p.stride(), p.storage_offset())
            if not o: continue
            o = R.choice(o)
        print('  ', name, describe(o), o._is_view(), o._base is base, place(o, base))
        if o.numel() > 4000: break
        t = o
