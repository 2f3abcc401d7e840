"""Compilers for `aot_function` that show graphs, or do nothing."""

from torch._functorch.aot_autograd import make_boxed_func
from torch._functorch.partitioners import draw_graph, min_cut_rematerialization_partition

__all__ = ["nop", "print_compile", "draw_graph_compile", "memory_efficient_fusion", "ts_compile"]


def nop(fx_g, _):
    """Runs the graph as it is."""
    return make_boxed_func(fx_g)


def print_compile(fx_g, _):
    """Prints the graph's code, and runs it as it is."""
    print(fx_g.code)
    return fx_g


def draw_graph_compile(name):
    """A compiler that would draw the graph."""
    return lambda fx_g, _: draw_graph(fx_g, name)


def ts_compile(fx_g, inps):
    raise NotImplementedError("ts_compile needs TorchScript, which is not available in the playground")


simple_ts_compile = ts_compile


def memory_efficient_fusion(fn, **kwargs):
    """A function or module compiled with recomputation."""
    from torch._functorch.aot_autograd import aot_function, aot_module
    from torch.nn import Module

    options = dict(fw_compiler=nop, bw_compiler=nop, partition_fn=min_cut_rematerialization_partition, **kwargs)
    return (aot_module if isinstance(fn, Module) else aot_function)(fn, **options)


_DEFAULT = (
    "detach gelu_backward leaky_relu_backward sigmoid_backward threshold_backward hardtanh_backward hardsigmoid_backward "
    "hardswish_backward tanh_backward silu_backward elu_backward cudnn_batch_norm cudnn_batch_norm_backward masked_fill elu "
    "leaky_relu hardtanh hardswish hardsigmoid conj_physical is_same_size"
)


def default_decompositions():
    """The rules that fusing compilers trace with."""
    from torch._decomp import decomposition_table

    wanted = _DEFAULT.split()
    return {op: rule for op, rule in decomposition_table.items() if str(op).split(".")[1] in wanted}
