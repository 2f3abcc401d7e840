import torch

torch.manual_seed(0)

# Points on a circle or inside it: which?
x = torch.randn(128, 2)
target = (x.norm(dim=1) > 1.2).float()
w1 = (torch.randn(2, 16) * 0.5).requires_grad_()
b1 = torch.zeros(16, requires_grad=True)
w2 = (torch.randn(16, 1) * 0.5).requires_grad_()
parameters = [w1, b1, w2]


@torch.compile
def loss_fn(x, target):
    logits = (torch.tanh(x @ w1 + b1) @ w2).squeeze(1)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, target)
    accuracy = ((logits > 0) == (target > 0.5)).float().mean()
    return loss, accuracy


for step in range(60):
    loss, accuracy = loss_fn(x, target)
    gradients = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        for p, g in zip(parameters, gradients):
            p -= 2.0 * g
    if step % 2 == 0:
        print(f"step {step:2d}  loss {loss.item():.3f}  accuracy {accuracy.item():.2f}")
