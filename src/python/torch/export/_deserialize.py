"""A program of the JSON that PyTorch's files of exported programs have; the way back from `_serialize`.

Values get the names that they have in the file, and look as it says. Names of functions lead to operators and to Python's functions of
numbers, never to anything else."""

import json
import operator
import math

import torch
from torch import _native, _native_fake
from torch.fx.experimental.symbolic_shapes import ShapeEnv, ValueRanges, _Symbol, is_symbolic
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.utils._pytree import tree_flatten
from torch.utils._sympy.numbers import int_oo
from torch.utils._treespecs import treespec_loads

from . import _expressions
from ._serialize import KEYWORD, MEMORY_FORMATS, OUTPUTS, POSITIONAL, SCALAR_TYPES, SCHEMA_VERSION, STRIDED, SerializeError, _SYMBOLIC
from .dynamic_shapes import Dim
from .graph_signature import MUTATIONS, ConstantArgument, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, SymFloatArgument, SymIntArgument, TensorArgument

_DTYPES = {number: name for name, number in SCALAR_TYPES.items()}
_FORMATS = {number: name for name, number in MEMORY_FORMATS.items()}
_OUTPUT_KINDS = {name: (kind, target) for kind, (name, target) in OUTPUTS.items()}


def one_of(told):
    """The kind and the value of what may be one of several."""
    if not isinstance(told, dict) or len(told) != 1:
        raise AssertionError(f"expected dict with 1 key, got {len(told) if isinstance(told, dict) else type(told).__name__}")
    return next(iter(told.items()))


def dtype_of(number):
    """The dtype of a number."""
    if number not in _DTYPES or not hasattr(torch, _DTYPES[number]):
        raise SerializeError(f"the dtype {_DTYPES.get(number, number)} of a program in a file is not available in the playground")
    return _native._dtype(_DTYPES[number])


def device_of(told):
    """A device."""
    return torch.device(told["type"]) if told.get("index") is None else torch.device(told["type"], told["index"])


def function_of(name):
    """The function that a file calls by a name: an operator, or one of symbolic numbers. None where there is none."""
    root, *path = name.split(".")
    if root in ("_operator", "math") and len(path) == 1 or root == "torch" and len(path) == 1:
        home = {"_operator": operator, "math": math, "torch": torch}[root]
        return getattr(home, path[0], None) if path[0] in _SYMBOLIC else None
    if name.startswith("torch.ops.") and len(path) in (3, 4):
        found = torch.ops
        for part in path[1:]:
            found = getattr(found, part, None)
        return found
    return None


class Symbols:
    """The symbols of a program, in an environment of their own."""

    def __init__(self, graph, ranges):
        self.shape_env, self._known = ShapeEnv(), {}
        self.ranges, self.texts, hints = ranges, {}, {}
        for told in _numbers(graph):
            expression = told["expr_str"]
            hint = told.get("hint")
            value = None if hint is None else one_of(hint)[1]
            self.texts[expression] = value
        for text, value in self.texts.items():
            for name in _expressions.names(text):
                hints.setdefault(name, None)
                found = _expressions.line(text, name) if isinstance(value, int) and hints[name] is None else None
                if found is not None and found[0] and (value - found[1]) % found[0] == 0:
                    hints[name] = (value - found[1]) // found[0]
        # Those that only a run knows have names with numbers, in the order in which they were made.
        for name in sorted(hints, key=lambda name: (name[:1] != "u", len(name), name)):
            self._declare(name, hints[name])
        self._written = {*self._known, *(str(self.number(text)) for text in self.texts)}

    def _declare(self, name, hint):
        if name.startswith("z"):
            raise SerializeError(f"the float {name} of a program in a file is not available in the playground")
        lower, upper = self.ranges.get(name, (None, None))
        if not name.startswith("u"):
            lower = max(lower or 0, 2)
            hint = lower if hint is None else hint
        self._known[name] = self.shape_env._symbols.declare(name, hint, lower, upper)

    def __contains__(self, text):
        """Whether a size is written like this."""
        return text in self._written

    def number(self, text):
        """The number of an expression."""
        return _expressions.read(text, lambda name, _: self._known[name])

    def condition_text(self, text):
        """How a comparison is printed."""
        return _expressions.condition_text(text, lambda name, _: self._known[name])

    def sym(self, told):
        """An integer, float or condition, or its expression."""
        kind, value = one_of(told)
        if kind == "as_expr":
            return self.number(value["expr_str"])
        if kind == "as_float":
            return float(value)
        if kind not in ("as_int", "as_bool") or type(value) is not {"as_int": int, "as_bool": bool}[kind]:
            raise SerializeError(f"SymInt has invalid field type {kind} with value {value}")
        return value

    def tensor(self, meta):
        """What stands for a tensor."""
        if meta["layout"] != STRIDED:
            raise SerializeError("layouts of programs in files that are not strided are not available in the playground")
        sizes, strides = [self.sym(n) for n in meta["sizes"]], [self.sym(n) for n in meta["strides"]]
        if len(sizes) != len(strides):
            raise SerializeError("a tensor of the program has not as many strides as sizes")
        offset = self.sym(meta["storage_offset"])
        device = device_of(meta["device"])
        return _native_fake.fake(sizes, strides, offset, dtype_of(meta["dtype"]), device, bool(meta["requires_grad"]))


