"""PointNet++ sampling and grouping, NeRF volume rendering, a hash grid, signed distance fields and marching rays."""
from __future__ import annotations
import math
from typing import NamedTuple
import torch
import torch.nn as nn
import torch.nn.functional as F


def square_distance(src, dst):
    B, N, _ = src.shape
    _, M, _ = dst.shape
    dist = -2 * torch.matmul(src, dst.permute(0, 2, 1))
    dist += torch.sum(src ** 2, -1).view(B, N, 1)
    dist += torch.sum(dst ** 2, -1).view(B, 1, M)
    return dist


def index_points(points, idx):
    device = points.device
    B = points.shape[0]
    view_shape = list(idx.shape)
    view_shape[1:] = [1] * (len(view_shape) - 1)
    repeat_shape = list(idx.shape)
    repeat_shape[0] = 1
    batch_indices = torch.arange(B, dtype=torch.long).to(device).view(view_shape).repeat(repeat_shape)
    return points[batch_indices, idx, :]


def farthest_point_sample(xyz, npoint):
    B, N, C = xyz.shape
    centroids = torch.zeros(B, npoint, dtype=torch.long)
    distance = torch.ones(B, N) * 1e10
    farthest = torch.randint(0, N, (B,), dtype=torch.long)
    batch_indices = torch.arange(B, dtype=torch.long)
    for i in range(npoint):
        centroids[:, i] = farthest
        centroid = xyz[batch_indices, farthest, :].view(B, 1, 3)
        dist = torch.sum((xyz - centroid) ** 2, -1)
        mask = dist < distance
        distance[mask] = dist[mask]
        farthest = torch.max(distance, -1)[1]
    return centroids


def query_ball_point(radius, nsample, xyz, new_xyz):
    B, N, C = xyz.shape
    _, S, _ = new_xyz.shape
    group_idx = torch.arange(N, dtype=torch.long).view(1, 1, N).repeat([B, S, 1])
    sqrdists = square_distance(new_xyz, xyz)
    group_idx[sqrdists > radius ** 2] = N
    group_idx = group_idx.sort(dim=-1)[0][:, :, :nsample]
    group_first = group_idx[:, :, 0].view(B, S, 1).repeat([1, 1, nsample])
    mask = group_idx == N
    group_idx[mask] = group_first[mask]
    return group_idx


class PointNetSetAbstraction(nn.Module):
    def __init__(self, npoint, radius, nsample, in_channel, mlp):
        super().__init__()
        self.npoint, self.radius, self.nsample = npoint, radius, nsample
        self.mlp_convs, self.mlp_bns = nn.ModuleList(), nn.ModuleList()
        last_channel = in_channel
        for out_channel in mlp:
            self.mlp_convs.append(nn.Conv2d(last_channel, out_channel, 1))
            self.mlp_bns.append(nn.BatchNorm2d(out_channel))
            last_channel = out_channel

    def forward(self, xyz):
        B, N, C = xyz.shape
        new_xyz = index_points(xyz, farthest_point_sample(xyz, self.npoint))
        idx = query_ball_point(self.radius, self.nsample, xyz, new_xyz)
        grouped = index_points(xyz, idx) - new_xyz.view(B, self.npoint, 1, C)
        new_points = grouped.permute(0, 3, 2, 1)
        for i, conv in enumerate(self.mlp_convs):
            new_points = F.relu(self.mlp_bns[i](conv(new_points)))
        return torch.max(new_points, 2)[0]


class Rays(NamedTuple):
    origins: torch.Tensor
    dirs: torch.Tensor

    def at(self, t: torch.Tensor) -> torch.Tensor:
        return self.origins[:, None] + self.dirs[:, None] * t[..., None]


def get_rays(H: int, W: int, focal: float, c2w: torch.Tensor) -> Rays:
    i, j = torch.meshgrid(torch.linspace(0, W - 1, W), torch.linspace(0, H - 1, H), indexing="xy")
    dirs = torch.stack([(i - W * 0.5) / focal, -(j - H * 0.5) / focal, -torch.ones_like(i)], -1)
    rays_d = torch.sum(dirs[..., None, :] * c2w[:3, :3], -1)
    return Rays(c2w[:3, -1].expand(rays_d.shape).reshape(-1, 3), rays_d.reshape(-1, 3))


class Embedder:
    def __init__(self, n_freqs, include_input=True):
        self.fns = [lambda x: x] if include_input else []
        for f in 2.0 ** torch.linspace(0.0, n_freqs - 1, n_freqs):
            for fn in (torch.sin, torch.cos):
                self.fns.append(lambda x, fn=fn, f=f: fn(x * f))
        self.out_dim = 3 * len(self.fns)

    def __call__(self, x):
        return torch.cat([fn(x) for fn in self.fns], -1)


