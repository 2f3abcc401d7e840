"""Inductor's names: what scripts ask and set. Of Inductor itself there are its decompositions and its passes on joint graphs."""

_CUDA_GRAPHS = {"triton.cudagraphs": True}
_TUNED = {"max_autotune": True, "coordinate_descent_tuning": True}
_MODES = {
    "default": {},
    "lite": {
        "fallback_by_default": True,
        "selective_decompose": True,
        "reorder_for_peak_memory": False,
        "reorder_for_compute_comm_overlap": False,
        "triton.reorder_for_reducing_graph_partitions": False,
        "use_pre_grad_passes": False,
        "use_joint_graph_passes": False,
        "use_post_grad_passes": False,
        "use_dce": False,
        "allow_buffer_reuse": False,
    },
    "reduce-overhead": _CUDA_GRAPHS,
    "max-autotune-no-cudagraphs": _TUNED,
    "max-autotune": {"max_autotune": True, "triton.cudagraphs": True, "coordinate_descent_tuning": True},
}


def cudagraph_mark_step_begin():
    """`torch.compiler.cudagraph_mark_step_begin`, where it was before."""
    from torch.compiler import cudagraph_mark_step_begin

    cudagraph_mark_step_begin()


def list_mode_options(mode=None, dynamic=None):
    """What each mode of `torch.compile` sets; of one mode, where it is given."""
    if mode and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    return dict(_MODES[mode]) if mode else {name: dict(options) for name, options in _MODES.items()}


def list_options():
    """The names that `torch.compile(options=...)` takes."""
    from torch._inductor import config

    return list(config.get_config_copy())


def _settings(mode, options):
    """What a call of `torch.compile` sets, checked as PyTorch checks it."""
    from torch._inductor import config

    settings = {}
    for key, value in {**(list_mode_options(mode) if mode else {}), **(options or {})}.items():
        name = key.replace("-", "_")
        if name not in config._config:
            raise RuntimeError(f"Unexpected optimization option {key}, known options are {list_options()}")
        expected = config.get_type(name)
        if expected is not None and not isinstance(value, expected):
            current = type(getattr(config, name)).__name__
            raise RuntimeError(f"Unexpected type of attr {key}, got {type(value).__name__} should be {current}")
        settings[name] = value
    # What is refused is refused here, and not at the first call.
    with config.patch(settings):
        return settings


def __getattr__(name):
    if name in ("config", "cudagraph_utils", "cudagraph_trees"):
        import importlib

        return importlib.import_module(f"torch._inductor.{name}")
    raise AttributeError(f"module 'torch._inductor' has no attribute '{name}'")
