"""A program as JSON, in the form that PyTorch's files of exported programs have (version 8.20 of the schema).

Values are told by the names of their nodes. A value of an operator that gives several is told at the operator, by the name of the node
that unpacks it, so that nodes of `operator.getitem` are not in the file. Source: PyTorch, torch/_export/serde/schema.py and serialize.py."""

import json
import math
import operator

import torch
from torch.fx.experimental.symbolic_shapes import is_symbolic
from torch.utils._sympy.numbers import int_oo
from torch.utils._treespecs import SUPPORTED_SERIALIZED_TYPES, treespec_dumps

from .graph_signature import ConstantArgument, CustomObjArgument, InputKind, OutputKind, SymFloatArgument, SymIntArgument, TensorArgument

SCHEMA_VERSION = (8, 20)
# The version of ATen's operators. Source: PyTorch, caffe2/serialize/versions.h (`kMaxSupportedFileFormatVersion`).
ATEN_VERSION = 10

# Numbers of dtypes, layouts and memory formats. Source: PyTorch, torch/_export/serde/schema.py.
SCALAR_TYPES = {
    "uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "float16": 6, "float32": 7, "float64": 8, "complex32": 9, "complex64": 10,
    "complex128": 11, "bool": 12, "bfloat16": 13, "uint16": 28, "float8_e4m3fn": 29, "float8_e5m2": 30, "float8_e4m3fnuz": 31,
    "float8_e5m2fnuz": 32, "float8_e8m0fnu": 33, "uint32": 34, "uint64": 35,
}  # fmt: skip
MEMORY_FORMATS = {"contiguous_format": 1, "channels_last": 2, "channels_last_3d": 3, "preserve_format": 4}
STRIDED = 7
POSITIONAL, KEYWORD = 1, 2

# The arguments of Python's functions of symbolic numbers.
_SYMBOLIC = {
    **dict.fromkeys("eq ne le ge lt gt mul add sub floordiv mod pow truediv and_ or_ lshift rshift sym_max sym_min".split(), "ab"),
    **dict.fromkeys("neg pos trunc sym_not sym_int sym_float sym_sqrt".split(), "a"), "sym_ite": "btf",
}  # fmt: skip
_READERS = {"sym_size": ("self", "dim"), "sym_stride": ("self", "dim"), "_assert_scalar": ("self", "assert_msg")}


class SerializeError(RuntimeError):
    """What files of exported programs cannot hold."""


def number_of_dtype(dtype):
    """The number of a dtype."""
    return SCALAR_TYPES[str(dtype)[6:]]


def _expression(number, hint):
    told = {"expr_str": number.node.srepr(), "hint": None if hint is None else hint}
    return {"as_expr": told}


def sym_int(number):
    """An integer, or its expression with its value in the call that was traced."""
    if not is_symbolic(number):
        return {"as_int": int(number)}
    known = number.node.maybe_as_int()
    if known is not None:
        return {"as_int": known}
    hint = number.node.hint
    return _expression(number, None if hint is None else {"as_int": hint})


def _sym_float(number):
    if not is_symbolic(number):
        return {"as_float": _json_float(number)}
    hint = number.node.hint
    return _expression(number, None if hint is None else {"as_float": _json_float(hint)})


def _sym_bool(condition):
    return _expression(condition, None) if is_symbolic(condition) else {"as_bool": condition}


# Comparisons as sympy has them.
RELATIONS = {
    "eq": "Equality", "ne": "Unequality", "lt": "StrictLessThan", "le": "LessThan", "gt": "StrictGreaterThan", "ge": "GreaterThan",
}  # fmt: skip


def _compared(node):
    """A comparison as it was made: what is known of the sizes by now may decide it."""
    sides = [arg.meta["val"] if isinstance(arg, torch.fx.Node) else arg for arg in node.args]
    texts = [side.node.srepr() if is_symbolic(side) else f"Integer({side})" for side in sides]
    return {"as_expr": {"expr_str": f"{RELATIONS[node.target.__name__]}({', '.join(texts)})", "hint": None}}


def _json_float(number):
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return "NaN" if math.isnan(number) else number


def _device(device):
    return {"type": device.type, "index": device.index}


def tensor_meta(t):
    """What a tensor looks like."""
    return {
        "dtype": number_of_dtype(t.dtype), "sizes": [sym_int(n) for n in t.shape], "requires_grad": t.requires_grad,
        "device": _device(t.device), "strides": [sym_int(n) for n in t.stride()], "storage_offset": sym_int(t.storage_offset()),
        "layout": STRIDED,
    }  # fmt: skip


