# Operands of a product that differ in dtype: which functions look at that while they are traced, and which leave it to the kernel.
import torch

short, long, square = torch.ones(2, 3).half(), torch.ones(3, 2), torch.ones(2, 2)
products = {
    "matmul": lambda a, b: a @ b,
    "mm": torch.mm,
    "mv": lambda a, b: torch.mv(a, b[:, 0]),
    "bmm": lambda a, b: torch.bmm(a[None], b[None]),
    "matmul in batches": lambda a, b: torch.matmul(a[None], b[None]),
    "addmm": lambda a, b: torch.addmm(b[:2], a, b),
    "addmv": lambda a, b: torch.addmv(b[0], a, b[:, 0]),
    "dot": lambda a, b: torch.dot(a[0], b[:, 0]),
    "linear": lambda a, b: torch.nn.functional.linear(a, b.T),
    "linear of rows": lambda a, b: torch.nn.functional.linear(a[None], b.T),
    "einsum": lambda a, b: torch.einsum("ij,jk->ik", a, b),
    "tensordot": lambda a, b: torch.tensordot(a, b, 1),
    "multi_dot": lambda a, b: torch.linalg.multi_dot([b, a, b]),
    "bilinear": lambda a, b: torch.nn.functional.bilinear(a, a, torch.ones(2, 3, 3)),
    "outer": lambda a, b: torch.outer(a[0], b[:, 0]),
    "baddbmm": lambda a, b: torch.baddbmm(b[:2][None], a[None], b[None]),
}
for name, product in products.items():
    for way, f in (("eager", product), ("compiled", torch.compile(product, backend="aot_eager"))):
        torch._dynamo.reset()
        try:
            print(name, way, f(short, long))
        except Exception as e:
            print(name, way, type(e).__name__, str(e).split("\n")[0])
for product in (torch.mm, torch.matmul):
    made = product(short.to("meta"), long.to("meta"))
    print(made.shape, made.dtype)
