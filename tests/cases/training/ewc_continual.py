"""Elastic weight consolidation on permuted tasks, beside plain SGD and experience replay."""
import random
from copy import deepcopy
from itertools import chain
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset


class PermutedSet(Dataset):
    def __init__(self, base, permute_idx):
        self.base = base
        self.permute_idx = permute_idx

    def __len__(self):
        return len(self.base)

    def __getitem__(self, index):
        img, target = self.base[index]
        return img.view(-1)[self.permute_idx], target

    def get_sample(self, sample_size):
        sample_idx = random.sample(range(len(self)), sample_size)
        return [self[i][0] for i in sample_idx]


class MLP(nn.Module):
    def __init__(self, inp=16, hidden_size=20):
        super().__init__()
        self.fc1 = nn.Linear(inp, hidden_size)
        self.fc2 = nn.Linear(hidden_size, hidden_size)
        self.fc3 = nn.Linear(hidden_size, 4)

    def forward(self, input):
        x = F.relu(self.fc1(input))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class EWC(object):
    def __init__(self, model: nn.Module, dataset: list):
        self.model = model
        self.dataset = dataset
        self.params = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        self._means = {}
        self._precision_matrices = self._diag_fisher()
        for n, p in deepcopy(self.params).items():
            self._means[n] = p.data

    def _diag_fisher(self):
        precision_matrices = {}
        for n, p in deepcopy(self.params).items():
            p.data.zero_()
            precision_matrices[n] = p.data
        self.model.eval()
        for input in self.dataset:
            self.model.zero_grad()
            output = self.model(input.unsqueeze(0)).view(1, -1)
            label = output.max(1)[1].view(-1)
            loss = F.nll_loss(F.log_softmax(output, dim=1), label)
            loss.backward()
            for n, p in self.model.named_parameters():
                precision_matrices[n].data += p.grad.data ** 2 / len(self.dataset)
        precision_matrices = {n: p for n, p in precision_matrices.items()}
        return precision_matrices

    def penalty(self, model: nn.Module):
        loss = 0
        for n, p in model.named_parameters():
            _loss = self._precision_matrices[n] * (p - self._means[n]) ** 2
            loss += _loss.sum()
        return loss


def normal_train(model, optimizer, data_loader):
    model.train()
    epoch_loss = 0
    for input, target in data_loader:
        optimizer.zero_grad()
        output = model(input)
        loss = F.cross_entropy(output, target)
        epoch_loss += loss.item()
        loss.backward()
        optimizer.step()
    return epoch_loss / len(data_loader)


def ewc_train(model, optimizer, data_loader, ewc, importance):
    @torch.compile(backend="aot_eager")
    def objective(input, target):
        return F.cross_entropy(model(input), target) + importance * ewc.penalty(model)

    model.train()
    epoch_loss = 0
    for input, target in data_loader:
        optimizer.zero_grad()
        loss = objective(input, target)
        epoch_loss += loss.item()
        loss.backward()
        optimizer.step()
    return epoch_loss / len(data_loader)


def test(model, data_loader):
    model.eval()
    correct = 0
    for input, target in data_loader:
        output = model(input)
        correct += (F.softmax(output, dim=1).max(dim=1)[1] == target).data.sum()
    return correct / len(data_loader.dataset)


torch.manual_seed(0)
random.seed(0)
centers = torch.randn(4, 16)
y = torch.arange(48) % 4
x = centers[y] + 0.3 * torch.randn(48, 16)
base = TensorDataset(x, y)
tasks, loaders = [], []
for t in range(3):
    idx = list(range(16))
    if t:
        random.shuffle(idx)
    tasks.append(PermutedSet(base, idx))
    loaders.append(DataLoader(tasks[-1], batch_size=12, shuffle=True))
print(tasks[1].permute_idx)

for mode in ("sgd", "ewc"):
    torch.manual_seed(1)
    model = MLP()
    optimizer = optim.SGD(params=model.parameters(), lr=0.1)
    for task in range(3):
        old = list(chain.from_iterable(tasks[s].get_sample(6) for s in range(task)))
        ewc = EWC(model, old) if mode == "ewc" and task else None
        for epoch in range(2):
            if ewc is None:
                loss = normal_train(model, optimizer, loaders[task])
            else:
                loss = ewc_train(model, optimizer, loaders[task], ewc, importance=10)
        accs = [test(model, loaders[s]).item() for s in range(task + 1)]
        print(mode, task, f"{loss:.4f}", [round(a, 3) for a in accs])