def _numbers(graph):
    """Every expression of a graph and of those within it."""
    sizes = [n for meta in graph["tensor_values"].values() for n in (*meta["sizes"], *meta["strides"], meta["storage_offset"])]
    values = [*sizes, *graph["sym_int_values"].values(), *graph["sym_bool_values"].values(), *graph.get("sym_float_values", {}).values()]
    for told in values:
        kind, value = one_of(told)
        if kind == "as_expr":
            yield value
    for node in graph["nodes"]:
        for told in node["inputs"]:
            kind, value = one_of(told["arg"])
            if kind == "as_graph":
                yield from _numbers(value["graph"])


def _value_name(told):
    kind, value = one_of(told)
    if kind == "as_tensor":
        return value["name"]
    if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
        return value.get("as_name")
    return None


class GraphReader:
    """One graph, while it is made."""

    def __init__(self, symbols, told, input_names=()):
        self.symbols, self.told, self.input_names = symbols, told, input_names
        self.graph, self.nodes, self.bodies = Graph(), {}, {}
        self.values = {}
        if told.get("custom_obj_values"):
            raise SerializeError("objects in programs in files are not available in the playground")

    def looks(self, name):
        """What a value of the file looks like."""
        if name not in self.values:
            told = self.told
            for kind in ("sym_int_values", "sym_bool_values", "sym_float_values"):
                if name in told.get(kind, {}):
                    self.values[name] = self.symbols.sym(told[kind][name])
            if name in told["tensor_values"]:
                self.values[name] = self.symbols.tensor(told["tensor_values"][name])
        return self.values[name]

    def add(self, name, node):
        if name in self.nodes:
            raise SerializeError(f"Node {name} has already been deserialized before.")
        node.name = name
        self.nodes[name] = node
        self.show(node, self.looks(name))

    def show(self, node, value):
        node.meta["val"] = value
        told = self.told["sym_bool_values"].get(node.name, {}).get("as_expr")
        node._written = self.symbols.condition_text(told["expr_str"]) if told else None
        if is_symbolic(value):
            node._written = node._written or str(value)

    def read(self):
        told = self.told
        for i, given in enumerate(told["inputs"]):
            name = _value_name(given)
            if name is not None:
                self.add(name, self.graph.placeholder(name))
                self.nodes[name].target = name
                continue
            name = (self.input_names[i] if i < len(self.input_names) else "") or f"arg{i}"
            node = self.graph.placeholder(name)
            node.name = node.target = name
            node.meta["val"] = self.argument(given)
        for node in told["nodes"]:
            try:
                self.node(node)
            except Exception as error:
                raise SerializeError(
                    f"Failed deserializing node {node.get('name')} of {node.get('target')}\n Original exception {type(error).__name__}: {error}"
                ) from error
        outputs = [self.argument(given) for given in told["outputs"]]
        is_single = told.get("is_single_tensor_return")
        if is_single and len(outputs) != 1:
            raise AssertionError(f"expected single output for single_tensor_return, got {len(outputs)}")
        output = self.graph.output(outputs[0] if is_single else tuple(outputs))
        looks = tuple(value.meta["val"] if isinstance(value, torch.fx.Node) else value for value in outputs)
        output.meta["val"] = looks[0] if is_single else looks
        return self.graph

    # Nodes

    def node(self, told):
        target = function_of(told["target"])
        meta = metadata(told["metadata"])
        if isinstance(target, torch._ops.OpOverload):
            args, kwargs = self.by_schema(target._schema, told["inputs"])
        elif isinstance(target, torch._ops._Reader) or target is not None and getattr(target, "__name__", "") in _SYMBOLIC:
            args, kwargs = tuple(self.argument(given["arg"], meta) for given in told["inputs"]), {}
        elif target is not None and getattr(target, "__module__", "").startswith("torch.ops.higher_order"):
            plain = [given for given in told["inputs"] if given.get("kind") == POSITIONAL or not given["name"]]
            args = tuple(self.argument(given["arg"], meta) for given in plain)
            kwargs = {given["name"]: self.argument(given["arg"], meta) for given in told["inputs"] if given not in plain}
        else:
            raise SerializeError(
                f"We failed to resolve {told['target']} to an operator. If it's a custom op/custom triton op, this is usually because the "
                "custom op is not registered when deserializing. Please import the custom op to register it before deserializing. Otherwise, "
                f"please file an issue on github. Unsupported target type for node {told.get('name')}: <class 'str'>."
            )
        made = self.graph.create_node("call_function", target, args, kwargs, self.name_for(told))
        self.results(told, made, meta)
        made.meta.update(meta)
        made.meta.setdefault("nn_module_stack", {})

    def name_for(self, told):
        if told.get("name"):
            return told["name"]
        single = _value_name(told["outputs"][0]) if len(told["outputs"]) == 1 else None
        return single if told.get("is_hop_single_tensor_return", True) is not False else None

    def by_schema(self, schema, inputs):
        given = {one["name"]: (self.argument(one["arg"]), one.get("kind")) for one in inputs}
        args, kwargs = [], {}
        for argument in schema.arguments:
            if argument.name not in given:
                continue
            value, kind = given.pop(argument.name)
            is_keyword = argument.kwarg_only if kind not in (POSITIONAL, KEYWORD) else kind == KEYWORD
            if is_keyword:
                kwargs[argument.name] = value
            else:
                args.append(value)
        if given:
            raise SerializeError(f"{schema.name} has no argument {next(iter(given))}")
        return tuple(args), kwargs

    def results(self, told, node, meta):
        outputs = told["outputs"]
        if not outputs:
            return
        if len(outputs) == 1:
            name = _value_name(outputs[0])
            if name is not None:
                if told.get("is_hop_single_tensor_return") is False:
                    self.unpack(node, outputs, meta)
                else:
                    self.add(name, node)
                return
            kind, value = one_of(outputs[0])
            if kind == "as_none":
                node.meta["val"] = None
                node.name = self.graph._names.create(f"{getattr(node.target, '__name__', 'call').replace('.', '_')}_unused")
                return
            outputs = [{"as_tensor": one} for one in value]
        self.unpack(node, outputs, meta)

    def unpack(self, node, outputs, meta):
        node.meta["val"] = self.unpacked(node, outputs, meta, tuple)
        self.nodes.setdefault(node.name, node)

    def unpacked(self, node, outputs, meta, kind_of):
        values = []
        for i, given in enumerate(outputs):
            name = _value_name(given)
            made = self.graph.create_node("call_function", operator.getitem, (node, i), {}, name)
            made.meta.update(meta)
            if name is not None:
                self.add(name, made)
                values.append(self.values[name])
                continue
            kind, value = one_of(given)
            if kind == "as_none":
                made.name = self.graph._names.create("as_none")
                made.meta["val"] = None
            elif kind == "as_tensors":
                made.meta["val"] = self.unpacked(made, [{"as_tensor": one} for one in value], meta, list)
            else:
                raise NotImplementedError(f"Unimplemented node output type: {given}")
            values.append(made.meta["val"])
        return kind_of(values)

    # Arguments

    def argument(self, told, meta=None):
        kind, value = one_of(told)
        if kind in ("as_tensor", "as_custom_obj"):
            return self.nodes[value["name"]]
        if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
            return self.number(value)
        if kind in ("as_sym_ints", "as_sym_floats", "as_sym_bools"):
            return [self.number(one) for one in value]
        if kind == "as_tensors":
            return [self.nodes[one["name"]] for one in value]
        if kind == "as_nested_tensors":
            return [[self.nodes[one["name"]] for one in inner] for inner in value]
        if kind in ("as_optional_tensors", "as_optional_tensor"):
            of = [None if one_of(one)[0] == "as_none" else self.nodes[one_of(one)[1]["name"]] for one in (value if isinstance(value, list) else [value])]
            return of if isinstance(value, list) else of[0]
        if kind == "as_graph":
            return self.body(value, meta or {})
        if kind == "as_string_to_argument":
            return {key: self.argument(one) for key, one in value.items()}
        if kind == "as_operator":
            return function_of(value)
        return plain(kind, value)

    def number(self, told):
        kind, value = one_of(told)
        return self.nodes[value] if kind == "as_name" else plain(kind, value)

    def body(self, told, meta):
        name = told["name"]
        if not isinstance(name, str) or not name.isidentifier():
            raise SerializeError(f"{name!r} is no name of a graph")
        reader = GraphReader(self.symbols, told["graph"])
        self.bodies[name] = GraphModule(reader.bodies, reader.read(), "GraphModule")
        made = self.graph.create_node("get_attr", name, name=name)
        made.name = name
        made.meta.update(meta)
        return made


