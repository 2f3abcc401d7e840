"""`ExportedProgram`: an exported graph with the tensors it was exported with, run through `module()`."""

import copy
from dataclasses import dataclass, field

import torch
from torch import _native_aot
from torch.fx.graph import Graph, _PyTreeCodeGen
from torch.fx.graph_module import GraphModule
from torch.utils._pytree import TreeSpec, tree_flatten

from ._constraints import GuardsFn, guards, guards_code
from ._module_calls import entries
from ._trace import Traced, ordered
from .graph_signature import InputKind, OutputKind

__all__ = ["CustomDecompTable", "ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "TrainingIRVerifier", "Verifier", "default_decompositions"]

# Operators of the core that are composed of others.
_CORE_COMPOSITE = ("aten.upsample_bilinear2d.vec", "aten.upsample_nearest2d.vec", "aten._fused_rms_norm.default")


@dataclass
class ModuleCallSignature:
    """What a module takes and gives."""

    inputs: list
    outputs: list
    in_spec: TreeSpec
    out_spec: TreeSpec
    forward_arg_names: list | None = None


@dataclass
class ModuleCallEntry:
    """A module of the program."""

    fqn: str
    signature: ModuleCallSignature | None = None


@dataclass
class CallSpec:
    """The trees that a program takes and gives."""

    in_spec: TreeSpec | None = field()
    out_spec: TreeSpec | None = field()


class _Whole:
    """The rule of an operator that is composed of others: it is taken apart."""

    def __init__(self, overload):
        self.overload = overload

    def __call__(self, *args, **kwargs):
        return self.overload.decompose(*args, **kwargs)


class CustomDecompTable(dict):
    """Rules by operator; one that is deleted stays whole."""

    def copy(self):
        return CustomDecompTable(self)


def _overload(name):
    namespace, packet, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet, None), overload, None)


def default_decompositions():
    """What takes a program apart into the core of ATen."""
    from torch._decomp import _core_rules

    names = [name for name in _native_aot._may_stay_whole() if name not in _CORE_COMPOSITE]
    composite = {op: _Whole(op) for op in map(_overload, names) if op is not None}
    return CustomDecompTable({**composite, **_core_rules()})


