//! `t[index]`, `t[index] = value` and `len(t)`: Python's index objects become the items that indexing is decomposed by.

use rustpython_vm::builtins::PySlice;
use rustpython_vm::function::FuncArgs;
use rustpython_vm::protocol::PyMappingMethods;
use rustpython_vm::types::AsMapping;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::convert::{items, to_int, to_value};
use super::errors::raise;
use super::payload::TensorBase;
use super::torch_function::overridden_method;
use crate::dispatch::{Exclude, Key, Value};
use crate::dynamo::tracing::{Callee, as_written};
use crate::ops::indexing::{IndexItem, getitem, setitem};
use crate::shape::SymInt;
use crate::span::Written;
use crate::tensor::{Dtype, Tensor};

/// A list whose symbolic numbers are the numbers that they are.
fn numbers_of(o: &PyObject, vm: &VirtualMachine) -> PyResult {
    match (super::symint::symbolic(o, vm), items(o)) {
        (Some(size), _) => Ok(vm.ctx.new_int(size.guard_int().map_err(|e| raise(e, vm))?).into()),
        (None, Some(parts)) => {
            let parts = parts.iter().map(|part| numbers_of(part, vm)).collect::<PyResult<Vec<_>>>()?;
            Ok(vm.ctx.new_list(parts).into())
        }
        _ => Ok(o.to_owned()),
    }
}

fn index_item(o: &PyObject, vm: &VirtualMachine) -> PyResult<IndexItem> {
    if let Some(s) = o.downcast_ref::<PySlice>() {
        let part = |p: &PyObject| -> PyResult<Option<SymInt>> {
            if vm.is_none(p) {
                return Ok(None);
            }
            if let Some(size) = super::symint::symbolic(p, vm) {
                return Ok(Some(size));
            }
            if let Some(t) = super::convert::to_tensor(p).filter(|t| t.dtype().is_integral() && t.dtype() != Dtype::Bool) {
                let _written = Written::Method("item").enter();
                return super::reading::item(&t, vm)?.sym_int().map(Some).map_err(|e| raise(e, vm));
            }
            let index = p.try_index(vm)?;
            Ok(to_int(index.as_object()).map(SymInt::Int))
        };
        let or_none = |p: &Option<PyObjectRef>| p.as_ref().map_or(Ok(None), |p| part(p));
        return Ok(IndexItem::Slice(or_none(&s.start)?, part(&s.stop)?, or_none(&s.step)?));
    }
    if o.is(&vm.ctx.ellipsis) {
        return Ok(IndexItem::Ellipsis);
    }
    let range = o.downcast_ref::<rustpython_vm::builtins::PyRange>().map(|_| vm.ctx.types.list_type.to_owned());
    if let Some(list) = range {
        let numbers = list.as_object().call((o.to_owned(),), vm)?;
        return index_item(&numbers, vm);
    }
    if items(o).is_some() {
        // A list inside an index is a tensor of positions, or a mask.
        // Only what is recorded or traced has symbols.
        let has_symbols = crate::dynamo::tracing::is_called() || crate::aot::trace::current_tracer().is_some();
        let numbers = if has_symbols { numbers_of(o, vm)? } else { o.to_owned() };
        let t = super::from_python::tensor_from(&numbers, None, vm)?;
        let dtype = if t.dtype() == Dtype::Bool { Dtype::Bool } else { Dtype::Int64 };
        let t = if t.dtype() == dtype { t } else { crate::t!("_to_copy", t; dtype = dtype).map_err(|e| raise(e, vm))? };
        return Ok(if crate::dynamo::tracing::is_called() { IndexItem::Constant(t) } else { IndexItem::Tensor(t) });
    }
    if let Some(t) = super::convert::numpy_tensor(o, vm)?.filter(|t| t.dim() > 0) {
        return Ok(IndexItem::Tensor(t));
    }
    match to_value(o, vm) {
        Some(Value::None) => Ok(IndexItem::NewAxis),
        Some(Value::Bool(b)) => Ok(IndexItem::Bool(b)),
        Some(Value::Int(i)) => Ok(IndexItem::Int(i)),
        Some(condition) if condition.condition().is_some() => Ok(IndexItem::Bool(o.to_owned().try_to_bool(vm)?)),
        Some(Value::Tensor(t)) if t.dim() == 0 && t.dtype() != Dtype::Bool && crate::dynamo::tracing::indexes_by_position() => {
            Ok(IndexItem::Position(t))
        }
        Some(Value::Tensor(t)) => Ok(match known_number(&t) {
            Some(Value::Int(i)) => IndexItem::Int(i),
            Some(Value::Bool(b)) => IndexItem::Bool(b),
            _ => IndexItem::Tensor(t),
        }),
        // A string is a sequence, of which PyTorch would make a tensor.
        Some(Value::Str(_)) => Err(vm.new_type_error("new(): invalid data type 'str'")),
        _ => {
            let index = o.try_index(vm).map_err(|_| {
                vm.new_index_error(format!(
                    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})",
                    o.class().name()
                ))
            })?;
            Ok(IndexItem::Int(SymInt::Int(to_int(index.as_object()).unwrap_or(i64::MAX))))
        }
    }
}