def plain(kind, value):
    """A value that is part of the program."""
    if kind == "as_none":
        return None
    if kind == "as_scalar_type":
        return dtype_of(value)
    if kind == "as_device":
        return device_of(value)
    if kind == "as_layout" and value == STRIDED:
        return torch.strided
    if kind == "as_memory_format" and value in _FORMATS:
        return getattr(torch, _FORMATS[value])
    if kind == "as_complex":
        return complex(float(value["real"]), float(value["imag"]))
    if kind == "as_float":
        return float(value)
    if kind == "as_floats":
        return [float(one) for one in value]
    if kind == "as_int_lists":
        return [tuple(one) for one in value]
    if kind == "as_float_lists":
        return [[float(number) for number in one] for one in value]
    for known, cls in (("as_int", int), ("as_bool", bool), ("as_string", str)):
        if kind == known and type(value) is cls:
            return value
        if kind == f"{known}s" and isinstance(value, list) and all(type(one) is cls for one in value):
            return list(value)
    raise SerializeError(f"Unhandled argument {({kind: value})}")


def _split(text):
    """The parts of a module in a stack, which are parted by commas outside of parentheses."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "[(") - (char in ")]")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    if len(parts) != 3:
        raise AssertionError(f"expected metadata_split to return 3 parts, got {len(parts)}")
    return parts


def metadata(told):
    """What a node says of where it comes from."""
    meta = {}
    if told.get("stack_trace"):
        meta["stack_trace"] = told["stack_trace"]
    if told.get("nn_module_stack"):
        parts = [_split(item) for item in told["nn_module_stack"].split(";")]
        meta["nn_module_stack"] = {key: (path, cls) for key, path, cls in parts}
    if told.get("source_fn_stack"):
        pairs = [item.rpartition(",") for item in told["source_fn_stack"].split(";")]
        meta["source_fn_stack"] = [(name, function_of(target) or target) for name, _, target in pairs]
    if told.get("torch_fn"):
        meta["torch_fn"] = tuple(told["torch_fn"].split(";"))
    if told.get("custom"):
        meta["custom"] = json.loads(told["custom"])
    return meta


# Signatures


def _argument_spec(told):
    kind, value = one_of(told)
    if kind == "as_tensor":
        return TensorArgument(value["name"])
    if kind == "as_sym_int":
        return SymIntArgument(value["as_name"])
    if kind == "as_sym_float":
        return SymFloatArgument(value["as_name"])
    return ConstantArgument("", plain(kind, value))


def _input_spec(told):
    kind, value = one_of(told)
    if kind == "user_input":
        return InputSpec(InputKind.USER_INPUT, _argument_spec(value["arg"]), None)
    if kind == "constant_input":
        return InputSpec(InputKind.USER_INPUT, ConstantArgument(value["name"], plain(*one_of(value["value"]))), None)
    arg = TensorArgument(value["arg"]["name"])
    if kind == "parameter":
        return InputSpec(InputKind.PARAMETER, arg, value["parameter_name"])
    if kind == "buffer":
        return InputSpec(InputKind.BUFFER, arg, value["buffer_name"], value["persistent"])
    if kind == "tensor_constant":
        return InputSpec(InputKind.CONSTANT_TENSOR, arg, value["tensor_constant_name"])
    raise SerializeError(f"an input of the kind {kind} in a program in a file is not available in the playground")


def _output_spec(told):
    kind, value = one_of(told)
    if kind == "user_output":
        return OutputSpec(OutputKind.USER_OUTPUT, _argument_spec(value["arg"]), None)
    if kind not in _OUTPUT_KINDS:
        raise SerializeError(f"an output of the kind {kind} in a program in a file is not available in the playground")
    known, target = _OUTPUT_KINDS[kind]
    return OutputSpec(known, TensorArgument(value["arg"]["name"]), value[target] if target else None)


def _module_call(told):
    from .exported_program import ModuleCallEntry, ModuleCallSignature

    signature = told.get("signature")
    if signature is not None:
        trees = [treespec_loads(signature[name]) for name in ("in_spec", "out_spec")]
        names = signature.get("forward_arg_names") or None
        signature = ModuleCallSignature(*([_argument_spec(one) for one in signature[name]] for name in ("inputs", "outputs")), *trees, names)
    return ModuleCallEntry(told["fqn"], signature)


class _Calls:
    """The calls of modules of a program, as far as a file tells them."""

    def __init__(self, entries):
        self.hierarchy = [entry.fqn for entry in entries]

    def stack(self, node):
        return node.meta.get("nn_module_stack") or {}

    def frames(self, told, own):
        return own


class LoadedInputs:
    """The inputs of a program that was in a file, as `_trace.Inputs` tells those of one that is traced."""

    # Arguments that `*args` takes have names of their own in files.
    several = None

    def __init__(self, reader, signature, calls, own, tensors, example):
        if example is None:
            example = own.in_spec.unflatten([None] * own.in_spec.num_leaves)
        self.args, self.kwargs = example
        self.leaves, self.in_spec = tree_flatten((self.args, self.kwargs))
        self.calls, self.shape_env = _Calls(calls), reader.symbols.shape_env
        nodes = {node.name: node for node in reader.graph.find_nodes(op="placeholder")}
        specs = {kind: [spec for spec in signature.input_specs if spec.kind is kind] for kind in InputKind}
        self.parameters = {spec.target: tensors[spec.target] for spec in specs[InputKind.PARAMETER]}
        self.buffers = {spec.target: tensors[spec.target] for spec in specs[InputKind.BUFFER]}
        self.persistent = {spec.target: spec.persistent for spec in specs[InputKind.BUFFER]}
        self.state = {**self.parameters, **self.buffers}
        self.constants = {spec.target: tensors[spec.target] for spec in specs[InputKind.CONSTANT_TENSOR]}
        self.fakes = [nodes[spec.arg.name].meta["val"] for spec in specs[InputKind.PARAMETER] + specs[InputKind.BUFFER]]
        users = specs[InputKind.USER_INPUT]
        if len(users) != len(self.leaves):
            raise SerializeError(f"the program takes {len(users)} inputs, its example inputs are {len(self.leaves)}")
        looks = [nodes[spec.arg.name].meta["val"] for spec in users]
        self.tensors = [i for i, value in enumerate(looks) if isinstance(value, torch.Tensor)]
        self.user_fakes = {i: looks[i] for i in self.tensors}
        self.names = list(own.forward_arg_names or _default_names(self.in_spec))
        self.paths = _paths(self.in_spec, self.names)
        self.shapes = [self._shape(value) for value in looks]

    def _shape(self, value):
        """What would have been said of an input's sizes: from which symbol each is calculated."""
        if not isinstance(value, torch.Tensor):
            return None
        said = []
        for size in value.shape:
            text = size.node.srepr() if is_symbolic(size) else ""
            names = _expressions.names(text)
            found = _expressions.line(text, names[0]) if len(names) == 1 else None
            said.append(None if found is None or found[0] < 1 else Dim(names[0]) if found == (1, 0) else Dim(names[0]) * found[0] + found[1])
        return said


