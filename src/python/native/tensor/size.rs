//! `torch.Size`, of which the class is written in Python.

use std::cell::RefCell;

use rustpython_vm::builtins::PyTypeRef;
use rustpython_vm::{AsObject, PyObjectRef, PyResult, VirtualMachine};

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
