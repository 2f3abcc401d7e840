"""Anomaly mode: a failing backward names the forward that made it, and NaN is a failure."""

from torch import _C

__all__ = ["detect_anomaly", "set_detect_anomaly"]


def _warn(message):
    """The engine's warning: where the forward of a failing backward was called."""
    import warnings

    warnings.warn_explicit(message, UserWarning, "torch/autograd/graph.py", 1113)


class set_detect_anomaly:
    """Switches anomaly mode, at once or for a block."""

    def __init__(self, mode, check_nan=True):
        self.prev = _C.is_anomaly_enabled()
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()
        _C.set_anomaly_enabled(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *args):
        _C.set_anomaly_enabled(self.prev, self.prev_check_nan)


class detect_anomaly:
    """Anomaly mode for a block."""

    def __init__(self, check_nan=True):
        import warnings

        self.check_nan = check_nan
        self.prev = _C.is_anomaly_enabled()
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self):
        _C.set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *args):
        _C.set_anomaly_enabled(self.prev, self.prev_check_nan)
