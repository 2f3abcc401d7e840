import torch, torch.nn as nn
import torch._functorch.config as config
def f(x,w,b):
    h=torch.nn.functional.layer_norm(x@w,(8,))
    h=torch.sin(h)*torch.cos(h)+h.mean(-1,keepdim=True)
    return (h.view(-1)[:16].exp()+b).sum()
torch.manual_seed(0)
for kw in ({"aggressive_recomputation":True},{"recompute_views":True},{"cse":False},{"treat_parameters_as_free_to_save":False},{"max_dist_from_bw":2},
    {"ban_recompute_used_far_apart":False},{"ban_recompute_long_fusible_chains":False},{"ban_recompute_materialized_backward":False},{"ban_recompute_not_in_allowlist":False},{"ban_recompute_reductions":False}):
    torch._dynamo.reset()
    x=torch.randn(4,8,requires_grad=True); w=torch.randn(8,8,requires_grad=True); b=torch.randn(16,requires_grad=True)
    with config.patch(**kw): torch.compile(f,backend="aot_eager")(x,w,b).backward()
    print(kw, round(x.grad.norm().item(),3))
