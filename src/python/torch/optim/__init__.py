"""`torch.optim`: optimizers by name, each file read when one of its names is first used."""

_PARTS = {
    "optimizer": "Optimizer",
    "sgd": "SGD",
    "adam": "Adam",
    "adamw": "AdamW",
    "adamax": "Adamax",
    "nadam": "NAdam",
    "radam": "RAdam",
    "rmsprop": "RMSprop",
    "adagrad": "Adagrad",
    "adadelta": "Adadelta",
    "asgd": "ASGD",
    "rprop": "Rprop",
    "lbfgs": "LBFGS",
    "_muon": "Muon",
    "_adafactor": "Adafactor",
}
_HOME = {name: part for part, name in _PARTS.items()}
_SUBMODULES = (*_PARTS, "lr_scheduler", "swa_utils")

__all__ = [*_HOME, "lr_scheduler", "swa_utils"]


def __getattr__(name):
    if name in _SUBMODULES:
        return __import__(f"torch.optim.{name}", fromlist=["_"])
    part = _HOME.get(name)
    if part is None:
        from torch._absent import attribute_error

        raise attribute_error("torch.optim", name)
    value = getattr(__import__(f"torch.optim.{part}", fromlist=[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_HOME, *_SUBMODULES})
