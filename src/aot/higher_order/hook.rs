//! `register_hook`: the gradient of the first operand goes through the body, which takes the operands after it too.
//!
//! `register_hook_trampoline`, under compiled autograd: the hook stays what the script wrote. Tracing leaves a call of it in the backward,
//! `trace_wrapped`, which takes the state that this call of the function has hooks in; a captured backward makes that call.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use crate::aot::functional_tensor::{unwrap, wrap};
use crate::aot::interpret::run;
use crate::aot::trace::current_tracer;
use crate::autograd::{GradHook, Hook, meta};
use crate::dispatch::{Value, modes};
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::Tensor;
use compiled_autograd::capture::TRACE_WRAPPED;
use operators::geometry::preserved_strides;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A hook that a script registers while its function runs.
pub(super) static REGISTER_HOOK: HigherOrderOperator = HigherOrderOperator { name: "register_hook", run: register_hook, trace: None };

fn register_hook(call: &HigherOrderCall) -> Result<Value> {
    let ([body], args) = (call.bodies()?, &call.args);
    let t = args.first().cloned().unwrap_or_default().into_tensor()?;
    if modes().grad
        && let Some((node, index)) = meta::grad_fn(&t)?
    {
        let (body, free) = (body.clone(), args[2..].to_vec());
        let call = Rc::new(move |grad: Option<&Tensor>| {
            let Some(grad) = grad else { return Ok(None) };
            let mut inputs = vec![Value::from(grad)];
            inputs.extend(free.iter().cloned());
            Ok(run(&body, &mut inputs, false)?.first().and_then(Value::as_tensor).cloned())
        });
        node.tensor_hooks.borrow_mut().push((index, 0, Hook { call, function: None }));
    }
    Ok(Value::Tensor(t))
}

/// What the hooks that a call of a compiled function registers are kept in (PyTorch's `BackwardState`).
pub trait BackwardState {
    /// The hook of a name.
    fn hook(&self, name: &str) -> Option<GradHook>;

    /// The object that a captured backward is given.
    fn object(&self) -> Rc<dyn Any>;
}

thread_local! {
    static STATE: RefCell<Option<Rc<dyn BackwardState>>> = RefCell::default();
    static IS_USED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Runs a graph whose hooks are in a state.
pub fn with_backward_state<R>(state: Option<Rc<dyn BackwardState>>, run: impl FnOnce() -> R) -> R {
    let before = STATE.replace(state);
    let result = run();
    STATE.set(before);
    result
}

/// The state of the graph that runs.
pub(in crate::aot) fn backward_state() -> Option<Rc<dyn BackwardState>> {
    STATE.with_borrow(Clone::clone)
}

/// Before which of the graph's inputs the state stands, where a hook of one was registered since this was asked last.
pub(in crate::aot) fn take_is_used() -> Option<usize> {
    IS_USED.take()
}

/// That a backward graph with such calls runs by itself.
pub(in crate::aot) fn requires_compiled_autograd() -> Error {
    Error::new(ErrorKind::Assertion, "BackwardState requires CompiledAutograd")
}

/// A hook that a script registers while its function runs, under compiled autograd.
pub(super) static REGISTER_HOOK_TRAMPOLINE: HigherOrderOperator =
    HigherOrderOperator { name: "register_hook_trampoline", run: register_hook_trampoline, trace: None };

fn register_hook_trampoline(call: &HigherOrderCall) -> Result<Value> {
    let (t, name, place) = match &call.args[..] {
        [Value::Tensor(t), Value::Str(name), place] => (t.clone(), name.to_string(), place.int()?),
        _ => return Err(Error::runtime("register_hook_trampoline: a tensor, a name and the state's place are needed")),
    };
    IS_USED.set(usize::try_from(place).ok());
    let Some((node, index)) = (if modes().grad { meta::grad_fn(&t)? } else { None }) else { return Ok(Value::Tensor(t)) };
    let hook: GradHook = match backward_state().filter(|_| !modes().fake) {
        Some(state) => state.hook(&name).ok_or_else(|| Error::runtime(format!("'BackwardState' object has no attribute '{name}'")))?,
        None => {
            let left = move |grad: Option<&Tensor>| grad.map(|grad| left_in_graph(&name, grad)).transpose();
            Hook { call: Rc::new(left), function: None }
        }
    };
    node.tensor_hooks.borrow_mut().push((index, 0, hook));
    Ok(Value::Tensor(t))
}

/// What a hook gives that is called by the backward graph being traced.
fn left_in_graph(name: &str, grad: &Tensor) -> Result<Tensor> {
    let tracer = current_tracer().ok_or_else(requires_compiled_autograd)?;
    let grad = unwrap(grad)?;
    let mut spec = grad.spec();
    spec.geometry.strides = preserved_strides(&grad.geometry());
    spec.geometry.offset = 0.into();
    let result = Tensor::fake(&spec)?;
    tracer.record_hook(&format!("{TRACE_WRAPPED}{name}"), &grad, &result)?;
    wrap(&result)
}
