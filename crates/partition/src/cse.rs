//! Common subexpression elimination before the minimum cut (PyTorch's `fx_graph_cse`).
//!
//! Two calls are one where target and arguments are the same, bit for bit and type for type. Random calls, mutations,
//! `aten.empty` and values that share an output's storage stay apart; and so do a value that the backward needs and an equal
//! one that it does not, lest the merged one be saved.
//!
//! PyTorch remembers one call per hash of target and arguments, the first: a later call of the same hash that differs is never
//! merged with anything. Python's hashes of -1 and -2 are the same, so `x[:-1]` keeps equal calls of `x[:-2]` apart.

use super::joint::{Joint, index};
use super::op_sets::{is_impure, is_never_merged};
use graph::{Arg, Graph, NodeId, Opcode, Target};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// Merges equal calls of a graph whose first outputs are the forward's.
pub fn merge_equal_calls(graph: &mut Graph, num_fwd_outputs: usize) {
    let joint = Joint::new(graph, num_fwd_outputs);
    let (_, bwd_outputs) = joint.outputs();
    let for_backward = joint.ancestors(bwd_outputs.iter().filter_map(|o| if let Arg::Node(n) = o { Some(*n) } else { None }));
    let aliases_output = aliases_of_outputs(&joint);
    let mut now: Vec<NodeId> = (0..graph.arena_len() as u32).map(NodeId).collect();
    let mut first_of_hash: HashMap<String, (String, NodeId)> = HashMap::new();
    let mut merged = HashSet::new();
    for node in graph.nodes() {
        if node.opcode != Opcode::Call || is_impure(node, true) || is_never_merged(node) || aliases_output[index(node.id)] {
            continue;
        }
        let mut key = format!("{}|{}|", for_backward[index(node.id)], target_key(&node.target));
        node.args.iter().for_each(|a| write_key(a, &now, &mut key));
        for (name, value) in &node.kwargs {
            let _ = write!(key, "{name}=");
            write_key(value, &now, &mut key);
        }
        match first_of_hash.entry(hash_class(&key)) {
            Entry::Occupied(first) if first.get().0 == key => {
                now[index(node.id)] = first.get().1;
                merged.insert(node.id);
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(free) => {
                free.insert((key, node.id));
            }
        }
    }
    if merged.is_empty() {
        return;
    }
    graph.retain(|n| !merged.contains(&n.id));
    let ids: Vec<NodeId> = graph.nodes().map(|n| n.id).collect();
    for id in ids {
        let node = graph.node_mut(id);
        let mut map = |n: NodeId| Arg::Node(now[index(n)]);
        node.args = node.args.iter().map(|a| a.map_nodes(&mut map)).collect();
        node.kwargs = node.kwargs.iter().map(|(k, a)| (k.clone(), a.map_nodes(&mut map))).collect();
    }
}

/// Tensors that share the storage of a tensor that the graph returns.
fn aliases_of_outputs(joint: &Joint) -> Vec<bool> {
    let graph = joint.graph;
    let storage = joint.storages();
    let returned = graph.output().map(|o| joint.inputs[index(o.id)].clone()).unwrap_or_default();
    let storages: HashSet<NodeId> =
        returned.iter().filter(|id| graph.node(**id).tensor().is_some()).map(|id| storage[index(*id)]).collect();
    let mut found = vec![false; graph.arena_len()];
    for node in graph.nodes().filter(|n| n.tensor().is_some()) {
        found[index(node.id)] = storages.contains(&storage[index(node.id)]);
    }
    found
}

/// What calls of one hash in Python have in common.
fn hash_class(key: &str) -> String {
    key.replace("i-2,", "i-1,")
}

fn target_key(target: &Target) -> String {
    match target {
        Target::Op(name) => name.to_string(),
        other => format!("{other:?}"),
    }
}

/// The argument, so that two texts are equal exactly where the arguments are, types included.
fn write_key(arg: &Arg, now: &[NodeId], key: &mut String) {
    let items = |open: char, items: &[Arg], key: &mut String| {
        key.push(open);
        items.iter().for_each(|a| write_key(a, now, key));
        key.push(']');
    };
    match arg {
        Arg::Node(n) => {
            let _ = write!(key, "%{},", now[index(*n)].0);
        }
        Arg::Int(i) => {
            let _ = write!(key, "i{i},");
        }
        Arg::Float(f) => {
            let _ = write!(key, "f{:x},", f.to_bits());
        }
        Arg::Complex(re, im) => {
            let _ = write!(key, "c{:x}:{:x},", re.to_bits(), im.to_bits());
        }
        Arg::List(list) => items('[', list, key),
        Arg::Tuple(tuple) => items('(', tuple, key),
        Arg::Dict(entries) => {
            key.push('{');
            entries.iter().for_each(|(name, a)| {
                let _ = write!(key, "{name:?}:");
                write_key(a, now, key);
            });
            key.push('}');
        }
        Arg::Slice(parts) => items(':', &parts[..], key),
        other => {
            let _ = write!(key, "{other:?},");
        }
    }
}
