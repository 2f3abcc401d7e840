"""Forward-mode differentiation is not available."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(f"torch.autograd.forward_ad.{name} is not available in the playground")
