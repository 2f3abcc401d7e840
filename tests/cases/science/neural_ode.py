import argparse
import time
import torch
import torch.nn as nn
import torch.optim as optim

parser = argparse.ArgumentParser("ODE demo")
parser.add_argument("--method", type=str, choices=["euler", "rk4"], default="rk4")
parser.add_argument("--data_size", type=int, default=20)
parser.add_argument("--batch_time", type=int, default=5)
parser.add_argument("--batch_size", type=int, default=4)
parser.add_argument("--niters", type=int, default=6)
parser.add_argument("--test_freq", type=int, default=3)
parser.add_argument("--viz", action="store_true")
args = parser.parse_args()

torch.manual_seed(1234)
true_y0 = torch.tensor([[2.0, 0.0]])
t = torch.linspace(0.0, 2.0, args.data_size)
true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


class Lambda(nn.Module):
    def forward(self, t, y):
        return torch.mm(y**3, true_A)


def euler_step(func, t, dt, y):
    return y + dt * func(t, y)


def rk4_step(func, t, dt, y):
    k1 = func(t, y)
    k2 = func(t + dt / 2, y + dt * k1 / 2)
    k3 = func(t + dt / 2, y + dt * k2 / 2)
    k4 = func(t + dt, y + dt * k3)
    return y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6


STEPS = {"euler": euler_step, "rk4": rk4_step}


def odeint(func, y0, t, method="rk4"):
    step = STEPS[method]
    ys = [y0]
    y = y0
    for i in range(len(t) - 1):
        y = step(func, t[i], t[i + 1] - t[i], y)
        ys.append(y)
    return torch.stack(ys)


with torch.no_grad():
    true_y = odeint(Lambda(), true_y0, t)
print("true trajectory", true_y.shape, true_y[-1])


def get_batch():
    s = torch.randperm(args.data_size - args.batch_time)[: args.batch_size]
    batch_y0 = true_y[s]
    batch_t = t[: args.batch_time]
    batch_y = torch.stack([true_y[s + i] for i in range(args.batch_time)], dim=0)
    return batch_y0, batch_t, batch_y


class ODEFunc(nn.Module):
    def __init__(self):
        super(ODEFunc, self).__init__()
        self.net = nn.Sequential(nn.Linear(2, 10), nn.Tanh(), nn.Linear(10, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


class RunningAverageMeter(object):
    """Computes and stores the average and current value"""

    def __init__(self, momentum=0.99):
        self.momentum = momentum
        self.reset()

    def reset(self):
        self.val = None
        self.avg = 0

    def update(self, val):
        if self.val is None:
            self.avg = val
        else:
            self.avg = self.avg * self.momentum + val * (1 - self.momentum)
        self.val = val


func = ODEFunc()
solve = torch.compile(odeint)
optimizer = optim.RMSprop(func.parameters(), lr=1e-2)
end = time.time()
time_meter = RunningAverageMeter(0.97)
loss_meter = RunningAverageMeter(0.97)
for itr in range(1, args.niters + 1):
    optimizer.zero_grad()
    batch_y0, batch_t, batch_y = get_batch()
    pred_y = solve(func, batch_y0, batch_t, args.method)
    loss = torch.mean(torch.abs(pred_y - batch_y))
    loss.backward()
    optimizer.step()
    time_meter.update(time.time() - end)
    loss_meter.update(loss.item())
    if itr % args.test_freq == 0:
        with torch.no_grad():
            pred_y = odeint(func, true_y0, t, "euler")
            loss = torch.mean(torch.abs(pred_y - true_y))
            print("Iter {:04d} | Total Loss {:.6f} | Avg {:.4f}".format(itr, loss.item(), loss_meter.avg))
    end = time.time()
