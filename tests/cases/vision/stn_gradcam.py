"""A spatial transformer, hooks for features, Grad-CAM, guided backprop with a custom Function."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function


class STN(nn.Module):
    def __init__(self):
        super(STN, self).__init__()
        self.conv1 = nn.Conv2d(1, 4, kernel_size=3)
        self.conv2_drop = nn.Dropout2d()
        self.fc = nn.Linear(4 * 5 * 5, 4)
        self.localization = nn.Sequential(nn.Conv2d(1, 4, kernel_size=3), nn.MaxPool2d(2, stride=2), nn.ReLU(True))
        self.fc_loc = nn.Sequential(nn.Linear(4 * 5 * 5, 8), nn.ReLU(True), nn.Linear(8, 3 * 2))
        self.fc_loc[2].weight.data.zero_()
        self.fc_loc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))

    def stn(self, x):
        xs = self.localization(x)
        xs = xs.view(-1, 4 * 5 * 5)
        theta = self.fc_loc(xs)
        theta = theta.view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        x = self.stn(x)
        x = F.relu(F.max_pool2d(self.conv2_drop(self.conv1(x)), 2))
        x = x.view(-1, 4 * 5 * 5)
        return F.log_softmax(self.fc(x), dim=1)


torch.manual_seed(0)
model = STN()
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data, target = torch.rand(4, 1, 12, 12), torch.tensor([0, 1, 2, 3])
for epoch in range(3):
    optimizer.zero_grad()
    loss = F.nll_loss(compiled(data), target)
    loss.backward()
    optimizer.step()
    print("Train Epoch: {} \tLoss: {:.6f}".format(epoch, loss.item()))
model.eval()
with torch.no_grad():
    out = compiled(data)
    test_loss = F.nll_loss(out, target, reduction="sum").item()
    pred = out.max(1, keepdim=True)[1]
    correct = pred.eq(target.view_as(pred)).sum().item()
print("\nTest set: Average loss: {:.4f}, Accuracy: {}/{} ({:.0f}%)\n".format(test_loss / 4, correct, 4, 100.0 * correct / 4))


class GradCAM:
    def __init__(self, model, target_layer):
        self.model = model
        self.activations = None
        self.gradients = None
        self.handles = [
            target_layer.register_forward_hook(self._save_activation),
            target_layer.register_full_backward_hook(self._save_gradient),
        ]

    def _save_activation(self, module, input, output):
        self.activations = output.detach()

    def _save_gradient(self, module, grad_input, grad_output):
        self.gradients = grad_output[0].detach()

    def __call__(self, x, class_idx=None):
        logits = self.model(x)
        if class_idx is None:
            class_idx = logits.argmax(dim=1)
        self.model.zero_grad()
        logits.gather(1, class_idx.view(-1, 1)).sum().backward()
        weights = self.gradients.mean(dim=(2, 3), keepdim=True)
        cam = F.relu((weights * self.activations).sum(dim=1, keepdim=True))
        cam = F.interpolate(cam, size=x.shape[2:], mode="bilinear", align_corners=False)
        cam = cam - cam.amin(dim=(2, 3), keepdim=True)
        return cam / (cam.amax(dim=(2, 3), keepdim=True) + 1e-8)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for h in self.handles:
            h.remove()


cnn = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 6, 3, padding=1), nn.ReLU(),
                    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 4))
with GradCAM(cnn, cnn[2]) as cam:
    heat = cam(data[:2])
    print("cam", heat.shape, f"{heat.min():.3f} {heat.max():.3f} {heat.mean():.4f}")
print("hooks left:", len(cnn[2]._forward_hooks), len(cnn[2]._backward_hooks))

features = {}


def get_features(name):
    def hook(model, input, output):
        features[name] = output.detach()
    return hook


h1 = cnn[0].register_forward_hook(get_features("conv1"))
h2 = cnn.register_forward_pre_hook(lambda m, inp: (inp[0] * 2,))
run = torch.compile(cnn)
out = run(data)
print({k: tuple(v.shape) for k, v in features.items()}, out.shape)
h1.remove()
h2.remove()


class GuidedBackpropReLU(Function):
    @staticmethod
    def forward(ctx, input_img):
        positive_mask = (input_img > 0).type_as(input_img)
        output = torch.addcmul(torch.zeros(input_img.size()).type_as(input_img), input_img, positive_mask)
        ctx.save_for_backward(input_img, output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input_img, output = ctx.saved_tensors
        positive_mask_1 = (input_img > 0).type_as(grad_output)
        positive_mask_2 = (grad_output > 0).type_as(grad_output)
        return grad_output * positive_mask_1 * positive_mask_2


class STEQuant(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        q = torch.clamp(torch.round(x / scale), qmin, qmax)
        ctx.save_for_backward(x, scale)
        ctx.bounds = (qmin, qmax)
        return q * scale

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        lo, hi = ctx.bounds
        inside = ((x / scale) >= lo) & ((x / scale) <= hi)
        return g * inside, None, None, None


@torch.compile
def guided(x, w):
    y = GuidedBackpropReLU.apply(x @ w)
    return STEQuant.apply(y, torch.tensor(0.1), -8, 7).sum()


x = torch.randn(3, 4, requires_grad=True)
w = torch.randn(4, 5, requires_grad=True)
guided(x, w).backward()
print(x.grad, w.grad.abs().sum())
