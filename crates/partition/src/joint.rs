//! The joint graph with what the partitioners ask of it: uses, inputs by kind, sizes, and which node belongs where.

use super::op_sets::{is_aliasing, is_mutable, is_seeded, packet};
use diagnostics::error::{Error, ErrorKind, Result};
use graph::{Arg, FakeValue, Graph, Node, NodeId, Opcode, Recompute, Target};

/// Sizes that depend on data count as this many, as in PyTorch.
const UNKNOWN_SIZE: i64 = 4096;

/// A joint graph and the edges between its nodes. Vectors are indexed by node id.
pub(super) struct Joint<'a> {
    pub(super) graph: &'a Graph,
    pub(super) inputs: Vec<Vec<NodeId>>,
    pub(super) users: Vec<Vec<NodeId>>,
    pub(super) num_fwd_outputs: usize,
}

impl<'a> Joint<'a> {
    pub(super) fn new(graph: &'a Graph, num_fwd_outputs: usize) -> Self {
        let (mut inputs, mut users) = (vec![Vec::new(); graph.arena_len()], vec![Vec::new(); graph.arena_len()]);
        for node in graph.nodes() {
            let reads = node.inputs();
            for input in &reads {
                users[index(*input)].push(node.id);
            }
            inputs[index(node.id)] = reads;
        }
        Joint { graph, inputs, users, num_fwd_outputs }
    }

    pub(super) fn users(&self, id: NodeId) -> impl Iterator<Item = &'a Node> + '_ {
        self.users[index(id)].iter().map(|u| self.graph.node(*u))
    }

    /// What the forward and the backward return.
    pub(super) fn outputs(&self) -> (Vec<Arg>, Vec<Arg>) {
        let mut flat = Vec::new();
        if let Some(value) = self.graph.output().and_then(|o| o.args.first()) {
            flatten(value, &mut flat);
        }
        let backward = flat.split_off(self.num_fwd_outputs.min(flat.len()));
        (flat, backward)
    }

    /// Whether all readers of a node, of which there are some, take one of its results.
    pub(super) fn is_multi_output(&self, id: NodeId) -> bool {
        !self.users[index(id)].is_empty() && self.users(id).all(is_getitem)
    }

    /// Per node, the node in whose storage its value lies: a view lies in that of its base.
    pub(super) fn storages(&self) -> Vec<NodeId> {
        let mut storage: Vec<NodeId> = (0..self.graph.arena_len() as u32).map(NodeId).collect();
        for node in self.graph.nodes() {
            let Some(Arg::Node(first)) = node.args.first() else { continue };
            if is_aliasing(node) || (is_getitem(node) && is_aliasing(self.graph.node(*first))) {
                storage[index(node.id)] = storage[index(*first)];
            }
        }
        storage
    }

    /// Per node, whether it takes part in computing one of the given values.
    pub(super) fn ancestors(&self, of: impl IntoIterator<Item = NodeId>) -> Vec<bool> {
        let mut found = vec![false; self.graph.arena_len()];
        let mut stack: Vec<NodeId> = of.into_iter().collect();
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut found[index(id)], true) {
                stack.extend(&self.inputs[index(id)]);
            }
        }
        found
    }
}

/// A node's place in vectors indexed by id.
pub(super) fn index(id: NodeId) -> usize {
    id.0 as usize
}

/// The leaves of an argument tree.
fn flatten(arg: &Arg, out: &mut Vec<Arg>) {
    match arg {
        Arg::List(items) | Arg::Tuple(items) => items.iter().for_each(|a| flatten(a, out)),
        other => out.push(other.clone()),
    }
}

fn input_name(node: &Node) -> Option<&str> {
    match (&node.target, node.opcode) {
        (Target::Name(name), Opcode::Placeholder) => Some(name),
        _ => None,
    }
}

/// An input that is the gradient of an output.
pub fn is_tangent(node: &Node) -> bool {
    input_name(node).is_some_and(|n| n.contains("tangents"))
}

pub(super) fn is_fwd_seed_offset(node: &Node) -> bool {
    input_name(node).is_some_and(|n| n.contains("fwd_seed") || n.contains("fwd_base_offset"))
}

pub(super) fn is_bwd_seed_offset(node: &Node) -> bool {
    input_name(node).is_some_and(|n| n.contains("bwd_seed") || n.contains("bwd_base_offset"))
}

/// The state that hooks of the function are in: an input that is neither a tensor nor a number.
pub(super) fn is_backward_state(node: &Node) -> bool {
    node.opcode == Opcode::Placeholder && node.meta.value.is_none()
}

/// An input of the function itself.
pub fn is_primal(node: &Node) -> bool {
    node.opcode == Opcode::Placeholder && !is_tangent(node) && !is_fwd_seed_offset(node) && !is_bwd_seed_offset(node)
}

pub(super) fn is_getitem(node: &Node) -> bool {
    node.opcode == Opcode::Call && node.target == Target::Getitem
}

pub(super) fn is_copy_(node: &Node) -> bool {
    node.op() == Some("aten.copy_.default")
}

/// A symbolic number.
pub(super) fn is_sym_node(node: &Node) -> bool {
    matches!(
        node.meta.value,
        Some(FakeValue::Int(_) | FakeValue::Float(_) | FakeValue::SymFloat(_) | FakeValue::Bool(_) | FakeValue::Condition(_))
    )
}

/// Whether checkpointing asks to recompute a node.
pub(super) fn must_recompute(node: &Node) -> bool {
    matches!(node.meta.recompute, Some(Recompute::MustRecompute | Recompute::PreferRecompute))
}

