//! What became of every forward value, and why, in words.

use super::classify::NodeInfo;
use super::joint::{Joint, index, is_sym_node, must_recompute, size_of};
use super::rules::{Solution, is_reachable};
use crate::graph::{Graph, Node, NodeId, Opcode, Recompute};
use crate::report::Decision;
use std::collections::{BTreeMap, HashSet};

/// A decision per value of the forward. Without a solution of a minimum cut, the default partitioner decided.
pub(super) fn decisions(joint: &Joint, info: &NodeInfo, solution: Option<&Solution>, saved: &[NodeId], backward: &Graph) -> Vec<Decision> {
    let saved: HashSet<NodeId> = saved.iter().copied().collect();
    let computed: HashSet<&str> = backward.nodes().filter(|n| n.opcode == Opcode::Call).map(|n| &*n.name).collect();
    let values = joint.graph.nodes().filter(|n| {
        let of_forward = info.required_fw[index(n.id)] || !(n.meta.is_backward || info.required_bw[index(n.id)]);
        saved.contains(&n.id) || (of_forward && matches!(n.opcode, Opcode::Placeholder | Opcode::Call))
    });
    values
        .map(|node| {
            let (fate, reason) = if saved.contains(&node.id) {
                ("saved", why_saved(node, solution))
            } else if computed.contains(&*node.name) {
                ("recomputed", why_recomputed(node, solution))
            } else {
                ("not needed", why_not_needed(joint, info, node, solution))
            };
            Decision { name: node.name.to_string(), fate: fate.to_owned(), reason }
        })
        .collect()
}

fn why_saved(node: &Node, solution: Option<&Solution>) -> String {
    if is_sym_node(node) {
        return "a symbolic number that the backward, or a size in it, needs".to_owned();
    }
    let Some(solution) = solution else { return "the backward reads it".to_owned() };
    match solution.reasons.get(&node.id).and_then(|r| r.strip_prefix("cannot recompute: ")) {
        Some("primal input") => "an input that the backward reads, or computes other values from".to_owned(),
        Some("marked MUST_SAVE") => "marked MUST_SAVE".to_owned(),
        Some(reason) => format!("the backward needs it, and it is not recomputed: {reason}"),
        None if solution.reasons.contains_key(&node.id) => {
            "the backward needs it, and it is not recomputed: used far apart, or at the end of a long chain".to_owned()
        }
        None => {
            let bytes = size_of(node).unwrap_or(0);
            format!("saving its {bytes} bytes is cheaper than saving what it would be recomputed from")
        }
    }
}

fn why_recomputed(node: &Node, solution: Option<&Solution>) -> String {
    match node.meta.recompute {
        Some(Recompute::MustRecompute | Recompute::PreferRecompute) => "marked to be recomputed by checkpointing".to_owned(),
        _ if solution.is_none() => "a value that the backward computes as well".to_owned(),
        _ => "computing it again from what is saved costs no more memory".to_owned(),
    }
}

fn why_not_needed(joint: &Joint, info: &NodeInfo, node: &Node, solution: Option<&Solution>) -> String {
    let read = joint.users(node.id).any(|u| !info.required_fw[index(u.id)]);
    match solution {
        _ if must_recompute(node) => "marked to be recomputed, and the backward does not need it".to_owned(),
        Some(_) if !is_reachable(info, node.id) => "nothing in the backward depends on it".to_owned(),
        Some(_) if !read => "only forward values read it, and what the backward needs of them is saved".to_owned(),
        _ if read => "what reads it in the backward is saved instead, or unused".to_owned(),
        _ => "only the forward reads it".to_owned(),
    }
}

/// Capacities and reasons of a solution, by name.
#[allow(clippy::type_complexity)]
pub(super) fn by_name(graph: &Graph, solution: &Solution) -> (BTreeMap<String, f64>, BTreeMap<String, String>) {
    let name = |id: &NodeId| graph.node(*id).name.to_string();
    (
        solution.capacities.iter().map(|(id, c)| (name(id), *c)).collect(),
        solution.reasons.iter().map(|(id, r)| (name(id), r.clone())).collect(),
    )
}
