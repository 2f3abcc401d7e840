"""AOTAutograd's names as older scripts import them."""

from torch._functorch import config
from torch._functorch.aot_autograd import (
    aot_function,
    aot_module,
    aot_module_simplified,
    make_boxed_compiler,
    make_boxed_func,
)
from torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition


def nop(gm, example_inputs):
    """A compiler that changes nothing."""
    return gm


def memory_efficient_fusion(fn, **kwargs):
    """A function or module compiled with recomputation."""
    from torch.nn import Module

    options = dict(fw_compiler=nop, bw_compiler=nop, partition_fn=min_cut_rematerialization_partition)
    return (aot_module if isinstance(fn, Module) else aot_function)(fn, **options)
