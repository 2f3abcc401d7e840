//! A playground for PyTorch's ahead-of-time autograd.
//!
//! See ARCHITECTURE.md for the way of a program through the crates and this crate's rooms.

#[cfg(feature = "python")]
#[macro_use]
extern crate rustpython_vm;

pub mod aot;
pub mod catalogue;
pub mod describe;
#[cfg(feature = "python")]
pub mod dynamo;
pub mod export;
pub mod logs;
#[cfg(feature = "python")]
pub mod minimizing;
#[cfg(feature = "python")]
pub mod python;
#[cfg(target_arch = "wasm32")]
pub mod web;

// The crates below, under the names that rooms here and tests know them by.
pub use diagnostics::error;
pub use dispatch::{aten, t};
pub use operators as ops;
pub use report::bundle;
pub use {autograd, decompositions, dispatch, graph, graph_view, partition, report, shape, tensor, trace, transforms};

/// Places in the visitor's script.
pub mod span {
    pub use diagnostics::source::*;
    pub use diagnostics::span::Span;
}

/// Where graphs and operators are computed: `cpu` is the reference, `codegen` fuses on the CPU, `gpu` runs compiled graphs through wgpu.
pub mod backend {
    pub use {codegen, cpu, gpu};
}
