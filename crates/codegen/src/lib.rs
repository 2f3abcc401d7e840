//! Loops compiled for the CPU: pointwise chains of a graph, and long eager calls, as kernels.
//!
//! [`kernel`] makes a straight line of steps of fused loops; [`functions`] has the functions in it, written once for all machines;
//! [`tiles`] runs it natively, [`wasm`] writes it as a WebAssembly module for the page; [`run`] takes a kernel through its storages;
//! [`plan`] runs a compiled graph, [`eager`] a call; [`choice`] says which operators are computed here at all.
//!
//! Invariants. The bits of a result depend on the operator, its dtypes and sizes: neither on the machine nor on whether a graph was
//! compiled. Nothing traps. What has no kernel runs by its operator's own.

pub mod choice;
mod eager;
pub mod functions;
pub mod kernel;
mod machine;
mod plan;
mod run;
pub mod tiles;
pub mod wasm;

pub use eager::install;
pub use plan::Fused;
