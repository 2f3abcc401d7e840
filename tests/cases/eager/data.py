"""Data sets, samplers, loaders, checkpoints in memory, gradient scaling."""
import torch, io
from torch.utils.data import *
from torch.utils.data import default_collate
torch.manual_seed(0)

def tried(fn):
    try:
        print(fn())
    except Exception as e:
        print(type(e).__name__, str(e)[:300])
ds = TensorDataset(torch.arange(10).float().view(10, 1), torch.arange(10))
print(len(ds), ds[3], ds[2:4])
tried(lambda: TensorDataset(torch.ones(2), torch.ones(3)))
a, b = random_split(ds, [7, 3], generator=torch.Generator().manual_seed(1))
print(list(a.indices), list(b.indices), len(a), a[0])
a, b = random_split(ds, [0.5, 0.5])
print(a.indices, b.indices)
tried(lambda: random_split(ds, [3, 3]))
tried(lambda: random_split(ds, [0.9, 0.3]))
c = ConcatDataset([ds, Subset(ds, [1, 2])])
print(len(c), c[11], c.cumulative_sizes)
tried(lambda: c[12])
print(c[-1])
tried(lambda: c[-20])
tried(lambda: ConcatDataset([]))
print(StackDataset(ds, ds)[0], StackDataset(a=ds, b=ds)[1])
for s in [SequentialSampler(ds), RandomSampler(ds), RandomSampler(ds, replacement=True, num_samples=5), SubsetRandomSampler([1, 5, 7]), WeightedRandomSampler([0.1, 0.9, 0.3], 5), WeightedRandomSampler([1.0, 2.0, 3.0], 3, replacement=False), BatchSampler(SequentialSampler(range(7)), 3, False), BatchSampler(SequentialSampler(range(7)), 3, True)]:
    print(type(s).__name__, len(s), list(s))
tried(lambda: RandomSampler(ds, num_samples=0))
tried(lambda: WeightedRandomSampler([1, 2], -1))
tried(lambda: BatchSampler(range(3), 0, False))
for x, y in DataLoader(ds, batch_size=4, shuffle=True):
    print(x.flatten(), y)
for x, y in DataLoader(ds, batch_size=4, drop_last=True, generator=torch.Generator().manual_seed(3), shuffle=True):
    print(y)
print(len(DataLoader(ds, 3)), len(DataLoader(ds, 3, drop_last=True)))

class D(Dataset):

    def __init__(s):
        s.d = [{'a': i, 'b': [i, float(i)], 'c': str(i)} for i in range(5)]

    def __len__(s):
        return 5

    def __getitem__(s, i):
        return s.d[i]
for b in DataLoader(D(), batch_size=2):
    print(b)

class I(IterableDataset):

    def __iter__(s):
        return iter(range(5))
print([b for b in DataLoader(I(), batch_size=2)])
tried(lambda: DataLoader(I(), shuffle=True))
tried(lambda: len(DataLoader(I())))
tried(lambda: default_collate([torch.ones(2), torch.ones(3)]))
tried(lambda: default_collate([[1, 2], [1]]))
tried(lambda: default_collate([object()]))
print(default_collate([(1, 2.0), (3, 4.0)]), default_collate([{'x': torch.ones(1)}] * 2), default_collate(['a', 'b']), default_collate([True, False]))
tried(lambda: DataLoader(ds, batch_size=0))
tried(lambda: DataLoader(ds, sampler=SequentialSampler(ds), shuffle=True))
tried(lambda: DataLoader(ds, batch_sampler=BatchSampler(SequentialSampler(ds), 2, False), batch_size=3))
tried(lambda: DataLoader(ds, num_workers=-1))
tried(lambda: DataLoader(ds, batch_size=None, drop_last=True))
print([x for x in DataLoader([1, 2, 3], batch_size=None)], [x for x in DataLoader([3, 4, 5], batch_size=2, collate_fn=lambda b: b)])

def wf(i):
    pass
print(sum((1 for _ in DataLoader(ds, batch_size=3, num_workers=2, worker_init_fn=wf, pin_memory=False, persistent_workers=True))))
buf = io.BytesIO()
torch.save({'a': torch.arange(3), 'm': [1, 'x'], 'n': torch.nn.Linear(2, 1).state_dict()}, buf)
buf.seek(0)
l = torch.load(buf)
print(l['a'], l['m'], list(l['n']))
buf = io.BytesIO()
lin = torch.nn.Linear(2, 1)
torch.save(lin, buf)
buf.seek(0)
tried(lambda: torch.load(buf))
buf.seek(0)
print(torch.load(buf, weights_only=False))
opt = torch.optim.Adam(lin.parameters())
lin(torch.ones(1, 2)).sum().backward()
opt.step()
buf = io.BytesIO()
torch.save(opt.state_dict(), buf)
buf.seek(0)
print(torch.load(buf, weights_only=True, map_location='cpu')['param_groups'][0]['lr'])
scaler = torch.amp.GradScaler('cpu', enabled=False)
print(scaler.get_scale(), scaler.is_enabled(), scaler.state_dict())
print(scaler.scale(torch.tensor(2.0)))
scaler = torch.amp.GradScaler('cpu', init_scale=4.0)
print(scaler.scale(torch.tensor(2.0)), scaler.get_scale())
w = torch.nn.Parameter(torch.ones(2))
o = torch.optim.SGD([w], lr=0.1)
scaler.scale((w ** 2).sum()).backward()
print(w.grad)
scaler.unscale_(o)
print(w.grad)
tried(lambda: scaler.unscale_(o))
scaler.step(o)
scaler.update()
print(w, scaler.get_scale(), scaler.state_dict())
w.grad = torch.tensor([float('inf'), 1.0])
scaler.step(o)
scaler.update()
print(w, scaler.get_scale())
with torch.autocast('cpu', dtype=torch.bfloat16):
    print((torch.ones(2, 2) @ torch.ones(2, 2)).dtype, torch.is_autocast_enabled('cpu'))
