//! Hooks of the script as the autograd engine calls them.

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;

use rustpython_vm::function::IntoFuncArgs;
use rustpython_vm::{AsObject, PyObjectRef, VirtualMachine};

use super::convert::to_tensor;
use super::errors::raised;
use super::payload::wrap;
use crate::autograd::{GradHook, Hook, Node, NodeHook};
use crate::dispatch::{Exclude, Restore};
use crate::dynamo::tracing::Waiting;
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// A Python hook on gradients as the engine calls it.
pub fn grad_hook(hook: PyObjectRef) -> GradHook {
    let function: Option<Rc<dyn Any>> = Some(Rc::new(hook.clone()));
    let call = move |grad: Option<&Tensor>| {
        with_vm(|vm| {
            let given = grad.map_or_else(|| Ok(vm.ctx.none()), |g| wrap(g, vm));
            let result = call_from_engine(&hook, (given.map_err(raised)?,), vm)?;
            if vm.is_none(&result) {
                return Ok(None);
            }
            let grad = grad.ok_or_else(|| Error::runtime("can't replace a None gradient with a non-None value"))?;
            let replaced = to_tensor(&result)
                .ok_or_else(|| Error::type_error(format!("expected Variable, but hook returned '{}'", result.class().name())))?;
            let name = || hook.get_attr("__name__", vm).and_then(|n| n.str(vm)).map_or_else(|_| "<unknown>".to_owned(), |n| n.to_string());
            if replaced.dtype() != grad.dtype() {
                let (was, got) = (legacy_type(grad.dtype()), legacy_type(replaced.dtype()));
                return Err(Error::runtime(format!("hook '{}' has changed the type of value (was {was} got {got})", name())));
            }
            if replaced.dim() != grad.dim() || replaced.sizes().iter().zip(grad.sizes()).any(|(a, b)| a.hint() != b.hint()) {
                return Err(Error::runtime(format!("hook '{}' has changed the size of value", name())));
            }
            Ok(Some(replaced))
        })
    };
    Hook { call: Rc::new(call), function }
}

/// The class of tensors of a dtype in older code.
fn legacy_type(dtype: crate::tensor::Dtype) -> String {
    format!("torch.{}Tensor", dtype.scalar_type())
}

/// A hook that is called when a leaf's gradient is there.
pub fn post_accumulate_hook(hook: PyObjectRef) -> GradHook {
    let function: Option<Rc<dyn Any>> = Some(Rc::new(hook.clone()));
    let call = move |leaf: Option<&Tensor>| {
        let Some(leaf) = leaf else { return Ok(None) };
        with_vm(|vm| {
            let result = call_from_engine(&hook, (wrap(leaf, vm).map_err(raised)?,), vm)?;
            if vm.is_none(&result) {
                return Ok(None);
            }
            Err(Error::runtime("Tensor post accumulate grad hooks should return None."))
        })
    };
    Hook { call: Rc::new(call), function }
}

thread_local! {
    /// What was excluded before the engine that a script called began, and what since.
    static ENGINE: Cell<Option<(Restore, Restore)>> = const { Cell::new(None) };
}

/// Runs the engine for a script: what it calls itself is not captured, but for the script's own functions, [`call_from_engine`].
pub fn in_engine<R>(run: impl FnOnce() -> R) -> R {
    let before = Restore::current();
    let _eager = Exclude::capture_too();
    let outer = ENGINE.replace(Some((before, Restore::current())));
    let result = run();
    ENGINE.set(outer);
    result
}

/// Calls a script's function from the engine. It is called as the engine was: where that is in a compiled function, it is a frame that
/// is traced on its own, and over when it returns.
pub fn call_from_engine(function: &PyObjectRef, args: impl IntoFuncArgs, vm: &VirtualMachine) -> Result<PyObjectRef> {
    let Some((before, _)) = ENGINE.get().filter(|(_, since)| *since == Restore::current()) else {
        return function.call(args, vm).map_err(raised);
    };
    let _as_called = before.enter();
    Waiting::during(|| function.call(args, vm).map_err(raised), |e| e)
}

fn with_vm<R>(f: impl FnOnce(&VirtualMachine) -> Result<R>) -> Result<R> {
    rustpython_vm::vm::thread::with_current_vm(f)
}

fn tuple_of(grads: &[Option<Tensor>], vm: &VirtualMachine) -> Result<PyObjectRef> {
    let items = grads
        .iter()
        .map(|g| g.as_ref().map_or_else(|| Ok(vm.ctx.none()), |g| wrap(g, vm)))
        .collect::<Result<Vec<_>, _>>()
        .map_err(raised)?;
    Ok(vm.ctx.new_tuple(items).into())
}

/// Registers a Python hook on a node: before it runs (`hook(grad_outputs)`), or after (`hook(grad_inputs, grad_outputs)`).
pub fn register_node_hook(node: &Rc<Node>, id: u64, hook: PyObjectRef, before: bool) {
    let function: Option<Rc<dyn Any>> = Some(Rc::new(hook.clone()));
    let call = Rc::new(move |grads: Vec<Option<Tensor>>, outputs: &[Option<Tensor>]| {
        with_vm(|vm| {
            let first = tuple_of(&grads, vm)?;
            let args = if before { vec![first] } else { vec![first, tuple_of(outputs, vm)?] };
            let result = call_from_engine(&hook, args, vm)?;
            if vm.is_none(&result) {
                return Ok(grads);
            }
            match super::convert::items(&result) {
                Some(items) => Ok(items.iter().map(|o| to_tensor(o)).collect()),
                None => Ok(vec![to_tensor(&result)]),
            }
        })
    });
    let hook: NodeHook = Hook { call, function };
    if before {
        node.pre_hooks.borrow_mut().push((id, hook))
    } else {
        node.post_hooks.borrow_mut().push((id, hook))
    };
}
