"""`torch.export.unflatten`: an exported program as modules that call each other, as those did that it was made from.

The flat graph is cut along the calls of modules (`_outline.py`); parameters, buffers and constants are put back where they were and read
there instead of being handed down (`_state.py`). Modules that were called more than once have a graph per call; calls whose graphs are equal
share one, and where a call's signature was kept, one module stands for all of them and runs the next graph at each call."""

import copy
import re

import torch
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule, _indented
from torch.fx.interpreter import Interpreter
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from ._input_checks import check_inputs

__all__ = ["FlatArgsAdapter", "InterpreterModule", "InterpreterModuleDispatcher", "UnflattenedModule", "unflatten"]


class _Typed:
    """A module that says of which class the one was that it stands for."""

    def type_name(self):
        """The name of that class."""
        return self._ty


def _print_readable(module, name, print_output, include_stride, include_device):
    source = module.graph.python_code("self", verbose=True, include_stride=include_stride, include_device=include_device).src
    text = _indented(f"class {name}(torch.nn.Module):\n" + source.lstrip("\n"), 4)
    below = [child._readable(path, include_stride, include_device) for path, child in module.named_children() if isinstance(child, GraphModule)]
    text += _indented("\n".join(["", *below]), 4)
    if print_output:
        print(text)
    return text


class InterpreterModule(_Typed, torch.nn.Module):
    """One call of a module as a graph, run node by node."""

    def __init__(self, graph, ty=None):
        super().__init__()
        self.graph, self._ty = graph, ty
        graph.owning_module = self

    def forward(self, *args, **kwargs):
        if kwargs:
            wanted = self.arg_names[len(args) :]
            args = (*args, *(kwargs[name] for name in wanted if name in kwargs))
            if len(wanted) != len(kwargs):
                raise AssertionError(f"kwarg_names length {len(wanted)} does not match kwargs length {len(kwargs)}")
            if len(args) != len(self.arg_names):
                raise AssertionError(f"arg_list length {len(args)} does not match arg_names length {len(self.arg_names)}")
        if torch.compiler.is_dynamo_compiling():
            return type(self.graph_module).forward(self, *args)
        return Interpreter(self, graph=self.graph).run(*args, enable_io_processing=False)

    def finalize(self):
        """Writes the code, once the graph is done."""
        self.__dict__["graph_module"] = GraphModule(self, self.graph)
        self.graph.owning_module = self
        self.graph.lint()
        self.arg_names = [node.target for node in self.graph.find_nodes(op="placeholder")]

    _find_submodule = GraphModule._find_submodule

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False):
        """Prints the code with types and lines; returns the text."""
        return _print_readable(self, "InterpreterModule", print_output, include_stride, include_device)


class InterpreterModuleDispatcher(_Typed, torch.nn.Module):
    """The calls of one module, in turn."""

    def __init__(self, attrs, call_modules):
        super().__init__()
        if not call_modules:
            raise AssertionError("call_modules must not be empty")
        self._modules = call_modules[0]._modules
        for name in attrs:
            setattr(self, name, getattr(call_modules[0], name))
        self._ty, self._call_modules, self._num_calls = call_modules[0]._ty, call_modules, 0

    def forward(self, *args, **kwargs):
        called = self._call_modules[self._num_calls]
        self._num_calls = (self._num_calls + 1) % len(self._call_modules)
        try:
            return called(*args, **kwargs)
        except Exception:
            self._num_calls = 0
            raise

    def call_modules(self):
        """The module of each call."""
        return self._call_modules

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False):
        """Prints the code of each call; returns the texts."""
        return "\n".join(each.print_readable(print_output, include_stride, include_device, colored) for each in self._call_modules)


class FlatArgsAdapter:
    """Makes of arguments that are trees of another kind those that a program takes: a script overrides `adapt`."""

    def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
        """The leaves that the program takes."""
        raise NotImplementedError

    def get_flat_arg_paths(self):
        """Where each of them is found, for messages."""
        return []


