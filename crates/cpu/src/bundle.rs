//! Running a [`Bundle`] on the CPU, and what every way of running one shares: values as tensors, and distances.

pub use super::drawn::{completed, is_drawable};
use super::interpret::interpret_with;
use diagnostics::error::{Error, Result};
use dispatch::{Tags, Value, lookup};
use graph::{Graph, Opcode, parse};
use report::bundle::Value as Plain;
use report::bundle::{BUNDLE_VERSION, Bundle, Computed, Device, Dispatch, Kernel, Named, PartResult, RunError, RunResult, TensorData};
use serde_bytes::ByteBuf;
use shape::ints;
use std::cell::RefCell;
use std::collections::HashMap;
use tensor::print::{Suffixes, repr};
use tensor::random::default_generator;
use tensor::{Dtype, Geometry, Storage, Tensor};

use web_time::Instant;

/// Runs a bundle on the CPU, node by node.
pub fn run_bundle_cpu(bundle: &Bundle) -> Result<RunResult, RunError> {
    check_version(bundle)?;
    let start = Instant::now();
    let forward = parse_graph(&bundle.forward)?;
    let compile_seconds = start.elapsed().as_secs_f64();
    let inputs: Vec<Plain> = bundle.inputs.iter().map(|n| n.value.clone()).collect();
    draw_as(&bundle.generator)?;
    let (outputs, first) = run_part(&forward, &inputs, &bundle.expected, compile_seconds)?;
    let mut result = RunResult {
        version: BUNDLE_VERSION,
        compilation: bundle.compilation,
        device: cpu(),
        forward: first,
        backward: None,
        expected: None,
    };
    if let Some(part) = &bundle.backward {
        let start = Instant::now();
        let backward = parse_graph(&part.readable)?;
        let compile_seconds = start.elapsed().as_secs_f64();
        let mut saved: HashMap<String, Plain> = HashMap::new();
        for (name, value) in output_names(&forward).into_iter().zip(outputs) {
            saved.insert(name, value);
        }
        let inputs = backward_inputs(&backward, bundle, |name| saved.get(name).cloned())?;
        draw_as(&part.generator)?;
        result.backward = Some(run_part(&backward, &inputs, &part.expected, compile_seconds)?.1);
    }
    Ok(result)
}

/// What the CPU is, as a device.
pub fn cpu() -> Device {
    Device {
        backend: "cpu".to_owned(),
        name: "reference kernels".to_owned(),
        description: "one kernel per operator, node by node".to_owned(),
        software: true,
        ..Device::default()
    }
}

/// Refuses a bundle of another version.
pub fn check_version(bundle: &Bundle) -> Result<(), RunError> {
    if bundle.version == BUNDLE_VERSION {
        return Ok(());
    }
    Err(RunError { message: format!("this bundle is of version {}, not {BUNDLE_VERSION}", bundle.version), node: None })
}

/// Reads a graph's text.
pub fn parse_graph(text: &str) -> Result<Graph, RunError> {
    parse(text, &|_| None).map(|parsed| parsed.graph).map_err(|e| failed(&e))
}

/// An error as the page shows it.
pub fn failed(error: &Error) -> RunError {
    let node = error.message.split_once(": ").map(|(node, _)| node).filter(|n| n.chars().all(|c| c.is_alphanumeric() || c == '_'));
    RunError { message: error.message.clone(), node: node.map(str::to_owned) }
}

/// Names of the nodes a graph returns.
pub fn output_names(graph: &Graph) -> Vec<String> {
    graph
        .outputs()
        .iter()
        .map(|arg| match arg {
            graph::Arg::Node(id) => graph.node(*id).name.to_string(),
            _ => "None".to_owned(),
        })
        .collect()
}

