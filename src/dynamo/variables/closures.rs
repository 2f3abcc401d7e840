//! Closures of functions that are made while a graph is captured. Where such a function is called, Dynamo asks whether it is a constant,
//! and realizes what it closes over up to the first that is none: a tensor there is an input before those that the function's body reads.
//! In the body, such a variable is realized where it is loaded, its other variables where something is done with them.

use std::collections::HashSet;

use rustpython_vm::builtins::{PyCode, PyFloat, PyFunction, PyInt, PyList, PyStr, PyTuple};
use rustpython_vm::{AsObject, PyObject, PyObjectRef, VirtualMachine};

use crate::dynamo::bytecode_analysis::decoded::decoded;
use crate::dynamo::bytecode_analysis::instruction::{Operation, Step};
use crate::dynamo::source::cells;
use crate::python::native::tensor::to_tensor;
use crate::python::span::{Called, FrameMark, called_above};
use crate::tensor::Tensor;

/// How deep functions that close over functions are looked into.
const DEPTH: usize = 8;

/// What was realized: a call's frame and function, and the instruction, or none for the call itself.
pub type Known = HashSet<(usize, usize, Option<u32>)>;

/// The tensors that calls under way realized so, outermost first, but for those that are `known`.
pub fn realized(base: FrameMark, known: &mut Known, vm: &VirtualMachine) -> Vec<Tensor> {
    let called = called_above(base);
    let mut found = Vec::new();
    for (i, call) in called.iter().enumerate().skip(1) {
        let Some(function) = &call.function else { continue };
        if known.insert((call.id, function.get_id(), None)) {
            is_constant(function, &called[..i], DEPTH, &mut found, vm);
        }
        if !called[..i].iter().any(|c| c.makes(call.code.as_object())) {
            continue;
        }
        let cells = cells(function, vm);
        for (at, variable) in call.loaded() {
            let is_new = known.insert((call.id, function.get_id(), Some(at)));
            let value = cells.get(variable).filter(|_| is_new).and_then(|cell| cell.get_attr("cell_contents", vm).ok());
            found.extend(value.and_then(|v| to_tensor(&v)));
        }
    }
    found
}

/// Whether a value is a constant to Dynamo; the first tensor in it, which is none, is `found`.
fn is_constant(value: &PyObject, around: &[Called], depth: usize, found: &mut Vec<Tensor>, vm: &VirtualMachine) -> bool {
    if let Some(t) = to_tensor(value) {
        found.push(t);
        return false;
    }
    let mut all = |items: &[PyObjectRef]| depth > 0 && items.iter().all(|item| is_constant(item, around, depth - 1, found, vm));
    if let Some(function) = value.downcast_ref::<PyFunction>() {
        let cells = cells(function.as_object(), vm);
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
    /// The variables of its closure that were loaded since it came to the instructions that it is among, with the places of the loads.
    fn loaded(&self) -> Vec<(u32, usize)> {
        let decoded = decoded(&self.code);
        let Some(here) = decoded.position(self.at) else { return Vec::new() };
        let begins = |i: &usize| *i == 0 || decoded.steps[i - 1].target.is_some() || decoded.jumps_to(decoded.steps[*i].at);
        let from = (0..=here).rev().find(begins).unwrap_or(here);
        let first_free = self.code.localspluskinds.len() - self.code.freevars.len();
        let loaded = |s: &Step| match s.op {
            Operation::LoadDeref(slot) => Some((s.at, (slot as usize).checked_sub(first_free)?)),
            _ => None,
        };
        decoded.steps[from..here].iter().filter_map(loaded).collect()
    }

    /// Whether a function of that code is made in its body.
    fn makes(&self, code: &PyObject) -> bool {
        self.code.constants.iter().any(|constant| {
            let constant: PyObjectRef = constant.clone().into();
            constant.downcast_ref::<PyCode>().is_some() && constant.is(code)
        })
    }
}
