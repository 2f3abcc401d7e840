//! What records the compiled function that is being called.

use crate::dispatch::{Key, Value, is_excluded};
use crate::dynamo::{Recorder, Unsupported};
use crate::error::Result;
use std::cell::RefCell;
use std::rc::Rc;

thread_local! {
    pub(super) static RECORDER: RefCell<Option<Rc<Recorder>>> = const { RefCell::new(None) };
}

/// Whether a compiled function is being called.
pub fn is_called() -> bool {
    RECORDER.with_borrow(Option::is_some)
}

/// Whether the compiled function that is being called has a graph under way.
pub fn is_recording() -> bool {
    RECORDER.with_borrow(|r| r.as_ref().is_some_and(|r| !r.is_over() && !r.is_empty()))
}

/// Whether what is called now is recorded, or was until capture was suspended.
pub fn capturing() -> bool {
    let Some(recorder) = RECORDER.with_borrow(Clone::clone) else { return false };
    let _ = recorder.look_around();
    !recorder.is_over()
}

/// The recorder of the compiled function being recorded, where capture is not suspended.
pub fn recorder() -> Option<Rc<Recorder>> {
    let recorder = RECORDER.with_borrow(Clone::clone).filter(|_| !is_excluded(Key::Capture))?;
    // A function whose graph cannot end is found out by the next call.
    let _ = recorder.look_around();
    Some(recorder).filter(|r| !r.is_over())
}

/// Breaks the graph that is captured, if there is one and it is not suspended: values are needed.
pub fn break_graph(reason: &Unsupported) -> Result<()> {
    match RECORDER.with_borrow(Clone::clone) {
        Some(recorder) => recorder.break_graph(reason),
        None => Ok(()),
    }
}

/// The same, at a call that reads tensors and numbers.
pub fn break_graph_at(reason: &Unsupported, read: Vec<Value>) -> Result<()> {
    match RECORDER.with_borrow(Clone::clone) {
        Some(recorder) => recorder.break_graph_at(reason, read),
        None => Ok(()),
    }
}
