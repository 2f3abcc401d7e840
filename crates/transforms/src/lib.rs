//! Transforms: layers of the dispatch stack that rewrite calls before autograd sees them.
//!
//! - [`levels`]: the levels of `torch.func`, where `grad` and `vmap` nest
//! - [`batching`]: what operators do to tensors with a hidden dimension
//! - [`duals`]: dual tensors of those levels
//! - [`math_bits`]: conjugate bit, negative bit and zero tensors, below autograd
//! - [`autocast`]: operators that are safe with it run in a shorter dtype

pub mod autocast;
pub mod batching;
pub mod duals;
pub mod levels;
pub mod math_bits;
