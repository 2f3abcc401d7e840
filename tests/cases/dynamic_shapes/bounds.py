"""Dimensions marked with bounds, marked static, marked maybe; how often a function is compiled for sizes of each kind."""

import torch

count = 0


def counting(gm, inputs):
    global count
    count += 1
    print([tuple(str(s) for s in i.shape) if isinstance(i, torch.Tensor) else str(i) for i in inputs])
    return gm


def sizes(mark, tried, **options):
    global count
    torch._dynamo.reset()
    count = 0
    f = torch.compile(lambda x: x.sin().sum(1) * x.shape[0], backend=counting, **options)
    for i, n in enumerate(tried):
        x = torch.ones(n, 3)
        if i == 0 or mark is torch._dynamo.mark_static:
            mark(x)
        try:
            f(x)
        except Exception as error:
            print(type(error).__name__, str(error).splitlines()[0])
    print(count)


sizes(lambda x: torch._dynamo.mark_dynamic(x, 0, min=4, max=16), (6, 9, 16, 17, 3, 2, 1))
sizes(lambda x: torch._dynamo.mark_dynamic(x, [0, 1]), (6, 9, 2))
sizes(lambda x: torch._dynamo.maybe_mark_dynamic(x, 0), (6, 9, 2, 1))
sizes(lambda x: torch._dynamo.mark_static(x, 0), (6, 9, 2, 1))
sizes(lambda x: torch._dynamo.mark_static(x), (6, 9, 2, 1), dynamic=True)
sizes(lambda x: None, (6, 9, 2, 1, 0, 5), dynamic=True)
sizes(lambda x: None, (6, 9, 2, 1, 5), dynamic=False)
sizes(lambda x: torch._dynamo.decorators.mark_unbacked(x, 0), (6, 9, 2, 1))
