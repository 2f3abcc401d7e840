"""A program as a list of nodes: built, edited, checked, printed, and written as Python code."""

import builtins
import enum
import keyword
import math
import re
from collections import namedtuple
from dataclasses import dataclass

import torch
from torch.fx import _pytree as fx_pytree
from torch.fx.node import Node, map_arg, qualified_name, type_repr
from torch.utils._dtype_abbrs import dtype_abbrs

_SYMBOLS = {
    "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=",
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**",
    "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "matmul": "@",
}  # fmt: skip
_PREFIXES = {"pos": "+", "neg": "-", "invert": "~"}
_IN_PLACE = {"i" + name.rstrip("_"): symbol + "=" for name, symbol in _SYMBOLS.items() if name not in ("eq", "ne", "lt", "gt", "le", "ge")}

magic_methods = {
    **{name: f"{{}} {symbol} {{}}" for name, symbol in _SYMBOLS.items()},
    **{name: f"{symbol}{{}}" for name, symbol in _PREFIXES.items()},
    "getitem": "{}[{}]",
}
inplace_methods = {**{name: f"{{}} {symbol} {{}}" for name, symbol in _IN_PLACE.items()}, "setitem": "{}[{}] = {}"}


class _Names:
    """Names in use; a name asked for twice gets a number."""

    def __init__(self):
        self.used = set()
        self.counts = {}

    def create(self, candidate):
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        base, number = re.match(r"^(.*?)(?:_(\d+))?$", candidate).groups()
        if not base:
            base, number = candidate, None
        if number is None or candidate in self.used:
            count = self.counts.get(base, 0)
            if candidate in _TAKEN:
                count += 1
                candidate = f"{base}_{count}"
        else:
            count = int(number)
        while candidate in self.used:
            count += 1
            candidate = f"{base}_{count}"
        self.used.add(candidate)
        self.counts[base] = count
        return candidate


_TAKEN = {*keyword.kwlist, *dir(builtins), "torch", "inf", "nan", "NoneType", "device", "fx_pytree", "pytree"}


def _snake_case(name):
    return re.sub("(?<=[a-z])([A-Z])", r"_\1", name).lower()


@dataclass
class PythonCode:
    """The source of `forward` and the objects it names."""

    src: str
    globals: dict


class _NodeList:
    """The nodes of a graph in order; they may be edited while it is walked."""

    def __init__(self, graph, direction="_next"):
        self._graph = graph
        self._direction = direction

    def __len__(self):
        return self._graph._len

    def __iter__(self):
        root = self._graph._root
        node = getattr(root, self._direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self._direction)

    def __reversed__(self):
        return _NodeList(self._graph, "_prev" if self._direction == "_next" else "_next")


class _InsertPoint:
    """Where new nodes go, until the block ends."""

    def __init__(self, graph, insert):
        self._graph, self._before = graph, graph._insert
        graph._insert = insert

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._graph._insert = self._before


class CodeGen:
    """How code starts and ends; the default is a `forward` of plain arguments."""

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        return f"def forward({', '.join(['self', *free_vars])}){maybe_return_annotation}:"

    def generate_output(self, output_args):
        return f"return {output_args}"

    def process_inputs(self, *args):
        return args

    def process_outputs(self, outputs):
        return outputs


_PyTreeInfo = namedtuple("_PyTreeInfo", ["orig_args", "in_spec", "out_spec"])


