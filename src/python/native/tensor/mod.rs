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

pub(in crate::python) use class::{TensorBase, tensor_class, wrap};
pub(in crate::python) use convert::{from_value, raise, raised, to_tensor, to_value};
pub(super) use module::module_def;

#[pymodule(name = "torch._C._tensor")]
mod module {
    pub use super::autograd::functions::*;
    #[pyattr]
    pub use super::class::TensorBase;
    #[pyattr(name = "Node")]
    pub use super::objects::PyNode;
    #[pyattr(name = "device")]
    pub use super::objects::PyDevice;
    #[pyattr(name = "dtype")]
    pub use super::objects::PyDtype;
    #[pyattr(name = "Generator")]
    pub use super::objects::PyGenerator;
    #[pyattr(name = "layout")]
    pub use super::objects::PyLayout;
    #[pyattr(name = "memory_format")]
    pub use super::objects::PyMemoryFormat;
    #[pyattr(name = "OpOverload")]
    pub use super::packet::PyOverload;
    #[pyattr(name = "OpOverloadPacket")]
    pub use super::packet::PyPacket;
}
