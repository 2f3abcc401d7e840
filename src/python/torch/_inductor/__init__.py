"""Inductor's names: what scripts ask and set. Of Inductor itself there are its decompositions and its passes on joint graphs."""

_MODES = {
    "default": {},
    "reduce-overhead": {"triton.cudagraphs": True},
    "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
    "max-autotune": {"max_autotune": True, "triton.cudagraphs": True, "coordinate_descent_tuning": True},
}


def list_mode_options(mode=None, dynamic=None):
    """What each mode of `torch.compile` sets; of one mode, where it is given."""
    if mode == "lite":
        raise NotImplementedError("the mode 'lite', which leaves most operators as they are, is not there")
    try:
        return dict(_MODES) if mode is None else dict(_MODES[mode])
    except KeyError:
        names = ["default", "lite", *list(_MODES)[1:]]
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(names)}") from None


def list_options():
    """The names that `torch.compile(options=...)` takes."""
    from torch._inductor import config
    from torch.utils._config_module import switches_of

    return list(switches_of(vars(config)))


def _settings(mode, options):
    """What a call of `torch.compile` sets, checked as PyTorch checks it."""
    settings = list_mode_options(mode) if mode is not None else {}
    if not options:
        return settings
    from torch._inductor import config
    from torch.utils._config_module import switches_of

    known = switches_of(vars(config))
    for key, value in options.items():
        name = key.replace("-", "_")
        if name not in known:
            raise RuntimeError(f"Unexpected optimization option {key}, known options are {list(known)}")
        current = known[name]
        if current is not None and type(value) is not type(current):
            raise RuntimeError(
                f"Unexpected type of attr {key}, got {type(value).__name__} should be {type(current).__name__}"
            )
        settings[name] = value
    return settings


def __getattr__(name):
    if name == "config":
        import importlib

        return importlib.import_module("torch._inductor.config")
    raise AttributeError(f"module 'torch._inductor' has no attribute '{name}'")
