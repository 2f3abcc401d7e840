"""Knowledge distillation with mixup, label smoothing, focal loss and an EMA teacher."""
import copy
import logging
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader, random_split, Subset, WeightedRandomSampler

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s:%(name)s: %(message)s")
logger = logging.getLogger(__name__)


class BlobDataset(Dataset):
    def __init__(self, n=24, classes=3, transform=None):
        g = torch.Generator().manual_seed(1)
        self.targets = torch.arange(n) % classes
        centers = torch.randn(classes, 5, generator=g) * 2
        self.data = centers[self.targets] + torch.randn(n, 5, generator=g)
        self.transform = transform

    def __len__(self):
        return len(self.data)

    def __getitem__(self, idx):
        x, y = self.data[idx], int(self.targets[idx])
        if self.transform:
            x = self.transform(x)
        return {"x": x, "y": y, "idx": idx}


def collate(batch):
    return torch.stack([b["x"] for b in batch]), torch.as_tensor([b["y"] for b in batch]), [b["idx"] for b in batch]


class MLP(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(5, width), nn.GELU(), nn.Linear(width, 3))

    def forward(self, x):
        return self.f(x)


class FocalLoss(nn.Module):
    def __init__(self, alpha=None, gamma=2.0, reduction="mean"):
        super().__init__()
        self.alpha, self.gamma, self.reduction = alpha, gamma, reduction

    def forward(self, inputs, targets):
        ce_loss = F.cross_entropy(inputs, targets, reduction="none", weight=self.alpha)
        pt = torch.exp(-ce_loss)
        focal = (1 - pt) ** self.gamma * ce_loss
        return focal.mean() if self.reduction == "mean" else focal.sum()


def distillation_loss(y, labels, teacher_scores, T, alpha):
    return nn.KLDivLoss(reduction="batchmean")(F.log_softmax(y / T, dim=1), F.softmax(teacher_scores / T, dim=1)) * (
        T * T * 2.0 * alpha) + F.cross_entropy(y, labels) * (1.0 - alpha)


def mixup_data(x, y, alpha=1.0):
    lam = torch.distributions.Beta(alpha, alpha).sample().item() if alpha > 0 else 1
    index = torch.randperm(x.size()[0])
    mixed_x = lam * x + (1 - lam) * x[index, :]
    return mixed_x, y, y[index], lam


def main():
    torch.manual_seed(3)
    dataset = BlobDataset(transform=lambda x: (x - x.mean()) / x.std())
    train_set, val_set = random_split(dataset, [18, 6], generator=torch.Generator().manual_seed(42))
    logger.info("train %d val %d", len(train_set), len(val_set))
    train_loader = DataLoader(train_set, batch_size=6, shuffle=True, collate_fn=collate, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=4)
    teacher, student = MLP(32), MLP(8)
    teacher_c, student_c = torch.compile(teacher), torch.compile(student)
    opt_t = torch.optim.AdamW(teacher.parameters(), lr=1e-2)
    focal = FocalLoss(gamma=2)
    for epoch in range(2):
        for x, y, idx in train_loader:
            opt_t.zero_grad(set_to_none=True)
            mixed, ya, yb, lam = mixup_data(x, y)
            out = teacher_c(mixed)
            loss = lam * focal(out, ya) + (1 - lam) * focal(out, yb)
            loss.backward()
            nn.utils.clip_grad_value_(teacher.parameters(), 0.5)
            opt_t.step()
        logger.info(f"teacher epoch {epoch} loss {loss.item():.4f} lam {lam:.4f} first {idx[0]}")
    teacher.eval()
    for p in teacher.parameters():
        p.requires_grad_(False)
    ema = copy.deepcopy(student)
    opt_s = torch.optim.Adam(student.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt_s, max_lr=5e-2, epochs=2, steps_per_epoch=len(train_loader))
    for epoch in range(2):
        student.train()
        for x, y, _ in train_loader:
            with torch.no_grad():
                t_out = teacher_c(x)
            s_out = student_c(x)
            loss = distillation_loss(s_out, y, t_out, T=4.0, alpha=0.7)
            opt_s.zero_grad()
            loss.backward()
            opt_s.step()
            sched.step()
            with torch.no_grad():
                for pe, p in zip(ema.parameters(), student.parameters()):
                    pe.mul_(0.9).add_(p, alpha=0.1)
        logger.info("student epoch %d loss %.4f lr %.5f", epoch, loss.item(), sched.get_last_lr()[0])
    student.eval()
    correct = total = 0
    with torch.inference_mode():
        for batch in val_loader:
            pred = ema(batch["x"]).argmax(1)
            total += batch["y"].size(0)
            correct += (pred == batch["y"]).sum().item()
            print(batch["idx"], sorted(batch.keys()))
    logger.warning("accuracy %.2f%%", 100.0 * correct / total)
    weights = [1.0 if y == 0 else 0.5 for y in dataset.targets.tolist()]
    sampler = WeightedRandomSampler(weights, num_samples=6, replacement=True)
    print(list(sampler), len(DataLoader(Subset(dataset, range(10)), batch_size=4, sampler=None)))
    print(F.cross_entropy(torch.tensor([[2.0, 1.0, 0.1]]), torch.tensor([0]), label_smoothing=0.1))


if __name__ == "__main__":
    main()
