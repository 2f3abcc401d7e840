//! Graphs as the report shows them: readable text, and one row per node.

use crate::graph::{Arg, Graph, Opcode, Style, listing_row, print_readable};
use crate::partition::is_tangent;
use crate::partition::op_sets::{is_impure, is_mutable};
use crate::report::{GraphView, NodeView};
use crate::shape::SymInt;

/// The text and the nodes of a graph. Ids are positions in the graph's order.
pub fn view(graph: &Graph) -> GraphView {
    let printed = print_readable(graph, Style::FULL);
    let mut position = vec![0u32; graph.arena_len()];
    for (i, node) in graph.nodes().enumerate() {
        position[node.id.0 as usize] = i as u32;
    }
    let nodes = graph
        .nodes()
        .map(|node| {
            let tensor = node.tensor();
            let [op, name, target, args, kwargs] = listing_row(graph, node);
            NodeView {
                id: position[node.id.0 as usize],
                name,
                op,
                target,
                args,
                kwargs,
                text_line: printed.line_of_node[node.id.0 as usize],
                dtype: tensor.map(|t| t.dtype.name().to_owned()),
                shape: tensor.map(|t| texts(&t.geometry.sizes)),
                stride: tensor.map(|t| texts(&t.geometry.strides)),
                bytes: tensor.and_then(|t| t.bytes()),
                inputs: node.inputs().iter().map(|i| position[i.0 as usize]).collect(),
                span: node.meta.source.as_ref().map(|s| s.span.clone()),
                module_path: node.meta.module_path.as_deref().unwrap_or_default().to_owned(),
                source_fn: node.meta.source_fn.as_ref().map(|of| of.called.to_string()),
                is_backward: node.meta.is_backward,
                mutates: is_mutable(node),
                seq_nr: node.meta.seq_nr,
            }
        })
        .collect();
    GraphView { readable: printed.text, nodes }
}

/// The functionalized stage: what a joint graph computes before anything is differentiated. That is its first outputs with
/// all they need and every write that is not the backward's; without tangents, gradients, and what is computed for those alone.
pub fn functionalized(joint: &Graph, num_fwd_outputs: usize) -> Graph {
    let mut graph = joint.clone();
    let outputs: Vec<Arg> = graph.outputs().into_iter().take(num_fwd_outputs).collect();
    let mut wanted = vec![false; graph.arena_len()];
    for output in &outputs {
        output.for_each_node(&mut |id| wanted[id.0 as usize] = true);
    }
    for node in joint.nodes().rev() {
        let write = node.opcode == Opcode::Call && !node.meta.is_backward && is_impure(node, false);
        let input = node.opcode == Opcode::Placeholder && !is_tangent(node);
        let at = node.id.0 as usize;
        wanted[at] |= write || input;
        if node.opcode == Opcode::Output {
            wanted[at] = true;
            graph.node_mut(node.id).args = vec![Arg::Tuple(outputs.clone())];
        } else if wanted[at] {
            node.inputs().iter().for_each(|i| wanted[i.0 as usize] = true);
        }
    }
    graph.retain(|node| wanted[node.id.0 as usize]);
    graph.joint_signature = false;
    graph
}

fn texts(sizes: &[SymInt]) -> Vec<String> {
    sizes.iter().map(SymInt::to_string).collect()
}
