"""Programs as graphs that Python code can read, edit and run."""

from torch.fx._symbolic_trace import PH, Tracer, symbolic_trace, wrap
from torch.fx.graph import CodeGen, Graph
from torch.fx.graph_module import GraphModule
from torch.fx.interpreter import Interpreter, Transformer
from torch.fx.node import Node, has_side_effect, map_arg
from torch.fx.proxy import Proxy
from torch.fx.subgraph_rewriter import replace_pattern


def __getattr__(name):
    if name == "experimental":
        import importlib

        return importlib.import_module("torch.fx.experimental")
    raise AttributeError(f"module 'torch.fx' has no attribute '{name}'")
