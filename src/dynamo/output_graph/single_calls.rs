//! A region that a single call has stands in its place when the graph ends.

use crate::graph::regions::{identifier, inline};
use crate::graph::{Graph, NodeId, Opcode};
use std::rc::Rc;

/// Regions that a single call has stand in its place.
pub(in crate::dynamo) fn inline_single_calls(graph: &mut Graph) {
    let calls: Vec<(NodeId, Rc<str>)> = graph.nodes().filter_map(|n| Some((n.id, identifier(n)?.clone()))).collect();
    for (call, name) in &calls {
        if calls.iter().filter(|(_, other)| other == name).count() == 1 {
            inline(graph, *call);
        }
    }
    let named: Vec<String> = graph.nodes().filter(|n| n.opcode == Opcode::GetAttr).map(|n| n.target.text()).collect();
    let singles = |name: &Rc<str>| calls.iter().any(|(_, of)| of == name) && !named.iter().any(|n| *n == **name);
    graph.subgraphs.retain(|(name, _)| !singles(name));
}
