//! Between Python objects and [`Value`]s.

use std::rc::Rc;

use num_traits::ToPrimitive;
use rustpython_vm::builtins::{PyComplex, PyFloat, PyInt, PyList, PyStr, PyTuple};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyPayload, PyResult, VirtualMachine};

use super::objects::{PyDevice, PyDtype, PyGenerator, PyLayout, PyMemoryFormat};
use super::payload::{TensorBase, wrap};
use crate::dispatch::Value;
use crate::shape::{SymCondition, SymInt};
use crate::tensor::Tensor;

/// The tensor of a Python object, where it is one.
pub fn to_tensor(object: &PyObject) -> Option<Tensor> {
    object.downcast_ref::<TensorBase>().map(|t| t.tensor().clone())
}

/// A Python integer that fits 64 bits.
pub fn to_int(object: &PyObject) -> Option<i64> {
    object.downcast_ref::<PyInt>().and_then(|i| i.as_bigint().to_i64())
}

/// Lists that an operator takes are not nested deeper. One that holds itself is.
const DEEPEST_LIST: usize = 8;

/// The value of any Python object that an operator could take; `None` for others.
pub fn to_value(object: &PyObject, vm: &VirtualMachine) -> Option<Value> {
    value_in(object, 0, vm)
}

/// The same for an object in so many lists.
fn value_in(object: &PyObject, depth: usize, vm: &VirtualMachine) -> Option<Value> {
    if vm.is_none(object) {
        return Some(Value::None);
    }
    if let Some(t) = to_tensor(object) {
        return Some(Value::Tensor(t));
    }
    if object.class().is(vm.ctx.types.bool_type) {
        return Some(Value::Bool(object.is(&vm.ctx.true_value)));
    }
    if let Some(size) = super::symint::size(object, vm) {
        return Some(Value::Int(size));
    }
    if let Some(i) = object.downcast_ref::<PyInt>() {
        return Some(
            i.as_bigint()
                .to_i64()
                .map_or_else(|| Value::Float(i.as_bigint().to_f64().unwrap_or(f64::INFINITY)), |v| Value::Int(SymInt::Int(v))),
        );
    }
    if let Some(f) = super::symint::symbolic_float(object, vm) {
        return Some(Value::SymFloat(f));
    }
    if let Some(f) = super::symint::float_hint(object, vm) {
        return Some(Value::Float(f));
    }
    if let Some(f) = object.downcast_ref::<PyFloat>() {
        return Some(Value::Float(f.to_f64()));
    }
    if let Some(c) = object.downcast_ref::<PyComplex>() {
        let c = c.to_complex64();
        return Some(Value::Complex(c.re, c.im));
    }
    if let Some(s) = object.downcast_ref::<PyStr>() {
        return Some(Value::Str(s.to_string_lossy().as_ref().into()));
    }
    if let Some(items) = items(object) {
        let items = (depth < DEEPEST_LIST).then_some(items)?;
        return items.iter().map(|o| value_in(o, depth + 1, vm)).collect::<Option<Vec<_>>>().map(Value::List);
    }
    if let Some(d) = object.downcast_ref::<PyDtype>() {
        return Some(Value::Dtype(d.0));
    }
    if let Some(d) = object.downcast_ref::<PyDevice>() {
        return Some(Value::Device(d.0));
    }
    if let Some(m) = object.downcast_ref::<PyMemoryFormat>() {
        return Some(Value::MemoryFormat(m.0));
    }
    if let Some(l) = object.downcast_ref::<PyLayout>() {
        return Some(Value::Layout(l.0));
    }
    if let Some(condition) = super::symint::condition(object, vm) {
        return Some(Value::Opaque(Rc::new(condition)));
    }
    if let Some(number) = numpy_number(object, vm) {
        return value_in(&number, depth + 1, vm);
    }
    object.downcast_ref::<PyGenerator>().map(|g| Value::Opaque(g.0.clone()))
}

/// The number of one of numpy's scalars (`src/python/stdlib/numpy/_scalars.py`).
pub fn numpy_number(object: &PyObject, vm: &VirtualMachine) -> Option<PyObjectRef> {
    let is_scalar =
        object.class().has_attr(vm.ctx.intern_str("__torch_array__")) && object.class().has_attr(vm.ctx.intern_str("__trunc__"));
    if is_scalar { object.get_attr("_value", vm).ok() } else { None }
}

