//! What checkpointing asked of nodes, adjusted before a partitioner reads it.

use super::joint::{Joint, index, is_copy_, is_getitem, must_be_in_backward, must_be_in_forward, must_recompute};
use graph::{Arg, FakeValue, Graph, NodeId, Opcode, Recompute};
use std::collections::HashSet;

/// Saves the values at the border of two checkpointed regions that follow each other; for the default partitioner also the
/// inputs of a region (PyTorch's `cleanup_recompute_tags`).
pub(super) fn cleanup_recompute_tags(graph: &mut Graph, is_default_partition: bool) {
    let users = Joint::new(graph, 0).users;
    let ids: Vec<NodeId> = graph.nodes().map(|n| n.id).collect();
    for id in ids {
        let node = graph.node(id);
        let mut readers = users[index(id)].iter().map(|u| graph.node(*u));
        let save = if must_recompute(node) {
            let region = node.meta.checkpoint_region;
            readers.any(|u| must_recompute(u) && region.is_some() && u.meta.checkpoint_region > region)
        } else {
            let of_region = match node.args.first() {
                Some(Arg::Node(parent)) if is_getitem(node) => {
                    let parent = graph.node(*parent);
                    !matches!(parent.meta.value, Some(FakeValue::Tensor(_))) && parent.meta.checkpoint_region.is_some()
                }
                _ => false,
            };
            is_default_partition && node.meta.checkpoint_region.is_none() && readers.any(must_recompute) && !of_region
        };
        if save {
            graph.node_mut(id).meta.recompute = Some(Recompute::MustSave);
        }
    }
}

/// Where forward and backward write to the same input, what the forward writes is saved: recomputing it would read the
/// input after the write (PyTorch's `force_save_bw_mutation_src`).
pub(super) fn force_save_bw_mutation_src(graph: &mut Graph) {
    let mut written = HashSet::new();
    let mut save = Vec::new();
    for node in graph.nodes().rev().filter(|n| n.opcode != Opcode::Output) {
        if !is_copy_(node) {
            break;
        }
        if let (Some(Arg::Node(base)), Some(Arg::Node(value))) = (node.args.first(), node.args.get(1)) {
            if must_be_in_backward(node) {
                written.insert(*base);
            } else if must_be_in_forward(node) && written.contains(base) {
                save.push(*value);
            }
        }
    }
    for id in save {
        graph.node_mut(id).meta.recompute = Some(Recompute::MustSave);
    }
}