/// The number of an index that a script wrote down, where a graph is captured.
fn known_number(t: &Tensor) -> Option<Value> {
    crate::dynamo::tracing::recorder().filter(|_| t.dim() == 0)?.constant_number(t)
}

fn index_items(o: &PyObject, vm: &VirtualMachine) -> PyResult<Vec<IndexItem>> {
    if let Some(t) = o.downcast_ref::<rustpython_vm::builtins::PyTuple>() {
        // Among several indices PyTorch takes integers as numbers, also those that are symbols.
        let number = |item: IndexItem| match item {
            IndexItem::Int(i) => i.guard_int().map(|i| IndexItem::Int(SymInt::Int(i))).map_err(|e| raise(e, vm)),
            other => Ok(other),
        };
        return t.as_slice().iter().map(|i| index_item(i, vm).and_then(number)).collect();
    }
    Ok(vec![index_item(o, vm)?])
}

/// Ends the graph that is captured before a subscript that it cannot hold: whether it did. Python makes the call then.
fn ends_graph(t: &Tensor, needle: &PyObject, value: Option<&PyObject>, vm: &VirtualMachine) -> PyResult<bool> {
    let Some(recorder) = crate::dynamo::tracing::recorder() else { return Ok(false) };
    if crate::dynamo::tracing::indexes_by_position() {
        return Ok(false);
    }
    read_bounds(&recorder, needle, vm)?;
    let indices: Vec<Tensor> = match needle.downcast_ref::<rustpython_vm::builtins::PyTuple>() {
        Some(parts) => parts.iter().filter_map(|part| super::convert::to_tensor(part)).collect(),
        None => super::convert::to_tensor(needle).into_iter().collect(),
    };
    let indices: Vec<Tensor> = indices.into_iter().filter(|index| known_number(index).is_none()).collect();
    let is_mask = |index: &Tensor| matches!(index.dtype(), Dtype::Bool | Dtype::UInt8);
    let is_number =
        |index: &&Tensor| index.dim() == 0 && index.dtype().is_integral() && !is_mask(index) && index.imp().transform.borrow().is_none();
    let is_among_others = items(needle).is_some_and(|all| all.len() > 1);
    let all = || std::iter::once(t.clone()).chain(indices.iter().cloned()).chain(value.and_then(super::convert::to_tensor));
    let numbers: Vec<&Tensor> = indices.iter().filter(is_number).collect();
    let leaves = recorder.leaves_at_numbers(&numbers).map_err(|e| raise(e, vm))?;
    let ended = match leaves {
        Some(reason) => {
            let read = all().map(Value::Tensor).collect();
            crate::dynamo::tracing::break_graph_at(&reason, read).map(|()| true)
        }
        None if value.is_none() && is_among_others && indices.iter().any(is_mask) => {
            recorder.break_before_mask(all().collect()).map(|()| true)
        }
        None => Ok(false),
    };
    ended.map_err(|e| raise(e, vm))
}

