"""Settings of AOTAutograd. Names and defaults of torch/_functorch/config.py. Source: PyTorch

`torch.utils._config_module` says what the rows mean."""

from torch.utils._config_module import install

_ROWS = (
    ("TYPE_CHECKING", False, "no effect names"),
    (
        "_save_config_ignore",
        ["joint_custom_pass", "activation_memory_budget_runtime_estimator", "activation_memory_budget_solver"],
        "no effect names",
    ),
    ("functionalize_rng_ops", False, "obeyed settings/aot_autograd"),
    ("fake_tensor_allow_meta", True, "no effect checks", "FAKE_ALLOW_META not_zero"),
    ("debug_assert", False, "no effect checks"),
    ("debug_partitioner", False, "obeyed settings/aot_autograd", "AOT_PARTITIONER_DEBUG not_zero"),
    ("decompose_custom_triton_ops", True, "no effect missing"),
    ("static_weight_shapes", True, "no effect deprecated"),
    ("treat_parameters_as_free_to_save", True, "obeyed partitioner/switches"),
    ("cse", True, "obeyed partitioner/switches"),
    ("unsafe_treat_script_objects_as_zero_size", False, "no effect missing"),
    ("enable_autograd_cache", True, "no effect caches", "TORCHINDUCTOR_AUTOGRAD_CACHE flag"),
    (
        "autograd_cache_allow_custom_autograd_functions",
        False,
        "no effect caches",
        "TORCHINDUCTOR_AUTOGRAD_CACHE_ALLOW_CUSTOM_AUTOGRAD flag",
    ),
    ("bundled_autograd_cache", False, "no effect caches"),
    ("bypass_autograd_cache_key", False, "no effect caches"),
    ("autograd_cache_normalize_inputs", True, "no effect caches"),
    ("check_custom_op_aliasing", True, "no effect checks"),
    ("error_on_custom_op_aliasing", False, "refused", "TORCHINDUCTOR_ERROR_ON_CUSTOM_OP_ALIASING flag"),
    ("enable_remote_autograd_cache", None, "no effect caches", "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE maybe"),
    ("view_replay_for_aliased_outputs", True, "no effect views"),
    ("max_dist_from_bw", 1000, "obeyed partitioner/switches"),
    ("ban_recompute_used_far_apart", True, "obeyed partitioner/switches"),
    ("ban_recompute_long_fusible_chains", True, "obeyed partitioner/switches"),
    ("ban_recompute_materialized_backward", True, "obeyed partitioner/switches"),
    ("ban_recompute_not_in_allowlist", True, "obeyed partitioner/switches"),
    ("ban_recompute_reductions", True, "obeyed partitioner/switches"),
    ("recompute_views", False, "obeyed partitioner/switches"),
    ("is_non_builtin_to_include", False, "obeyed settings/aot_autograd"),
    ("remat_using_tags_for_fwd_loss_bwd_graph", True, "no effect missing"),
    ("activation_memory_budget", 1.0, "obeyed partitioner/solvers_estimators"),
    ("activation_memory_budget_require_full_coverage", True, "obeyed partitioner/region_budget"),
    ("activation_memory_budget_runtime_estimator", "flops", "obeyed partitioner/solvers_estimators"),
    ("activation_memory_budget_solver", "dp", "obeyed partitioner/solvers_estimators"),
    ("visualize_memory_budget_pareto", False, "no effect files", "PARTITIONER_MEMORY_BUDGET_PARETO one"),
    ("memory_budget_pareto_dir", None, "no effect files", "PARTITIONER_MEMORY_BUDGET_PARETO_DIR text"),
    ("aggressive_recomputation", False, "obeyed partitioner/switches"),
    ("enable_activation_offloading", False, "no effect cuda"),
    ("activation_offload_separate_stream", False, "no effect cuda"),
    ("activation_offload_sink_wait", False, "no effect cuda"),
    ("activation_reload_prefetch", False, "no effect cuda"),
    ("activation_offload_cpu_gpu_bw", 50.0, "no effect cuda"),
    ("fake_tensor_allow_unsafe_data_ptr_access", True, "refused"),
    ("unlift_effect_tokens", False, "obeyed settings/aot_autograd"),
    ("custom_op_default_layout_constraint", "needs_exact_strides", "no effect kernels"),
    ("fake_tensor_crossref", False, "no effect checks"),
    ("fake_tensor_propagate_real_tensors", False, "obeyed settings/aot_autograd"),
    ("backward_pass_autocast", "same_as_forward", "refused"),
    ("donated_buffer", True, "obeyed settings/aot_autograd"),
    ("torch_compile_graph_format", "svg", "no effect files", "TORCH_COMPILE_GRAPH_FORMAT text"),
    ("generate_fake_kernels_from_real_mismatches", False, "no effect checks"),
    ("fake_tensor_prefer_device_type", None, "refused"),
    ("graphsafe_rng_functionalization", True, "no effect cuda"),
    ("force_non_lazy_backward_lowering", False, "obeyed settings/aot_autograd"),
    ("_test_disable_functionalization", True, "refused"),
    ("strict_autograd_cache", False, "no effect caches"),
    ("unsafe_allow_optimization_of_collectives", False, "no effect distributed"),
    ("disable_guess_zero_tangent_for_mutated_input_subclass", False, "obeyed settings/aot_autograd"),
    ("guess_tangent_strides_as_outputs", True, "obeyed settings/aot_autograd"),
    ("_sync_decision_cross_ranks", False, "no effect distributed"),
    ("_sync_cache_decision_cross_ranks", False, "no effect distributed"),
    ("saved_tensors_hooks_filtering_mode", "donated", "refused"),
    ("joint_custom_pass", None, "obeyed inductor/custom_passes"),
    ("force_autograd_cache", False, "no effect caches"),
    ("selective_decompose", False, "obeyed settings/aot_autograd"),
    ("enable_complex_wrapper", False, "obeyed settings/aot_autograd"),
)

_SEVERAL_TYPES = """
custom_op_default_layout_constraint fake_tensor_prefer_device_type
""".split()

_COMPILE_IGNORED = """
_save_config_ignore
""".split()

install(__name__, _ROWS, several_types=_SEVERAL_TYPES, compile_ignored=_COMPILE_IGNORED)
