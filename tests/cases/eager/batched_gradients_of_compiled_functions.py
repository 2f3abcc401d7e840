# Rows of gradients (is_grads_batched) of a compiled function, whose backward may own what was saved for it.
import torch
for backend in ("eager", "aot_eager"):
    for before in (False, True):
        for retain in (None, True):
            torch._dynamo.reset()
            def f(x, w):
                h = (x @ w).sin()
                return h * h.exp()
            c = torch.compile(f, backend=backend)
            torch.manual_seed(0)
            x, w = torch.randn(2, 3, requires_grad=True), torch.randn(3, 2, requires_grad=True)
            try:
                if before:
                    c(x, w).sum().backward()
                y = c(x, w)
                rows = torch.stack([torch.ones(2, 2), torch.eye(2), 2 * torch.ones(2, 2)])
                g = torch.autograd.grad(y, [x, w], rows, is_grads_batched=True, retain_graph=retain)
                want = [torch.autograd.grad(f(x, w), [x, w], row) for row in rows]
                print(backend, before, retain, [o.shape for o in g], all(torch.allclose(o[i], want[i][k]) for k, o in enumerate(g) for i in range(3)))
                try:
                    y.sum().backward()
                    print("again")
                except RuntimeError as e:
                    print(str(e)[:60])
            except Exception as e:
                print(backend, before, retain, type(e).__name__, str(e)[:100])
