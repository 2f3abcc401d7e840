//! Pointwise functions.

use super::expr::*;
use super::table::{Decomposed, Table, computation_dtype};
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Call, Value};
use operators::shapes::result_type;
use std::f64::consts::{FRAC_1_SQRT_2, LOG2_E, PI};
use tensor::{Dtype, MemoryFormat, Tensor};

/// The factors of `gelu` with `tanh`: the square root of two over pi, and that of the cube. Source: Hendrycks and Gimpel.
pub const TANH_GELU: (f64, f64) = (0.797_884_560_802_865_4, 0.044715);

/// Registers the rules.
pub fn register(table: &mut Table) {
    activations(table);
    table.float("aten.special_entr.default", entr);
    table.add("aten.special_log_ndtr.default", log_ndtr);
    table.float("aten.logit.default", logit);
    table.add("aten.nan_to_num.default", nan_to_num);
    table.compute("aten.frac.default", |c| {
        let x = c.tensor("self")?;
        done(sub(x, t!("trunc", x)?)?)
    });
    table.float("aten.deg2rad.default", |c| done(mul(c.tensor("self")?, PI / 180.0)?));
    table.float("aten.rad2deg.default", |c| done(mul(c.tensor("self")?, 180.0 / PI)?));
    table.float("aten.sinc.default", |c| {
        let x = mul(c.tensor("self")?, PI)?;
        let at_zero = eq(&x, 0)?;
        let quotient = div(t!("sin", &x)?, &x)?;
        done(choose(&at_zero, 1, quotient)?)
    });
    table.add("aten.angle.default", angle);
    table.add("aten.isposinf.default", |c| infinite(c, f64::INFINITY));
    table.add("aten.isneginf.default", |c| infinite(c, f64::NEG_INFINITY));
    table.add("aten.round.decimals", |c| {
        let scale = 10f64.powi(c.int("decimals")? as i32);
        done(mul(t!("round", mul(c.tensor("self")?, scale)?)?, 1.0 / scale)?)
    });
    table.add("aten.clamp.default", |c| {
        let (x, min, max) = (c.tensor("self")?, c.get("min"), c.get("max"));
        // Bounds count among what is promoted.
        let values: Vec<&Value> = [c.get("self"), min, max].into_iter().filter(|v| !v.is_none()).collect();
        let result = result_type(&values)?;
        done(cast(&clamp(&cast(x, computation_dtype(result))?, min, max)?, result)?)
    });
    table.compute("aten.clamp.Tensor", clamp_tensors);
    table.add("aten.rsub.Scalar", reversed);
    table.add("aten.rsub.Tensor", reversed);
    table.float("aten.logaddexp.default", |c| logaddexp(c, false));
    table.float("aten.logaddexp2.default", |c| logaddexp(c, true));
    for name in ["aten.xlogy.Tensor", "aten.xlogy.Scalar_Self", "aten.xlogy.Scalar_Other"] {
        table.float(name, |c| times_log(c, |y| t!("log", y)));
    }
    for name in ["aten.special_xlog1py.default", "aten.special_xlog1py.self_scalar", "aten.special_xlog1py.other_scalar"] {
        table.float(name, |c| times_log(c, |y| t!("log1p", y)));
    }
    table.add("aten.heaviside.default", |c| {
        let x = c.tensor("self")?;
        let at_zero = eq(x, 0)?;
        let below = t!("logical_or", lt(x, 0)?, isnan(x)?)?;
        done(cast(&choose(&at_zero, c.tensor("values")?, choose(&below, 0, 1)?)?, x.dtype())?)
    });
    table.add("aten.fmin.default", |c| ignoring_nan(c, |other, x| t!("gt.Tensor", other, x)));
    table.add("aten.fmax.default", |c| ignoring_nan(c, |other, x| t!("lt.Tensor", other, x)));
    for name in ["aten.floor_divide.default", "aten.floor_divide.Scalar"] {
        table.add(name, |c| done(t!("div.Tensor_mode", c.get("self"), c.get("other"); rounding_mode = "floor")?));
    }
    table.add("aten.lerp.Scalar", lerp_number);
    table.add("aten.lerp.Tensor", lerp);
    table.add("aten.masked_fill.Scalar", |c| masked_fill(c, number_of(c.get("value"), c.tensor("self")?.dtype())));
    table.add("aten.masked_fill.Tensor", |c| masked_fill(c, cast(c.tensor("value")?, c.tensor("self")?.dtype())?.into()));
}

