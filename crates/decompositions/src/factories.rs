//! Tensors made from sizes and numbers, and casts.

use super::expr::*;
use super::table::{Decomposed, Table};
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Call, Value};
use operators::shapes::default_dtype;
use tensor::{Device, Dtype, Layout, MemoryFormat, Tensor};

/// Registers the rules.
pub fn register(table: &mut Table) {
    table.add("aten._to_copy.default", to_copy);
    table.add("aten.zeros.default", |c| sized(c, false));
    table.add("aten.ones.default", |c| sized(c, true));
    table.add("aten.zeros_like.default", |c| like(c, &unit(false, like_dtype(c)?))).takes_complex();
    table.add("aten.ones_like.default", |c| like(c, &unit(true, like_dtype(c)?))).takes_complex();
    table.add("aten.full_like.default", |c| like(c, c.get("fill_value"))).takes_complex();
    table.add("aten.empty_like.default", empty_like);
    table.add("aten.new_zeros.default", |c| new(c, &unit(false, like_dtype(c)?))).takes_complex();
    table.add("aten.new_ones.default", |c| new(c, &unit(true, like_dtype(c)?))).takes_complex();
    table.add("aten.new_full.default", |c| new(c, c.get("fill_value"))).takes_complex();
    table.add("aten.new_empty.default", new_empty);
    table.add("aten.full.default", full_of_number);
    table.add("aten.fill.Scalar", |c| {
        let x = c.tensor("self")?;
        let value = c.get("value");
        Ok(Some(t!("full_like", x, value)?.into()))
    });
    table.add("aten.fill.Tensor", |c| done(t!("copy", c.tensor("self")?, c.tensor("value")?)?));
    table.add("aten.zero.default", |c| done(t!("zeros_like", c.tensor("self")?)?));
    table.add("aten.arange.default", |c| range(c, &Value::from(0), &Value::from(1)));
    table.add("aten.arange.start", |c| range(c, c.get("start"), &Value::from(1)));
    table.add("aten.arange.start_step", |c| range(c, c.get("start"), c.get("step")));
    table.add("aten.linspace.default", |c| {
        let dtype = c.dtype("dtype")?.unwrap_or(default_dtype());
        done(linspace(c, dtype)?)
    });
    table.add("aten.logspace.default", logspace);
    table.add("aten.eye.default", |c| eye(c, c.get("n")));
    table.add("aten.eye.m", |c| eye(c, c.get("m")));
}

/// The dtype asked for, or that of `self`.
fn like_dtype(c: &Call) -> Result<Dtype> {
    Ok(c.dtype("dtype")?.unwrap_or(c.tensor("self")?.dtype()))
}

fn device(c: &Call) -> Result<Device> {
    Ok(c.get("device").device()?.unwrap_or(Device::CPU))
}

fn to_copy(c: &Call) -> Decomposed {
    // A number beside single elements of a batch is brought to their dtype.
    let x = &match c.get("self") {
        Value::Tensor(x) => x.clone(),
        number => t!("scalar_tensor", number)?,
    };
    let (dtype, device) = (c.dtype("dtype")?, c.get("device").device()?);
    if device.is_some_and(|d| d != x.device()) || c.get("pin_memory").bool().unwrap_or(false) {
        return Ok(None);
    }
    if dtype.is_none() && device.is_none() && c.get("memory_format").is_none() {
        return done(t!("clone", x)?);
    }
    let mut made = x.clone();
    if let Some(dtype) = dtype {
        if dtype.is_complex() {
            return Ok(None);
        }
        made = convert(x, dtype)?;
    }
    match c.get("memory_format") {
        Value::None => done(made),
        format => done(t!("clone", made; memory_format = format)?),
    }
}

/// Zero or one, as a truth where it is one.
fn unit(is_one: bool, dtype: Dtype) -> Value {
    if dtype == Dtype::Bool { Value::Bool(is_one) } else { Value::from(i64::from(is_one)) }
}

fn sized(c: &Call, is_one: bool) -> Decomposed {
    let dtype = c.dtype("dtype")?.unwrap_or(default_dtype());
    done(full(c.get("size"), unit(is_one, dtype), dtype, device(c)?)?)
}

fn like(c: &Call, value: &Value) -> Decomposed {
    let x = c.tensor("self")?;
    let dtype = c.dtype("dtype")?.unwrap_or(x.dtype());
    let device = c.get("device").device()?.unwrap_or(x.device());
    match c.get("memory_format") {
        Value::None | Value::MemoryFormat(MemoryFormat::Preserve) => {
            let (sizes, permutation) = shape_and_permutation(x)?;
            let made = full(sizes, value, dtype, device)?;
            if is_identity(&permutation) {
                return done(made);
            }
            done(t!("clone", t!("permute", made, dims(&permutation))?)?)
        }
        format => {
            let made = full(x.sizes(), value, dtype, device)?;
            done(
                t!("to.dtype_layout", made; dtype = dtype, layout = Value::Layout(Layout::Strided), device = device, memory_format = format)?,
            )
        }
    }
}

