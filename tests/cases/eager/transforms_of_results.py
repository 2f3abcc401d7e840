# Gradients that read results of a transform that has ended, under another one; reductions of examples of no dimension; tangents that lie
# in memory as a batched result does.
import torch
from torch.func import hessian, jacfwd, jacrev, vjp, vmap

torch.manual_seed(0)
functions = dict(
    norm=lambda x: torch.linalg.norm(x),
    kept=lambda x: torch.linalg.norm(x, dim=0, keepdim=True),
    order=lambda x: x.norm(p=3),
    largest=lambda x: torch.linalg.vector_norm(x, float("inf"), dim=0, keepdim=True),
    softmax=lambda x: torch.softmax(x, 0),
    std=lambda x: x.std(),
    logsumexp=lambda x: x.logsumexp(0, keepdim=True),
    cumprod=lambda x: x.cumprod(0),
    amax=lambda x: x.amax(0, keepdim=True),
    prod=lambda x: x.prod(0, keepdim=True),
    median=lambda x: x.median(0, keepdim=True)[0],
    sort=lambda x: x.sort(0)[0],
    normalize=lambda x: torch.nn.functional.normalize(x, dim=0),
    dist=lambda x: torch.dist(x, x * 2),
)
x = torch.rand(2, 3)
for name, f in functions.items():
    of_rows = jacrev(f)(x[0]), jacfwd(f)(x[0])
    batched = vmap(jacrev(f))(x), vmap(jacfwd(f))(x), vmap(jacrev(jacrev(f)))(x), vmap(hessian(f))(x)
    # Examples of no dimension.
    scalars = vmap(vmap(f))(x)
    print(name, [[round(v, 3) + 0.0 for v in t.flatten().tolist()[:6]] for t in (*of_rows, *batched, scalars)])
    out, pull = vjp(f, x[0])
    print([round(v, 3) + 0.0 for v in vmap(pull)(torch.ones(2, *out.shape))[0].flatten().tolist()[:6]])

a, b = torch.ones(2, 2, 2), torch.rand(2, 3, 2)
for f in (
    lambda a, b, c: ((c - (a @ b.T).T) ** 2).sum(),
    lambda a, b, c: (c.T - a @ b.T).sum(),
    lambda a, b, c: (c.exp() * (a @ b.T).T).sum(),
):
    print(vmap(hessian(f))(a, b, b).sum(), vmap(jacfwd(f))(a, b, b).flatten()[:4])
for dim in (1, -2):
    try:
        vmap(lambda x: x.sum(dim))(torch.ones(2))
    except IndexError as error:
        print(error)
