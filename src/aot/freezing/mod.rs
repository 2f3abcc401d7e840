//! Freezing (PyTorch's `torch._inductor.freezing`): in an inference graph the parameters that nobody writes to and no output is a view of
//! become constants, and what depends on constants alone is computed once, while compiling. It runs after Inductor's joint-graph passes.
//!
//! Values of tensors are read here, which nowhere else in the pipeline happens.

mod binary_folding;
mod constant_folding;
mod layout;

use super::like::copied;
use super::schemas::{Freezing, FrozenConstant, FrozenGraph, MutationType, ViewAndMutationMeta};
use super::subclass;
use crate::dispatch::Value;
use crate::error::Result;
use crate::graph::{Arg, Graph, Node, NodeId, Opcode, Target};
use crate::partition::merge_equal_calls;
use crate::tensor::Tensor;
use binary_folding::MixedPrecision;
use constant_folding::Folder;
use std::collections::HashMap;

const CONVOLUTION: &str = "aten.convolution.default";
const CONVERT: &str = "prims.convert_element_type.default";
const RESHAPE: &str = "aten.reshape.default";

/// How often operations behind convolutions are looked for.
const BINARY_FOLDING_ROUNDS: usize = 4;

/// Freezes an inference graph whose first inputs are the parameters.
///
/// # Errors
/// Those of the operators that are computed.
pub fn freeze(mut graph: Graph, freezing: &Freezing, metadata: &ViewAndMutationMeta) -> Result<FrozenGraph> {
    let before = graph.nodes().filter(|n| n.opcode == Opcode::Call).count();
    if freezing.layout_optimization && graph.nodes().any(is_convolution) {
        layout::weights_to_channels_last(&mut graph)?;
    }
    rename_views(&mut graph);
    let kept = kept_parameters(freezing, metadata)?;
    let mut folder = Folder::default();
    let places: Vec<NodeId> = graph.placeholders().map(|n| n.id).collect();
    let mut preserved = Vec::new();
    for (place, id) in places.iter().enumerate() {
        let parameter = place.checked_sub(metadata.num_tokens()).and_then(|at| kept.get(at)?.clone());
        match parameter {
            Some((tensor, name)) => folder.parameter(&mut graph, *id, tensor, name),
            None => preserved.push(place),
        }
    }
    let returned = graph.outputs().len();
    merge_equal_calls(&mut graph, returned);
    let mut mixed = MixedPrecision::find(&graph);
    for _ in 0..BINARY_FOLDING_ROUNDS {
        folder.fold(&mut graph)?;
        if !binary_folding::fold(&mut graph, &mut mixed, &folder)? {
            break;
        }
    }
    mixed.recover(&mut graph);
    folder.fold(&mut graph)?;
    drop_same_casts(&mut graph);
    folder.fold(&mut graph)?;
    graph.validate()?;
    let constants = folder.constants(&graph);
    if freezing.weight_prepack {
        pack_weights(&mut graph)?;
    }
    let after = graph.nodes().filter(|n| n.opcode == Opcode::Call).count();
    Ok(FrozenGraph { graph, preserved, constants, folded_calls: before.saturating_sub(after), seconds: folder.seconds() })
}

fn is_convolution(node: &Node) -> bool {
    node.op() == Some(CONVOLUTION)
}

/// Weights may be laid out otherwise than where they were traced, so that a view of what is computed from them may need a copy.
fn rename_views(graph: &mut Graph) {
    let views: Vec<NodeId> = graph.nodes().filter(|n| n.op() == Some("aten.view.default")).map(|n| n.id).collect();
    for id in views {
        graph.node_mut(id).target = Target::Op(RESHAPE.into());
    }
}

/// Per input of the graph, without its token: the tensor that it becomes, and where the script keeps it.
fn kept_parameters(freezing: &Freezing, metadata: &ViewAndMutationMeta) -> Result<Vec<Option<(Tensor, String)>>> {
    let mut found: Vec<Option<(Tensor, String)>> = Vec::new();
    for (i, (tensor, name)) in freezing.parameters.iter().enumerate() {
        let is_written = metadata.input_info.get(i).is_none_or(|info| info.mutation_type != MutationType::NotMutated);
        let is_viewed = metadata.output_info.iter().any(|o| o.output_type.is_of_input() && o.base_idx == Some(i));
        for plain in subclass::plain(tensor)? {
            found.push((!is_written && !is_viewed).then(|| (plain, name.clone())));
        }
    }
    Ok(found)
}

/// Casts to the dtype that a value has already, as folding into weights leaves them.
fn drop_same_casts(graph: &mut Graph) {
    let same = |node: &Node| {
        let (Some(Arg::Node(of)), Some(Arg::Dtype(dtype))) = (node.args.first(), node.args.get(1)) else { return None };
        (node.op() == Some(CONVERT) && graph.node(*of).tensor()?.dtype == *dtype).then_some((node.id, Arg::Node(*of)))
    };
    let found: HashMap<NodeId, Arg> = graph.nodes().filter_map(same).collect();
    for (id, of) in &found {
        graph.replace_uses(*id, of);
    }
    graph.retain(|n| !found.contains_key(&n.id));
}

/// Weights of matrix products and convolutions are packed into memory of their own: what the script writes to its parameters later does
/// not reach them. Products with a batch whose size varies are packed in low precision alone.
fn pack_weights(graph: &mut Graph) -> Result<()> {
    let packed = |node: &Node| {
        let (input, weight) = match node.op()? {
            CONVOLUTION => (None, 1),
            "aten.addmm.default" => (Some(1), 2),
            "aten.mm.default" => (Some(0), 1),
            _ => return None,
        };
        let argument = |at: usize| if let Some(Arg::Node(id)) = node.args.get(at) { Some(graph.node(*id)) } else { None };
        let weight = argument(weight).filter(|n| n.opcode == Opcode::GetAttr)?;
        let is_low = weight.tensor()?.dtype.itemsize() == 2;
        let varies = input.is_some_and(|at| {
            argument(at)
                .and_then(|n| n.tensor())
                .is_some_and(|spec| spec.geometry.sizes.first().is_some_and(|size| size.as_int().is_none()))
        });
        (is_low || !varies).then(|| weight.target.text())
    };
    let names: Vec<String> = graph.nodes().filter_map(packed).collect();
    for (name, constant) in &mut graph.constants {
        if names.iter().any(|n| **n == **name) {
            *constant = copied(constant)?;
        }
    }
    Ok(())
}

impl FrozenGraph {
    /// What is left of the inputs of the graph that was frozen.
    pub fn given(&self, inputs: &mut Vec<Value>) {
        let all = std::mem::take(inputs);
        inputs.extend(all.into_iter().enumerate().filter(|(i, _)| self.preserved.contains(i)).map(|(_, value)| value));
    }
}

impl FrozenConstant {
    /// How many bytes its values take.
    pub fn bytes_of(tensor: &Tensor) -> u64 {
        tensor.numel().as_int().map_or(0, |count| count.unsigned_abs() * tensor.dtype().itemsize() as u64)
    }
}
