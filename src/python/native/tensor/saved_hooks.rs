//! `torch.autograd.graph.saved_tensors_hooks`: Python functions through which saved tensors go.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use rustpython_vm::{AsObject, Py, PyObjectRef, PyPayload, PyResult, VirtualMachine};

use super::convert::to_tensor;
use super::errors::{raise, raised};
use super::hooks::call_from_engine;
use super::payload::wrap;
use crate::autograd::{SavedTensorHooks, SavedVariable, push_saved_tensor_hooks, top_saved_tensor_hooks};
use crate::dispatch::{Modes, modes, set_modes};
use crate::error::{Error, Result};
use crate::tensor::Tensor;

thread_local! {
    static DISABLED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Why hooks are refused.
pub fn disabled() -> Option<String> {
    DISABLED.with_borrow(Clone::clone)
}

/// Refuses hooks from now on, for this reason; an error where there are some.
pub fn disable(message: String) -> Result<()> {
    if top_saved_tensor_hooks().is_some() {
        return Err(Error::runtime(message));
    }
    DISABLED.set(Some(message));
    Ok(())
}

/// Allows hooks again.
pub fn enable() {
    DISABLED.set(None);
}

struct Hooks {
    pack: PyObjectRef,
    unpack: PyObjectRef,
}

impl SavedTensorHooks for Hooks {
    fn pack(&self, t: &Tensor) -> Result<Rc<dyn Any>> {
        let before = set_modes(Modes { grad: false, ..modes() });
        let packed = rustpython_vm::vm::thread::with_current_vm(|vm| wrap(t, vm).and_then(|o| self.pack.call((o,), vm)).map_err(raised));
        set_modes(Modes { grad: before.grad, ..modes() });
        Ok(Rc::new(packed?))
    }

    fn pack_function(&self) -> Rc<dyn Any> {
        Rc::new(self.pack.clone())
    }

    fn unpack_function(&self) -> Rc<dyn Any> {
        Rc::new(self.unpack.clone())
    }

    fn unpack(&self, packed: &Rc<dyn Any>) -> Result<Tensor> {
        let packed = packed.downcast_ref::<PyObjectRef>().ok_or_else(|| Error::runtime("a saved tensor that hooks did not pack"))?;
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            let value = call_from_engine(&self.unpack, (packed.clone(),), vm)?;
            to_tensor(&value).ok_or_else(|| {
                let class = value.class().name().to_string();
                Error::type_error(format!("Output of saved tensor unpack_hook expected to be a Tensor but got result of type {class}"))
            })
        })
    }
}

/// `torch._C._autograd.SavedTensor`: a tensor as a node saves one, through the hooks that there are, with its version.
#[pyclass(module = "torch._C._autograd", name = "SavedTensor")]
#[derive(PyPayload)]
pub struct PySavedTensor(SavedVariable);

impl std::fmt::Debug for PySavedTensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<torch._C._autograd.SavedTensor>")
    }
}

impl PySavedTensor {
    /// Saves a tensor that is no result of the node.
    pub fn of(t: &Tensor, vm: &VirtualMachine) -> PyResult {
        Ok(PySavedTensor(SavedVariable::input(t).map_err(|e| raise(e, vm))?).into_pyobject(vm))
    }
}

#[pyclass]
impl PySavedTensor {
    /// The tensor; an error where it was written to in place since.
    #[pymethod]
    fn unpack(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        zelf.0.unpack_input().and_then(|t| wrap(&t, vm).map_err(raised)).map_err(|e| raise(e, vm))
    }
}

/// Makes saved tensors go through two functions.
pub fn push(pack: PyObjectRef, unpack: PyObjectRef) -> Result<()> {
    if let Some(message) = disabled() {
        return Err(Error::runtime(message));
    }
    push_saved_tensor_hooks(Rc::new(Hooks { pack, unpack }));
    Ok(())
}

/// The functions that a tensor saved now goes through: the one that packs and the one that unpacks.
pub fn top() -> Option<(PyObjectRef, PyObjectRef)> {
    let hooks = top_saved_tensor_hooks()?;
    let function = |f: Rc<dyn Any>| f.downcast_ref::<PyObjectRef>().cloned();
    Some((function(hooks.pack_function())?, function(hooks.unpack_function())?))
}
