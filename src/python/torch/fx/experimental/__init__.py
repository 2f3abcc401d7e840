"""What is experimental in PyTorch."""


def __getattr__(name):
    if name == "_config":
        import importlib

        return importlib.import_module("torch.fx.experimental._config")
    raise AttributeError(f"module 'torch.fx.experimental' has no attribute '{name}'")
