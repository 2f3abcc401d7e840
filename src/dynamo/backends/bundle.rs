//! What it takes to run a compilation elsewhere: its graphs' text with the values of its first run.

use std::cell::RefCell;
use std::collections::HashMap;

use serde_bytes::ByteBuf;

use crate::aot::schemas::Artifacts;
use crate::aot::tangents::tangent_positions;
use crate::backend::cpu::bundle::draws;
use crate::bundle::{BUNDLE_VERSION, BackwardBundle, Bundle, Named, TensorData, Value as Plain};
use crate::dispatch::Value;
use crate::error::Result;
use crate::graph::{Arg, Graph, Node, readable};
use crate::python::current::emit;
use crate::report::Event;
use crate::tensor::random::default_generator;
use crate::tensor::{Category, Tensor};

/// Values of one compilation are kept while they take at most this many bytes.
const LIMIT: usize = 32 << 20;

/// A bundle that is not whole yet.
struct Pending {
    bundle: Bundle,
    /// Per tangent, the forward's output that it is the gradient of.
    tangent_of: Vec<u32>,
}

thread_local! {
    static PENDING: RefCell<HashMap<u32, Pending>> = RefCell::default();
}

/// Forgets what was kept.
pub fn reset() {
    PENDING.take();
}

/// Begins a compilation's bundle.
pub fn begin(id: u32, artifacts: &Artifacts) {
    let forward = artifacts.partitioned.as_ref().map_or(&*artifacts.traced, |p| &p.forward);
    let metadata = &artifacts.metadata;
    // What surrounds such a graph is not plain data.
    if metadata.requires_subclass_dispatch() {
        return;
    }
    let is_float = |n: &Node| n.tensor().is_some_and(|spec| spec.dtype.category() == Category::Floating);
    // A token comes before all inputs, and before all outputs.
    let tokens = metadata.num_tokens();
    let trainable = artifacts
        .traced
        .placeholders()
        .skip(tokens)
        .zip(&metadata.input_info)
        .map(|(n, info)| info.is_leaf && info.requires_grad && is_float(n));
    let indices = |list: Vec<usize>| list.into_iter().map(|i| (tokens + i) as u32).collect::<Vec<u32>>();
    let bundle = Bundle {
        version: BUNDLE_VERSION,
        compilation: id,
        forward: readable(forward),
        num_outputs: (tokens + metadata.num_forward_returns()) as u32,
        parameters: indices(trainable.enumerate().filter_map(|(i, yes)| yes.then_some(i)).collect()),
        mutated: indices(metadata.runtime_mutated()),
        ..Bundle::default()
    };
    PENDING.with_borrow_mut(|p| p.insert(id, Pending { bundle, tangent_of: indices(tangent_positions(metadata)) }));
}

/// Runs a part of a compilation; the first time, what went in and came out is kept and sent.
pub fn run(
    id: u32,
    part: &str,
    graph: &Graph,
    inputs: &mut Vec<Value>,
    go: impl FnOnce(&mut Vec<Value>) -> Result<Vec<Value>>,
) -> Result<Vec<Value>> {
    let wanted = PENDING.with_borrow(|p| {
        p.get(&id).is_some_and(
            |Pending { bundle: b, .. }| {
                if part == "backward" { b.backward.is_none() && !b.expected.is_empty() } else { b.expected.is_empty() }
            },
        )
    });
    if !wanted {
        return go(inputs);
    }
    let size: usize =
        inputs.iter().filter_map(Value::as_tensor).filter_map(|t| Some(t.numel().hint()? as usize * t.dtype().itemsize())).sum();
    // What has no values cannot be run elsewhere.
    let is_real = |v: &Value| v.as_tensor().is_none_or(|t| !t.is_fake());
    if size > LIMIT || !inputs.iter().all(is_real) {
        return go(inputs);
    }
    let names: Vec<String> = graph.placeholders().map(|n| n.name.to_string()).collect();
    let given: Vec<Named> = names.iter().zip(inputs.iter()).map(|(n, v)| named(n.clone(), v)).collect::<Result<_>>()?;
    let generator = draws(graph).then(|| ByteBuf::from(default_generator().state_bytes()));
    let outputs = go(inputs)?;
    if !outputs.iter().all(is_real) {
        return Ok(outputs);
    }
    let out_names: Vec<String> = graph
        .outputs()
        .iter()
        .map(|a| match a {
            Arg::Node(n) => graph.node(*n).name.to_string(),
            _ => "None".to_owned(),
        })
        .collect();
    let sent = PENDING.with_borrow_mut(|p| -> Result<Option<Bundle>> {
        let Some(Pending { bundle, tangent_of }) = p.get_mut(&id) else { return Ok(None) };
        let expected = out_names.into_iter().zip(&outputs).map(|(n, v)| named(n, v)).collect::<Result<Vec<_>>>()?;
        if part == "backward" {
            let primals: Vec<String> = bundle.inputs.iter().map(|n| n.name.clone()).collect();
            let expected = expected.into_iter().zip(primals).map(|(e, name)| Named { label: Some(name), ..e }).collect();
            let tangents = given.into_iter().filter(|n| n.name.starts_with("tangents_")).collect();
            bundle.backward =
                Some(BackwardBundle { readable: readable(graph), tangents, expected, tangent_of: tangent_of.clone(), generator });
        } else {
            bundle.inputs = given;
            bundle.expected = expected;
            bundle.generator = generator;
        }
        Ok(Some(bundle.clone()))
    })?;
    if let Some(bundle) = sent {
        emit(Event::Runnable { bundle });
    }
    Ok(outputs)
}

fn named(name: String, value: &Value) -> Result<Named> {
    let value = match value {
        Value::Tensor(t) => Plain::Tensor { tensor: data(t)? },
        Value::Int(i) => Plain::Int { value: i.guard_int()? },
        Value::Float(f) => Plain::Float { value: *f },
        Value::Bool(b) => Plain::Bool { value: *b },
        _ => Plain::None,
    };
    Ok(Named { name, label: None, value })
}

/// A tensor's own elements, from its first to its last.
fn data(t: &Tensor) -> Result<TensorData> {
    let c = t.concrete()?;
    let itemsize = t.dtype().itemsize();
    let span = if c.numel() == 0 { 0 } else { 1 + c.sizes.iter().zip(&c.strides).map(|(n, s)| (n - 1) * s.unsigned_abs()).sum::<usize>() };
    let storage = t.storage();
    let bytes = storage.bytes()?;
    let from = c.offset * itemsize;
    Ok(TensorData {
        dtype: t.dtype().name().to_owned(),
        shape: c.sizes.iter().map(|n| *n as u64).collect(),
        stride: c.strides.iter().map(|s| *s as u64).collect(),
        bytes: ByteBuf::from(bytes.get(from..from + span * itemsize).unwrap_or_default().to_vec()),
    })
}
