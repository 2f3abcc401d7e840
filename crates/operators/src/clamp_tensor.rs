//! The derivative of `clamp` with tensor bounds: three gradients that share ties evenly.

use super::activation::tied_after;
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Backward, Grads};
use tensor::Tensor;

/// Gradients of the bounds first, then of the operand, in PyTorch's order.
pub fn backward(b: &Backward) -> Result<Grads> {
    let (g, x) = (b.grad()?, b.saved("self")?);
    let mut grads = Grads::new(b);
    match (b.opt_saved("min")?, b.opt_saved("max")?) {
        (Some(min), Some(max)) => both(b, g, x, min, max, &mut grads)?,
        (Some(min), None) => {
            grads.set(b, "min", || tied_after(g, x, min, || t!("gt.Tensor", x, min)))?;
            grads.set(b, "self", || tied_after(g, x, min, || t!("lt.Tensor", x, min)))?;
        }
        (None, Some(max)) => {
            grads.set(b, "max", || tied_after(g, x, max, || t!("lt.Tensor", x, max)))?;
            grads.set(b, "self", || tied_after(g, x, max, || t!("gt.Tensor", x, max)))?;
        }
        (None, None) => grads.put(b, "self", Some(g.clone()))?,
    }
    Ok(grads)
}

fn both(b: &Backward, g: &Tensor, x: &Tensor, min: &Tensor, max: &Tensor, grads: &mut Grads) -> Result<()> {
    if b.needs("min") || b.needs("max") {
        let ordered = t!("lt.Tensor", min, max)?;
        let equal = t!("eq.Tensor", min, max)?;
        grads.set(b, "min", || {
            let low = t!("logical_and", &ordered, t!("le.Tensor", x, min)?)?;
            let tie = t!("logical_and", &equal, t!("lt.Tensor", x, min)?)?;
            let keep = t!("logical_or", low, tie)?;
            let drop = t!("logical_not", keep)?;
            let half = t!("div.Scalar", g, 2)?;
            let shared = t!("where.self", t!("eq.Tensor", x, min)?, half, g)?;
            t!("masked_fill.Scalar", shared, drop, 0)
        })?;
        grads.set(b, "max", || {
            let crossed = t!("lt.Tensor", max, min)?;
            let high = t!("logical_and", &ordered, t!("ge.Tensor", x, max)?)?;
            let keep = t!("logical_or", crossed, high)?;
            let tie = t!("logical_and", &equal, t!("gt.Tensor", x, max)?)?;
            let drop = t!("logical_not", t!("logical_or", keep, tie)?)?;
            let half = t!("div.Scalar", g, 2)?;
            let at_max = t!("logical_and", t!("eq.Tensor", x, max)?, &ordered)?;
            let shared = t!("where.self", at_max, half, g)?;
            t!("masked_fill.Scalar", shared, drop, 0)
        })?;
    }
    grads.set(b, "self", || {
        let ordered = t!("lt.Tensor", min, max)?;
        let (at_min, at_max) = (t!("eq.Tensor", x, min)?, t!("eq.Tensor", x, max)?);
        let tie = t!("logical_and", t!("logical_or", at_min, at_max)?, ordered)?;
        let (below, above) = (t!("lt.Tensor", x, min)?, t!("gt.Tensor", x, max)?);
        let outside = t!("logical_or", below, above)?;
        let half = t!("div.Scalar", g, 2)?;
        let shared = t!("where.self", tie, half, g)?;
        t!("masked_fill.Scalar", shared, outside, 0)
    })
}
