//! `with_effects`: a call that takes a token and gives the next one before its results.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use crate::aot::effects;
use crate::dispatch::Value;
use crate::error::Result;

/// `torch.ops.higher_order.with_effects`
pub(super) static WITH_EFFECTS: HigherOrderOperator = HigherOrderOperator { name: effects::WITH_EFFECTS, run, trace: None };

fn run(call: &HigherOrderCall) -> Result<Value> {
    let mut results = vec![Value::Tensor(effects::token()?)];
    match call.call_operator()? {
        Value::List(items) if !items.is_empty() => results.extend(items),
        Value::List(_) => results.push(Value::None),
        single => results.push(single),
    }
    Ok(Value::List(results))
}
