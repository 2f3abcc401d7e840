//! AOTAutograd: from a function on tensors to a compiled forward and backward.
//!
//! 1. [`metadata`]: run it once on functional fake tensors: which inputs are mutated, what outputs alias.
//! 2. [`trace`] the joint (or inference) graph: [`functionalize`] removes mutation, autograd supplies the backward,
//!    the tracer below them records what is left.
//! 3. partition the joint graph into forward and backward.
//! 4. [`runtime`]: wrap the compiled graphs so that calling them is calling the function.
//!
//! Invariants: compiling needs no tensor data; two compilations of one program give identical graphs.

mod auto_functionalized;
pub mod compile;
mod cond;
pub mod dedupe;
mod effects;
pub mod epilogue;
pub mod export;
pub mod fake_mode;
pub mod functional;
pub mod functionalize;
mod higher_order;
pub mod interpret;
pub mod joint;
mod loops;
pub mod make_fx;
pub mod metadata;
pub mod passes;
pub mod runtime;
mod scan;
pub mod subclass;
mod subgraphs;
pub mod synthetic_base;
mod tensorify;
pub mod trace;

pub use compile::{Compiled, Config, Function, GraphCallable, GraphCompiler, compile};
pub use interpret::{Program, run_graph};
pub use metadata::{InputInfo, MutationType, OutputInfo, OutputType, ViewAndMutationMeta};