fn activations(table: &mut Table) {
    table.compute("aten.silu.default", |c| {
        let x = c.tensor("self")?;
        done(div(x, add(exp(&neg(x)?)?, 1)?)?)
    });
    table.compute("aten.gelu.default", gelu);
    table.compute("aten.elu.default", |c| {
        let (x, alpha, scale, input_scale) = (c.tensor("self")?, c.float("alpha")?, c.float("scale")?, c.float("input_scale")?);
        let positive = gt(x, 0)?;
        let above = mul(x, scale)?;
        done(choose(&positive, above, mul(expm1(&mul(x, input_scale)?)?, alpha * scale)?)?)
    });
    table.float("aten.celu.default", |c| {
        let (x, alpha) = (c.tensor("self")?, c.float("alpha")?);
        let below = if alpha == 1.0 { expm1(x)? } else { mul(expm1(&div(x, alpha)?)?, alpha)? };
        done(choose(&gt(x, 0)?, x, below)?)
    });
    table.compute("aten.hardtanh.default", |c| done(clamp(c.tensor("self")?, c.get("min_val"), c.get("max_val"))?));
    table.compute("aten.leaky_relu.default", |c| {
        let x = c.tensor("self")?;
        let positive = gt(x, 0)?;
        done(choose(&positive, x, mul(x, c.get("negative_slope"))?)?)
    });
    table.compute("aten.softplus.default", |c| done(softplus(c.tensor("self")?, c.get("beta"), c.get("threshold"))?));
    table.compute("aten.softshrink.default", |c| {
        let (x, lambda) = (c.tensor("self")?, c.get("lambd"));
        let outside = gt(abs(x)?, lambda)?;
        let shrunk = sub(x, mul(sign(x)?, lambda)?)?;
        done(choose(&outside, shrunk, mul(x, 0)?)?)
    });
    table.add("aten.hardshrink.default", |c| {
        let x = c.tensor("self")?;
        done(choose(&le(abs(x)?, c.get("lambd"))?, 0, x)?)
    });
    table.compute("aten.hardsigmoid.default", |c| done(div(upto_six(c.tensor("self")?)?, 6)?));
    table.compute("aten.hardswish.default", |c| {
        let x = c.tensor("self")?;
        done(div(mul(x, upto_six(x)?)?, 6)?)
    });
    table.compute("aten.mish.default", |c| {
        let x = c.tensor("self")?;
        done(mul(x, tanh(&softplus(x, &Value::from(1), &Value::from(20))?)?)?)
    });
    table.compute("aten.log_sigmoid_forward.default", |c| {
        let x = c.tensor("self")?;
        let least = minimum(new_full(x, Vec::<i64>::new(), 0)?, x)?;
        let z = exp(&neg(&abs(x)?)?)?;
        all(vec![sub(least, log1p(&z)?)?.into(), z.into()])
    });
    table.add("aten.threshold.default", |c| {
        let x = c.tensor("self")?;
        done(choose(&le(x, c.get("threshold"))?, c.get("value"), x)?)
    });
    table.add("aten._prelu_kernel.default", |c| {
        let (x, weight) = (c.tensor("self")?, c.tensor("weight")?);
        let positive = gt(x, 0)?;
        done(choose(&positive, x, mul(weight, x)?)?)
    });
}

/// `relu6(x + 3)`
fn upto_six(x: &Tensor) -> Result<Tensor> {
    clamp(&add(x, 3)?, &Value::from(0), &Value::from(6))
}

