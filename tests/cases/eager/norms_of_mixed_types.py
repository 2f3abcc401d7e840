"""Norms whose parameters are of another type than what is normalized."""
import torch
import torch.nn.functional as F
one = torch.ones
for f in (
    lambda: F.layer_norm(one(2, 3).double(), (3,), one(3), one(3)),
    lambda: F.layer_norm(one(2, 3).bfloat16(), (3,), one(3), one(3)).dtype,
    lambda: F.layer_norm(one(2, 3), (3,), one(3).double()),
    lambda: F.layer_norm(one(2, 3).bfloat16(), (3,), one(3).double()),
    lambda: F.layer_norm(one(2, 3).bfloat16(), (3,), one(3), one(3).bfloat16()),
    lambda: F.group_norm(one(2, 4).double(), 2, one(4), one(4)),
    lambda: F.batch_norm(one(2, 4).double(), one(4), one(4), training=True),
    lambda: F.batch_norm(one(2, 4).bfloat16(), one(4), one(4), one(4), one(4), training=True).dtype,
    lambda: F.batch_norm(one(2, 4), one(4), one(4), one(4).bfloat16(), one(4)),
    lambda: F.batch_norm(one(2, 4).double(), one(4), one(4), one(4), one(4)),
    lambda: F.instance_norm(one(2, 3, 4).double(), weight=one(3)),
    lambda: torch.nn.LayerNorm(4)(one(2, 4).double()),
    lambda: torch.nn.BatchNorm1d(4).double()(one(2, 4)),
    lambda: torch.nn.LayerNorm(4).half()(one(2, 4).half()).dtype,
):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
