"""Writes src/python/torch/_names.py: the public names of PyTorch 2.15 by module, so that a name the playground lacks is told from
one that PyTorch lacks too."""
import importlib
import textwrap

import torch

MODULES = (
    "torch torch.nn torch.nn.functional torch.nn.init torch.nn.utils torch.linalg torch.special torch.fft torch.optim "
    "torch.optim.lr_scheduler torch.distributions torch.autograd torch.func torch.signal.windows torch.masked"
).split()


def public(owner, home):
    def own(name):
        value = getattr(owner, name, None)
        return not name.startswith("_") and type(value) is not type(torch) and (home or callable(value))

    return sorted(filter(own, dir(owner)))


lines = ['"""The public names of PyTorch, by module. Written by tests/recorders/pytorch_names.py."""', "", "NAMES = {"]
owners = {name: public(importlib.import_module(name), name == "torch") for name in MODULES}
owners["torch.Tensor"] = public(torch.Tensor, True)
for owner, names in owners.items():
    lines.append(f'    "{owner}": (')
    lines += [f'        "{part} "' for part in textwrap.wrap(" ".join(names), 108)]
    lines.append("    ),")
lines.append("}")
print("\n".join(lines))