/// The lower bound, then the upper one.
fn clamp(x: &Tensor, min: &Value, max: &Value) -> Result<Tensor> {
    let bounded = if min.is_none() { x.clone() } else { t!("clamp_min", x, min)? };
    if max.is_none() { Ok(bounded) } else { t!("clamp_max", bounded, max) }
}

fn clamp_tensors(c: &Call) -> Decomposed {
    let mut x = c.tensor("self")?.clone();
    if let Some(min) = c.opt_tensor("min") {
        x = t!("clamp_min.Tensor", x, min)?;
    }
    if let Some(max) = c.opt_tensor("max") {
        x = t!("clamp_max.Tensor", x, max)?;
    }
    done(x)
}

fn gelu(c: &Call) -> Decomposed {
    let (x, approximate) = (c.tensor("self")?, c.str("approximate")?);
    if !matches!(approximate, "none" | "tanh") {
        return Err(Error::runtime("approximate argument must be either none or tanh."));
    }
    if approximate == "tanh" {
        let cube = mul(mul(x, x)?, x)?;
        let inner = mul(add(x, mul(cube, TANH_GELU.1)?)?, TANH_GELU.0)?;
        let half = mul(x, 0.5)?;
        return done(mul(half, add(tanh(&inner)?, 1)?)?);
    }
    let half = mul(x, 0.5)?;
    done(mul(half, add(erf(&mul(x, FRAC_1_SQRT_2)?)?, 1)?)?)
}

/// `softplus` as traced of its default factor, or of another.
pub fn softplus(x: &Tensor, beta: &Value, threshold: &Value) -> Result<Tensor> {
    let is_one = matches!(beta, Value::Int(i) if i.as_int() == Some(1));
    if is_one {
        let value = log1p(&exp(x)?)?;
        return choose(&gt(x, threshold)?, x, value);
    }
    let scaled = mul(x, beta)?;
    let value = div(log1p(&exp(&scaled)?)?, beta)?;
    choose(&gt(&scaled, threshold)?, x, value)
}

fn entr(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    let nan = isnan(x)?;
    let positive = gt(x, 0)?;
    let value = mul(neg(x)?, log(x)?)?;
    let otherwise = choose(&eq(x, 0)?, 0, f64::NEG_INFINITY)?;
    done(choose(&nan, x, choose(&positive, value, otherwise)?)?)
}

fn log_ndtr(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    let scaled = mul(x, FRAC_1_SQRT_2)?;
    let below = lt(x, 1.0)?;
    let left = sub(log(&div(t!("special_erfcx", neg(&scaled)?)?, 2)?)?, mul(&scaled, &scaled)?)?;
    let right = log1p(&div(neg(&t!("erfc", &scaled)?)?, 2)?)?;
    done(t!("copysign.Scalar", choose(&below, left, right)?, -1.0)?)
}

fn logit(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    let low = if c.get("eps").is_none() { -1.0 } else { c.float("eps")? };
    let high = 1.0 - low;
    let below = lt(x, low)?;
    let x = choose(&below, low, choose(&gt(x, high)?, high, x)?)?;
    done(log(&div(&x, sub(1, &x)?)?)?)
}

fn nan_to_num(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    let largest = match x.dtype() {
        Dtype::Float32 => f64::from(f32::MAX),
        Dtype::Float64 => f64::MAX,
        Dtype::BFloat16 => half::bf16::MAX.to_f64(),
        Dtype::Float16 => half::f16::MAX.to_f64(),
        _ => return done(t!("clone", x)?),
    };
    let or = |name: &str, default: f64| if c.get(name).is_none() { Ok(default) } else { c.float(name) };
    let made = choose(&isnan(x)?, or("nan", 0.0)?, x)?;
    let made = choose(&eq(x, f64::NEG_INFINITY)?, or("neginf", -largest)?, made)?;
    done(choose(&eq(x, f64::INFINITY)?, or("posinf", largest)?, made)?)
}