def operator_name(target):
    """The name by which a file calls a function."""
    if isinstance(target, str):
        return target
    return f"{target.__module__.replace('torch._ops', 'torch.ops')}.{target.__name__}"


def _schema_of(target):
    return target._schema if isinstance(target, torch._ops.OpOverload) else None


def _is_reader(target):
    return isinstance(target, torch._ops._Reader)


def _plain_arguments(name, arg):
    return {"name": name, "arg": arg, "kind": POSITIONAL}


class _Graph:
    """One graph, while it is told."""

    def __init__(self, module):
        self.module = module
        self.tensors, self.ints, self.floats, self.bools = {}, {}, {}, {}
        self.inputs, self.outputs, self.nodes = [], [], []
        self.is_single, self.same = False, {}

    def told(self):
        for node in self.module.graph.nodes:
            try:
                getattr(self, node.op)(node)
            except Exception as error:
                raise SerializeError(
                    f"Failed serializing node {node} in graph: {node.format_node()}\n Original exception {type(error).__name__}: {error}\n"
                ) from error
        return {
            "inputs": self.inputs, "outputs": self.outputs, "nodes": self.nodes, "tensor_values": self.tensors, "sym_int_values": self.ints,
            "sym_bool_values": self.bools, "is_single_tensor_return": self.is_single, "custom_obj_values": {}, "sym_float_values": self.floats,
        }  # fmt: skip

    # Nodes

    def placeholder(self, node):
        value = node.meta["val"]
        if isinstance(value, CustomObjArgument):
            raise SerializeError(f"the object {value.class_fqn} as an input of a program in a file is not available in the playground")
        if type(value) is torch.SymFloat:
            raise AssertionError("SymFloat graph input is not implemented yet.")
        is_value = isinstance(value, torch.Tensor) or type(value) is torch.SymInt
        self.inputs.append(self.output_of(node.name, value) if is_value else self.argument(value))

    def output(self, node):
        given = node.args[0]
        if isinstance(given, torch.fx.Node):
            self.is_single, given = True, (given,)
        self.outputs = [self.argument(value) for value in given]

    def get_attr(self, node):
        """A graph is told where it is called."""

    def call_module(self, node):
        raise SerializeError(f"Serializing {node.target} is not supported")

    call_method = call_module

    def call_function(self, node):
        target = node.target
        if target is operator.getitem:
            return
        name = getattr(target, "__name__", "")
        is_number = is_symbolic(node.meta.get("val"))
        told = {"target": operator_name(target), "inputs": None, "outputs": None, "metadata": metadata(node)}
        told |= {"is_hop_single_tensor_return": None, "name": node.name}
        if isinstance(target, torch._ops.OpOverload) and not is_number:
            told["inputs"] = self.inputs_by_schema(target._schema, node)
            told["outputs"] = self.outputs_by_schema(target._schema, node)
        elif _is_reader(target) or isinstance(target, torch._ops.OpOverload):
            names = [a.name for a in target._schema.arguments] if not _is_reader(target) else _READERS.get(name.partition(".")[0], ("self",))
            told["inputs"] = [_plain_arguments(*one) for one in zip(names, map(self.argument, node.args))]
            told["outputs"] = [] if name.startswith("_assert_scalar") else [self.output_of(node.name, node.meta["val"])]
        elif name in _SYMBOLIC and target in (getattr(operator, name, None), getattr(math, name, None), getattr(torch, name, None)):
            told["inputs"] = [_plain_arguments(*one) for one in zip(_SYMBOLIC[name], map(self.argument, node.args))]
            if name in RELATIONS:
                self.bools[node.name] = _compared(node)
                told["outputs"] = [{"as_sym_bool": {"as_name": node.name}}]
            else:
                told["outputs"] = [self.output_of(node.name, node.meta["val"])]
        elif callable(target):
            told["inputs"] = [_plain_arguments("", self.argument(arg)) for arg in node.args]
            told["inputs"] += [{"name": key, "arg": self.argument(arg), "kind": KEYWORD} for key, arg in node.kwargs.items()]
            told["outputs"] = self.outputs_of_function(node)
            if getattr(target, "__module__", "").startswith("torch.ops.higher_order"):
                told["is_hop_single_tensor_return"] = isinstance(node.meta.get("val"), torch.Tensor)
        else:
            raise SerializeError(f"Serializing {target} is not supported")
        self.nodes.append(told)

    def inputs_by_schema(self, schema, node):
        told = []
        for i, argument in enumerate(schema.arguments):
            if argument.name in node.kwargs:
                given, kind = node.kwargs[argument.name], KEYWORD
            elif not argument.kwarg_only and i < len(node.args):
                given, kind = node.args[i], POSITIONAL
            else:
                continue
            told.append({"name": argument.name, "arg": self.argument(given, argument.type_text), "kind": kind})
        return told

    # Results

    def unpacking(self, node, index):
        """The node that unpacks a result; further ones are the same."""
        found = None
        for user in node.users:
            if user.target is not operator.getitem:
                raise AssertionError(f"{user} is not a getitem node")
            if user.args[1] == index:
                if found is None:
                    found = user
                else:
                    self.same[user.name] = found.name
        return found

    def name_of(self, node, index):
        found = self.unpacking(node, index)
        return f"{node.name}_unused_{index}" if found is None else found.name

    def list_of(self, node, values):
        return {"as_tensors": [self.tensor(self.name_of(node, i), value) for i, value in enumerate(values)]}

    def outputs_by_schema(self, schema, node):
        returns = schema.returns
        if not returns:
            return []
        value = node.meta["val"]
        if len(returns) == 1:
            return [self.list_of(node, value)] if isinstance(value, (list, tuple)) else [self.output_of(node.name, value)]
        return self.several(node, value)

    def outputs_of_function(self, node):
        value = node.meta["val"]
        if isinstance(value, (tuple, list)):
            return self.several(node, value)
        return [self.output_of(node.name, value)]

    def several(self, node, values):
        told = []
        for i, value in enumerate(values):
            if isinstance(value, (list, tuple)):
                user = self.unpacking(node, i)
                names = [f"{node.name}_unused_{i}_{j}" if user is None else self.name_of(user, j) for j in range(len(value))]
                told.append({"as_tensors": [self.tensor(name, one) for name, one in zip(names, value) if one is not None]})
            else:
                told.append(self.output_of(self.name_of(node, i), value))
        return told

    def tensor(self, name, value):
        if name in self.tensors:
            raise AssertionError(f"name {name!r} already in tensor_values")
        self.tensors[name] = tensor_meta(value)
        return {"name": name}

    def output_of(self, name, value):
        if value is None:
            return {"as_none": True}
        if isinstance(value, torch.Tensor):
            return {"as_tensor": self.tensor(name, value)}
        if type(value) is bool or type(value) is torch.SymBool:
            self.bools[name] = _sym_bool(value)
            return {"as_sym_bool": {"as_name": name}}
        if isinstance(value, int) or type(value) is torch.SymInt:
            self.ints[name] = sym_int(value)
            return {"as_sym_int": {"as_name": name}}
        if isinstance(value, float) or type(value) is torch.SymFloat:
            self.floats[name] = _sym_float(value)
            return {"as_sym_float": {"as_name": name}}
        raise SerializeError(f"Unable to serialize output {value}")

    # Arguments

    def argument(self, arg, type_text=None):
        if isinstance(arg, torch.fx.Node):
            return self.value(arg)
        if isinstance(arg, (list, tuple)):
            return self.sequence(arg, type_text)
        if isinstance(arg, dict):
            wrong = next((key for key in arg if not isinstance(key, str)), None)
            if wrong is not None:
                raise SerializeError(f"Dict keys must be strings, got {type(wrong)}")
            return {"as_string_to_argument": {key: self.argument(value) for key, value in arg.items()}}
        return constant(arg, type_text)

    def value(self, node):
        if node.op == "get_attr":
            attribute = getattr(self.module, node.target)
            if isinstance(attribute, torch.Tensor):
                raise SerializeError("getattr nodes containing tensors should not appear in the graph")
            if isinstance(attribute, torch.fx.GraphModule):
                return {"as_graph": {"name": node.target, "graph": _Graph(attribute).told()}}
            raise SerializeError(f"Unsupported getattr attribute {node.target} with type: {type(attribute)}")
        for kind, known in (("as_sym_int", self.ints), ("as_sym_float", self.floats), ("as_sym_bool", self.bools)):
            if node.name in known:
                return {kind: {"as_name": node.name}}
        return {"as_tensor": {"name": self.same.get(node.name, node.name)}}

    def number(self, arg, known, kind):
        return {"as_name": arg.name} if isinstance(arg, torch.fx.Node) else {kind: _json_float(arg) if kind == "as_float" else arg}

    def sequence(self, items, type_text):
        if not items:
            return {_empty(type_text): []}
        for plain, kind in ((bool, "as_bools"), (int, "as_ints"), (float, "as_floats"), (str, "as_strings")):
            if all(type(item) is plain for item in items):
                return {kind: [_json_float(item) for item in items] if plain is float else list(items)}
        nodes = [item for item in items if isinstance(item, torch.fx.Node)]
        if any(node.op == "get_attr" for node in nodes):
            raise SerializeError("getattr nodes containing tensors should not appear in the graph")
        for known, plain, kind in ((self.ints, int, "int"), (self.floats, float, "float"), (self.bools, bool, "bool")):
            if all(item.name in known if isinstance(item, torch.fx.Node) else type(item) is plain for item in items):
                return {f"as_sym_{kind}s": [self.number(item, known, f"as_{kind}") for item in items]}
        if len(nodes) == len(items):
            return {"as_tensors": [{"name": self.same.get(node.name, node.name)} for node in nodes]}
        if len(nodes) + sum(item is None for item in items) == len(items):
            return {"as_optional_tensors": [{"as_none": True} if item is None else {"as_tensor": {"name": item.name}} for item in items]}
        if all(isinstance(item, (list, tuple)) for item in items):
            flat = [one for item in items for one in item]
            if all(isinstance(one, torch.fx.Node) for one in flat):
                return {"as_nested_tensors": [[{"name": one.name} for one in item] for item in items]}
            for plain, kind in ((int, "as_int_lists"), (float, "as_float_lists")):
                if all(type(one) is plain for one in flat):
                    return {kind: [list(item) for item in items]}
        raise SerializeError(f"Unsupported list/tuple argument type: {[type(item) for item in items]}")


