"""Switches of Dynamo, by PyTorch's names."""

from torch.utils._config_module import patch_of

cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
fail_on_recompile_limit_hit = fail_on_cache_limit_hit = False
error_on_recompile = False
allow_unspec_int_on_nn_module = False
specialize_float = False
suppress_errors = False
verbose = False
assume_static_by_default = True
automatic_dynamic_shapes = True
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
specialize_int = False
compiled_autograd = False
compiled_autograd_kwargs_override = {}
inline_inbuilt_nn_modules = True
allow_rnn = False
rewrite_assert_with_torch_assert = True

patch = patch_of(globals())
