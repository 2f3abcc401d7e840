"""Settings of the whole compiler. Names and defaults of torch/compiler/config.py. Source: PyTorch

`torch.utils._config_module` says what the rows mean."""

from torch.utils._config_module import install

_ROWS = (
    ("job_id", None, "no effect caches", "TORCH_COMPILE_JOB_ID TORCH_COMPILE_STICKY_PGO_KEY flag"),
    ("pgo_extra_read_key", None, "no effect caches", "TORCH_COMPILE_STICKY_PGO_READ flag"),
    ("pgo_extra_write_key", None, "no effect caches", "TORCH_COMPILE_STICKY_PGO_WRITE flag"),
    ("cache_key_tag", "", "no effect caches", "TORCH_COMPILE_CACHE_KEY_TAG flag"),
    ("force_disable_caches", False, "no effect caches", "TORCHINDUCTOR_FORCE_DISABLE_CACHES TORCH_COMPILE_FORCE_DISABLE_CACHES flag"),
    ("compile_on_one_rank", False, "no effect distributed", "TORCH_COMPILE_ON_ONE_RANK TORCH_DISTRIBUTED_COMPILE_ON_ONE_RANK flag"),
    ("dynamic_sources", "", "obeyed settings/shapes", "TORCH_COMPILE_DYNAMIC_SOURCES flag"),
    ("dynamic_values", "", "obeyed settings/shapes", "TORCH_COMPILE_DYNAMIC_VALUES flag"),
    ("unbacked_sources", "", "obeyed settings/shapes", "TORCH_COMPILE_UNBACKED_SOURCES flag"),
    ("static_sources", "", "obeyed settings/shapes", "TORCH_COMPILE_STATIC_SOURCES flag"),
    ("force_cudagraph_gc", False, "no effect cuda", "TORCH_CUDAGRAPH_GC flag"),
    ("dynamic_shapes", None, "alias"),
    ("assume_static_by_default", None, "alias"),
    ("automatic_dynamic_shapes", None, "alias"),
    ("recompile_limit", None, "alias"),
    ("accumulated_recompile_limit", None, "alias"),
    ("verbose", None, "alias"),
    ("capture_scalar_outputs", None, "alias"),
    ("capture_dynamic_output_shape_ops", None, "alias"),
    ("log_file_name", None, "alias"),
    ("fail_on_recompile_limit_hit", None, "alias"),
    ("allow_unspec_int_on_nn_module", None, "alias"),
    ("skip_tensor_guards_with_matching_dict_tags", None, "alias"),
    ("enable_cpp_symbolic_shape_guards", None, "alias"),
    ("wrap_top_frame", None, "alias"),
    ("reorderable_logging_functions", None, "alias"),
)

_ALIASES = {
    "dynamic_shapes": "torch._dynamo.config.dynamic_shapes",
    "assume_static_by_default": "torch._dynamo.config.assume_static_by_default",
    "automatic_dynamic_shapes": "torch._dynamo.config.automatic_dynamic_shapes",
    "recompile_limit": "torch._dynamo.config.recompile_limit",
    "accumulated_recompile_limit": "torch._dynamo.config.accumulated_recompile_limit",
    "verbose": "torch._dynamo.config.verbose",
    "capture_scalar_outputs": "torch._dynamo.config.capture_scalar_outputs",
    "capture_dynamic_output_shape_ops": "torch._dynamo.config.capture_dynamic_output_shape_ops",
    "log_file_name": "torch._dynamo.config.log_file_name",
    "fail_on_recompile_limit_hit": "torch._dynamo.config.fail_on_recompile_limit_hit",
    "allow_unspec_int_on_nn_module": "torch._dynamo.config.allow_unspec_int_on_nn_module",
    "skip_tensor_guards_with_matching_dict_tags": "torch._dynamo.config.skip_tensor_guards_with_matching_dict_tags",
    "enable_cpp_symbolic_shape_guards": "torch._dynamo.config.enable_cpp_symbolic_shape_guards",
    "wrap_top_frame": "torch._dynamo.config.wrap_top_frame",
    "reorderable_logging_functions": "torch._dynamo.config.reorderable_logging_functions",
}

_SEVERAL_TYPES = """
job_id pgo_extra_read_key pgo_extra_write_key log_file_name
""".split()

install(__name__, _ROWS, aliases=_ALIASES, several_types=_SEVERAL_TYPES)