/// Arguments of a call that is captured with tensors for numpy's arrays and scalars, which are inputs of the graph. None where there are
/// none.
pub fn with_numpy_inputs(args: &FuncArgs, vm: &VirtualMachine) -> Option<FuncArgs> {
    fn one(object: &PyObject, depth: usize, vm: &VirtualMachine) -> Option<PyObjectRef> {
        if let Some(input) = numpy_input(object, vm) {
            return wrap(&input, vm).ok();
        }
        let held = items(object).filter(|_| depth < DEEPEST_LIST)?;
        let found: Vec<Option<PyObjectRef>> = held.iter().map(|item| one(item, depth + 1, vm)).collect();
        if found.iter().all(Option::is_none) {
            return None;
        }
        let new = found.into_iter().zip(held).map(|(found, item)| found.unwrap_or(item)).collect();
        Some(if object.downcast_ref::<PyList>().is_some() { vm.ctx.new_list(new).into() } else { vm.ctx.new_tuple(new).into() })
    }
    crate::dynamo::tracing::recorder()?;
    let mut given: Option<FuncArgs> = None;
    for (i, object) in args.args.iter().enumerate() {
        if let Some(input) = one(object, 0, vm) {
            given.get_or_insert_with(|| args.clone()).args[i] = input;
        }
    }
    for (name, object) in &args.kwargs {
        if let Some(input) = one(object, 0, vm) {
            given.get_or_insert_with(|| args.clone()).kwargs.insert(name.clone(), input);
        }
    }
    given
}

/// The tensor that a captured graph has one of numpy's arrays or scalars as.
pub fn numpy_input(object: &PyObject, vm: &VirtualMachine) -> Option<Tensor> {
    let is_one = object.class().has_attr(vm.ctx.intern_str("__torch_input__"));
    to_tensor(&*is_one.then(|| vm.call_method(object, "__torch_input__", ()).ok()).flatten()?)
}

/// The object of the tensor that one of numpy's arrays is held in.
pub fn array_memory(object: &PyObject) -> Option<PyObjectRef> {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let class = object.class();
        let is_array = class.has_attr(vm.ctx.intern_str("__torch_array__")) && !class.has_attr(vm.ctx.intern_str("__trunc__"));
        if is_array { object.get_attr("_p", vm).ok() } else { None }
    })
}

/// The tensor that one of numpy's arrays or scalars is held in (`src/python/stdlib/numpy/_array.py`).
pub fn numpy_tensor(object: &PyObject, vm: &VirtualMachine) -> PyResult<Option<Tensor>> {
    // Lists of numbers are long.
    if object.class().is(vm.ctx.types.float_type)
        || object.class().is(vm.ctx.types.int_type)
        || !object.class().has_attr(vm.ctx.intern_str("__torch_array__"))
    {
        return Ok(None);
    }
    let tensor = vm.call_method(object, "__torch_array__", ())?;
    Ok(to_tensor(&tensor))
}

/// Whether an object is one of numpy's arrays or scalars, or a list with some.
pub fn holds_numpy(object: &PyObject, vm: &VirtualMachine) -> bool {
    let is_one = |o: &PyObject| o.class().has_attr(vm.ctx.intern_str("__torch_array__"));
    let (mut left, mut depth) = (vec![object.to_owned()], 0);
    while depth <= DEEPEST_LIST && !left.is_empty() {
        if left.iter().any(|o| is_one(o)) {
            return true;
        }
        left = left.iter().filter_map(|o| items(o)).flatten().collect();
        depth += 1;
    }
    false
}

/// The items of a list or tuple.
pub fn items(object: &PyObject) -> Option<Vec<PyObjectRef>> {
    if let Some(l) = object.downcast_ref::<PyList>() {
        return Some(l.borrow_vec().to_vec());
    }
    object.downcast_ref::<PyTuple>().map(|t| t.as_slice().to_vec())
}

/// A size as Python sees it.
pub fn from_size(size: &SymInt, vm: &VirtualMachine) -> PyResult {
    super::symint::object(size, vm)
}

/// The Python object of a value.
pub fn from_value(value: Value, vm: &VirtualMachine) -> PyResult {
    Ok(match value {
        Value::None => vm.ctx.none(),
        Value::Bool(b) => vm.ctx.new_bool(b).into(),
        Value::Int(i) => from_size(&i, vm)?,
        Value::Float(f) => vm.ctx.new_float(f).into(),
        Value::SymFloat(f) => super::symint::float_object(&f, vm)?,
        Value::Complex(re, im) => vm.ctx.new_complex(num_complex::Complex64::new(re, im)).into(),
        Value::Str(s) => vm.ctx.new_str(&*s).into(),
        Value::Tensor(t) => wrap(&t, vm)?,
        Value::List(items) => {
            let items = items.into_iter().map(|v| from_value(v, vm)).collect::<PyResult<Vec<_>>>()?;
            vm.ctx.new_tuple(items).into()
        }
        Value::Dtype(d) => PyDtype::object(d, vm)?,
        Value::Device(d) => PyDevice(d).into_pyobject(vm),
        Value::Layout(l) => PyLayout(l).into_pyobject(vm),
        Value::MemoryFormat(m) => PyMemoryFormat(m).into_pyobject(vm),
        Value::Opaque(any) => match (any.downcast_ref::<SymCondition>(), any.clone().downcast::<crate::tensor::random::Generator>()) {
            (Some(condition), _) => super::symint::condition_object(condition.clone(), vm)?,
            (None, Ok(generator)) => PyGenerator(generator).into_pyobject(vm),
            (None, Err(_)) => vm.ctx.none(),
        },
    })
}
