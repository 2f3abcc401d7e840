# keep: exception
import torch
from torch import nn
from torch._functorch.aot_autograd import aot_export_module


def attempt(label, mod, args, **kw):
    gm, sig = aot_export_module(mod, args, **kw)
    print(label, "ok", sig.user_outputs, sig.backward_signature)


class F(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.fn = fn

    def forward(self, *a):
        return self.fn(self.w, *a)


x = torch.ones(2, 3)
attempt("vector loss", F(lambda w, x: ((w * x).sum(0),)), (x,), trace_joint=True, output_loss_index=0)
attempt("no index", F(lambda w, x: ((w * x).sum(),)), (x,), trace_joint=True)
attempt("index without joint", F(lambda w, x: ((w * x).sum(),)), (x,), trace_joint=False, output_loss_index=0)
attempt("index out of range", F(lambda w, x: ((w * x).sum(),)), (x,), trace_joint=True, output_loss_index=3)
attempt("not a tuple", F(lambda w, x: (w * x).sum()), (x,), trace_joint=True, output_loss_index=0)
attempt("loss without grad", F(lambda w, x: (x.sum(), (w * x).sum().detach())), (x,), trace_joint=True, output_loss_index=0)
attempt("other outputs need grad", F(lambda w, x: ((w * x).sum(), w * x)), (x,), trace_joint=True, output_loss_index=0)
attempt("integer loss", F(lambda w, x: ((w * x).argmax(),)), (x,), trace_joint=True, output_loss_index=0)
attempt("alias output", F(lambda w, x: (x.view(-1), (w * x).sum())), (x,), trace_joint=False)
attempt("returns input", F(lambda w, x: (x, w)), (x,), trace_joint=False)
attempt("mutate param", F(lambda w, x: (w.data.add_(1).sum(),)), (x,), trace_joint=False)
attempt("mutate input grad", F(lambda w, x: (x.mul_(2).sum() + w.sum(),)), (x.clone().requires_grad_(),), trace_joint=True, output_loss_index=0)
attempt("data dependent", F(lambda w, x: (x[x > 0].sum(),)), (x,), trace_joint=False)
attempt("branch on value", F(lambda w, x: ((w if x.sum() > 0 else x).sum(),)), (x,), trace_joint=False)
attempt("nested outputs", F(lambda w, x: ([(w * x).sum()], {"a": x + 1})), (x,), trace_joint=False)
attempt("kw", F(lambda w, x: (x + w,)), (x,), trace_joint=False, decompositions={})
