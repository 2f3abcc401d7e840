//! Tensors of Python data: `torch.tensor([[1, 2]])`, and what the constructors of older code make.

use rustpython_vm::builtins::PyDict;
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::convert::{items, numpy_tensor, to_tensor, to_value};
use super::errors::raise;
use super::objects::PyDtype;
use super::packet;
use super::payload::wrap;
use crate::dispatch::Value;
use crate::ops::shapes::default_dtype;
use crate::tensor::{Device, Dtype, Number, Tensor};

/// How deep lists of a tensor's data may lie in each other.
const MOST_DIMENSIONS: usize = 64;

/// The items of what counts as a sequence.
fn sequence(o: &PyObject, vm: &VirtualMachine) -> PyResult<Option<Vec<PyObjectRef>>> {
    if let Some(list) = items(o) {
        return Ok(Some(list));
    }
    let has = |name| o.class().has_attr(vm.ctx.intern_str(name));
    let text_or_map = o.downcast_ref::<rustpython_vm::builtins::PyStr>().is_some() || o.downcast_ref::<PyDict>().is_some();
    if to_tensor(o).is_some() || has("__torch_array__") || text_or_map || !has("__len__") || !has("__getitem__") {
        return Ok(None);
    }
    o.try_to_value::<Vec<PyObjectRef>>(vm).map(Some)
}

/// The shape of nested sequences, which their first elements tell.
fn nested_shape(o: &PyObject, vm: &VirtualMachine) -> PyResult<Vec<i64>> {
    let (mut shape, mut inner) = (Vec::new(), o.to_owned());
    while let Some(list) = sequence(&inner, vm)? {
        if shape.len() > MOST_DIMENSIONS {
            return Err(vm.new_value_error(format!("too many dimensions '{}'", inner.class().name())));
        }
        shape.push(list.len() as i64);
        match list.into_iter().next() {
            Some(first) => inner = first,
            None => break,
        }
    }
    if let Some(array) = numpy_tensor(&inner, vm)? {
        shape.extend(array.concrete().map_err(|e| raise(e, vm))?.sizes.iter().map(|size| *size as i64));
    }
    // Text is a sequence, too, whose elements are text.
    if !shape.is_empty() && inner.downcast_ref::<rustpython_vm::builtins::PyStr>().is_some_and(|s| !s.as_wtf8().is_empty()) {
        return Err(vm.new_value_error("too many dimensions 'str'"));
    }
    Ok(shape)
}

/// What a dtype becomes beside another one.
fn join(found: &mut Option<Dtype>, dtype: Dtype) {
    *found = Some(found.map_or(dtype, |found| crate::tensor::promote(found, dtype)));
}

/// The numbers of nested sequences of a shape, and the dtype that they have together.
fn flatten(o: &PyObject, depth: usize, shape: &[i64], flat: &mut Vec<Value>, of: &mut Option<Dtype>, vm: &VirtualMachine) -> PyResult<()> {
    if let Some(array) = numpy_tensor(o, vm)? {
        let sizes = array.concrete().map_err(|e| raise(e, vm))?.sizes;
        if sizes.iter().map(|size| *size as i64).ne(shape[depth..].iter().copied()) {
            return Err(
                vm.new_value_error(format!("expected sequence of length {} at dim {depth}", shape.get(depth).copied().unwrap_or(1)))
            );
        }
        join(of, array.dtype());
        flat.extend(crate::tensor::strided::numbers(&array).map_err(|e| raise(e, vm))?.into_iter().map(value_of));
        return Ok(());
    }
    if let Some(list) = sequence(o, vm)? {
        let Some(length) = shape.get(depth) else {
            let class = o.class().name().to_string();
            let integers = flat.iter().all(|v| matches!(v, Value::Int(_) | Value::Bool(_)));
            return Err(vm.new_type_error(match integers {
                true => format!("'{class}' object cannot be interpreted as an integer"),
                false => format!("must be real number, not {class}"),
            }));
        };
        if *length != list.len() as i64 {
            return Err(vm.new_value_error(format!("expected sequence of length {length} at dim {depth} (got {})", list.len())));
        }
        return list.iter().try_for_each(|item| flatten(item, depth + 1, shape, flat, of, vm));
    }
    let mut push = |v: Value| -> PyResult<()> {
        if shape.len() > depth {
            return Err(vm.new_type_error("not a sequence"));
        }
        let dtype = match v {
            Value::Bool(_) => Dtype::Bool,
            Value::Int(_) => Dtype::Int64,
            Value::Complex(..) => default_dtype().to_complex(),
            _ if v.condition().is_some() => Dtype::Bool,
            _ => default_dtype(),
        };
        join(of, dtype);
        flat.push(v);
        Ok(())
    };
    match to_value(o, vm) {
        Some(Value::Tensor(t)) if t.numel().as_int() == Some(1) => push(crate::aten!("_local_scalar_dense", &t).map_err(|e| raise(e, vm))?),
        Some(Value::Tensor(_)) => Err(vm.new_value_error("only one element tensors can be converted to Python scalars")),
        Some(v) if v.is_scalar() => push(v),
        Some(Value::Str(_)) => Err(vm.new_type_error("new(): invalid data type 'str'")),
        _ => Err(vm.new_runtime_error(format!("Could not infer dtype of {}", o.class().name()))),
    }
}

