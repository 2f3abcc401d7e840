# Tensors made in inference mode dispatch otherwise than others, in any mode.

import torch
torch.manual_seed(0)
lin = torch.nn.Linear(4, 4)
@torch.compile(backend="aot_eager")
def step(ids, h):
    return lin(h) + ids.float().mean()
ids, h = torch.arange(3), torch.ones(1, 4)
with torch.inference_mode():
    for _ in range(4):
        h = step(ids, h)
        ids = torch.cat([ids, ids[:1]])
    print(ids.shape, h.shape, h.is_inference(), h.requires_grad)
h = step(torch.arange(3), torch.ones(1, 4))
print(h.requires_grad)
with torch.no_grad():
    print(step(torch.arange(3), torch.ones(1, 4)).is_inference())
