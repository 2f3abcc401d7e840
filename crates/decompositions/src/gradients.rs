//! Backward operators of pointwise functions.

use super::expr::*;
use super::pointwise::{TANH_GELU, softplus};
use super::table::{Decomposed, Table};
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Call, Value};
use std::f64::consts::FRAC_1_SQRT_2;
use tensor::Tensor;

/// Registers the rules.
pub fn register(table: &mut Table) {
    table.compute("aten.tanh_backward.default", |c| {
        let (grad, out) = (c.tensor("grad_output")?, c.tensor("output")?);
        done(mul(grad, sub(1, mul(out, out)?)?)?)
    });
    table.compute("aten.sigmoid_backward.default", |c| {
        let (grad, out) = (c.tensor("grad_output")?, c.tensor("output")?);
        done(mul(grad, mul(out, sub(1, out)?)?)?)
    });
    table.compute("aten.silu_backward.default", |c| {
        let (grad, x) = (c.tensor("grad_output")?, c.tensor("self")?);
        let s = sigmoid(x)?;
        let scaled = mul(grad, &s)?;
        done(mul(scaled, add(mul(x, sub(1, &s)?)?, 1)?)?)
    });
    table.compute("aten.gelu_backward.default", gelu);
    table.compute("aten.hardsigmoid_backward.default", |c| {
        let (grad, x) = (c.tensor("grad_output")?, c.tensor("self")?);
        let inside = and(gt(x, -3.0)?, lt(x, 3.0)?)?;
        done(choose(&inside, mul(grad, 1.0 / 6.0)?, 0.0)?)
    });
    table.compute("aten.hardswish_backward.default", |c| {
        let (grad, x) = (c.tensor("grad_output")?, c.tensor("self")?);
        let (below, inside) = (le(x, -3)?, lt(x, 3)?);
        let value = mul(grad, add(div(x, 3)?, 0.5)?)?;
        done(choose(&below, 0.0, choose(&inside, value, grad)?)?)
    });
    table.compute("aten.mish_backward.default", |c| {
        let (grad, x) = (c.tensor("grad_output")?, c.tensor("self")?);
        let t = tanh(&softplus(x, &Value::from(1), &Value::from(20))?)?;
        let slope = mul(mul(x, sigmoid(x)?)?, sub(1, mul(&t, &t)?)?)?;
        done(mul(grad, add(&t, slope)?)?)
    });
    table.add("aten.threshold_backward.default", |c| {
        let (grad, x) = (c.tensor("grad_output")?, c.tensor("self")?);
        done(choose(&le(x, c.get("threshold"))?, 0, grad)?)
    });
    table.compute("aten.leaky_relu_backward.default", |c| {
        let (grad, x) = (c.tensor("grad_output")?, c.tensor("self")?);
        let positive = gt(x, 0)?;
        done(choose(&positive, grad, mul(grad, c.get("negative_slope"))?)?)
    });
    table.compute("aten.elu_backward.default", elu);
    table.compute("aten.hardtanh_backward.default", |c| {
        let (grad, x) = (c.tensor("grad_output")?, c.tensor("self")?);
        let outside = or(le(x, c.get("min_val"))?, ge(x, c.get("max_val"))?)?;
        done(choose(&outside, 0.0, grad)?)
    });
    table.compute("aten.softplus_backward.default", |c| {
        let (grad, x, beta) = (c.tensor("grad_output")?, c.tensor("self")?, c.get("beta"));
        let z = exp(&mul(x, beta)?)?;
        let far = gt(mul(x, beta)?, c.get("threshold"))?;
        let scaled = mul(grad, &z)?;
        done(choose(&far, grad, div(scaled, add(&z, 1.0)?)?)?)
    });
    table.compute("aten.log_sigmoid_backward.default", |c| {
        let (grad, x) = (c.tensor("grad_output")?, c.tensor("self")?);
        let negative = lt(x, 0)?;
        let (slope, side) = (choose(&negative, 1, 0)?, choose(&negative, 1, -1)?);
        let kept = c.tensor("buffer")?;
        let z = if kept.numel().as_int() == Some(0) { exp(&neg(&abs(x)?)?)? } else { kept.clone() };
        let quotient = div(&z, add(&z, 1)?)?;
        done(mul(grad, sub(slope, mul(side, quotient)?)?)?)
    });
    table.compute("aten.logit_backward.default", logit);
    table.compute("aten.glu_backward.default", glu);
    table.add("aten._prelu_kernel_backward.default", |c| {
        let (grad, x, weight) = (c.tensor("grad_output")?, c.tensor("self")?, c.tensor("weight")?);
        let positive = gt(x, 0)?;
        let of_input = choose(&positive, grad, mul(weight, grad)?)?;
        let positive = gt(x, 0)?;
        all(vec![of_input.into(), choose(&positive, 0.0, mul(x, grad)?)?.into()])
    });
    table.compute("aten.rrelu_with_noise_backward.default", rrelu);
}

