//! Sizes that are compared around a call: by the function that PyTorch has it in, or by the call itself.

use super::{Seen, is_symbolic};
use crate::stack::tracing;
use crate::{Call, Key, OpEntry, Value, has_layer};
use diagnostics::error::Result;
use shape::{Relation, SymInt};
use tensor::Tensor;

fn seen() -> Option<Seen> {
    tracing().filter(|_| has_layer(Key::Functionalize)).map(Seen)
}

/// Shapes are brought to one, as `torch.broadcast_shapes` does it.
pub fn ask_broadcast(shapes: &[&[SymInt]]) -> Result<()> {
    seen().map_or(Ok(()), |seen| seen.broadcast(shapes).map(drop))
}

/// Tensors are brought to one shape, as `torch.broadcast_tensors` does it.
pub fn ask_broadcast_all(shapes: &[&[SymInt]]) -> Result<()> {
    let Some(seen) = seen() else { return Ok(()) };
    let common = seen.broadcast(shapes)?;
    shapes.iter().try_for_each(|sizes| seen.should_expand(sizes, &common).map(drop))
}

/// A call is about to be taken by functionalization.
pub fn ask_call(entry: &'static OpEntry, args: &[Value]) -> Result<()> {
    let (Some(seen), Some(t)) = (seen(), args.first().and_then(Value::as_tensor)) else { return Ok(()) };
    let sizes = t.sizes();
    match entry.base_name() {
        "mse_loss" | "l1_loss" | "smooth_l1_loss" | "huber_loss" | "binary_cross_entropy" | "binary_cross_entropy_with_logits" => {
            match args.get(1).and_then(Value::as_tensor) {
                Some(target) => seen.same_shape(&sizes, &target.sizes()),
                None => Ok(()),
            }
        }
        "select" => {
            let call = Call { entry, args };
            let (dim, index) = (call.int("dim")?, call.sym_int("index")?);
            let Some(size) = usize::try_from(if dim < 0 { dim + sizes.len() as i64 } else { dim }).ok().and_then(|d| sizes.get(d)) else {
                return Ok(());
            };
            let before = &SymInt::Int(-1) - &index;
            seen.holds(size, Relation::Gt, &before)?;
            seen.holds(size, Relation::Gt, &index).map(drop)
        }
        _ => Ok(()),
    }
}

/// A view was made: its offset is compared.
pub fn ask_view_made(t: &Tensor) -> Result<()> {
    let Some(seen) = seen().filter(|_| is_symbolic(t) || t.geometry().offset.as_int().is_none()) else { return Ok(()) };
    seen.holds(&t.geometry().offset, Relation::Ge, &SymInt::Int(0)).map(drop)
}
