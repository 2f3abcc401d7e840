import torch
import torch.nn as nn
import torch.nn.functional as F


class Expert(nn.Module):
    def __init__(self, n_embd, dropout=0.0):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.ReLU(), nn.Linear(4 * n_embd, n_embd), nn.Dropout(dropout))

    def forward(self, x):
        return self.net(x)


class NoisyTopkRouter(nn.Module):
    def __init__(self, n_embed, num_experts, top_k):
        super().__init__()
        self.top_k = top_k
        self.topkroute_linear = nn.Linear(n_embed, num_experts)
        self.noise_linear = nn.Linear(n_embed, num_experts)

    def forward(self, mh_output):
        logits = self.topkroute_linear(mh_output)
        noise_logits = self.noise_linear(mh_output)
        noise = torch.randn_like(logits) * F.softplus(noise_logits)
        noisy_logits = logits + noise
        top_k_logits, indices = noisy_logits.topk(self.top_k, dim=-1)
        zeros = torch.full_like(noisy_logits, float("-inf"))
        sparse_logits = zeros.scatter(-1, indices, top_k_logits)
        router_output = F.softmax(sparse_logits, dim=-1)
        return router_output, indices


class SparseMoE(nn.Module):
    """Loops over experts; which tokens an expert sees depends on data."""

    def __init__(self, n_embed, num_experts, top_k):
        super().__init__()
        self.router = NoisyTopkRouter(n_embed, num_experts, top_k)
        self.experts = nn.ModuleList([Expert(n_embed) for _ in range(num_experts)])
        self.top_k = top_k

    def forward(self, x):
        gating_output, indices = self.router(x)
        final_output = torch.zeros_like(x)
        flat_x = x.view(-1, x.size(-1))
        flat_gating_output = gating_output.view(-1, gating_output.size(-1))
        for i, expert in enumerate(self.experts):
            expert_mask = (indices == i).any(dim=-1)
            flat_mask = expert_mask.view(-1)
            if flat_mask.any():
                expert_input = flat_x[flat_mask]
                expert_output = expert(expert_input)
                gating_scores = flat_gating_output[flat_mask, i].unsqueeze(1)
                weighted_output = expert_output * gating_scores
                final_output[expert_mask] += weighted_output.squeeze(1)
        return final_output


class DenseMoE(nn.Module):
    def __init__(self, dim, experts, k):
        super().__init__()
        self.gate = nn.Linear(dim, experts, bias=False)
        self.w1 = nn.Parameter(torch.randn(experts, dim, 2 * dim) * 0.1)
        self.w2 = nn.Parameter(torch.randn(experts, 2 * dim, dim) * 0.1)
        self.k = k

    def forward(self, x):
        scores = self.gate(x)
        weights, selected = torch.topk(scores, self.k)
        weights = weights.softmax(-1)
        hidden = torch.einsum("td,edh->teh", x, self.w1)
        out = torch.einsum("teh,ehd->ted", F.silu(hidden), self.w2)
        picked = out.gather(1, selected.unsqueeze(-1).expand(-1, -1, x.size(-1)))
        balance = scores.softmax(-1).mean(0).pow(2).sum() * scores.size(-1)
        return (weights.unsqueeze(-1) * picked).sum(1), balance


torch.manual_seed(2)
moe = SparseMoE(8, 3, 2)
x = torch.randn(2, 3, 8)
print(moe(x).shape)
router = torch.compile(moe.router)
probs, idx = router(x)
print(probs.sum(-1), idx.shape)
probs.pow(2).sum().backward()
print(moe.router.noise_linear.weight.grad.norm())
dense = DenseMoE(8, 4, 2)
f = torch.compile(dense)
opt = torch.optim.Adamax(dense.parameters(), lr=0.02)
for _ in range(3):
    out, aux = f(x.view(-1, 8))
    loss = F.mse_loss(out, torch.ones_like(out)) + 0.01 * aux
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.5f} {aux.item():.5f}")
