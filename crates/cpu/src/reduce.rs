//! Reduction kernels: sums, products, extrema, norms, moments, counts, medians; and running forms along one dimension.
//!
//! A reduction sees, per result element, the slice of what it reduces. Sums and means of floats are `cascade`'s; elsewhere single
//! precision is accumulated in double precision.

use super::cascade;
use super::elementwise::{Compute, not_for, number, scatter, values};
use super::vectorized::{Vectorized, line_product};
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value};
use operators::shapes::{wrap_dim, wrap_dims};
use tensor::{Dtype, Geometry, Tensor, TensorSpec};

/// The dimensions that the argument `dim` names; all of them for None or an empty list.
fn dims_of(c: &Call, ndim: usize) -> Result<Vec<usize>> {
    match c.get("dim") {
        Value::None => Ok((0..ndim).collect()),
        _ => wrap_dims(&c.ints("dim")?, ndim).map(|d| d.into_iter().filter(|d| *d < ndim).collect()),
    }
}

/// Calls `f` with the elements that each result element reduces, in row-major order of the results.
fn chunks<C: Compute>(x: &Tensor, dims: &[usize], f: &mut dyn FnMut(&[C])) -> Result<()> {
    let g = x.concrete()?;
    let kept: Vec<usize> = (0..g.sizes.len()).filter(|d| !dims.contains(d)).collect();
    let mut reduced = dims.to_vec();
    reduced.sort_unstable();
    let count = |dims: &[usize]| tensor::elements(&dims.iter().map(|d| g.sizes[*d]).collect::<Vec<_>>());
    let (outer, inner) = (count(&kept), count(&reduced));
    let mut each = |all: &[C]| (0..outer).for_each(|i| f(&all[i * inner..(i + 1) * inner]));
    let trailing = kept.iter().zip(0..).all(|(d, i)| *d == i);
    if trailing && g.is_contiguous() && x.dtype() == C::DTYPE {
        // An empty tensor may begin past the end of its storage.
        let all = if outer * inner == 0 { 0..0 } else { g.offset..g.offset + outer * inner };
        return x.with_slice::<C, _>(|d| each(&d[all]));
    }
    let order: Vec<usize> = kept.into_iter().chain(reduced).collect();
    let from = x.geometry();
    let permuted = Geometry {
        sizes: order.iter().map(|d| from.sizes[*d].clone()).collect(),
        strides: order.iter().map(|d| from.strides[*d].clone()).collect(),
        offset: from.offset.clone(),
    };
    each(&values::<C>(&x.view_as(permuted))?);
    Ok(())
}

/// One result element per slice.
fn reduce<C: Compute, O: Compute>(x: &Tensor, dims: &[usize], out: &Tensor, f: impl Fn(&[C]) -> O) -> Result<()> {
    let mut all = Vec::new();
    chunks::<C>(x, dims, &mut |slice| all.push(f(slice)))?;
    scatter(out, &all)
}

/// A sum with several running totals.
fn total<C: Compute>(v: &[C], f: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0f64; 8];
    let (groups, rest) = v.as_chunks::<8>();
    for group in groups {
        for (lane, x) in lanes.iter_mut().zip(group) {
            *lane += f(x.to_f64());
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|x| f(x.to_f64())).sum::<f64>()
}

/// A float reduction: reads f64 for float64, f32 for the others, computes in f64.
fn float(name: &str, x: &Tensor, dims: &[usize], out: &Tensor, wide: impl Fn(&[f64]) -> f64, narrow: impl Fn(&[f32]) -> f64) -> Result<()> {
    match (x.dtype(), out.dtype()) {
        (d, _) | (_, d) if d.is_complex() => Err(not_for(name, d)),
        (Dtype::Float64, _) | (_, Dtype::Float64) => reduce::<f64, f64>(x, dims, out, wide),
        (d, _) if d.is_integral() => reduce::<f64, f64>(x, dims, out, wide),
        _ => reduce::<f32, f64>(x, dims, out, narrow),
    }
}

/// Whether any elements, or all, are not zero: they count as booleans.
fn of_bools(x: &Tensor, dims: &[usize], out: &Tensor, all: bool) -> Result<()> {
    let counts = |x: &f64| *x != 0.0;
    reduce::<f64, f64>(x, dims, out, |v| f64::from(if all { v.iter().all(counts) } else { v.iter().any(counts) }))
}

