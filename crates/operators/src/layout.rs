//! Memory formats: which one a tensor's strides suggest, and the strides of one.

use diagnostics::error::Result;
use shape::SymInt;
use tensor::{Geometry, MemoryFormat, Tensor, TensorSpec, contiguous_strides};

/// Channels first among strides: the order in which dimensions lie, innermost last, for 4 and 5 dimensions.
fn channels_last_order(ndim: usize) -> Option<&'static [usize]> {
    match ndim {
        4 => Some(&[0, 2, 3, 1]),
        5 => Some(&[0, 2, 3, 4, 1]),
        _ => None,
    }
}

/// Whether strides say channels-last rather than contiguous, by PyTorch's rule for ambiguous sizes. Reads hints, never guards.
fn is_channels_last(g: &Geometry) -> bool {
    let Some(order) = channels_last_order(g.sizes.len()) else { return false };
    let size = |d: usize| g.sizes[d].hint().unwrap_or(2);
    let stride = |d: usize| g.strides[d].hint().unwrap_or(1);
    if stride(1) == 0 {
        return false;
    }
    let mut least = 0;
    // Channels, then places from the last dimension outwards, then the batch.
    for d in std::iter::once(1).chain(order[1..order.len() - 1].iter().rev().copied()).chain(std::iter::once(0)) {
        if size(d) == 0 || stride(d) < least {
            return false;
        }
        if d == 0 && least == stride(1) {
            return false;
        }
        least = stride(d);
        if size(d) > 1 {
            least *= size(d);
        }
    }
    true
}

/// `t.suggest_memory_format()`
pub fn suggested(t: &Tensor) -> MemoryFormat {
    suggested_of(&t.geometry())
}

/// The same of sizes and strides.
pub fn suggested_of(g: &Geometry) -> MemoryFormat {
    match (is_channels_last(g), g.sizes.len()) {
        (true, 4) => MemoryFormat::ChannelsLast,
        (true, _) => MemoryFormat::ChannelsLast3d,
        _ => MemoryFormat::Contiguous,
    }
}

/// Dense strides of a format.
pub fn strides(sizes: &[SymInt], format: MemoryFormat) -> Vec<SymInt> {
    let order = match format {
        MemoryFormat::ChannelsLast | MemoryFormat::ChannelsLast3d => channels_last_order(sizes.len()),
        _ => None,
    };
    let Some(order) = order else { return contiguous_strides(sizes) };
    let mut strides = vec![SymInt::Int(1); sizes.len()];
    let mut next = SymInt::Int(1);
    for d in order.iter().rev() {
        strides[*d] = next.clone();
        next = &next * &sizes[*d].max(&SymInt::Int(1));
    }
    strides
}

/// A result of the given sizes, dense in a format, with dtype and device of a tensor.
pub fn spec(sizes: Vec<SymInt>, format: MemoryFormat, like: &Tensor) -> TensorSpec {
    let strides = strides(&sizes, format);
    TensorSpec::strided(sizes, strides, like.dtype(), like.device())
}

/// Whether a tensor is dense in a format. May guard.
pub fn is_dense(t: &Tensor, format: MemoryFormat) -> Result<bool> {
    let g = t.geometry();
    for ((size, have), want) in g.sizes.iter().zip(&g.strides).zip(strides(&g.sizes, format)) {
        if !size.sym_eq(1)? && !have.sym_eq(want)? {
            return Ok(false);
        }
    }
    Ok(true)
}
