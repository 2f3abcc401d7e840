"""Random tensors printed under random options: dtypes, magnitudes, nan and inf, empty ones, views, summaries, gradients."""
import random

import torch

R = random
R.seed(8)
torch.manual_seed(8)
FL = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
CX = [torch.complex64, torch.complex128]
def shape():
    k = R.random()
    if k < .12: return ()
    if k < .2: return tuple(R.choice([0,1,2,3]) for _ in range(R.randint(1,3)))
    if k < .5: return (R.randint(1, 12),)
    if k < .7: return (R.randint(1,5), R.randint(1,6))
    if k < .8: return (R.randint(1,3), R.randint(1,3), R.randint(1,4))
    if k < .85: return (R.randint(20,40),)
    if k < .87: return (R.randint(990,1010),)
    if k < .9: return (R.randint(1001,1010),)
    if k < .95: return (R.randint(2,40), R.randint(30,60))
    return (R.randint(1,9), R.randint(1,9), R.randint(1,20), R.randint(1,3))
def floats(n):
    kind = R.randint(0, 9)
    if kind == 0: return [R.gauss(0,1) for _ in range(n)]
    if kind == 1: return [R.gauss(0,1)*10**R.uniform(-8,8) for _ in range(n)]
    if kind == 2: return [float(R.randint(-100,100)) for _ in range(n)]
    if kind == 3: return [float(R.randint(-100,100))/8 for _ in range(n)]
    if kind == 4: return [R.choice([float('nan'),float('inf'),-float('inf'),1.0,0.5,-2.0,0.0,-0.0]) for _ in range(n)]
    if kind == 5:
        s = 10**R.uniform(-12,12)
        return [R.gauss(0,1)*s for _ in range(n)]
    if kind == 6: return [float(R.choice([0,1])) for _ in range(n)]
    if kind == 7: return [R.uniform(999,1001.5) for _ in range(n)]
    if kind == 8: return [R.choice([1e-4, 1e-5, 1.0, 10., 1e4,1e8,99999999.,123456.7]) * R.choice([1,-1]) for _ in range(n)]
    return [float(R.randint(-10**9,10**9)) for _ in range(n)]
def numel(s):
    n = 1
    for d in s: n *= d
    return n
def make():
    s = shape(); n = numel(s)
    k = R.random()
    if k < .6:
        d = R.choice(FL)
        t = torch.tensor(floats(n), dtype=torch.float64).reshape(s).to(d)
    elif k < .8:
        d = R.choice(INTS)
        hi = {torch.int8:127,torch.uint8:255,torch.int16:32767,torch.int32:2**31-1,torch.int64:2**63-1}[d]
        m = R.choice([9, 100, hi])
        t = torch.tensor([R.randint(0 if d is torch.uint8 else -min(m,hi), min(m,hi)) for _ in range(n)], dtype=d).reshape(s)
    elif k < .87:
        t = torch.tensor([R.random() < .5 for _ in range(n)], dtype=torch.bool).reshape(s)
    else:
        d = R.choice(CX)
        t = torch.complex(torch.tensor(floats(n), dtype=torch.float64), torch.tensor(floats(n), dtype=torch.float64)).reshape(s).to(d)
    return t
def options():
    torch.set_printoptions(profile='default', sci_mode=None)
    if R.random() < .4:
        o = {}
        if R.random() < .4: o['precision'] = R.randint(0, 8)
        if R.random() < .3: o['threshold'] = R.choice([0, 5, 10, 100, 1000])
        if R.random() < .3: o['edgeitems'] = R.randint(1, 4)
        if R.random() < .3: o['linewidth'] = R.choice([10, 30, 60, 80, 120])
        if R.random() < .3: o['sci_mode'] = R.choice([True, False])
        if R.random() < .1: o['profile'] = R.choice(['short','default'])
        torch.set_printoptions(**o)
        return o
    return {}
for i in range(220):
    o = options()
    t = make()
    k = R.random()
    if t.dtype.is_floating_point or t.dtype.is_complex:
        if k < .15: t.requires_grad_()
        elif k < .25: t = t.requires_grad_() * 1
        elif k < .3: t = t.requires_grad_().view(-1)
        elif k < .33: t = torch.nn.Parameter(t)
    if k > .9 and t.dim() >= 2: t = t.transpose(0, 1)
    elif k > .8 and t.dim() >= 1: t = t[::2]
    elif k > .75: t = t.expand(2, *t.shape)
    print(i, o)
    if R.random() < .1: print(str(t), '%s' % (t,), f'{t}')
    if R.random() < .1 and t.dim() == 0: print(f'{t:.3f}' if t.dtype.is_floating_point and not t.requires_grad else '')
    if R.random() < .05: print([t, {'a': t}])
    print(t)
torch.set_printoptions(profile='default')
