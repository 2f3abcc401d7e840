"""Early exits, stochastic depth and layer drop: control flow that depends on data, in compiled models."""
import torch
from torch import nn, Tensor
import torch.nn.functional as F
from typing import List, Optional, Tuple


def drop_path(x: Tensor, drop_prob: float = 0., training: bool = False, scale_by_keep: bool = True):
    if drop_prob == 0. or not training:
        return x
    keep_prob = 1 - drop_prob
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    random_tensor = x.new_empty(shape).bernoulli_(keep_prob)
    if keep_prob > 0.0 and scale_by_keep:
        random_tensor.div_(keep_prob)
    return x * random_tensor


class DropPath(nn.Module):
    def __init__(self, drop_prob: float = 0.):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        return drop_path(x, self.drop_prob, self.training)

    def extra_repr(self):
        return f'drop_prob={round(self.drop_prob, 3):0.3f}'


class Stage(nn.Module):
    def __init__(self, dim: int, drop: float):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, dim)
        self.drop_path = DropPath(drop) if drop > 0. else nn.Identity()
        self.gamma = nn.Parameter(1e-1 * torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.drop_path(self.gamma * F.gelu(self.fc(self.norm(x))))


class EarlyExit(nn.Module):
    def __init__(self, dim=16, depth=4, classes=3, threshold=0.45):
        super().__init__()
        rates = [r.item() for r in torch.linspace(0, 0.3, depth)]
        self.stages = nn.ModuleList(Stage(dim, r) for r in rates)
        self.exits = nn.ModuleList(nn.Linear(dim, classes) for _ in range(depth))
        self.threshold = threshold

    def forward(self, x: Tensor) -> Tuple[Tensor, int]:
        if self.training:
            outputs: List[Tensor] = []
            for stage, head in zip(self.stages, self.exits):
                x = stage(x)
                outputs.append(head(x))
            return torch.stack(outputs), len(outputs)
        logits: Optional[Tensor] = None
        for i, (stage, head) in enumerate(zip(self.stages, self.exits)):
            x = stage(x)
            logits = head(x)
            confidence = logits.softmax(-1).max(-1).values
            if confidence.min() > self.threshold:
                return logits, i + 1
        return logits, len(self.stages)


def patience_exit(model, x, patience=2):
    last, count = None, 0
    for depth, (stage, head) in enumerate(zip(model.stages, model.exits), 1):
        x = stage(x)
        prediction = head(x).argmax(-1)
        if last is not None and torch.equal(prediction, last):
            count += 1
        else:
            count = 0
        last = prediction
        if count >= patience:
            break
    return last, depth


def skip_easy(model, x):
    """Only what is not sure yet goes on."""
    active = torch.arange(x.shape[0])
    result = torch.full((x.shape[0],), -1)
    used = torch.zeros(x.shape[0], dtype=torch.long)
    for stage, head in zip(model.stages, model.exits):
        x = stage(x)
        p, label = head(x).softmax(-1).max(-1)
        sure = p > model.threshold
        result[active[sure]] = label[sure]
        used[active] += 1
        if sure.all():
            break
        x, active = x[~sure], active[~sure]
    else:
        result[active] = head(x).argmax(-1)
    return result, used


torch.manual_seed(8)
model = EarlyExit()
print(model.stages[3])
x = torch.randn(12, 16)
y = (x[:, :3]).argmax(-1)
net = torch.compile(model, backend="aot_eager")
opt = torch.optim.NAdam(model.parameters(), lr=0.02)
weights = torch.tensor([0.4, 0.6, 0.8, 1.0])
for epoch in range(5):
    model.train()
    outputs, n = net(x)
    per_exit = torch.stack([F.cross_entropy(o, y) for o in outputs])
    teacher = F.softmax(outputs[-1].detach() / 2, -1)
    distill = sum(F.kl_div(F.log_softmax(o / 2, -1), teacher, reduction="batchmean") for o in outputs[:-1])
    loss = (weights * per_exit).sum() + 0.5 * distill
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{epoch}: {loss.item():.4f}", " ".join(f"{e:.3f}" for e in per_exit.tolist()))
model.eval()
with torch.no_grad():
    for part in (x[:1], x[3:6], x):
        logits, depth = net(part)
        print(tuple(logits.shape), "left after", depth)
    print(patience_exit(model, x))
    result, used = torch.compile(skip_easy, backend="aot_eager")(model, x)
    print(result, used, (result == y).float().mean().item())
