//! Tensors: storage, views, dtypes. No operators and no autograd.
//!
//! A [`Tensor`] is a handle on one [`TensorImpl`]; several may share a [`Storage`] (views). A storage without bytes makes a
//! fake tensor: everything but its values is known. Sizes are `SymInt`s.

mod dtype;
pub mod float8;
mod number;
pub mod print;
pub mod pyfloat;
pub mod random;
mod spec;
mod storage;
pub mod strided;
mod subclass;
#[allow(clippy::module_inception)]
mod tensor;

pub use dtype::{Category, Device, DeviceType, Dtype, Layout, MemoryFormat, check_promotion, promote};
pub use number::{Number, from_values};
pub use spec::{Geometry, TensorSpec, contiguous_strides};
pub use storage::{
    Element, OfFakeMode, Storage, check_count, check_room, not_enough_memory, pretend_cuda, pretends_cuda, set_memory_limit,
};
pub use subclass::{Parts, Recipe, Subclass};
pub use tensor::{Concrete, MathBits, Tensor, TensorImpl, elements};
