import torch
import torch.nn as nn
from torch._functorch.aot_autograd import aot_export_module


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x, target):
        self.seen.add_(1)
        y = self.fc(x)
        return ((y - target) ** 2).mean(), y.detach()


net = Net()
args = (torch.ones(4, 3), torch.zeros(4, 2))
gm, signature = aot_export_module(net, args, trace_joint=True, output_loss_index=0)
print(gm.code.strip())
print(signature.buffers_to_mutate, signature.user_outputs, signature.backward_signature)
for index in (None, 1):
    try:
        aot_export_module(net, args, trace_joint=True, output_loss_index=index)
    except RuntimeError as e:
        print(e)
