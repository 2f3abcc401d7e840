//! What a pointwise operator that writes refuses: a target whose elements share memory, and an argument that shares some of its
//! memory with the target, which would be read after it was written. Where it can't be told, the write is done, part by part.

use super::{OpEntry, OpRef, Value};
use diagnostics::error::{Error, Result};
use shape::SymInt;
use tensor::{Geometry, Tensor};

/// Numbers of a tensor in memory: where it starts and ends, in bytes, if its elements fill a stretch without gaps or overlaps.
fn stretch(t: &Tensor) -> Result<Option<(usize, usize)>> {
    let c = t.concrete()?;
    let mut dims: Vec<(isize, usize)> = c.strides.iter().copied().zip(c.sizes.iter().copied()).filter(|(_, size)| *size != 1).collect();
    dims.sort_unstable();
    let mut expected = 1;
    for (stride, size) in dims {
        if stride != expected {
            return Ok(None);
        }
        expected *= size as isize;
    }
    let bytes = t.dtype().itemsize();
    Ok(Some((c.offset * bytes, (c.offset + c.numel()) * bytes)))
}

fn refuse(what: &str) -> Result<()> {
    Err(Error::runtime(format!(
        "unsupported operation: {what} a single memory location. Please clone() the tensor before performing the operation."
    )))
}

/// Checks a call that writes the result of `functional` into `target`: in place, or given as `out=`; `read` are the values that it
/// reads.
pub fn check_overlap(functional: &OpEntry, target: &Tensor, read: &[Value]) -> Result<()> {
    // Filling reads nothing, and every element gets the same value.
    static FILLING: [OpRef; 2] = [OpRef::new("masked_fill.Scalar"), OpRef::new("masked_fill.Tensor")];
    static CHECKED: [OpRef; 3] = [OpRef::new("copy"), OpRef::new("cumsum"), OpRef::new("cumprod")];
    let is_any = |of: &[OpRef]| of.iter().any(|op| op.is(functional));
    if is_any(&FILLING) || !(functional.is_elementwise() || is_any(&CHECKED)) {
        return Ok(());
    }
    let c = target.concrete()?;
    if c.numel() == 0 {
        return Ok(());
    }
    if c.sizes.iter().zip(&c.strides).any(|(size, stride)| *size > 1 && *stride == 0) {
        return refuse("more than one element of the written-to tensor refers to");
    }
    let Some((start, end)) = stretch(target)? else { return Ok(()) };
    for other in read.iter().filter_map(Value::as_tensor) {
        if other.is(target) || !other.storage().same(&target.storage()) {
            continue;
        }
        let Some((from, to)) = stretch(other)? else { continue };
        let is_whole = (from, to) == (start, end);
        if from == to || to <= start || end <= from || (is_whole && other.concrete()?.strides == c.strides) {
            continue;
        }
        return refuse("some elements of the input tensor and the written-to tensor refer to");
    }
    Ok(())
}

/// Whether two elements of a target may have the same place in memory, other than by a stride of zero.
fn may_meet(sizes: &[usize], strides: &[isize]) -> bool {
    let mut dims: Vec<(usize, usize)> =
        sizes.iter().zip(strides).filter(|(size, _)| **size > 1).map(|(size, stride)| (stride.unsigned_abs(), *size)).collect();
    dims.sort_unstable();
    let mut reach = 0;
    dims.iter().any(|(stride, size)| {
        let meets = *stride <= reach;
        reach += stride * (size - 1);
        meets
    })
}

/// The calls that a pointwise write to a target is done by whose elements may have the same place in memory: a row at a time, in
/// the order in which PyTorch goes through memory, so that what a row reads has been written by those before. `None` where all
/// elements have places of their own.
pub(super) fn rows(target: &Tensor, args: &[Value]) -> Result<Option<Vec<Vec<Value>>>> {
    let c = target.concrete()?;
    if c.sizes.len() < 2 || c.numel() == 0 || !may_meet(&c.sizes, &c.strides) {
        return Ok(None);
    }
    // The smallest step is taken first.
    let mut order: Vec<usize> = (0..c.sizes.len()).collect();
    order.sort_by_key(|d| (c.strides[*d].unsigned_abs(), c.sizes[*d], c.sizes.len() - d));
    let (inner, outer) = (order[0], &order[1..]);
    let mut row = vec![0usize; c.sizes.len()];
    let mut rows = Vec::new();
    loop {
        let part = |t: &Tensor| -> Result<Tensor> {
            let own = t.concrete()?;
            let first = c.sizes.len().checked_sub(own.sizes.len()).filter(|_| !own.sizes.is_empty());
            let Some(first) = first else { return Ok(t.clone()) };
            // A dimension that is not there, or of one element, is read again and again.
            let stride = |d: usize| d.checked_sub(first).filter(|d| own.sizes[*d] != 1).map_or(0, |d| own.strides[d]);
            let offset = own.offset as isize + outer.iter().map(|d| row[*d] as isize * stride(*d)).sum::<isize>();
            Ok(t.view_as(Geometry {
                sizes: vec![SymInt::Int(c.sizes[inner] as i64)],
                strides: vec![SymInt::Int(stride(inner) as i64)],
                offset: SymInt::Int(offset as i64),
            }))
        };
        rows.push(args.iter().map(|v| v.map_tensors(&mut |t| part(t))).collect::<Result<_>>()?);
        let Some(next) = outer.iter().position(|d| row[*d] + 1 < c.sizes[*d]) else { return Ok(Some(rows)) };
        outer[..next].iter().for_each(|d| row[*d] = 0);
        row[outer[next]] += 1;
    }
}
