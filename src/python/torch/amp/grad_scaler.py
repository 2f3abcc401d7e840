"""`GradScaler`: losses scaled up, so that small gradients do not vanish in a short dtype."""

import functools

import torch
from torch import _native_compile


def _outside_graphs(method):
    """Keeps a method out of what is captured; a step of an optimizer in it is captured on its own."""

    @functools.wraps(method)
    def outside(*args, **kwargs):
        if not _native_compile._is_compiling():
            return method(*args, **kwargs)
        _native_compile._graph_break("not_inlined", method.__name__, "torch.amp.grad_scaler")
        with _native_compile._skipped():
            result = method(*args, **kwargs)
        return _native_compile._returned(result)

    return outside


class GradScaler:
    """Scales losses and gradients, and adapts the scale to overflows."""

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        self._device = device
        if enabled and device == "cuda" and not torch.cuda._has_driver():
            import warnings

            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2
            )
            enabled = False
        self._enabled = enabled
        if enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
            self._scale = float(init_scale)
            self._growth_factor = growth_factor
            self._backoff_factor = backoff_factor
            self._growth_interval = growth_interval
            self._growth_tracker = 0
            self._found_inf = {}

    @_outside_graphs
    def scale(self, outputs):
        """The outputs times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            return outputs * self._scale
        return type(outputs)(self.scale(one) for one in outputs)

    @_outside_graphs
    def unscale_(self, optimizer):
        """Divides an optimizer's gradients by the scale."""
        if not self._enabled:
            return
        if id(optimizer) in self._found_inf:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        found = False
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    with torch.no_grad():
                        param.grad.mul_(1.0 / self._scale)
                    found = found or not bool(torch.isfinite(param.grad).all())
        self._found_inf[id(optimizer)] = found

    @_outside_graphs
    def step(self, optimizer, *args, **kwargs):
        """Steps the optimizer, unless a gradient is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) not in self._found_inf:
            self.unscale_(optimizer)
        return None if self._found_inf[id(optimizer)] else optimizer.step(*args, **kwargs)

    @_outside_graphs
    def update(self, new_scale=None):
        """Adapts the scale."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif any(self._found_inf.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale *= self._growth_factor
                self._growth_tracker = 0
        self._found_inf = {}

    def get_scale(self):
        """The scale."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self):
        """Whether it scales."""
        return self._enabled

    def state_dict(self):
        """What is to be saved."""
        if not self._enabled:
            return {}
        names = ("growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")
        return {"scale": self._scale, **{name: getattr(self, "_" + name.lstrip("_")) for name in names}}

    def load_state_dict(self, state_dict):
        """Takes over what was saved."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale = state_dict["scale"]
        for name in ("growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"):
            setattr(self, "_" + name.lstrip("_"), state_dict[name])
