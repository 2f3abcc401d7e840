//! Random numbers: everything is drawn by `rand`, `randn` and `randint`, which a pass on the joint graph replaces in turn.

use super::expr::*;
use super::{Decomposed, Table};
use crate::dispatch::{Call, Value};
use crate::error::Result;
use crate::t;
use crate::tensor::{Device, Dtype, MemoryFormat, Tensor};

/// Registers the rules.
pub fn register(table: &mut Table) {
    table.add("aten.native_dropout.default", dropout);
    table.add("aten.native_dropout_backward.default", |c| {
        let grad = c.tensor("grad_output")?;
        let mask = mul(cast(c.tensor("mask")?, grad.dtype())?, c.get("scale"))?;
        done(t!("clone", mul(grad, mask)?; memory_format = suggested_format(grad)?)?)
    });
    table.add("aten.rand_like.default", |c| drawn_like(c, true));
    table.add("aten.randn_like.default", |c| drawn_like(c, false));
    table.add("aten.randint.default", |c| {
        let (high, size, dtype) = (c.get("high"), c.get("size"), c.get("dtype"));
        let (layout, device, pin) = (c.get("layout"), c.get("device"), c.get("pin_memory"));
        done(t!("randint.low", 0, high, size; dtype = dtype, layout = layout, device = device, pin_memory = pin)?)
    });
    table.add("aten.randint_like.default", |c| {
        let x = c.tensor("self")?;
        let dtype = c.dtype("dtype")?.unwrap_or(x.dtype());
        like(c, |sizes| t!("randint.low", 0, c.get("high"), sizes; dtype = dtype, device = x.device()))
    });
    table.add("aten.uniform.default", uniform);
    table.add("aten.normal_functional.default", |c| {
        let x = c.tensor("self")?;
        if c.get("generator").is_none() { normal(c, x.sizes().into(), x.dtype(), x.device()) } else { Ok(None) }
    });
    table.add("aten.normal.float_float", |c| {
        let dtype = c.dtype("dtype")?.unwrap_or(crate::ops::shapes::default_dtype());
        let device = c.get("device").device()?.unwrap_or(Device::CPU);
        if c.get("generator").is_none() { normal(c, c.get("size").clone(), dtype, device) } else { Ok(None) }
    });
    table.add("aten.exponential.default", exponential);
    table.add("aten.bernoulli.default", |c| {
        let x = c.tensor("self")?;
        if !c.get("generator").is_none() {
            return Ok(None);
        }
        let drawn = t!("rand_like", x; dtype = Dtype::Float32)?;
        done(cast(&t!("lt.Tensor", drawn, x)?, x.dtype())?)
    });
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
    if !c.get("generator").is_none() || !crate::ops::factory::is_dense(&x.geometry())? {
        return Ok(None);
    }
    let drawn = draw(vec![x.numel()].into(), x.dtype(), x.device(), true)?;
    let moved = add(mul(drawn, high - low)?, low)?;
    done(t!("as_strided", moved, x.sizes(), x.geometry().strides.clone())?)
}

/// Standard normal numbers, moved twice: the functional form is written in terms of the general one.
fn normal(c: &Call, sizes: Value, dtype: Dtype, device: Device) -> Decomposed {
    let standard = add(mul(draw(sizes, dtype, device, false)?, 1.0)?, 0.0)?;
    done(add(mul(standard, c.float("std")?)?, c.float("mean")?)?)
}

/// The logarithm of uniform numbers, kept from zero.
fn exponential(c: &Call) -> Decomposed {
    let (x, rate) = (c.tensor("self")?, c.float("lambd")?);
    let eps = match x.dtype() {
        Dtype::Float32 => f64::from(f32::EPSILON),
        Dtype::Float64 => f64::EPSILON,
        _ => return Ok(None),
    };
    if !c.get("generator").is_none() {
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
