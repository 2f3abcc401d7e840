# Programs and shapes that export refuses.
import torch
from torch.export import export, Dim
class M(torch.nn.Module):
    def __init__(s, f): super().__init__(); s.f = f
    def forward(s, *a): return s.f(*a)
class N(torch.nn.Module):
    def forward(s, x, y=None, *, k=1): return x + 1
def t(*a, **k):
    try: export(*a, **k); print("ok")
    except Exception as e: print(type(e).__name__, e)
x = torch.ones(3)
t(M(lambda x: object()), (x,))
t(M(lambda x: x), (x,), dynamic_shapes=({0: Dim("n")},))
t(M(lambda x: x), (x,), dynamic_shapes={"args": ({0: Dim("n"), 3: Dim("m")},)})
t(M(lambda x, y: x), (x, x), dynamic_shapes={"args": ({0: Dim("n")},)})
t(N(), (x,), dynamic_shapes=({0: Dim("n")}, None))
t(N(), (x,), dynamic_shapes={"z": {0: Dim("n")}})
t(N(), (x,), dynamic_shapes={"x": [Dim("n"), None]})
t(N(), (x,), dynamic_shapes={"x": {0: "n"}})
t(N(), (x, x), dynamic_shapes={"x": {0: Dim("n")}})
t(N(), (x, x), {"k": 2}, dynamic_shapes={"x": {0: Dim("n")}, "y": {0: Dim("n")}, "k": None})
t(N(), (x, [x, x]), dynamic_shapes={"x": None, "y": [{0: Dim("n")}]})
t(N(), (x, {"a": x}), dynamic_shapes={"x": None, "y": {"b": None}})
t(N(), (x, {"a": x}), dynamic_shapes={"x": None, "y": ({0: Dim("n")},)})
t(N(), (x, 3), dynamic_shapes={"x": None, "y": {0: Dim("n")}})
t(N(), (x,), dynamic_shapes=[{0: Dim("n")}])
t(N(), (x,), dynamic_shapes=5)
for name, f in {
    "numpy": lambda x: x + x.numpy(), "data_ptr": lambda x: x + x.data_ptr(), "array": lambda x: x + x.__array__(), "tolist": lambda x: x + x.tolist()[0],
}.items():
    print(name)
    t(M(f), (x,))
