//! Kernels that fill new tensors: constants, ranges, identities, triangles.

use super::copy::fill;
use super::elementwise::{not_for, number, scatter};
use super::vectorized::Vectorized;
use crate::dispatch::{Call, KernelTable, Value};
use crate::error::Result;
use crate::ops::factory::tril_count;
use crate::tensor::{Dtype, Tensor};

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    for name in [
        "aten.empty.memory_format",
        "aten.zeros.default",
        "aten._efficientzerotensor.default",
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
    let n = out.concrete()?.numel();
    let or = |name: &str, default: i64| if c.get(name).is_none() { Value::from(default) } else { c.get(name).clone() };
    let (start, step) = (or("start", 0), or("step", 1));
    if out.dtype().is_integral() {
        let (start, step): (i64, i64) = (number(&start)?, number(&step)?);
        return scatter(out, &(0..n as i64).map(|i| start + i * step).collect::<Vec<_>>());
    }
    let (start, step): (f64, f64) = (number(&start)?, number(&step)?);
    scatter(out, &(0..n).map(|i| start + i as f64 * step).collect::<Vec<_>>())
}

/// Evenly spaced values, counted from whichever end is nearer; with a base, its powers.
fn spaced(c: &Call, out: &Tensor, base: Option<f64>) -> Result<()> {
    let n = out.concrete()?.numel();
    let (start, end): (f64, f64) = (number(c.get("start"))?, number(c.get("end"))?);
    macro_rules! run {
        ($t:ty) => {{
            let (start, end) = (start as $t, end as $t);
            let step = if n > 1 { (end - start) / (n - 1) as $t } else { 0.0 };
            let at = |i: usize| if i < n / 2 { step.fused(i as $t, start) } else { (-step).fused((n - 1 - i) as $t, end) };
            let value = |i: usize| match (n, base) {
                (1, None) => start,
                (1, Some(b)) => (b as $t).powf(start),
                (_, None) => at(i),
                (_, Some(b)) => (b as $t).powf(at(i)),
            };
            scatter(out, &(0..n).map(value).collect::<Vec<$t>>())
        }};
    }
    match out.dtype() {
        Dtype::Float32 | Dtype::Float16 | Dtype::BFloat16 => run!(f32),
        d if d.is_complex() => Err(not_for("linspace_cpu", d)),
        _ => run!(f64),
    }
}

fn indices(c: &Call, out: &Tensor, lower: bool) -> Result<()> {
    let (rows, cols, offset) = (c.int("row")?, c.int("col")?, c.int("offset")?);
    let n = if lower { tril_count(rows, cols, offset) } else { rows * cols - tril_count(rows, cols, offset - 1) } as usize;
    let mut all = vec![0i64; 2 * n];
    let mut next = 0;
    for row in 0..rows {
        for col in 0..cols {
            if (lower && col <= row + offset) || (!lower && col >= row + offset) {
                (all[next], all[n + next]) = (row, col);
                next += 1;
            }
        }
    }
    scatter(out, &all)
}
