"""Errors of shapes that do not fit in a compiled function: Dynamo words them as the rules for fake tensors do."""

import torch
def run(f, a, b):
    torch._dynamo.reset()
    for dynamic in (False, True):
        try:
            torch.compile(f, backend="eager", dynamic=dynamic)(a, b)
        except Exception as e:
            print(type(e).__name__, [l.split("got ", 1)[1] for l in str(e).splitlines() if "Explanation" in l])
x, y = torch.ones(3, 5), torch.ones(4, 6)
run(lambda a, b: a @ b, x, y)
run(lambda a, b: a * b, x, y)
run(lambda a, b: torch.where(a > 0, a, b), x, y)
run(lambda a, b: torch.cat([a, b], 1), x, y)
run(lambda a, b: torch.stack([a, b]), x, y)
run(lambda a, b: torch.mm(a, b), x, y)
run(lambda a, b: torch.addmm(a, a, b), x, y)
run(lambda a, b: torch.bmm(a[None], b[None]), x, y)
run(lambda a, b: a[0] @ b[0], x, y)
run(lambda a, b: a @ b[0], x, y)
run(lambda a, b: a.expand(b.shape), x, y)
run(lambda a, b: a.reshape(b.shape), x, y)
run(lambda a, b: a.view(7, -1), x, y)
run(lambda a, b: torch.einsum("ij,jk->ik", a, b), x, y)
run(lambda a, b: a.squeeze(5), x, y)
run(lambda a, b: torch.dot(a[0], b[0]), x, y)