class UnflattenedModule(_Typed, torch.nn.Module):
    """A program as modules."""

    def __init__(self, export_module, flat_args_adapter=None):
        from ._outline import Outline, expose_writes, stacks_that_nest
        from ._state import assign_state, read_state_in_place

        super().__init__()
        if export_module.graph_signature.backward_signature is not None:
            raise ValueError("Unflattening on JointExportModule NYI")
        flat = copy.deepcopy(export_module.graph)
        self.graph_signature = copy.deepcopy(export_module.graph_signature)
        self.graph = Graph()
        self.graph.owning_module = self
        self.module_call_graph = copy.deepcopy(export_module.module_call_graph)
        self.flat_args_adapter, self.adapted = flat_args_adapter, False
        self.meta = export_module.graph_module.meta
        self.meta["unflattened_module"] = self
        expose_writes(flat, self.graph_signature)
        stacks_that_nest(flat)
        stacks = (node.meta.get("nn_module_stack", {}) for node in flat.nodes)
        self._ty = next((ty for stack in stacks for path, ty in stack.values() if not path), None)
        outline = Outline(flat, self)
        for path, names in outline.attributes.items():
            module = self.get_submodule(path)
            for name in names:
                setattr(module, name, getattr(export_module.graph_module, name))
        self.range_constraints, self.equality_constraints = export_module.range_constraints, []
        names, constants = assign_state(self, export_module)
        read_state_in_place(self, names, [], {})
        redirected = _share_equal(outline.calls.values())
        self._dispatch(redirected, constants)
        self.input_placeholders = self.graph.find_nodes(op="placeholder")
        self.check_input_constraints = True
        order = {entry.fqn: i for i, entry in enumerate(e for e in self.module_call_graph if e.fqn not in redirected and "@" not in e.fqn)}
        for name, _ in self.named_modules(remove_duplicate=False):
            order.setdefault(name, len(order))
        for path in list(order)[1:]:
            _with_modules_on_the_way(self, path)
        _reorder(self, order)
        self.graph.lint()
        self.finalize()

    _find_submodule = GraphModule._find_submodule

    def finalize(self):
        """Writes the code, once the graph is done."""
        self.__dict__["graph_module"] = GraphModule(self, self.graph)
        self.graph.owning_module = self
        self.graph.lint()

    def _dispatch(self, redirected, constants):
        """One module in place of those of the calls whose signature was kept; calls of it go without their numbers."""
        called = {}
        for entry in self.module_call_graph:
            if entry.fqn and entry.signature:
                base, _, number = entry.fqn.partition("@")
                called.setdefault(base, []).append((int(number or 0), _attribute(self, redirected.get(entry.fqn, entry.fqn))))
        attributes = {}
        for target in constants:
            path, _, name = target.rpartition(".")
            attributes.setdefault(path, set()).add(name)
        for path, numbered in called.items():
            modules = [module for _, module in sorted(numbered, key=lambda pair: pair[0])]
            if len(modules) == 1:
                continue
            for number in range(1, len(modules)):
                call = f"{path}@{number}"
                if call not in redirected:
                    above, _, name = call.rpartition(".")
                    self.get_submodule(above)._modules.pop(name)
            self.set_submodule(path, InterpreterModuleDispatcher(attributes.get(path, ()), modules))
        for prefix, module in self.named_modules(remove_duplicate=False):
            for each in getattr(module, "_call_modules", [module]):
                for node in each.graph.find_nodes(op="call_module") if hasattr(each, "graph") else ():
                    path = node.target.split("@")[0]
                    if (f"{prefix}.{path}" if prefix else path) in called:
                        node.target = path

    def _adapt_flat_args(self, flat_args, in_spec, given):
        wanted = self.module_call_graph[0].signature.in_spec
        if in_spec == wanted:
            return flat_args
        if self.flat_args_adapter is None:
            raise TypeError("There is no flat args adapter specified. Are you sure you are calling this with the right arguments? ")
        adapted = self.flat_args_adapter.adapt(
            target_spec=wanted, input_spec=in_spec, input_args=flat_args, metadata=self.meta, obj=given
        )
        if len(adapted) != wanted.num_leaves:
            raise TypeError(f"Flat args adaption failed, number of args mismatch Adapted: {len(adapted)} \nExported module: {wanted.num_leaves}")
        return adapted

    def process_forward_inputs(self, *args, **kwargs):
        """The leaves of arguments, checked."""
        wanted = self.module_call_graph[0].signature.in_spec
        if kwargs:
            kwargs = _in_order(kwargs, wanted.child(1).context)
        leaves, spec = tree_flatten((args, kwargs))
        if spec != wanted:
            if not self.adapted:
                print(
                    f"Input treespec does not match with exported module's: \nInput treespec: {spec}. ", f"Exported module treespec: {wanted}"
                )
                print("Adapting flat arg to match exported module's treespec")
            leaves = self._adapt_flat_args(leaves, spec, args)
            self.adapted = True
        if self.check_input_constraints:
            paths = self.flat_args_adapter.get_flat_arg_paths() if self.adapted and self.flat_args_adapter else None
            check_inputs(self.input_placeholders, leaves, wanted, self.range_constraints, paths)
        return leaves

    def forward(self, *args, **kwargs):
        leaves = self.process_forward_inputs(*args, **kwargs)
        if torch.compiler.is_dynamo_compiling():
            given = type(self.graph_module).forward(self, *leaves)
        else:
            given = Interpreter(self, graph=self.graph).run(*leaves, enable_io_processing=False)
        return tree_unflatten(given, self.module_call_graph[0].signature.out_spec)

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False):
        """Prints the code of the outermost module with types and lines; returns the text."""
        return _print_readable(self, "UnflattenedModule", print_output, include_stride, include_device)


