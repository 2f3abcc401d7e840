"""What a failed export suggests, put into `dynamic_shapes`."""
import torch
from torch.export import export, Dim
from torch.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes
def tell(m, args, shapes):
    try: print(export(m, args, dynamic_shapes=shapes).range_constraints)
    except Exception as e:
        text = e.msg if hasattr(e, "msg") else str(e)
        new = refine_dynamic_shapes_from_suggested_fixes(text, shapes); print(new)
        try: print(export(m, args, dynamic_shapes=new).range_constraints)
        except Exception as e: print(type(e).__name__, str(e)[:300])
class A(torch.nn.Module):
    def forward(s, x, y): return x + y[1:]
dx, dy = Dim("dx"), Dim("dy")
tell(A(), (torch.ones(4), torch.ones(5)), {"x": {0: dx}, "y": {0: dy}})
tell(A(), (torch.ones(4), torch.ones(5)), ({0: dx}, (dy,)))
class B(torch.nn.Module):
    def forward(s, x, y): return x.reshape(-1, 4) @ torch.ones(4, 4) if x.shape[0] > 6 else x
tell(B(), (torch.ones(8), torch.ones(5)), {"x": {0: dx}, "y": None})
class C(torch.nn.Module):
    def forward(s, x): return x + torch.ones(3)
tell(C(), (torch.ones(3),), {"x": {0: dx}})
class D(torch.nn.Module):
    def forward(s, x, y): return x * y
tell(D(), (torch.ones(3), torch.ones(3)), {"x": {0: dx}, "y": {0: dy}})
class E(torch.nn.Module):
    def forward(s, x, y, z): return torch.cat([x, y]) + z
tell(E(), (torch.ones(3), torch.ones(3), torch.ones(6)), {"x": {0: dx}, "y": {0: dx}, "z": {0: Dim("dz")}})
class F(torch.nn.Module):
    def forward(s, x): return x[:7] + 1 if x.shape[0] < 20 else x
tell(F(), (torch.ones(9),), {"x": {0: Dim("dx", max=64)}})
try: refine_dynamic_shapes_from_suggested_fixes("nothing", {})
except Exception as e: print(type(e).__name__, str(e)[:300])
import dataclasses
from torch.export import ShapesCollection, register_dataclass
@dataclasses.dataclass
class In:
    a: torch.Tensor
    b: torch.Tensor | None = None
register_dataclass(In)
class G(torch.nn.Module):
    def forward(s, inp, more): return inp.a + (0 if inp.b is None else inp.b) + more["x"][0]
for b in (None, torch.ones(1)):
    i = In(torch.ones(2, 3), b); sc = ShapesCollection(); sc[i.a] = {0: Dim.DYNAMIC}
    print(len(export(G(), (i, {"x": [torch.ones(3)]}), dynamic_shapes=sc).range_constraints))
    print(sc.dynamic_shapes(G(), (i, {"x": [torch.ones(3)]})))
try: export(G(), (In(torch.ones(2, 3)), {"x": [torch.ones(3)]}), dynamic_shapes=({"a": {0: Dim("x")}}, {"x": [None]}))
except Exception as e: print(type(e).__name__, str(e)[:200])
