//! Hooks on values of a graph under compiled autograd: each call of the graph has an object that they are attributes of, and the hook is
//! traced when the backward is compiled.

use std::rc::Rc;

use rustpython_vm::{AsObject, PyObject, PyResult, VirtualMachine};

use crate::dynamo::Recorder;
use crate::dynamo::output_graph::backward_state::HookState;
use crate::dynamo::settings::setting;
use crate::graph::Arg;
use crate::python::native::tensor::raise;
use crate::tensor::Tensor;

/// Whether a hook stays a call: backwards are compiled.
pub fn is_wanted(vm: &VirtualMachine) -> bool {
    setting("torch._dynamo.compiled_autograd", "compiled_autograd_enabled", vm).is_some_and(|on| on.is(&vm.ctx.true_value))
}

/// Records the hook, and keeps it for the call that is recorded.
pub fn register(recorder: &Rc<Recorder>, t: &Tensor, hook: &PyObject, vm: &VirtualMachine) -> PyResult<()> {
    let known = recorder.output().backward_state.borrow().clone();
    let state = match known {
        Some(state) => state,
        None => {
            let made = Rc::new(HookState::new(vm)?);
            recorder.output().backward_state.replace(Some(made.clone()));
            made
        }
    };
    let name = state.add(hook.to_owned(), vm)?;
    let node = recorder.node_of(t).map_err(|e| raise(e, vm))?;
    recorder.call_in_place("register_hook_trampoline", vec![Arg::Node(node), Arg::Str(name.as_str().into())], t);
    Ok(())
}
