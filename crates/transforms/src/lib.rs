//! Transforms: layers of the dispatch stack that rewrite calls before autograd sees them.
//!
//! - [`levels`]: the levels of `torch.func`, where `grad` and `vmap` nest
//! - [`batching`]: what operators do to tensors with a hidden dimension
//! - [`batch_rules`]: operators that have a rule of their own there
//! - [`duals`]: dual tensors of those levels
//! - [`lazy`]: conjugates, negatives and zeros that are put off, below autograd
//! - [`autocast`]: operators that are safe with it run in a shorter dtype

pub mod autocast;
pub mod batching;
pub mod duals;
pub mod lazy;
pub mod levels;
