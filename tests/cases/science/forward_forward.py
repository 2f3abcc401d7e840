"""Hinton's forward-forward algorithm, feedback alignment and predictive coding: learning without backpropagation."""
import torch
import torch.nn as nn
from torch.optim import Adam


def overlay_y_on_x(x, y):
    x_ = x.clone()
    x_[:, :4] *= 0.0
    x_[range(x.shape[0]), y] = x.max()
    return x_


class Layer(nn.Linear):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__(in_features, out_features, bias, device, dtype)
        self.relu = torch.nn.ReLU()
        self.opt = Adam(self.parameters(), lr=0.03)
        self.threshold = 2.0
        self.num_epochs = 3

    def forward(self, x):
        x_direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return self.relu(torch.mm(x_direction, self.weight.T) + self.bias.unsqueeze(0))

    def goodness_loss(self, x_pos, x_neg):
        g_pos = self.forward(x_pos).pow(2).mean(1)
        g_neg = self.forward(x_neg).pow(2).mean(1)
        return torch.log(1 + torch.exp(torch.cat([-g_pos + self.threshold, g_neg - self.threshold]))).mean()

    def train(self, x_pos, x_neg=None):
        if isinstance(x_pos, bool):
            return super().train(x_pos)
        loss_fn = torch.compile(self.goodness_loss, backend="aot_eager")
        for i in range(self.num_epochs):
            loss = loss_fn(x_pos, x_neg)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        print(f"  layer {self.in_features}->{self.out_features}: {loss.item():.4f}")
        return self.forward(x_pos).detach(), self.forward(x_neg).detach()


class Net(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.layers = []
        for d in range(len(dims) - 1):
            self.layers += [Layer(dims[d], dims[d + 1])]

    def predict(self, x):
        goodness_per_label = []
        for label in range(4):
            h = overlay_y_on_x(x, label)
            goodness = []
            for layer in self.layers:
                h = layer(h)
                goodness += [h.pow(2).mean(1)]
            goodness_per_label += [sum(goodness).unsqueeze(1)]
        return torch.cat(goodness_per_label, 1).argmax(1)

    def fit(self, x_pos, x_neg):
        h_pos, h_neg = x_pos, x_neg
        for i, layer in enumerate(self.layers):
            print('training layer', i, '...')
            h_pos, h_neg = layer.train(h_pos, h_neg)


class FeedbackAlignment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, fixed, bias):
        ctx.save_for_backward(input, fixed)
        return input @ weight.t() + bias

    @staticmethod
    def backward(ctx, grad):
        input, fixed = ctx.saved_tensors
        return grad @ fixed, grad.t() @ input, None, grad.sum(0)


class FALinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in))
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.register_buffer("fixed", torch.randn(n_out, n_in) / n_in ** 0.5)
        nn.init.xavier_normal_(self.weight)

    def forward(self, x):
        return FeedbackAlignment.apply(x, self.weight, self.fixed, self.bias)

    def angle(self):
        return torch.rad2deg(torch.acos(torch.cosine_similarity(self.weight.flatten(), self.fixed.flatten(), dim=0)))


torch.manual_seed(1234)
y = torch.arange(24) % 4
x = torch.rand(24, 20)
x[torch.arange(24), 8 + y] += 2
net = Net([20, 16, 16])
x_pos = overlay_y_on_x(x, y)
x_neg = overlay_y_on_x(x, y[torch.randperm(x.size(0))])
net.fit(x_pos, x_neg)
print('train error:', round(1.0 - net.predict(x).eq(y).float().mean().item(), 4))

model = nn.Sequential(FALinear(20, 16), nn.Tanh(), FALinear(16, 4))
step = torch.compile(lambda x, y: nn.functional.cross_entropy(model(x), y), backend="aot_eager")
opt = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(4):
    loss = step(x, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"feedback alignment {epoch}: {loss.item():.4f}, angle {model[2].angle().item():.2f}")


def predictive_coding(W, x, y, steps=5, lr=0.1):
    h = torch.tanh(x @ W[0]).detach().requires_grad_()
    for _ in range(steps):
        energy = 0.5 * (h - torch.tanh(x @ W[0])).pow(2).sum() + 0.5 * (y - h @ W[1]).pow(2).sum()
        (g,) = torch.autograd.grad(energy, h)
        h = (h - lr * g).detach().requires_grad_()
    energy = 0.5 * (h - torch.tanh(x @ W[0])).pow(2).sum() + 0.5 * (y - h @ W[1]).pow(2).sum()
    return energy.detach(), torch.autograd.grad(energy, W)


W = [torch.randn(20, 8).mul_(0.2).requires_grad_(), torch.randn(8, 4).mul_(0.2).requires_grad_()]
target = nn.functional.one_hot(y, 4).float()
for epoch in range(3):
    energy, grads = predictive_coding(W, x, target)
    with torch.no_grad():
        for w, g in zip(W, grads):
            w -= 0.02 * g
    print(f"predictive coding {epoch}: {energy:.4f}")
