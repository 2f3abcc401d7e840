//! `tag_activation_checkpoint`: the body runs in place; what it calls is marked for recomputation.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use crate::aot::interpret::run;
use crate::aot::trace::{Origin, next_checkpoint_region, origin, set_origin};
use crate::dispatch::{Value, modes};
use crate::error::Result;
use crate::graph::Recompute;

/// `torch.ops.higher_order.tag_activation_checkpoint`
pub(super) static TAG_ACTIVATION_CHECKPOINT: HigherOrderOperator =
    HigherOrderOperator { name: "tag_activation_checkpoint", run: checkpoint, trace: None };

fn checkpoint(call: &HigherOrderCall) -> Result<Value> {
    let ([body], tell) = (call.bodies()?, call.tell);
    let mut operands = call.args[1..].to_vec();
    if !modes().grad {
        return run(body, &mut operands, tell).map(Value::List);
    }
    let before = origin();
    let tagged = Origin {
        recompute: Some(Recompute::PreferRecompute),
        // A region within another belongs to it.
        checkpoint_region: before.checkpoint_region.or_else(|| Some(next_checkpoint_region())),
        policy: body.checkpoint_policy,
        checkpoint_depth: before.checkpoint_depth + 1,
        ..before.clone()
    };
    set_origin(tagged);
    let out = run(body, &mut operands, tell);
    set_origin(before);
    out.map(Value::List)
}
