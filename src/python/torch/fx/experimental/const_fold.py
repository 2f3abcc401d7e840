"""Parts of a traced module that depend on its parameters and buffers alone,
computed once: the first call of the folded module computes them."""

import operator
import re
import types

import torch
from torch.fx.node import map_arg
from torch.fx.passes.split_module import split_module

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]

_CONSTANT, _REST = "submod_0", "submod_1"


class FoldedGraphModule(torch.fx.GraphModule):
    """A module with the graph that computes what it folds: run at the first
    call, its results are held in the attribute `fx_const_folded_attrs_name`."""

    def __init__(
        self,
        root,
        graph,
        const_subgraph=None,
        fx_const_folded_attrs_name=None,
        device_for_folded_attrs="cuda",
    ):
        super().__init__(root, graph)
        self.const_subgraph_module = (
            None if const_subgraph is None else torch.fx.GraphModule(root, const_subgraph)
        )
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args, **kwargs):
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self):
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("Folding has already been run")
        self.has_folding_been_run = True
        results = self.const_subgraph_module()

        def parameter(value):
            if isinstance(value, int):
                value = torch.Tensor([value]).to(device=self.device_for_folded_attrs)
                return torch.nn.Parameter(value, requires_grad=False)
            return torch.nn.Parameter(
                value.detach().clone(), requires_grad=value.requires_grad
            )

        if isinstance(results, tuple):
            folded = torch.nn.ParameterList([parameter(value) for value in results])
        else:
            folded = parameter(results)
        setattr(self, self.fx_const_folded_attrs_name, folded)


def _inline_module(gm, inline_mod_name, run_dce=True, is_impure_node=None):
    """Replaces the call of a graph module in `gm` by its nodes; the nodes put
    in for each of the inner graph's."""
    inner = dict(gm.named_modules())[inline_mod_name]
    if not isinstance(inner, torch.fx.GraphModule):
        raise AssertionError(f"Expected GraphModule, got {type(inner)}")
    call = _call_of(gm, inline_mod_name)
    if call is None:
        raise AssertionError(f"Could not find call_module node for {inline_mod_name}")
    replacements = {}

    def replaced(node):
        new = replacements[node]
        new.meta = node.meta.copy()
        return new

    positions = iter(range(len(call.args) + len(call.kwargs)))
    for node in inner.graph.nodes:
        if node.op == "placeholder":
            position = next(positions)
            replacements[node] = (
                call.kwargs[node.name] if node.name in call.kwargs else call.args[position]
            )
        elif node.op == "output":
            results = map_arg(node.args[0], replaced)
            getitems = []
            if isinstance(results, (list, tuple)):
                getitems = [
                    user
                    for user in call.users
                    if user.op == "call_function"
                    and user.target is operator.getitem
                    and isinstance(user.args[1], int)
                ]
            call.replace_all_uses_with(results)
            for user in getitems:
                result = results[user.args[1]]
                user.replace_all_uses_with(result)
                gm.graph.erase_node(user)
                replacements[user] = result
        else:
            with gm.graph.inserting_before(call):
                replacements[node] = gm.graph.node_copy(node, replaced)
    gm.graph.erase_node(call)
    if run_dce:
        gm.graph.eliminate_dead_code(is_impure_node=is_impure_node)
    return replacements


def _call_of(gm, name):
    for node in gm.graph.nodes:
        if node.op == "call_module" and node.target == name:
            return node
    return None


def get_unique_attr_name_in_module(mod_traced, name):
    """`name` as an identifier the module has no attribute of."""
    name = re.sub("[^0-9a-zA-Z_]+", "_", name)
    if name[0].isdigit():
        name = f"_{name}"
    while hasattr(mod_traced, name):
        match = re.match(r"(.*)_(\d+)$", name)
        if match is None:
            name += "_1"
        else:
            base, number = match.group(1, 2)
            name = f"{base}_{int(number) + 1}"
    return name


def _any_node(module, condition):
    """Whether the condition holds for a node of a graph module or of one it
    calls."""
    for node in module.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if condition(node):
            return True
        if node.op == "call_module":
            inner = module.get_submodule(node.target)
            if isinstance(inner, torch.fx.GraphModule) and _any_node(inner, condition):
                return True
    return False


def _constants_of(module, skip):
    """The nodes that depend on attributes that are no modules alone, and
    whether one of them computes something."""
    constants = set()
    computes = False
    for node in module.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.op == "get_attr":
            value = module
            try:
                for part in node.target.split("."):
                    value = getattr(value, part)
            except AttributeError:
                continue
            if isinstance(value, (torch.nn.Module, types.ModuleType)):
                continue
        elif not set(node.all_input_nodes) <= constants:
            continue
        inner = module.get_submodule(node.target) if node.op == "call_module" else None
        if not isinstance(inner, torch.fx.GraphModule):
            inner = None
        if skip is not None and (skip(node) or inner is not None and _any_node(inner, skip)):
            continue
        if node.is_impure():
            continue
        if inner is not None and _any_node(
            inner, lambda node: node.op == "call_function" and node.is_impure()
        ):
            continue
        constants.add(node)
        computes = computes or node.op != "get_attr"
    return constants, computes


def split_const_subgraphs(
    module, skip_folding_node_fn=None, device_for_folded_attrs="cpu", is_impure_node=None
):
    """The module with what depends on its attributes alone as a graph of its
    own, which the first call runs."""
    traced = module
    if not isinstance(module, torch.fx.GraphModule):
        traced = torch.fx.symbolic_trace(module)
    constants, computes = _constants_of(traced, skip_folding_node_fn)
    if not computes:
        return FoldedGraphModule(traced, traced.graph)

    split = split_module(traced, module, lambda node: 0 if node in constants else 1)
    constant = getattr(split, _CONSTANT)
    rest = getattr(split, _REST, None)
    for part in (rest, constant):
        for node in () if part is None else part.graph.nodes:
            if node.op == "call_module":
                setattr(split, node.target, getattr(part, node.target))

    # What the partition takes as arguments are attributes of the module.
    call = _call_of(split, _CONSTANT)
    if call is None:
        raise AssertionError("Could not find call_module node for const_gm")
    folding = torch.fx.GraphModule(split, constant.graph)
    several = False
    arguments = iter(call.args)
    for node in folding.graph.nodes:
        if node.op == "output":
            several = isinstance(node.args[0], tuple)
        elif node.op == "placeholder":
            argument = next(arguments)
            if argument.op != "get_attr":
                raise AssertionError(f"Expected get_attr, got {argument.op}")
            with folding.graph.inserting_before(node):
                attribute = folding.graph.get_attr(argument.target)
            attribute.meta = node.meta.copy()
            node.replace_all_uses_with(attribute)
            folding.graph.erase_node(node)

    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    setattr(split, name, torch.nn.ParameterList() if several else torch.nn.Parameter())
    with split.graph.inserting_before(call):
        folded = split.graph.get_attr(name)
    folded.meta = call.meta.copy()
    call.replace_all_uses_with(folded)
    if rest is not None:
        _inline_module(split, _REST, is_impure_node=is_impure_node)
    split.graph.eliminate_dead_code(is_impure_node=is_impure_node)
    return FoldedGraphModule(split, split.graph, folding.graph, name, device_for_folded_attrs)
