//! A compilation of a log with inputs that are drawn: forward and backward run on the CPU or a GPU, though nobody has the values that
//! they were called with.
//!
//! Floats are drawn from the standard normal distribution, integers and truth values are 0, since integers may be indices. Sizes are what
//! symbols stood for.

use super::decision::{Graphs, decide, num_fwd_outputs};
use super::model::{Compilation, Log};
use graph::{FakeValue, Graph, Node, Style, print_readable};
use partition::is_tangent;
use report::bundle::{BUNDLE_VERSION, BackwardBundle, Bundle, Drawn, Named, TensorData, Value};
use serde_bytes::ByteBuf;
use shape::SymInt;
use tensor::random::default_generator;

/// Inputs together may take so many bytes: what is computed takes about as many again.
const MOST_BYTES: u64 = 1 << 29;

/// Forward and backward with inputs.
///
/// # Errors
/// A sentence that says what is missing, or what cannot be drawn.
pub fn runnable(log: &Log, compilation: &Compilation, index: usize, graphs: &Graphs) -> Result<Bundle, String> {
    let mut bundle = Bundle { version: BUNDLE_VERSION, compilation: index as u32, recomputes: true, ..Bundle::default() };
    // Where the log has only the joint graph, the partitioner here makes the parts.
    let decision = if graphs.inference.is_none() && (graphs.forward.is_none() || graphs.backward.is_none()) && graphs.joint.is_some() {
        Some(decide(log, compilation, graphs)?)
    } else {
        None
    };
    let (forward, backward, outputs) = match (&graphs.inference, &decision) {
        (Some(inference), _) => (inference, None, inference.outputs().len()),
        (None, Some(decision)) => (&decision.ours.forward, Some(&decision.ours.backward), decision.num_fwd_outputs),
        (None, None) => {
            let forward = graphs.forward.as_ref().ok_or("the log has no forward of it")?;
            let outputs = num_fwd_outputs(graphs).ok_or("the log does not say which outputs of the forward are saved values")?;
            (forward, graphs.backward.as_ref(), outputs)
        }
    };
    bundle.forward = on_cpu(forward);
    bundle.num_outputs = outputs as u32;
    bundle.inputs = forward.placeholders().map(|node| drawn(node, &mut bundle.drawn, &mut bundle.bytes)).collect::<Result<_, _>>()?;
    // What is drawn within the graphs is drawn alike by whatever runs them.
    let state = || Some(ByteBuf::from(default_generator().state_bytes()));
    bundle.generator = state();
    if let Some(backward) = backward {
        let tangents = backward.placeholders().filter(|node| is_tangent(node));
        let tangents = tangents.map(|node| drawn(node, &mut bundle.drawn, &mut bundle.bytes)).collect::<Result<_, _>>()?;
        bundle.backward = Some(BackwardBundle { readable: on_cpu(backward), tangents, generator: state(), ..BackwardBundle::default() });
    }
    if bundle.bytes > MOST_BYTES {
        let size = report::sentences::bytes;
        return Err(format!("its inputs take {}; up to {} are drawn here", size(bundle.bytes), size(MOST_BYTES)));
    }
    Ok(bundle)
}

/// The text of a graph that was compiled for any device.
fn on_cpu(graph: &Graph) -> String {
    let text = print_readable(graph, Style::FULL).text;
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("device(type='") {
        let (before, device) = rest.split_at(at);
        out.push_str(before);
        out.push_str("device(type='cpu')");
        rest = device.split_once(')').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    // `"f32[8, 4][4, 1]cuda:0"`
    let mut parts = out.split("]cuda:");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str("]cpu");
        plain.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    plain
}

/// A value for an input.
fn drawn(node: &Node, all: &mut Vec<Drawn>, bytes: &mut u64) -> Result<Named, String> {
    let name = node.name.to_string();
    let unknown = || format!("{name}: nobody knows its sizes: the log does not say what its symbols stood for");
    let number = |size: &SymInt| size.hint().and_then(|hint| u64::try_from(hint).ok()).ok_or_else(unknown);
    if let Some(foreign) = graph_view::foreign_dtype(node) {
        return Err(format!("{name} is of {foreign}, which nothing here computes with"));
    }
    let value = match &node.meta.value {
        Some(FakeValue::Tensor(spec)) => {
            let numbers = |sizes: &[SymInt]| sizes.iter().map(number).collect::<Result<Vec<u64>, String>>();
            let (shape, stride) = (numbers(&spec.geometry.sizes)?, numbers(&spec.geometry.strides)?);
            let is_empty = shape.contains(&0);
            let last =
                shape.iter().zip(&stride).map(|(size, stride)| size.saturating_sub(1).saturating_mul(*stride)).fold(0, u64::saturating_add);
            let size = if is_empty { 0 } else { last.saturating_add(1).saturating_mul(spec.dtype.itemsize() as u64) };
            *bytes = bytes.saturating_add(size);
            let mut tensor = TensorData { dtype: spec.dtype.name().to_owned(), shape, stride, bytes: ByteBuf::new() };
            let is_drawn = matches!(spec.dtype.name(), "float16" | "bfloat16" | "float32" | "float64");
            if is_drawn {
                all.push(Drawn { name: name.clone(), bytes: size, mean: 0.0, deviation: 1.0, is_positive: false });
            } else if *bytes <= MOST_BYTES {
                tensor.bytes = ByteBuf::from(vec![0; size as usize]);
            }
            Value::Tensor { tensor }
        }
        Some(FakeValue::Int(size)) => Value::Int { value: size.hint().ok_or_else(unknown)? },
        Some(FakeValue::Float(value)) => Value::Float { value: value.unwrap_or(1.0) },
        Some(FakeValue::SymFloat(value)) => Value::Float { value: value.hint().unwrap_or(1.0) },
        Some(FakeValue::Bool(value)) => Value::Bool { value: value.unwrap_or(false) },
        Some(FakeValue::None) => Value::None,
        _ => return Err(format!("{name}: the log does not say what it is, so that nothing can be drawn for it")),
    };
    Ok(Named { name, label: None, value })
}
