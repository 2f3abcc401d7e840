//! `register_hook`: the gradient of the first operand goes through the body, which takes the operands after it too.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use crate::aot::interpret::run;
use crate::autograd::{Hook, meta};
use crate::dispatch::{Value, modes};
use crate::error::Result;
use crate::tensor::Tensor;
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
