# Sizes under the transforms of torch.func are symbols like any others.
import torch


def count(name, function, sizes=(2, 3, 4, 5), **options):
    torch._dynamo.reset()
    compiled = torch._dynamo.testing.CompileCounter()
    f = torch.compile(function, backend=compiled, **options)
    results = [f(torch.arange(1.0, n + 1)) for n in sizes]
    print(name, options, compiled.frame_count, results[-1])


def cubes(x):
    return (x**3).sum()


def through_vjp(x):
    y, back = torch.func.vjp(torch.sin, x)
    return back(y)[0]


def identity_too(x):
    return torch.func.grad_and_value(lambda v: (v * v).sum())(x)[0] + x


for options in ({"dynamic": True}, {}):
    count("grad", torch.func.grad(cubes), **options)
    count("vjp", through_vjp, **options)
    count("grad and value", identity_too, **options)
    count("jvp", lambda x: torch.func.jvp(torch.exp, (x,), (x,))[1], **options)
    count("vmap", torch.vmap(lambda v: v * 2 + 1), **options)
    count("vmap of rows", lambda x: torch.vmap(lambda row: row.sum() + row)(x[:, None] * x), **options)
    count("jacrev", torch.func.jacrev(lambda v: v**2), **options)
    count("jacfwd", torch.func.jacfwd(lambda v: v**2), **options)
f = torch.compile(torch.func.grad(cubes), dynamic=True)
for n in (3, 4):
    print(f(torch.ones(n)))
