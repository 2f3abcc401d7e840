"""What AOTAutograd's exports say of writes to inputs, of sizes that values decide, and what a loss's retraced graph keeps of results."""

import torch
from torch import nn
from torch._functorch.aot_autograd import aot_export_joint_simple, aot_export_module


class Holder(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.fn = fn

    def forward(self, *args):
        return self.fn(self.w, *args)


def attempt(label, fn, args, most=300, **options):
    try:
        gm, _ = aot_export_module(Holder(fn), args, **options)
        print(label, "ok", gm.code.strip())
    except Exception as e:
        print(label, type(e).__name__, str(e).strip()[:most])


def simple(label, fn, args, most=400, **options):
    try:
        print(label, aot_export_joint_simple(fn, args, **options).code.strip())
    except Exception as e:
        print(label, type(e).__name__, str(e).strip()[:most])


x = torch.ones(2, 3)
loss = dict(trace_joint=True, output_loss_index=0)
attempt("leaf", lambda w, x: (x.mul_(2).sum() + w.sum(),), (x.clone().requires_grad_(),), **loss)
attempt("result", lambda w, x: (x.mul_(2).sum() + w.sum(),), (x.clone().requires_grad_() * 1,), 900, **loss)
attempt("no joint", lambda w, x: (x.mul_(2).sum() + w.sum(),), (x.clone().requires_grad_(),), trace_joint=False)
attempt("transposed", lambda w, x: (x.t_().sum() + w.sum(),), (x.clone(),), **loss)
attempt("transposed", lambda w, x: (x.t_().sum() + w.sum(),), (x.clone(),), trace_joint=False)
for label, fn in {
    "nonzero": lambda w, x: (x.nonzero().sum(),),
    "mask": lambda w, x: (x[x > 0].sum(),),
    "unique": lambda w, x: (x.unique().sum(),),
    "repeats": lambda w, x: (torch.repeat_interleave(x, torch.tensor([1, 2]), 0).sum(),),
    "item": lambda w, x: (w.sum() * x.sum().item(),),
    "bincount": lambda w, x: (x[0].long().bincount().sum(),),
    "select": lambda w, x: (torch.masked_select(x, x > 0).sum(),),
}.items():
    attempt(label, fn, (x.clone(),), trace_joint=False)
attempt("sigmoid", lambda w, x: ((x * w).sigmoid().sum(),), (x,), **loss)
attempt("softmax", lambda w, x: ((x * w).softmax(-1).exp().sum(), x.relu()), (x,), **loss)
simple("written", lambda a: [a.mul_(2)], (x.clone().requires_grad_(),), trace_joint=True)
simple("written", lambda a: [a.mul_(2)], (x.clone(),), trace_joint=False)
simple("aliases", lambda a: [a.t(), a[0], a + 1], (x.clone(),), 1250, trace_joint=False)