def _attribute(module, path):
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _in_order(kwargs, names):
    if set(kwargs) != set(names):
        raise ValueError(f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but expected {names}")
    return {name: kwargs[name] for name in names}


def _written(graph):
    """A graph as a text that does not name values."""
    numbers, lines = {}, []
    for i, node in enumerate(graph.nodes):
        told = lambda arg: f"%{numbers[arg]}" if isinstance(arg, torch.fx.Node) else str(arg)
        args = [str(arg) for arg in tree_map(told, node.args)]
        args += [f"{name}={arg}" for name, arg in tree_map(told, node.kwargs).items()]
        lines.append(f"{node.op}[{node.target if node.op in ('call_function', 'get_attr') else ''}]({', '.join(args)})")
        numbers[node] = i
    return "\n".join(lines)


def _share_equal(calls):
    """Lets calls of one module whose graphs are equal share it; by the names of calls that are gone, those that serve them."""
    redirected = {}
    for of_one in calls:
        texts = [_written(call.module.graph) for call in of_one]
        for i, call in enumerate(of_one):
            shared = False
            for before, text in zip(of_one[:i], texts):
                if text != texts[i]:
                    continue
                if before.path == call.path:
                    above, _, name = call.accessor.rpartition(".")
                    call.parent.get_submodule(above)._modules.pop(name)
                    call.node.target = before.accessor_from(call.parent_path)
                    redirected[call.name] = before.name
                    break
                if not shared:
                    call.parent.set_submodule(call.accessor, before.module)
                    shared = True
    return redirected


def _with_modules_on_the_way(root, path):
    module = root
    for name in path.split("."):
        if getattr(module, name, None) is None:
            module.add_module(name, torch.nn.Module())
        module = getattr(module, name)
        if not isinstance(module, torch.nn.Module):
            return


def _reorder(parent, order, prefix=""):
    """Puts children into the order of the modules that they stand for."""
    children = []
    for name, child in list(parent._modules.items()):
        if child is None:
            continue
        path = prefix + name
        base = re.sub("@.*", "", path)
        _reorder(child, order, base + ".")
        del parent._modules[name]
        children.append((order.get(path, order.get(base, len(order))), name, child))
    for _, name, child in sorted(children, key=lambda each: each[0]):
        parent._modules[name] = child


def unflatten(module, flat_args_adapter=None):
    """A program as a module with the modules below it that it was exported from."""
    return UnflattenedModule(module, flat_args_adapter)
