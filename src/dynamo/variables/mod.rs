//! What the values of a traced function are to Dynamo: torch's functions, modules, closures, higher-order operators.

pub(super) mod autograd_function;
pub(super) mod backward_state;
pub(super) mod closures;
pub(in crate::dynamo) mod control_flow;
pub(super) mod flex_attention;
pub(super) mod higher_order_ops;
pub(super) mod invoke_subgraph;
pub(super) mod nn_module;
pub(super) mod torch;
pub(super) mod transforms;
