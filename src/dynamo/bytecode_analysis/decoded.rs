//! Code objects as they were decoded once, and what is asked of an instruction by its place.

use super::Code;
use rustpython_vm::builtins::PyCode;
use rustpython_vm::{Py, PyObjectRef};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

thread_local! {
    static DECODED: RefCell<HashMap<usize, (PyObjectRef, Rc<Code>)>> = RefCell::default();
}

/// Forgets decoded code.
pub fn reset() {
    DECODED.take();
}

/// The comprehension that an instruction of a code object stands in: where it begins and ends.
pub fn comprehension(code: &Py<PyCode>, at: u32) -> Option<(u32, u32)> {
    decoded(code).comprehension(at)
}

/// The decoded code of a code object.
pub fn decoded(code: &Py<PyCode>) -> Rc<Code> {
    let key = std::ptr::from_ref(code) as usize;
    if let Some(known) = DECODED.with_borrow(|d| d.get(&key).map(|(_, c)| c.clone())) {
        return known;
    }
    let made = Code::new(code);
    DECODED.with_borrow_mut(|d| d.insert(key, (code.to_owned().into(), made.clone())));
    made
}

/// Code and instruction of each frame, outermost first: what goes on from here is code of its own.
pub type Chain = Vec<(usize, u32)>;

/// The place of an instruction in the script or a file beside it; none in the library.
pub fn place_of(code: &Py<PyCode>, at: u32) -> Option<crate::span::Source> {
    let range = code.locations.get(at as usize)?;
    crate::python::span::place_in(code, *range)
}

/// Whether the comparison that the script evaluates is the condition of a `torch._check`, what a `torch.cond` chooses by, or
/// what is asked whether it is known.
pub fn is_checked() -> bool {
    const CHECKS: &[&str] = &[
        "cond",
        "_check",
        "_check_with",
        "_check_index",
        "_check_value",
        "_check_type",
        "_check_not_implemented",
        "guard_or_false",
        "guard_or_true",
        "guard_size_oblivious",
        "statically_known_true",
        "sym_and",
        "sym_or",
    ];
    let Some((code, at)) = crate::python::span::script_caller() else { return false };
    let decoded = decoded(&code);
    decoded.position(at).is_some_and(|position| decoded.is_argument_of(position, &code, CHECKS))
}
