import torch

window = torch.hann_window(8)


@torch.compile
def f(x, y):
    whole = torch.stft(x, 8, 4, window=window, return_complex=True).abs()
    return whole, torch.stft(y, 8, 2, center=False, return_complex=True).abs()


for grad in (False, True):
    torch._dynamo.reset()
    x, y = torch.ones(2, 32, requires_grad=grad), torch.ones(32, requires_grad=grad)
    results = f(x, y)
    print([t.shape for t in results])
    if grad:
        (results[0].sum() + results[1].sum()).backward()
        print(x.grad.shape, y.grad.shape)
