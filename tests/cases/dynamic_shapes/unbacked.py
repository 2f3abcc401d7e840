"""Sizes that a script marks as unbacked."""

import torch
def run(f, *args, mark=(), **kw):
    torch._dynamo.reset()
    x = args[0]
    for d in mark:
        torch._dynamo.decorators.mark_unbacked(x, d)
    try:
        print(torch.compile(f, fullgraph=True, **kw)(*args))
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0])
run(lambda x: x * 2 + x.shape[0], torch.ones(4, 2), mark=[0])
run(lambda x: x.sum(0) if x.shape[0] > 3 else x.sum(1), torch.ones(4, 2), mark=[0])
run(lambda x: x.view(-1), torch.ones(4, 2), mark=[0])
run(lambda x: x[:2], torch.ones(4, 2), mark=[0])
run(lambda x, y: x + y, torch.ones(4, 2), torch.ones(4, 2), mark=[0])
run(lambda x: torch.cat([x, x]), torch.ones(4, 2), mark=[0])
run(lambda x: x.mean(0) + torch.arange(x.shape[1]), torch.ones(4, 2), mark=[0])
run(lambda x: x.unsqueeze(1).expand(-1, 3, -1), torch.ones(4, 2), mark=[0, 1])
