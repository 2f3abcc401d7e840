//! `tag_activation_checkpoint`: the body runs in place; what it calls is marked for recomputation.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use crate::aot::interpret::run;
use crate::aot::trace::{CheckpointPolicy, Origin, Pushed, current_tracer, enter_checkpoint, next_checkpoint_region, origin, set_origin};
use crate::dispatch::{Call, Key, Layer, OpEntry, Value, call_below, modes, named};
use crate::error::Result;
use crate::graph::Recompute;
use std::rc::Rc;

/// `torch.ops.higher_order.tag_activation_checkpoint`
pub(super) static TAG_ACTIVATION_CHECKPOINT: HigherOrderOperator =
    HigherOrderOperator { name: "tag_activation_checkpoint", run: checkpoint, trace: None };

/// Asks a policy about the calls of a pass; what it says holds for all that a call becomes in the graph, where the pass records one.
struct Asking(CheckpointPolicy);

impl Layer for Asking {
    fn key(&self) -> Key {
        Key::Subclass
    }

    fn wants(&self, call: &Call) -> bool {
        !named::DETACH.is(call.entry)
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        let tracer = current_tracer();
        let before = tracer.as_ref().map(|tracer| tracer.position());
        let result = call_below(Key::Subclass, entry, args.clone())?;
        let decided = (self.0)(entry, &args, &result)?;
        if let (Some(tracer), Some(before)) = (tracer, before) {
            tracer.tag(before, decided);
        }
        Ok(result)
    }
}

fn checkpoint(call: &HigherOrderCall) -> Result<Value> {
    let ([body], tell) = (call.bodies()?, call.tell);
    let mut operands = call.args[1..].to_vec();
    if !modes().grad {
        return run(body, &mut operands, tell).map(Value::List);
    }
    let before = origin();
    let policy = body.checkpoint_policy.map_or(Ok(None), enter_checkpoint)?;
    let _asking = policy.map(|policy| Pushed::new(Rc::new(Asking(policy))));
    let tagged = Origin {
        recompute: Some(Recompute::PreferRecompute),
        // A region within another belongs to it.
        checkpoint_region: before.checkpoint_region.or_else(|| Some(next_checkpoint_region())),
        checkpoint_depth: before.checkpoint_depth + 1,
        ..before.clone()
    };
    set_origin(tagged);
    let out = run(body, &mut operands, tell);
    set_origin(before);
    out.map(Value::List)
}
