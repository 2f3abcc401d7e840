"""Federated averaging with non-iid clients; then DP-SGD with per-sample gradients by vmap."""
import copy
import logging
import sys
from collections import OrderedDict
import random
import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call, vmap, grad
from torch.utils.data import DataLoader, Dataset, Subset, random_split

logger = logging.getLogger(__name__)
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("[%(levelname)s] %(message)s"))
logger.addHandler(handler)
logger.setLevel(logging.DEBUG)


class DatasetSplit(Dataset):
    def __init__(self, dataset, idxs):
        self.dataset = dataset
        self.idxs = [int(i) for i in idxs]

    def __len__(self):
        return len(self.idxs)

    def __getitem__(self, item):
        image, label = self.dataset[self.idxs[item]]
        return image.clone().detach(), torch.tensor(label)


class Toy(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(5)
        self.targets = torch.arange(n) % 3
        self.data = torch.randn(n, 6, generator=g) * 0.4
        self.data[torch.arange(n), self.targets] += 1.5

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i], int(self.targets[i])


def noniid(dataset, num_users):
    num_shards = num_users * 2
    num_imgs = len(dataset) // num_shards
    idxs = torch.argsort(dataset.targets, stable=True).tolist()
    shards = list(range(num_shards))
    random.Random(0).shuffle(shards)
    return {i: [k for s in shards[2 * i:2 * i + 2] for k in idxs[s * num_imgs:(s + 1) * num_imgs]] for i in range(num_users)}


class LocalUpdate(object):
    def __init__(self, dataset, idxs, lr=0.1, local_ep=2):
        self.loader = DataLoader(DatasetSplit(dataset, idxs), batch_size=4, shuffle=True)
        self.criterion = nn.NLLLoss()
        self.lr, self.local_ep = lr, local_ep

    def update_weights(self, model):
        model.train()
        fwd = torch.compile(model, backend="aot_eager")
        epoch_loss = []
        optimizer = torch.optim.SGD(model.parameters(), lr=self.lr, momentum=0.5)
        for _ in range(self.local_ep):
            batch_loss = []
            for images, labels in self.loader:
                model.zero_grad()
                log_probs = fwd(images)
                loss = self.criterion(log_probs, labels)
                loss.backward()
                optimizer.step()
                batch_loss.append(loss.item())
            epoch_loss.append(sum(batch_loss) / len(batch_loss))
        return model.state_dict(), sum(epoch_loss) / len(epoch_loss)


def average_weights(w):
    w_avg = copy.deepcopy(w[0])
    for key in w_avg.keys():
        for i in range(1, len(w)):
            w_avg[key] += w[i][key]
        w_avg[key] = torch.div(w_avg[key], len(w))
    return w_avg


torch.manual_seed(7)
random.seed(7)
dataset = Toy(48)
users = noniid(dataset, 4)
logger.info("labels per user %s", {u: sorted(set(dataset.targets[ix].tolist())) for u, ix in users.items()})
global_model = nn.Sequential(OrderedDict([("fc1", nn.Linear(6, 10)), ("act", nn.Tanh()), ("fc2", nn.Linear(10, 3)), ("out", nn.LogSoftmax(dim=1))]))
print(global_model)
for epoch in range(2):
    local_weights, local_losses = [], []
    for idx in random.sample(range(4), 2):
        w, loss = LocalUpdate(dataset, users[int(idx)]).update_weights(copy.deepcopy(global_model))
        local_weights.append(copy.deepcopy(w))
        local_losses.append(copy.deepcopy(loss))
    global_model.load_state_dict(average_weights(local_weights))
    logger.info(f"| Global Round : {epoch + 1} | loss {sum(local_losses) / len(local_losses):.4f}")
    with torch.no_grad():
        acc = (global_model(dataset.data).argmax(1) == dataset.targets).float().mean()
    logger.debug("accuracy %.3f", acc)

# DP-SGD
max_grad_norm, noise_multiplier, batch = 1.0, 0.8, 12
params = {k: v.detach() for k, v in global_model.named_parameters()}


def compute_loss(params, sample, target):
    pred = functional_call(global_model, params, (sample.unsqueeze(0),))
    return F.nll_loss(pred, target.unsqueeze(0))


ft_compute_sample_grad = vmap(grad(compute_loss), in_dims=(None, 0, 0))


@torch.compile(backend="aot_eager")
def clipped_sum(params, x, y):
    per_sample = ft_compute_sample_grad(params, x, y)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in per_sample.values()], dim=1).norm(dim=1)
    factor = (max_grad_norm / (norms + 1e-6)).clamp(max=1.0)
    return {k: torch.einsum("i,i...->...", factor, g) for k, g in per_sample.items()}, norms


gen = torch.Generator().manual_seed(99)
for step in range(3):
    sel = torch.randperm(48, generator=gen)[:batch]
    sums, norms = clipped_sum(params, dataset.data[sel], dataset.targets[sel])
    params = {k: p - 0.1 / batch * (sums[k] + noise_multiplier * max_grad_norm * torch.randn(p.shape, generator=gen)) for k, p in params.items()}
    print(f"dp step {step}: norms {norms.min():.4f} {norms.max():.4f} clipped {(norms > max_grad_norm).sum()}")
train, val = random_split(dataset, [0.75, 0.25], generator=torch.Generator().manual_seed(42))
print(len(train), len(val), isinstance(train, Subset), val.indices[:5])
