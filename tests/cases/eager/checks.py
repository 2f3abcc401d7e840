"""Forward mode, `torch.autograd.functional`, gradcheck and assert_close: values and messages."""
import torch
import torch.autograd.forward_ad as fwAD
x = torch.tensor([1.0, 2.0])
t = torch.tensor([1.0, 0.0])
with fwAD.dual_level():
    d = fwAD.make_dual(x, t)
    print(d)
    y = (d * d).sin()
    print(y)
    print(fwAD.unpack_dual(y))
    p, tt = fwAD.unpack_dual(y.sum())
    print(p, tt)
    print(fwAD.unpack_dual(x))
    z = torch.stack([d, d * 2]).sum(0).exp()
    print(fwAD.unpack_dual(z).tangent)
    m = torch.nn.functional.softmax(d, 0)
    print(fwAD.unpack_dual(m))
try:
    fwAD.make_dual(x, t)
except Exception as e:
    print(type(e).__name__, e)
with fwAD.dual_level():
    try:
        fwAD.make_dual(x, torch.ones(3))
    except Exception as e:
        print(type(e).__name__, e)
    try:
        fwAD.make_dual(x, t.long())
    except Exception as e:
        print(type(e).__name__, e)
from torch.autograd.functional import jacobian, hessian, vjp, jvp, vhp, hvp
f = lambda a: (a ** 3).sum()
g = lambda a: a ** 2
print(jacobian(g, x), hessian(f, x))
print(vjp(g, x, t))
print(vhp(f, x, t))
print(hvp(f, x, t))
print(jacobian(lambda a, b: (a * b, a + b), (x, x)))
print(hessian(lambda a, b: (a * b).sum(), (x, t)))
print(jacobian(g, x, create_graph=True))
print(jacobian(g, x, vectorize=True), jacobian(g, x, strategy='forward-mode', vectorize=True))

def tried(fn):
    try:
        print(fn())
    except Exception as e:
        print(type(e).__name__, str(e)[:300])
tried(lambda: hessian(g, x))
tried(lambda: jacobian(lambda a: 3, x))
tried(lambda: vjp(g, x))
tried(lambda: vjp(f, x))
tried(lambda: jacobian(lambda a: a.detach(), x, strict=True))
tried(lambda: jacobian(lambda a: torch.ones(2), x))
from torch.autograd import gradcheck, gradgradcheck
xd = torch.randn(3, dtype=torch.float64, requires_grad=True)
print(gradcheck(torch.sin, xd), gradgradcheck(torch.sin, xd))

class Bad(torch.autograd.Function):

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3
xd = torch.ones(2, dtype=torch.float64, requires_grad=True)
tried(lambda: gradcheck(Bad.apply, xd))
print(gradcheck(Bad.apply, xd, raise_exception=False))
tried(lambda: gradcheck(torch.sin, torch.ones(2)))
tried(lambda: gradcheck(torch.sin, torch.ones(2, requires_grad=True)))
tried(lambda: gradcheck(lambda a: a.detach(), xd))
tried(lambda: gradcheck(lambda a: (a * 2).long(), xd))
tried(lambda: torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1])))
tried(lambda: torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0])))
tried(lambda: torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1, 2])))
tried(lambda: torch.testing.assert_close([1, 2.0], [1, 2.5]))
tried(lambda: torch.testing.assert_close({'a': torch.ones(2)}, {'b': torch.ones(2)}))
tried(lambda: torch.testing.assert_close(1.0, 1.1))
tried(lambda: torch.testing.assert_close(torch.ones(2), torch.ones(2) * 2, msg='hello'))
tried(lambda: torch.testing.assert_close(torch.tensor(float('nan')), torch.tensor(float('nan'))))
tried(lambda: torch.testing.assert_close(torch.tensor(float('nan')), torch.tensor(float('nan')), equal_nan=True))
tried(lambda: torch.testing.assert_close(torch.ones(2), torch.ones(2) + 0.001, rtol=0.01, atol=0))
tried(lambda: torch.testing.assert_close(torch.arange(6).reshape(2, 3), torch.arange(6).reshape(2, 3) + torch.tensor([0, 0, 1])))
tried(lambda: torch.testing.assert_close(torch.ones(2), torch.ones(2), rtol=1))
tried(lambda: torch.testing.assert_close('a', 'b'))
tried(lambda: torch.testing.assert_close(None, 1))
