"""Batch norms without running statistics, which transforms cannot write to."""

from torch.nn.modules.batchnorm import _BatchNorm


def replace_all_batch_norm_modules_(root):
    """Takes the running statistics from every batch norm in a module, in place."""
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