/// The normal distribution's value and slope.
fn gelu(c: &Call) -> Decomposed {
    let (grad, x) = (c.tensor("grad_output")?, c.tensor("self")?);
    if c.str("approximate")? == "tanh" {
        return done(mul(grad, tanh_gelu(x)?)?);
    }
    let below = mul(add(erf(&mul(x, FRAC_1_SQRT_2)?)?, 1)?, 0.5)?;
    let density = mul(exp(&mul(mul(x, x)?, -0.5)?)?, 0.398_942_280_401_432_7)?;
    done(mul(grad, add(below, mul(x, density)?)?)?)
}

fn tanh_gelu(x: &Tensor) -> Result<Tensor> {
    let (factor, cubic) = TANH_GELU;
    let square = mul(x, x)?;
    let cube = mul(&square, x)?;
    let t = tanh(&mul(add(x, mul(cube, cubic)?)?, factor)?)?;
    let left = mul(x, 0.5)?;
    let right = mul(add(&t, 1)?, 0.5)?;
    let slope = sub(1, mul(&t, &t)?)?;
    let inner = mul(add(mul(&square, 3.0 * cubic)?, 1)?, factor)?;
    add(right, mul(mul(left, slope)?, inner)?)
}

fn elu(c: &Call) -> Decomposed {
    let (grad, x) = (c.tensor("grad_output")?, c.tensor("self_or_result")?);
    let (alpha, scale, input_scale) = (c.get("alpha"), c.get("scale"), c.get("input_scale"));
    let times = |a: &Value, b: &Value| match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a * b),
        _ => Value::Float(a.float().unwrap_or(1.0) * b.float().unwrap_or(1.0)),
    };
    let negative_factor = times(alpha, scale);
    let negative = le(x, 0)?;
    let scaled = mul(grad, input_scale)?;
    let below = if c.bool("is_result")? {
        mul(scaled, add(x, negative_factor)?)?
    } else {
        mul(mul(scaled, negative_factor)?, exp(&mul(x, input_scale)?)?)?
    };
    done(choose(&negative, below, mul(grad, scale)?)?)
}

fn logit(c: &Call) -> Decomposed {
    let (grad, x) = (c.tensor("grad_output")?, c.tensor("self")?);
    let has_eps = !c.get("eps").is_none();
    let low = if has_eps { c.float("eps")? } else { 0.0 };
    let inside = t!("logical_and", ge(x, low)?, le(x, 1.0 - low)?)?;
    let value = div(grad, mul(x, sub(1.0, x)?)?)?;
    if has_eps {
        return done(choose(&inside, value, 0.0)?);
    }
    done(choose(&inside, value, new_full(x, Vec::<i64>::new(), f64::NAN)?)?)
}

fn glu(c: &Call) -> Decomposed {
    let (grad, x) = (c.tensor("grad_output")?, c.tensor("self")?);
    let dim = operators::shapes::wrap_dim(c.int("dim")?, x.dim())?;
    let half = x.size(dim).guard_int()? / 2;
    let (first, second) = (t!("slice.Tensor", x, dim, 0, half)?, t!("slice.Tensor", x, dim, half, 2 * half)?);
    let gate = sigmoid(&second)?;
    let of_second = mul(mul(mul(sub(1.0, &gate)?, &gate)?, first)?, grad)?;
    let of_first = mul(gate, grad)?;
    done(t!("cat", vec![of_first, of_second], dim)?)
}

fn rrelu(c: &Call) -> Decomposed {
    let (grad, noise) = (c.tensor("grad_output")?, c.tensor("noise")?);
    let (lower, upper) = (c.float("lower")?, c.float("upper")?);
    if c.bool("training")? && upper - lower > 1e-6 {
        return done(mul(grad, noise)?);
    }
    let x = c.tensor("self")?;
    done(t!("leaky_relu_backward", grad, x, (lower + upper) / 2.0, c.get("self_is_result"))?)
}
