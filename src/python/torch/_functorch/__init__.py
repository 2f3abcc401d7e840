"""AOTAutograd and its partitioners."""


def __getattr__(name):
    if name in ("config", "aot_autograd", "partitioners", "compilers"):
        return __import__(f"torch._functorch.{name}", fromlist=["_"])
    raise AttributeError(f"module 'torch._functorch' has no attribute '{name}'")