/// A tensor of Python data, its dtype inferred unless given.
pub fn tensor_from(o: &PyObject, dtype: Option<Dtype>, vm: &VirtualMachine) -> PyResult<Tensor> {
    if let Some(t) = to_tensor(o) {
        let copy = crate::t!("detach", crate::t!("clone", &t).map_err(|e| raise(e, vm))?).map_err(|e| raise(e, vm))?;
        return match dtype {
            Some(d) if d != copy.dtype() => crate::t!("_to_copy", copy; dtype = d).map_err(|e| raise(e, vm)),
            _ => Ok(copy),
        };
    }
    if let Some(array) = numpy_tensor(o, vm)? {
        if crate::dynamo::tracing::recorder().is_some() {
            // Dynamo has it as a tensor that is made of one.
            let own = crate::t!("detach", &array).map_err(|e| raise(e, vm))?;
            let dtype = dtype.unwrap_or(array.dtype());
            return crate::t!("_to_copy", own; dtype = dtype, device = Device::CPU).map_err(|e| raise(e, vm));
        }
        return tensor_from(&*wrap(&array, vm)?, dtype, vm);
    }
    if crate::dynamo::tracing::recorder().is_some() && holds_tensors(o, vm) {
        let found = common_dtype(o, 0, vm)?;
        let dtype = dtype.or(found).unwrap_or_else(default_dtype);
        return computed(o, dtype, vm);
    }
    let (shape, mut flat, mut found) = (nested_shape(o, vm)?, Vec::new(), None);
    if !shape.contains(&0) {
        flatten(o, 0, &shape, &mut flat, &mut found, vm)?;
    }
    let dtype = dtype.or(found).unwrap_or_else(default_dtype);
    if flat.iter().any(is_symbolic) {
        return of_symbols(&flat, &shape, dtype).map_err(|e| raise(e, vm));
    }
    let numbers = flat_numbers(&flat);
    let is_integral = dtype.is_integral() && dtype != Dtype::Bool;
    if is_integral && numbers.iter().any(|n| matches!(n, Number::Int(_)) && n.overflows(dtype)) {
        return Err(vm.new_runtime_error(format!("value cannot be converted to type {} without overflow", dtype.name())));
    }
    crate::tensor::from_values(&numbers, &shape, dtype).map_err(|e| raise(e, vm))
}

/// Whether a list, or one within it, holds tensors.
pub fn holds_tensors(o: &PyObject, vm: &VirtualMachine) -> bool {
    holds_tensors_within(o, &mut Vec::new(), vm)
}

