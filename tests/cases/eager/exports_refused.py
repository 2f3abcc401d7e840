"""What `aot_export_module` and `aot_export_joint_simple` refuse, and what they take."""
import torch
from torch._functorch.aot_autograd import aot_export_joint_simple, aot_export_module


def attempt(name, f):
    try:
        print(name, f())
    except Exception as error:
        print(name, type(error).__name__, str(error).split("ViewAndMutationMeta")[0].strip())


class Linear(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(2))
        self.f = f

    def forward(self, x):
        return self.f(x * self.w)


def module(f, **options):
    graph, signature = aot_export_module(Linear(f), [torch.ones(2)], **options)
    return signature.user_outputs, signature.backward_signature is not None


def simple(f, args, trace_joint=True):
    return [n.name for n in aot_export_joint_simple(f, args, trace_joint=trace_joint).graph.nodes]


attempt("tuple", lambda: module(lambda x: (x.sum(),), trace_joint=False))
attempt("a tensor", lambda: module(lambda x: x.sum(), trace_joint=False))
attempt("a dict", lambda: module(lambda x: {"a": x.sum()}, trace_joint=False))
attempt("an index without a joint graph", lambda: module(lambda x: (x.sum(),), trace_joint=False, output_loss_index=0))
attempt("no index", lambda: module(lambda x: (x.sum(),), trace_joint=True))
attempt("a vector", lambda: module(lambda x: (x,), trace_joint=True, output_loss_index=0))
attempt("a loss", lambda: module(lambda x: (x.sum(),), trace_joint=True, output_loss_index=0))
leaf = lambda: torch.ones(2, requires_grad=True)
attempt("list", lambda: simple(lambda a: [a * 2], [leaf()]))
attempt("one tensor", lambda: simple(lambda a: a * 2, [leaf()]))
attempt("dict", lambda: simple(lambda a: {"k": a * 2}, [torch.ones(2)], False))
attempt("nested", lambda: simple(lambda a: [[a * 2]], [torch.ones(2)], False))
attempt("nested input", lambda: simple(lambda a: [a[0] * 2], [[torch.ones(2)]], False))
attempt("two views", lambda: simple(lambda a: [(a * 2)[0], (a * 2)[1]], [leaf()]))
attempt("views of one", lambda: simple(lambda a: [*(a * 2).unbind(0)], [leaf()]))
attempt("a view of an input", lambda: simple(lambda a: [a.view(-1)], [torch.ones(2)], False))
attempt("a write", lambda: simple(lambda a: [a.add_(1) * 2], [torch.ones(2)], False))
