//! The hooks that one call of a graph registers on its values under compiled autograd, as attributes of an object.

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;

use rustpython_vm::{PyObjectRef, PyResult, VirtualMachine};

use crate::aot::BackwardState;
use crate::autograd::GradHook;
use crate::python::native::tensor::grad_hook;

/// The hooks that one call registers: a `torch.fx.experimental._backward_state.BackwardState`.
pub struct HookState {
    object: PyObjectRef,
    count: Cell<usize>,
}

impl HookState {
    /// Without hooks.
    pub fn new(vm: &VirtualMachine) -> PyResult<Self> {
        let module = crate::python::native::calls::imported("torch.fx.experimental._backward_state", vm)?;
        Ok(HookState { object: module.get_attr("BackwardState", vm)?.call((), vm)?, count: Cell::new(0) })
    }

    /// Keeps a hook; gives its name.
    pub fn add(&self, hook: PyObjectRef, vm: &VirtualMachine) -> PyResult<String> {
        let name = format!("hook{}", self.count.replace(self.count.get() + 1));
        self.object.set_attr(vm.ctx.intern_str(name.as_str()), hook, vm)?;
        Ok(name)
    }
}

impl BackwardState for HookState {
    fn hook(&self, name: &str) -> Option<GradHook> {
        rustpython_vm::vm::thread::with_current_vm(|vm| self.object.get_attr(vm.ctx.intern_str(name), vm).ok().map(grad_hook))
    }

    fn object(&self) -> Rc<dyn Any> {
        Rc::new(self.object.clone())
    }
}
