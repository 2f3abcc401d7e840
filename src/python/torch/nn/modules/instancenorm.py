"""Instance normalization."""

__dynamo__ = "modules"

from torch.nn import functional as F
from torch.nn.modules.batchnorm import _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d",
]  # fmt: skip


class _InstanceNorm(_NormBase):
    """Normalizes each channel of each item; `ndim` is the number of spatial dimensions."""

    ndim = None

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=False,
        track_running_stats=False,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self):
        return self.ndim + 1

    def _check_input_dim(self, input):
        low = self._get_no_batch_dim()
        if input.dim() not in (low, low + 1):
            raise ValueError(f"expected {low}D or {low + 1}D input (got {input.dim()}D input)")

    def _apply_instance_norm(self, input):
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        if local_metadata.get("version", None) is None and not self.track_running_stats:
            keys = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if keys:
                names, klass = " and ".join(f'"{key}"' for key in keys), self.__class__.__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {klass} with track_running_stats=False. If state_dict "
                    f"is a checkpoint saved before 0.4.0, this may be expected because {klass} does not track running stats "
                    "by default since 0.4.0. Please remove these keys from state_dict. If the running stats are actually "
                    f"needed, instead set track_running_stats=True in {klass} to enable them. See the documentation of "
                    f"{klass} for details."
                )
                for key in keys:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input):
        self._check_input_dim(input)
        place = input.dim() - self._get_no_batch_dim()
        if input.size(place) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={place} to match num_features ({self.num_features}), but got: "
                    f"{input.size(place)}."
                )
            import warnings

            warnings.warn(
                f"input's size at dim={place} does not match num_features. You can silence this warning by not passing in "
                "num_features, which is not used because affine=False",
                stacklevel=2,
            )
        if input.dim() == self._get_no_batch_dim():
            return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_instance_norm(input)


class InstanceNorm1d(_InstanceNorm):
    """Normalizes (N, C, L)."""

    ndim = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalizes (N, C, H, W)."""

    ndim = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalizes (N, C, D, H, W)."""

    ndim = 3


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """A lazy `InstanceNorm1d`."""

    cls_to_become, ndim = InstanceNorm1d, 1


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """A lazy `InstanceNorm2d`."""

    cls_to_become, ndim = InstanceNorm2d, 2


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """A lazy `InstanceNorm3d`."""

    cls_to_become, ndim = InstanceNorm3d, 3