def _empty(type_text):
    if type_text is None:
        # What operators without a schema are given.
        return "as_tensors"
    for part, kind in (("bool", "as_bools"), ("int", "as_ints"), ("SymInt", "as_ints"), ("float", "as_floats"), ("str", "as_strings"), ("Tensor", "as_tensors")):
        if type_text.lstrip("(").startswith(part):
            return kind
    raise SerializeError(f"Empty list with type {type_text} nyi.")


def constant(arg, type_text=None):
    """A value that is part of a program."""
    if arg is None:
        return {"as_none": True}
    for plain, kind in ((bool, "as_bool"), (str, "as_string"), (int, "as_int")):
        if type(arg) is plain:
            return {kind: arg}
    if type(arg) is float:
        return {"as_float": _json_float(arg)}
    if type(arg) is complex:
        return {"as_complex": {"real": _json_float(arg.real), "imag": _json_float(arg.imag)}}
    if isinstance(arg, torch.dtype):
        return {"as_scalar_type": number_of_dtype(arg)}
    if isinstance(arg, torch.device):
        return {"as_device": _device(arg)}
    if isinstance(arg, torch.memory_format):
        return {"as_memory_format": MEMORY_FORMATS[str(arg)[6:]]}
    if isinstance(arg, torch.layout):
        return {"as_layout": STRIDED}
    if isinstance(arg, (torch._ops.OpOverload, torch._ops.HigherOrderOperator)):
        return {"as_operator": operator_name(arg)}
    raise SerializeError(f"Unsupported argument type: {type(arg)} with schema arg_type {type_text}")


