"""What AOTAutograd finds out about a function: which inputs it writes to, and what its outputs share memory with."""

import enum
from dataclasses import dataclass, field

from torch import _native_aot

OutputType = enum.Enum(
    "OutputType",
    [
        "non_alias",
        "alias_of_input",
        "is_input",
        "alias_of_intermediate_save_as_output",
        "alias_of_intermediate",
        "alias_of_intermediate_base_is_user_output",
        "unsafe_view_alias",
        "custom_function_view",
    ],
    module=__name__,
)
MutationType = enum.Enum("MutationType", ["NOT_MUTATED", "MUTATED_IN_GRAPH", "MUTATED_OUT_GRAPH"], module=__name__)

_OF_INPUTS = (OutputType.alias_of_input, OutputType.is_input)
_OF_INTERMEDIATES = (
    OutputType.alias_of_intermediate,
    OutputType.alias_of_intermediate_save_as_output,
    OutputType.alias_of_intermediate_base_is_user_output,
)


@dataclass(frozen=True)
class InputAliasInfo:
    """What a function does to an input."""

    is_leaf: bool
    mutates_data: bool
    mutates_metadata: bool
    mutations_hidden_from_autograd: bool
    mutations_under_no_grad_or_inference_mode: bool
    mutation_inductor_storage_resize: bool
    mutates_storage_metadata: bool
    mutation_is_shallow_copy_data: bool
    requires_grad: bool
    keep_input_mutations: bool

    @property
    def mutation_type(self):
        """Who applies the mutation."""
        if not (self.mutates_data or self.mutates_metadata or self.mutation_inductor_storage_resize):
            return MutationType.NOT_MUTATED
        if self.mutates_storage_metadata:
            return MutationType.MUTATED_IN_GRAPH
        seen = not (self.mutations_hidden_from_autograd or self.mutations_under_no_grad_or_inference_mode)
        stays = self.keep_input_mutations and self.mutates_data
        if stays and (not seen or not (self.mutates_metadata or self.requires_grad)):
            return MutationType.MUTATED_IN_GRAPH
        return MutationType.MUTATED_OUT_GRAPH


@dataclass(frozen=True)
class OutputAliasInfo:
    """What an output shares memory with: `base_idx` is an input, an output or an intermediate."""

    output_type: OutputType
    raw_type: type
    base_idx: object
    requires_grad: bool
    requires_grad_for_backward: bool


@dataclass
class ViewAndMutationMeta:
    """All of that for one function."""

    input_info: list
    output_info: list
    num_intermediate_bases: int
    keep_input_mutations: bool
    grad_enabled_mutation: object = None
    static_input_indices: list = field(default_factory=list)
    num_tokens: int = 0

    def _inputs(self, kind):
        return [i for i, info in enumerate(self.input_info) if info.mutation_type == kind]

    def _outputs(self, *kinds):
        return [i for i, info in enumerate(self.output_info) if info.output_type in kinds]

    def __post_init__(self):
        self.mutated_inp_runtime_indices = self._inputs(MutationType.MUTATED_OUT_GRAPH)
        self.num_mutated_inp_runtime_indices = len(self.mutated_inp_runtime_indices)
        in_graph = self.mutated_graph_handled_indices = self._inputs(MutationType.MUTATED_IN_GRAPH)
        self.num_mutated_graph_handled_indices = len(in_graph)
        seen = [i for i in in_graph if not self.input_info[i].mutations_hidden_from_autograd]
        self.mutated_graph_handled_indices_seen_by_autograd = seen
        self.num_mutated_graph_handled_indices_seen_by_autograd = len(seen)
        self.aliased_out_indices = self._outputs(*_OF_INPUTS, *_OF_INTERMEDIATES)
        self.unsafe_view_out_indices = self._outputs(OutputType.unsafe_view_alias)
        self.num_unsafe_view_outputs = len(self.unsafe_view_out_indices)
        self.num_outputs = len(self.output_info)
        self.num_outputs_non_aliased = self.num_outputs - len(self.aliased_out_indices)
        self.num_outputs_aliased_to_inputs = len(self._outputs(*_OF_INPUTS))
        self.num_outputs_aliased_to_intermediates = len(self._outputs(*_OF_INTERMEDIATES))
        self.num_outputs_aliased = len(self.aliased_out_indices)
        # Random numbers by Philox need another device than the CPU.
        self.is_rng_op_functionalized, self.num_outputs_rng_offset = False, 0
        self.num_forward_returns = self.num_mutated_inp_runtime_indices + self.num_outputs + self.num_intermediate_bases
        self.num_forward = self.num_forward_returns + self.num_outputs_rng_offset

    @property
    def tensors_saved_for_backwards_slice(self):
        raise NotImplementedError("ViewAndMutationMeta.tensors_saved_for_backwards_slice is not available in the playground")


def current():
    """What is known of the function that is being compiled; None before that was found out."""
    _, known = _native_aot._tracing_context()
    return None if known is None else of_native(known)


def of_native(known):
    """The metadata, as the compiler tells it."""
    from torch._subclasses.functional_tensor import FunctionalTensor

    def of_output(info):
        kind = FunctionalTensor if info.pop("is_tensor") else int
        return OutputAliasInfo(**{**info, "output_type": OutputType[info["output_type"]]}, raw_type=kind)

    unseen = dict(mutation_inductor_storage_resize=False, mutation_is_shallow_copy_data=False)
    known["input_info"] = [InputAliasInfo(**info, **unseen) for info in known["input_info"]]
    known["output_info"] = [of_output(info) for info in known["output_info"]]
    return ViewAndMutationMeta(**known)
