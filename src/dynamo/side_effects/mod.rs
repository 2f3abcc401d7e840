//! Side effects: what a function leaves behind besides what it returns.

mod stored_inputs;

#[cfg(feature = "python")]
pub(super) mod escapes;
#[cfg(feature = "python")]
pub(super) mod outputs;
