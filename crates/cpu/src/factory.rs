//! Kernels that fill new tensors: constants, ranges, identities, triangles.

use super::copy::fill;
use super::elementwise::{not_for, number, scatter};
use super::vectorized::Vectorized;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value};
use tensor::{Dtype, Tensor};

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    for name in [
        "aten.empty.memory_format",
        "aten.zeros.default",
        "aten._efficientzerotensor.default",
        "aten._new_zeros_with_same_feature_meta.default",
        "aten.empty_strided.default",
        "aten.empty_like.default",
        "aten.zeros_like.default",
        "aten.new_empty.default",
        "aten.new_zeros.default",
        "aten.new_empty_strided.default",
    ] {
        t.fill(name, |_, _| Ok(()));
    }
    for name in ["aten.ones.default", "aten.ones_like.default", "aten.new_ones.default"] {
        t.fill(name, |_, o| fill(&o[0], &Value::from(1)));
    }
    for name in ["aten.full.default", "aten.full_like.default", "aten.new_full.default"] {
        t.fill(name, |c, o| fill(&o[0], c.get("fill_value")));
    }
    t.fill("aten.scalar_tensor.default", |c, o| fill(&o[0], c.get("s")));
    for name in ["aten.arange.default", "aten.arange.start", "aten.arange.start_step"] {
        t.fill(name, arange);
    }
    t.fill("aten.linspace.default", |c, o| spaced(c, &o[0], None));
    t.fill("aten.logspace.default", |c, o| spaced(c, &o[0], Some(c.float("base")?)));
    for name in ["aten.eye.default", "aten.eye.m"] {
        t.fill(name, |_, o| {
            let g = o[0].concrete()?;
            let cols = g.sizes[1];
            scatter(&o[0], &(0..g.numel()).map(|i| i64::from(i / cols == i % cols)).collect::<Vec<_>>())
        });
    }
    t.fill("aten.tril_indices.default", |c, o| indices(c, &o[0], true));
    t.fill("aten.triu_indices.default", |c, o| indices(c, &o[0], false));
}

fn arange(c: &Call, o: &[Tensor]) -> Result<()> {
    let out = &o[0];
    if out.dtype() == Dtype::Bool {
        return Err(not_for("arange_cpu", Dtype::Bool));
    }
    let n = out.concrete()?.numel();
    let or = |name: &str, default: i64| if c.get(name).is_none() { Value::from(default) } else { c.get(name).clone() };
    let (start, step) = (or("start", 0), or("step", 1));
    if out.dtype().is_integral() {
        let (start, step): (i64, i64) = (number(&start)?, number(&step)?);
        return scatter(out, &(0..n as i64).map(|i| start + i * step).collect::<Vec<_>>());
    }
    let (start, step): (f64, f64) = (number(&start)?, number(&step)?);
    // Groups of lanes count from their first element, which is rounded; what pairs of groups leave over is counted from the start.
    let (dtype, lanes) = match out.dtype() {
        Dtype::Float64 => (Dtype::Float64, 4),
        Dtype::Float32 => (Dtype::Float32, 8),
        other => (other, 16),
    };
    let at = |i: usize| step.fused(i as f64, start);
    let first = |i: usize| match dtype {
        Dtype::Float64 => at(i),
        _ => f64::from(super::dense::held(at(i) as f32, dtype)),
    };
    let grouped = n - n % (2 * lanes);
    let value = |i: usize| if i < grouped { step.fused((i % lanes) as f64, first(i - i % lanes)) } else { at(i) };
    scatter(out, &(0..n).map(value).collect::<Vec<_>>())
}

/// A number as an element of an integral dtype; one that does not fit is refused.
fn whole(v: &Value, dtype: Dtype) -> Result<i64> {
    let (n, bits) = (number::<i64>(v)?, 8 * dtype.itemsize() as u32);
    let (low, high) = match dtype {
        Dtype::Bool => (i64::MIN, i64::MAX),
        // What is below zero wraps around in an unsigned dtype.
        Dtype::UInt8 => (-255, 255),
        _ => (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)),
    };
    if n < low || n > high {
        let name = if dtype == Dtype::UInt8 { "uint8_t".to_owned() } else { format!("int{bits}_t") };
        return Err(Error::runtime(format!("value cannot be converted to type {name} without overflow")));
    }
    Ok(if dtype == Dtype::UInt8 { n.rem_euclid(256) } else { n })
}

/// Evenly spaced values, counted from whichever end is nearer; with a base, its powers, which are computed in double precision.
fn spaced(c: &Call, out: &Tensor, base: Option<f64>) -> Result<()> {
    let (n, dtype) = (out.concrete()?.numel(), out.dtype());
    let gaps = (n.max(2) - 1) as f64;
    let wide = |start: f64, end: f64| {
        let step = (end - start) / gaps;
        move |i: usize| match i {
            _ if n == 1 => start,
            _ if i < n / 2 => start + step * i as f64,
            _ => end - step * (n - 1 - i) as f64,
        }
    };
    if dtype.is_integral() {
        let at = wide(whole(c.get("start"), dtype)? as f64, whole(c.get("end"), dtype)? as f64);
        // What no integer holds is the lowest one, as a processor converts it.
        let held = |v: f64| if v.abs() < i64::MAX as f64 { v as i64 } else { i64::MIN };
        return scatter(out, &(0..n).map(|i| held(base.map_or(at(i), |b| b.powf(at(i))))).collect::<Vec<i64>>());
    }
    if dtype.is_complex() {
        return Err(not_for("linspace_cpu", dtype));
    }
    let end = |name: &str| {
        number::<f64>(c.get(name)).map(|v| if dtype == Dtype::Float64 { v } else { f64::from(super::dense::held(v as f32, dtype)) })
    };
    let (start, end) = (end("start")?, end("end")?);
    if let Some(b) = base {
        let at = wide(start, end);
        return scatter(out, &(0..n).map(|i| b.powf(at(i))).collect::<Vec<f64>>());
    }
    macro_rules! run {
        ($t:ty) => {{
            let (start, end) = (start as $t, end as $t);
            let step = (end - start) / gaps as $t;
            let from =
                |edge: $t, step: $t, i: usize| if dtype == Dtype::Float16 { edge + step * i as $t } else { step.fused(i as $t, edge) };
            let at = |i: usize| if i < n / 2 { from(start, step, i) } else { from(end, -step, n - 1 - i) };
            scatter(out, &(0..n).map(|i| if n == 1 { start } else { at(i) }).collect::<Vec<$t>>())
        }};
    }
    if dtype == Dtype::Float64 { run!(f64) } else { run!(f32) }
}

fn indices(c: &Call, out: &Tensor, lower: bool) -> Result<()> {
    let (rows, cols, offset) = (c.int("row")?, c.int("col")?, c.int("offset")?);
    let n = out.concrete()?.sizes[1];
    let mut all = vec![0i64; 2 * n];
    if n == 0 {
        return scatter(out, &all);
    }
    // Rows without elements are first in the lower triangle, and last in the upper one.
    let first = if lower { offset.saturating_neg().clamp(0, rows) } else { 0 };
    let mut next = 0;
    for row in first..rows {
        let edge = row.saturating_add(offset);
        for col in if lower { 0..edge.saturating_add(1).min(cols) } else { edge.max(0)..cols } {
            (all[next], all[n + next]) = (row, col);
            next += 1;
        }
        if next == n {
            break;
        }
    }
    scatter(out, &all)
}
