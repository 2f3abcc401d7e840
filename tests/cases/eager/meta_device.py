# Tensors on the meta device have no values: what asks for one is refused, eagerly; compiled code computes shapes.
import torch

m = torch.empty((), device="meta")
v = torch.empty(3, device="meta")
for ask in (
    lambda: m.item(),
    lambda: bool(m),
    lambda: float(m),
    lambda: v.sum().item(),
    lambda: v.tolist(),
    lambda: v.cpu(),
    lambda: torch.equal(v, v),
    lambda: torch.ones(3) + v,
    lambda: torch.ones(3).copy_(v),
    lambda: v.copy_(torch.ones(3)),
    lambda: v + torch.tensor(2.0),
    lambda: v.to("meta") * 2,
):
    try:
        result = ask()
        print(result.device, result.shape)
    except Exception as error:
        print(type(error).__name__, str(error).split("\n")[0])

w = torch.empty(4, 2, device="meta", requires_grad=True)
x = torch.empty(3, 4, device="meta")
for backend in ("eager", "aot_eager"):
    torch._dynamo.reset()
    out = torch.compile(lambda x: (x @ w).relu(), backend=backend)(x)
    print(out.device, out.shape, out.requires_grad)
    out.sum().backward()
    print(w.grad.device, w.grad.shape)
    w.grad = None
    print(torch.compile(lambda x: (x.view(-1), torch.zeros(2, device="meta") + x[0, :2]), backend=backend)(x)[1].device)
    with torch.device("meta"):
        layer = torch.nn.Linear(3, 3)
    print(torch.compile(layer, backend=backend)(torch.empty(2, 3, device="meta")).shape)
