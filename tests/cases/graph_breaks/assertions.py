"""Assertions on tensors are checks of the graph; those with a computed message are branches."""
import torch


@torch.compile
def checked(x):
    assert (x > 0).all(), "must be positive"
    y = x * 2
    assert y.sum() < 100
    torch._assert(y.max() < 50, "too big")
    torch._assert(x.dim() == 1, "one dimension")
    return y + 1


print(checked(torch.ones(4)))
for bad in (-torch.ones(4), torch.full((4,), 30.0), torch.tensor([24.9, 25.0, 0.05, 0.01])):
    try:
        print(checked(bad))
    except Exception as e:
        print(type(e).__name__, e)


@torch.compile
def computed_messages(x, flag):
    assert isinstance(flag, bool), f"flag must be bool, got {type(flag)}"
    assert not torch.isnan(x).any(), f"nan with {flag}"
    assert x.sum() > 0, f"sum is {x.sum()}"
    return x * 2


print(computed_messages(torch.ones(3), True))
for args in ((torch.tensor([1.0, float("nan")]), True), (torch.ones(3), 3)):
    try:
        print(computed_messages(*args))
    except Exception as e:
        print(type(e).__name__, e)


@torch.compile(fullgraph=True)
def whole(x):
    assert x.shape[0] > 2
    assert torch.isfinite(x).all()
    return x.relu()


print(whole(torch.ones(3)))
