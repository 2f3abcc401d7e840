//! Random numbers: everything is drawn by `rand`, `randn` and `randint`, which a pass on the joint graph replaces in turn.

use super::expr::*;
use super::table::{Decomposed, Table};
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Call, Value};
use tensor::{Device, Dtype, MemoryFormat, Tensor};

/// Registers the rules that hold also where numbers are drawn as in eager mode.
pub fn register(table: &mut Table) {
    table.add("aten.native_dropout_backward.default", |c| {
        let grad = c.tensor("grad_output")?;
        let mask = mul(cast(c.tensor("mask")?, grad.dtype())?, c.get("scale"))?;
        done(t!("clone", mul(grad, mask)?; memory_format = suggested_format(grad)?)?)
    });
    table.add("aten.randint.default", |c| {
        let (high, size, dtype) = (c.get("high"), c.get("size"), c.get("dtype"));
        let (layout, device, pin) = (c.get("layout"), c.get("device"), c.get("pin_memory"));
        done(t!("randint.low", 0, high, size; dtype = dtype, layout = layout, device = device, pin_memory = pin)?)
    });
    table.add("aten.bernoulli.default", |c| {
        let x = c.tensor("self")?;
        if has_generator(c) {
            return Ok(None);
        }
        let drawn = t!("rand_like", x; dtype = Dtype::Float32)?;
        done(cast(&t!("lt.Tensor", drawn, x)?, x.dtype())?)
    });
}

/// Registers the rules that draw other numbers than eager mode.
pub fn register_drawn(table: &mut Table) {
    table.add("aten.native_dropout.default", dropout);
    table.add("aten.rrelu_with_noise_functional.default", rrelu);
    table.add("aten.rand_like.default", |c| drawn_like(c, true));
    table.add("aten.randn_like.default", |c| drawn_like(c, false));
    table.add("aten.randint_like.default", |c| integers_like(c, &Value::from(0)));
    table.add("aten.randint_like.low_dtype", |c| integers_like(c, c.get("low")));
    for (name, rule) in [
        ("aten.uniform.default", uniform as super::table::Rule),
        ("aten.exponential.default", exponential),
        ("aten.geometric.default", geometric),
        ("aten.cauchy.default", cauchy),
        ("aten.log_normal.default", log_normal),
        ("aten.normal_functional.default", normal),
        ("aten.normal.float_float", normal),
        ("aten.normal.Tensor_float", normal),
        ("aten.normal.float_Tensor", normal),
        ("aten.normal.Tensor_Tensor", normal),
    ] {
        table.add(name, rule);
    }
}

/// Whether the call draws from a generator of the script's own, which stays as it is.
fn has_generator(c: &Call) -> bool {
    !c.get("generator").is_none()
}

fn integers_like(c: &Call, low: &Value) -> Decomposed {
    let x = c.tensor("self")?;
    let dtype = c.dtype("dtype")?.unwrap_or(x.dtype());
    like(c, |sizes| t!("randint.low", low, c.get("high"), sizes; dtype = dtype, device = x.device()))
}

fn draw(sizes: Value, dtype: Dtype, device: Device, is_uniform: bool) -> Result<Tensor> {
    if is_uniform {
        return t!("rand", sizes; dtype = dtype, device = device, pin_memory = false);
    }
    t!("randn", sizes; dtype = dtype, device = device, pin_memory = false)
}

fn drawn_like(c: &Call, is_uniform: bool) -> Decomposed {
    let x = c.tensor("self")?;
    let dtype = c.dtype("dtype")?.unwrap_or(x.dtype());
    like(c, |sizes| draw(sizes, dtype, x.device(), is_uniform))
}

/// Drawn in the order in which `self` lies in memory.
fn like(c: &Call, draw: impl FnOnce(Value) -> Result<Tensor>) -> Decomposed {
    let x = c.tensor("self")?;
    match c.get("memory_format") {
        Value::None | Value::MemoryFormat(MemoryFormat::Preserve) => {}
        _ => return Ok(None),
    }
    let (sizes, permutation) = shape_and_permutation(x)?;
    let drawn = draw(sizes.into())?;
    if is_identity(&permutation) {
        return done(drawn);
    }
    done(t!("clone", t!("permute", drawn, dims(&permutation))?)?)
}

/// Drawn for every element in memory, and viewed as `self` lies there.
fn uniform(c: &Call) -> Decomposed {
    let (x, low, high) = (c.tensor("self")?, c.float("from")?, c.float("to")?);
    if has_generator(c) || !operators::factory::is_dense(&x.geometry())? {
        return Ok(None);
    }
    let drawn = draw(vec![x.numel()].into(), x.dtype(), x.device(), true)?;
    let moved = add(mul(drawn, high - low)?, low)?;
    done(t!("as_strided", moved, x.sizes(), x.geometry().strides.clone())?)
}