class ExportedProgram:
    """A program as one graph, its signature, and the state it was exported with."""

    def __init__(self, graph, regions, signature, state_dict, constraints, constants, inputs, traced, out_spec, signatures):
        self._graph_module = GraphModule(regions, graph, "GraphModule")
        self._graph_signature, self._state_dict, self._range_constraints = signature, state_dict, constraints
        self._constants, self._inputs, self._traced, self._out_spec = constants, inputs, traced, out_spec
        self._module_signatures = signatures
        own = ModuleCallSignature([], [], inputs.in_spec, out_spec, list(inputs.names))
        self._module_call_graph = entries(inputs.calls.hierarchy, own, signatures)

    graph_module = property(lambda self: self._graph_module, doc="The graph as a module.")
    graph = property(lambda self: self._graph_module.graph, doc="The graph.")
    graph_signature = property(lambda self: self._graph_signature, doc="What inputs and outputs are.")
    state_dict = property(lambda self: self._state_dict, doc="Parameters and persistent buffers by path.")
    constants = property(lambda self: self._constants, doc="Other tensors that the program reads, by path.")
    tensor_constants = constants
    range_constraints = property(lambda self: self._range_constraints, doc="Between which numbers symbolic sizes lie.")
    example_inputs = property(lambda self: (self._inputs.args, self._inputs.kwargs), doc="What the program was exported for.")
    call_spec = property(lambda self: CallSpec(self._inputs.in_spec, self._out_spec), doc="The trees that the program takes and gives.")
    verifiers = property(lambda self: [_verifier("TRAINING" if self._traced.mutated is None else "ATEN")], doc="What its graph is held against.")
    verifier = property(lambda self: self.verifiers[0], doc="What its graph is held against.")
    dialect = property(lambda self: self.verifier.dialect, doc="The kind of its operators.")

    def validate(self):
        """Raises where the graph is no graph."""
        self.graph.lint()

    # Of a program that was in a file: the conditions on sizes that it tells.
    _told_guards = None
    # Of one that was exported: what a call is checked for, as it was then.
    _checked = None

    def _conditions(self):
        if self._checked is not None:
            return self._checked
        return guards(self._inputs, self.range_constraints, self._told_guards)

    @property
    def _guards_code(self):
        return guards_code(self._inputs) if self._told_guards is None else self._told_guards

    module_call_graph = property(lambda self: self._module_call_graph, doc="The program's own call and the modules within it.")

    def parameters(self):
        """The parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_parameters(self):
        """The parameters with their paths."""
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def buffers(self):
        """The buffers."""
        for _, buffer in self.named_buffers():
            yield buffer

    def named_buffers(self):
        """The buffers with their paths."""
        left_out = set(self.graph_signature.non_persistent_buffers)
        for name in self.graph_signature.buffers:
            yield name, (self.constants if name in left_out else self.state_dict)[name]

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __str__(self):
        code = self.graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        signature = str(self.graph_signature).replace("\n", "\n    ")
        return f"ExportedProgram:\n    {code}\nGraph signature:{signature}\nRange constraints: {self.range_constraints}\n"

    def run_decompositions(self, decomp_table=None, decompose_custom_triton_ops=False):
        """The program functionalized: writes are outputs, and operators are taken apart as the table says, by default into ATen's core."""
        table = default_decompositions() if decomp_table is None else decomp_table
        # Like PyTorch's, this looks operators up by their overloads.
        rules = {op: rule for op, rule in table.items() if isinstance(op, torch._ops.OpOverload) and not isinstance(rule, _Whole)}
        # The copy of a constant is one like any other.
        rules[torch.ops.aten.lift_fresh_copy.default] = lambda constant: torch.ops.aten.clone.default(constant)
        apart = [str(op) for op, rule in table.items() if isinstance(rule, _Whole)]
        inputs, native, written = self._inputs, self._traced.native, self._traced.written
        if native is None:
            from ._retrace import compiled_graph

            native = compiled_graph(self)
        fakes = [*inputs.fakes, *inputs.constants.values(), *inputs.user_fakes.values()]
        module, mutated = _native_aot._exported_functional(_Traced(native), fakes, rules, apart)
        mutated = self._traced.mutated or mutated
        graph, regions, signature, named = ordered(module._native, inputs, mutated, written)
        constants = set(signature.inputs_to_lifted_tensor_constants)
        for node in list(graph.nodes):
            if node.target is torch.ops.aten.detach.default and node.args[0].op == "call_function":
                of = node.args[0]
                # What a constructor detached, which is the copy of a constant.
                if of.target is torch.ops.aten.clone.default and of.args[0].name in constants:
                    node.replace_all_uses_with(of)
                    graph.erase_node(node)
        names = {node.name: name for name, node in named.items()}
        if self._traced.native is None:
            from ._retrace import tell_places

            tell_places(self, graph)
        return ExportedProgram(
            graph, regions, signature, self._state_dict, self._range_constraints, self._constants, inputs,
            Traced(module._native, written, mutated, names), self._out_spec, self._renamed_signatures(graph),
        )  # fmt: skip

    def _renamed_signatures(self, graph):
        """The signatures that are kept, with the names that values have in a graph that this one became."""
        made = {node._from_node: node.name for node in graph.nodes if node._from_node}
        known = {node.name: node for node in self.graph.nodes}
        signatures = copy.deepcopy(self._module_signatures)
        for signature in signatures.values():
            for arg in [*signature.inputs, *signature.outputs]:
                # A conversion that changes nothing is not in the other graph.
                node = known.get(arg.name)
                while node is not None and self._traced.names.get(node.name) not in made and str(node.target).startswith("aten.to."):
                    node = node.args[0]
                if node is not None:
                    arg.name = made.get(self._traced.names.get(node.name), node.name)
        return signatures

    def module(self, check_guards=True):
        """The program as a module of its own, with its parameters, that takes what was exported took."""
        return _unlifted(self, check_guards)

    def __deepcopy__(self, memo):
        copied = ExportedProgram(
            copy.deepcopy(self.graph), dict(self.graph_module.named_children()), copy.deepcopy(self._graph_signature), copy.deepcopy(self._state_dict, memo),
            dict(self._range_constraints), copy.deepcopy(self._constants, memo), self._inputs, self._traced, self._out_spec, copy.deepcopy(self._module_signatures),
        )  # fmt: skip
        copied._told_guards, copied._checked = self._told_guards, self._checked
        return copied


