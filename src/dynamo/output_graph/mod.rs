//! The graph being traced: its inputs, its calls, the numbers in it, and what becomes of it when it ends.

pub(super) mod attribute;
pub(super) mod backward_state;
pub(super) mod captured_graph;
pub(super) mod graph_arg;
pub(super) mod layer;
pub(super) mod regions;
pub(super) mod retrace;
pub(super) mod runtime_asserts;
pub(super) mod single_calls;
pub(super) mod state;

pub(super) mod subgraph;
pub(super) mod subgraph_inputs;
pub(super) mod symbolic_numbers;
pub(super) mod torch_calls;
pub(super) mod tracer;
pub(super) mod written;
