import torch, torch.nn as nn
import torch._functorch.config as config
class Block(nn.Module):
    def __init__(s,d=16):
        super().__init__(); s.q=nn.Linear(d,3*d); s.o=nn.Linear(d,d); s.a=nn.Linear(d,4*d); s.b=nn.Linear(4*d,d); s.n1=nn.LayerNorm(d); s.n2=nn.LayerNorm(d)
    def forward(s,x):
        q,k,v=s.q(s.n1(x)).chunk(3,-1)
        a=torch.softmax(q@k.transpose(-2,-1)/4.0,-1)@v
        x=x+s.o(a)
        return x+s.b(torch.nn.functional.gelu(s.a(s.n2(x))))
torch.manual_seed(0)
m=nn.Sequential(Block(),Block()); x=torch.randn(2,5,16,requires_grad=True)
for b in (0.8,0.6,0.4,0.2,0.05):
    torch._dynamo.reset(); m.zero_grad()
    with config.patch(activation_memory_budget=b):
        torch.compile(m,backend="aot_eager")(x).sum().backward()
    print(b, round(m[0].a.weight.grad.norm().item(),3))
