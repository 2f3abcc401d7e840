//! `run_and_save_rng_state`, `run_with_rng_state`: a random call that the backward makes again as it was.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::tensor::random::default_generator;

/// `torch.ops.higher_order.run_and_save_rng_state`
pub(super) static RUN_AND_SAVE_RNG_STATE: HigherOrderOperator =
    HigherOrderOperator { name: "run_and_save_rng_state", run: run_and_save, trace: None };

/// `torch.ops.higher_order.run_with_rng_state`
pub(super) static RUN_WITH_RNG_STATE: HigherOrderOperator = HigherOrderOperator { name: "run_with_rng_state", run: run_with, trace: None };

fn run_and_save(call: &HigherOrderCall) -> Result<Value> {
    let state = default_generator().get_state()?;
    Ok(Value::List(vec![Value::Tensor(state), call.call_operator()?]))
}

fn run_with(call: &HigherOrderCall) -> Result<Value> {
    let before = default_generator().get_state()?;
    default_generator().set_state(call.args.first().map_or(Err(Error::runtime("a generator's state is missing")), Value::tensor)?)?;
    let result = call.call_operator();
    default_generator().set_state(&before)?;
    result
}
