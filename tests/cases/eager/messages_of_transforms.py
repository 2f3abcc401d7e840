# How tensors of transforms print, and what transforms say of functions and arguments that they do not take.
import torch
from torch.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

x, i = torch.ones(3), torch.ones(3, dtype=torch.int64)


def attempt(what, run):
    try:
        print(what, run())
    except Exception as error:
        print(what, type(error).__name__, str(error).split(" at 0x")[0])


def shows(y):
    print(y, f"[{y * 2}]", y.shape)
    return y.sum()


attempt("vmap", lambda: vmap(shows)(torch.arange(6.0).view(2, 3)))
attempt("vmap in 1", lambda: vmap(shows, in_dims=1)(torch.arange(6.0).view(2, 3)))
attempt("vmap vmap", lambda: vmap(vmap(shows))(torch.ones(2, 2, 2)))
attempt("grad", lambda: grad(shows)(x))
attempt("grad grad", lambda: grad(lambda y: grad(lambda z: shows(z**3))(y).sum())(x))
attempt("vmap grad", lambda: vmap(grad(shows))(torch.ones(2, 3)))
attempt("jvp", lambda: jvp(shows, (x,), (x,)))
attempt("functionalize", lambda: functionalize(shows)(x))
attempt("of a leaf", lambda: vmap(lambda y: shows(y) * 1)(torch.ones(2, 2, requires_grad=True)))
attempt(1, lambda: vjp(lambda x: x.argmax(), x))
attempt(2, lambda: jacrev(lambda x: x > 0)(x))
attempt(3, lambda: vjp(lambda x: 3.0, x))
attempt(4, lambda: jvp(lambda x: 3.0, (x,), (x,)))
attempt(5, lambda: grad(lambda d: d["a"].sum())({"a": x, "b": 3}))
attempt(6, lambda: vjp(lambda x: x * 2, x)[1](torch.ones(2)))
attempt(7, lambda: vjp(lambda x: (x, x), x)[1](x))
attempt(8, lambda: vjp(lambda x: x * 2, x)[1](3.0))
attempt(9, lambda: grad_and_value(lambda x: (x.sum(), 3), has_aux=True)(x))
attempt(10, lambda: jvp(lambda x: (x, 5), (x,), (x,), has_aux=True))
attempt(11, lambda: hessian(lambda x: x.sum())(i))
attempt(12, lambda: vmap(lambda x: x, out_dims=(0, 1))(x))
attempt(13, lambda: vmap(lambda x: x.nonzero())(x))
attempt(14, lambda: vmap(lambda x: x[x > 0])(torch.ones(2, 3)))
attempt(15, lambda: vmap(lambda x: x.masked_select(x > 0))(torch.ones(2, 3)))
attempt(16, lambda: vmap(lambda x: x.tolist())(x))
attempt(17, lambda: vmap(lambda x: x.numpy())(x))
attempt(18, lambda: vmap(lambda x: x.data)(x))
attempt(19, lambda: vmap(lambda x: x.data_ptr())(x))
attempt(20, lambda: vmap(lambda x: torch.equal(x, x))(x))
attempt(21, lambda: vmap(lambda x: torch.allclose(x, x))(x))
attempt(22, lambda: vmap(grad(lambda x: x * x.item()))(x))
attempt(23, lambda: vmap(grad(lambda x: x if x > 0 else -x))(x))
attempt(24, lambda: vmap(lambda x: x.unique())(torch.ones(2, 3)))
attempt(25, lambda: jacfwd(lambda x: torch.nn.functional.pad(x, (1, 1), value=3.0).frac() + 2)(x))
attempt(26, lambda: jvp(lambda x: torch.special.ndtr(x), (x,), (x,)))
