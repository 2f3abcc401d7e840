"""A joint graph of `aot_export_joint_simple` takes primals and tangents as lists, and gives results and gradients apart."""
import torch
from torch._functorch.aot_autograd import aot_export_joint_simple
x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
for f, a in ((lambda x, y: [x * 2], [x, y]), (lambda x, y: (x * 2, y > 1), (x, y)), (lambda x, y: (x * y, y.sin()), (x, y))):
    g = aot_export_joint_simple(f, a, trace_joint=True)
    print(type(g.graph._codegen).__name__, g.graph._codegen.pytree_info.orig_args, g.graph._codegen.pytree_info.out_spec); print(g.code)
    n = len(g.graph._codegen.pytree_info.out_spec.children()[0].children())
    print(g([torch.ones(2), torch.ones(2)], [torch.ones(2)] * (2 if f is not None and "sin" in g.code else 1)))
for f, a, j in ((lambda x, y: (x * 2, y + 1), [x, y], False), (lambda x, y: (x * 2, y + 1), [x.detach(), y.detach()], True)):
    g = aot_export_joint_simple(f, a, trace_joint=j); print(type(g.graph._codegen).__name__, g.code, g(torch.ones(2), torch.ones(2)))
g = aot_export_joint_simple(lambda x, y: ((x @ y).relu(),), [torch.randn(2, 2, requires_grad=True), torch.randn(2, 2, requires_grad=True)], trace_joint=True)
class W(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *a):
        ctx.save_for_backward(*a)
        return g(list(a), [torch.ones(2, 2)])[0][0]
    @staticmethod
    def backward(ctx, t):
        return tuple(g(list(ctx.saved_tensors), [t])[1])
torch.manual_seed(0)
a, b = torch.randn(2, 2, requires_grad=True), torch.randn(2, 2, requires_grad=True)
W.apply(a, b).sum().backward()
print(all(torch.allclose(p, q) for p, q in zip((a.grad, b.grad), torch.autograd.grad((a @ b).relu().sum(), (a, b)))))
