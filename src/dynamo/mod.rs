//! Dynamo: from the calls of a compiled function to graphs, guards and the code after a graph break, by symbolic execution.
//!
//! The Python body of a compiled function runs on every call, on fake tensors: each operator is recorded and answered with fake tensors.
//! When values are needed (return, or a graph break), the captured graph is looked up in the cache, or compiled, and run; the fake tensors
//! that are still alive become its results. So Python's side effects are real on every call, and a missing guard can never run a stale
//! graph: the captured graph must equal that of the cache entry.
//!
//! Parts have the names of PyTorch's `torch/_dynamo`. Those that know no Python objects ([`output_graph`], [`dynamic_shapes`], most of
//! [`guards`] and [`cache`]) do without the interpreter.

pub(crate) mod backends;
pub(crate) mod bindings;
mod bytecode_analysis;
pub mod cache;
mod containers;
mod convert_frame;
mod discarded;
mod dynamic_shapes;
mod eval_frame;
mod exc;
mod graph_breaks;
pub mod guards;
pub mod output_graph;
pub(crate) mod resume_functions;
pub(crate) mod settings;
mod side_effects;
mod source;
mod symbolic_convert;
pub(crate) mod tracing;
pub(crate) mod variables;

pub use cache::{Cache, CacheEntry, Lookup, Number, Root, Runner, Unmet};
pub use dynamic_shapes::{CodeId, Dim, DimMark, InputSource, Place, SeenSizes, Symbols, Treatment, Witness, value_of};
pub(crate) use eval_frame::recorder::recorder;
pub(crate) use eval_frame::replay;
pub use graph_breaks::unsupported::Unsupported;
pub use graph_breaks::user_code::from_user_code;
pub use guards::failures::Holder;
pub use guards::global_state::{reset_state, set_state};
pub use guards::text::strip_locals;
pub use guards::{constraints, what_if};
pub use output_graph::attribute::Attribute;
pub use output_graph::captured_graph::{CapturedGraph, computes};
pub use output_graph::graph_arg::GraphArg;
pub use output_graph::layer::CaptureLayer;
pub use output_graph::retrace::{Retrace, Section};
pub use output_graph::subgraph::{Body, Cut, Mark, Part};
pub use output_graph::torch_calls::{Fate, OpenCall};
pub use output_graph::tracer::{GradBlock, Recorder, Surroundings};
pub use output_graph::written::Variable;
pub(crate) use source::Locals;
