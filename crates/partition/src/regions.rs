//! Regions: a subgraph that is called in the forward and differentiated in the backward is split in two like the graph around it, once for
//! all its calls. What the forward part saves is among the results of its call, and what the backward part is given.

use crate::{PartitionConfig, Partitioned, partition};
use diagnostics::error::{Error, Result};
use graph::regions::{FIRST_OPERAND, INVOKE_SUBGRAPH, identifier, put_in_place, subgraph};
use graph::{Arg, FakeValue, Graph, Meta, Node, NodeId, Opcode, Target};
use std::collections::HashMap;
use std::rc::Rc;

/// A call in the forward, and the call that differentiates it.
struct Pair {
    forward: NodeId,
    backward: NodeId,
    /// What tells the two subgraphs from others.
    name: Rc<str>,
}

/// Splits the regions of a joint graph. One in which none is differentiated stays as it is.
///
/// # Errors
/// Those of splitting a region.
pub fn split_regions(joint: Rc<Graph>, config: &PartitionConfig) -> Result<Rc<Graph>> {
    let pairs = pairs(&joint);
    if pairs.is_empty() {
        return Ok(joint);
    }
    let mut joint = Rc::unwrap_or_clone(joint);
    let config = PartitionConfig { static_inputs: Vec::new(), replayed_mutations: Vec::new(), ..config.clone() };
    let mut split: HashMap<Rc<str>, Partitioned> = HashMap::new();
    for pair in &pairs {
        let parts = match split.remove(&pair.name) {
            Some(parts) => parts,
            None => {
                let parts = parts(&joint, pair, &config)?;
                for (half, part) in [("fw", &parts.forward), ("bw", &parts.backward)] {
                    joint.subgraphs.push((format!("partitioned_{half}_{}", pair.name).into(), part.clone()));
                }
                parts
            }
        };
        call_parts(&mut joint, pair, &parts)?;
        split.insert(pair.name.clone(), parts);
    }
    let named: Vec<String> = joint.nodes().filter(|n| n.opcode == Opcode::GetAttr).map(|n| n.target.text().to_string()).collect();
    joint.subgraphs.retain(|(name, _)| named.iter().any(|n| *n == **name));
    Ok(Rc::new(joint))
}

/// Calls of regions with those that differentiate them, in the order of the forward. A call in the backward is given what the one in the
/// forward is, then gradients.
fn pairs(joint: &Graph) -> Vec<Pair> {
    let mut backwards: Vec<(&Node, Rc<str>)> =
        joint.nodes().filter_map(|n| Some((n, identifier(n)?.strip_prefix("bw_")?.into()))).collect();
    let mut pairs = Vec::new();
    for forward in joint.nodes() {
        let Some(region) = identifier(forward).and_then(|name| name.strip_prefix("fw_")) else { continue };
        let given = forward.args.get(FIRST_OPERAND..).unwrap_or_default();
        let differentiates = |(node, name): &(&Node, Rc<str>)| {
            let of_region = name.rsplit_once('_').is_some_and(|(of, _)| of == region);
            of_region && node.args.get(FIRST_OPERAND..).is_some_and(|args| args.starts_with(given))
        };
        // Of calls that are given the same, the last is differentiated first.
        if let Some(i) = backwards.iter().rposition(differentiates) {
            let (node, name) = backwards.remove(i);
            pairs.push(Pair { forward: forward.id, backward: node.id, name });
        }
    }
    pairs
}

