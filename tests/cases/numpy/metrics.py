# Metrics of a classifier: confusion matrix, precision and recall, ROC, calibration, top-k.
import numpy as np
import torch

torch.manual_seed(0)
rng = np.random.RandomState(3)
logits = torch.randn(300, 4) + 2 * torch.eye(4)[torch.from_numpy(rng.randint(0, 4, 300))]
labels = torch.where(torch.rand(300) < 0.7, logits.argmax(1), torch.randint(0, 4, (300,)))
probs = torch.softmax(logits, dim=1).numpy()
y_true, y_pred = labels.numpy(), probs.argmax(axis=1)


def confusion_matrix(t, p, n):
    cm = np.zeros((n, n), dtype=int)
    np.add.at(cm, (t, p), 1)
    return cm


cm = confusion_matrix(y_true, y_pred, 4)
print(cm, cm.sum(), np.trace(cm) / cm.sum())
with np.errstate(divide="ignore", invalid="ignore"):
    precision = np.diag(cm) / cm.sum(axis=0)
    recall = np.diag(cm) / cm.sum(axis=1)
    f1 = 2 * precision * recall / (precision + recall)
for i, (p, r, f) in enumerate(zip(precision, recall, f1)):
    print(f"class {i}: precision {p:.3f} recall {r:.3f} f1 {f:.3f} support {np.bincount(y_true, minlength=4)[i]}")
print("macro f1", np.nanmean(f1).round(4), "accuracy", (y_true == y_pred).mean())
print("normalized\n", np.round(cm / cm.sum(axis=1, keepdims=True), 2))

top2 = np.argsort(-probs, axis=1)[:, :2]
print("top-2", np.any(top2 == y_true[:, None], axis=1).mean(), top2[:3].tolist())


def roc(scores, positive):
    order = np.argsort(-scores, kind="stable")
    hits = positive[order]
    tpr = np.cumsum(hits) / hits.sum()
    fpr = np.cumsum(~hits) / (~hits).sum()
    return np.r_[0, fpr], np.r_[0, tpr]


for k in range(4):
    fpr, tpr = roc(probs[:, k], y_true == k)
    print(k, f"auc {np.trapezoid(tpr, fpr):.4f}", fpr[:3].round(3), np.interp(0.1, fpr, tpr).round(3))

confidence, correct = probs.max(axis=1), (y_true == y_pred).astype(float)
edges = np.linspace(0, 1, 6)
which = np.digitize(confidence, edges[1:-1])
ece = 0.0
for b in range(5):
    mask = which == b
    if mask.any():
        gap = abs(correct[mask].mean() - confidence[mask].mean())
        ece += mask.mean() * gap
        print(f"bin {b}: {mask.sum()} samples, accuracy {correct[mask].mean():.3f}, confidence {confidence[mask].mean():.3f}")
print(f"ECE {ece:.4f}")
entropy = -(probs * np.log(probs + 1e-12)).sum(1)
print(np.percentile(entropy, [5, 50, 95]).round(3), np.corrcoef(entropy, correct)[0, 1].round(3))
print(np.unique(y_pred, return_counts=True), np.histogram(confidence, bins=edges)[0])
values, inverse = np.unique(y_true, return_inverse=True)
print(values, inverse[:10], np.eye(4)[y_true][:3])
