//! A graph as the report shows it: its readable text and one row per node.

use crate::graph::{Graph, Style, opcode, print_readable};
use crate::report::{GraphView, NodeView};
use crate::shape::SymInt;

/// The text and the nodes of a graph. Ids are positions in the graph's order.
pub fn view(graph: &Graph) -> GraphView {
    let printed = print_readable(graph, Style::FULL);
    let mut position = vec![0u32; graph.arena_len()];
    for (i, node) in graph.nodes().enumerate() {
        position[node.id.0 as usize] = i as u32;
    }
    let texts = |sizes: &[SymInt]| sizes.iter().map(SymInt::to_string).collect::<Vec<_>>();
    let nodes = graph
        .nodes()
        .map(|node| {
            let tensor = node.tensor();
            NodeView {
                id: position[node.id.0 as usize],
                name: node.name.to_string(),
                op: opcode(node).to_owned(),
                target: node.target.text(),
                text_line: printed.line_of_node[node.id.0 as usize],
                dtype: tensor.map(|t| t.dtype.name().to_owned()),
                shape: tensor.map(|t| texts(&t.geometry.sizes)),
                stride: tensor.map(|t| texts(&t.geometry.strides)),
                bytes: tensor.and_then(|t| t.bytes()),
                inputs: node.inputs().iter().map(|i| position[i.0 as usize]).collect(),
                span: node.meta.source.as_ref().map(|s| s.span.clone()),
                module_path: node.meta.module_path.as_deref().unwrap_or_default().to_owned(),
                is_backward: node.meta.is_backward,
                seq_nr: node.meta.seq_nr,
            }
        })
        .collect();
    GraphView { readable: printed.text, nodes }
}
