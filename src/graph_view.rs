//! Graphs as the report shows them: readable text, one row per node, what is saved, sequence numbers.

use crate::graph::{FakeValue, Graph, Node, Opcode, Style, Target, opcode, print_readable};
use crate::partition::Partitioned;
use crate::report::{GraphView, NodeView, Saved};
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

fn texts(sizes: &[SymInt]) -> Vec<String> {
    sizes.iter().map(SymInt::to_string).collect()
}

/// What the forward hands to the backward, in the order it returns it.
pub fn saved(partitioned: &Partitioned) -> Vec<Saved> {
    let row = |name: &String| {
        let node = partitioned.forward.find(name);
        let tensor = node.and_then(Node::tensor);
        Saved {
            name: name.clone(),
            dtype: tensor.map(|t| t.dtype.name().to_owned()),
            shape: tensor.map(|t| texts(&t.geometry.sizes)),
            stride: tensor.map(|t| texts(&t.geometry.strides)),
            bytes: tensor.and_then(|t| t.bytes()),
            sym: match node.and_then(|n| n.meta.value.as_ref()) {
                Some(FakeValue::Int(size)) => Some(size.to_string()),
                _ => None,
            },
            span: node.and_then(|n| n.meta.source.as_ref()).map(|s| s.span.clone()),
        }
    };
    partitioned.saved.iter().map(row).collect()
}

/// Sequence number, target and name of every call, as `Compilation::seq_nr` lists them.
pub fn sequence_numbers(graph: &Graph) -> Vec<(Option<i64>, String, String)> {
    let calls = graph.nodes().filter(|n| n.opcode == Opcode::Call);
    calls.map(|n| (n.meta.seq_nr, call_target(&n.target), n.name.to_string())).collect()
}

fn call_target(target: &Target) -> String {
    match target {
        Target::Getitem => "_operator.getitem".to_owned(),
        Target::Operator(name) if name.starts_with("sym_") => format!("torch.{name}"),
        Target::Operator(name) => format!("_operator.{name}"),
        Target::HigherOrder(name) => format!("torch.ops.higher_order.{name}"),
        other => other.text(),
    }
}
