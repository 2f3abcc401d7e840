# keep: operator:aten._native_batch_norm_legit_functional
import torch
from torch import nn
from torch._functorch.aot_autograd import aot_export_module


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 3, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(3)
        self.relu1 = nn.ReLU()
        self.fc1 = nn.Linear(3 * 16, 2)
        self.loss_fn = nn.L1Loss()

    def forward(self, x, target):
        y = x
        y = self.relu1(self.bn1(self.conv1(x)))
        y = self.fc1(torch.flatten(y, 1))
        return (self.loss_fn(y, target),)


def table(gm):
    base = min(n.meta["seq_nr"] for n in gm.graph.nodes if "seq_nr" in n.meta)
    rows = []
    for n in gm.graph.nodes:
        if n.op != "call_function" or "getitem" in str(n.target):
            continue
        orig = str(n.meta.get("original_aten", "?"))
        mod = ""
        if "source_fn_stack" in n.meta:
            mod = n.meta["source_fn_stack"][-1][0]
        elif "fwd_source_fn_stack" in n.meta:
            mod = "fwd:" + n.meta["fwd_source_fn_stack"][-1][0]
        rows.append(f"{n.meta['seq_nr'] - base:3d} | {str(n.target):50s} | {orig:45s} | {mod}")
    return rows


torch.manual_seed(0)
m = Net()
x, t = torch.ones(2, 2, 4, 4), torch.zeros(2, 2)
for _ in range(2):
    gm, guards = torch._dynamo.export(m)(x, t)
    with torch.fx.traceback.preserve_node_meta(), torch.autograd.detect_anomaly(check_nan=False):
        gm2, sig = aot_export_module(gm, (x, t), trace_joint=True, output_loss_index=0)
    rows = table(gm2)
    print(len(rows))
print("\n".join(rows))
