"""Writes tests/data/signatures.txt: what public functions of PyTorch 2.15 written in Python take by keyword, a line for each."""
import importlib
import inspect
import types

MODULES = """
torch torch.nn torch.nn.functional torch.nn.init torch.nn.utils torch.nn.utils.rnn torch.nn.utils.parametrize torch.nn.attention
torch.nn.utils.parametrizations torch.optim torch.optim.lr_scheduler torch.optim.swa_utils torch.fft torch.func torch.autograd
torch.autograd.functional torch.autograd.forward_ad torch.autograd.graph torch.distributions torch.utils.data
torch.utils.checkpoint torch.testing torch.amp torch.compiler torch.cuda torch.library torch.export torch.fx
torch.fx.experimental.proxy_tensor torch._dynamo torch._functorch.aot_autograd torch._functorch.partitioners torch.serialization
""".split()

for module in MODULES:
    owner = importlib.import_module(module)
    for name in sorted(dir(owner)):
        function = getattr(owner, name, None)
        if name.startswith("_") or isinstance(function, types.ModuleType) or not callable(function):
            continue
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            continue
        taken = ["**" if p.kind is p.VAR_KEYWORD else p.name for p in parameters if p.kind not in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)]
        print(f"{module}.{name}", " ".join(taken), sep="\t")
