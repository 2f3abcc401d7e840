"""What is experimental in PyTorch."""

_MODULES = ("_config", "proxy_tensor", "symbolic_shapes")


def __getattr__(name):
    if name in _MODULES:
        import importlib

        return importlib.import_module(f"torch.fx.experimental.{name}")
    raise AttributeError(f"module 'torch.fx.experimental' has no attribute '{name}'")
