"""A graph as a module: its `forward` runs the code written for the graph.

A graph that the compiler made runs natively as long as nobody has edited it and called `recompile`.
"""

import copy
import re

import torch
from torch.fx.graph import Graph
from torch.fx.node import Node
from torch.nn import Module


def _put(target, name, value):
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        target.register_buffer(name, value)
    else:
        setattr(target, name, value)


def _copy_attribute(source, target, path):
    """Lets `target` hold what `source` holds at a path, with the modules on the way."""
    *prefix, name = path.split(".")
    for atom in prefix:
        below = getattr(source, atom)
        if getattr(target, atom, None) is below:
            return
        if not hasattr(target, atom):
            setattr(target, atom, Module())
        source, target = below, getattr(target, atom)
    _put(target, name, getattr(source, name))


def _assign(value, target, path):
    *prefix, name = path.split(".")
    for atom in prefix:
        if not hasattr(target, atom):
            setattr(target, atom, Module())
        target = getattr(target, atom)
    _put(target, name, value)


def _indented(text, spaces):
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])


def _expanded(source):
    """A function's source with a line for each of its arguments."""
    head, name, rest = source.partition("def forward(")
    found = re.match(r'((?:"[^"]*"|[^")])*)\)', rest)
    if not name or found is None:
        return source
    arguments = re.findall(r'(?:"[^"]*"|[^",])+', found.group(1))
    return f"{head}{name}\n{''.join(f'    {argument.strip()},\n' for argument in arguments)}){rest[found.end():]}"


