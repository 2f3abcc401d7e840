//! Tangents: which of a forward's returns have one, what it looks like while the backward is traced, and in which layout the backward
//! gets it.

use super::schemas::{InputSpec, Switches, ViewAndMutationMeta};
use super::subclass::MaybeSubclass;
use crate::error::Result;
use crate::graph::SourceName;
use crate::ops::layout;
use crate::shape::SymInt;
use crate::t;
use crate::tensor::{MemoryFormat, Tensor, TensorSpec};

/// Positions among the forward's returns of values that have a tangent.
pub fn tangent_positions(metadata: &ViewAndMutationMeta) -> Vec<usize> {
    let mutated = metadata.runtime_mutated();
    let mut positions = Vec::new();
    for (p, i) in mutated.iter().enumerate() {
        let info = &metadata.input_info[*i];
        if info.mutates_data && info.requires_grad {
            positions.push(p);
        }
    }
    for (o, info) in metadata.output_info.iter().enumerate() {
        if !info.output_type.is_regenerated() && info.spec.is_some() && info.requires_grad_for_backward {
            positions.push(mutated.len() + o);
        }
    }
    let bases = mutated.len() + metadata.output_info.len();
    positions.extend(bases..bases + metadata.num_intermediate_bases);
    positions
}

/// Whose gradient the tangent of the value at a position is.
pub(super) fn gradient_of(metadata: &ViewAndMutationMeta, inputs: &[InputSpec], position: usize) -> SourceName {
    let mutated = metadata.runtime_mutated();
    let name = match (mutated.get(position), position - mutated.len().min(position)) {
        (Some(input), _) => match inputs.get(*input).and_then(|spec| spec.called.as_ref()) {
            Some(called) => format!("gradient of what is written to {}", called.name),
            None => format!("gradient of what is written to input {input}"),
        },
        (None, output) if output < metadata.output_info.len() => format!("gradient of output {output}"),
        (None, base) => format!("gradient of base {}", base - metadata.output_info.len()),
    };
    SourceName { name, is_parameter: false }
}

/// The positions of values that have tangents, by [`tangent_positions`], with the values and what they are made of.
pub(super) fn tangent_specs(metadata: &ViewAndMutationMeta) -> Vec<(usize, &TensorSpec, &MaybeSubclass)> {
    let mutated = metadata.runtime_mutated().into_iter().map(|i| Some(&metadata.input_info[i].spec));
    let outputs = metadata.output_info.iter().map(|o| o.spec.as_ref());
    let bases = metadata.output_info.iter().filter(|o| o.base.is_some()).map(|o| o.base.as_ref());
    let returned: Vec<Option<&TensorSpec>> = mutated.chain(outputs).chain(bases).collect();
    let made_of = |p: usize| &metadata.subclass_fw_graph_out_meta[p];
    tangent_positions(metadata).into_iter().filter_map(|p| Some((p, returned[p]?, made_of(p)))).collect()
}

/// A tangent is expected with the strides of its value. Where sizes are symbolic, or elements of the value share memory, only
/// the memory format counts.
pub(super) fn tangent_spec(spec: &TensorSpec, switches: Switches) -> Result<TensorSpec> {
    let g = &spec.geometry;
    if !switches.guess_tangent_strides_as_outputs {
        return Ok(TensorSpec::contiguous(g.sizes.clone(), spec.dtype, spec.device));
    }
    let strides = match tangent_format(spec)? {
        // What is laid out so already stays as it is, whatever the strides of its dimensions of one element.
        Some(format) if !layout::is_dense(&Tensor::fake(spec)?, format)? => layout::strides(&g.sizes, format),
        _ => g.strides.clone(),
    };
    Ok(TensorSpec::strided(g.sizes.clone(), strides, spec.dtype, spec.device))
}

/// The memory format that is all that is asked of a value's tangents; `None` where its very strides are.
fn tangent_format(value: &TensorSpec) -> Result<Option<MemoryFormat>> {
    let g = &value.geometry;
    let is_symbolic = g.sizes.iter().chain(&g.strides).any(|s| s.as_int().is_none());
    let overlaps = g.sizes.iter().zip(&g.strides).any(|(size, stride)| stride.as_int() == Some(0) && size.as_int().is_some_and(|n| n > 1));
    if is_symbolic || overlaps { Ok(Some(layout::suggested(&Tensor::fake(value)?))) } else { Ok(None) }
}

/// A tangent in the memory layout it was traced with.
pub(super) fn coerce(grad: Tensor, traced: Option<&TensorSpec>) -> Result<Tensor> {
    let Some(spec) = traced else { return Ok(grad) };
    let hints = |values: &[SymInt]| values.iter().map(SymInt::hint).collect::<Vec<_>>();
    let sizes = grad.sizes();
    let wanted = match tangent_format(spec)? {
        Some(format) if layout::is_dense(&grad, format)? => return Ok(grad),
        Some(format) => layout::strides(&sizes, format),
        None => spec.geometry.strides.clone(),
    };
    if hints(&grad.geometry().strides) == hints(&wanted) {
        return Ok(grad);
    }
    let like = t!("new_empty_strided", &grad, &sizes, &wanted)?;
    t!("copy_", like, grad)
}
