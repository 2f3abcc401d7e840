//! Hooks on values of a graph under compiled autograd: each call of the graph has an object that they are attributes of, and the hook is
//! traced when the backward is compiled.

use std::any::Any;
use std::rc::Rc;

use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyResult, VirtualMachine};

use crate::aot::BackwardState;
use crate::autograd::GradHook;
use crate::dynamo::Recorder;
use crate::graph::Arg;
use crate::python::native::tensor::{grad_hook, raise};
use crate::tensor::Tensor;

/// The hooks that one call registers: a `torch.fx.experimental._backward_state.BackwardState`.
pub struct HookState {
    object: PyObjectRef,
    count: std::cell::Cell<usize>,
}

impl BackwardState for HookState {
    fn hook(&self, name: &str) -> Option<GradHook> {
        rustpython_vm::vm::thread::with_current_vm(|vm| self.object.get_attr(vm.ctx.intern_str(name), vm).ok().map(grad_hook))
    }

    fn object(&self) -> Rc<dyn Any> {
        Rc::new(self.object.clone())
    }
}

/// Whether a hook stays a call: backwards are compiled.
pub fn is_wanted(vm: &VirtualMachine) -> bool {
    let modules = vm.sys_module.get_attr("modules", vm);
    let known = modules.and_then(|modules| modules.get_item("torch._dynamo.compiled_autograd", vm));
    known.and_then(|module| module.get_attr("compiled_autograd_enabled", vm)).is_ok_and(|on| on.is(&vm.ctx.true_value))
}

/// Records the hook, and keeps it for the call that is recorded.
pub fn register(recorder: &Rc<Recorder>, t: &Tensor, hook: &PyObject, vm: &VirtualMachine) -> PyResult<()> {
    let known = recorder.output().backward_state.borrow().clone();
    let state = match known {
        Some(state) => state,
        None => {
            let module = crate::python::native::calls::imported("torch.fx.experimental._backward_state", vm)?;
            let object = module.get_attr("BackwardState", vm)?.call((), vm)?;
            let made = Rc::new(HookState { object, count: std::cell::Cell::new(0) });
            recorder.output().backward_state.replace(Some(made.clone()));
            made
        }
    };
    let name = format!("hook{}", state.count.replace(state.count.get() + 1));
    state.object.set_attr(vm.ctx.intern_str(name.as_str()), hook.to_owned(), vm)?;
    let node = recorder.node_of(t).map_err(|e| raise(e, vm))?;
    recorder.call_in_place("register_hook_trampoline", vec![Arg::Node(node), Arg::Str(name.as_str().into())], t);
    Ok(())
}