/// The same of a list that lies in others, none of which is looked into again: a list may hold itself.
fn holds_tensors_within(o: &PyObject, around: &mut Vec<usize>, vm: &VirtualMachine) -> bool {
    let is_list = o.class().is(vm.ctx.types.list_type) || o.class().is(vm.ctx.types.tuple_type);
    let items = if is_list { items(o) } else { None };
    if around.contains(&o.get_id()) {
        return false;
    }
    around.push(o.get_id());
    let holds = items.is_some_and(|items| items.iter().any(|item| to_tensor(item).is_some() || holds_tensors_within(item, around, vm)));
    around.pop();
    holds
}

/// The dtype to which what lists hold is promoted.
fn common_dtype(o: &PyObject, depth: usize, vm: &VirtualMachine) -> PyResult<Option<Dtype>> {
    if depth > MOST_DIMENSIONS {
        return Err(vm.new_value_error(format!("too many dimensions '{}'", o.class().name())));
    }
    if let Some(t) = to_tensor(o) {
        return Ok(Some(t.dtype()));
    }
    let mut found = None;
    match sequence(o, vm)? {
        Some(list) => {
            for item in list {
                if let Some(dtype) = common_dtype(&item, depth + 1, vm)? {
                    join(&mut found, dtype);
                }
            }
        }
        None => flatten(o, 0, &[], &mut Vec::new(), &mut found, vm)?,
    }
    Ok(found)
}

/// A tensor of lists that hold tensors, whose numbers are not known while it is captured: each is a tensor, and rows are stacked.
fn computed(o: &PyObject, dtype: Dtype, vm: &VirtualMachine) -> PyResult<Tensor> {
    let made = |made: crate::error::Result<Tensor>| made.map_err(|e| raise(e, vm));
    if let Some(t) = to_tensor(o) {
        let copy = made(crate::t!("_to_copy", made(crate::t!("detach", &t))?; dtype = dtype, device = crate::tensor::Device::CPU))?;
        return if t.numel().as_int() == Some(1) { made(crate::t!("view", copy, Vec::<i64>::new())) } else { Ok(copy) };
    }
    if let Some(list) = sequence(o, vm)? {
        let rows = list.iter().map(|item| computed(item, dtype, vm)).collect::<PyResult<Vec<_>>>()?;
        return if rows.is_empty() { made(crate::t!("empty.memory_format", vec![0i64])) } else { made(crate::t!("stack", rows)) };
    }
    let mut number = Vec::new();
    flatten(o, 0, &[], &mut number, &mut None, vm)?;
    made(of_symbols(&number, &[], dtype))
}

/// A number of an array, as one of Python's.
fn value_of(number: crate::tensor::Number) -> Value {
    match number {
        Number::Bool(b) => Value::Bool(b),
        Number::Int(i) => Value::Int(crate::shape::SymInt::Int(i)),
        Number::Float(f) => Value::Float(f),
        Number::Complex(re, im) => Value::Complex(re, im),
    }
}

fn is_symbolic(v: &Value) -> bool {
    matches!(v, Value::SymFloat(_)) || matches!(v, Value::Int(i) if i.as_int().is_none()) || v.condition().is_some()
}

/// A tensor of numbers some of which are symbolic: each is a tensor, and rows are stacked.
fn of_symbols(flat: &[Value], shape: &[i64], dtype: Dtype) -> crate::error::Result<Tensor> {
    let Some((rows, inner)) = shape.split_first() else {
        let number = flat.first().cloned().unwrap_or_default();
        return crate::t!("scalar_tensor", number; dtype = dtype, device = crate::tensor::Device::CPU, pin_memory = false);
    };
    let size = flat.len() / *rows as usize;
    let rows = flat.chunks(size.max(1)).map(|row| of_symbols(row, inner, dtype).map(Value::Tensor));
    crate::t!("stack", rows.collect::<crate::error::Result<Vec<_>>>()?)
}