fn sum(c: &Call, o: &[Tensor]) -> Result<()> {
    let x = c.tensor("self")?;
    let dims = dims_of(c, x.dim())?;
    if o[0].dtype() == Dtype::Bool {
        return of_bools(x, &dims, &o[0], false);
    }
    if o[0].dtype().is_integral() {
        return reduce::<i64, i64>(x, &dims, &o[0], |v| v.iter().fold(0, |a, b| a.wrapping_add(*b)));
    }
    added("sum_cpu", x, &dims, &o[0], false)
}

fn mean(c: &Call, o: &[Tensor]) -> Result<()> {
    let x = c.tensor("self")?;
    added("mean_cpu", x, &dims_of(c, x.dim())?, &o[0], true)
}

/// Sums, or means, in PyTorch's order where the tensor has the result's precision.
fn added(name: &str, x: &Tensor, dims: &[usize], out: &Tensor, mean: bool) -> Result<()> {
    fn write<T: Vectorized + Compute>(x: &Tensor, dims: &[usize], out: &Tensor, mean: bool) -> Result<()> {
        let mut sums = cascade::sums::<T>(x, dims)?;
        if mean {
            let sizes = x.concrete()?.sizes;
            let count = T::of(dims.iter().map(|d| sizes[*d]).product::<usize>() as f64);
            sums.iter_mut().for_each(|s| *s /= count);
        }
        scatter(out, &sums)
    }
    match (x.dtype(), out.dtype()) {
        (Dtype::Float32, Dtype::Float32) => write::<f32>(x, dims, out, mean),
        (Dtype::Float64, Dtype::Float64) => write::<f64>(x, dims, out, mean),
        _ => {
            let by = |count: usize| if mean { count as f64 } else { 1.0 };
            float(name, x, dims, out, |v| total(v, |x| x) / by(v.len()), |v| total(v, |x| x) / by(v.len()))
        }
    }
}

fn prod(c: &Call, o: &[Tensor]) -> Result<()> {
    let x = c.tensor("self")?;
    let dims = dims_of(c, x.dim())?;
    if o[0].dtype() == Dtype::Bool {
        return of_bools(x, &dims, &o[0], true);
    }
    if o[0].dtype().is_integral() {
        return reduce::<i64, i64>(x, &dims, &o[0], |v| v.iter().fold(1, |a, b| a.wrapping_mul(*b)));
    }
    let wide = |v: &[f64]| v.iter().product();
    if x.dtype() == Dtype::Float32 && o[0].dtype() == Dtype::Float32 {
        // Along what lies side by side products have lanes.
        let side_by_side = x.concrete()?.is_contiguous() && dims.iter().all(|d| *d + dims.len() >= x.dim());
        let line = |v: &[f32]| if side_by_side { line_product(v) } else { v.iter().product() };
        return reduce::<f32, f32>(x, &dims, &o[0], line);
    }
    float("prod_cpu", x, &dims, &o[0], wide, |v| v.iter().map(|x| *x as f64).product())
}

/// Variance by two passes.
fn variance(v: &[f64], correction: f64) -> (f64, f64) {
    let n = v.len() as f64;
    let mean = v.iter().sum::<f64>() / n;
    let squares: f64 = v.iter().map(|x| (x - mean) * (x - mean)).sum();
    (squares / (n - correction).max(0.0), mean)
}

fn moments(c: &Call, o: &[Tensor]) -> Result<()> {
    let x = c.tensor("self")?;
    let dims = dims_of(c, x.dim())?;
    let correction = if c.get("correction").is_none() { 1.0 } else { c.float("correction")? };
    let root = c.entry.base_name().starts_with("std");
    reduce::<f64, f64>(x, &dims, &o[0], |v| {
        let (var, _) = variance(v, correction);
        if root { var.sqrt() } else { var }
    })?;
    if let Some(mean) = o.get(1) {
        reduce::<f64, f64>(x, &dims, mean, |v| variance(v, correction).1)?;
    }
    Ok(())
}

