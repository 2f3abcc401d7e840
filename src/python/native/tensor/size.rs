//! `torch.Size`, of which the class is written in Python.

use std::cell::RefCell;

use rustpython_vm::builtins::{PyTuple, PyTypeRef};
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::errors::raise;
use super::symint::{operand, symbolic};
use crate::dynamo::tracing::{compared, is_called_by_script};
use crate::shape::SymInt;

thread_local! {
    static CLASS: RefCell<Option<PyTypeRef>> = const { RefCell::new(None) };
}

/// Says what the class of sizes is.
pub fn set_size_class(class: PyTypeRef) {
    CLASS.set(Some(class));
}

/// Lets go of the class that `torch` gave sizes.
pub fn forget() {
    CLASS.take();
}

/// A `torch.Size`.
pub fn size_object(sizes: Vec<PyObjectRef>, vm: &VirtualMachine) -> PyResult {
    let tuple = vm.ctx.new_tuple(sizes);
    match CLASS.with_borrow(Clone::clone) {
        Some(class) => class.as_object().call((tuple,), vm),
        None => Ok(tuple.into()),
    }
}

/// Whether two shapes that a compiled function compares are equal, asked at once; `None` where Python compares them element by element:
/// what is no shape, numbers alone, and sizes that only the run knows.
pub fn all_equal(a: &PyObject, b: &PyObject, vm: &VirtualMachine) -> PyResult<Option<bool>> {
    let (Some(a), Some(b)) = (a.downcast_ref::<PyTuple>(), b.downcast_ref::<PyTuple>()) else { return Ok(None) };
    // What runs is the method of `torch.Size`.
    if !is_called_by_script(1) || !a.iter().chain(b.iter()).any(|item| symbolic(item, vm).is_some()) {
        return Ok(None);
    }
    if a.len() != b.len() {
        return Ok(Some(false));
    }
    let pairs: Option<Vec<(SymInt, SymInt)>> = a.iter().zip(b.iter()).map(|(a, b)| Some((operand(a, vm)?, operand(b, vm)?))).collect();
    let Some(pairs) = pairs.filter(|pairs| pairs.iter().all(|(a, b)| a.hint().is_some() && b.hint().is_some())) else { return Ok(None) };
    pairs.iter().try_for_each(|(a, b)| compared(&[a, b])).map_err(|e| raise(e, vm))?;
    SymInt::all_equal(&pairs).map(Some).map_err(|e| raise(e, vm))
}
