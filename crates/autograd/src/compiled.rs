//! A backward that is recorded: compiled autograd runs the engine with its calls recorded as those of a compiled function are.
//!
//! What differs while it does: the backward graph of a compiled function is recorded call by call, and what leaves receive is noted,
//! since gradients get their values when all is recorded.

use std::cell::{Cell, RefCell};
use tensor::Tensor;

thread_local! {
    static IS_RECORDING: Cell<bool> = const { Cell::new(false) };
    /// Leaves that were given a gradient of its own, in order.
    static RECEIVED: RefCell<Vec<(Tensor, Tensor)>> = const { RefCell::new(Vec::new()) };
    /// Tensors that the tape keeps, in the order in which they became inputs.
    static LIFTED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Whether the backward under way is recorded.
pub fn is_recording() -> bool {
    IS_RECORDING.get()
}

/// While it lives, backwards are recorded.
pub struct Recording(bool);

impl Recording {
    /// A backward begins.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        RECEIVED.take();
        LIFTED.take();
        Recording(IS_RECORDING.replace(true))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        IS_RECORDING.set(self.0);
    }
}

/// A tensor that the tape keeps becomes an input, whether it is used next or not.
pub fn lift_to_input(t: &Tensor) -> diagnostics::error::Result<()> {
    LIFTED.with_borrow_mut(|seen| {
        if !seen.contains(&t.id()) {
            seen.push(t.id());
        }
    });
    dispatch::lift_to_input(t)
}

/// A leaf was given its first gradient.
pub(super) fn received(leaf: &Tensor, grad: &Tensor) {
    RECEIVED.with_borrow_mut(|all| all.push((leaf.clone(), grad.clone())));
}

/// Leaves with the gradients that they were given, in the order in which the leaves became inputs.
pub fn take_received() -> Vec<(Tensor, Tensor)> {
    let mut all = RECEIVED.take();
    let seen = LIFTED.take();
    all.sort_by_key(|(leaf, _)| seen.iter().position(|id| *id == leaf.id()));
    all
}
