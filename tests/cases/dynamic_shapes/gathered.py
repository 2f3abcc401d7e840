"""Lists and dictionaries of tensors of varying sizes; indices of them."""

import torch


@torch.compile(dynamic=True)
def gathered(batch):
    longest = max(t.shape[0] for t in batch["items"])
    rows = [torch.nn.functional.pad(t, (0, longest - t.shape[0])) for t in batch["items"]]
    return torch.stack(rows).index_select(0, batch["order"]), longest


for sizes in ((2, 4), (3, 5), (6, 2), (4, 4)):
    items = [torch.ones(n) * n for n in sizes]
    print(gathered({"items": items, "order": torch.tensor([1, 0, 1])}))


@torch.compile(dynamic=True)
def repeated(x, counts):
    return x.repeat_interleave(counts, output_size=x.shape[0] * 3) + x.sum()


for n in (2, 4):
    x = torch.arange(float(n)).requires_grad_()
    repeated(x, torch.full((n,), 3)).sum().backward()
    print(x.grad)
