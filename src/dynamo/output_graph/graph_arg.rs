//! An input of a captured graph.

use crate::aot::schemas::InputSpec;
use crate::dispatch::Key;
use crate::dynamo::dynamic_shapes::InputSource;
use crate::graph::NodeId;
use crate::tensor::Tensor;

/// An input of a captured graph: the caller's tensor, and its fake tensor while the graph is captured.
#[derive(Clone)]
pub struct GraphArg {
    /// The caller's tensor.
    pub real: Tensor,
    /// Its fake tensor.
    pub fake_tensor: Tensor,
    /// Its placeholder.
    pub node: NodeId,
    /// What its tensor guard checks.
    pub spec: InputSpec,
    /// Whether it was made in inference mode: it has no dispatch keys of autograd's in any mode.
    pub is_inference: bool,
    /// Where the caller keeps it.
    pub source: InputSource,
}

/// The integer that a tensor of one element holds.
pub(in crate::dynamo) fn number_of(t: &Tensor) -> Option<i64> {
    let _below = crate::dispatch::Exclude::down_to(Key::Autograd);
    crate::aten!("_local_scalar_dense", t).ok()?.int().ok()
}

/// The float that a tensor of one element holds.
pub(in crate::dynamo) fn float_of(t: &Tensor) -> Option<f64> {
    let _below = crate::dispatch::Exclude::down_to(Key::Autograd);
    crate::aten!("_local_scalar_dense", t).ok().filter(|_| t.dtype().is_floating())?.float().ok()
}
