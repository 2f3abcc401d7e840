//! What it takes to run a compilation elsewhere: its graphs' text with the values of its first run.

use std::cell::RefCell;
use std::collections::HashMap;

use serde_bytes::ByteBuf;

use crate::aot::schemas::Artifacts;
use crate::aot::tangents::tangent_positions;
use crate::backend::cpu::bundle::{draws, is_drawable, numbers};
use crate::bundle::{BUNDLE_VERSION, BackwardBundle, Bundle, Drawn, Named, TensorData, Value as Plain};
use crate::dispatch::Value;
use crate::error::Result;
use crate::graph::{Arg, Graph, Node, readable};
use crate::python::current::emit;
use crate::report::Event;
use crate::tensor::random::default_generator;
use crate::tensor::{Category, Tensor};

/// The inputs of a compilation are kept while they take at most this many bytes: of larger ones the largest are drawn anew. What was
/// computed is kept within the same limit.
const LIMIT: u64 = 32 << 20;
/// Elements of an input that are read before it is drawn.
const SAMPLE: usize = 4096;

/// A bundle that is not whole yet.
struct Pending {
    bundle: Bundle,
    /// Per tangent, the forward's output that it is the gradient of.
    tangent_of: Vec<u32>,
    /// Whether the forward has run.
    has_run: bool,
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
    PENDING.with_borrow_mut(|p| p.insert(id, Pending { bundle, tangent_of: indices(tangent_positions(metadata)), has_run: false }));
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
            |pending| {
                if part == "backward" { pending.has_run && pending.bundle.backward.is_none() } else { !pending.has_run }
            },
        )
    });
    // What has no values cannot be run elsewhere.
    let is_real = |v: &Value| v.as_tensor().is_none_or(|t| !t.is_fake());
    if !wanted || !inputs.iter().all(is_real) {
        return go(inputs);
    }
    let is_backward = part == "backward";
    let names: Vec<String> = graph.placeholders().map(|n| n.name.to_string()).collect();
    // What the forward saved is computed wherever it is run.
    let given: Vec<(String, &Value)> =
        names.into_iter().zip(inputs.iter()).filter(|(name, _)| !is_backward || name.starts_with("tangents_")).collect();
    let mut bytes: u64 = given.iter().map(|(_, v)| bytes_of(v)).sum();
    let too_large = largest(&given, bytes);
    let mut drawn = Vec::new();
    let mut kept: Vec<Named> = Vec::new();
    for (i, (name, value)) in given.into_iter().enumerate() {
        if too_large.contains(&i)
            && let Some(t) = value.as_tensor()
        {
            drawn.push(drawn_like(&name, t)?);
            kept.push(Named { name, label: None, value: Plain::Tensor { tensor: TensorData { bytes: ByteBuf::new(), ..data(t, 0)? } } });
        } else {
            kept.push(named(name, value)?);
        }
    }
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
    let computed: u64 = outputs.iter().map(bytes_of).sum();
    bytes += computed;
    let recomputes = computed > LIMIT || !drawn.is_empty();
    let sent = PENDING.with_borrow_mut(|p| -> Result<Option<Bundle>> {
        let Some(Pending { bundle, tangent_of, has_run }) = p.get_mut(&id) else { return Ok(None) };
        bundle.recomputes |= recomputes;
        bundle.bytes += bytes;
        bundle.drawn.extend(drawn);
        let expected = match bundle.recomputes {
            true => Vec::new(),
            false => out_names.into_iter().zip(&outputs).map(|(n, v)| named(n, v)).collect::<Result<Vec<_>>>()?,
        };
        if is_backward {
            let primals: Vec<String> = bundle.inputs.iter().map(|n| n.name.clone()).collect();
            let expected = expected.into_iter().zip(primals).map(|(e, name)| Named { label: Some(name), ..e }).collect();
            bundle.backward =
                Some(BackwardBundle { readable: readable(graph), tangents: kept, expected, tangent_of: tangent_of.clone(), generator });
            if bundle.recomputes {
                bundle.expected.clear();
            }
        } else {
            bundle.inputs = kept;
            bundle.expected = expected;
            bundle.generator = generator;
            *has_run = true;
        }
        Ok(Some(bundle.clone()))
    })?;
    if let Some(bundle) = sent {
        emit(Event::Runnable { bundle });
    }
    Ok(outputs)
}

fn bytes_of(value: &Value) -> u64 {
    let size = |t: &Tensor| Some(t.numel().hint()?.max(0) as u64 * t.dtype().itemsize() as u64);
    value.as_tensor().and_then(size).unwrap_or(0)
}

/// The positions of the values that are not kept, where all of them take so many bytes: the largest, and of those such as can be drawn.
fn largest(given: &[(String, &Value)], mut bytes: u64) -> Vec<usize> {
    let can_be_drawn = |v: &Value| v.as_tensor().is_some_and(|t| is_drawable(t.dtype()));
    let mut order: Vec<usize> = (0..given.len()).filter(|i| can_be_drawn(given[*i].1)).collect();
    order.sort_by_key(|i| std::cmp::Reverse(bytes_of(given[*i].1)));
    let mut chosen = Vec::new();
    for i in order {
        if bytes <= LIMIT {
            break;
        }
        bytes -= bytes_of(given[i].1);
        chosen.push(i);
    }
    chosen
}

/// How to draw values like a tensor's.
fn drawn_like(name: &str, t: &Tensor) -> Result<Drawn> {
    let sample = data(t, SAMPLE)?;
    let count = sample.bytes.len() / t.dtype().itemsize();
    let sample = TensorData { shape: vec![count as u64], stride: vec![1], ..sample };
    let values = numbers(&sample).map_err(crate::error::Error::runtime)?;
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    let is_finite = mean.is_finite() && deviation.is_finite();
    let (mean, deviation) = if is_finite { (mean, deviation) } else { (0.0, 1.0) };
    let is_positive = values.iter().all(|v| *v >= 0.0);
    Ok(Drawn { name: name.to_owned(), bytes: bytes_of(&Value::Tensor(t.clone())), mean, deviation, is_positive })
}

fn named(name: String, value: &Value) -> Result<Named> {
    let value = match value {
        Value::Tensor(t) => Plain::Tensor { tensor: data(t, usize::MAX)? },
        Value::Int(i) => Plain::Int { value: i.guard_int()? },
        Value::Float(f) => Plain::Float { value: *f },
        Value::Bool(b) => Plain::Bool { value: *b },
        _ => Plain::None,
    };
    Ok(Named { name, label: None, value })
}

/// A tensor's own elements, from its first to its last, or the first of them.
fn data(t: &Tensor, most: usize) -> Result<TensorData> {
    let c = t.concrete()?;
    let itemsize = t.dtype().itemsize();
    let span = if c.numel() == 0 { 0 } else { 1 + c.sizes.iter().zip(&c.strides).map(|(n, s)| (n - 1) * s.unsigned_abs()).sum::<usize>() };
    let span = span.min(most);
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