/// A mutation traced in the forward may not move to the backward, nor the other way round.
pub(super) fn must_be_in_forward(node: &Node) -> bool {
    is_mutable(node) && !node.meta.is_backward
}

pub(super) fn must_be_in_backward(node: &Node) -> bool {
    is_mutable(node) && node.meta.is_backward
}

/// Whether a random operator really draws: attention with a dropout of zero does not.
pub(super) fn is_rng_op(node: &Node) -> bool {
    if !is_seeded(node) {
        return false;
    }
    let position = match packet(node) {
        Some("aten._scaled_dot_product_flash_attention" | "aten._scaled_dot_product_flash_attention_for_cpu") => 3,
        Some("aten._scaled_dot_product_efficient_attention" | "aten._scaled_dot_product_cudnn_attention") => 5,
        Some("aten.scaled_dot_product_attention" | "aten._scaled_dot_product_attention_math") => 4,
        _ => return true,
    };
    let given = node.args.get(position).or_else(|| node.kwargs.iter().find(|(k, _)| &**k == "dropout_p").map(|(_, v)| v));
    match given {
        None => false,
        Some(Arg::Float(p)) => *p != 0.0,
        Some(Arg::Int(p)) => *p != 0,
        Some(_) => true,
    }
}

/// Bytes of a value at the hinted sizes; a symbolic number counts as one.
pub(super) fn size_of(node: &Node) -> Result<u64> {
    fn bytes(value: &FakeValue) -> u64 {
        match value {
            FakeValue::Tensor(spec) => {
                let elements = spec.geometry.numel().hint().unwrap_or(UNKNOWN_SIZE);
                (elements.max(0) as u64).saturating_mul(spec.dtype.itemsize() as u64)
            }
            _ => 0,
        }
    }
    match &node.meta.value {
        Some(FakeValue::Int(_) | FakeValue::Float(_) | FakeValue::SymFloat(_) | FakeValue::Bool(_) | FakeValue::Condition(_)) => Ok(1),
        Some(FakeValue::List(items)) => Ok(items.iter().map(bytes).sum()),
        Some(value) => Ok(bytes(value)),
        None if node.opcode == Opcode::GetAttr || is_mutable(node) => Ok(0),
        None if node.op().is_some_and(|op| op.contains("_assert_") || op.contains("sym_constrain_range")) => Ok(0),
        None => Err(Error::new(
            ErrorKind::Runtime,
            format!("Node {} didn't have `val` metadata; we should always have `val` metadata on the nodes.", node.name),
        )),
    }
}

/// Marks the backward nodes of a graph that was read from text, where comments mark only some of them or none.
///
/// The forward ends with the last value that an output of it needs, and with the `getitem` and `detach` calls right after that keep results for the backward; of mutations at the end of the graph those are the backward's that need a tangent.
pub fn mark_backward(graph: &mut Graph, num_fwd_outputs: usize) {
    let joint = Joint::new(graph, num_fwd_outputs);
    let (forward, _) = joint.outputs();
    let nodes_of = |args: &[Arg]| args.iter().filter_map(|a| if let Arg::Node(n) = a { Some(*n) } else { None }).collect::<Vec<_>>();
    let mutated = |id: &NodeId| !is_mutable(graph.node(*id));
    let needed = joint.ancestors(nodes_of(&forward).into_iter().filter(mutated));
    let mut from_tangents = vec![false; graph.arena_len()];
    for node in graph.nodes() {
        from_tangents[index(node.id)] = is_tangent(node) || joint.inputs[index(node.id)].iter().any(|i| from_tangents[index(*i)]);
    }
    let body: Vec<&Node> = graph.nodes().filter(|n| matches!(n.opcode, Opcode::Call | Opcode::GetAttr)).collect();
    let forward_for_sure = |n: &Node| !n.meta.is_backward && !is_mutable(n) && needed[index(n.id)];
    let tangents = body.iter().position(|n| from_tangents[index(n.id)]).unwrap_or(body.len());
    let mut boundary = body[..tangents].iter().rposition(|n| forward_for_sure(n)).map_or(0, |i| i + 1);
    while let Some(node) = body.get(boundary) {
        let of_forward = |i: &NodeId| needed[index(*i)] || is_getitem(graph.node(*i));
        let detached = |i: &NodeId| graph.node(*i).op() == Some("aten.detach.default");
        let inputs = &joint.inputs[index(node.id)];
        let takes = is_getitem(node) && inputs.iter().all(of_forward);
        let keeps = node.op() == Some("aten.detach.default") && inputs.iter().all(|i| of_forward(i) && !detached(i));
        if node.meta.is_backward || from_tangents[index(node.id)] || !(takes || keeps) {
            break;
        }
        boundary += 1;
    }
    // Behind the gradients, what a forward output needs was traced last of all.
    let trails = |n: &Node| forward_for_sure(n) && !from_tangents[index(n.id)];
    let marks: Vec<(NodeId, bool)> = body
        .iter()
        .enumerate()
        .filter(|(i, n)| *i >= boundary && (!is_mutable(n) || from_tangents[index(n.id)]))
        .map(|(_, n)| (n.id, trails(n)))
        .collect();
    for (id, trails) in marks {
        let meta = &mut graph.node_mut(id).meta;
        if trails {
            meta.is_trailing = true;
            continue;
        }
        meta.own_source = meta.source.is_some() && !meta.is_backward;
        meta.is_backward = true;
    }
}
