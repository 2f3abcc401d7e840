//! The first node whose value differs: the compiled graph runs again beside the graph as it was traced, and that beside the function.

use super::compare::same_numbers;
use super::copies::Copies;
use super::{Check, Surroundings};
use crate::aot::interpret::{self, Watched, watch};
use crate::dispatch::{Exclude, Key, Modes, Value, modes, set_modes};
use crate::error::Result;
use crate::graph::{Arg, Graph, Node, NodeId, Opcode};
use crate::graph_view::view;
use crate::report::DifferingNode;
use crate::tensor::Tensor;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

/// Values by the names of nodes.
type Values = HashMap<Rc<str>, Value>;

impl Check {
    /// The first node of a forward, or of a graph without a backward, whose value differs.
    pub(super) fn locate(
        &self,
        copies: &Copies,
        before: &Surroundings,
        call: &dyn Fn(Vec<Tensor>) -> Result<Vec<Value>>,
    ) -> Option<DifferingNode> {
        if !self.checking.runs_graphs_again {
            return None;
        }
        let (given, inputs) = (copies.make().ok()?, copies.make().ok()?);
        let (_, compiled) = before.again(|| Ok(watch(|| call(given)))).ok()?;
        let (_, eager) = before.again(|| Ok(watch(|| (self.function)(&inputs)))).ok()?;
        let compiled = compiled?;
        let placeholders = compiled.graph.placeholders();
        let given: Values = placeholders.filter_map(|n| Some((n.name.clone(), compiled.values.get(&n.name)?.clone()))).collect();
        let returned = 0..self.metadata.num_forward_returns();
        let traced = before.again(|| Ok(run_traced(&self.traced, &given, returned.clone()))).ok()??;
        between(&traced, &compiled, self.part(), returned).or_else(|| beside_eager(&eager?, &traced))
    }

    /// What a graph's placeholder is given for an input.
    pub(super) fn argument(&self, name: &str, input: Tensor) -> Value {
        let is_number = self.traced.find(name).is_some_and(|n| n.tensor().is_none());
        match is_number.then(|| crate::aten!("_local_scalar_dense", &input)) {
            Some(Ok(number)) => number,
            _ => Value::Tensor(input),
        }
    }
}

/// Runs the graph as it was traced, as far as outputs in a range need it.
pub(super) fn run_traced(traced: &Graph, given: &Values, outputs: Range<usize>) -> Option<Watched> {
    let mut graph = traced.clone();
    let wanted = graph.outputs();
    let wanted: Vec<Arg> = wanted.into_iter().enumerate().filter(|(i, _)| outputs.contains(i)).map(|(_, arg)| arg).collect();
    let mut needed = HashSet::new();
    let mut waiting: Vec<NodeId> = Vec::new();
    wanted.iter().for_each(|arg| arg.for_each_node(&mut |id| waiting.push(id)));
    while let Some(id) = waiting.pop() {
        if needed.insert(id) {
            waiting.extend(graph.node(id).inputs());
        }
    }
    let output = graph.output()?.id;
    graph.retain(|n| n.opcode == Opcode::Placeholder || n.id == output || needed.contains(&n.id));
    graph.node_mut(output).args = vec![Arg::List(wanted)];
    let mut inputs: Vec<Value> = graph.placeholders().map(|n| given.get(&n.name).cloned().unwrap_or_default()).collect();
    let _below = Exclude::down_to(Key::Autograd);
    set_modes(Modes { grad: false, autocast: None, ..modes() });
    watch(|| interpret::run(&graph, &mut inputs, false)).1
}

/// Whether two values of nodes are the same.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tensor(a), Value::Tensor(b)) => same_numbers(a, b),
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b)),
        _ => true,
    }
}

/// The first node of a compiled graph that parts from the graph as it was traced. A node that a pass put in has no counterpart: the first
/// that reads it differs, and what it reads in another's place is to blame.
pub(super) fn between(traced: &Watched, compiled: &Watched, part: &str, outputs: Range<usize>) -> Option<DifferingNode> {
    let to_blame = |own: &[Arg], theirs: &[Arg]| {
        let nodes = |args: &[Arg]| {
            let mut found = Vec::new();
            args.iter().for_each(|a| a.for_each_node(&mut |id| found.push(id)));
            found
        };
        nodes(own).into_iter().zip(nodes(theirs)).find_map(|(own, theirs)| {
            let (own, theirs) = (compiled.graph.node(own), traced.graph.node(theirs));
            let (mine, wanted) = (compiled.values.get(&own.name)?, traced.values.get(&theirs.name)?);
            let is_new = traced.graph.find(&own.name).is_none();
            (is_new && !same(mine, wanted)).then(|| described(&compiled.graph, own, part, Some(theirs)))
        })
    };
    for node in compiled.graph.nodes().filter(|n| n.opcode == Opcode::Call) {
        let (Some(own), Some(theirs)) = (compiled.values.get(&node.name), traced.graph.find(&node.name)) else { continue };
        let Some(wanted) = traced.values.get(&theirs.name) else { continue };
        if !same(own, wanted) {
            return to_blame(&node.args, &theirs.args).or_else(|| Some(described(&compiled.graph, node, part, None)));
        }
    }
    let (own, theirs) = (compiled.graph.outputs(), traced.graph.outputs());
    // A backward returns gradients alone, a forward what it saves besides.
    let own = own.get(..outputs.len().min(own.len())).unwrap_or_default();
    to_blame(own, &theirs)
}

/// The first node of the function's own graph whose value is nowhere in the graph as it was traced.
fn beside_eager(eager: &Watched, traced: &Watched) -> Option<DifferingNode> {
    let values: Vec<&Value> = traced.values.values().collect();
    let is_there = |t: &Tensor| values.iter().any(|v| matches!(v, Value::Tensor(other) if same_numbers(t, other)));
    let computes = eager.graph.nodes().filter(|n| n.opcode == Opcode::Call);
    let first = computes.into_iter().find(|n| match eager.values.get(&n.name) {
        Some(Value::Tensor(t)) => !is_there(t),
        Some(Value::List(items)) => items.iter().filter_map(Value::as_tensor).any(|t| !is_there(t)),
        _ => false,
    });
    first.map(|node| described(&eager.graph, node, "captured", None))
}

/// A node as the report shows it.
fn described(graph: &Graph, node: &Node, part: &str, in_place_of: Option<&Node>) -> DifferingNode {
    let shown = view(graph).nodes.into_iter().find(|shown| *shown.name == *node.name).unwrap_or_default();
    DifferingNode {
        graph: part.to_owned(),
        name: node.name.to_string(),
        target: shown.target,
        args: shown.args,
        in_place_of: in_place_of.map(|n| n.name.to_string()),
        span: shown.span.or_else(|| in_place_of.and_then(|n| n.meta.source.as_ref()).map(|s| s.span.clone())),
    }
}
