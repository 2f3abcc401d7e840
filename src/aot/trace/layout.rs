//! How the elements of a traced value lie in memory.
//!
//! PyTorch's tracer notes of every value in which memory format it lies, and asks its sizes and strides for that: a size that is not
//! known to differ from one is compared with one, and the answer is a condition of the graph.

use super::Tracer;
use crate::dispatch::{Fact, OpEntry, Value};
use crate::error::Result;
use crate::shape::{Relation, SymInt};
use crate::tensor::{Geometry, Tensor, contiguous_strides};

/// Calls whose result PyTorch's fake tensors have without the general rule, where operands lie in order: those are asked for that,
/// and the result is known to lie so. The tracer does not see it.
const SHORTCUTS: [&str; 4] = ["aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.div.Tensor"];

fn is_known_contiguous(t: &Tensor) -> bool {
    let g = t.geometry();
    SymInt::all_statically_eq(&g.strides, &contiguous_strides(&g.sizes))
}

impl Tracer {
    /// Notes what a call makes known of its operands and its result.
    pub(super) fn note_order(&self, entry: &OpEntry, args: &[Value], result: &Value) {
        let (true, Value::Tensor(result)) = (SHORTCUTS.contains(&entry.name), result) else { return };
        let operands: Vec<&Tensor> = args.iter().take(2).filter_map(Value::as_tensor).collect();
        if !operands.iter().any(|t| SymInt::all_statically_eq(&t.sizes(), &result.sizes())) {
            return;
        }
        let mut facts = self.facts.borrow_mut();
        for operand in operands {
            facts.insert((operand.id(), Fact::Contiguity));
            if !is_known_contiguous(operand) {
                return;
            }
        }
        facts.insert((result.id(), Fact::Contiguity));
    }
}

/// Looks for the memory format of a value: in order, with the channels last of images, of volumes.
pub(super) fn look_for_format(t: &Tensor) -> Result<()> {
    let g = t.geometry();
    if g.sizes.iter().chain(&g.strides).all(|s| s.as_int().is_some()) {
        return Ok(());
    }
    if is_contiguous(&g)? || (g.sizes.len() == 4 && lies_as(&g, &[1, 3, 2, 0])?) || g.sizes.len() != 5 {
        return Ok(());
    }
    lies_as(&g, &[1, 4, 3, 2, 0]).map(drop)
}

fn is_contiguous(g: &Geometry) -> Result<bool> {
    if crate::shape::numel(&g.sizes).holds_or(Relation::Lt, &SymInt::Int(2), false)? {
        return Ok(true);
    }
    let one = SymInt::Int(1);
    // Strides of new tensors are products of sizes that are at least one, others products of sizes.
    let (mut expected, mut at_least_one) = (one.clone(), one.clone());
    for (size, stride) in g.sizes.iter().zip(&g.strides).rev() {
        if size.holds_or(Relation::Eq, &one, false)? {
            continue;
        }
        if stride.holds_or(Relation::Ne, &expected, true)? && stride.holds_or(Relation::Ne, &at_least_one, true)? {
            return Ok(false);
        }
        at_least_one = &at_least_one * &size.max(&one);
        expected = &expected * size;
    }
    Ok(true)
}

fn lies_as(g: &Geometry, order: &[usize]) -> Result<bool> {
    let one = SymInt::Int(1);
    let mut expected = one.clone();
    for d in order {
        let (Some(size), Some(stride)) = (g.sizes.get(*d), g.strides.get(*d)) else { return Ok(false) };
        if size.holds_or(Relation::Eq, &one, false)? {
            continue;
        }
        if stride.holds_or(Relation::Ne, &expected, true)? {
            return Ok(false);
        }
        expected = &expected * size;
    }
    Ok(true)
}