def metadata(node):
    """What a node says of where it comes from."""
    meta, told = node.meta, {}
    if meta.get("stack_trace"):
        told["stack_trace"] = meta["stack_trace"].rstrip("\n")
    if meta.get("nn_module_stack"):
        told["nn_module_stack"] = ";".join(f"{key},{path},{cls}" for key, (path, cls) in meta["nn_module_stack"].items())
    if meta.get("source_fn_stack"):
        told["source_fn_stack"] = ";".join(f"{name},{operator_name(fn)}" for name, fn in meta["source_fn_stack"])
    if meta.get("torch_fn"):
        told["torch_fn"] = ";".join(meta["torch_fn"])
    if meta.get("custom"):
        try:
            told["custom"] = json.dumps(meta["custom"])
        except Exception as error:
            raise SerializeError(f"Failed to serialize custom metadata for node {node.name} with error {error}") from error
    return told


def _argument_spec(spec):
    if isinstance(spec, TensorArgument):
        return {"as_tensor": {"name": spec.name}}
    if isinstance(spec, SymIntArgument):
        return {"as_sym_int": {"as_name": spec.name}}
    if isinstance(spec, SymFloatArgument):
        return {"as_sym_float": {"as_name": spec.name}}
    if isinstance(spec, ConstantArgument):
        return constant(spec.value)
    raise SerializeError(f"{spec} in a program in a file is not available in the playground")


def _constant_value(value):
    for plain, kind in ((bool, "as_bool"), (int, "as_int"), (str, "as_string")):
        if type(value) is plain:
            return {kind: value}
    if type(value) is float:
        return {"as_float": _json_float(value)}
    if value is None:
        return {"as_none": True}
    raise SerializeError(f"Unhandled constant input {value} to serialize")