/// The position of the largest (or smallest) element; the first NaN where there is one.
fn extreme<C: Compute>(v: &[C], largest: bool) -> usize {
    let mut best = 0;
    for (i, x) in v.iter().enumerate() {
        if x.partial_cmp(x).is_none() {
            return i;
        }
        if (largest && *x > v[best]) || (!largest && *x < v[best]) {
            best = i;
        }
    }
    best
}

/// Extrema: `values` and `indices` are the results asked for.
fn extrema(x: &Tensor, dims: &[usize], values: Option<&Tensor>, indices: Option<&Tensor>, largest: bool) -> Result<()> {
    macro_rules! run {
        ($t:ty) => {{
            if let Some(out) = values {
                reduce::<$t, $t>(x, dims, out, |v| v[extreme(v, largest)])?;
            }
            if let Some(out) = indices {
                reduce::<$t, i64>(x, dims, out, |v| extreme(v, largest) as i64)?;
            }
            Ok(())
        }};
    }
    match x.dtype() {
        Dtype::Float64 => run!(f64),
        d if d.is_integral() => run!(i64),
        d if d.is_floating() => run!(f32),
        d => Err(not_for("max_cpu", d)),
    }
}

fn vector_norm(c: &Call, o: &[Tensor]) -> Result<()> {
    let x = c.tensor("self")?;
    let dims = dims_of(c, x.dim())?;
    let ord = operators::norms::order(c)?;
    if ord == 2.0 && (x.dtype(), o[0].dtype()) == (Dtype::Float32, Dtype::Float32) {
        let (kept, dense) = (x.dim() - dims.len(), x.concrete()?.is_contiguous());
        let lanes = dense && dims.iter().all(|d| *d >= kept);
        return reduce::<f32, f32>(x, &dims, &o[0], |v| length(v, if lanes { f32::LANES } else { 1 }));
    }
    reduce::<f64, f64>(x, &dims, &o[0], |v| norm(v, ord))
}

/// The Euclidean norm as PyTorch adds it: by lanes, the lanes one after the other, then what is left over.
fn length(v: &[f32], lanes: usize) -> f32 {
    let whole = v.len() / lanes * lanes;
    let mut sums = vec![0.0; lanes];
    v[..whole].iter().enumerate().for_each(|(i, x)| sums[i % lanes] += x * x);
    let sum = sums.into_iter().reduce(|a, b| a + b).unwrap_or(0.0);
    v[whole..].iter().fold(sum, |sum, x| sum + x * x).sqrt()
}

/// The norm of a vector by its order.
pub(crate) fn norm(v: &[f64], ord: f64) -> f64 {
    let largest = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
    match ord {
        // A sum that begins with a positive zero: Rust's own of nothing is a negative one.
        2.0 => v.iter().fold(0.0, |sum, x| sum + x * x).sqrt(),
        1.0 => v.iter().fold(0.0, |sum, x| sum + x.abs()),
        0.0 => v.iter().filter(|x| **x != 0.0).count() as f64,
        f64::INFINITY => v.iter().map(|x| x.abs()).fold(0.0, largest),
        f64::NEG_INFINITY => v.iter().map(|x| x.abs()).fold(f64::INFINITY, |a, b| -largest(-a, -b)),
        p => v.iter().map(|x| x.abs().powf(p)).sum::<f64>().powf(1.0 / p),
    }
}

fn log_sum_exp(v: &[f64]) -> f64 {
    let top = v.iter().copied().fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) });
    if top.is_infinite() && top < 0.0 || top == f64::INFINITY {
        return top;
    }
    top + v.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
}

