//! What a pointwise operator that writes refuses: a target whose elements share memory, and an argument that shares some of its
//! memory with the target, which would be read after it was written.

use super::{OpEntry, OpRef, Value};
use diagnostics::error::{Error, Result};
use tensor::Tensor;

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
