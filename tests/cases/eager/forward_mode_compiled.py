"""Products with Jacobians by forward mode in compiled functions."""

import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, linearize


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


x = torch.tensor([-1.2, 1.0, 0.5], dtype=torch.float64)
for name, function in {
    "jvp": lambda x: jvp(rosenbrock, (x,), (x,)),
    "jacfwd": lambda x: jacfwd(rosenbrock)(x),
    "hessian": lambda x: hessian(rosenbrock)(x),
    "hessian-vector product": lambda x: jvp(grad(rosenbrock), (x,), (x,))[1],
}.items():
    print(name, torch.compile(function, backend="aot_eager")(x))