/// In single precision every step is rounded, as it is a tensor in PyTorch.
fn single_log_sum_exp(x: &Tensor, dims: &[usize], out: &Tensor) -> Result<()> {
    let (sizes, mut tops) = (x.concrete()?.sizes, Vec::new());
    chunks::<f32>(x, dims, &mut |v| {
        let top = v.iter().copied().fold(f32::NEG_INFINITY, |a, b| if a.is_nan() || a >= b { a } else { b });
        tops.push(if top.is_infinite() { 0.0 } else { top });
    })?;
    let (mut steps, mut count) = (vec![0; sizes.len()], 1);
    for d in (0..sizes.len()).rev().filter(|d| !dims.contains(d)) {
        steps[d] = count;
        count *= sizes[d];
    }
    let exponential = |(i, v): (usize, f32)| {
        let (mut rest, mut place) = (i, 0);
        for d in (0..sizes.len()).rev() {
            place += rest % sizes[d] * steps[d];
            rest /= sizes[d];
        }
        f64::from(v - tops[place]).exp() as f32
    };
    let shifted: Vec<f32> = values::<f32>(x)?.into_iter().enumerate().map(exponential).collect();
    let dense = Tensor::zeros(&TensorSpec::contiguous(x.sizes(), Dtype::Float32, x.spec().device))?;
    scatter(&dense, &shifted)?;
    let sums = cascade::sums::<f32>(&dense, dims)?;
    scatter(out, &sums.iter().zip(&tops).map(|(sum, top)| f64::from(*sum).ln() as f32 + top).collect::<Vec<f32>>())
}

/// The lower median and its position. NaNs count as largest; unless `skip`, one of them is the answer.
fn median(v: &[f64], skip: bool) -> (f64, usize) {
    if !skip && let Some(i) = v.iter().position(|x| x.is_nan()) {
        return (f64::NAN, i);
    }
    let mut order: Vec<usize> = (0..v.len()).filter(|i| !v[*i].is_nan()).collect();
    if order.is_empty() {
        return (f64::NAN, 0);
    }
    // Zeros of either sign are equal, and equal elements keep their order.
    order.sort_by(|a, b| v[*a].partial_cmp(&v[*b]).unwrap_or(std::cmp::Ordering::Equal));
    let at = order[(order.len() - 1) / 2];
    (v[at], at)
}

/// A kernel whose results are a value and its position along `dim`.
fn selecting(c: &Call, o: &[Tensor], f: impl Fn(&[f64]) -> (f64, usize)) -> Result<()> {
    let x = c.tensor("self")?;
    let dims = dims_of(c, x.dim())?;
    reduce::<f64, f64>(x, &dims, &o[0], |v| f(v).0)?;
    if let Some(indices) = o.get(1) {
        reduce::<f64, i64>(x, &dims, indices, |v| f(v).1 as i64)?;
    }
    Ok(())
}

/// A running result along `dim`: `step(state, element)` gives the next.
fn running<C: Compute, S: Copy, O: Compute>(
    x: &Tensor,
    dim: usize,
    out: &Tensor,
    start: S,
    step: impl Fn(S, C, usize) -> S,
    read: impl Fn(S) -> O,
) -> Result<()> {
    if x.dim() == 0 {
        let v = values::<C>(x)?;
        return scatter(out, &[read(step(start, v[0], 0))]);
    }
    let sizes = out.concrete()?.sizes;
    let inner: usize = sizes[dim + 1..].iter().product();
    let mut all = vec![O::default(); sizes.iter().product()];
    let mut line = 0;
    chunks::<C>(x, &[dim], &mut |v| {
        let first = line / inner * inner * v.len() + line % inner;
        let mut state = start;
        for (i, x) in v.iter().enumerate() {
            state = step(state, *x, i);
            all[first + i * inner] = read(state);
        }
        line += 1;
    })?;
    scatter(out, &all)
}

fn scan_dim(c: &Call) -> Result<usize> {
    wrap_dim(c.int("dim")?, c.tensor("self")?.dim())
}

