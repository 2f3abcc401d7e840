import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize


class LoRALayer:
    def __init__(self, r: int, lora_alpha: int, lora_dropout: float, merge_weights: bool):
        self.r = r
        self.lora_alpha = lora_alpha
        self.lora_dropout = nn.Dropout(p=lora_dropout) if lora_dropout > 0.0 else (lambda x: x)
        self.merged = False
        self.merge_weights = merge_weights


class LoRALinear(nn.Linear, LoRALayer):
    def __init__(self, in_features, out_features, r=0, lora_alpha=1, lora_dropout=0.0, merge_weights=True, **kwargs):
        nn.Linear.__init__(self, in_features, out_features, **kwargs)
        LoRALayer.__init__(self, r=r, lora_alpha=lora_alpha, lora_dropout=lora_dropout, merge_weights=merge_weights)
        if r > 0:
            self.lora_A = nn.Parameter(self.weight.new_zeros((r, in_features)))
            self.lora_B = nn.Parameter(self.weight.new_zeros((out_features, r)))
            self.scaling = self.lora_alpha / self.r
            self.weight.requires_grad = False
        self.reset_parameters()

    def reset_parameters(self):
        nn.Linear.reset_parameters(self)
        if hasattr(self, "lora_A"):
            nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
            nn.init.zeros_(self.lora_B)

    def train(self, mode: bool = True):
        nn.Linear.train(self, mode)
        if mode:
            if self.merge_weights and self.merged:
                self.weight.data -= (self.lora_B @ self.lora_A) * self.scaling
                self.merged = False
        else:
            if self.merge_weights and not self.merged:
                self.weight.data += (self.lora_B @ self.lora_A) * self.scaling
                self.merged = True
        return self

    def forward(self, x):
        if self.r > 0 and not self.merged:
            result = F.linear(x, self.weight, bias=self.bias)
            result += (self.lora_dropout(x) @ self.lora_A.transpose(0, 1) @ self.lora_B.transpose(0, 1)) * self.scaling
            return result
        return F.linear(x, self.weight, bias=self.bias)


def mark_only_lora_as_trainable(model: nn.Module) -> None:
    for n, p in model.named_parameters():
        if "lora_" not in n:
            p.requires_grad = False


class LoRAParametrization(nn.Module):
    def __init__(self, features_in, features_out, rank=1, alpha=1):
        super().__init__()
        self.lora_A = nn.Parameter(torch.zeros((rank, features_out)))
        self.lora_B = nn.Parameter(torch.zeros((features_in, rank)))
        nn.init.normal_(self.lora_A, mean=0, std=1)
        self.scale = alpha / rank
        self.enabled = True

    def forward(self, original_weights):
        if self.enabled:
            return original_weights + torch.matmul(self.lora_B, self.lora_A).view(original_weights.shape) * self.scale
        return original_weights


torch.manual_seed(0)
model = nn.Sequential(LoRALinear(6, 12, r=2, lora_alpha=4), nn.ReLU(), LoRALinear(12, 3, r=2, lora_alpha=4, lora_dropout=0.1))
mark_only_lora_as_trainable(model)
trainable = [n for n, p in model.named_parameters() if p.requires_grad]
print(trainable, sum(p.numel() for p in model.parameters() if p.requires_grad), "/", sum(p.numel() for p in model.parameters()))
opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=0.05)
f = torch.compile(model)
x, y = torch.randn(5, 6), torch.randn(5, 3)
for step in range(3):
    loss = F.mse_loss(f(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, f"{loss.item():.5f}")
a = model(x)
model.eval()
print(model[0].merged)

net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
orig = net[0].weight.clone()
parametrize.register_parametrization(net[0], "weight", LoRAParametrization(5, 4, rank=2))
print(net)
for name, p in net.named_parameters():
    p.requires_grad_("lora" in name)
g = torch.compile(net)
out = g(torch.ones(2, 4))
out.sum().backward()
print({n: None if p.grad is None else tuple(p.grad.shape) for n, p in net.named_parameters()})
parametrize.remove_parametrizations(net[0], "weight", leave_parametrized=True)
print(torch.equal(net[0].weight, orig), net[0])
