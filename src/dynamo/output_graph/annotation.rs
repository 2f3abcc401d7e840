//! What the script annotates its calls with while they are recorded.

use crate::graph::Annotation;
use std::cell::RefCell;
use std::rc::Rc;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Annotation>>> = const { RefCell::new(None) };
}

/// The annotation of the calls that are recorded now.
pub(in crate::dynamo) fn annotation() -> Option<Rc<Annotation>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Annotates what is recorded from now on.
pub fn set_annotation(annotation: Option<Annotation>) {
    CURRENT.set(annotation.map(Rc::new));
}
