import torch


@torch.compile
def cross_entropy(logits, target):
    # As in a textbook, but stable: the largest logit is taken away first.
    shifted = logits - logits.amax(dim=1, keepdim=True)
    log_probabilities = shifted - shifted.exp().sum(dim=1, keepdim=True).log()
    return -log_probabilities[torch.arange(len(target)), target].mean()


torch.manual_seed(0)
logits = torch.randn(5, 3, requires_grad=True)
target = torch.tensor([0, 2, 1, 1, 0])
loss = cross_entropy(logits, target)
loss.backward()
print("loss", round(loss.item(), 4), "and PyTorch's", round(torch.nn.functional.cross_entropy(logits, target).item(), 4))

# The gradient is softmax minus one-hot, whatever the way there.
expected = (logits.softmax(1) - torch.nn.functional.one_hot(target, 3)) / len(target)
print("same gradient", torch.allclose(logits.grad, expected, atol=1e-6))
