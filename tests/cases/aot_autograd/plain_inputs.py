import torch
from functorch.compile import aot_function, aot_module, nop


def show(name):
    def compiler(gm, inputs):
        print(name, [tuple(i.shape) if isinstance(i, torch.Tensor) else i for i in inputs])
        print(gm.code.strip())
        return gm.forward

    return compiler


def f(x, k, scale, mode, keep=None, name="a"):
    y = x.sin() * k if mode else x.cos()
    return {"y": y * scale, "k": k, "name": name, "none": keep}


x = torch.linspace(0, 1, 4, requires_grad=True)
compiled = aot_function(f, fw_compiler=show("forward"), bw_compiler=show("backward"))
out = compiled(x, 3, 0.5, True, name="b")
print(out["k"], out["name"], out["none"], out["y"])
out["y"].sum().backward()
print(x.grad)
# What is no tensor is a constant of the graph: it is not looked at again.
print(compiled(x, 4, 0.25, True, name="c")["y"])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(4))
        self.register_buffer("b", torch.arange(4.0))

    def forward(self, x, p):
        return (self.w * x + self.b).pow(p)


net = aot_module(Net(), fw_compiler=show("module"), bw_compiler=nop)
net(x.detach(), 2).sum().backward()
print(net.orig_module.w.grad)
with torch.no_grad():
    inference = aot_function(f, fw_compiler=show("never"), inference_compiler=show("inference"))
    print(inference(x, 1, 2.0, False)["y"])
