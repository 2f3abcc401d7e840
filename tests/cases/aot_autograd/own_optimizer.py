"""An optimizer of the script's own: the parameters that it updates are attributes of the graph, and come before its inputs."""

import torch


class Plain(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, dict(lr=0.1))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"])


class Momentum(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, dict(lr=0.1))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "m" not in state:
                    state["m"] = torch.zeros_like(p)
                state["m"].mul_(0.9).add_(p.grad)
                p.sub_(state["m"], alpha=group["lr"])


def parameters():
    made = [torch.nn.Parameter(torch.ones(n)) for n in (2, 3, 4)]
    for p in made:
        p.grad = p.detach() * 2
    return made


params = parameters()
torch.compile(Plain(params).step)()
print(params)
params = parameters()
optimizer = Momentum(params)
step = torch.compile(optimizer.step)
step()
step()
print(params, optimizer.state[params[0]])
