//! Values of a graph's nodes, without numbers, after the graph was edited (PyTorch's `FakeTensorUpdater`).

use super::interpret;
use super::trace::fake_value;
use crate::dispatch::{Exclude, Key, Modes, Value, modes, set_modes};
use crate::error::Result;
use crate::graph::{Arg, FakeValue, Graph, Meta, NodeId, Opcode, Target};
use crate::tensor::Tensor;
use std::collections::{HashMap, HashSet};

/// Finds the values of the calls that were edited, and of those that read values which became others.
///
/// # Errors
/// Those of the calls.
pub fn update(graph: &mut Graph, mut edited: HashSet<NodeId>) -> Result<()> {
    let order: Vec<NodeId> = graph.nodes().map(|node| node.id).collect();
    for id in order {
        let node = graph.node(id);
        let computes = node.opcode == Opcode::Call && !matches!(node.target, Target::HigherOrder(_));
        if !computes || !(edited.contains(&id) || node.inputs().iter().any(|input| edited.contains(input))) {
            continue;
        }
        let value = computed(graph, id)?;
        let is_known = node.meta.value.as_ref().is_some_and(|before| format!("{before:?}") == format!("{value:?}"));
        if is_known {
            edited.remove(&id);
        } else {
            edited.insert(id);
            graph.node_mut(id).meta.value = Some(value);
        }
    }
    Ok(())
}

/// What a call gives for fake inputs.
fn computed(graph: &Graph, id: NodeId) -> Result<FakeValue> {
    let node = graph.node(id);
    let mut alone = Graph::new("<lambda>");
    let (mut inputs, mut known) = (Vec::new(), HashMap::new());
    for input in node.inputs() {
        let of = graph.node(input);
        known.insert(input, Arg::Node(alone.placeholder(&of.name, Meta::default())));
        inputs.push(example(of.meta.value.as_ref())?);
    }
    let made = alone.copy_node(node, &mut |n| known.get(&n).cloned().unwrap_or(Arg::None));
    alone.set_output(Arg::Tuple(vec![Arg::Node(made)]));
    let before = modes();
    set_modes(Modes { fake: true, grad: false, ..before });
    let outcome = {
        let _below = Exclude::down_to(Key::Functionalize);
        interpret::run(&alone, &mut inputs, false)
    };
    set_modes(before);
    Ok(outcome?.first().map_or(FakeValue::None, fake_value))
}

fn example(value: Option<&FakeValue>) -> Result<Value> {
    Ok(match value {
        Some(FakeValue::Tensor(spec)) => Tensor::fake(spec)?.into(),
        Some(FakeValue::Int(i)) => Value::Int(i.clone()),
        Some(FakeValue::SymFloat(f)) => Value::SymFloat(f.clone()),
        Some(FakeValue::Float(Some(f))) => Value::Float(*f),
        Some(FakeValue::Bool(Some(b))) => Value::Bool(*b),
        Some(FakeValue::List(items)) => Value::List(items.iter().map(|item| example(Some(item))).collect::<Result<_>>()?),
        _ => Value::None,
    })
}
