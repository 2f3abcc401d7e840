import torch, re
def show(f, *a):
    class M(torch.nn.Module):
        def forward(self, *x): return f(*x)
    ep = torch.export.export(M(), a).run_decompositions()
    print("\n".join(re.sub(r";.*| *# .*", "", l).strip() for l in ep.graph_module.code.split("\n") if "torch.ops" in l or "[" in l and "def" not in l))
    print("--")
x=torch.randn(2,3,4); y=torch.randn(2,3,4); s=torch.randn(2,1,4)
show(lambda x: x.squeeze(), s); show(lambda x: x.squeeze(1), s); show(lambda x: x.sum(), x); show(lambda x: x.unbind(1), x)
show(torch.addcmul, x,y,y); show(lambda a,b,c: torch.addcmul(a,b,c,value=0.5), x,y,y); show(torch.addcdiv, x,y,y); show(lambda x: torch.nn.functional.glu(x), x)
show(lambda a,b,c: torch.baddbmm(a,b,c), torch.randn(2,3,3), x, torch.randn(2,4,3)); show(lambda a,b,c: torch.baddbmm(a,b,c,beta=.5,alpha=2), torch.randn(2,3,3), x, torch.randn(2,4,3))
show(lambda a,b: a.clamp_min(b), x,y); show(lambda a: a.clamp_min(0.), x); show(lambda a: a.clamp_max(0.), x); show(lambda a,b: a.clamp_max(b), x,y)
show(lambda a,b: torch.lerp(a,b,0.3), x,y); show(torch.lerp, x,y,y); show(lambda a,i,b: a.index_add(0,i,b), x, torch.tensor([0,1]), y)
def f(x, y):
    z = x.clone(); z[0] = y[0]; return z
show(f, x, y)