/// Running extrema: later ties win.
fn running_extreme(c: &Call, o: &[Tensor], largest: bool) -> Result<()> {
    let (x, dim) = (c.tensor("self")?, scan_dim(c)?);
    // Integers beyond 2 ** 53 are not doubles.
    if x.dtype().is_integral() {
        let start = (if largest { i64::MIN } else { i64::MAX }, 0i64);
        let step = |(best, at): (i64, i64), x: i64, i: usize| {
            if if largest { x >= best } else { x <= best } { (x, i as i64) } else { (best, at) }
        };
        running::<i64, _, i64>(x, dim, &o[0], start, step, |s| s.0)?;
        return running::<i64, _, i64>(x, dim, &o[1], start, step, |s| s.1);
    }
    let start = (if largest { f64::NEG_INFINITY } else { f64::INFINITY }, 0i64);
    let step = |(best, at): (f64, i64), x: f64, i: usize| {
        let better = x.is_nan() || (!best.is_nan() && if largest { x >= best } else { x <= best });
        if better { (x, i as i64) } else { (best, at) }
    };
    running::<f64, _, f64>(x, dim, &o[0], start, step, |s| s.0)?;
    running::<f64, _, i64>(x, dim, &o[1], start, step, |s| s.1)
}

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.sum.default", sum);
    t.fill("aten.sum.dim_IntList", sum);
    t.fill("aten.mean.default", mean);
    t.fill("aten.mean.dim", mean);
    t.fill("aten.prod.default", prod);
    t.fill("aten.prod.dim_int", prod);
    t.fill("aten.nansum.default", |c, o| {
        let x = c.tensor("self")?;
        let dims = dims_of(c, x.dim())?;
        if o[0].dtype().is_integral() {
            return sum(c, o);
        }
        if (x.dtype(), o[0].dtype()) == (Dtype::Float32, Dtype::Float32) {
            return scatter(&o[0], &cascade::sums_of(x, &dims, |v: f32| if v.is_nan() { 0.0 } else { v })?);
        }
        let known = |x: f64| if x.is_nan() { 0.0 } else { x };
        float("nansum_cpu", x, &dims, &o[0], |v| total(v, known), |v| total(v, known))
    });
    for name in ["aten.var.correction", "aten.std.correction", "aten.var_mean.correction", "aten.std_mean.correction"] {
        t.fill(name, moments);
    }
    t.fill("aten.linalg_vector_norm.default", vector_norm);
    t.fill("aten.norm.Scalar", vector_norm);
    t.fill("aten.norm.ScalarOpt_dim", vector_norm);
    t.fill("aten.dist.default", |c, o| {
        let (x, y) = (c.tensor("self")?, c.tensor("other")?);
        let sizes: Vec<usize> =
            shape::concrete(&operators::shapes::broadcast_two(&x.sizes(), &y.sizes())?)?.into_iter().map(|n| n as usize).collect();
        let (a, b) = (super::elementwise::gather::<f64>(x, &sizes)?, super::elementwise::gather::<f64>(y, &sizes)?);
        let difference: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        scatter(&o[0], &[norm(&difference, number(c.get("p"))?)])
    });
    t.fill("aten.logsumexp.default", |c, o| {
        let x = c.tensor("self")?;
        if x.dtype() == Dtype::Float32 {
            return single_log_sum_exp(x, &dims_of(c, x.dim())?, &o[0]);
        }
        reduce::<f64, f64>(x, &dims_of(c, x.dim())?, &o[0], log_sum_exp)
    });
    t.fill("aten.count_nonzero.default", count_nonzero);
    t.fill("aten.count_nonzero.dim_IntList", count_nonzero);
    register_extrema(t);
    register_scans(t);
}

fn count_nonzero(c: &Call, o: &[Tensor]) -> Result<()> {
    let x = c.tensor("self")?;
    reduce::<f64, i64>(x, &dims_of(c, x.dim())?, &o[0], |v| v.iter().filter(|x| **x != 0.0).count() as i64)
}

