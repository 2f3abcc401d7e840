"""Switches of AOTAutograd, by PyTorch's names. Those that nothing here obeys can be set all the same."""

import os

from torch.utils._config_module import patch_of

# What partitions obey.
activation_memory_budget = 1.0
activation_memory_budget_solver = "dp"
activation_memory_budget_require_full_coverage = True
activation_memory_budget_runtime_estimator = "flops"
aggressive_recomputation = False
recompute_views = False
treat_parameters_as_free_to_save = True
cse = True
max_dist_from_bw = 1000
ban_recompute_used_far_apart = True
ban_recompute_long_fusible_chains = True
ban_recompute_materialized_backward = True
ban_recompute_not_in_allowlist = True
ban_recompute_reductions = True
functionalize_rng_ops = False
# Logs what was decided, where the logger "torch._functorch.partitioners" lets it through.
debug_partitioner = os.environ.get("AOT_PARTITIONER_DEBUG", "0") != "0"

# The others.
fake_tensor_allow_meta = True
debug_assert = False
decompose_custom_triton_ops = True
static_weight_shapes = True
unsafe_treat_script_objects_as_zero_size = False
enable_autograd_cache = True
autograd_cache_allow_custom_autograd_functions = False
bundled_autograd_cache = False
bypass_autograd_cache_key = False
autograd_cache_normalize_inputs = True
check_custom_op_aliasing = True
error_on_custom_op_aliasing = False
enable_remote_autograd_cache = None
view_replay_for_aliased_outputs = True
is_non_builtin_to_include = False
remat_using_tags_for_fwd_loss_bwd_graph = True
activation_memory_budget_require_full_coverage = True
visualize_memory_budget_pareto = False
memory_budget_pareto_dir = None
enable_activation_offloading = False
activation_offload_separate_stream = False
activation_offload_sink_wait = False
activation_reload_prefetch = False
activation_offload_cpu_gpu_bw = 50.0
fake_tensor_allow_unsafe_data_ptr_access = True
unlift_effect_tokens = False
custom_op_default_layout_constraint = "needs_exact_strides"
fake_tensor_crossref = False
fake_tensor_propagate_real_tensors = False
backward_pass_autocast = "same_as_forward"
donated_buffer = True
torch_compile_graph_format = "svg"
generate_fake_kernels_from_real_mismatches = False
fake_tensor_prefer_device_type = None
graphsafe_rng_functionalization = True
force_non_lazy_backward_lowering = False
_test_disable_functionalization = True
strict_autograd_cache = False
unsafe_allow_optimization_of_collectives = False
disable_guess_zero_tangent_for_mutated_input_subclass = False
guess_tangent_strides_as_outputs = True
_sync_decision_cross_ranks = False
_sync_cache_decision_cross_ranks = False
saved_tensors_hooks_filtering_mode = "donated"
joint_custom_pass = None
force_autograd_cache = False
selective_decompose = False
enable_complex_wrapper = False

patch = patch_of(globals())
