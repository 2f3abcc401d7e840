//! AOTAutograd: from a function on tensors to a compiled forward and backward.
//!
//! 1. [`metadata`]: run it once on functional fake tensors: which inputs are mutated, what outputs alias.
//! 2. [`trace`] the joint (or inference) graph: [`functionalize`] removes mutation, autograd supplies the backward,
//!    the tracer below them records what is left.
//! 3. partition the joint graph into forward and backward.
//! 4. [`runtime`]: wrap the compiled graphs so that calling them is calling the function.
//!
//! Invariants: compiling needs no tensor data; two compilations of one program give identical graphs.

pub mod bodies;
pub mod check;
pub mod compile;
pub mod constants;
pub mod context;
mod dedupe;
mod effects;
mod epilogue;
pub mod export;
pub mod fake_mode;
mod fake_tensor_updater;
pub mod freezing;
pub mod functional;
mod functional_inverses;
pub mod functional_tensor;
mod functionalize;
mod higher_order;
pub mod interpret;
mod joint;
mod like;
pub mod make_fx;
pub mod metadata;
mod metadata_text;
pub mod passes;
pub mod philox;
mod run;
mod runtime;
pub mod schemas;
pub mod subclass;
pub mod synthetic_base;
pub mod tangents;
mod tensorify;
pub mod trace;
mod tracing;

pub use compile::{Compiled, compile};
pub use fake_tensor_updater::update as update_fake_tensors;
pub use higher_order::flex_math::strides_like as laid_out_like;

/// The names of operators that take functions or operators.
pub fn higher_order_names() -> Vec<&'static str> {
    higher_order::register();
    higher_order::operator::names()
}

pub use higher_order::hook::{BackwardState, with_backward_state};
pub use higher_order::operator::{ScriptOperatorCall, serve_script_operators};
pub use run::{Program, replay_graph, run_graph};
pub use runtime::saved_dynamic_dims;
pub use schemas::{Config, Function, GraphCallable, GraphCompiler, InputInfo, MutationType, OutputInfo, OutputType, ViewAndMutationMeta};
