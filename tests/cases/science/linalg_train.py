import torch

@torch.compile
def gaussian_nll(x, mu, L_raw):
    L = torch.tril(L_raw, -1) + torch.diag(torch.exp(torch.diagonal(L_raw)))
    diff = (x - mu).unsqueeze(-1)
    z = torch.linalg.solve_triangular(L, diff, upper=False).squeeze(-1)
    return 0.5 * z.pow(2).sum(-1).mean() + torch.log(torch.diagonal(L)).sum()

@torch.compile
def whiten(x):
    c = torch.cov(x.T) + 1e-2 * torch.eye(x.shape[1])
    w = torch.linalg.inv(torch.linalg.cholesky(c))
    return x @ w.T, torch.logdet(c), torch.linalg.slogdet(c), torch.linalg.matrix_norm(c)

torch.manual_seed(0)
x = torch.randn(32, 3) @ torch.tensor([[1.0, 0, 0], [0.5, 1, 0], [0, 0.3, 0.7]]).T
mu = torch.zeros(3, requires_grad=True)
L = torch.zeros(3, 3, requires_grad=True)
opt = torch.optim.LBFGS([mu, L], lr=0.5, max_iter=5, line_search_fn="strong_wolfe")
def closure():
    opt.zero_grad()
    loss = gaussian_nll(x, mu, L)
    loss.backward()
    return loss
for i in range(3):
    print(f"{opt.step(closure).item():.4f}")
y, ld, (sign, logabs), n = whiten(x)
print(torch.cov(y.T).round(decimals=2))
print(f"{ld:.4f} {sign.item():.0f} {logabs:.4f} {n:.4f}")
A = torch.randn(4, 3, dtype=torch.float64)
Q, R = torch.linalg.qr(A)
U, S, Vh = torch.linalg.svd(A, full_matrices=False)
print(torch.allclose(Q @ R, A), torch.allclose(U @ torch.diag(S) @ Vh, A), torch.linalg.matrix_rank(A), S)
print(torch.linalg.lstsq(A, torch.ones(4, 1, dtype=torch.float64)).solution.flatten())
