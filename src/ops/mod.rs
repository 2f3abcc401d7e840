//! The operator catalogue: a file per family, an entry per overload. No state.
//!
//! Adding an operator touches its entry here and its lowerings in the backends, nothing else.

pub mod shapes;

use crate::dispatch::OpBuilder;

/// Registers every family.
pub fn register(_builder: &mut OpBuilder) {}
