//! Tensors as Python sees them: the class, the conversion of arguments, and how a call finds its overload.
//!
//! Every operator of the catalogue is a function, a method and an entry of `torch.ops` without being listed here; what is
//! written by hand is Python's own protocol (indexing, operators, `tolist`) and what has no operator.

mod autograd;
mod bind;
mod class;
mod convert;
mod objects;
mod packet;

pub(super) use autograd::functions::module_def;
pub(in crate::python) use class::{TensorBase, wrap};
pub(in crate::python) use convert::to_tensor;
