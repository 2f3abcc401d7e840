import torch

@torch.compile
def total(xs):
    out = xs[0]
    for x in xs[1:]:
        out = out + x
    return out

a = [torch.ones(3) * i for i in range(4)]
print(total(a[:2]))
print(total(a[:3]))
print(total(tuple(a[:3])))
print(total(a))

@torch.compile
def batch(d):
    out = d["x"] * 2
    if "mask" in d:
        out = out * d["mask"]
    if d.get("bias") is not None:
        out = out + d["bias"]
    return out

print(batch({"x": torch.ones(3)}))
print(batch({"x": torch.ones(3), "mask": torch.zeros(3)}))
print(batch({"x": torch.ones(3), "bias": torch.ones(3)}))
print(batch({"x": torch.ones(3), "mask": torch.ones(3), "bias": torch.ones(3)}))
