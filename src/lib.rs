//! A playground for PyTorch's ahead-of-time autograd.
//!
//! See ARCHITECTURE.md for the way of a program through the crate's rooms.

#[cfg(feature = "python")]
#[macro_use]
extern crate rustpython_vm;

pub mod aot;
pub mod autograd;
pub mod backend;
pub mod bundle;
pub mod catalogue;
pub mod decompositions;
pub mod describe;
pub mod dispatch;
pub mod dynamo;
pub mod error;
pub mod export;
pub mod graph;
pub mod graph_view;
pub mod ops;
pub mod partition;
#[cfg(feature = "python")]
pub mod python;
pub mod report;
pub mod shape;
pub mod span;
pub mod tensor;
pub mod transforms;
#[cfg(target_arch = "wasm32")]
pub mod web;

#[cfg(test)]
mod typescript;

/// Where rooms that do not know each other are put together: the dispatcher finds operators and kernels through here.
pub(crate) mod wiring {
    /// Every operator.
    pub fn catalogue(builder: &mut crate::dispatch::OpBuilder) {
        crate::ops::register(builder);
    }
    /// Every CPU kernel.
    pub fn cpu_kernels(table: &mut crate::dispatch::KernelTable) {
        crate::backend::cpu::register(table);
    }
    /// A tensor of a transform's level without its history; `None` for others.
    pub fn detached(tensor: &crate::tensor::Tensor) -> Option<crate::tensor::Tensor> {
        use crate::transforms::levels::{level, wrap, wrapped};
        let inner = wrapped(tensor)?;
        level(inner.number).map(|l| wrap(&inner.value, &l, inner.batch_dim)).or(Some(inner.value))
    }
    /// Whether a tensor is the very one that another, of a transform's level, stands for.
    pub fn stands_for(outer: &crate::tensor::Tensor, value: &crate::tensor::Tensor) -> bool {
        crate::transforms::levels::wrapped(outer).is_some_and(|w| w.value.is(value))
    }
    /// Whether autograd follows a tensor.
    pub fn requires_grad(tensor: &crate::tensor::Tensor) -> bool {
        crate::autograd::meta::requires_grad(tensor)
    }
}
