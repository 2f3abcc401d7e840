//! What is said where shapes do not fit while something is traced: PyTorch's rules for fake tensors are Python, and word it their way.

use super::shapes::broadcast;
use diagnostics::error::{Error, Result};
use dispatch::OpEntry;
use shape::SymInt;
use tensor::Tensor;

/// Pointwise operators that PyTorch has a short way for where sizes are symbolic.
const SHORT_WAY: [&str; 4] = ["aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.div.Tensor"];

/// Whether one size stands for the other when they meet.
fn fits(a: &SymInt, b: &SymInt) -> bool {
    a.hint() == Some(1) || b.hint() == Some(1) || a.hint() == b.hint()
}

/// The size in a dimension counted from the end; a missing one is one.
fn from_end(sizes: &[SymInt], i: usize) -> SymInt {
    sizes.len().checked_sub(i).and_then(|d| sizes.get(d).cloned()).unwrap_or(SymInt::Int(1))
}

/// The shape that traced tensors broadcast to, or what PyTorch says of the first that does not fit.
pub fn broadcast_traced(tensors: &[&Tensor]) -> Result<Vec<SymInt>> {
    let shapes: Vec<Vec<SymInt>> = tensors.iter().map(|t| t.sizes()).collect();
    broadcast(&shapes).map_err(|error| {
        let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
        let mut common = vec![SymInt::Int(1); rank];
        for (position, shape) in shapes.iter().enumerate() {
            for i in 1..=shape.len() {
                let (own, at) = (from_end(shape, i), rank - i);
                if !fits(&own, &common[at]) {
                    return Error::runtime(format!(
                        "Attempting to broadcast a dimension of length {own} at -{i}! Mismatching argument at index {position} had torch.Size({shape:?}); but expected shape should be broadcastable to {common:?}"
                    ));
                }
                if common[at].hint() == Some(1) {
                    common[at] = own;
                }
            }
        }
        error
    })
}

/// The error of an operator of two tensors that do not fit, where PyTorch takes the short way.
pub fn of_two(entry: &OpEntry, tensors: &[&Tensor], error: Error) -> Error {
    let [a, b] = tensors else { return error };
    let (a, b) = (a.sizes(), b.sizes());
    let is_symbolic = a.iter().chain(&b).any(|s| s.as_int().is_none());
    if !is_symbolic || !SHORT_WAY.contains(&entry.name) {
        return error;
    }
    let rank = a.len().max(b.len());
    let wrong = (1..=rank).find(|i| !fits(&from_end(&a, *i), &from_end(&b, *i)));
    wrong.map_or(error, |i| {
        Error::runtime(format!(
            "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {})",
            from_end(&a, i),
            from_end(&b, i),
            rank - i
        ))
    })
}

/// The error of a traced tensor that is to be expanded to sizes that it does not fit.
pub fn of_expanding(own: &[SymInt], wanted: &[SymInt], error: Error) -> Error {
    let Some(lead) = wanted.len().checked_sub(own.len()) else { return error };
    let wrong = own
        .iter()
        .zip(&wanted[lead..])
        .find(|(have, want)| want.as_int() != Some(-1) && have.hint() != Some(1) && have.hint() != want.hint());
    wrong.map_or(error, |(have, want)| Error::runtime(format!("expand: attempting to expand a dimension of length {have} -> {want}!")))
}