/// What the constructors of older code make: `torch.FloatTensor(data)`, and, which is of no dtype (`is_base`), `torch.Tensor(2, 3)`.
pub fn legacy_tensor(dtype: Dtype, is_base: bool, args: &FuncArgs, vm: &VirtualMachine) -> PyResult<Tensor> {
    let empty = |sizes: Vec<i64>| crate::t!("empty.memory_format", sizes; dtype = dtype).map_err(|e| raise(e, vm));
    if super::errors::unexpected(args, &["data", "device", "other", "size"]).is_some() {
        let positional = args.args.iter().map(|o| o.class().name().to_string());
        let named = args.kwargs.iter().map(|(name, o)| format!("{name}={}", o.class().name()));
        let said = positional.chain(named).collect::<Vec<_>>().join(", ");
        return Err(vm.new_type_error(format!("new() received an invalid combination of arguments - got ({said})")));
    }
    if let Some(size) = args.kwargs.get("size") {
        return empty(sizes(&items(size).unwrap_or_default(), vm)?);
    }
    let Some(first) = args.args.first() else { return empty(vec![0]) };
    if let Some(t) = numpy_tensor(first, vm)?.filter(|t| t.dim() > 0) {
        return tensor_from(&*wrap(&t, vm)?, Some(dtype), vm);
    }
    if let Some(t) = to_tensor(first) {
        if t.dtype() != dtype && !is_base {
            let options = |dtype: Dtype| {
                let name = dtype.scalar_type().to_lowercase();
                let name = if name == "long" { "long int".to_owned() } else { name };
                format!(
                    "TensorOptions(dtype={name}, device=cpu, layout=Strided, requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))"
                )
            };
            return Err(vm.new_type_error(format!("expected {} (got {})", options(dtype), options(t.dtype()))));
        }
        return crate::t!("alias", t).map_err(|e| raise(e, vm));
    }
    if first.class().name().to_string() == "Size" {
        return empty(sizes(&items(first).unwrap_or_default(), vm)?);
    }
    if sequence(first, vm)?.is_some() {
        let t = tensor_from(first, Some(dtype), vm)?;
        // A constant of what is captured, if it is.
        let is_constant = crate::dynamo::tracing::is_called() && !t.is_fake();
        return if is_constant { crate::t!("lift_fresh", t).map_err(|e| raise(e, vm)) } else { Ok(t) };
    }
    match to_value(first, vm) {
        Some(Value::Str(_)) => Err(vm.new_type_error("new(): invalid data type 'str'")),
        Some(Value::Int(_)) => empty(sizes(&args.args, vm)?),
        _ => Err(vm.new_type_error(format!("new(): data must be a sequence (got {})", first.class().name()))),
    }
}

/// Sizes as they are given to the constructors of older code.
fn sizes(given: &[PyObjectRef], vm: &VirtualMachine) -> PyResult<Vec<i64>> {
    let size = |(at, object): (usize, &PyObjectRef)| match to_value(object, vm) {
        Some(value @ Value::Int(_)) => value.int().map_err(|e| raise(e, vm)),
        Some(Value::Bool(value)) => Ok(i64::from(value)),
        _ => {
            let what = format!("type must be tuple of ints,but got {}", object.class().name());
            Err(vm.new_type_error(format!("new(): argument 'size' failed to unpack the object at pos {} with error \"{what}\"", at + 1)))
        }
    };
    given.iter().enumerate().map(size).collect()
}

fn flat_numbers(values: &[Value]) -> Vec<crate::tensor::Number> {
    values
        .iter()
        .map(|v| match v {
            Value::Bool(b) => Number::Bool(*b),
            Value::Int(i) => Number::Int(i.as_int().unwrap_or_default()),
            Value::Float(f) => Number::Float(*f),
            Value::Complex(re, im) => Number::Complex(*re, *im),
            _ => Number::Int(0),
        })
        .collect()
}

