"""What only PyTorch's kernels refuse, a graph of fake tensors may hold: the error is the kernel's, when the graph runs. What rules for
fake tensors refuse, too, is Dynamo's error."""
import warnings

import torch
import torch.nn.functional as F

warnings.filterwarnings("ignore")
f, d, i = torch.ones(2, 3), torch.ones(2, 3, dtype=torch.float64), torch.arange(6).reshape(2, 3)
places = torch.tensor([0, 1])
calls = {
    "index_put": lambda f, d, i: f.index_put((places[:1],), d[:1]),
    "addmm": lambda f, d, i: torch.addmm(f[:, :2], f, d.T),
    "mm": lambda f, d, i: f @ d.T,
    "index_add": lambda f, d, i: f.index_add(0, places, d),
    "index_copy": lambda f, d, i: f.index_copy(0, places, d),
    "std": lambda f, d, i: i.std(),
    "mean": lambda f, d, i: i.mean(),
    "norm": lambda f, d, i: i.norm(),
    "sub": lambda f, d, i: (f > 0) - (f > 0),
    "neg": lambda f, d, i: -(f > 0),
    "relu": lambda f, d, i: torch.relu(f > 0),
    "complex": lambda f, d, i: torch.complex(f, d),
    "polar": lambda f, d, i: torch.polar(i, i),
    "smooth_l1": lambda f, d, i: F.smooth_l1_loss(f, f, beta=-1),
    "normalize": lambda f, d, i: F.normalize(i),
    "lerp": lambda f, d, i: torch.lerp(f, d, 0.5),
    "lerp_weight": lambda f, d, i: torch.lerp(f, f, d),
    "lerp_number": lambda f, d, i: torch.lerp(f, f, torch.tensor(0.5, dtype=torch.float64)),
    "renorm": lambda f, d, i: f.renorm(-1, 0, 1.0),
    "renorm_most": lambda f, d, i: f.renorm(2, 0, -1.0),
    "renorm_vector": lambda f, d, i: f[0].renorm(2, 0, 1.0),
    "view": lambda f, d, i: f.t().view(6),
    "cat": lambda f, d, i: torch.cat([f, d[:, :1].T]),
}
for name, call in calls.items():
    said = []
    for run in (call, torch.compile(call, backend="eager")):
        torch._dynamo.reset()
        try:
            said.append(f"{run(f, d, i).dtype}")
        except Exception as e:
            said.append(f"{type(e).__name__}: {str(e).splitlines()[0]}")
    print(name, *said, sep="\n  ")
