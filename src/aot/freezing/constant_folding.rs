//! What depends on constants alone is computed, and is a constant from then on (PyTorch's `constant_fold`).
//!
//! Calls without a tensor among their arguments stay, as they cost little; so do random ones and those of higher-order operators. A value
//! that only other constants are computed from is none itself.

use super::FrozenConstant;
use crate::aot::interpret::node_value;
use crate::aot::trace::fake_value;
use crate::dispatch::{Exclude, Key, Modes, Value, modes, set_modes};
use crate::error::Result;
use crate::graph::{Graph, NodeId, Opcode, Target};
use crate::partition::op_sets::{is_impure, is_seeded};
use crate::tensor::Tensor;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use web_time::Instant;

/// What a constant was computed from.
#[derive(Clone, Default)]
struct Origin {
    parameters: BTreeSet<String>,
    /// The operators, in order.
    operators: Vec<String>,
}

/// The constants of a graph that is frozen.
#[derive(Default)]
pub struct Folder {
    /// How many constants were named.
    named: usize,
    origins: HashMap<NodeId, Origin>,
    spent: f64,
}

impl Folder {
    /// An input becomes a constant, which the script keeps in this place.
    pub fn parameter(&mut self, graph: &mut Graph, id: NodeId, tensor: Tensor, place: String) {
        self.origins.insert(id, Origin { parameters: BTreeSet::from([place]), operators: Vec::new() });
        self.make_constant(graph, id, tensor);
    }

    /// A number that is computed into others becomes a constant.
    pub fn number(&self, graph: &mut Graph, id: NodeId, tensor: Tensor) {
        let name = graph.node(id).name.clone();
        hold(graph, id, name, tensor);
    }

    fn make_constant(&mut self, graph: &mut Graph, id: NodeId, tensor: Tensor) {
        let name: Rc<str> = format!("_frozen_param{}", self.named).into();
        self.named += 1;
        hold(graph, id, name, tensor);
    }

    /// How long computing constants took, in seconds.
    pub fn seconds(&self) -> f64 {
        self.spent
    }

    /// Computes what can be.
    pub fn fold(&mut self, graph: &mut Graph) -> Result<()> {
        let start = Instant::now();
        let before = modes();
        set_modes(Modes { fake: false, grad: false, autocast: None, ..before });
        let found = {
            let _below = Exclude::down_to(Key::Functionalize);
            self.computed(graph)
        };
        set_modes(before);
        for (id, tensor) in found? {
            graph.node_mut(id).meta.value = Some(fake_value(&Value::Tensor(tensor.clone())));
            self.make_constant(graph, id, tensor);
        }
        self.spent += start.elapsed().as_secs_f64();
        let read: HashSet<NodeId> = graph.nodes().flat_map(|n| n.inputs()).collect();
        graph.retain(|n| n.opcode != Opcode::GetAttr || read.contains(&n.id));
        graph.eliminate_dead_code(&|n| is_impure(n, true));
        let named: HashSet<String> = graph.nodes().filter(|n| n.opcode == Opcode::GetAttr).map(|n| n.target.text()).collect();
        graph.constants.retain(|(name, _)| named.contains(&**name));
        Ok(())
    }

    /// The calls that become constants, in the order in which they are named.
    fn computed(&mut self, graph: &Graph) -> Result<Vec<(NodeId, Tensor)>> {
        let users = graph.users();
        let last_uses = last_uses(graph, &users);
        let mut values: Vec<Value> = vec![Value::None; graph.arena_len()];
        let mut known: HashSet<NodeId> = HashSet::new();
        let mut found: Vec<(NodeId, Tensor)> = Vec::new();
        let mut replaced_uses: HashMap<NodeId, usize> = HashMap::new();
        for node in graph.nodes() {
            if node.opcode == Opcode::GetAttr {
                let name = node.target.text();
                if let Some((_, tensor)) = graph.constants.iter().find(|(n, _)| **n == *name) {
                    values[node.id.0 as usize] = Value::Tensor(tensor.clone());
                    known.insert(node.id);
                }
                continue;
            }
            let inputs = node.inputs();
            let is_call = node.opcode == Opcode::Call && !matches!(node.target, Target::HigherOrder(_));
            if !is_call || inputs.is_empty() || !inputs.iter().all(|input| known.contains(input)) || is_seeded(node) {
                continue;
            }
            let mut has_tensor = false;
            inputs.iter().for_each(|input| values[input.0 as usize].for_each_tensor(&mut |_| has_tensor = true));
            if !has_tensor || is_impure(node, true) {
                continue;
            }
            let value = node_value(graph, node, &values)?;
            let origin = inputs.iter().filter_map(|input| self.origins.get(input)).fold(Origin::default(), |mut all, of| {
                all.parameters.extend(of.parameters.iter().cloned());
                all.operators.extend(of.operators.iter().filter(|op| !all.operators.contains(op)).cloned().collect::<Vec<_>>());
                all
            });
            let mut operators = origin.operators;
            operators.extend(node.op().map(str::to_owned));
            self.origins.insert(node.id, Origin { operators, ..origin });
            known.insert(node.id);
            if let Value::Tensor(tensor) = &value {
                found.push((node.id, tensor.clone()));
                let mut read = Vec::new();
                node.args.iter().for_each(|a| a.for_each_node(&mut |n| read.push(n)));
                node.kwargs.iter().for_each(|(_, a)| a.for_each_node(&mut |n| read.push(n)));
                for input in read {
                    *replaced_uses.entry(input).or_default() += 1;
                }
                for done in last_uses.get(&node.id).into_iter().flatten() {
                    if replaced_uses.get(done).copied().unwrap_or(0) == users[done.0 as usize].len() {
                        found.retain(|(id, _)| id != done);
                    }
                }
            }
            values[node.id.0 as usize] = value;
        }
        Ok(found)
    }

    /// The constants that a graph has.
    pub fn constants(&self, graph: &Graph) -> Vec<FrozenConstant> {
        let constant = |node: &crate::graph::Node| {
            let name = node.target.text();
            let (_, tensor) = graph.constants.iter().find(|(n, _)| **n == *name)?;
            let origin = self.origins.get(&node.id).cloned().unwrap_or_default();
            Some(FrozenConstant {
                node: node.name.to_string(),
                bytes: FrozenConstant::bytes_of(tensor),
                parameters: origin.parameters.into_iter().collect(),
                operators: origin.operators,
            })
        };
        graph.nodes().filter(|n| n.opcode == Opcode::GetAttr).filter_map(constant).collect()
    }
}

/// A node is the constant of a name from now on.
fn hold(graph: &mut Graph, id: NodeId, name: Rc<str>, tensor: Tensor) {
    let node = graph.node_mut(id);
    node.opcode = Opcode::GetAttr;
    node.target = Target::Name(name.clone());
    node.args.clear();
    node.kwargs.clear();
    graph.constants.push((name, tensor));
}

/// Per node, the values that it is the last to read, returning them aside.
fn last_uses(graph: &Graph, users: &[Vec<NodeId>]) -> HashMap<NodeId, Vec<NodeId>> {
    let output = graph.output().map(|o| o.id);
    let mut seen = HashSet::new();
    let mut last: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    for node in graph.nodes().rev().filter(|n| n.opcode != Opcode::Output) {
        let of_node = last.entry(node.id).or_default();
        of_node.extend(node.inputs().into_iter().filter(|input| seen.insert(*input)));
        if let [only] = users[node.id.0 as usize][..]
            && Some(only) == output
        {
            of_node.push(node.id);
        }
    }
    last
}