/// Refuses what `torch.tensor` does not take.
fn check_arguments(args: &FuncArgs, vm: &VirtualMachine) -> PyResult<()> {
    super::errors::check_taken("tensor", args, 1, &["data", "dtype", "device", "pin_memory", "requires_grad"], vm)?;
    let is_of = |name: &str, expected: &str, fits: &dyn Fn(&PyObjectRef) -> bool| match args.kwargs.get(name).filter(|o| !fits(o)) {
        Some(o) => Err(vm.new_type_error(format!("tensor(): argument '{name}' must be {expected}, not {}", o.class().name()))),
        None => Ok(()),
    };
    is_of("requires_grad", "bool", &|o| o.class().is(vm.ctx.types.bool_type))?;
    is_of("pin_memory", "bool", &|o| vm.is_none(o) || o.class().is(vm.ctx.types.bool_type))?;
    let is_device = |o: &PyObjectRef| matches!(to_value(o, vm), Some(Value::Device(_) | Value::Str(_) | Value::Int(_)));
    is_of("device", "torch.device", &|o| vm.is_none(o) || is_device(o))
}

/// What `torch.tensor` makes of its arguments.
pub fn new_tensor(args: &FuncArgs, vm: &VirtualMachine) -> PyResult {
    check_arguments(args, vm)?;
    let data = args
        .args
        .first()
        .or_else(|| args.kwargs.get("data"))
        .ok_or_else(|| vm.new_type_error("tensor() missing 1 required positional arguments: \"data\""))?;
    let dtype = args.kwargs.get("dtype").filter(|o| !vm.is_none(o)).map(|o| match to_value(o, vm) {
        Some(Value::Dtype(d)) => Ok(d),
        _ => PyDtype::of_python_type(o, vm)
            .ok_or_else(|| vm.new_type_error(format!("tensor(): argument 'dtype' must be torch.dtype, not {}", o.class().name()))),
    });
    if to_tensor(data).is_some() && crate::dynamo::tracing::recorder().is_none() {
        vm.import("torch._utils", 0)?;
        let module = vm.import("torch", 0)?.get_attr("_utils", vm)?;
        vm.call_method(&module, "_warn_of_copy", ())?;
    }
    let dtype = dtype.transpose()?;
    let is_traced = || crate::dynamo::settings::switch("trace_numpy") && items(data).is_none();
    if crate::dynamo::tracing::recorder().is_some() && super::convert::holds_numpy(data, vm) && !is_traced() {
        let reason = || crate::dynamo::Unsupported::numpy("call `torch.from_numpy` with `torch._dynamo.config.trace_numpy=False`");
        if let Some(made) = crate::dynamo::tracing::outside(reason, args, &mut |_| new_tensor(args, vm), vm)? {
            return Ok(made);
        }
    }
    let t = tensor_from(data, dtype, vm)?;
    let device = match args.kwargs.get("device").and_then(|o| to_value(o, vm)) {
        Some(Value::Str(text)) => Some(super::objects::parse_device(&text).map_err(|e| raise(e, vm))?),
        other => other.and_then(|v| v.device().ok().flatten()),
    };
    let device = device.unwrap_or_else(crate::dispatch::default_device);
    let t = if device.kind == crate::tensor::DeviceType::Meta {
        let spec =
            crate::tensor::TensorSpec { device: crate::tensor::Device { kind: crate::tensor::DeviceType::Meta, index: None }, ..t.spec() };
        Tensor::fake(&spec).map_err(|e| raise(e, vm))?
    } else {
        t
    };
    // One that was computed is no constant.
    let t = if t.is_fake() { t } else { crate::t!("lift_fresh", t).map_err(|e| raise(e, vm))? };
    let is_pinned = args.kwargs.get("pin_memory").is_some_and(|o| o.is(&vm.ctx.true_value));
    if !t.is_fake() {
        let gpu = crate::tensor::Device { kind: crate::tensor::DeviceType::Cuda, index: None };
        crate::dispatch::require_device(if is_pinned { gpu } else { device }).map_err(|e| raise(e, vm))?;
    }
    let is_elsewhere = device.kind == crate::tensor::DeviceType::Cuda && t.device().kind == crate::tensor::DeviceType::Cpu;
    let t = if is_elsewhere { crate::t!("_to_copy", t; device = device).map_err(|e| raise(e, vm))? } else { t };
    if args.kwargs.get("requires_grad").is_some_and(|o| o.is(&vm.ctx.true_value)) {
        packet::made_to_require_grad(&t).map_err(|e| raise(e, vm))?;
    }
    wrap(&t, vm)
}
