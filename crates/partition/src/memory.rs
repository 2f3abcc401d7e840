//! Live bytes through forward and backward.
//!
//! A storage is alive from the call that makes it to the last call that reads it or a view of it. Inputs belong to the
//! caller and outputs to it from then on; what is saved lives until its last reader in the backward. Views take nothing.
//! Eager mode is the joint graph run as it is: autograd keeps what its formulas read until they have read it.

use super::joint::{Joint, index, is_getitem, is_tangent, size_of};
use graph::{Arg, FakeValue, Graph, Node, NodeId, Opcode};
use report::{MemoryProfile, MemoryStep, MemoryValue};
use std::collections::HashMap;

/// A timeline under construction.
#[derive(Default)]
struct Timeline {
    steps: Vec<MemoryStep>,
    values: Vec<MemoryValue>,
}

fn nodes_of(args: &[Arg]) -> Vec<NodeId> {
    let mut found = Vec::new();
    args.iter().for_each(|a| a.for_each_node(&mut |n| found.push(n)));
    found
}

impl Timeline {
    /// Runs a graph's calls; `known` gives the places of values that are there already, by name. Returns places of its
    /// storages, by the joint's node id.
    fn run(&mut self, joint: &Joint, known: &HashMap<String, usize>, is_backward: impl Fn(&Node) -> bool) -> Vec<Option<usize>> {
        let graph = joint.graph;
        let storage = joint.storages();
        let mut place: Vec<Option<usize>> = vec![None; graph.arena_len()];
        let mut made_at: Vec<u32> = vec![0; graph.arena_len()];
        for node in graph.nodes() {
            let now = self.steps.len() as u32;
            let at = index(node.id);
            match node.opcode {
                Opcode::Output => continue,
                Opcode::Placeholder => {
                    place[at] = known.get(&*node.name).copied().or_else(|| {
                        let kind = if is_tangent(node) { "tangent" } else { "input" };
                        self.add(node, kind, now)
                    });
                    continue;
                }
                Opcode::Call | Opcode::GetAttr => {}
            }
            self.steps.push(MemoryStep { name: node.name.to_string(), is_backward: is_backward(node), bytes: 0 });
            made_at[at] = now;
            for input in &joint.inputs[at] {
                if let Some(value) = place[index(*input)] {
                    self.values[value].dies = self.values[value].dies.max(now);
                }
            }
            let base = storage[at];
            place[at] = if base != node.id {
                place[index(base)]
            } else {
                match (node.args.first(), is_getitem(node)) {
                    // One of several results is made by the call, not when it is taken.
                    (Some(Arg::Node(call)), true) => {
                        let added = self.add(node, "temporary", made_at[index(*call)]);
                        added.inspect(|value| self.values[*value].dies = now)
                    }
                    _ => self.add(node, "temporary", now),
                }
            };
        }
        place
    }

    /// A storage of its own; several results have one each where they are taken.
    fn add(&mut self, node: &Node, kind: &str, born: u32) -> Option<usize> {
        if matches!(node.meta.value, Some(FakeValue::List(_))) {
            return None;
        }
        let bytes = size_of(node).ok().filter(|_| node.tensor().is_some())?;
        self.values.push(MemoryValue {
            name: node.name.to_string(),
            kind: kind.to_owned(),
            bytes,
            born,
            dies: born,
            span: node.meta.source.as_ref().map(|s| s.span.clone()),
            file: node.meta.source.as_ref().map(|s| s.file.to_string()).unwrap_or_default(),
            module_path: node.meta.module_path().to_owned(),
            is_parameter: node.meta.input.as_ref().is_some_and(|input| input.is_parameter),
        });
        Some(self.values.len() - 1)
    }

    /// Keeps values to the end, where there is one.
    fn keep(&mut self, place: &[Option<usize>], args: &[Arg], kind: &str) {
        for id in nodes_of(args) {
            if let Some(value) = place[index(id)] {
                let value = &mut self.values[value];
                value.dies = u32::MAX;
                if value.kind == "temporary" {
                    value.kind = kind.to_owned();
                }
            }
        }
    }

