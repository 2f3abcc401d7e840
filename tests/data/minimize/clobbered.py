# keep: exception
import torch
import warnings
warnings.simplefilter("ignore")


def clobber(x):
    y = x.sigmoid()
    z = y * y
    y.add_(1)
    return z.sum()


x = torch.ones(2, requires_grad=True)
for anomaly in (False, True):
    print(anomaly)
    clobber(x).backward()
