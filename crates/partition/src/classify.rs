//! Which nodes the forward needs, which the backward needs, and how far each is from the backward.

use super::config::PartitionConfig;
use super::extract::{Side, kept_nodes};
use super::joint::{Joint, index, is_fwd_seed_offset, is_primal, is_tangent, must_be_in_backward};
use diagnostics::error::Result;
use graph::{Arg, NodeId, Opcode};

/// Distance of a value that the backward cannot reach.
pub(super) const UNREACHABLE: u64 = 1_000_000_000;

/// The classes of a joint graph's nodes. Vectors are indexed by node id.
pub(super) struct NodeInfo {
    /// Inputs of the forward.
    pub(super) inputs: Vec<NodeId>,
    /// Needed for the forward's outputs.
    pub(super) required_fw: Vec<bool>,
    /// Needed in the backward: what tangents reach, and what the backward returns.
    pub(super) required_bw: Vec<bool>,
    /// What tangents reach: cannot be saved by the forward.
    pub(super) tangents_closure: Vec<bool>,
    /// Position among the nodes the forward needs.
    pub(super) fw_order: Vec<usize>,
    /// Nodes the forward needs, in order.
    pub(super) required_fw_nodes: Vec<NodeId>,
    /// Inputs that live as long as the model: parameters and buffers.
    pub(super) is_static: Vec<bool>,
    /// Inputs that are written to after the forward has run.
    pub(super) is_replayed: Vec<bool>,
    /// Steps from a value to the nearest node that is not the forward's.
    pub(super) dist_from_bw: Vec<u64>,
}

impl NodeInfo {
    /// Whether anything at all is the backward's.
    pub(super) fn has_backward(&self) -> bool {
        self.required_bw.iter().any(|b| *b)
    }
}

/// Classifies the nodes.
pub(super) fn classify_nodes(joint: &Joint, config: &PartitionConfig) -> Result<NodeInfo> {
    let graph = joint.graph;
    let len = graph.arena_len();
    let mut required_bw = vec![false; len];
    for node in graph.nodes() {
        if is_tangent(node) || must_be_in_backward(node) {
            required_bw[index(node.id)] = true;
        }
        if required_bw[index(node.id)] {
            for user in &joint.users[index(node.id)] {
                required_bw[index(*user)] = true;
            }
        }
    }
    let primals: Vec<NodeId> = graph.nodes().filter(|n| is_primal(n)).map(|n| n.id).collect();
    let mut inputs = primals.clone();
    inputs.extend(graph.nodes().filter(|n| is_fwd_seed_offset(n)).map(|n| n.id));
    let (fwd_outputs, bwd_outputs) = joint.outputs();
    let tangents_closure = required_bw.clone();
    for output in &bwd_outputs {
        if let Arg::Node(id) = output {
            required_bw[index(*id)] = true;
        }
    }
    let forward = kept_nodes(joint, &inputs, &fwd_outputs, Side::Forward, config.random_is_impure)?;
    let mut required_fw = vec![false; len];
    for id in inputs.iter().chain(&forward.nodes) {
        required_fw[index(*id)] = true;
    }
    let mut fw_order = vec![usize::MAX; len];
    let required_fw_nodes: Vec<NodeId> = graph.nodes().filter(|n| required_fw[index(n.id)]).map(|n| n.id).collect();
    for (position, id) in required_fw_nodes.iter().enumerate() {
        fw_order[index(*id)] = position;
    }
    let among_primals = |positions: &[usize]| {
        let mut found = vec![false; len];
        positions.iter().filter_map(|p| primals.get(*p)).for_each(|id| found[index(*id)] = true);
        found
    };
    let is_static = among_primals(&config.static_inputs);
    let is_replayed = among_primals(&config.replayed_mutations);
    let mut dist_from_bw = vec![0; len];
    for node in graph.nodes().rev() {
        dist_from_bw[index(node.id)] = if node.opcode == Opcode::Output {
            UNREACHABLE
        } else if !required_fw[index(node.id)] {
            0
        } else {
            let nearest = joint.users[index(node.id)].iter().map(|u| dist_from_bw[index(*u)] + 1).min();
            nearest.unwrap_or(UNREACHABLE).min(UNREACHABLE)
        };
    }
    Ok(NodeInfo { inputs, required_fw, required_bw, tangents_closure, fw_order, required_fw_nodes, is_static, is_replayed, dist_from_bw })
}
