//! Transforms: layers of the dispatch stack that rewrite calls before autograd sees them.
//!
//! - [`levels`]: the levels of `torch.func`, where `grad` and `vmap` nest
//! - [`batching`]: what operators do to tensors with a hidden dimension
//! - [`autocast`]: operators that are safe with it run in a shorter dtype

pub mod autocast;
pub mod batching;
pub mod levels;
