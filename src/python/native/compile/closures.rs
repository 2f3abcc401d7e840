//! What functions close over that were made while something is recorded. Where such a function is called, PyTorch's front end asks
//! whether it is a constant, and looks at what it closes over up to the first that is none: a tensor there is an input before those
//! that the function's body reads.

use std::collections::HashSet;

use rustpython_vm::builtins::{PyCode, PyFloat, PyFunction, PyInt, PyList, PyStr, PyTuple};
use rustpython_vm::{AsObject, PyObject, PyObjectRef, VirtualMachine};

use crate::python::native::tensor::to_tensor;
use crate::python::span::{Called, FrameMark, called_above};
use crate::tensor::Tensor;

/// How deep functions that close over functions are looked into.
const DEPTH: usize = 8;

/// The tensors that calls under way looked at so, outermost first, but for those of calls that are `known`.
pub fn looked_at(base: FrameMark, known: &mut HashSet<(usize, usize)>, vm: &VirtualMachine) -> Vec<Tensor> {
    let called = called_above(base);
    let mut found = Vec::new();
    for (i, Called { id, function, .. }) in called.iter().enumerate().skip(1) {
        let Some(function) = function.as_ref().filter(|f| known.insert((*id, f.get_id()))) else { continue };
        is_constant(function, &called[..i], DEPTH, &mut found, vm);
    }
    found
}

/// Whether a value is a constant to the front end; the first tensor in it, which is none, is `found`.
fn is_constant(value: &PyObject, around: &[Called], depth: usize, found: &mut Vec<Tensor>, vm: &VirtualMachine) -> bool {
    if let Some(t) = to_tensor(value) {
        found.push(t);
        return false;
    }
    let mut all = |items: &[PyObjectRef]| depth > 0 && items.iter().all(|item| is_constant(item, around, depth - 1, found, vm));
    if let Some(function) = value.downcast_ref::<PyFunction>() {
        let cells = function.as_object().get_attr("__closure__", vm).ok();
        let cells = cells.as_ref().and_then(|c| c.downcast_ref::<PyTuple>()).map(|c| c.as_slice()).unwrap_or_default();
        // One that was there before is what it is.
        let is_new = function.as_object().get_attr("__code__", vm).is_ok_and(|code| around.iter().any(|c| c.makes(&code)));
        let held: Vec<_> = cells.iter().filter_map(|cell| cell.get_attr("cell_contents", vm).ok()).collect();
        return match is_new {
            true => all(&held),
            // What PyTorch's functions close over besides functions are settings.
            false => all(&held.into_iter().filter(|held| held.downcast_ref::<PyFunction>().is_some()).collect::<Vec<_>>()),
        };
    }
    if let Some(items) = value.downcast_ref::<PyTuple>() {
        return all(items.as_slice());
    }
    if let Some(items) = value.downcast_ref::<PyList>() {
        let items = items.borrow_vec().to_vec();
        return all(&items);
    }
    let is_plain = value.downcast_ref::<PyInt>().is_some() || value.downcast_ref::<PyFloat>().is_some();
    is_plain || value.downcast_ref::<PyStr>().is_some() || vm.is_none(value)
}

impl Called {
    /// Whether a function of that code is made in its body.
    fn makes(&self, code: &PyObject) -> bool {
        self.code.constants.iter().any(|constant| {
            let constant: PyObjectRef = constant.clone().into();
            constant.downcast_ref::<PyCode>().is_some() && constant.is(code)
        })
    }
}
