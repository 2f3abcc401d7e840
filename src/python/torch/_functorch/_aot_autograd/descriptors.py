"""What inputs and outputs of AOTAutograd's graphs are (`meta["desc"]`)."""

from dataclasses import dataclass

from torch import _native
from torch._functorch._aot_autograd.schemas import MutationType, OutputType


@dataclass(frozen=True)
class AOTInput:
    """What an input of a graph is."""

    def expr(self):
        raise NotImplementedError("Subclasses must implement expr()")

    def is_param(self):
        return False

    def is_buffer(self):
        return False

    def is_tangent(self):
        return False


@dataclass(frozen=True)
class DifferentiableAOTInput(AOTInput):
    """An input that may have a gradient."""


@dataclass(frozen=True)
class AOTOutput:
    """What an output of a graph is."""

    def expr(self):
        raise NotImplementedError("Subclasses must implement expr()")

    def is_grad(self):
        return False


@dataclass(frozen=True)
class DifferentiableAOTOutput(AOTOutput):
    """An output that may have a tangent."""


@dataclass(frozen=True)
class ParamAOTInput(DifferentiableAOTInput):
    """A parameter, by its path."""

    target: str

    def expr(self):
        return f"self.get_parameter({self.target!r})"

    def is_param(self):
        return True


@dataclass(frozen=True)
class BufferAOTInput(DifferentiableAOTInput):
    """A buffer, by its path."""

    target: str

    def expr(self):
        return f"self.get_buffer({self.target!r})"

    def is_buffer(self):
        return True


@dataclass(frozen=True)
class PlainAOTInput(DifferentiableAOTInput):
    """An argument of the function, counted among the flat ones."""

    idx: int

    def expr(self):
        return f"args[{self.idx}]"


@dataclass(frozen=True)
class TangentAOTInput(DifferentiableAOTInput):
    """The gradient of an output."""

    output: DifferentiableAOTOutput

    def expr(self):
        return f"__output_tangent({self.output.expr()})"

    def is_tangent(self):
        return True


@dataclass(frozen=True)
class PlainAOTOutput(DifferentiableAOTOutput):
    """A result of the function, counted among the flat ones."""

    idx: int

    def expr(self):
        return f"output[{self.idx}]"


@dataclass(frozen=True)
class InputMutationAOTOutput(DifferentiableAOTOutput):
    """The new value of an input that is written to outside of the graph."""

    mutated_input: AOTInput

    def expr(self):
        return f"__input_mutation({self.mutated_input.expr()})"


@dataclass(frozen=True)
class IntermediateBaseAOTOutput(DifferentiableAOTOutput):
    """What an output is a view of, returned for its sake."""

    base_of: AOTOutput

    def expr(self):
        return f"__intermediate_base({self.base_of.expr()})"


@dataclass(frozen=True)
class GradAOTOutput(DifferentiableAOTOutput):
    """The gradient of an input."""

    grad_of: DifferentiableAOTInput

    def expr(self):
        return f"__grad({self.grad_of.expr()})"

    def is_grad(self):
        return True


@dataclass(frozen=True)
class SavedForBackwardsAOTOutput(AOTOutput):
    """What a forward saves for its backward."""

    idx: int

    def expr(self):
        return f"__saved_for_backwards_{self.idx}"


@dataclass(frozen=True)
class SavedForBackwardsNoVcCheckAOTOutput(AOTOutput):
    """What a forward saves for its backward, not watched for writes."""

    idx: int

    def expr(self):
        return f"__saved_for_backwards_no_vc_check_{self.idx}"


def describe(graph, inputs, values, metadata, is_joint):
    """Sets what each input and output of a graph is. `inputs` say what the function's flat arguments are, `values` those arguments."""
    infos = metadata.input_info
    mutated = [i for i, info in enumerate(infos) if info.mutation_type is MutationType.MUTATED_OUT_GRAPH]
    results = [PlainAOTOutput(i) for i in range(metadata.num_outputs)]
    saved = [i for i, info in enumerate(metadata.output_info) if info.output_type is OutputType.alias_of_intermediate_save_as_output]
    bases = [IntermediateBaseAOTOutput(results[i]) for i in saved]
    outputs = [*(InputMutationAOTOutput(inputs[i]) for i in mutated), *results, *bases]
    described = list(inputs)
    if is_joint:
        fresh = (OutputType.non_alias, OutputType.unsafe_view_alias, OutputType.custom_function_view)
        wanted = [i for i, info in enumerate(metadata.output_info) if info.output_type in fresh and info.requires_grad]
        written = [i for i in mutated if infos[i].mutates_data and infos[i].requires_grad]
        tangents = [*(InputMutationAOTOutput(inputs[i]) for i in written), *(results[i] for i in wanted), *bases]
        described += [TangentAOTInput(output) for output in tangents]
    output = graph.output_node()
    returned = output.args[0] if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    if is_joint:
        gradients = returned[len(outputs) :]
        has = lambda value: isinstance(value, _native.TensorBase) and value.requires_grad
        outputs += [GradAOTOutput(what) if has(value) and grad is not None else None for what, value, grad in zip(inputs, values, gradients)]
    for node, what in zip(graph.find_nodes(op="placeholder"), described):
        node.meta["desc"] = what
    output.meta["desc"] = outputs
