import torch

SCALE = 2.0
MODE = "sum"
LAYERS = 3
CONFIG = {"eps": 1e-5, "affine": True}

def make(bias, flag):
    n = 0
    def f(x):
        y = x * SCALE + bias
        if flag:
            y = y.relu()
        for _ in range(LAYERS):
            y = y + 1
        if CONFIG["affine"]:
            y = y / (1 + CONFIG["eps"])
        return y.sum() if MODE == "sum" else y.mean()
    return f

x = torch.ones(4)
f = torch.compile(make(1, True))
print(f(x))
SCALE = 3.0
print(f(x))
MODE = "mean"
print(f(x))
LAYERS = 4
print(f(x))
CONFIG["affine"] = False
print(f(x))
g = torch.compile(make(2, True))
print(g(x))
h = torch.compile(make(2, False))
print(h(x))
