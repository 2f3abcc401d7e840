# Globals of files beside the script, and what their functions are given, are guarded under those files' names.
import torch

import settings
from steps import step

compiled = torch.compile(step)
x = torch.arange(6.0).reshape(2, 3)
print(compiled(x, 2).sum())
settings.FACTOR = 5
print(compiled(x, 2).sum())
settings.MODE = "cos"
print(compiled(x, 2).sum())
print(compiled(torch.ones(4, 3, requires_grad=True), 2).sum())
