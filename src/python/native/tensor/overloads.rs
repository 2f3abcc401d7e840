//! Overloads of operators as Python holds them.

use std::cell::RefCell;
use std::collections::HashMap;

use rustpython_vm::function::FuncArgs;
use rustpython_vm::{PyObject, PyObjectRef, PyPayload, PyResult, VirtualMachine};

use super::bind::bind;
use super::errors::raise;
use super::packet::PyOverload;
use crate::dispatch::{OpEntry, Value};

/// The entry of an overload that Python holds.
pub fn overload_entry(object: &PyObject) -> Option<&'static OpEntry> {
    object.downcast_ref::<PyOverload>().map(|overload| overload.0)
}

/// All arguments of a call of an overload.
pub fn bound(entry: &'static OpEntry, args: &FuncArgs, vm: &VirtualMachine) -> PyResult<Vec<Value>> {
    bind(entry.name, &[entry], args, false, vm).map(|bound| bound.args).map_err(|e| raise(e, vm))
}

/// An overload as a Python object.
pub fn overload(entry: &'static OpEntry, vm: &VirtualMachine) -> PyObjectRef {
    thread_local! {
        static KNOWN: RefCell<HashMap<usize, PyObjectRef>> = RefCell::default();
    }
    // One object each: scripts compare targets by identity.
    KNOWN.with_borrow_mut(|known| known.entry(entry.id).or_insert_with(|| PyOverload(entry).into_pyobject(vm)).clone())
}
