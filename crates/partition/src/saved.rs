//! The storages that saved values lie in: a view takes no memory of its own, and what a graph is given is in memory already.

use super::joint::{Joint, index, size_of};
use graph::{Graph, Node, NodeId, Opcode};
use std::collections::{BTreeSet, HashMap};

/// Where a value lies.
pub struct Storage {
    /// The value that the storage was made for.
    pub base: String,
    /// Whether the graph is given that: an input, or a constant.
    pub is_given: bool,
}

fn is_given(node: &Node) -> bool {
    matches!(node.opcode, Opcode::Placeholder | Opcode::GetAttr)
}

/// The storages of a graph's values, by their names.
pub fn storages(graph: &Graph) -> HashMap<String, Storage> {
    let storage = Joint::new(graph, 0).storages();
    let one = |node: &Node| {
        let base = graph.node(storage[index(node.id)]);
        (node.name.to_string(), Storage { base: base.name.to_string(), is_given: is_given(base) })
    };
    graph.nodes().map(one).collect()
}

/// Bytes of the activations that saving these values keeps alive.
pub(super) fn activation_bytes(joint: &Joint, saved: &[NodeId]) -> u64 {
    let storage = joint.storages();
    let bases: BTreeSet<u32> = saved.iter().map(|id| storage[index(*id)].0).collect();
    let made = bases.into_iter().map(|base| joint.graph.node(NodeId(base))).filter(|node| !is_given(node) && node.tensor().is_some());
    made.map(|node| size_of(node).unwrap_or(0)).sum()
}