fn empty(c: &Call, sizes: impl Into<Value>, x: &Tensor, format: Value) -> Result<Tensor> {
    let dtype = c.dtype("dtype")?.unwrap_or(x.dtype());
    let device = c.get("device").device()?.unwrap_or(x.device());
    let (sizes, layout) = (sizes.into(), Value::Layout(Layout::Strided));
    t!("empty.memory_format", sizes; dtype = dtype, layout = layout, device = device, pin_memory = false, memory_format = format)
}

fn empty_like(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    match c.get("memory_format") {
        Value::None | Value::MemoryFormat(MemoryFormat::Preserve) => {
            let (sizes, permutation) = shape_and_permutation(x)?;
            let made = empty(c, sizes, x, Value::None)?;
            if is_identity(&permutation) { done(made) } else { done(t!("permute", made, dims(&permutation))?) }
        }
        format => done(empty(c, x.sizes(), x, format.clone())?),
    }
}

fn new(c: &Call, value: &Value) -> Decomposed {
    let x = c.tensor("self")?;
    let dtype = c.dtype("dtype")?.unwrap_or(x.dtype());
    done(full(c.get("size"), value, dtype, c.get("device").device()?.unwrap_or(x.device()))?)
}

fn new_empty(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    done(empty(c, c.get("size"), x, Value::None)?)
}

/// A dtype that follows from the number is written out.
fn full_of_number(c: &Call) -> Decomposed {
    if c.dtype("dtype")?.is_some() {
        return Ok(None);
    }
    let dtype = match c.get("fill_value") {
        Value::Bool(_) => Dtype::Bool,
        Value::Int(_) => Dtype::Int64,
        Value::Float(_) => default_dtype(),
        other if other.condition().is_some() => Dtype::Bool,
        _ => return Ok(None),
    };
    let (size, value, layout) = (c.get("size"), c.get("fill_value"), c.get("layout"));
    done(t!("full", size, value; dtype = dtype, layout = layout, device = c.get("device"), pin_memory = c.get("pin_memory"))?)
}

fn range(c: &Call, start: &Value, step: &Value) -> Decomposed {
    let end = c.get("end");
    let integral = [start, end, step].iter().all(|v| matches!(v, Value::Int(_)));
    let dtype = c.dtype("dtype")?.unwrap_or(if integral { Dtype::Int64 } else { default_dtype() });
    let device = device(c)?;
    let length = if integral && step.int()? != 0 {
        Value::Int(range_length(&start.sym_int()?, &end.sym_int()?, step.int()?)?)
    } else {
        Value::from(((end.float()? - start.float()?) / step.float()?).ceil() as i64)
    };
    if dtype.is_integral() {
        let start = if integral { start.clone() } else { Value::from(start.float()? as i64) };
        return done(iota(length, start, step.float()? as i64, dtype, device)?);
    }
    let index = iota(length, 0, 1, Dtype::Int64, device)?;
    let index = if integral { index } else { convert(&index, Dtype::Float64)? };
    done(convert(&add(mul(index, step)?, start)?, dtype)?)
}

fn linspace(c: &Call, dtype: Dtype) -> Result<Tensor> {
    let (start, end, steps, device) = (c.get("start"), c.get("end"), c.int("steps")?, device(c)?);
    if steps == 0 {
        return full(vec![0i64], 0, dtype, device);
    }
    if steps == 1 {
        return full(vec![1i64], start, dtype, device);
    }
    let index = iota(steps, 0, 1, Dtype::Int64, device)?;
    let compute = if dtype.is_integral() { default_dtype() } else { dtype };
    let step = (end.float()? - start.float()?) / (steps - 1) as f64;
    // From both ends to the middle.
    let first_half = lt(&index, steps as f64 / 2.0)?;
    let from_start = add(mul(cast(&index, compute)?, step)?, start)?;
    let rest = sub(steps - 1, &index)?;
    let from_end = sub(end, mul(cast(&rest, compute)?, step)?)?;
    cast(&choose(&first_half, from_start, from_end)?, dtype)
}

fn logspace(c: &Call) -> Decomposed {
    let dtype = c.dtype("dtype")?.unwrap_or(default_dtype());
    let exponents = linspace(c, Dtype::Float64)?;
    // Ten as a whole number, as `float.is_integer` would have it.
    let base = c.float("base")?;
    let base = if base.fract() == 0.0 { Value::from(base as i64) } else { Value::Float(base) };
    done(cast(&t!("pow.Scalar", base, exponents)?, dtype)?)
}

fn eye(c: &Call, columns: &Value) -> Decomposed {
    let dtype = c.dtype("dtype")?.unwrap_or(default_dtype());
    let device = device(c)?;
    // Indices are counted in the smallest dtype that holds them.
    let longest = c.int("n")?.max(columns.int()?);
    let index = match longest {
        n if n <= i64::from(u8::MAX) => Dtype::UInt8,
        n if n <= i64::from(i16::MAX) => Dtype::Int16,
        n if n <= i64::from(i32::MAX) => Dtype::Int32,
        _ => Dtype::Int64,
    };
    let rows = iota(c.get("n"), 0, 1, index, device)?;
    let columns = iota(columns, 0, 1, index, device)?;
    let same = t!("eq.Tensor", t!("unsqueeze", rows, -1)?, columns)?;
    if dtype == Dtype::Bool { done(same) } else { done(cast(&same, dtype)?) }
}
