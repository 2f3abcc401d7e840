# K-means, principal components and nearest neighbours, written with arrays.
import numpy as np
import torch

rng = np.random.default_rng(7)
centers = np.array([[0, 0, 0], [4, 4, 0], [-4, 4, 2]], dtype=float)
X = np.concatenate([c + rng.normal(scale=0.7, size=(40, 3)) for c in centers])
labels = np.repeat(np.arange(3), 40)
order = rng.permutation(len(X))
X, labels = X[order], labels[order]


def kmeans(X, k, iters, rng):
    centroids = X[rng.choice(len(X), k, replace=False)]
    for _ in range(iters):
        d = np.linalg.norm(X[:, None] - centroids[None], axis=2)
        assign = d.argmin(axis=1)
        new = np.array([X[assign == j].mean(axis=0) if np.any(assign == j) else centroids[j] for j in range(k)])
        if np.allclose(new, centroids):
            break
        centroids = new
    return centroids, assign, (d.min(axis=1) ** 2).sum()


best = min((kmeans(X, 3, 20, np.random.default_rng(s)) for s in range(4)), key=lambda r: r[2])
print(best[0][np.lexsort(best[0].T)].round(3), round(float(best[2]), 3), np.bincount(best[1]))

Xc = X - X.mean(axis=0)
values, vectors = np.linalg.eigh(np.cov(Xc.T))
values, vectors = values[::-1], vectors[:, ::-1]
ratio = values / values.sum()
Z = Xc @ vectors[:, :2]
print(ratio.round(4), np.cumsum(ratio).round(4), np.abs(Z[:2]).round(3))
u, s, vt = np.linalg.svd(Xc, full_matrices=False)
print(np.allclose(s**2 / (len(X) - 1), values), np.allclose(np.abs(vt[:2] @ vectors[:, :2]), np.eye(2)), u.shape)

query, base = X[:5], X[5:]
d2 = (query**2).sum(1)[:, None] + (base**2).sum(1)[None] - 2 * query @ base.T
near = np.argsort(d2, axis=1)[:, :3]
votes = labels[5:][near]
pred = np.array([np.bincount(v, minlength=3).argmax() for v in votes])
print(near.tolist(), pred == labels[:5], np.take_along_axis(d2, near, axis=1).round(4))
t = torch.cdist(torch.from_numpy(query), torch.from_numpy(base)) ** 2
print(np.allclose(t.numpy(), d2), torch.topk(-t, 3).indices.numpy().tolist() == near.tolist())
onehot = (labels[:, None] == np.unique(labels)).astype(np.float32)
print(onehot.sum(0), onehot.T @ X.astype(np.float32) / onehot.sum(0)[:, None])
