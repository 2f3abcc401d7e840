"""HMM forward-backward, EM, Viterbi; linear-chain CRF as a module with masks; edit distance and DTW."""
import math
from typing import List, Optional
import torch
import torch.nn as nn


class CRF(nn.Module):
    def __init__(self, num_tags: int, batch_first: bool = False) -> None:
        if num_tags <= 0:
            raise ValueError(f"invalid number of tags: {num_tags}")
        super().__init__()
        self.num_tags = num_tags
        self.batch_first = batch_first
        self.start_transitions = nn.Parameter(torch.empty(num_tags))
        self.end_transitions = nn.Parameter(torch.empty(num_tags))
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.uniform_(self.start_transitions, -0.1, 0.1)
        nn.init.uniform_(self.end_transitions, -0.1, 0.1)
        nn.init.uniform_(self.transitions, -0.1, 0.1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(num_tags={self.num_tags})"

    def forward(self, emissions: torch.Tensor, tags: torch.LongTensor, mask: Optional[torch.ByteTensor] = None, reduction: str = "sum") -> torch.Tensor:
        self._validate(emissions, tags=tags, mask=mask)
        if reduction not in ("none", "sum", "mean", "token_mean"):
            raise ValueError(f"invalid reduction: {reduction}")
        if mask is None:
            mask = torch.ones_like(tags, dtype=torch.uint8)
        if self.batch_first:
            emissions, tags, mask = emissions.transpose(0, 1), tags.transpose(0, 1), mask.transpose(0, 1)
        llh = self._compute_score(emissions, tags, mask) - self._compute_normalizer(emissions, mask)
        if reduction == "none":
            return llh
        if reduction == "sum":
            return llh.sum()
        if reduction == "mean":
            return llh.mean()
        return llh.sum() / mask.float().sum()

    def _validate(self, emissions, tags=None, mask=None) -> None:
        if emissions.dim() != 3:
            raise ValueError(f"emissions must have dimension of 3, got {emissions.dim()}")
        if emissions.size(2) != self.num_tags:
            raise ValueError(f"expected last dimension of emissions is {self.num_tags}, got {emissions.size(2)}")
        if tags is not None and emissions.shape[:2] != tags.shape:
            raise ValueError(f"the first two dimensions of emissions and tags must match, got {tuple(emissions.shape[:2])} and {tuple(tags.shape)}")
        if mask is not None:
            no_empty_seq = not self.batch_first and mask[0].all()
            no_empty_seq_bf = self.batch_first and mask[:, 0].all()
            if not no_empty_seq and not no_empty_seq_bf:
                raise ValueError("mask of the first timestep must all be on")

    def _compute_score(self, emissions, tags, mask):
        seq_length, batch_size = tags.shape
        mask = mask.float()
        score = self.start_transitions[tags[0]]
        score += emissions[0, torch.arange(batch_size), tags[0]]
        for i in range(1, seq_length):
            score += self.transitions[tags[i - 1], tags[i]] * mask[i]
            score += emissions[i, torch.arange(batch_size), tags[i]] * mask[i]
        seq_ends = mask.long().sum(dim=0) - 1
        last_tags = tags[seq_ends, torch.arange(batch_size)]
        score += self.end_transitions[last_tags]
        return score

    def _compute_normalizer(self, emissions, mask):
        score = self.start_transitions + emissions[0]
        for i in range(1, emissions.size(0)):
            next_score = score.unsqueeze(2) + self.transitions + emissions[i].unsqueeze(1)
            next_score = torch.logsumexp(next_score, dim=1)
            score = torch.where(mask[i].unsqueeze(1).bool(), next_score, score)
        score += self.end_transitions
        return torch.logsumexp(score, dim=1)

    @torch.no_grad()
    def decode(self, emissions, mask=None) -> List[List[int]]:
        if self.batch_first:
            emissions, mask = emissions.transpose(0, 1), mask.transpose(0, 1)
        score = self.start_transitions + emissions[0]
        history = []
        for i in range(1, emissions.size(0)):
            next_score, indices = (score.unsqueeze(2) + self.transitions + emissions[i].unsqueeze(1)).max(dim=1)
            score = torch.where(mask[i].unsqueeze(1).bool(), next_score, score)
            history.append(indices)
        score += self.end_transitions
        seq_ends = mask.long().sum(dim=0) - 1
        best = []
        for idx in range(emissions.size(1)):
            _, last = score[idx].max(dim=0)
            tags = [last.item()]
            for hist in reversed(history[: seq_ends[idx]]):
                tags.append(hist[idx][tags[-1]].item())
            tags.reverse()
            best.append(tags)
        return best


class HMM(nn.Module):
    def __init__(self, M, N):
        super().__init__()
        self.T = nn.Parameter(torch.randn(N, N))
        self.E = nn.Parameter(torch.randn(N, M))
        self.pi = nn.Parameter(torch.randn(N))

    def forward(self, x, lengths):
        log_T, log_E, log_pi = self.T.log_softmax(0), self.E.log_softmax(1), self.pi.log_softmax(0)
        B, T_max = x.shape
        log_alpha = torch.zeros(B, T_max, self.T.size(0))
        log_alpha[:, 0, :] = log_E[:, x[:, 0]].transpose(0, 1) + log_pi
        for t in range(1, T_max):
            log_alpha[:, t, :] = log_E[:, x[:, t]].transpose(0, 1) + (log_T[None] + log_alpha[:, t - 1, None, :]).logsumexp(2)
        log_sums = log_alpha.logsumexp(dim=2)
        return torch.gather(log_sums, 1, lengths.view(-1, 1) - 1)


def baum_welch(A, B, pi, obs, iters=3):
    ll = []
    for _ in range(iters):
        T = len(obs)
        alpha, c = torch.zeros(T, len(pi)), torch.zeros(T)
        alpha[0] = pi * B[:, obs[0]]
        c[0] = alpha[0].sum()
        alpha[0] /= c[0]
        for t in range(1, T):
            alpha[t] = alpha[t - 1] @ A * B[:, obs[t]]
            c[t] = alpha[t].sum()
            alpha[t] /= c[t]
        beta = torch.ones_like(alpha)
        for t in range(T - 2, -1, -1):
            beta[t] = A @ (B[:, obs[t + 1]] * beta[t + 1]) / c[t + 1]
        gamma = alpha * beta
        xi = alpha[:-1, :, None] * A * (B[:, obs[1:]].T * beta[1:])[:, None] / c[1:, None, None]
        pi = gamma[0]
        A = xi.sum(0) / gamma[:-1].sum(0)[:, None]
        B = torch.stack([gamma[obs == k].sum(0) for k in range(B.size(1))], 1) / gamma.sum(0)[:, None]
        ll.append(round(c.log().sum().item(), 4))
    return A, B, pi, ll


def soft_dtw(x, y, gamma=0.5):
    D = torch.cdist(x[None], y[None])[0].square()
    n, m = D.shape
    R = {(-1, -1): torch.zeros(())}
    inf = torch.tensor(1e6)
    for i in range(n):
        for j in range(m):
            prev = torch.stack([R.get((i - 1, j), inf), R.get((i, j - 1), inf), R.get((i - 1, j - 1), inf)])
            R[i, j] = D[i, j] - gamma * torch.logsumexp(-prev / gamma, 0)
    return R[n - 1, m - 1]


def edit_distance(a: str, b: str) -> int:
    dp = torch.zeros(len(a) + 1, len(b) + 1, dtype=torch.int32)
    dp[:, 0], dp[0, :] = torch.arange(len(a) + 1), torch.arange(len(b) + 1)
    for i, ca in enumerate(a, 1):
        for j, cb in enumerate(b, 1):
            dp[i, j] = min(dp[i - 1, j] + 1, dp[i, j - 1] + 1, dp[i - 1, j - 1] + (ca != cb))
    return dp[-1, -1].item()


torch.manual_seed(0)
crf = CRF(4, batch_first=True)
print(crf)
emit = nn.Linear(6, 4)
x, tags = torch.randn(3, 5, 6), torch.randint(0, 4, (3, 5))
mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 0, 0, 0]], dtype=torch.uint8)
opt = torch.optim.Adam([*crf.parameters(), *emit.parameters()], lr=0.05)
nll = torch.compile(lambda e, t, m: -crf(e, t, m, "mean"), backend="aot_eager")
for i in range(3):
    loss = nll(emit(x), tags, mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, f"{loss.item():.5f}")
print(crf.decode(emit(x), mask))
try:
    crf(torch.randn(3, 5, 3), tags)
except ValueError as e:
    print("ValueError:", e)
hmm = HMM(5, 3)
obs, lens = torch.randint(0, 5, (2, 6)), torch.LongTensor([6, 4])
run = torch.compile(hmm)
for i in range(2):
    ll = run(obs, lens)
    loss = -ll.mean()
    hmm.zero_grad()
    loss.backward()
    with torch.no_grad():
        for p in hmm.parameters():
            p -= 0.1 * p.grad
    print(ll.flatten().tolist()[0].__round__(4), f"{loss.item():.5f}")
A = torch.softmax(torch.randn(2, 2), 1)
B = torch.softmax(torch.randn(2, 3), 1)
print(baum_welch(A, B, torch.tensor([0.6, 0.4]), torch.tensor([0, 1, 2, 1, 0, 0, 2]))[-1])
a = torch.linspace(0, 1, 4).unsqueeze(1).requires_grad_()
d = torch.compile(soft_dtw, backend="aot_eager")(a, torch.tensor([[0.1], [0.4], [0.9]]))
d.backward()
print(f"{d.item():.5f}", a.grad.flatten())
print(edit_distance("kitten", "sitting"))