def _default_names(in_spec):
    positional, keyword = in_spec.children()
    return [f"arg_{i}" for i in range(len(positional.children()))] + list(keyword.context)


def _paths(in_spec, names):
    """The keys that lead to every input, beginning with its argument's name."""
    from .dynamic_shapes import with_paths

    positional, keyword = in_spec.children()
    children = [*positional.children(), *keyword.children()]
    if len(children) != len(names):
        raise SerializeError(f"the program has {len(children)} arguments and names for {len(names)}")
    return [(name, *path) for name, child in zip(names, children) for path, _ in with_paths(child.unflatten(range(child.num_leaves)))]


def read_program(told, tensors, example, state_dict, constants):
    """The program of a file; `tensors` are those of its state and its constants."""
    from ._trace import Traced
    from .exported_program import ExportedProgram

    version = told["schema_version"]
    if version["major"] != SCHEMA_VERSION[0] and version != {"major": 0, "minor": 0}:
        said = f"SchemaVersion(major={version['major']}, minor={version['minor']})"
        raise SerializeError(f"Serialized schema version {said} does not match our current schema version {SCHEMA_VERSION}.")
    module = told["graph_module"]
    ranges = {name: (limits["min_val"], limits["max_val"]) for name, limits in told["range_constraints"].items()}
    symbols = Symbols(module["graph"], ranges)
    signature = ExportGraphSignature(
        [_input_spec(one) for one in module["signature"]["input_specs"]], [_output_spec(one) for one in module["signature"]["output_specs"]]
    )
    reader = GraphReader(symbols, module["graph"], [spec.arg.name for spec in signature.input_specs])
    graph = reader.read()
    entries = [_module_call(one) for one in module["module_call_graph"]]
    own = next((entry.signature for entry in entries if entry.fqn == ""), None)
    if own is None:
        raise SerializeError("the program does not say what it takes and gives")
    inputs = LoadedInputs(reader, signature, entries, own, tensors, example)
    limits = {
        _Symbol(name): ValueRanges(-int_oo if low is None else low, int_oo if high is None else high)
        for name, (low, high) in ranges.items() if name in symbols
    }  # fmt: skip
    names = {node.name: node.name for node in graph.nodes}
    changed = {spec.target for spec in signature.output_specs if spec.kind in MUTATIONS}
    is_functional = told.get("verifiers", []) != ["TRAINING"]
    users = [spec.arg.name for spec in signature.input_specs if spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, TensorArgument)]
    mutated = [name in changed for name in [*inputs.state, *inputs.constants, *users]] if is_functional else None
    program = ExportedProgram(
        graph, reader.bodies, signature, state_dict, limits, constants, inputs, Traced(None, [], mutated, names), own.out_spec,
        {entry.fqn: entry.signature for entry in entries if entry.signature is not None and entry.fqn},
    )  # fmt: skip
    program._told_guards = list(told.get("guards_code", []))
    custom = module.get("metadata", {}).get("custom")
    if custom:
        program.graph_module.meta["custom"] = json.loads(custom)
    return program


__all__ = ["device_of", "dtype_of", "read_program"]
