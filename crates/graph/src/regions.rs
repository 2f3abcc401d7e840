//! Calls of `invoke_subgraph`: which subgraph they share, whether two subgraphs are one computation, and putting one in the place of
//! its call.

use crate::print::{Style, annotation};
use crate::{Arg, Graph, Node, NodeId, Opcode, Target};
use std::collections::HashMap;
use std::rc::Rc;

/// The operator: its subgraph, what tells it from others, then what the subgraph is given.
pub const INVOKE_SUBGRAPH: &str = "invoke_subgraph";

/// Where what a subgraph is given begins among the arguments of its call.
pub const FIRST_OPERAND: usize = 2;

/// What tells the subgraph of a call from others, where the node calls one.
pub fn identifier(node: &Node) -> Option<&Rc<str>> {
    match (&node.target, node.args.get(1)) {
        (Target::HigherOrder(name), Some(Arg::Str(identifier))) if &**name == INVOKE_SUBGRAPH => Some(identifier),
        _ => None,
    }
}

/// The node that names the subgraph of a call, and the subgraph.
pub fn subgraph<'g>(graph: &'g Graph, call: &Node) -> Option<(NodeId, &'g Graph)> {
    let Some(Arg::Node(named)) = call.args.first() else { return None };
    let name = graph.node(*named).target.text();
    let found = graph.subgraphs.iter().find(|(known, _)| **known == *name)?;
    Some((*named, &found.1))
}

/// Whether two subgraphs compute the same of inputs that look the same, whatever these are called.
pub fn is_same_computation(a: &Graph, b: &Graph) -> bool {
    let positions =
        |graph: &Graph| -> HashMap<NodeId, NodeId> { graph.nodes().enumerate().map(|(i, node)| (node.id, NodeId(i as u32))).collect() };
    let (of_a, of_b) = (positions(a), positions(b));
    let placed =
        |arg: &Arg, positions: &HashMap<NodeId, NodeId>| arg.map_nodes(&mut |id| positions.get(&id).map_or(Arg::None, |at| Arg::Node(*at)));
    let same_args = |x: &Node, y: &Node| {
        x.args.len() == y.args.len()
            && x.kwargs.len() == y.kwargs.len()
            && x.args.iter().zip(&y.args).all(|(x, y)| placed(x, &of_a) == placed(y, &of_b))
            && x.kwargs.iter().zip(&y.kwargs).all(|((k, x), (l, y))| k == l && placed(x, &of_a) == placed(y, &of_b))
    };
    let looks = |node: &Node| node.meta.value.as_ref().and_then(|value| annotation(value, Style::FULL));
    let same = |(x, y): (&Node, &Node)| {
        x.opcode == y.opcode && (x.opcode == Opcode::Placeholder || x.target == y.target) && same_args(x, y) && looks(x) == looks(y)
    };
    a.len() == b.len() && a.nodes().zip(b.nodes()).all(same)
}

/// Puts the subgraph of a call in its place: its calls stand there, and what it returns is read in place of the call's items.
pub fn inline(graph: &mut Graph, call: NodeId) {
    let node = graph.node(call).clone();
    let Some((named, body)) = subgraph(graph, &node).map(|(named, body)| (named, body.clone())) else { return };
    let operands = node.args.get(FIRST_OPERAND..).unwrap_or_default();
    let mut values: HashMap<NodeId, Arg> = body.placeholders().map(|n| n.id).zip(operands.iter().cloned()).collect();
    let items: Vec<(NodeId, usize)> = graph
        .nodes()
        .filter(|n| n.target == Target::Getitem && n.args.first() == Some(&Arg::Node(call)))
        .filter_map(|n| if let Some(Arg::Int(i)) = n.args.get(1) { Some((n.id, usize::try_from(*i).ok()?)) } else { None })
        .collect();
    let gone: Vec<NodeId> = items.iter().map(|(id, _)| *id).chain([named]).collect();
    for inner in &body.subgraphs {
        if !graph.subgraphs.iter().any(|(name, _)| *name == inner.0) {
            graph.subgraphs.push(inner.clone());
        }
    }
    let mut made = Vec::new();
    for inner in body.nodes().filter(|n| !matches!(n.opcode, Opcode::Placeholder | Opcode::Output)) {
        let id = graph.copy_node(inner, &mut |id| values.get(&id).cloned().unwrap_or(Arg::None));
        values.insert(inner.id, Arg::Node(id));
        made.push(id);
    }
    let returned = body.outputs();
    let results: HashMap<NodeId, Arg> = items
        .into_iter()
        .map(|(item, i)| {
            let given = returned.get(i).map_or(Arg::None, |a| a.map_nodes(&mut |id| values.get(&id).cloned().unwrap_or(Arg::None)));
            (item, given)
        })
        .collect();
    graph.replace_all(&results);
    put_in_place(graph, call, &made, &gone);
}

/// Moves nodes to where a call was, which goes, as others do that nobody reads any more.
pub fn put_in_place(graph: &mut Graph, call: NodeId, made: &[NodeId], gone: &[NodeId]) {
    let mut order = Vec::with_capacity(graph.len());
    for id in graph.nodes().map(|n| n.id).filter(|id| !made.contains(id)) {
        if id == call {
            order.extend(made);
        } else if !gone.contains(&id) {
            order.push(id);
        }
    }
    graph.reorder(order);
}
