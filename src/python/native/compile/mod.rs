//! `torch.compile` and AOTAutograd as Python calls them.
//!
//! [`session`]: one call of a compiled function, from recording to values; [`module`]: graphs as `GraphModule`s;
//! [`functions`]: the native functions behind `torch.compile` and `torch._functorch.aot_autograd`.

mod bodies;
mod bundle;
mod custom;
mod functions;
mod graph_module;
mod session;
mod settings;

pub(in crate::python::native) use functions::module_def;
pub(super) use session::{break_graph, capturing, record_grad_mode, touch, twin};

/// Forgets what an earlier run compiled.
pub(super) fn reset() {
    session::reset();
    bundle::reset();
}
