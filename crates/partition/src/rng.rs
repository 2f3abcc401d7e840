//! Random calls that the backward repeats: the forward hands over the generator's state, the backward starts from it
//! (PyTorch's `functionalize_rng_ops`, for the CPU's generator).

use super::joint::{is_rng_op, is_tangent, must_recompute};
use diagnostics::error::{Error, Result};
use graph::{Arg, FakeValue, Graph, Meta, NodeId, Target};
use shape::{ShapeEnv, SymbolInfo};
use std::collections::HashSet;
use tensor::{Device, Dtype, TensorSpec};

/// Bytes of the CPU generator's state.
const CPU_STATE: i64 = 5056;

/// Whether some random call is to be recomputed.
pub(super) fn has_recomputable_rng_ops(graph: &Graph) -> bool {
    graph.nodes().any(|n| must_recompute(n) && is_rng_op(n))
}

/// Random calls that checkpointing asks to recompute.
pub(super) fn tagged(joint: &Graph) -> Vec<String> {
    joint.nodes().filter(|n| must_recompute(n) && is_rng_op(n)).map(|n| n.name.to_string()).collect()
}

/// Random calls that forward and backward both make although nothing asks for it: with a memory budget below 1 PyTorch
/// recomputes them with other numbers than the forward drew.
pub(super) fn drawn_twice(joint: &Graph, forward: &Graph, backward: &Graph) -> Vec<String> {
    let made = |graph: &Graph| graph.nodes().filter(|n| is_rng_op(n)).map(|n| n.name.to_string()).collect::<HashSet<_>>();
    let (first, again) = (made(forward), made(backward));
    let both = |n: &&graph::Node| first.contains(&*n.name) && again.contains(&*n.name);
    joint.nodes().filter(both).map(|n| n.name.to_string()).collect()
}

/// Rewrites both parts for the calls of these names that both make; `num_sym_nodes` symbolic numbers stay at the end of the
/// forward's outputs.
pub(super) fn functionalize_rng_ops(names: &[String], forward: &mut Graph, backward: &mut Graph, num_sym_nodes: usize) -> Result<()> {
    if !backward.placeholders().any(is_tangent) {
        return Err(Error::runtime("Couldn't find tangent node in graph inputs. This is unexpected, please file a bug if you see this"));
    }
    let find = |graph: &Graph, name: &str| graph.find(name).filter(|n| is_rng_op(n)).map(|n| n.id);
    let mut states = Vec::new();
    for name in names {
        let (Some(fw), Some(bw)) = (find(forward, name), find(backward, name)) else { continue };
        states.push(save_state(forward, fw));
        let name = format!("rng_state_output_{}", states.len() - 1);
        restore_state(backward, bw, &name);
    }
    if states.is_empty() {
        return Ok(());
    }
    let mut outputs = forward.outputs();
    let at = outputs.len() - num_sym_nodes.min(outputs.len());
    outputs.splice(at..at, states.into_iter().map(Arg::Node));
    if let Some(output) = forward.output().map(|o| o.id) {
        // PyTorch writes a new one.
        forward.node_mut(output).name = "output_1".into();
        forward.node_mut(output).args = vec![Arg::Tuple(outputs)];
    }
    Ok(())
}

/// PyTorch makes a fake of the state late, when it no longer knows its source, so that its size is a symbol; the number in
/// the symbol's name depends on how many tensors were made fake before, and is 29 for a handful.
fn state_meta() -> Meta {
    let info = SymbolInfo { origin: "torch.get_rng_state().size()[0]".to_owned(), hint: Some(CPU_STATE), lower: 2, upper: i64::MAX };
    let size = ShapeEnv::default().symbol("s29", info);
    let spec = TensorSpec::contiguous(vec![size], Dtype::UInt8, Device::CPU);
    Meta { value: Some(FakeValue::Tensor(spec)), ..Meta::default() }
}

/// The call, as the first argument of a higher-order operator.
fn wrapped(graph: &Graph, id: NodeId) -> Vec<Arg> {
    let node = graph.node(id);
    let mut args = vec![node.op().map_or(Arg::None, |op| Arg::Op(op.into()))];
    args.extend(node.args.iter().cloned());
    args
}

/// Puts nodes that were appended right before another one, and drops that one.
fn put_in_place(graph: &mut Graph, old: NodeId, new: &[NodeId]) {
    let order = graph.nodes().map(|n| n.id).filter(|id| !new.contains(id)).collect::<Vec<_>>();
    let order = order.into_iter().flat_map(|id| if id == old { new.to_vec() } else { vec![id] }).collect();
    graph.reorder(order);
}

fn save_state(graph: &mut Graph, id: NodeId) -> NodeId {
    let node = graph.node(id);
    let (meta, kwargs, args) = (node.meta.clone(), node.kwargs.clone(), wrapped(graph, id));
    let value = Some(FakeValue::List(vec![state_meta().value.unwrap_or(FakeValue::None), meta.value.clone().unwrap_or(FakeValue::None)]));
    let target = Target::HigherOrder("run_and_save_rng_state".into());
    let call = graph.call("run_and_save_rng_state", target, args, kwargs, Meta { value, ..Meta::default() });
    let take = |i| vec![Arg::Node(call), Arg::Int(i)];
    let state = graph.call("getitem", Target::Getitem, take(0), Vec::new(), state_meta());
    let result = graph.call("getitem", Target::Getitem, take(1), Vec::new(), meta);
    graph.replace_uses(id, &Arg::Node(result));
    put_in_place(graph, id, &[call, state, result]);
    state
}

fn restore_state(graph: &mut Graph, id: NodeId, name: &str) {
    let state = graph.placeholder(name, state_meta());
    let node = graph.node(id);
    let mut args = vec![Arg::Node(state)];
    args.extend(wrapped(graph, id));
    // PyTorch leaves a single result without a type here; several print none anyway, and are known to those who run them.
    let value = node.meta.value.clone().filter(|v| matches!(v, FakeValue::List(_)));
    let (kwargs, meta) = (node.kwargs.clone(), Meta { value, ..Meta::default() });
    let call = graph.call("run_with_rng_state", Target::HigherOrder("run_with_rng_state".into()), args, kwargs, meta);
    graph.replace_uses(id, &Arg::Node(call));
    put_in_place(graph, id, &[call]);
    let tangent = graph.placeholders().find(|n| is_tangent(n)).map(|n| n.id);
    let others: Vec<NodeId> = graph.nodes().map(|n| n.id).filter(|n| *n != state).collect();
    let order = others.into_iter().flat_map(|n| if Some(n) == tangent { vec![state, n] } else { vec![n] }).collect();
    graph.reorder(order);
}
