# A word that an operator does not know is refused under every backend.
import torch
import torch.nn.functional as F

for approximate in ("none", "tanh", "sum"):
    torch.compiler.reset()
    try:
        print(torch.compile(lambda x: F.gelu(x, approximate=approximate))(torch.zeros(2)))
    except RuntimeError as error:
        print("approximate argument must be either none or tanh" in str(error))
