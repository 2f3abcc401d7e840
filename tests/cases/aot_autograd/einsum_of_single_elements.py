"""How einsum pairs dimensions that have one element in one operand or in both."""
import torch

torch.manual_seed(0)


def run(equation, *shapes):
    operands = [torch.randn(shape, requires_grad=True) for shape in shapes]
    torch._dynamo.reset()
    out = torch.compile(lambda *a: torch.einsum(equation, *a))(*operands)
    out.pow(2).sum().backward()
    print(equation, tuple(out.shape), out.stride(), [f"{t.grad.sum().item():.4f}" for t in operands])


for b, h in ((1, 4), (2, 1), (1, 1)):
    run("bhij,hg->bgij", (b, h, 3, 3), (h, 4))
    run("bhid,bhjd->bhij", (b, h, 3, 5), (b, h, 6, 5))
    run("bid,dk->bki", (b, 3, h), (h, 2))
    run("bxy,zx->zby", (b, 3, h), (2, 3))
    run("bij,bjk,bkl->bil", (b, 2, h), (b, h, 3), (b, 3, 1))
