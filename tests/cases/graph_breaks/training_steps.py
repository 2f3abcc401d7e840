import torch, torch.nn as nn, torch.nn.functional as F


def train(make, steps=3):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = make(model.parameters())

    @torch.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    x, y = torch.randn(5, 3), torch.randn(5, 1)
    print([f"{step(x, y).item():.4f}" for _ in range(steps)])


train(lambda p: torch.optim.SGD(p, lr=0.1))
train(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))
train(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01))
train(lambda p: torch.optim.Adam(p, lr=0.1))
train(lambda p: torch.optim.AdamW(p, lr=0.1))
train(lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True, maximize=True))
train(lambda p: torch.optim.RMSprop(p, lr=0.1))
train(lambda p: torch.optim.RMSprop(p, lr=0.1, centered=True, momentum=0.5))
train(lambda p: torch.optim.Adagrad(p, lr=0.1))
train(lambda p: torch.optim.Adadelta(p, lr=0.1))
