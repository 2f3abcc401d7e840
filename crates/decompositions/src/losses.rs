//! Losses and their gradients.

use super::expr::*;
use super::table::{Decomposed, Table};
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Call, Value};
use shape::Relation;
use tensor::Tensor;

/// Registers the rules.
pub fn register(table: &mut Table) {
    table.compute("aten.mse_loss.default", |c| reduced(c, power(sub(c.tensor("self")?, c.tensor("target")?)?, 2)?));
    table.compute("aten.mse_loss_backward.default", |c| {
        let (grad, x, y) = pair(c)?;
        let norm = if reduction(c)? == 1 { calculate("truediv", 2.0, numel(x))? } else { Value::Float(2.0) };
        done(mul(mul(sub(x, y)?, norm)?, grad)?)
    });
    table.compute("aten.smooth_l1_loss.default", smooth_l1);
    table.compute("aten.smooth_l1_loss_backward.default", smooth_l1_backward);
    table.compute("aten.huber_loss.default", huber);
    table.compute("aten.huber_loss_backward.default", huber_backward);
    table.compute("aten.binary_cross_entropy.default", cross_entropy);
    table.compute("aten.binary_cross_entropy_backward.default", cross_entropy_backward);
    table.add("aten.binary_cross_entropy_with_logits.default", cross_entropy_with_logits);
    table.compute("aten.soft_margin_loss.default", |c| {
        let (x, y) = (c.tensor("self")?, c.tensor("target")?);
        reduced(c, log1p(&exp(&mul(neg(x)?, y)?)?)?)
    });
    table.compute("aten.soft_margin_loss_backward.default", |c| {
        let (grad, x, y) = pair(c)?;
        let scaled = mul(y, grad)?;
        let made = mul(scaled, sub(sigmoid(&mul(y, x)?)?, 1)?)?;
        if reduction(c)? == 1 { done(div(made, numel(x))?) } else { done(made) }
    });
    table.add("aten.multi_margin_loss.default", multi_margin);
    table.add("aten.nll_loss_forward.default", nll);
    table.add("aten.nll_loss2d_forward.default", nll);
    table.add("aten.nll_loss_backward.default", nll_backward);
    table.add("aten.nll_loss2d_backward.default", nll_backward);
}

fn reduction(c: &Call) -> Result<i64> {
    c.int("reduction")
}

fn pair<'a>(c: &Call<'a>) -> Result<(&'a Tensor, &'a Tensor, &'a Tensor)> {
    Ok((c.tensor("grad_output")?, c.tensor("self")?, c.tensor("target")?))
}

/// A loss per element, as it is, its mean or its sum.
fn reduced(c: &Call, loss: Tensor) -> Decomposed {
    done(match reduction(c)? {
        1 => mean(&loss)?,
        2 => sum_all(&loss)?,
        _ => loss,
    })
}

fn smooth_l1(c: &Call) -> Decomposed {
    let beta = c.float("beta")?;
    let distance = abs(&sub(c.tensor("self")?, c.tensor("target")?)?)?;
    if beta == 0.0 {
        return reduced(c, distance);
    }
    let near = lt(&distance, beta)?;
    let square = div(mul(power(&distance, 2)?, 0.5)?, beta)?;
    let line = sub(&distance, 0.5 * beta)?;
    reduced(c, choose(&near, square, line)?)
}

fn smooth_l1_backward(c: &Call) -> Decomposed {
    let (grad, x, y) = pair(c)?;
    let beta = c.float("beta")?;
    let norm = &if reduction(c)? == 1 { calculate("truediv", 1.0, numel(x))? } else { Value::Float(1.0) };
    let difference = sub(x, y)?;
    let distance = abs(&difference)?;
    let scaled = mul(grad, norm)?;
    let near = lt(distance, beta)?;
    let inside = div(mul(&scaled, &difference)?, beta)?;
    done(choose(&near, inside, mul(scaled, sign(&difference)?)?)?)
}

fn huber(c: &Call) -> Decomposed {
    let delta = c.float("delta")?;
    let distance = abs(&sub(c.tensor("self")?, c.tensor("target")?)?)?;
    let near = lt(&distance, delta)?;
    let square = mul(mul(&distance, 0.5)?, &distance)?;
    let line = mul(sub(&distance, 0.5 * delta)?, delta)?;
    reduced(c, choose(&near, square, line)?)
}

fn huber_backward(c: &Call) -> Decomposed {
    let (grad, x, y) = pair(c)?;
    let delta = c.float("delta")?;
    let norm = &if reduction(c)? == 1 { calculate("truediv", 1.0, numel(x))? } else { Value::Float(1.0) };
    let difference = sub(x, y)?;
    let below = lt(&difference, -delta)?;
    let left = mul(mul(grad, negated(norm)?)?, delta)?;
    let above = gt(&difference, delta)?;
    let right = mul(mul(grad, norm)?, delta)?;
    let inside = mul(mul(&difference, norm)?, grad)?;
    done(choose(&below, left, choose(&above, right, inside)?)?)
}

fn cross_entropy(c: &Call) -> Decomposed {
    let (x, y) = (c.tensor("self")?, c.tensor("target")?);
    // Logarithms are kept from minus infinity.
    let bounded = |t: Tensor| {
        let least = new_full(x, Vec::<i64>::new(), -100)?;
        maximum(t, least)
    };
    let rest = sub(y, 1)?;
    let left = mul(rest, bounded(log1p(&neg(x)?)?)?)?;
    let loss = sub(left, mul(y, bounded(log(x)?)?)?)?;
    let loss = c.opt_tensor("weight").map_or_else(|| Ok(loss.clone()), |w| mul(&loss, w))?;
    reduced(c, loss)
}

