//! What PyTorch's errors quote of a `ViewAndMutationMeta`: what is known of inputs and outputs, as its dataclass prints.

use super::schemas::{InputInfo, OutputInfo, OutputType, ViewAndMutationMeta};
use crate::error::{Error, Result};

fn flag(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

fn input(info: &InputInfo, keep_input_mutations: bool) -> String {
    let flags = [
        ("is_leaf", info.is_leaf),
        ("mutates_data", info.mutates_data),
        ("mutates_metadata", info.mutates_metadata),
        ("mutations_hidden_from_autograd", info.mutations_hidden_from_autograd),
        ("mutations_under_no_grad_or_inference_mode", info.mutations_under_no_grad_or_inference_mode),
        ("mutation_inductor_storage_resize", false),
        ("mutates_storage_metadata", info.data_replaced),
        ("mutation_is_shallow_copy_data", false),
        ("requires_grad", info.requires_grad),
        ("keep_input_mutations", keep_input_mutations),
    ];
    let flags: Vec<String> = flags.iter().map(|(name, value)| format!("{name}={}", flag(*value))).collect();
    format!("InputAliasInfo({})", flags.join(", "))
}

/// The number that a member of PyTorch's enumeration has.
fn number(kind: OutputType) -> usize {
    match kind {
        OutputType::NonAlias => 1,
        OutputType::AliasOfInput => 2,
        OutputType::IsInput => 3,
        OutputType::AliasOfIntermediateSaveAsOutput => 4,
        OutputType::AliasOfIntermediate => 5,
        OutputType::AliasOfIntermediateBaseIsUserOutput => 6,
        OutputType::UnsafeViewAlias => 7,
        OutputType::CustomFunctionView => 8,
    }
}

fn output(info: &OutputInfo) -> String {
    let class = if info.spec.is_some() { "torch._subclasses.functional_tensor.FunctionalTensor" } else { "int" };
    let sizes = info.spec.iter().flat_map(|s| &s.geometry.sizes).enumerate();
    let dims: Vec<String> = sizes.filter(|(_, size)| size.expr().as_int().is_none()).map(|(d, _)| d.to_string()).collect();
    let dims = if dims.is_empty() { "set()".to_owned() } else { format!("{{{}}}", dims.join(", ")) };
    let steps: Vec<String> =
        info.steps.iter().map(|s| s.entry.name.trim_start_matches("aten.").trim_end_matches(".default").replace('.', "_")).collect();
    let views = match info.output_type.is_regenerated() && !steps.is_empty() {
        true => format!("ViewMetaSequence({})", steps.join(", ")),
        false => "None".to_owned(),
    };
    format!(
        "OutputAliasInfo(output_type=<OutputType.{}: {}>, raw_type=<class '{class}'>, base_idx={}, dynamic_dims={dims}, requires_grad={}, \
         requires_grad_for_backward={}, view_meta_sequence={views})",
        info.output_type.name(),
        number(info.output_type),
        info.base_idx.map_or_else(|| "None".to_owned(), |i| i.to_string()),
        flag(info.requires_grad),
        flag(info.requires_grad),
    )
}

impl ViewAndMutationMeta {
    /// Its fields, up to what only describes tangents and the calling convention, which an ellipsis stands for.
    pub fn text(&self) -> String {
        let inputs: Vec<String> = self.input_info.iter().map(|i| input(i, self.keep_input_mutations)).collect();
        let outputs: Vec<String> = self.output_info.iter().map(output).collect();
        format!(
            "ViewAndMutationMeta(input_info=[{}], output_info=[{}], num_intermediate_bases={}, keep_input_mutations={}, ...)",
            inputs.join(", "),
            outputs.join(", "),
            self.num_intermediate_bases,
            flag(self.keep_input_mutations)
        )
    }

    /// Refuses what the graph alone could not say: inputs whose geometry changes, and, with a backward, writes that autograd sees.
    pub(super) fn check_export(&self, is_joint: bool) -> Result<()> {
        let banned = "This is currently banned in the aot_export workflow. If you need this functionality, please file a github issue.";
        let refused = |what: &str| Err(Error::runtime(format!("{what}\n{banned}\n\nfw_metadata={}", self.text())));
        if self.input_info.iter().any(|i| i.mutates_metadata) {
            return refused("Found an input that received a metadata mutation, through e.g. a call to `.resize_()` or `.transpose_()`.");
        }
        if is_joint && self.input_info.iter().any(|i| i.requires_grad && i.mutates_data) {
            return refused("Found a graph input that requires gradients, and received a mutation.");
        }
        if self.requires_subclass_dispatch() {
            return Err(Error::runtime(
                "aot_export is not currently supported with traceable tensor subclass.\nIf you need this feature, please comment on <CREATE_ISSUE_LINK>",
            ));
        }
        Ok(())
    }
}
