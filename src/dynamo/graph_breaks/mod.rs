//! Graph breaks: what is said of them, and what a graph returns that ends at one.

mod exceptions;
pub(super) mod handle;
pub(super) mod kinds;
mod outside_calls;
pub(super) mod unsupported;
pub(super) mod user_code;
