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

/// A hook on a value of the region being recorded: whether it is part of the region now. Where it cannot be, the region ends,
/// and the value is a tensor of the script's.
pub(super) fn capture_hook(
    t: &crate::tensor::Tensor,
    hook: &rustpython_vm::PyObject,
    vm: &rustpython_vm::VirtualMachine,
) -> rustpython_vm::PyResult<bool> {
    let Some(recorder) = session::recorder().filter(|r| r.is_lazy(t)) else { return Ok(false) };
    if bodies::hook(&recorder, t, hook, vm)? {
        return Ok(true);
    }
    break_graph("HOP: Unsafe side effect").map_err(|e| super::tensor::raise(e, vm))?;
    Ok(false)
}

/// Ends the region that computes a tensor, where one does.
pub(super) fn end_region_of(t: &crate::tensor::Tensor, reason: &str) -> crate::error::Result<()> {
    match session::recorder() {
        Some(recorder) if recorder.is_lazy(t) => break_graph(reason),
        _ => Ok(()),
    }
}

/// Forgets what an earlier run compiled.
pub(super) fn reset() {
    session::reset();
    bodies::reset();
    bundle::reset();
}
