//! How the elements of a traced value lie in memory.
//!
//! PyTorch's tracer notes of every value in which memory format it lies, and asks its sizes and strides for that: a size that is not
//! known to differ from one is compared with one, and the answer is a condition of the graph.

use crate::error::Result;
use crate::shape::{Relation, SymInt};
use crate::tensor::{Geometry, Tensor};

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