def _verifier(dialect):
    """The class that PyTorch has for a kind of operators."""
    return {"TRAINING": TrainingIRVerifier, "ATEN": Verifier}[dialect]


class Verifier:
    """Operators of ATen, none of which writes."""

    dialect = "ATEN"


class TrainingIRVerifier(Verifier):
    """Operators as they are called."""

    dialect = "TRAINING"


Verifier.__module__ = TrainingIRVerifier.__module__ = "torch._export.verifier"


class _Traced:
    """A graph of the compiler's where a module over one is expected."""

    def __init__(self, native):
        self._native = native


def _unlifted(program, check_guards):
    """The program's graph with tensors as attributes in place of inputs, and writes in place of outputs that are new values."""
    inputs, signature = program._inputs, program.graph_signature
    tensors = {**program.state_dict, **program.constants}
    graph, values = Graph(), {}
    attributes = {}
    users = []
    placeholders = program.graph.find_nodes(op="placeholder")
    taken = {node.name for node in program.graph.nodes}
    for node, spec in zip(placeholders, signature.input_specs):
        if spec.kind is InputKind.USER_INPUT:
            made = graph.placeholder(spec.arg.name)
            made.name = spec.arg.name
            users.append(made)
        else:
            attributes[spec.target] = tensors[spec.target]
            # The name of a value in the program is its own.
            name = spec.target.replace(".", "_")
            made = graph.create_node("get_attr", spec.target, name=f"{name}_1" if name in taken else name)
        made.meta, values[node] = dict(node.meta), made
    if check_guards:
        graph.create_node("call_module", "_guards_fn", tuple(users), name="_guards_fn")
    graph.graph_copy(program.graph, values)
    outputs = [values.get(out, out) if isinstance(out, torch.fx.Node) else out for out in program.graph.output_node().args[0]]
    given = []
    by_name = {spec.arg.name: values[node] for node, spec in zip(placeholders, signature.input_specs)}
    by_path = {spec.target: values[node] for node, spec in zip(placeholders, signature.input_specs) if spec.target}
    for out, spec in zip(outputs, signature.output_specs):
        if spec.kind is OutputKind.USER_OUTPUT:
            given.append(out)
            continue
        target = by_name[spec.target] if spec.kind is OutputKind.USER_INPUT_MUTATION else by_path[spec.target]
        graph.call_function(torch.ops.aten.copy_.default, (target, out))
    graph.output(tuple(given))
    if program.dialect != "TRAINING":
        graph.eliminate_dead_code(lambda node: node.op == "call_module" or node.is_impure())
    positional, keyword = inputs.in_spec.children()
    names = list(inputs.names)
    count = len(positional.children())
    codegen = _PyTreeCodeGen(names[:count], [n.name for n in users], inputs.in_spec, program._out_spec, names[count:])
    graph.set_codegen(codegen)
    root = {**attributes, **dict(program.graph_module.named_children()), **({"_guards_fn": GuardsFn(program._conditions())} if check_guards else {})}
    module = _Unlifted(root, graph, "GraphModule")
    # It is the last of the children.
    if check_guards:
        module._modules["_guards_fn"] = module._modules.pop("_guards_fn")
    module._in_spec, module._out_spec = inputs.in_spec, program._out_spec
    module.meta = {}
    return module


class _Unlifted(GraphModule):
    """A program as a module; its arguments have to be a tree like that of what was exported."""

    def __call__(self, *args, **kwargs):
        wanted = self._in_spec.children()[1].context
        if set(kwargs) != set(wanted):
            raise ValueError(f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but expected {wanted}")
        kwargs = {name: kwargs[name] for name in wanted}
        _, spec = tree_flatten((args, kwargs))
        if spec != self._in_spec:
            raise ValueError(
                f"Trying to flatten user inputs with exported input tree spec: \n{self._in_spec}\n"
                f"but actually got inputs with tree spec of: \n{spec}.\n"
                "Please check that the inputs have the same number and type of args and kwargs as the ones you used when tracing."
            )
        return super().__call__(*args, **kwargs)

    def train(self, mode=True):
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self):
        raise NotImplementedError("Calling eval() is not supported yet.")
