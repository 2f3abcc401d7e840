//! What readers of PyTorch's logs need of the compiler.

use crate::aot::passes::Passes;
use crate::{backend, ops, trace};

/// Makes ready for logs: what the partitioner knows of operators, and Inductor's passes, which fold constants. Needed once.
pub fn prepare() {
    ops::install();
    backend::cpu::install();
    trace::decision::install_joint_passes(|graph, replayed| Passes::default().apply(graph, replayed));
}
