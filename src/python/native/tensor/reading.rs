//! What Python reads of a tensor's values: `item()`, `tolist()`, its truth. Where a graph is captured, reading breaks it.

use rustpython_vm::{PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::convert::from_value;
use super::errors::raise;
use crate::dispatch::Value;
use crate::dynamo::Unsupported;
use crate::error::{Error, ErrorKind, Result};
use crate::span::Written;
use crate::tensor::{DeviceType, Dtype, Tensor};

/// The number behind a tensor of one element.
pub(super) fn item(t: &Tensor, vm: &VirtualMachine) -> PyResult<Value> {
    if t.numel().guard_int().map_err(|e| raise(e, vm))? != 1 {
        return Err(raise(Error::runtime(format!("a Tensor with {} elements cannot be converted to Scalar", t.numel())), vm));
    }
    crate::aten!("_local_scalar_dense", t).map_err(|e| raise(e, vm))
}

/// The number that `float(t)` and `int(t)` convert.
pub(super) fn only(t: &Tensor, vm: &VirtualMachine) -> PyResult<Value> {
    if t.numel().guard_int().map_err(|e| raise(e, vm))? != 1 {
        return Err(vm.new_value_error("only one element tensors can be converted to Python scalars"));
    }
    item(t, vm)
}

/// The number of a tensor that stands where Python wants an index.
pub(super) fn read_index(t: &Tensor, vm: &VirtualMachine) -> PyResult<Value> {
    if crate::dynamo::tracing::recorder().is_none_or(|recorder| recorder.wants_scalars()) {
        return item(t, vm);
    }
    let t = crate::dynamo::tracing::before_reading(t, crate::dynamo::tracing::index_reason).map_err(|e| raise(e, vm))?;
    let _outside = crate::dispatch::Exclude::only(crate::dispatch::Key::Capture);
    item(&t, vm)
}

/// The number that `float(t)` and `int(t)` convert, as part of the graph that is captured; `None` where that holds none.
pub fn read_scalar(o: &PyObject, vm: &VirtualMachine) -> PyResult<Option<PyObjectRef>> {
    if crate::dynamo::tracing::recorder().is_none_or(|recorder| !recorder.wants_scalars()) {
        return Ok(None);
    }
    let Some(t) = super::convert::to_tensor(o) else { return Ok(None) };
    if t.numel().as_int() != Some(1) || t.dtype().is_complex() || t.dtype() == Dtype::Bool {
        return Ok(None);
    }
    let _written = Written::Method("item").enter();
    from_value(item(&t, vm)?, vm).map(Some)
}

/// `bool(t)`, where a graph is captured: a call that reads a number.
pub fn read_truth(o: &PyObject, vm: &VirtualMachine) -> PyResult<Option<bool>> {
    let Some(t) = super::convert::to_tensor(o).filter(|t| t.numel().as_int() == Some(1)) else { return Ok(None) };
    if crate::dynamo::tracing::recorder().is_none_or(|recorder| recorder.wants_scalars()) {
        return Ok(None);
    }
    let t = crate::dynamo::tracing::before_reading(&t, Unsupported::item).map_err(|e| raise(e, vm))?;
    let _outside = crate::dispatch::Exclude::only(crate::dispatch::Key::Capture);
    from_value(item(&t, vm)?, vm)?.try_to_bool(vm).map(Some)
}

pub(super) fn truth(t: &Tensor, vm: &VirtualMachine) -> PyResult<bool> {
    let n = t.numel().guard_int().map_err(|e| raise(e, vm))?;
    match n {
        1 if crate::transforms::levels::batched(t) => Err(raise(Error::runtime(crate::transforms::batching::no_truth(t)), vm)),
        1 if crate::dynamo::tracing::record_assert(t, vm)? => Ok(true),
        1 => {
            // A tensor of the caller's breaks the graph, too.
            let t = match crate::dynamo::tracing::recorder() {
                Some(_) => {
                    crate::dynamo::tracing::before_reading(t, || crate::dynamo::tracing::branch_reason(t)).map_err(|e| raise(e, vm))?
                }
                None => with_values(t, || crate::dynamo::tracing::branch_reason(t), vm)?,
            };
            // The graph has ended, and which way Python goes is asked of the value.
            let number = {
                let is_traced = crate::aot::trace::current_tracer().is_some_and(|tracer| tracer.sees_script());
                let _outside = (!is_traced).then(|| crate::dispatch::Exclude::only(crate::dispatch::Key::Capture));
                item(&t, vm)?
            };
            let truth = match number {
                Value::Bool(b) => b,
                Value::Int(i) => i.as_int() != Some(0),
                Value::Float(f) => f != 0.0,
                Value::Complex(re, im) => re != 0.0 || im != 0.0,
                _ => true,
            };
            crate::dynamo::tracing::branched(truth);
            Ok(truth)
        }
        0 => Err(raise(Error::runtime("Boolean value of Tensor with no values is ambiguous"), vm)),
        _ => Err(raise(Error::runtime("Boolean value of Tensor with more than one value is ambiguous"), vm)),
    }
}

/// The tensor with its values: where it is fake, the graph breaks here.
pub fn with_values(t: &Tensor, reason: impl FnOnce() -> Unsupported, vm: &VirtualMachine) -> PyResult<Tensor> {
    if !t.is_fake() || !crate::dynamo::tracing::is_called() {
        return Ok(t.clone());
    }
    crate::dynamo::tracing::before_reading(t, reason).map_err(|e| raise(e, vm))
}

/// Whether it stands for a value while AOTAutograd or an export traces: it has no memory, and no mode of the script says so.
pub fn is_of_trace(t: &Tensor) -> bool {
    let is_plain = t.is_fake() && t.storage().fake_mode() == 0 && t.device().kind != DeviceType::Meta;
    is_plain && crate::dispatch::modes().fake && crate::dynamo::tracing::recorder().is_none()
}

/// Refuses to read the memory of a tensor of a transform: it has none of its own.
pub fn refuse_wrapped(t: &Tensor, vm: &VirtualMachine) -> PyResult<()> {
    use crate::transforms::levels::{live, wrapped};
    match wrapped(&live(t)) {
        Some(_) => Err(raise(Error::runtime("Cannot access data pointer of Tensor that doesn't have storage"), vm)),
        None => Ok(()),
    }
}

/// A nested list of the elements.
pub(super) fn nested(t: &Tensor, vm: &VirtualMachine) -> PyResult {
    refuse_wrapped(t, vm)?;
    let is_integer = t.dtype().is_integral() && t.dtype() != Dtype::Bool;
    let is_exported = || t.is_fake() && crate::aot::trace::current_tracer().is_some_and(|tracer| tracer.sees_script());
    if is_integer && crate::dynamo::tracing::recorder().is_some_and(|r| r.wants_scalars()) || is_exported() {
        return nested_symbols(t, vm);
    }
    // Also a tensor of the caller's breaks the graph.
    let reason = || match is_integer {
        true => Unsupported::data_dependent_operator("aten._local_scalar_dense.default").giving_number(),
        false => Unsupported::tolist(),
    };
    let t = &crate::dynamo::tracing::before_reading(t, reason).map_err(|e| raise(e, vm))?;
    if is_of_trace(t) {
        return Err(raise(Error::new(ErrorKind::DataDependent, "aten._local_scalar_dense.default"), vm));
    }
    let _outside = crate::dispatch::Exclude::only(crate::dispatch::Key::Capture);
    let c = t.concrete().map_err(|e| raise(e, vm))?;
    let flat = crate::t!("contiguous", t).map_err(|e| raise(e, vm))?;
    let values = elements(&flat).map_err(|e| raise(e, vm))?;
    let mut objects: Vec<PyObjectRef> = values.into_iter().map(|v| from_value(v, vm)).collect::<PyResult<_>>()?;
    for &size in c.sizes.iter().rev() {
        if size == 0 {
            // Lists of nothing: as many as the sizes before it say.
            objects = vec![vm.ctx.new_list(Vec::new()).into(); c.sizes.iter().take_while(|s| **s != 0).product()];
            continue;
        }
        objects = objects.chunks(size).map(|chunk| vm.ctx.new_list(chunk.to_vec()).into()).collect();
    }
    Ok(objects.into_iter().next().unwrap_or_else(|| vm.ctx.new_list(Vec::new()).into()))
}

/// The same, each number a symbol of the graph that is recorded.
fn nested_symbols(t: &Tensor, vm: &VirtualMachine) -> PyResult {
    if t.dim() == 0 {
        let _written = Written::Method("item").enter();
        return from_value(item(t, vm)?, vm);
    }
    if crate::dynamo::tracing::recorder().is_none() {
        let rows = crate::aten!("unbind.int", t, 0).and_then(|rows| rows.tensors()).map_err(|e| raise(e, vm))?;
        let numbers = rows.iter().map(|row| nested_symbols(row, vm));
        return Ok(vm.ctx.new_list(numbers.collect::<PyResult<Vec<_>>>()?).into());
    }
    let rows = t.size(0).guard_int().map_err(|e| raise(e, vm))?;
    let row = |i: i64| {
        let written = Written::Operator("[]").enter();
        let row = crate::t!("select.int", t, 0, i).map_err(|e| raise(e, vm))?;
        drop(written);
        nested_symbols(&row, vm)
    };
    Ok(vm.ctx.new_list((0..rows).map(row).collect::<PyResult<Vec<_>>>()?).into())
}

/// The elements of a contiguous tensor as Python numbers.
pub fn elements(t: &Tensor) -> Result<Vec<Value>> {
    let t = &crate::dispatch::as_in_memory(t)?;
    let n = t.numel().guard_int()? as usize;
    // An empty view may begin beyond its storage.
    let at = if n == 0 { 0 } else { t.geometry().offset.guard_int()? as usize };
    macro_rules! read {
        ($ty:ty, $f:expr) => {
            t.with_slice::<$ty, _>(|s| s[at..at + n].iter().map($f).collect())
        };
    }
    match t.dtype() {
        Dtype::Bool => read!(u8, |v| Value::Bool(*v != 0)),
        Dtype::UInt8 => read!(u8, |v| Value::from(i64::from(*v))),
        Dtype::Int8 => read!(i8, |v| Value::from(i64::from(*v))),
        Dtype::Int16 => read!(i16, |v| Value::from(i64::from(*v))),
        Dtype::Int32 => read!(i32, |v| Value::from(i64::from(*v))),
        Dtype::Int64 => read!(i64, |v| Value::from(*v)),
        Dtype::Float8E4m3fn => read!(tensor::float8::F8E4M3FN, |v| Value::Float(v.to_f64())),
        Dtype::Float8E5m2 => read!(tensor::float8::F8E5M2, |v| Value::Float(v.to_f64())),
        Dtype::Float16 => read!(half::f16, |v| Value::Float(f64::from(*v))),
        Dtype::BFloat16 => read!(half::bf16, |v| Value::Float(f64::from(*v))),
        Dtype::Float32 => read!(f32, |v| Value::Float(f64::from(*v))),
        Dtype::Float64 => read!(f64, |v| Value::Float(*v)),
        Dtype::Complex64 => t.with_slice::<f32, _>(|s| {
            s[2 * at..2 * (at + n)].chunks(2).map(|p| Value::Complex(f64::from(p[0]), f64::from(p[1]))).collect()
        }),
        Dtype::Complex128 => t.with_slice::<f64, _>(|s| s[2 * at..2 * (at + n)].chunks(2).map(|p| Value::Complex(p[0], p[1])).collect()),
    }
}
