"""What has a history in inference mode where gradients are switched on: views, and what is made outside."""

import torch
x = torch.ones(2, requires_grad=True)
with torch.inference_mode(), torch.enable_grad():
    y = x + 1
    print(y.requires_grad, y.is_inference(), torch.is_grad_enabled())
    z = x.view(1, 2); print(z.requires_grad, z.is_inference())
    w = torch.zeros(2, requires_grad=True); print(w.requires_grad, w.is_leaf)
    v = w * 2; print(v.requires_grad)
    s = x * x.sum(); print(s.grad_fn)
    u = torch.zeros(2).add_(x); print(u.requires_grad)
    with torch.inference_mode(False):
        print((x * 2).requires_grad)
with torch.inference_mode():
    with torch.inference_mode(False), torch.no_grad(): print((x * 2).requires_grad, (x * 2).is_inference())
    a = x.detach(); print(a.requires_grad, a.is_inference())


def branches(x):
    with torch.enable_grad():
        a = x + 1
    with torch.no_grad():
        b = x + 1
    return a, b, x + 1


# What is compiled in inference mode is traced as if it were off.
compiled = torch.compile(branches)
with torch.inference_mode():
    print([t.requires_grad for t in compiled(x)], [t.requires_grad for t in branches(x)])
print([t.requires_grad for t in compiled(x)])