def _input_spec(spec):
    if spec.kind is InputKind.USER_INPUT:
        if isinstance(spec.arg, ConstantArgument):
            return {"constant_input": {"name": spec.arg.name, "value": _constant_value(spec.arg.value)}}
        return {"user_input": {"arg": _argument_spec(spec.arg)}}
    arg = {"name": spec.arg.name}
    if spec.kind is InputKind.PARAMETER:
        return {"parameter": {"arg": arg, "parameter_name": spec.target}}
    if spec.kind is InputKind.BUFFER:
        return {"buffer": {"arg": arg, "buffer_name": spec.target, "persistent": spec.persistent}}
    if spec.kind is InputKind.CONSTANT_TENSOR:
        return {"tensor_constant": {"arg": arg, "tensor_constant_name": spec.target}}
    raise SerializeError(f"an input of the kind {spec.kind.name} in a program in a file is not available in the playground")


# What an output is called in a file, and what its target is there.
OUTPUTS = {
    OutputKind.LOSS_OUTPUT: ("loss_output", None), OutputKind.BUFFER_MUTATION: ("buffer_mutation", "buffer_name"),
    OutputKind.PARAMETER_MUTATION: ("parameter_mutation", "parameter_name"),
    OutputKind.GRADIENT_TO_PARAMETER: ("gradient_to_parameter", "parameter_name"),
    OutputKind.GRADIENT_TO_USER_INPUT: ("gradient_to_user_input", "user_input_name"),
    OutputKind.USER_INPUT_MUTATION: ("user_input_mutation", "user_input_name"),
}  # fmt: skip


def _output_spec(spec):
    if spec.kind is OutputKind.USER_OUTPUT:
        return {"user_output": {"arg": _argument_spec(spec.arg)}}
    if spec.kind not in OUTPUTS:
        raise SerializeError(f"an output of the kind {spec.kind.name} in a program in a file is not available in the playground")
    kind, target = OUTPUTS[spec.kind]
    return {kind: {"arg": {"name": spec.arg.name}, **({target: spec.target} if target else {})}}


class _Trees:
    """Trees as files have them, and the fields of the named tuples in them."""

    def __init__(self):
        self.fields = {}

    def told(self, spec):
        told = treespec_dumps(spec, 1)
        self.note(spec)
        return told

    def note(self, spec):
        if hasattr(spec.context, "_fields"):
            self.fields[SUPPORTED_SERIALIZED_TYPES[spec.context].serialized_type_name] = {"field_names": list(spec.context._fields)}
        for child in spec.children():
            self.note(child)


def _module_call(entry, trees):
    signature = entry.signature
    if signature is None:
        return {"fqn": entry.fqn, "signature": None}
    told = {
        "inputs": list(map(_argument_spec, signature.inputs)), "outputs": list(map(_argument_spec, signature.outputs)),
        "in_spec": trees.told(signature.in_spec), "out_spec": trees.told(signature.out_spec),
        "forward_arg_names": list(signature.forward_arg_names) if signature.forward_arg_names else None,
    }  # fmt: skip
    return {"fqn": entry.fqn, "signature": told}


def _limit(number):
    return None if number in (int_oo, -int_oo) else int(number)


def program_json(program, opset_version=None):
    """A program, without its tensors."""
    trees, signature = _Trees(), program.graph_signature
    graph = _Graph(program.graph_module).told()
    custom = program.graph_module.meta.get("custom")
    module = {
        "graph": graph,
        "signature": {"input_specs": list(map(_input_spec, signature.input_specs)), "output_specs": list(map(_output_spec, signature.output_specs))},
        "module_call_graph": [_module_call(entry, trees) for entry in program.module_call_graph],
        "metadata": {"custom": json.dumps(custom)} if custom else {}, "treespec_namedtuple_fields": trees.fields,
    }  # fmt: skip
    ranges = {str(name): {"min_val": _limit(limits.lower), "max_val": _limit(limits.upper)} for name, limits in program.range_constraints.items()}
    return json.dumps({
        "graph_module": module, "opset_version": {"aten": ATEN_VERSION, **(opset_version or {})}, "range_constraints": ranges,
        "schema_version": {"major": SCHEMA_VERSION[0], "minor": SCHEMA_VERSION[1]}, "verifiers": [program.dialect],
        "torch_version": torch.__version__, "guards_code": program._guards_code,
    }, allow_nan=False)  # fmt: skip


__all__ = ["ATEN_VERSION", "KEYWORD", "MEMORY_FORMATS", "OUTPUTS", "POSITIONAL", "SCALAR_TYPES", "SCHEMA_VERSION", "SerializeError", "program_json", "tensor_meta"]
