"""Switches of AOTAutograd, by PyTorch's names."""

from torch.utils._config_module import patch_of

activation_memory_budget = 1.0
activation_memory_budget_solver = "dp"
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
debug_partitioner = False

patch = patch_of(globals())
