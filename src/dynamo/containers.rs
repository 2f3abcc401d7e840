//! What tuples, lists and dictionaries hold. One may hold itself, or another many times, and they may be deeper than the stack.

use std::collections::HashSet;

use rustpython_vm::builtins::{PyDict, PyList, PyTuple};
use rustpython_vm::{AsObject, PyObject, PyObjectRef};

use crate::python::native::tensor::array_memory;

/// What a tuple, a list or a dictionary holds.
pub fn elements_of(o: &PyObject) -> Option<Vec<PyObjectRef>> {
    match (o.downcast_ref::<PyTuple>(), o.downcast_ref::<PyList>(), o.downcast_ref::<PyDict>()) {
        (Some(tuple), ..) => Some(tuple.as_slice().to_vec()),
        (_, Some(list), _) => Some(list.borrow_vec().to_vec()),
        (.., Some(dict)) => Some(dict.into_iter().map(|(_, v)| v).collect()),
        _ => None,
    }
}

/// Visits what is no container, in order, of one of numpy's arrays the tensor. What a container holds is visited once, however often it is
/// met.
pub fn for_each_leaf(o: &PyObject, mut visit: impl FnMut(&PyObject)) {
    let mut entered = HashSet::new();
    let mut ahead = vec![o.to_owned()];
    while let Some(o) = ahead.pop() {
        match elements_of(&o) {
            Some(elements) => ahead.extend(entered.insert(o.get_id()).then_some(elements.into_iter().rev()).into_iter().flatten()),
            None => match array_memory(&o) {
                Some(memory) => visit(&memory),
                None => visit(&o),
            },
        }
    }
}
