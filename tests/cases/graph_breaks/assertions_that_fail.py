# Assertions that fail while a function is traced: Dynamo recognizes those with a constant message, or none, behind one jump.
import torch
def a1(x):
    assert x.shape[0] == 3
    return x * 2
def a2(x):
    assert x.shape[0] == 3, "three"
    return x * 2
def a3(x):
    assert x.shape[0] == 3, f"got {x.shape[0]}"
    return x * 2
def a4(x):
    assert x.shape[0] == 3, ("a", "b")
    return x * 2
def a5(x):
    assert not x.shape[0] == 2
    return x * 2
def a6(x):
    assert x.shape[0] == 3 and x.shape[1] == 2, "both"
    return x * 2
def a7(x):
    if x.shape[0] != 3:
        raise AssertionError("seven")
    return x * 2
for fn in (a1, a2, a3, a4, a5, a6, a7):
    for full in (True, False):
        torch._dynamo.reset()
        try: print(fn.__name__, full, torch.compile(fn, backend="eager", fullgraph=full)(torch.ones(2)))
        except Exception as e: print(fn.__name__, full, type(e).__name__, (str(e).splitlines() or [""])[0])