/// Values for the placeholders of the backward: tangents by name, inputs of the forward by name, and what was saved.
pub fn backward_inputs(backward: &Graph, bundle: &Bundle, saved: impl Fn(&str) -> Option<Plain>) -> Result<Vec<Plain>, RunError> {
    let tangents = bundle.backward.iter().flat_map(|b| &b.tangents);
    let given: HashMap<&str, &Plain> = bundle.inputs.iter().chain(tangents).map(|n| (n.name.as_str(), &n.value)).collect();
    backward
        .placeholders()
        .map(|node| {
            let name = &*node.name;
            let value = saved(name).or_else(|| given.get(name).map(|v| (*v).clone()));
            value.ok_or_else(|| RunError { message: format!("{name} was not saved"), node: Some(name.to_owned()) })
        })
        .collect()
}

/// Runs one graph; gives its outputs and the account of it.
fn run_part(graph: &Graph, inputs: &[Plain], expected: &[Named], compile_seconds: f64) -> Result<(Vec<Plain>, PartResult), RunError> {
    let start = Instant::now();
    let inputs = inputs.iter().map(to_value).collect::<Result<Vec<_>>>().map_err(|e| failed(&e))?;
    let account: RefCell<(Vec<Kernel>, Vec<Dispatch>)> = RefCell::default();
    let outputs = interpret_with(graph, inputs, &mut |node, run| {
        let start = Instant::now();
        let value = run()?;
        let microseconds = Some(start.elapsed().as_secs_f64() * 1e6);
        let (kernels, dispatches) = &mut *account.borrow_mut();
        if node.opcode == Opcode::Call && node.op().is_some() {
            dispatches.push(Dispatch { kernel: kernels.len() as u32, microseconds, ..Dispatch::default() });
            kernels.push(Kernel { name: node.name.to_string(), nodes: vec![node.name.to_string()], ..Kernel::default() });
        }
        Ok(value)
    })
    .map_err(|e| failed(&e))?;
    let values = outputs.iter().map(to_plain).collect::<Result<Vec<_>>>().map_err(|e| failed(&e))?;
    let run_seconds = start.elapsed().as_secs_f64();
    let (kernels, dispatches) = account.into_inner();
    let outputs = compare_all(&output_names(graph), &values, expected);
    Ok((values, PartResult { outputs, kernels, dispatches, notes: Vec::new(), compile_seconds, run_seconds }))
}

/// A plain value as one the dispatcher takes.
pub fn to_value(plain: &Plain) -> Result<Value> {
    Ok(match plain {
        Plain::None => Value::None,
        Plain::Int { value } => Value::from(*value),
        Plain::Float { value } => Value::Float(*value),
        Plain::Bool { value } => Value::Bool(*value),
        Plain::Tensor { tensor } => Value::Tensor(to_tensor(tensor)?),
    })
}

/// A tensor of plain data.
fn to_tensor(tensor: &TensorData) -> Result<Tensor> {
    let dtype = Dtype::parse(&tensor.dtype).ok_or_else(|| Error::type_error(format!("unknown dtype {}", tensor.dtype)))?;
    if tensor.bytes.len() != extent(tensor) * dtype.itemsize() {
        return Err(Error::value("a tensor's bytes do not fit its sizes and strides"));
    }
    let list = |v: &[u64]| ints(&v.iter().map(|s| *s as i64).collect::<Vec<_>>());
    let storage = Storage::zeroed(tensor.bytes.len(), tensor::Device::CPU)?;
    storage.bytes_mut()?.copy_from_slice(&tensor.bytes);
    let geometry = Geometry { sizes: list(&tensor.shape), strides: list(&tensor.stride), offset: 0.into() };
    Ok(Tensor::from_storage(storage, geometry, dtype))
}

/// A tensor as PyTorch prints it.
///
/// # Errors
/// Where its bytes do not fit.
pub fn printed(tensor: &TensorData) -> Result<String> {
    repr(&to_tensor(tensor)?, &Suffixes::default())
}

/// Elements from a tensor's first to its last.
fn extent(tensor: &TensorData) -> usize {
    if tensor.shape.contains(&0) {
        return 0;
    }
    1 + tensor.shape.iter().zip(&tensor.stride).map(|(size, stride)| (size - 1) * stride).sum::<u64>() as usize
}