/// Bounds of slices that are tensors are numbers: what makes the slice reads them.
fn read_bounds(recorder: &crate::dynamo::Recorder, needle: &PyObject, vm: &VirtualMachine) -> PyResult<()> {
    let parts = items(needle).unwrap_or_else(|| vec![needle.to_owned()]);
    let bounds = parts.iter().filter_map(|part| part.downcast_ref::<PySlice>());
    let bounds = bounds.flat_map(|s| s.start.iter().chain([&s.stop]).chain(&s.step)).filter_map(|o| super::convert::to_tensor(o));
    let bounds: Vec<Value> = bounds.map(Value::Tensor).collect();
    if bounds.is_empty() || recorder.wants_scalars() {
        return Ok(());
    }
    let reason = crate::dynamo::Unsupported::item().before_instruction();
    crate::dynamo::tracing::break_graph_at(&reason, bounds).map_err(|e| raise(e, vm))
}

impl AsMapping for TensorBase {
    fn as_mapping() -> &'static PyMappingMethods {
        static METHODS: PyMappingMethods = PyMappingMethods {
            length: Some(|mapping, vm| {
                if let Some(length) = overridden_method("__len__", &[mapping.obj], vm)? {
                    return length.try_to_value(vm);
                }
                let t = TensorBase::mapping_downcast(mapping).tensor();
                if t.dim() == 0 {
                    return Err(vm.new_type_error("len() of a 0-d tensor"));
                }
                t.size(0).guard_int().map(|n| n as usize).map_err(|e| raise(e, vm))
            }),
            subscript: Some(|mapping, needle, vm| {
                if let Some(result) = overridden_method("__getitem__", &[mapping.obj, needle], vm)? {
                    return Ok(result);
                }
                let t = TensorBase::mapping_downcast(mapping).tensor();
                let args = FuncArgs::from(vec![mapping.obj.to_owned(), needle.to_owned()]);
                as_written(
                    || Callee::Operator("[]"),
                    &args,
                    vm,
                    || {
                        let _written = Written::Operator("[]").enter();
                        let is_outside = ends_graph(&t, needle, None, vm)?;
                        let outside = is_outside.then(|| Exclude::only(Key::Capture));
                        let result = getitem(&TensorBase::mapping_downcast(mapping).tensor(), &index_items(needle, vm)?);
                        drop(outside);
                        let result = super::payload::wrap(&result.map_err(|e| raise(e, vm))?, vm)?;
                        if is_outside {
                            crate::dynamo::tracing::note_returned(&result, vm);
                        }
                        Ok(result)
                    },
                )
            }),
            ass_subscript: Some(|mapping, needle, value, vm| {
                let t = TensorBase::mapping_downcast(mapping).tensor();
                let Some(value) = value else { return Err(vm.new_type_error("'Tensor' object does not support item deletion")) };
                if overridden_method("__setitem__", &[mapping.obj, needle, &value], vm)?.is_some() {
                    return Ok(());
                }
                let args = FuncArgs::from(vec![mapping.obj.to_owned(), needle.to_owned(), value.clone()]);
                if ends_graph(&t, needle, Some(&value), vm)? {
                    let _outside = Exclude::only(Key::Capture);
                    let value = super::packet::value(&value, vm)?;
                    return setitem(&TensorBase::mapping_downcast(mapping).tensor(), &index_items(needle, vm)?, &value)
                        .map_err(|e| raise(e, vm));
                }
                let value = super::packet::value(&value, vm)?;
                // While it is recorded, an input's sizes may be symbolic: first the one that is written becomes an input.
                let read = |t: &Tensor| crate::dynamo::tracing::touch(t, false).map_err(|e| raise(e, vm));
                let value = match &value {
                    Value::Tensor(source) => {
                        read(&t)?;
                        let parts = super::convert::items(needle).unwrap_or_else(|| vec![needle.to_owned()]);
                        parts.iter().filter_map(|part| super::convert::to_tensor(part)).try_for_each(|index| read(&index))?;
                        crate::dynamo::tracing::touch_numbers(needle, vm)?;
                        read(source)?;
                        crate::dynamo::tracing::fake_tensor(source).map_or(value, Value::Tensor)
                    }
                    _ => value,
                };
                let set = || {
                    let _written = Written::Operator("[]=").enter();
                    setitem(&t, &index_items(needle, vm)?, &value).map_err(|e| raise(e, vm))?;
                    Ok(vm.ctx.none())
                };
                as_written(|| Callee::Operator("[]="), &args, vm, set).map(|_| ())
            }),
        };
        &METHODS
    }
}