fn cross_entropy_backward(c: &Call) -> Decomposed {
    let (grad, x, y) = pair(c)?;
    let left = mul(grad, sub(x, y)?)?;
    let room = mul(x, sub(1, x)?)?;
    let mut made = div(left, t!("clamp_min", room, 1e-12)?)?;
    if let Some(weight) = c.opt_tensor("weight") {
        made = mul(made, weight)?;
    }
    if reduction(c)? == 1 { done(div(made, numel(x))?) } else { done(made) }
}

fn cross_entropy_with_logits(c: &Call) -> Decomposed {
    let (x, y) = (c.tensor("self")?, c.tensor("target")?);
    let log_sigmoid = || t!("log_sigmoid", x);
    let mut loss = match c.opt_tensor("pos_weight") {
        Some(weight) => {
            let weight = add(mul(sub(weight, 1)?, y)?, 1)?;
            let rest = mul(sub(1, y)?, x)?;
            sub(rest, mul(weight, log_sigmoid()?)?)?
        }
        None => {
            let rest = mul(sub(1, y)?, x)?;
            sub(rest, log_sigmoid()?)?
        }
    };
    if let Some(weight) = c.opt_tensor("weight") {
        loss = mul(loss, weight)?;
    }
    reduced(c, loss)
}

fn multi_margin(c: &Call) -> Decomposed {
    let (x, target, p) = (c.tensor("self")?, c.tensor("target")?, c.get("p"));
    if x.dim() != 2 || c.opt_tensor("weight").is_some() || !matches!(p.float()?, 1.0 | 2.0) {
        return Ok(None);
    }
    let target = t!("unsqueeze", target, 1)?;
    let own = t!("gather", x, 1, &target)?;
    let margin = if matches!(c.get("margin"), Value::Float(m) if *m == 1.0) { &Value::Int(1.into()) } else { c.get("margin") };
    let mut z = t!("clamp_min", add(sub(margin, own)?, x)?, 0)?;
    if p.float()? == 2.0 {
        z = mul(&z, &z)?;
    }
    let places = iota(x.size(1), 0, 1, tensor::Dtype::Int64, x.device())?;
    let others = t!("ne.Tensor", places, target)?;
    let z = choose(&others, z, 0)?;
    match reduction(c)? {
        1 => done(mean(&z)?),
        2 => done(sum_all(&z)?),
        _ => done(div(sum(&z, vec![1i64], false)?, z.size(1))?),
    }
}

/// A weight per class, as a row among the dimensions of scores.
fn weight_row(weight: &Tensor, ndim: usize, channel: usize) -> Result<Tensor> {
    let mut shape = vec![Value::from(1); ndim];
    shape[channel] = Value::Int(weight.size(0));
    t!("view", weight, Value::List(shape))
}

fn nll(c: &Call) -> Decomposed {
    let (mut x, target, ignored) = (c.tensor("self")?.clone(), c.tensor("target")?, c.get("ignore_index"));
    let channel = usize::from(x.dim() >= 2);
    if x.dim() > 1 {
        dispatch::compare_sizes(&x.size(0), Relation::Eq, &target.size(0))?;
    }
    let row = match c.opt_tensor("weight") {
        Some(weight) if x.dim() > 1 => Some(weight_row(weight, x.dim(), channel)?),
        weight => weight.cloned(),
    };
    if let Some(row) = &row {
        x = mul(&x, row)?;
    }
    let counts = || ne(target, ignored);
    let safe = t!("unsqueeze", choose(&counts()?, target, 0)?, channel)?;
    let picked = |t: &Tensor| t!("squeeze.dim", t!("gather", t, channel, &safe)?, channel);
    let loss = neg(&picked(&x)?)?;
    let loss = choose(&counts()?, loss, 0)?;
    let reduction = reduction(c)?;
    if reduction == 0 && x.dim() > 1 {
        return all(vec![loss.into(), new_full(&x, Vec::<i64>::new(), 0.0)?.into()]);
    }
    let total = match &row {
        Some(row) => {
            let weights = picked(&t!("expand", row, x.sizes())?)?;
            sum_all(&choose(&counts()?, weights, 0)?)?
        }
        None => t!("_to_copy", sum_all(&counts()?)?; dtype = x.dtype(), device = x.device())?,
    };
    let loss = match reduction {
        1 => div(sum_all(&loss)?, &total)?,
        2 => sum_all(&loss)?,
        _ => loss,
    };
    all(vec![loss.into(), total.into()])
}

fn nll_backward(c: &Call) -> Decomposed {
    let (mut grad, x, ignored) = (c.tensor("grad_output")?.clone(), c.tensor("self")?, c.get("ignore_index"));
    let channel = usize::from(x.dim() >= 2);
    if reduction(c)? == 1 {
        grad = div(&grad, c.tensor("total_weight")?)?;
    }
    let mut target = c.tensor("target")?.clone();
    if x.dim() == 1 && target.dim() > 0 {
        target = t!("select.int", target, 0, 0)?;
    }
    let target = t!("unsqueeze", target, channel)?;
    let safe = choose(&ne(&target, ignored)?, &target, 0)?;
    let hits = t!("scatter.value", t!("zeros_like", x; pin_memory = false)?, channel, safe, -1.0)?;
    if hits.dim() > grad.dim() && grad.dim() > 0 {
        grad = t!("unsqueeze", grad, channel)?;
    }
    if let Some(weight) = c.opt_tensor("weight") {
        let mut shape = vec![Value::from(1); x.dim()];
        shape[channel] = Value::Int(weight.size(0));
        grad = mul(grad, t!("reshape", weight, Value::List(shape))?)?;
    }
    let grad = choose(&ne(&target, ignored)?, grad, 0)?;
    done(mul(hits, grad)?)
}