/// A dispatcher's value as plain data.
pub fn to_plain(value: &Value) -> Result<Plain> {
    Ok(match value {
        Value::None => Plain::None,
        Value::Int(v) => Plain::Int { value: v.guard_int()? },
        Value::Float(v) => Plain::Float { value: *v },
        Value::Bool(v) => Plain::Bool { value: *v },
        Value::Tensor(t) => {
            let t = dispatch::as_in_memory(t)?;
            let c = t.concrete()?;
            let mut tensor = TensorData {
                dtype: t.dtype().name().to_owned(),
                shape: c.sizes.iter().map(|s| *s as u64).collect(),
                stride: c.strides.iter().map(|s| *s as u64).collect(),
                bytes: ByteBuf::new(),
            };
            let size = t.dtype().itemsize();
            let (start, length) = (c.offset * size, extent(&tensor) * size);
            tensor.bytes = ByteBuf::from(t.storage().bytes()?.get(start..start + length).unwrap_or_default().to_vec());
            Plain::Tensor { tensor }
        }
        other => return Err(Error::type_error(format!("a {} is no value of a graph", other.kind()))),
    })
}

/// Every output beside what was expected of it.
pub fn compare_all(names: &[String], values: &[Plain], expected: &[Named]) -> Vec<Computed> {
    names
        .iter()
        .zip(values)
        .enumerate()
        .map(|(i, (name, value))| {
            let wanted = expected.get(i);
            let named = Named {
                name: wanted.map_or_else(|| name.clone(), |w| w.name.clone()),
                label: wanted.and_then(|w| w.label.clone()),
                value: value.clone(),
            };
            let mut computed = Computed { named, ..Computed::default() };
            match wanted.map(|w| distance(value, &w.value)) {
                Some(Ok(Some(found))) => {
                    (computed.max_abs, computed.max_rel, computed.outside) = (Some(found.abs), Some(found.rel), Some(found.outside));
                    // Complex elements are two numbers each.
                    if let (Plain::Tensor { tensor }, true) = (value, found.abs > 0.0) {
                        let position = if tensor.dtype.starts_with("complex") { found.at / 2 } else { found.at };
                        computed.at = Some(index_of(position, &tensor.shape));
                    }
                }
                Some(Err(why)) => computed.mismatch = Some(why),
                Some(Ok(None)) | None => {}
            }
            computed
        })
        .collect()
}

/// Whether a graph draws random numbers.
pub fn draws(graph: &Graph) -> bool {
    crate::install();
    graph.nodes().filter_map(|n| lookup(n.op()?)).any(|entry| entry.tags.has(Tags::RANDOM))
}

/// Takes the random generator back to where it was when the graph first ran, so that it draws the same numbers again.
pub fn draw_as(generator: &Option<ByteBuf>) -> Result<(), RunError> {
    match generator {
        Some(state) => default_generator().restore(state).map_err(|e| failed(&e)),
        None => Ok(()),
    }
}

/// How far two tensors are from each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distance {
    /// Largest absolute difference.
    pub abs: f64,
    /// Largest difference relative to the larger magnitude of the two elements.
    pub rel: f64,
    /// Position of the largest absolute difference, in row-major order.
    pub at: usize,
    /// Elements beyond what `torch.testing.assert_close` allows.
    pub outside: u64,
}

/// `rtol` and `atol` of `torch.testing.assert_close`. What is float64 in the script is computed in float32 on the GPU.
fn tolerance(dtype: &str) -> (f64, f64) {
    match dtype {
        "float16" => (1e-3, 1e-5),
        "bfloat16" => (1.6e-2, 1e-5),
        "float32" | "float64" | "complex64" | "complex128" => (1.3e-6, 1e-5),
        _ => (0.0, 0.0),
    }
}

/// The index of an element, given its position in row-major order.
fn index_of(position: usize, shape: &[u64]) -> Vec<u64> {
    let mut rest = position as u64;
    let mut index = vec![0; shape.len()];
    for (i, size) in index.iter_mut().zip(shape).rev() {
        *i = rest % size;
        rest /= size;
    }
    index
}

