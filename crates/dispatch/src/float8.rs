//! Floats of 8 bits: the few operators that PyTorch computes of them, and how they come of the kernels for larger floats.
//!
//! The list is PyTorch 2.15's (`tests/recorders/float8.py`): an operator by itself is computed, one with a name after it is refused, and
//! the name is that of the kernel in PyTorch's message.

use super::{Call, OpEntry, Rule, Tags, Value};
use diagnostics::error::{Error, Result};
use std::collections::HashMap;
use std::sync::OnceLock;
use tensor::float8::{F8E4M3FN, F8E5M2};
use tensor::{Dtype, Tensor, TensorSpec, check_promotion, strided};

/// Per operator, the kernel that refuses.
fn table() -> &'static HashMap<&'static str, Option<&'static str>> {
    static TABLE: OnceLock<HashMap<&'static str, Option<&'static str>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let line = |line: &'static str| line.split_once(' ').map_or((line, None), |(name, kernel)| (name, Some(kernel)));
        include_str!("float8.txt").lines().map(line).collect()
    })
}

/// Refuses a call with such tensors that PyTorch does not compute. One that would promote is left to its rule, which refuses that.
///
/// # Errors
/// PyTorch's.
pub(super) fn check(entry: &OpEntry, args: &[Value]) -> Result<()> {
    if !is_in(args, &[]) {
        return Ok(());
    }
    let mut dtypes = Vec::new();
    args.iter().for_each(|v| v.for_each_tensor(&mut |t| dtypes.push(t.dtype())));
    let combines = entry.is_elementwise() && !entry.name.starts_with("aten.where") && !entry.name.starts_with("aten.copy");
    if combines {
        dtypes[1..].iter().try_for_each(|other| check_promotion(dtypes[0], *other))?;
    }
    let float8 = dtypes.iter().copied().find(|d| d.is_float8()).unwrap_or(dtypes[0]);
    let kernel = match table().get(entry.name).copied() {
        Some(None) if entry.name == "aten.mul.Tensor" && dtypes.len() < 2 => "mul_cpu_reduced_float",
        Some(None) => return Ok(()),
        Some(Some(kernel)) => kernel,
        // What is composed of others, and views, come to calls of others.
        None if matches!(entry.rule, Rule::Fresh(_) | Rule::Data) => entry.base_name(),
        None => return Ok(()),
    };
    Err(refused(kernel, float8))
}

fn refused(kernel: &str, dtype: Dtype) -> Error {
    Error::not_implemented(format!("\"{kernel}\" not implemented for '{}'", dtype.scalar_type()))
}

/// Whether a call has such tensors, or makes one.
fn is_in(args: &[Value], made: &[Tensor]) -> bool {
    let mut found = made.iter().any(|t| t.dtype().is_float8());
    args.iter().for_each(|v| v.for_each_tensor(&mut |t| found |= t.dtype().is_float8()));
    found
}

/// A tensor in float32; another one is itself.
fn wide(t: &Tensor) -> Result<Tensor> {
    let to_f32: fn(u8) -> f32 = match t.dtype() {
        Dtype::Float8E4m3fn => |bits| F8E4M3FN(bits).to_f32(),
        Dtype::Float8E5m2 => |bits| F8E5M2(bits).to_f32(),
        _ => return Ok(t.clone()),
    };
    let values: Vec<f32> = strided::dense_bytes(t)?.into_iter().map(to_f32).collect();
    Tensor::from_bytes(bytemuck::cast_slice(&values), &shape::concrete(&t.sizes())?, Dtype::Float32)
}

/// The arguments of a call in float32.
fn widened(call: &Call) -> Result<Vec<Value>> {
    call.args.iter().map(|v| v.map_tensors(&mut |t| wide(t))).collect()
}

/// Writes float32 numbers into a tensor that has fewer bits.
fn narrow(values: &Tensor, into: &Tensor) -> Result<()> {
    let from_f32: fn(f32) -> u8 = match into.dtype() {
        Dtype::Float8E4m3fn => |v| F8E4M3FN::from_f32(v).0,
        _ => |v| F8E5M2::from_f32(v).0,
    };
    let bytes = strided::dense_bytes(values)?;
    let bits: Vec<u8> = bytes.as_chunks::<4>().0.iter().map(|b| from_f32(f32::from_ne_bytes(*b))).collect();
    strided::write_dense(into, &bits)
}

/// A float32 tensor for what a kernel makes.
fn room(t: &Tensor) -> Result<Tensor> {
    let spec = t.spec();
    if t.dtype().is_float8() {
        Tensor::zeros(&TensorSpec::contiguous(spec.geometry.sizes, Dtype::Float32, spec.device))
    } else {
        Ok(t.clone())
    }
}

/// Has a kernel fill results of a call: in float32, if there are such tensors. Gives whether there are.
pub(super) fn fill(call: &Call, outs: &[Tensor], kernel: fn(&Call, &[Tensor]) -> Result<()>) -> Result<bool> {
    if !is_in(call.args, outs) {
        return Ok(false);
    }
    if let (true, Some(out)) = (call.entry.tags.has(Tags::RANDOM), outs.iter().find(|t| t.dtype().is_float8())) {
        return Err(refused(if call.entry.name.contains("randn") { "normal_kernel_cpu" } else { "check_uniform_bounds" }, out.dtype()));
    }
    let (args, made) = (widened(call)?, outs.iter().map(room).collect::<Result<Vec<_>>>()?);
    kernel(&Call { entry: call.entry, args: &args }, &made)?;
    let narrowed = outs.iter().zip(&made).filter(|(out, _)| out.dtype().is_float8());
    narrowed.into_iter().try_for_each(|(out, values)| narrow(values, out))?;
    Ok(true)
}

/// Has a kernel write into the first argument: in float32, if there are such tensors.
pub(super) fn mutate(call: &Call, kernel: fn(&Call) -> Result<()>) -> Result<()> {
    if !is_in(call.args, &[]) {
        return kernel(call);
    }
    let args = widened(call)?;
    kernel(&Call { entry: call.entry, args: &args })?;
    match (call.args.first().and_then(Value::as_tensor), args.first().and_then(Value::as_tensor)) {
        (Some(target), Some(values)) if target.dtype().is_float8() => narrow(values, target),
        _ => Ok(()),
    }
}

/// Has a kernel make the result: in float32, if there are such tensors.
pub(super) fn make(call: &Call, kernel: fn(&Call) -> Result<Value>) -> Result<Value> {
    if !is_in(call.args, &[]) {
        return kernel(call);
    }
    let dtype = call.args.iter().find_map(Value::as_tensor).map(Tensor::dtype).filter(|d| d.is_float8());
    let made = kernel(&Call { entry: call.entry, args: &widened(call)? })?;
    made.map_tensors(&mut |t| match dtype {
        Some(dtype) if t.dtype() == Dtype::Float32 => {
            let out = Tensor::zeros(&TensorSpec::contiguous(t.sizes(), dtype, t.device()))?;
            narrow(t, &out)?;
            Ok(out)
        }
        _ => Ok(t.clone()),
    })
}
