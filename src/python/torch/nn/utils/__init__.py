"""`torch.nn.utils`: each function's file is read when first used."""

_PARTS = {
    "clip_grad": "clip_grad_norm_ clip_grad_norm clip_grad_value_ get_total_norm clip_grads_with_norm_",
    "convert_parameters": "parameters_to_vector vector_to_parameters",
    "weight_norm": "weight_norm remove_weight_norm",
    "spectral_norm": "spectral_norm remove_spectral_norm",
    "init": "skip_init",
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
}
_HOME = {name: part for part, names in _PARTS.items() for name in names.split()}
_SUBMODULES = ("clip_grad", "convert_parameters", "fusion", "init", "parametrizations", "parametrize", "prune", "rnn", "stateless")

__all__ = sorted(_HOME)


def __getattr__(name):
    part = _HOME.get(name)
    if part is not None:
        value = getattr(__import__(f"torch.nn.utils.{part}", fromlist=[name]), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return __import__(f"torch.nn.utils.{name}", fromlist=["_"])
    from torch._absent import attribute_error

    raise attribute_error("torch.nn.utils", name)
