"""What can be written after `torch.`, `F.`, `nn.` and a tensor: prints, per name, where it is and what is known of it.

A line is `P`, the path, the signature and the first line of the docstring, for what Python defines; or `O`, the path and the
operator's name, for what the catalogue describes. Fields are separated by tabs.
"""

import importlib
import inspect
import re
import types

import torch
from torch._names import NAMES

MODULES = """
torch torch.nn torch.nn.functional torch.nn.init torch.nn.utils torch.nn.utils.rnn torch.nn.utils.parametrize torch.nn.attention
torch.nn.utils.parametrizations torch.optim torch.optim.lr_scheduler torch.optim.swa_utils torch.linalg torch.special torch.fft
torch.func torch.autograd torch.autograd.functional torch.distributions torch.utils.data torch.utils.checkpoint torch.testing
torch.amp torch.compiler torch.cuda
""".split()


def first_line(thing):
    text = (thing.__doc__ or "").strip()
    return text.split("\n")[0]


def described(path, thing):
    if isinstance(thing, types.ModuleType):
        return
    operator = getattr(type(thing), "__name__", "") == "OpOverloadPacket"
    if operator:
        print("O", path, thing.__name__, sep="\t")
        return
    signature = ""
    if callable(thing):
        try:
            # A function that is a default is shown by its name, without its place in memory.
            signature = re.sub(r"<(?:function|class) '?([\w.]+)'?(?: at 0x\w+)?>", r"\1", str(inspect.signature(thing)))
        except Exception:
            signature = "(...)"
    documented = isinstance(thing, (type, types.FunctionType, types.MethodType))
    print("P", path, signature, first_line(thing) if documented else "", sep="\t")


for name in MODULES:
    try:
        module = importlib.import_module(name)
    except ImportError:
        continue
    # Of PyTorch's public names those that are here; operators have other names too.
    for member in sorted(set(NAMES[name].split() if name in NAMES else dir(module))):
        if member.startswith("_"):
            continue
        try:
            thing = getattr(module, member)
        except (AttributeError, ImportError, NotImplementedError):
            continue
        home = getattr(thing, "__module__", None) or ""
        # What a module imports for itself is not its own.
        if isinstance(thing, types.ModuleType) or (isinstance(thing, (type, types.FunctionType)) and not home.startswith("torch")):
            continue
        described(f"{name}.{member}", thing)
for member in sorted(set(NAMES.get("torch.Tensor", "").split()) or set(dir(torch.Tensor))):
    if not member.startswith("_") and hasattr(torch.Tensor, member):
        described(f"torch.Tensor.{member}", getattr(torch.Tensor, member, None))
