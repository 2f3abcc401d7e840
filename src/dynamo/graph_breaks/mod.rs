//! Graph breaks: what is said of them, and what a graph returns that ends at one.

#[cfg(feature = "python")]
pub(super) mod handle;
pub(super) mod unsupported;