/// The subgraph of a call in the backward as a joint graph of its own, split.
fn parts(joint: &Graph, pair: &Pair, config: &PartitionConfig) -> Result<Partitioned> {
    let call = joint.node(pair.backward);
    let (_, body) = subgraph(joint, call).ok_or_else(|| Error::runtime(format!("{} has no subgraph", call.name)))?;
    let num_primals = joint.node(pair.forward).args.len().saturating_sub(FIRST_OPERAND);
    let mut region = Graph::new(&body.class_name);
    region.subgraphs = body.subgraphs.clone();
    region.constants = body.constants.clone();
    let mut ids: HashMap<NodeId, NodeId> = HashMap::new();
    let mut inputs = 0;
    for node in body.nodes() {
        let id = match node.opcode {
            Opcode::Placeholder => {
                let name = match inputs {
                    i if i < num_primals => format!("primals_{i}"),
                    i => format!("tangents_{}", i - num_primals),
                };
                inputs += 1;
                region.placeholder(&name, node.meta.clone())
            }
            Opcode::Output => continue,
            _ => region.copy_node(node, &mut |id| ids.get(&id).map_or(Arg::None, |id| Arg::Node(*id))),
        };
        ids.insert(node.id, id);
    }
    let mut outputs: Vec<Arg> =
        body.outputs().iter().map(|a| a.map_nodes(&mut |id| ids.get(&id).map_or(Arg::None, |id| Arg::Node(*id)))).collect();
    // What the forward gives comes first in a joint graph.
    let given = outputs.split_off(num_primals.min(outputs.len()));
    let num_given = given.len();
    region.set_output(Arg::List(given.into_iter().chain(outputs).collect()));
    partition(&*split_regions(Rc::new(region), config)?, num_given, config)
}

/// Puts calls of the two parts in the place of the two calls.
fn call_parts(joint: &mut Graph, pair: &Pair, parts: &Partitioned) -> Result<()> {
    let (forward, backward) = (joint.node(pair.forward).clone(), joint.node(pair.backward).clone());
    let returned = parts.forward.outputs();
    let value = |arg: &Arg| match arg {
        Arg::Node(id) => parts.forward.node(*id).meta.value.clone().unwrap_or(FakeValue::None),
        _ => FakeValue::None,
    };
    let num_given = returned.len() - parts.saved.len();
    let meta = Meta { value: Some(FakeValue::List(returned.iter().map(value).collect())), ..forward.meta.clone() };
    let operands = |node: &Node| node.args.get(FIRST_OPERAND..).unwrap_or_default().to_vec();
    let (named, call) = call_part(joint, &format!("partitioned_fw_{}", pair.name), operands(&forward), meta.clone());
    // The last of what is saved comes first.
    let mut saved: HashMap<&str, NodeId> = HashMap::new();
    let mut items = Vec::new();
    for (i, name) in parts.saved.iter().enumerate() {
        let meta = Meta { value: Some(value(&returned[num_given + i])), ..meta.clone() };
        let args = vec![Arg::Node(call), Arg::Int((num_given + i) as i64)];
        let item = joint.call("getitem", Target::Getitem, args, Vec::new(), meta);
        saved.insert(name, item);
        items.insert(0, item);
    }
    replace(joint, &forward, named, call, &items);
    let tangents = operands(&backward).split_off(operands(&forward).len());
    let mut tangents = tangents.into_iter();
    let given = |node: &Node| match saved.get(&*node.name) {
        Some(item) => Some(Arg::Node(*item)),
        None => tangents.next(),
    };
    let given: Option<Vec<Arg>> = parts.backward.placeholders().map(given).collect();
    let given = given.ok_or_else(|| Error::runtime(format!("{} is given too little", backward.name)))?;
    let (named, call) = call_part(joint, &format!("partitioned_bw_{}", pair.name), given, backward.meta.clone());
    replace(joint, &backward, named, call, &[]);
    Ok(())
}

/// A call of a part, with the node that names it; they stand at the end.
fn call_part(joint: &mut Graph, part: &str, operands: Vec<Arg>, meta: Meta) -> (NodeId, NodeId) {
    let named = joint.get_attr(part, Meta { value: None, ..meta.clone() });
    let args = [vec![Arg::Node(named), Arg::Str(part.into())], operands].concat();
    let call = joint.call(INVOKE_SUBGRAPH, Target::HigherOrder(INVOKE_SUBGRAPH.into()), args, Vec::new(), meta);
    (named, call)
}

/// Puts a new call where another was: its items are those of the new one.
fn replace(joint: &mut Graph, old: &Node, named: NodeId, call: NodeId, items: &[NodeId]) {
    joint.replace_uses(old.id, &Arg::Node(call));
    let gone: Vec<NodeId> = old.args.first().into_iter().filter_map(|arg| if let Arg::Node(id) = arg { Some(*id) } else { None }).collect();
    put_in_place(joint, old.id, &[&[named, call], items].concat(), &gone);
}