class GraphModule(Module):
    """A module whose `forward` is written from `graph`; parameters and submodules that the graph names are `root`'s."""

    def __new__(cls, *args, **kwargs):
        # Each has a class of its own, because each has a `forward` of its own.
        base = next((c for c in cls.__mro__ if "_graph_module_impl" not in c.__dict__), cls)

        class GraphModuleImpl(base):
            _graph_module_impl = True

        GraphModuleImpl.__module__ = "torch.fx.graph_module"
        return Module.__new__(GraphModuleImpl)

    def __init__(self, root, graph, class_name="GraphModule", *, _native=None):
        super().__init__()
        self.__dict__["_native"] = _native
        type(self).__name__ = class_name
        if _native is not None:
            self.__dict__["_graph"] = self.__dict__["_code_text"] = None
            self.meta = {}
            return
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attribute(root, self, node.target)
        elif isinstance(root, dict):
            wanted = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
            for path in wanted:
                if path not in root:
                    raise RuntimeError(f"Node target {path} was referenced but was not provided in ``root``!")
            for path in sorted(wanted, key=lambda path: path.count(".")):
                _assign(root[path], self, path)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        if isinstance(root, GraphModule):
            self.__dict__["_made_from"] = root._native or root.__dict__.get("_made_from")
        self.meta = dict(getattr(root, "meta", {}) if not isinstance(root, dict) else {})
        self.graph = graph

    @property
    def graph(self):
        """The graph; after editing it, call `recompile`."""
        if self.__dict__["_graph"] is None:
            from torch.fx._native_graph import python_graph

            graph, constants = python_graph(self._native, self.__dict__.get("_functions", ()))
            for path, value in constants.items():
                _assign(value, self, path)
            graph.owning_module = self
            self.__dict__["_graph"] = graph
            self.__dict__["_built"] = graph._version
        return self.__dict__["_graph"]

    @graph.setter
    def graph(self, graph):
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self.__dict__["_graph"] = graph
        self.__dict__["_built"] = -1
        graph.owning_module = self
        self.recompile()

    def recompile(self):
        """Writes `forward` anew from the graph as it is now."""
        graph = self.graph
        if self._native is not None and graph._version == self.__dict__["_built"]:
            return None
        self.__dict__["_made_from"] = self._native or self.__dict__.get("_made_from")
        self.__dict__["_native"] = None
        written = graph.python_code("self")
        self.__dict__["_code_text"] = written.src
        names = dict(written.globals)
        exec(compile(written.src, f"<eval_with_key>.{_next_key()}", "exec"), names)
        type(self).forward = names["forward"]
        return written

    @property
    def code(self):
        """The code of `forward`."""
        if self.__dict__["_code_text"] is None:
            trees = self._native is not None and self._native.takes_trees
            self.__dict__["_code_text"] = self._native.code if trees else self.graph.python_code("self").src
        return self.__dict__["_code_text"]

    _code = code

    def forward(self, *args):
        return self._native(*args)

    def __call__(self, *args, **kwargs):
        if self._native is not None and not kwargs and not self.__dict__.get("_runs_code", False):
            return self._native(*args)
        return super().__call__(*args, **kwargs)

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False, *, expanded_def=False, **_):
        """Prints the code with types and the lines of the script it came from; returns the text. `expanded_def`: a line for each argument."""
        if self._native is not None and not expanded_def:
            text = self._native.print_readable(False, include_stride=include_stride, include_device=include_device)
        else:
            text = self._readable(type(self).__name__, include_stride, include_device, expanded_def)
        if print_output:
            print(text)
        return text

    def _readable(self, name, strides, devices, expanded=False):
        source = self.graph.python_code("self", verbose=True, include_stride=strides, include_device=devices).src
        if expanded:
            source = _expanded(source)
        text = _indented(f"class {name}(torch.nn.Module):\n" + source.lstrip("\n"), 4)
        below = [c._readable(n, strides, devices) for n, c in self.named_children() if isinstance(c, GraphModule)]
        return text + _indented("\n".join(["", *below]), 4)

    def add_submodule(self, target, m):
        """Adds a module at a path; whether that could be done."""
        *prefix, name = target.split(".")
        at = self
        for atom in prefix:
            if not hasattr(at, atom):
                setattr(at, atom, Module())
            at = getattr(at, atom)
            if not isinstance(at, Module):
                return False
        at.add_module(name, m)
        return True

    def delete_submodule(self, target):
        """Removes the module at a path; whether there was one."""
        *prefix, name = target.split(".")
        at = self._find_submodule(".".join(prefix))
        if at is None or not isinstance(getattr(at, name, None), Module):
            return False
        delattr(at, name)
        return True

    def _find_submodule(self, path):
        try:
            return self.get_submodule(path)
        except AttributeError:
            return None

    def delete_all_unused_submodules(self):
        """Removes the modules that the graph neither calls nor reads."""
        used = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                atoms = node.target.split(".")
                used.update(".".join(atoms[: i + 1]) for i in range(len(atoms)))
                if node.op == "call_module":
                    called = self._find_submodule(node.target)
                    used.update(f"{node.target}.{name}" for name, _ in called.named_modules() if name)
        for name, _ in list(self.named_modules()):
            if name and name not in used:
                self.delete_submodule(name)

    def __deepcopy__(self, memo):
        holder = Module()
        for name, value in self.__dict__.items():
            if name not in ("_graph", "_native", "_code_text", "_built"):
                holder.__dict__[name] = copy.deepcopy(value, memo)
        made = GraphModule(holder, copy.deepcopy(self.graph), type(self).__name__)
        made.meta = dict(self.meta)
        return made

    def __copy__(self):
        made = GraphModule(self, self.graph, type(self).__name__)
        made.meta = self.meta
        return made

    def __str__(self):
        reminder = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self.code, reminder])


_keys = iter(range(1 << 62))


def _next_key():
    return next(_keys)


def _run_code(module, source, functions):
    """Has a module over a native graph run Python code for it: its calls are functions that the native graph does not know."""
    names = dict(functions, torch=torch, device=torch.device, inf=float("inf"), nan=float("nan"))
    exec(compile(source.strip("\n ") + "\n", f"<eval_with_key>.{_next_key()}", "exec"), names)
    type(module).forward = names["forward"]
    module.__dict__["_runs_code"] = True
    # The graph names a function once, by its name; the code has a name for each.
    module.__dict__["_functions"] = {name.partition("__call_")[0]: function for name, function in functions.items()}


def of_native(native):
    """A graph of the compiler's as a script sees it."""
    return GraphModule(None, None, native.class_name, _native=native)


__all__ = ["GraphModule", "Node"]
