//! Autograd: the tape that a forward leaves behind, and the engine that walks it back.
//!
//! - [`layer`](AutogradLayer): the dispatch layer that builds the tape, tracks views and counts versions
//! - [`meta`]: what autograd knows of a tensor (requires_grad, grad, grad_fn, view of what)
//! - [`node`](Node): one function of the tape; [`saved`](SavedVariable): a value kept for it
//! - [`lift`]: a tape taken apart, to be compiled; [`functional`](lift::Functional): a derivative as a function of what its node saved
//! - [`anomaly`]: what a node remembers of its making, for backwards that fail
//! - [`engine`](run_backward): backward in order of falling sequence number, as PyTorch's engine
//!
//! The same derivatives serve eager backward and joint tracing: whatever layers lie below see the calls.

mod accumulate;
pub mod anomaly;
mod engine;
pub mod forward;
mod functional;
mod layer;
pub mod lift;
mod lift_nodes;
pub mod meta;
mod node;
mod ready;
mod saved;
mod views;

pub use accumulate::{accumulate, accumulated, accumulated_variable, in_layout_of};
pub use engine::{
    BackwardOptions, adding_up, current_graph_task, dependencies, fit_gradient, is_checkpoint_valid, keeps_graph, last_node, leading_to,
    node_key, options, run_backward, will_execute,
};
pub use layer::{AutogradLayer, install};
pub use lift_nodes::{lift_node, metadata};
pub use meta::CreationMeta;
pub use node::{Body, Edge, GradHook, Hook, InputMeta, Node, NodeHook, current_node, gradient_edge, next_seq_nr, peek_seq_nr, set_seq_nr};
pub use saved::{
    SavedTensorHooks, SavedVariable, WithoutSavedTensorHooks, freed, is_detaching, pop_saved_tensor_hooks, push_saved_tensor_hooks,
    top_saved_tensor_hooks,
};
pub use views::{ViewInfo, ViewStep, ViewSteps, keep_view, keep_view_into, rebase_history, replay, set_creation};
