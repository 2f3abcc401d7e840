"""Neural ODEs with an adjoint, spiking neurons with surrogate gradients, echo state networks, Hopfield and Boltzmann machines, DEQ."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def rk4_step(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h * k1 / 2)
    k3 = f(t + h / 2, y + h * k2 / 2)
    k4 = f(t + h, y + h * k3)
    return y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6


class ODEF(nn.Module):
    def forward_with_grad(self, z, t, grad_outputs):
        batch_size = z.shape[0]
        out = self.forward(t, z)
        a = grad_outputs
        adfdz, adfdt, *adfdp = torch.autograd.grad((out,), (z, t) + tuple(self.parameters()), grad_outputs=(a), allow_unused=True, retain_graph=True)
        if adfdp is not None:
            adfdp = torch.cat([p_grad.flatten() for p_grad in adfdp]).unsqueeze(0)
            adfdp = adfdp.expand(batch_size, -1) / batch_size
        if adfdt is not None:
            adfdt = adfdt.expand(batch_size, 1) / batch_size
        return out, adfdz, adfdt, adfdp

    def flatten_parameters(self):
        return torch.cat([p.flatten() for p in self.parameters()])


class ODEAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z0, t, flat_parameters, func):
        with torch.no_grad():
            zs = [z0]
            for i in range(len(t) - 1):
                zs.append(rk4_step(func, t[i], zs[-1], t[i + 1] - t[i]))
            z = torch.stack(zs)
        ctx.func = func
        ctx.save_for_backward(t, z, flat_parameters)
        return z

    @staticmethod
    def backward(ctx, dLdz):
        func = ctx.func
        t, z, flat_parameters = ctx.saved_tensors
        n_params = flat_parameters.size(0)
        a = dLdz[-1].clone()
        gp = torch.zeros(z.size(1), n_params)
        for i in range(len(t) - 1, 0, -1):
            zi, h = z[i], t[i] - t[i - 1]
            with torch.enable_grad():
                ti = t[i].detach().requires_grad_(True)
                zi = zi.detach().requires_grad_(True)
                _, adfdz, adfdt, adfdp = func.forward_with_grad(zi, ti, a)
            a = a + h * adfdz + dLdz[i - 1]
            gp = gp + h * adfdp
        return a, None, gp.sum(0), None


class Spiral(ODEF):
    def __init__(self):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(2, 10), nn.Linear(10, 2)

    def forward(self, t, z):
        return self.lin2(torch.tanh(self.lin1(z ** 3))) * torch.cos(t)


class SurrogateSpike(torch.autograd.Function):
    scale = 10.0

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        out = torch.zeros_like(input)
        out[input > 0] = 1.0
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output / (SurrogateSpike.scale * torch.abs(input) + 1.0) ** 2


spike_fn = SurrogateSpike.apply


class LIF(nn.Module):
    def __init__(self, nin, nout, tau_mem=10e-3, tau_syn=5e-3, dt=1e-3):
        super().__init__()
        self.w = nn.Parameter(torch.empty(nin, nout))
        nn.init.normal_(self.w, mean=0.3, std=1.0 / math.sqrt(nin))
        self.alpha, self.beta = float(math.exp(-dt / tau_syn)), float(math.exp(-dt / tau_mem))

    def forward(self, inputs):
        h = torch.einsum("abc,cd->abd", (inputs, self.w))
        syn = mem = torch.zeros(inputs.size(0), self.w.size(1))
        spikes, mems = [], []
        for t in range(inputs.size(1)):
            mthr = mem - 1.0
            out = spike_fn(mthr)
            rst = out.detach()
            new_syn = self.alpha * syn + h[:, t]
            new_mem = (self.beta * mem + syn) * (1.0 - rst)
            mems.append(mem)
            spikes.append(out)
            mem, syn = new_mem, new_syn
        return torch.stack(spikes, 1), torch.stack(mems, 1)


class ESN(nn.Module):
    def __init__(self, n_in, n_res, rho=0.9, leak=0.3):
        super().__init__()
        self.register_buffer("win", torch.rand(n_res, n_in) - 0.5)
        w = (torch.rand(n_res, n_res) - 0.5) * (torch.rand(n_res, n_res) < 0.3)
        self.register_buffer("w", w * rho / torch.linalg.eigvals(w).abs().max())
        self.leak = leak

    @torch.no_grad()
    def states(self, u):
        x, out = torch.zeros(self.w.size(0)), []
        for ut in u:
            x = (1 - self.leak) * x + self.leak * torch.tanh(self.win @ ut + self.w @ x)
            out.append(x)
        return torch.stack(out)


class DEQ(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.W, self.U = nn.Linear(d, d, bias=False), nn.Linear(d, d)
        with torch.no_grad():
            self.W.weight.mul_(0.3)

    def f(self, z, x):
        return torch.tanh(self.W(z) + self.U(x))

    def forward(self, x):
        with torch.no_grad():
            z = torch.zeros_like(x)
            for _ in range(20):
                z = self.f(z, x)
        z = self.f(z, x)
        z0 = z.clone().detach().requires_grad_()
        f0 = self.f(z0, x)

        def backward_hook(grad):
            g = grad
            for _ in range(10):
                g = torch.autograd.grad(f0, z0, g, retain_graph=True)[0] + grad
            return g

        if z.requires_grad:
            z.register_hook(backward_hook)
        return z


class RBM(nn.Module):
    def __init__(self, nv, nh):
        super().__init__()
        self.W, self.a, self.b = nn.Parameter(torch.randn(nh, nv) * 0.1), nn.Parameter(torch.zeros(nv)), nn.Parameter(torch.zeros(nh))

    def free_energy(self, v):
        return -(v @ self.a) - F.softplus(F.linear(v, self.W, self.b)).sum(1)

    def gibbs(self, v, k=1):
        for _ in range(k):
            h = torch.bernoulli(torch.sigmoid(F.linear(v, self.W, self.b)))
            v = torch.sigmoid(F.linear(h, self.W.t(), self.a)).bernoulli()
        return v.detach()


torch.manual_seed(0)
func = Spiral()
t = torch.linspace(0.0, 1.0, 5)
z0, target = torch.randn(3, 2), torch.randn(5, 3, 2) * 0.2
opt = torch.optim.Adam(func.parameters(), lr=0.02)
for i in range(3):
    z = ODEAdjoint.apply(z0.requires_grad_(), t, func.flatten_parameters(), func)
    loss = F.mse_loss(z, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"ode {i} {loss.item():.5f} {z0.grad.norm().item():.5f}")
    z0.grad = None
snn = LIF(5, 3)
run = torch.compile(snn, backend="aot_eager")
data = (torch.rand(4, 6, 5) < 0.4).float()
for i in range(2):
    spk, mem = run(data)
    loss = F.cross_entropy(mem.max(1)[0], torch.tensor([0, 1, 2, 1])) + 1e-2 * spk.sum() / spk.numel()
    snn.zero_grad()
    loss.backward()
    print(f"snn {loss.item():.5f} spikes {int(spk.sum())} grad {snn.w.grad.abs().sum().item():.5f}")
esn = ESN(1, 12)
u = torch.sin(torch.arange(30) * 0.4).unsqueeze(1)
S = esn.states(u[:-1])
wout = torch.linalg.lstsq(S.T @ S + 1e-3 * torch.eye(12), S.T @ u[1:]).solution
print(f"esn {F.mse_loss(S @ wout, u[1:]).item():.5f}")
deq = DEQ(4)
x = torch.randn(2, 4)
out = deq(x)
out.sum().backward()
print(f"deq {out.sum().item():.5f} {deq.W.weight.grad.norm().item():.5f}")
rbm = RBM(6, 4)
energy = torch.compile(rbm.free_energy, backend="aot_eager")
opt = torch.optim.SGD(rbm.parameters(), lr=0.1)
v = (torch.rand(8, 6) > 0.5).float()
for i in range(3):
    vk = rbm.gibbs(v, 2)
    loss = energy(v).mean() - energy(vk).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"rbm {loss.item():.5f}")
patterns = torch.sign(torch.randn(2, 10))
W = (patterns.T @ patterns) / 10
W.fill_diagonal_(0)
s = patterns[0].clone()
s[:3] *= -1
for _ in range(4):
    s = torch.where(W @ s >= 0, 1.0, -1.0)
print((s == patterns[0]).sum().item(), s.int().tolist())