    /// Bytes of storages that calls of the forward make and calls of the backward read.
    fn saved_bytes(&self, forward_steps: usize) -> u64 {
        let is_saved = |value: &&MemoryValue| {
            !matches!(value.kind.as_str(), "input" | "tangent")
                && (value.born as usize) < forward_steps
                && value.dies as usize >= forward_steps
        };
        self.values.iter().filter(is_saved).map(|value| value.bytes).sum()
    }

    fn finish(mut self, label: &str, forward_steps: usize, saved_bytes: u64) -> MemoryProfile {
        let last = (self.steps.len() as u32).saturating_sub(1);
        let mut change = vec![0i64; self.steps.len() + 2];
        let mut between = 0;
        for value in &mut self.values {
            // The caller's own tensors stay.
            value.dies = if value.kind == "input" { last } else { value.dies.min(last) };
            value.born = value.born.min(last);
            let (from, to) = (value.born as usize, value.dies as usize);
            change[from] += value.bytes as i64;
            change[to + 1] -= value.bytes as i64;
            if from < forward_steps && to >= forward_steps {
                between += value.bytes;
            }
        }
        let (mut alive, mut peak) = (0i64, (0u32, 0u64));
        for (i, step) in self.steps.iter_mut().enumerate() {
            alive += change[i];
            step.bytes = alive.max(0) as u64;
            if step.bytes > peak.1 {
                peak = (i as u32, step.bytes);
            }
        }
        MemoryProfile {
            label: label.to_owned(),
            steps: self.steps,
            values: self.values,
            peak_step: peak.0,
            peak_bytes: peak.1,
            between_bytes: between,
            saved_bytes,
        }
    }
}

/// A forward, then its backward. The forward returns `num_fwd_outputs` outputs and then what is saved.
pub(super) fn of_parts(label: &str, forward: &Graph, backward: &Graph, num_fwd_outputs: usize) -> MemoryProfile {
    let mut timeline = Timeline::default();
    let first = Joint::new(forward, num_fwd_outputs);
    let place = timeline.run(&first, &HashMap::new(), |_| false);
    let forward_steps = timeline.steps.len();
    let (outputs, saved) = first.outputs();
    for id in nodes_of(&saved) {
        if let Some(value) = place[index(id)] {
            let value = &mut timeline.values[value];
            value.dies = value.dies.max(forward_steps as u32);
            if value.kind == "temporary" {
                value.kind = "saved".to_owned();
            }
        }
    }
    let saved_bytes = timeline.saved_bytes(forward_steps);
    timeline.keep(&place, &outputs, "output");
    let known = forward.nodes().filter_map(|n| place[index(n.id)].map(|p| (n.name.to_string(), p))).collect::<HashMap<_, _>>();
    let second = Joint::new(backward, 0);
    let place = timeline.run(&second, &known_inputs(backward, &known), |_| true);
    timeline.keep(&place, &second.outputs().1, "gradient");
    timeline.finish(label, forward_steps, saved_bytes)
}

/// What the backward takes over, by name; its own calls may have a forward value's name.
fn known_inputs(backward: &Graph, known: &HashMap<String, usize>) -> HashMap<String, usize> {
    backward.placeholders().filter_map(|n| known.get(&*n.name).map(|p| (n.name.to_string(), *p))).collect()
}

/// The joint graph as it is: eager mode.
pub(super) fn of_joint(label: &str, graph: &Graph, num_fwd_outputs: usize) -> MemoryProfile {
    let mut timeline = Timeline::default();
    let joint = Joint::new(graph, num_fwd_outputs);
    let place = timeline.run(&joint, &HashMap::new(), |n| n.meta.is_backward);
    let forward_steps = timeline.steps.iter().take_while(|s| !s.is_backward).count();
    // Tangents come with the backward.
    for value in timeline.values.iter_mut().filter(|v| v.kind == "tangent") {
        value.born = forward_steps as u32;
    }
    let (outputs, gradients) = joint.outputs();
    let saved_bytes = timeline.saved_bytes(forward_steps);
    timeline.keep(&place, &outputs, "output");
    timeline.keep(&place, &gradients, "gradient");
    for value in timeline.values.iter_mut() {
        if value.kind == "temporary" && (value.born as usize) < forward_steps && value.dies as usize >= forward_steps {
            value.kind = "saved".to_owned();
        }
    }
    timeline.finish(label, forward_steps, saved_bytes)
}