class NeRF(nn.Module):
    def __init__(self, W=16, freqs=3):
        super().__init__()
        self.emb, self.emb_dir = Embedder(freqs), Embedder(1)
        self.pts = nn.ModuleList([nn.Linear(self.emb.out_dim, W), nn.Linear(W, W), nn.Linear(W + self.emb.out_dim, W)])
        self.alpha, self.feat, self.view, self.rgb = nn.Linear(W, 1), nn.Linear(W, W), nn.Linear(W + self.emb_dir.out_dim, W // 2), nn.Linear(W // 2, 3)

    def forward(self, x, d):
        e = self.emb(x)
        h = e
        for i, l in enumerate(self.pts):
            h = F.relu(l(h))
            if i == 1:
                h = torch.cat([e, h], -1)
        sigma = self.alpha(h)
        h = torch.cat([self.feat(h), self.emb_dir(d)], -1)
        return torch.sigmoid(self.rgb(F.relu(self.view(h)))), sigma.squeeze(-1)


def render(model, rays, near=2.0, far=6.0, n=8, perturb=True):
    t = torch.linspace(0.0, 1.0, n)
    z = (near * (1.0 - t) + far * t).expand(rays.origins.shape[0], n)
    if perturb:
        mids = 0.5 * (z[..., 1:] + z[..., :-1])
        upper, lower = torch.cat([mids, z[..., -1:]], -1), torch.cat([z[..., :1], mids], -1)
        z = lower + (upper - lower) * torch.rand(z.shape)
    pts = rays.at(z)
    viewdirs = F.normalize(rays.dirs, dim=-1)[:, None].expand(pts.shape)
    rgb, sigma = model(pts.reshape(-1, 3), viewdirs.reshape(-1, 3))
    rgb, sigma = rgb.view(*pts.shape), sigma.view(pts.shape[:-1])
    dists = torch.cat([z[..., 1:] - z[..., :-1], torch.Tensor([1e10]).expand(z[..., :1].shape)], -1) * torch.norm(rays.dirs[..., None, :], dim=-1)
    alpha = 1.0 - torch.exp(-F.relu(sigma) * dists)
    weights = alpha * torch.cumprod(torch.cat([torch.ones((alpha.shape[0], 1)), 1.0 - alpha + 1e-10], -1), -1)[:, :-1]
    depth = torch.sum(weights * z, -1)
    acc = torch.sum(weights, -1)
    return torch.sum(weights[..., None] * rgb, -2) + (1.0 - acc[..., None]), depth, weights


def sample_pdf(bins, weights, n):
    pdf = (weights + 1e-5) / torch.sum(weights + 1e-5, -1, keepdim=True)
    cdf = torch.cumsum(pdf, -1)
    cdf = torch.cat([torch.zeros_like(cdf[..., :1]), cdf], -1)
    u = torch.linspace(0.0, 1.0, steps=n).expand(list(cdf.shape[:-1]) + [n]).contiguous()
    inds = torch.searchsorted(cdf, u, right=True)
    below, above = torch.max(torch.zeros_like(inds - 1), inds - 1), torch.min((cdf.shape[-1] - 1) * torch.ones_like(inds), inds)
    inds_g = torch.stack([below, above], -1)
    shape = [inds_g.shape[0], inds_g.shape[1], cdf.shape[-1]]
    cdf_g, bins_g = torch.gather(cdf.unsqueeze(1).expand(shape), 2, inds_g), torch.gather(bins.unsqueeze(1).expand(shape), 2, inds_g)
    denom = cdf_g[..., 1] - cdf_g[..., 0]
    denom = torch.where(denom < 1e-5, torch.ones_like(denom), denom)
    t = (u - cdf_g[..., 0]) / denom
    return bins_g[..., 0] + t * (bins_g[..., 1] - bins_g[..., 0])


torch.manual_seed(0)
sa = PointNetSetAbstraction(4, 0.8, 3, 3, [8, 12])
f = torch.compile(sa, backend="aot_eager")
pts = torch.rand(2, 16, 3)
for _ in range(2):
    out = f(pts)
    out.square().mean().backward()
    print(tuple(out.shape), f"{out.sum().item():.5f} {sa.mlp_convs[0].weight.grad.norm().item():.5f}")
model = NeRF()
print(model)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
c2w = torch.eye(4)
c2w[2, 3] = 4.0
rays = get_rays(4, 4, 5.0, c2w)
target = torch.rand(16, 3)
render_c = torch.compile(render)
for i in range(3):
    rgb, depth, w = render_c(model, rays)
    loss = F.mse_loss(rgb, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{i} {loss.item():.5f} psnr {-10.0 * math.log10(loss.item()):.4f} depth {depth.mean().item():.4f}")
bins = torch.linspace(2, 6, 9).expand(16, 9)
print(sample_pdf(bins, w.detach(), 5)[0])
