//! Parameters that a script discarded by freezing, and what stands for them in its modules.

use std::cell::RefCell;
use std::collections::HashMap;

use rustpython_vm::PyObjectRef;

use crate::tensor::Tensor;

thread_local! {
    /// What stands for a tensor, by the tensor's number.
    static ERASED: RefCell<HashMap<u64, PyObjectRef>> = RefCell::default();
}

/// Forgets what was discarded.
pub fn reset() {
    ERASED.take();
}

/// An object stands for a tensor from now on.
pub fn note(t: &Tensor, erased: PyObjectRef) {
    ERASED.with_borrow_mut(|known| known.insert(t.id(), erased));
}

/// What stands for a tensor that was discarded.
pub fn erased(t: &Tensor) -> Option<PyObjectRef> {
    ERASED.with_borrow(|known| known.get(&t.id()).cloned())
}
