//! Guards: what a compiled graph asks of a call, which of it fails, and what is said of that.

pub mod constraints;
pub(super) mod failures;
pub(super) mod filter;
pub(super) mod global_state;
pub mod last_call;
pub(super) mod same_graph;
pub(super) mod text;
pub(super) mod validation;
pub mod what_if;

pub(super) mod explain;
pub(super) mod guard;
pub(super) mod manager;
pub(super) mod needs;
