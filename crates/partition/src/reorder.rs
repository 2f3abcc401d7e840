//! Orders of nodes: the backward as the autograd engine would run it, and results taken apart as early as possible.

use super::joint::{Joint, index, is_copy_, is_getitem, is_tangent};
use diagnostics::error::{Error, ErrorKind, Result};
use graph::{Graph, NodeId, Opcode};

/// Puts what is recomputed right before its first use, so that it lives no longer than needed
/// (PyTorch's `reordering_to_mimic_autograd_engine`). What nobody needs is dropped.
pub(super) fn mimic_autograd_engine(graph: &mut Graph) {
    let joint = Joint::new(graph, 0);
    let nodes: Vec<NodeId> = graph.nodes().map(|n| n.id).collect();
    let mut position = vec![usize::MAX; graph.arena_len()];
    for (i, id) in nodes.iter().enumerate() {
        position[index(*id)] = i;
    }
    let tangent_users = graph.nodes().filter(|n| is_tangent(n)).flat_map(|n| joint.users[index(n.id)].iter());
    let Some(start) = tangent_users.map(|u| position[index(*u)]).min() else { return };
    let mut placed = vec![false; graph.arena_len()];
    let mut order: Vec<NodeId> = Vec::with_capacity(nodes.len());
    for node in graph.placeholders() {
        placed[index(node.id)] = true;
        order.push(node.id);
    }
    let early = nodes[..start].iter().filter(|id| is_copy_(graph.node(**id)));
    for id in early.chain(&nodes[start..]) {
        let mut found = Vec::new();
        let mut stack = vec![*id];
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut placed[index(id)], true) {
                found.push(id);
                stack.extend(&joint.inputs[index(id)]);
            }
        }
        found.sort_by_key(|id| position[index(*id)]);
        order.extend(found);
    }
    graph.reorder(order);
}

/// Moves every `getitem` right behind the call it takes a result from (PyTorch's `raise_getitems`).
pub(super) fn raise_getitems(graph: &mut Graph) -> Result<()> {
    let nodes: Vec<NodeId> = graph.nodes().map(|n| n.id).collect();
    let getitems: Vec<NodeId> = graph.nodes().filter(|n| is_getitem(n) && n.opcode == Opcode::Call).map(|n| n.id).collect();
    if getitems.is_empty() {
        return Ok(());
    }
    // A doubly linked list over ids, with one more place for its head.
    let head = graph.arena_len();
    let (mut next, mut previous) = (vec![head; head + 1], vec![head; head + 1]);
    let mut last = head;
    for id in &nodes {
        next[last] = index(*id);
        previous[index(*id)] = last;
        last = index(*id);
    }
    next[last] = head;
    previous[head] = last;
    for id in getitems.into_iter().rev() {
        let inputs = graph.node(id).inputs();
        let [parent] = inputs.as_slice() else {
            let message = format!("expected node {} to have 1 input node, got {}", graph.node(id).name, inputs.len());
            return Err(Error::new(ErrorKind::Assertion, message));
        };
        let (node, parent) = (index(id), index(*parent));
        (next[previous[node]], previous[next[node]]) = (next[node], previous[node]);
        let after = next[parent];
        (next[parent], previous[node], next[node], previous[after]) = (node, parent, after, node);
    }
    let mut order = Vec::with_capacity(nodes.len());
    let mut at = next[head];
    while at != head {
        order.push(NodeId(at as u32));
        at = next[at];
    }
    graph.reorder(order);
    Ok(())
}
