"""AOTAutograd's names as older scripts import them."""

from torch._functorch import config
from torch._functorch.aot_autograd import (
    aot_function,
    aot_module,
    aot_module_simplified,
    make_boxed_compiler,
    make_boxed_func,
)
from torch._functorch._aot_autograd.logging_utils import (
    get_aot_compilation_context,
    get_aot_graph_name,
    get_graph_being_compiled,
)
from torch._functorch.compilers import draw_graph_compile, memory_efficient_fusion, nop, print_compile, simple_ts_compile, ts_compile
from torch._functorch.partitioners import default_partition, draw_graph, draw_joint_graph, min_cut_rematerialization_partition


def __getattr__(name):
    if name != "default_decompositions":
        raise AttributeError(f"module 'functorch.compile' has no attribute {name!r}")
    from torch._functorch import compilers

    return compilers.default_decompositions()
