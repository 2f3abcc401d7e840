"""What becomes of a compiled function in a transformation or a wrapper that is compiled: the wrapper is compiled, not what it wraps."""
import torch
from torch.func import grad, vmap, jacrev, jacfwd, hessian, grad_and_value, 
@torch.compile(backend="aot_eager")
def l1(x):
    return (x * x).sum()
for t in (grad, vmap, jacrev, jacfwd, hessian, grad_and_value, torch.no_grad(), torch.enable_grad, torch.autocast("cpu"), torch.inference_mode()):
    n = getattr(t, "__name__", type(t).__name__)
    try:
        w = t(l1)
        print(n, hasattr(w, "_torchdynamo_orig_callable"), torch.compile(w, backend="aot_eager")(torch.ones(2)))
    except Exception as e:
        print(n, type(e).__name__, str(e)[:100])


def of_parameters(params, x):
    return (params["w"] * x).sum()


compiled = torch.compile(of_parameters, backend="aot_eager")
params, x = {"w": torch.ones(2)}, torch.ones(2)
print(torch.compile(grad(compiled), backend="aot_eager")(params, x))
print(torch.compile(compiled, backend="aot_eager")(params, x))