/// Standard normal numbers, scaled and moved; first by one and zero, since they are drawn by the general form.
fn normal(c: &Call) -> Decomposed {
    if has_generator(c) {
        return Ok(None);
    }
    let (mean, std) = (c.get("mean"), c.get("std"));
    let like = c.opt_tensor("self").or(mean.as_tensor()).or(std.as_tensor());
    let (sizes, dtype, device) = match like {
        Some(x) => {
            let shapes: Vec<_> = [mean, std].iter().filter_map(|v| v.as_tensor()).map(Tensor::sizes).collect();
            let sizes = if shapes.is_empty() { x.sizes() } else { operators::shapes::broadcast(&shapes)? };
            (Value::from(sizes), x.dtype(), x.device())
        }
        None => {
            let dtype = c.dtype("dtype")?.unwrap_or(operators::shapes::default_dtype());
            (c.get("size").clone(), dtype, c.get("device").device()?.unwrap_or(Device::CPU))
        }
    };
    let standard = add(mul(draw(sizes, dtype, device, false)?, 1.0)?, 0.0)?;
    // A number that the schema has as its default is written as there.
    let has_defaults = |names: &[&str]| names.contains(&c.entry.name);
    let std = &match std.is_scalar() && has_defaults(&["aten.normal_functional.default", "aten.normal.Tensor_float"]) {
        true => or_default(c, "std", 1),
        false => std.clone(),
    };
    let mean = &match mean.is_scalar() && has_defaults(&["aten.normal_functional.default"]) {
        true => or_default(c, "mean", 0),
        false => mean.clone(),
    };
    let scaled = if std.as_tensor().is_some() { mul(std, standard)? } else { mul(standard, std)? };
    done(add(scaled, mean)?)
}

/// A number, as the whole number that a default is.
fn or_default(c: &Call, name: &str, default: i64) -> Value {
    match c.float(name) {
        Ok(v) if v == default as f64 => Value::from(default),
        _ => c.get(name).clone(),
    }
}

fn log_normal(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    if has_generator(c) || !x.dtype().is_floating() {
        return Ok(None);
    }
    let drawn = mul(t!("randn_like", x)?, or_default(c, "std", 2))?;
    done(exp(&add(drawn, or_default(c, "mean", 1))?)?)
}

fn cauchy(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    if has_generator(c) || !x.dtype().is_floating() {
        return Ok(None);
    }
    let angle = mul(sub(t!("rand_like", x)?, 0.5)?, std::f64::consts::PI)?;
    done(add(mul(t!("tan", angle)?, or_default(c, "sigma", 1))?, or_default(c, "median", 0))?)
}

fn geometric(c: &Call) -> Decomposed {
    let (x, p) = (c.tensor("self")?, c.float("p")?);
    if has_generator(c) {
        return Ok(None);
    }
    let drawn = div(log1p(&neg(&t!("rand_like", x)?)?)?, (-p).ln_1p())?;
    done(add(t!("floor", drawn)?, 1)?)
}

/// The logarithm of uniform numbers, kept from zero.
fn exponential(c: &Call) -> Decomposed {
    let (x, rate) = (c.tensor("self")?, c.float("lambd")?);
    let eps = match x.dtype() {
        Dtype::Float32 => f64::from(f32::EPSILON),
        Dtype::Float64 => f64::EPSILON,
        _ => return Ok(None),
    };
    if has_generator(c) {
        return Ok(None);
    }
    let drawn = t!("rand_like", x)?;
    let near_one = ge(&drawn, 1.0 - eps / 2.0)?;
    done(mul(choose(&near_one, -eps / 2.0, log(&drawn)?)?, -1.0 / rate)?)
}

fn dropout(c: &Call) -> Decomposed {
    let (x, p) = (c.tensor("input")?, c.float("p")?);
    let trains = c.get("train").bool().unwrap_or(true);
    if !trains || p == 0.0 {
        return all(vec![x.into(), t!("ones_like", x; dtype = Dtype::Bool)?.into()]);
    }
    if p == 1.0 {
        return all(vec![t!("zeros_like", x)?.into(), t!("zeros_like", x; dtype = Dtype::Bool)?.into()]);
    }
    let mask = gt(t!("rand_like", x)?, p)?;
    let kept = mul(mul(&mask, x)?, 1.0 / (1.0 - p))?;
    all(vec![kept.into(), mask.into()])
}

/// Slopes are drawn where training, below zero; else the middle one is taken.
fn rrelu(c: &Call) -> Decomposed {
    let (x, lower, upper) = (c.tensor("self")?, c.float("lower")?, c.float("upper")?);
    if !c.get("training").bool().unwrap_or(false) {
        let made = t!("leaky_relu", x, (lower + upper) / 2.0)?;
        return all(vec![made.into(), full(vec![0i64], 0, x.dtype(), x.device())?.into()]);
    }
    let below = le(x, 0)?;
    let slopes = t!("uniform", x, lower, upper; generator = c.get("generator"))?;
    let made = choose(&below, mul(x, &slopes)?, x)?;
    all(vec![made.into(), choose(&below, slopes, 1)?.into()])
}
