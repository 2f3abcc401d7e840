//! Operands of the bodies of higher-order operators, under the names that Dynamo gives them.

use crate::graph::{Arg, Graph, Node, NodeId, Opcode, Target};
use std::collections::HashMap;
use std::rc::Rc;

/// The name of a value that the body of a call is given.
pub(in crate::dynamo) struct Given {
    /// The name.
    pub name: Rc<str>,
    /// Whether the name is taken already: Dynamo lifts what a branch reads before it sorts all operands.
    pub is_taken: bool,
}

/// Which of a call's arguments its bodies are given: those that stand for values of their own, and those that they read.
struct Takes<'a> {
    fresh: Vec<&'a Arg>,
    read: Vec<&'a Arg>,
    /// Whether bodies are given what others read, too.
    in_common: bool,
}

fn takes<'a>(name: &str, args: &'a [Arg]) -> Takes<'a> {
    let (fresh, read, in_common) = match name {
        // A branch is given the operands, not what is decided by.
        "cond" => (0..0, 1..args.len(), true),
        "while_loop" => (2..3, 3..args.len(), true),
        "map_impl" => (1..2, 2..args.len(), false),
        "scan" => (1..3, 3..args.len(), false),
        _ => (0..0, 0..args.len(), false),
    };
    let part = |range: std::ops::Range<usize>| args.get(range).unwrap_or_default().iter().collect();
    Takes { fresh: part(fresh), read: part(read), in_common }
}

/// How many values a call's bodies take as their own.
pub(in crate::dynamo) fn count_fresh(graph: &Graph, name: &str, args: &[Arg]) -> usize {
    nodes_in(graph, &takes(name, args).fresh).len()
}

fn nodes_in(graph: &Graph, args: &[&Arg]) -> Vec<NodeId> {
    let mut found = Vec::new();
    args.iter().for_each(|a| a.for_each_node(&mut |id| found.push(id)));
    found.retain(|id| graph.node(*id).opcode != Opcode::GetAttr || is_constant(graph, *id));
    found
}

fn is_constant(graph: &Graph, id: NodeId) -> bool {
    graph.constants.iter().any(|(name, _)| graph.node(id).target == Target::Name(name.clone()))
}

/// The subgraphs that a call's arguments name, in order.
pub(in crate::dynamo) fn bodies_of(graph: &Graph, args: &[Arg]) -> Vec<Rc<str>> {
    let named = |a: &Arg| match a {
        Arg::Node(id) if graph.node(*id).opcode == Opcode::GetAttr && !is_constant(graph, *id) => {
            Some(graph.node(*id).target.text().into())
        }
        _ => None,
    };
    args.iter().filter_map(named).collect()
}

/// The call that each body belongs to.
pub(in crate::dynamo) fn calls_of_bodies(graph: &Graph) -> HashMap<Rc<str>, NodeId> {
    let calls = graph.nodes().filter(|n| matches!(&n.target, Target::HigherOrder(_)));
    // The first of several that share it.
    let mut first = HashMap::new();
    for (body, call) in calls.flat_map(|n| bodies_of(graph, &n.args).into_iter().map(move |body| (body, n.id))) {
        first.entry(body).or_insert(call);
    }
    first
}

/// What the body of a call of the graph that is shown is given, by name; first what it takes as values of its own.
pub(in crate::dynamo) fn inputs_of_body(
    graph: &Graph,
    call: &Node,
    fresh: &[Rc<str>],
    recorded: &Graph,
    body: &Rc<str>,
) -> Option<Vec<Given>> {
    let Target::HigherOrder(name) = &call.target else { return None };
    if &**name == "autograd_function_apply" && body.starts_with("bwd") {
        return None;
    }
    let takes = takes(name, &call.args);
    let mut given: Vec<Given> = fresh.iter().map(|name| Given { name: name.clone(), is_taken: false }).collect();
    let bodies = bodies_of(graph, &call.args);
    let start = given.len();
    for (i, id) in nodes_in(graph, &takes.read).into_iter().enumerate() {
        let name = graph.node(id).name.clone();
        let readers: Vec<&Rc<str>> = bodies.iter().filter(|b| reads_input(recorded, b, start + i)).collect();
        given.push(match readers.as_slice() {
            [only] if takes.in_common && bodies.len() > 1 => Given { name: format!("{name}_{}", role(only)).into(), is_taken: false },
            _ => Given { name, is_taken: takes.in_common },
        });
    }
    Some(given)
}

/// Whether a body reads its input at a position.
fn reads_input(graph: &Graph, body: &Rc<str>, position: usize) -> bool {
    let Some((_, body)) = graph.subgraphs.iter().find(|(name, _)| name == body) else { return false };
    let Some(input) = body.placeholders().nth(position).map(|n| n.id) else { return false };
    body.nodes().any(|n| n.reads().contains(&input))
}

/// What the body of an operator is there for, by its name: `true_branch` for `cond_true_0`.
fn role(body: &str) -> String {
    let kind = body.rsplit_once('_').map_or(body, |(kind, _)| kind);
    kind.strip_prefix("cond_").filter(|k| *k != "fn").map_or_else(|| kind.to_owned(), |branch| format!("{branch}_branch"))
}
