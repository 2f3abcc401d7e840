//! Dual tensors in levels: made and taken apart in the innermost level that differentiates forward; a `vmap` level within it hides a
//! dimension of both parts.

use super::levels::{Kind, Level, below, current, live, wrap, wrapped};
use autograd::forward;
use diagnostics::error::Result;
use dispatch::BatchedTensor;
use tensor::Tensor;

/// A tensor as one of this level.
fn lifted(t: &Tensor, level: &Level) -> Tensor {
    let t = live(t);
    if wrapped(&t).is_some_and(|w| w.number == level.number) { t } else { wrap(&t, level, None) }
}

/// A dual tensor of a primal and a tangent.
pub fn make_dual(primal: &Tensor, tangent: &Tensor) -> Result<Tensor> {
    match current() {
        Some(level) => match level.kind {
            Kind::Vmap(_) => {
                let inner = |t: &Tensor| below(level.number, || BatchedTensor::of(&live(t), &level).every(&level.size));
                let (primal, tangent) = (inner(primal)?, inner(tangent)?);
                let dual = below(level.number, || make_dual(&primal, &tangent))?;
                Ok(wrap(&dual, &level, Some(0)))
            }
            Kind::Grad | Kind::Jvp => forward::make_dual(&lifted(primal, &level), lifted(tangent, &level)),
        },
        None => forward::make_dual(primal, tangent.clone()),
    }
}

/// A tensor's primal, and its tangent where it has one.
pub fn unpack_dual(t: &Tensor) -> Result<(Tensor, Option<Tensor>)> {
    let Some(level) = current() else { return Ok((forward::primal(t)?, forward::tangent(t)?)) };
    if let Kind::Vmap(..) = level.kind {
        let t = live(t);
        let Some(found) = wrapped(&t).filter(|w| w.number == level.number) else { return below(level.number, || unpack_dual(&t)) };
        let (primal, tangent) = below(level.number, || unpack_dual(&found.value))?;
        return Ok((wrap(&primal, &level, found.batch_dim), tangent.map(|t| wrap(&t, &level, found.batch_dim))));
    }
    let t = lifted(t, &level);
    Ok((forward::primal(&t)?, forward::tangent(&t)?))
}