fn register_extrema(t: &mut KernelTable) {
    for name in ["aten.max.default", "aten.max.dim", "aten.amax.default"] {
        t.fill(name, |c, o| extrema(c.tensor("self")?, &dims_of(c, c.tensor("self")?.dim())?, Some(&o[0]), o.get(1), true));
    }
    for name in ["aten.min.default", "aten.min.dim", "aten.amin.default"] {
        t.fill(name, |c, o| extrema(c.tensor("self")?, &dims_of(c, c.tensor("self")?.dim())?, Some(&o[0]), o.get(1), false));
    }
    t.fill("aten.argmax.default", |c, o| extrema(c.tensor("self")?, &dims_of(c, c.tensor("self")?.dim())?, None, Some(&o[0]), true));
    t.fill("aten.argmin.default", |c, o| extrema(c.tensor("self")?, &dims_of(c, c.tensor("self")?.dim())?, None, Some(&o[0]), false));
    t.fill("aten.aminmax.default", |c, o| {
        let x = c.tensor("self")?;
        let dims = dims_of(c, x.dim())?;
        extrema(x, &dims, Some(&o[0]), None, false)?;
        extrema(x, &dims, Some(&o[1]), None, true)
    });
    for (name, every) in [
        ("aten.all.default", true),
        ("aten.all.dim", true),
        ("aten.all.dims", true),
        ("aten.any.default", false),
        ("aten.any.dim", false),
        ("aten.any.dims", false),
    ] {
        let kernel: fn(&Call, &[Tensor]) -> Result<()> = match every {
            true => |c, o| {
                let x = c.tensor("self")?;
                reduce::<f64, u8>(x, &dims_of(c, x.dim())?, &o[0], |v| u8::from(v.iter().all(|x| x.truth())))
            },
            false => |c, o| {
                let x = c.tensor("self")?;
                reduce::<f64, u8>(x, &dims_of(c, x.dim())?, &o[0], |v| u8::from(v.iter().any(|x| x.truth())))
            },
        };
        t.fill(name, kernel);
    }
    for name in ["aten.median.default", "aten.median.dim"] {
        t.fill(name, |c, o| selecting(c, o, |v| median(v, false)));
    }
    for name in ["aten.nanmedian.default", "aten.nanmedian.dim"] {
        t.fill(name, |c, o| selecting(c, o, |v| median(v, true)));
    }
}

fn register_scans(t: &mut KernelTable) {
    t.fill("aten.cumsum.default", |c, o| {
        let (x, dim) = (c.tensor("self")?, scan_dim(c)?);
        if o[0].dtype().is_integral() {
            return running::<i64, i64, i64>(x, dim, &o[0], 0, |s, x, _| s.wrapping_add(x), |s| s);
        }
        running::<f64, f64, f64>(x, dim, &o[0], 0.0, |s, x, _| s + x, |s| s)
    });
    t.fill("aten.cumprod.default", |c, o| {
        let (x, dim) = (c.tensor("self")?, scan_dim(c)?);
        if o[0].dtype().is_integral() {
            return running::<i64, i64, i64>(x, dim, &o[0], 1, |s, x, _| s.wrapping_mul(x), |s| s);
        }
        running::<f64, f64, f64>(x, dim, &o[0], 1.0, |s, x, _| s * x, |s| s)
    });
    t.fill("aten.logcumsumexp.default", |c, o| {
        let (x, dim) = (c.tensor("self")?, scan_dim(c)?);
        let join = |a: f64, b: f64, _: usize| {
            if a.is_nan() || b.is_nan() {
                return f64::NAN;
            }
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            if high.is_infinite() || low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
        };
        running::<f64, f64, f64>(x, dim, &o[0], f64::NEG_INFINITY, join, |s| s)
    });
    t.fill("aten.cummax.default", |c, o| running_extreme(c, o, true));
    t.fill("aten.cummin.default", |c, o| running_extreme(c, o, false));
    t.fill("aten.renorm.default", renorm);
}

/// Slices along `dim` whose norm exceeds a bound are scaled down to it.
fn renorm(c: &Call, o: &[Tensor]) -> Result<()> {
    let (x, dim) = (c.tensor("self")?, scan_dim(c)?);
    let (p, bound): (f64, f64) = (number(c.get("p"))?, number(c.get("maxnorm"))?);
    let sizes = x.concrete()?.sizes;
    if sizes.len() < 2 {
        return Err(Error::runtime(format!("renorm: input needs at least 2 dimensions, got {} dimensions", sizes.len())));
    }
    let inner: usize = sizes[dim + 1..].iter().product();
    let mut factors = Vec::new();
    let others: Vec<usize> = (0..sizes.len()).filter(|d| *d != dim).collect();
    chunks::<f64>(x, &others, &mut |v| {
        let n = norm(v, p);
        factors.push(if n > bound { super::dense::held(bound / (n + 1e-7), x.dtype()) } else { 1.0 });
    })?;
    let mut all = values::<f64>(x)?;
    all.iter_mut().enumerate().for_each(|(i, v)| *v *= factors[i / inner % sizes[dim]]);
    scatter(&o[0], &all)
}
