//! Side effects: what a function leaves behind besides what it returns.

mod stored_inputs;

pub(super) mod escapes;
pub(super) mod outputs;
pub(super) mod undone;