fn angle(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    let dtype = if x.dtype().is_integral() { operators::shapes::default_dtype() } else { x.dtype() };
    let pi = t!("scalar_tensor", PI; dtype = dtype, device = x.device(), pin_memory = false)?;
    let value = choose(&lt(x, 0)?, pi, 0.0)?;
    done(choose(&isnan(x)?, f64::NAN, value)?)
}

fn infinite(c: &Call, value: f64) -> Decomposed {
    let x = c.tensor("self")?;
    if x.dtype().is_floating() { done(eq(x, value)?) } else { done(full(x.sizes(), false, Dtype::Bool, x.device())?) }
}

fn reversed(c: &Call) -> Decomposed {
    done(t!("sub.Tensor", c.get("other"), c.tensor("self")?; alpha = c.get("alpha"))?)
}

/// The larger one plus what the smaller one adds; equal infinities stay.
fn logaddexp(c: &Call, of_two: bool) -> Decomposed {
    let (a, b) = (c.tensor("self")?, c.tensor("other")?);
    let larger = t!("ge.Tensor", a, b)?;
    let (max, min) = (choose(&larger, a, b)?, choose(&larger, b, a)?);
    if of_two {
        let same = t!("logical_and", t!("isinf", a)?, t!("eq.Tensor", a, b)?)?;
        let added = mul(log1p(&t!("exp2", sub(min, &max)?)?)?, LOG2_E)?;
        return done(choose(&same, a, add(max, added)?)?);
    }
    // `isfinite`, as it is composed of other operators.
    let (size, itself) = (ne(abs(a)?, f64::INFINITY)?, t!("eq.Tensor", a, a)?);
    let infinite = t!("logical_not", mul(itself, size)?)?;
    let same = t!("logical_and", infinite, t!("eq.Tensor", a, b)?)?;
    let value = add(&max, log1p(&exp(&sub(min, &max)?)?)?)?;
    done(choose(&same, a, value)?)
}

fn times_log(c: &Call, log: fn(&Value) -> Result<Tensor>) -> Decomposed {
    let (x, y) = (c.get("self"), c.get("other"));
    if x.is_scalar() || y.is_scalar() {
        return Ok(None);
    }
    let at_zero = eq(x, 0)?;
    let value = choose(&at_zero, 0, mul(x, log(y)?)?)?;
    done(choose(&isnan(y.tensor()?)?, f64::NAN, value)?)
}

fn ignoring_nan(c: &Call, worse: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Decomposed {
    let (x, other) = (c.tensor("self")?, c.tensor("other")?);
    let nan = isnan(other)?;
    done(choose(&or(nan, worse(other, x)?)?, x, other)?)
}

fn in_format_of(end: &Tensor, start: &Tensor) -> Result<Tensor> {
    match suggested_format(start)? {
        MemoryFormat::Contiguous => Ok(end.clone()),
        format => contiguous(end, format),
    }
}

/// From whichever end is nearer.
fn lerp_number(c: &Call) -> Decomposed {
    let (start, weight) = (c.tensor("self")?, c.float("weight")?);
    let end = in_format_of(c.tensor("end")?, start)?;
    let difference = sub(&end, start)?;
    if weight.abs() >= 0.5 {
        return done(t!("add.Tensor", end, difference; alpha = -(1.0 - weight))?);
    }
    done(t!("add.Tensor", start, difference; alpha = c.get("weight"))?)
}

fn lerp(c: &Call) -> Decomposed {
    let (start, weight) = (c.tensor("self")?, c.tensor("weight")?);
    let end = in_format_of(c.tensor("end")?, start)?;
    let difference = sub(&end, start)?;
    let far = ge(abs(weight)?, 0.5)?;
    let back = neg(&sub(1.0, weight)?)?;
    let weight = choose(&far, back, weight)?;
    done(t!("addcmul", choose(&far, &end, start)?, weight, difference)?)
}

fn masked_fill(c: &Call, value: Value) -> Decomposed {
    let x = c.tensor("self")?;
    done(contiguous(&choose(c.tensor("mask")?, value, x)?, MemoryFormat::Contiguous)?)
}