class _PyTreeCodeGen(CodeGen):
    """A `forward` of arguments that are trees: it spreads them out, and puts what it returns together.

    With `keywords`, what is spread out are the arguments given by place and those given by name.
    """

    def __init__(self, arguments, names, in_spec, out_spec, keywords=None):
        self.arguments, self.names, self.keywords = arguments, names, keywords
        self.in_spec, self.out_spec = in_spec, out_spec

    @property
    def pytree_info(self):
        """What the trees are."""
        return _PyTreeInfo([*self.arguments, *(self.keywords or ())], self.in_spec, self.out_spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        head = f"def forward({', '.join(['self', *self.arguments, *(self.keywords or ())])}){maybe_return_annotation}:"
        typed = [var for var in free_vars if ":" in var]
        lines = [head, *([f"    {'; '.join(typed)};", ""] if typed else [])]
        tree = f"[{', '.join(self.arguments)}]"
        if self.keywords is not None:
            tree = f"({tree}, {{{', '.join(f'{name!r}:{name}' for name in self.keywords)}}})"
        return "\n".join([*lines, f"    {', '.join(self.names)}, = fx_pytree.tree_flatten_spec({tree}, self._in_spec)"])

    def generate_output(self, output_args):
        return f"return pytree.tree_unflatten({output_args}, self._out_spec)"

    def process_inputs(self, *args):
        if self.keywords is not None:
            count = len(self.arguments)
            args = (args[:count], dict(zip(self.keywords, args[count:])))
        return torch.utils._pytree.tree_flatten(args)[0]

    def process_outputs(self, outputs):
        return torch.utils._pytree.tree_unflatten(outputs, self.out_spec)


class Graph:
    """Nodes in the order they run. New ones go to the insertion point, which is the end."""

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self.owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._version = 0
        self._names = _Names()
        self._len = 0
        self._codegen = CodeGen()
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._version = 0

    def _changed(self):
        self._version += 1

    @property
    def nodes(self):
        """All nodes, in order."""
        return _NodeList(self)

    def output_node(self):
        """The node that says what is returned."""
        last = next(iter(reversed(self.nodes)))
        if last.op != "output":
            raise AssertionError(f"Expected output node, got {last.op}")
        return last

    def find_nodes(self, *, op, target=None, sort=True):
        """Nodes of a kind, and of a target for calls of functions."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """A node at the insertion point, its name made unique."""
        if op not in ("call_function", "call_method", "get_attr", "call_module", "placeholder", "output"):
            raise AssertionError(f"Unknown op: {op}")
        args, kwargs = args or (), kwargs or {}
        for read in _nodes_of((args, kwargs)):
            if read.graph is not self:
                raise AssertionError(f"Argument '{read}' of Node '{name or target}' does not belong to this Graph, but was used as an argument!")
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            wanted = "Callable" if op == "call_function" else "str"
            raise ValueError(
                f"Node [graph = {self}, name = '{name or target}'] target {target} has type {torch.typename(target)} but a {wanted} is expected"
            )
        unique = self._names.create(name if name is not None else _snake_case(self._target_to_str(target)))
        node = Node(self, unique, op, target, args, kwargs, type_expr)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target):
        if isinstance(target, str):
            return re.sub(r"^__(.*)__$", r"\1", target)
        return re.sub(r"^__(.*)__$", r"\1", target.__name__)

    def erase_node(self, to_erase):
        """Removes a node that nobody reads."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._unlink()
        to_erase._erased = True
        self._len -= 1
        to_erase._set((), {})

    def inserting_before(self, n=None):
        """New nodes go in front of `n`, or of all nodes; within the block, or for good where there is none."""
        return _InsertPoint(self, n.prepend if n is not None else self._root.append)

    def inserting_after(self, n=None):
        """New nodes go right behind `n`, or behind all nodes; within the block, or for good where there is none."""
        return _InsertPoint(self, n.append if n is not None else self._root.prepend)

    def placeholder(self, name, type_expr=None, default_value=None):
        """An input."""
        args = () if default_value is None else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """A parameter, buffer or submodule's attribute, by its path in the module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A call of a submodule, by its path."""
        if self.owning_module and self.owning_module._find_submodule(module_name) is None:
            import warnings

            warnings.warn(
                "Attempted to insert a call_module Node with "
                "no underlying reference in the owning "
                "GraphModule! Call "
                "GraphModule.add_submodule to add the "
                "necessary submodule"
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result, type_expr=None):
        """What is returned."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node, arg_transform=lambda x: x):
        """A copy of a node of another graph, reading what `arg_transform` gives for each it read."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copy = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copy.meta, copy._written = dict(node.meta), node._written
        return copy

    def graph_copy(self, g, val_map, return_output_node=False):
        """Copies another graph's nodes here, `val_map` says what stands for which; returns what the other returns."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo=None):
        copy = Graph(tracer_cls=self._tracer_cls)
        copy._codegen = self._codegen
        values = {}
        for node in self.nodes:
            values[node] = copy.node_copy(node, lambda n: values[n])
        return copy

    def set_codegen(self, codegen):
        """Lets another `CodeGen` write the code."""
        self._codegen = codegen
        self._changed()

    def process_inputs(self, *args):
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        return self._codegen.process_outputs(out)

    def lint(self):
        """Checks that names are unique, arguments stand before their readers, and attributes exist."""
        seen, names = set(), set()
        for node in self.nodes:
            for read in node._input_nodes:
                if read.graph is not self:
                    raise RuntimeError(f"Argument '{read}' of Node '{node}' does not belong to this Graph, but was used as an argument!")
                if read not in seen:
                    raise RuntimeError(
                        f"Argument '{read}' of Node '{node}' was used before it has been defined! Please check that Nodes in the graph are topologically ordered\n{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if node.op == "call_function" and not callable(node.target):
                raise ValueError(f"Node {node} target {node.target} has type {type(node.target)} but a Callable is expected")
            if node.op not in ("call_function",) and not isinstance(node.target, str):
                raise ValueError(f"Node {node} target {node.target} has type {type(node.target)} but a str is expected")
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                found = self.owning_module
                for atom in node.target.split("."):
                    if not hasattr(found, atom):
                        raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {atom} of {' '.join(node.target.split('.')[:-1])}")
                    found = getattr(found, atom)

    def eliminate_dead_code(self, is_impure_node=None, *, impure_random=True):
        """Removes nodes that nobody reads and that do nothing else; whether there were any."""
        self.lint()
        impure = is_impure_node if is_impure_node is not None else lambda node: node.is_impure()
        changed = False
        for node in list(reversed(self.nodes)):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def __str__(self):
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def print_tabular(self):
        """Prints the nodes as a table."""
        rows = [[n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in self.nodes]
        head = ["opcode", "name", "target", "args", "kwargs"]
        widths = [max(len(line) for cell in column for line in cell.split("\n")) for column in zip(head, *rows)]
        # A column is two wider than its heading at least.
        widths = [max(width, len(title) + 2) for width, title in zip(widths, head)]
        for row in [head, ["-" * width for width in widths], *rows]:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())

    def python_code(self, root_module="self", *, verbose=False, include_stride=False, include_device=False, **_):
        """The graph as the source of a `forward`."""
        return _Writer(self, root_module, verbose, include_stride, include_device).write()


def _nodes_of(args):
    found = []
    map_arg(args, found.append)
    return found


class _Writer:
    """Writes a graph's code: every value is released on the line of its last reader."""

    def __init__(self, graph, root, verbose, strides, devices):
        self.graph = graph
        self.root = root
        self.verbose, self.strides, self.devices = verbose, strides, devices
        self.globals = {"inf": math.inf, "nan": math.nan, "NoneType": type(None), "torch": torch, "device": torch.device}
        self.globals["fx_pytree"] = self.globals["pytree"] = None
        self.lines = []
        self.wrapped = {}
        self.inputs = []
        self.returns = ""

    def name_of(self, obj, name):
        """What the code calls an object: its path below torch, else a global of its own."""
        if getattr(obj, "__module__", None) == "builtins" and hasattr(builtins, name):
            return name
        if name.split(".")[0] == "torch":
            return name
        short = re.sub("[^0-9a-zA-Z_]+", "_", name)
        unique, number = short, 0
        while self.globals.get(unique, obj) is not obj:
            number += 1
            unique = f"{short}_{number}"
        self.globals[unique] = obj
        return unique

    def value(self, arg):
        if isinstance(arg, Node):
            return arg.name
        if isinstance(arg, tuple) and hasattr(arg, "_make"):
            return f"{self.name_of(type(arg), qualified_name(type(arg)))}{tuple(arg)!r}"
        if isinstance(arg, tuple):
            return f"({', '.join(map(self.value, arg))}{',' if len(arg) == 1 else ''})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.value, arg))}]"
        if isinstance(arg, slice):
            return f"slice({self.value(arg.start)}, {self.value(arg.stop)}, {self.value(arg.step)})"
        if isinstance(arg, dict):
            return "{" + ", ".join(f"{key!r}: {self.value(item)}" for key, item in arg.items()) + "}"
        if isinstance(arg, enum.Enum):
            return f"{self.name_of(type(arg), type(arg).__name__)}.{arg.name}"
        if isinstance(arg, torch.Tensor):
            return f"torch.Tensor(size={list(arg.size())}, dtype={str(arg.dtype).split('.')[-1]})"
        if type(arg).__name__ == "OpOverload" or isinstance(arg, type) or (callable(arg) and hasattr(arg, "__name__")):
            name = type_repr(arg) if isinstance(arg, type) else qualified_name(arg)
            return self.name_of(arg, name)
        return repr(arg)

    def arguments(self, args, kwargs):
        return ", ".join([*map(self.value, args), *(f"{name} = {self.value(item)}" for name, item in kwargs.items())])

    def annotation(self, node):
        if not self.verbose:
            return "" if node.type is None else f" : {self.name_of(node.type, type_repr(node.type))}"
        meta, written = node.meta, node._written
        value = meta.get("val", meta.get("tensor_meta", meta.get("example_value")))
        if isinstance(written, str):
            return f': "Sym({written})"'
        shape, stride = written or (getattr(value, "shape", None), None)
        if shape is None:
            if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                return f': "Sym({value})"'
            return "" if node.type is None else f" : {type_repr(node.type)}"
        listed = lambda sizes: f"[{', '.join(map(str, sizes))}]"
        text = dtype_abbrs[value.dtype] + listed(shape)
        text += listed(stride or value.stride()) if self.strides and isinstance(value, torch.Tensor) else ""
        text += str(value.device) if self.devices and isinstance(value, torch.Tensor) else ""
        return f': "{text}"'

    def call(self, node):
        assigned = f"{node.name}{self.annotation(node)} = "
        if node.op == "call_method":
            of = self.value(node.args[0])
            return f"{assigned}{_attribute(of, node.target)}({self.arguments(node.args[1:], node.kwargs)})"
        if node.op == "call_module":
            return f"{assigned}{_attribute(self.root, node.target)}({self.arguments(node.args, node.kwargs)})"
        if node.op == "get_attr":
            return f"{assigned}{_attribute(self.root, node.target)}"
        target = node.target
        if getattr(target, "__module__", "") == "_operator":
            if target.__name__ in magic_methods and not node.kwargs:
                return assigned + magic_methods[target.__name__].format(*map(self.value, node.args))
            if target.__name__ in inplace_methods:
                done = inplace_methods[target.__name__].format(*map(self.value, node.args))
                return f"{done};  {assigned}{self.value(node.args[0])}"
        if target is getattr and len(node.args) == 2 and str(node.args[1]).isidentifier():
            return assigned + _attribute(self.value(node.args[0]), node.args[1])
        name = self.name_of(target, qualified_name(target))
        if node.meta.get("is_wrapped"):
            self.wrapped[name] = None
        return f"{assigned}{name}({self.arguments(node.args, node.kwargs)})"

    def comment(self, node):
        meta = node.meta
        text = "No stacktrace found for following nodes"
        end = r"(?:\n[ ~^]*)?(?:\nGradient addition node .*)?\s*$"
        found = re.search(r'File "(.*)", line (\d+), in (.*)\n *(.*)' + end, node.stack_trace or "")
        if found:
            file, line, function, code = found.groups()
            text = f"File: {file}:{line} in {function}, code: {code.strip()}"
            if meta.get("autograd_backward"):
                text = f"Backward of forward node: {text}"
        tag, region = meta.get("recompute"), meta.get("ac_graph_id")
        marks = [f"ac_graph_id: {region}"] if region is not None else []
        if tag is not None:
            marks = [f"{marks[0]} - {tag.name}" if marks else f"recompute: {tag.name}"]
        if meta.get("custom"):
            shown = {key: value if len(str(value)) <= 40 else str(value)[:40] + "..." for key, value in meta["custom"].items()}
            marks.append(f"Annotation: {shown}")
        return " ".join(["#", *marks, text])

    def write(self):
        released, read = {}, set()
        for node in reversed(self.graph.nodes):
            for used in node._input_nodes:
                if used not in read:
                    read.add(used)
                    released.setdefault(node, []).append(used)
        place = None
        for node in self.graph.nodes:
            if self.verbose and node.op not in ("placeholder", "output"):
                here = self.comment(node)
                if here != place:
                    self.lines += ["", here]
                    place = here
            if node.op == "placeholder":
                default = f" = {self.value(node.args[0])}" if node.args else ""
                self.inputs.append(f"{node.target}{self.annotation(node)}{default}")
                raw = node.target.replace("*", "")
                if raw != node.name:
                    self.lines.append(f"{node.name} = {raw}")
                continue
            if node.op == "output":
                if node.type is not None:
                    self.returns = f" -> {self.name_of(node.type, type_repr(node.type))}"
                self.lines.append(self.graph._codegen.generate_output(self.value(node.args[0])))
                continue
            last = [*released.get(node, []), *([] if node.users else [node])]
            gone = ";  " + " = ".join([*(n.name for n in last), "None"]) if last else ""
            self.lines.append(self.call(node) + gone)
        lines = self.lines or ["pass"]
        lines = lines[1:] if lines[0] == "" else lines
        head = self.graph._codegen.gen_fn_def(self.inputs, self.returns)
        body = "".join(f"    {line}\n" if line else "\n" for line in lines)
        if isinstance(self.graph._codegen, _PyTreeCodeGen):
            self.globals |= {"fx_pytree": fx_pytree, "pytree": torch.utils._pytree}
        else:
            del self.globals["fx_pytree"], self.globals["pytree"]
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        return PythonCode(f"\n{wraps}\n\n{head}\n{body}    ", self.globals)


def _attribute(base, path):
    text = base
    for atom in path.split("."):
        text = f"{text}.{atom}" if atom.isidentifier() and not keyword.iskeyword(atom) else f'getattr({text}, "{atom}")'
    return text
