"""What the inputs and outputs of an exported graph are."""

import enum
from dataclasses import dataclass

__all__ = [
    "ArgumentSpec", "ConstantArgument", "ExportBackwardSignature", "ExportGraphSignature", "InputKind", "InputSpec", "OutputKind",
    "OutputSpec", "SymBoolArgument", "SymFloatArgument", "SymIntArgument", "TensorArgument", "TokenArgument", "CustomObjArgument",
]  # fmt: skip


@dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclass
class TokenArgument:
    """A token of an effect, by the name of its node."""

    name: str


@dataclass
class SymIntArgument:
    """A symbolic integer, by the name of its node."""

    name: str


@dataclass
class SymFloatArgument:
    """A symbolic float, by the name of its node."""

    name: str


@dataclass
class SymBoolArgument:
    """A symbolic truth, by the name of its node."""

    name: str


@dataclass
class CustomObjArgument:
    """An object of the script's, by the name of its node."""

    name: str
    class_fqn: str
    fake_val: object = None


@dataclass
class ConstantArgument:
    """A value that is part of the program; an output that is one has no node."""

    name: str
    value: object


ArgumentSpec = TensorArgument | SymIntArgument | ConstantArgument | CustomObjArgument | TokenArgument


def _kinds(name, doc, members):
    kinds = enum.Enum(name, members, module=__name__)
    kinds.__doc__ = doc
    return kinds


InputKind = _kinds("InputKind", "What an input is.", "USER_INPUT PARAMETER BUFFER CONSTANT_TENSOR CUSTOM_OBJ TOKEN")
OutputKind = _kinds(
    "OutputKind",
    "What an output is.",
    "USER_OUTPUT LOSS_OUTPUT BUFFER_MUTATION PARAMETER_MUTATION GRADIENT_TO_PARAMETER GRADIENT_TO_USER_INPUT "
    "USER_INPUT_MUTATION TOKEN",
)


# Outputs that are new values of inputs.
MUTATIONS = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.USER_INPUT_MUTATION)


@dataclass
class InputSpec:
    """One input: its node, and the path of the tensor in the module that it stands for."""

    kind: InputKind
    arg: ArgumentSpec
    target: str | None
    persistent: bool | None = None

    def __str__(self):
        target = "" if self.target is None else f" target='{self.target}'"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclass
class OutputSpec:
    """One output: its node, and what it is the new value, or the gradient, of."""

    kind: OutputKind
    arg: ArgumentSpec
    target: str | None

    def __str__(self):
        target = "" if self.target is None else f" target='{self.target}'"
        return f"{self.arg.name}: {self.kind.name}{target}"


@dataclass
class ExportBackwardSignature:
    """Which outputs are gradients, and of what."""

    gradients_to_parameters: dict
    gradients_to_user_inputs: dict
    loss_output: str


@dataclass
class ExportGraphSignature:
    """The inputs and outputs of an exported graph, in order."""

    input_specs: list
    output_specs: list

    def _inputs(self, *kinds):
        return [spec for spec in self.input_specs if spec.kind in kinds]

    def _targets(self, *kinds):
        return tuple(spec.target for spec in self._inputs(*kinds) if isinstance(spec.target, str))

    def _mutations(self, kind):
        return {spec.arg.name: spec.target for spec in self.output_specs if spec.kind is kind}

    parameters = property(lambda self: self._targets(InputKind.PARAMETER), doc="Paths of parameters.")
    buffers = property(lambda self: self._targets(InputKind.BUFFER), doc="Paths of buffers.")
    lifted_tensor_constants = property(lambda self: self._targets(InputKind.CONSTANT_TENSOR), doc="Paths of constants.")
    lifted_custom_objs = property(lambda self: self._targets(InputKind.CUSTOM_OBJ), doc="Paths of objects.")

    @property
    def non_persistent_buffers(self):
        """Paths of buffers that are not in the module's state."""
        return tuple(spec.target for spec in self._inputs(InputKind.BUFFER) if spec.persistent is False)

    @property
    def user_inputs(self):
        """Names of the inputs that the caller gives; of what is part of the program, its value."""
        return tuple(_value(spec.arg) for spec in self._inputs(InputKind.USER_INPUT))

    @property
    def user_outputs(self):
        """Names of the outputs that the caller gets; of what is part of the program, its value."""
        kinds = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
        return tuple(_value(spec.arg) for spec in self.output_specs if spec.kind in kinds)

    @property
    def inputs_to_parameters(self):
        """From names to paths."""
        return {spec.arg.name: spec.target for spec in self._inputs(InputKind.PARAMETER)}

    @property
    def inputs_to_buffers(self):
        """From names to paths."""
        return {spec.arg.name: spec.target for spec in self._inputs(InputKind.BUFFER)}

    @property
    def inputs_to_lifted_tensor_constants(self):
        """From names to paths."""
        return {spec.arg.name: spec.target for spec in self._inputs(InputKind.CONSTANT_TENSOR)}

    inputs_to_lifted_custom_objs = property(lambda self: {}, doc="From names to paths.")
    buffers_to_mutate = property(lambda self: self._mutations(OutputKind.BUFFER_MUTATION), doc="From names of outputs to paths.")
    parameters_to_mutate = property(lambda self: self._mutations(OutputKind.PARAMETER_MUTATION), doc="From names of outputs to paths.")
    user_inputs_to_mutate = property(
        lambda self: self._mutations(OutputKind.USER_INPUT_MUTATION), doc="From names of outputs to names of inputs."
    )
    backward_signature = None
    assertion_dep_token = None
    input_tokens = property(lambda self: ())
    output_tokens = property(lambda self: ())

    def __str__(self):
        lines = ["", "# inputs", *map(str, self.input_specs), "", "# outputs", *map(str, self.output_specs), ""]
        return "\n".join(lines)


def _value(arg):
    return arg.value if isinstance(arg, ConstantArgument) else arg.name