/// How far two values are from each other; `None` where there is nothing to compare.
pub fn distance(value: &Plain, expected: &Plain) -> Result<Option<Distance>, String> {
    let (Plain::Tensor { tensor: a }, Plain::Tensor { tensor: b }) = (value, expected) else {
        let same = value == expected || matches!(expected, Plain::None);
        return if same { Ok(None) } else { Err("another kind of value".to_owned()) };
    };
    if a.dtype != b.dtype {
        return Err(format!("{} instead of {}", a.dtype, b.dtype));
    }
    if a.shape != b.shape {
        return Err(format!("shape {:?} instead of {:?}", a.shape, b.shape));
    }
    let (x, y) = (numbers(a)?, numbers(b)?);
    let (rtol, atol) = tolerance(&b.dtype);
    let mut found = Distance::default();
    for (at, (x, y)) in x.iter().zip(&y).enumerate() {
        if x == y || (x.is_nan() && y.is_nan()) {
            continue;
        }
        if x.is_nan() || y.is_nan() {
            return Err("NaN on one side".to_owned());
        }
        let difference = (x - y).abs();
        if difference > found.abs {
            (found.abs, found.at) = (difference, at);
        }
        found.outside += u64::from(difference > atol + rtol * y.abs());
        found.rel = found.rel.max(if difference.is_infinite() { f64::INFINITY } else { difference / x.abs().max(y.abs()) });
    }
    Ok((!x.is_empty()).then_some(found))
}

/// A tensor's elements in row-major order, as floats; complex ones as two.
pub fn numbers(tensor: &TensorData) -> Result<Vec<f64>, String> {
    let dtype = Dtype::parse(&tensor.dtype).ok_or_else(|| format!("unknown dtype {}", tensor.dtype))?;
    let size = dtype.itemsize();
    if tensor.bytes.len() != extent(tensor) * size {
        return Err("bytes that do not fit sizes and strides".to_owned());
    }
    let count: u64 = tensor.shape.iter().product();
    let mut out = Vec::with_capacity(count as usize);
    for i in 0..count {
        let (mut rest, mut at) = (i, 0);
        for (size, stride) in tensor.shape.iter().zip(&tensor.stride).rev() {
            at += rest % size * stride;
            rest /= size;
        }
        let bytes = &tensor.bytes[at as usize * size..(at as usize + 1) * size];
        read_number(dtype, bytes, &mut out);
    }
    Ok(out)
}

fn read_number(dtype: Dtype, b: &[u8], out: &mut Vec<f64>) {
    fn array<const N: usize>(b: &[u8]) -> [u8; N] {
        let mut a = [0; N];
        a.copy_from_slice(&b[..N]);
        a
    }
    match dtype {
        Dtype::Bool | Dtype::UInt8 => out.push(b[0].into()),
        Dtype::Int8 => out.push((b[0] as i8).into()),
        Dtype::Int16 => out.push(i16::from_le_bytes(array(b)).into()),
        Dtype::Int32 => out.push(i32::from_le_bytes(array(b)).into()),
        Dtype::Int64 => out.push(i64::from_le_bytes(array(b)) as f64),
        Dtype::Float8E4m3fn => out.push(tensor::float8::F8E4M3FN(b[0]).to_f64()),
        Dtype::Float8E5m2 => out.push(tensor::float8::F8E5M2(b[0]).to_f64()),
        Dtype::Float16 => out.push(half::f16::from_le_bytes(array(b)).to_f64()),
        Dtype::BFloat16 => out.push(half::bf16::from_le_bytes(array(b)).to_f64()),
        Dtype::Float32 => out.push(f32::from_le_bytes(array(b)).into()),
        Dtype::Float64 => out.push(f64::from_le_bytes(array(b))),
        Dtype::Complex64 => b.chunks(4).for_each(|c| out.push(f32::from_le_bytes(array(c)).into())),
        Dtype::Complex128 => b.chunks(8).for_each(|c| out.push(f64::from_le_bytes(array(c)))),
    }
}
