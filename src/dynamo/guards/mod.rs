//! Guards: what a compiled graph asks of a call, which of it fails, and what is said of that.

pub mod constraints;
pub(super) mod failures;
pub(super) mod global_state;
pub(super) mod same_graph;
pub(super) mod text;
pub mod what_if;

#[cfg(feature = "python")]
pub(super) mod explain;
#[cfg(feature = "python")]
pub(super) mod guard;
#[cfg(feature = "python")]
pub(super) mod manager;
#[cfg(feature = "python")]
pub(super) mod needs;
