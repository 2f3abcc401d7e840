//! Kernels that draw random numbers, in PyTorch's order: through memory for tensors of any layout, and for normal samples of
//! 16 and more contiguous elements in blocks of 16.

use super::complex::pairs;
use super::copy::write;
use super::elementwise::{Compute, map2, map3, not_for, scatter, values};
use diagnostics::error::{Error, Result};
use dispatch::{Call, Kernel, KernelTable, Value};
use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::rc::Rc;
use tensor::random::{Generator, default_generator};
use tensor::{Dtype, Geometry, Tensor};

pub(super) fn generator(c: &Call) -> Result<Rc<Generator>> {
    match c.get("generator") {
        Value::Opaque(any) => any.clone().downcast().map_err(|_| Error::type_error("expected a torch.Generator")),
        _ => Ok(default_generator()),
    }
}

/// The tensor with its dimensions in the order of memory, outermost first.
fn in_memory_order(t: &Tensor) -> Tensor {
    let g = t.geometry();
    let mut order: Vec<usize> = (0..g.sizes.len()).collect();
    order.sort_by_key(|d| std::cmp::Reverse(g.strides[*d].hint()));
    t.view_as(Geometry {
        sizes: order.iter().map(|d| g.sizes[*d].clone()).collect(),
        strides: order.iter().map(|d| g.strides[*d].clone()).collect(),
        offset: g.offset.clone(),
    })
}

/// Fills a tensor with one draw after the other.
pub(super) fn draws<C: Compute>(out: &Tensor, mut draw: impl FnMut() -> C) -> Result<()> {
    let n = out.concrete()?.numel();
    let drawn: Vec<C> = (0..n).map(|_| draw()).collect();
    scatter(&in_memory_order(out), &drawn)
}

fn floating(name: &str, out: &Tensor) -> Result<()> {
    if out.dtype().is_floating() { Ok(()) } else { Err(not_for(name, out.dtype())) }
}

fn uniform(out: &Tensor, from: f64, to: f64, g: &Generator) -> Result<()> {
    floating("check_uniform_bounds", out)?;
    if from > to {
        return Err(Error::runtime(format!("uniform_ expects to return a [from, to) range, but found from={from} > to={to}")));
    }
    if out.dtype() == Dtype::Float64 {
        return draws(out, || match g.uniform64().mul_add(to - from, from) {
            v if v == to => from,
            v => v,
        });
    }
    let (from, to) = (from as f32, to as f32);
    let round = |v: f32| match out.dtype() {
        Dtype::Float16 => half::f16::from_f32(v).to_f32(),
        Dtype::BFloat16 => half::bf16::from_f32(v).to_f32(),
        _ => v,
    };
    draws(out, || match round(g.uniform32().mul_add(to - from, from)) {
        v if v == round(to) => from,
        v => v,
    })
}

/// Eight pairs of uniform samples become sixteen normal ones.
fn sixteen64(block: &mut [f64], mean: f64, std: f64) {
    for j in 0..8 {
        let (u1, u2) = (1.0 - block[j], block[j + 8]);
        let (radius, angle) = ((-2.0 * u1.ln()).sqrt(), 2.0 * PI * u2);
        block[j] = (radius * angle.cos()).mul_add(std, mean);
        block[j + 8] = (radius * angle.sin()).mul_add(std, mean);
    }
}

/// As [`sixteen64`] in single precision, with the approximations PyTorch's vectorized code uses, operation by operation, so
/// that every platform draws its numbers.
fn sixteen32(block: &mut [f32], mean: f32, std: f32) {
    for j in 0..8 {
        let (u1, u2) = (1.0 - block[j], block[j + 8]);
        let radius = (-2.0 * log32(u1)).sqrt();
        let (sin, cos) = sincos32(std::f32::consts::TAU * u2);
        block[j] = (radius * cos).mul_add(std, mean);
        block[j + 8] = (radius * sin).mul_add(std, mean);
    }
}

/// The logarithm of positive normal numbers. Source: Cephes, logf.c.
fn log32(x: f32) -> f32 {
    const P: [f32; 9] = [
        7.037_683_6E-2,
        -1.151_461E-1,
        1.167_699_84E-1,
        -1.242_014_1E-1,
        1.424_932_3E-1,
        -1.666_805_7E-1,
        2.000_071_4E-1,
        -2.499_999_4E-1,
        3.333_333E-1,
    ];
    let bits = x.max(f32::MIN_POSITIVE).to_bits();
    // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
    let mut e = ((bits >> 23) as i32 - 126) as f32;
    let mut m = f32::from_bits((bits & 0x007f_ffff) | 0x3f00_0000);
    if m < std::f32::consts::FRAC_1_SQRT_2 {
        e -= 1.0;
        m = (m - 1.0) + m;
    } else {
        m -= 1.0;
    }
    let z = m * m;
    let y = P[1..].iter().fold(P[0], |y, p| y.mul_add(m, *p)) * m;
    let y = y.mul_add(z, e * -2.121_944_4e-4);
    let y = (-z).mul_add(0.5, y);
    e.mul_add(0.693_359_4, m + y)
}

/// The sine and cosine of non-negative numbers of moderate size. Source: Cephes, sinf.c.
fn sincos32(x: f32) -> (f32, f32) {
    // The octant, made even, and what is left of it in extended precision.
    let octant = ((x * (4.0 / std::f32::consts::PI)) as i32 + 1) & !1;
    let y = octant as f32;
    let x = y.mul_add(-0.78515625, x);
    let x = y.mul_add(-2.418_756_5e-4, x);
    let x = y.mul_add(-3.774_895e-8, x);
    let z = x * x;
    let cos = 2.443_315_7e-5f32.mul_add(z, -1.388_731_6e-3).mul_add(z, 4.166_664_6e-2) * z;
    let cos = cos.mul_add(z, -(z * 0.5)) + 1.0;
    let sin = (-1.951_529_6e-4f32).mul_add(z, 8.332_161e-3).mul_add(z, -1.666_665_5e-1) * z;
    let sin = sin.mul_add(x, x);
    let (sin, cos) = if octant & 2 == 0 { (sin, cos) } else { (cos, sin) };
    (if octant & 4 == 0 { sin } else { -sin }, if (octant - 2) & 4 != 0 { cos } else { -cos })
}

/// All samples first, then blocks of 16, then the last 16 anew where they do not come out even.
fn blocks<C: Compute>(out: &Tensor, n: usize, draw: impl Fn() -> C, sixteen: impl Fn(&mut [C])) -> Result<()> {
    let mut all: Vec<C>;
    if matches!(out.dtype(), Dtype::Float16 | Dtype::BFloat16) {
        all = vec![C::default(); n];
        for block in all.as_chunks_mut::<16>().0 {
            block.fill_with(&draw);
            sixteen(block);
        }
    } else {
        all = (0..n).map(|_| draw()).collect();
        all.as_chunks_mut::<16>().0.iter_mut().for_each(|block| sixteen(block));
    }
    if !n.is_multiple_of(16) {
        let last = &mut all[n - 16..];
        last.fill_with(&draw);
        sixteen(last);
    }
    scatter(out, &all)
}

fn normal(out: &Tensor, mean: f64, std: f64, g: &Generator) -> Result<()> {
    floating("normal_kernel_cpu", out)?;
    if std < 0.0 {
        return Err(Error::runtime(format!("normal expects std >= 0.0, but found std {std}")));
    }
    let shape = out.concrete()?;
    let n = shape.numel();
    if n < 16 || !shape.is_contiguous() {
        return draws(out, || g.normal64().mul_add(std, mean));
    }
    if out.dtype() == Dtype::Float64 {
        return blocks(out, n, || g.uniform64(), |b| sixteen64(b, mean, std));
    }
    blocks(out, n, || g.uniform32(), |b| sixteen32(b, mean as f32, std as f32))
}

fn bernoulli(out: &Tensor, p: &Value, g: &Generator) -> Result<()> {
    let outside = |p: f64| Error::runtime(format!("bernoulli_ expects p to be in [0, 1], but got p={p}"));
    let Value::Tensor(p) = p else {
        let p = p.float()?;
        if !(0.0..=1.0).contains(&p) {
            return Err(outside(p));
        }
        return draws(out, || i64::from(g.uniform64() < p));
    };
    if !p.dtype().is_floating() {
        return Err(not_for("bernoulli_tensor_cpu_p_", p.dtype()));
    }
    // The probabilities in the order in which the result is filled.
    let (shape, wide) = (out.concrete()?, p.dtype() == Dtype::Float64);
    let given: Vec<f64> = super::elementwise::gather(p, &shape.sizes)?;
    if given.iter().any(|p| !(0.0..=1.0).contains(p)) {
        return Err(Error::runtime(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)",
        ));
    }
    let aligned = Tensor::zeros(&tensor::TensorSpec::strided(
        out.sizes(),
        operators::factory::copy_strides(out, tensor::MemoryFormat::Preserve)?,
        Dtype::Float64,
        out.device(),
    ))?;
    scatter(&aligned, &given)?;
    let mut given = values::<f64>(&in_memory_order(&aligned))?.into_iter();
    draws(out, || {
        let p = given.next().unwrap_or(0.0);
        i64::from(if wide { g.uniform64() < p } else { g.uniform32() < p as f32 })
    })
}

fn exponential(out: &Tensor, lambda: f64, g: &Generator) -> Result<()> {
    floating("exponential_cpu", out)?;
    if lambda <= 0.0 {
        return Err(Error::runtime(format!("exponential_ expects lambda > 0.0, but found lambda={lambda}")));
    }
    draws(out, || -1.0 / lambda * (-g.uniform64()).ln_1p())
}

/// The largest integer that a dtype holds exactly, all smaller ones included.
fn largest(dtype: Dtype) -> i64 {
    match dtype {
        Dtype::Bool => 1,
        Dtype::UInt8 => 255,
        Dtype::Int8 => 127,
        Dtype::Int16 => i16::MAX as i64,
        Dtype::Int32 => i32::MAX as i64,
        Dtype::Float16 => 1 << 11,
        Dtype::BFloat16 => 1 << 8,
        Dtype::Float32 => 1 << 24,
        Dtype::Float64 => 1 << 53,
        _ => i64::MAX,
    }
}

/// `random_()`: every number the dtype holds exactly, from zero up.
fn random(out: &Tensor, g: &Generator) -> Result<()> {
    let range = largest(out.dtype()) as u64 + 1;
    draws(out, || match out.dtype() {
        Dtype::Float64 | Dtype::Int64 => (g.random64() % range) as i64,
        _ => (u64::from(g.random()) % range) as i64,
    })
}

fn random_from(out: &Tensor, from: i64, to: Option<i64>, g: &Generator) -> Result<()> {
    if let Some(to) = to
        && from >= to
    {
        return Err(Error::runtime(format!("random_ expects 'from' to be less than 'to', but got from={from} >= to={to}")));
    }
    let range = match to {
        Some(to) => to.wrapping_sub(from) as u64,
        None => (largest(out.dtype()).wrapping_sub(from) as u64).wrapping_add(1),
    };
    draws(out, || g.from_to(range, from))
}

/// The target: `self` of an in-place operator, the result of the others.
fn target<'a>(c: &Call<'a>, o: Option<&'a Tensor>) -> Result<&'a Tensor> {
    o.map_or_else(|| c.tensor("self"), Ok)
}

fn fill_random(c: &Call, o: Option<&Tensor>) -> Result<()> {
    let (out, g) = (target(c, o)?, generator(c)?);
    let g = &*g;
    match c.entry.base_name().trim_end_matches('_') {
        "uniform" | "normal" if out.dtype().is_complex() => {
            let (name, out) = (c.entry.base_name(), pairs(out));
            if name.starts_with('u') {
                return uniform(&out, c.float("from")?, c.float("to")?, g);
            }
            normal(&out, c.float("mean")?, c.float("std")? * FRAC_1_SQRT_2, g)
        }
        "uniform" => uniform(out, c.float("from")?, c.float("to")?, g),
        "normal" | "normal_functional" => normal(out, c.float("mean")?, c.float("std")?, g),
        "exponential" => exponential(out, c.float("lambd")?, g),
        "bernoulli" if c.get("p").is_none() => bernoulli(out, c.get("self"), g),
        "bernoulli" => bernoulli(out, c.get("p"), g),
        "cauchy" => {
            let (median, sigma) = (c.float("median")?, c.float("sigma")?);
            floating("cauchy_cpu", out)?;
            draws(out, || sigma.mul_add((PI * (g.uniform64() - 0.5)).tan(), median))
        }
        "log_normal" => {
            let (mean, std) = (c.float("mean")?, c.float("std")?);
            floating("log_normal_cpu", out)?;
            draws(out, || (g.normal64().mul_add(std, mean)).exp())
        }
        "geometric" => {
            let p = c.float("p")?;
            if !(p > 0.0 && p < 1.0) {
                return Err(Error::runtime(format!("geometric_ expects p to be in (0, 1), but got p={p}")));
            }
            draws(out, || (g.uniform64().ln() / (-p).ln_1p()).ceil())
        }
        _ => match (c.entry.schema.overload.as_str(), c.get("to")) {
            ("", _) => random(out, g),
            ("to", _) => random_from(out, 0, Some(c.int("to")?), g),
            (_, Value::None) => random_from(out, c.int("from")?, None, g),
            _ => random_from(out, c.int("from")?, Some(c.int("to")?), g),
        },
    }
}

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    for name in [
        "aten.uniform.default",
        "aten.normal_functional.default",
        "aten.exponential.default",
        "aten.bernoulli.default",
        "aten.bernoulli.p",
        "aten.bernoulli.Tensor",
        "aten.cauchy.default",
        "aten.log_normal.default",
        "aten.geometric.default",
        "aten.random.default",
        "aten.random.from",
        "aten.random.to",
    ] {
        t.fill(name, |c, o| fill_random(c, Some(&o[0])));
    }
    for name in [
        "aten.uniform_.default",
        "aten.normal_.default",
        "aten.exponential_.default",
        "aten.bernoulli_.float",
        "aten.bernoulli_.Tensor",
        "aten.cauchy_.default",
        "aten.log_normal_.default",
        "aten.geometric_.default",
        "aten.random_.default",
        "aten.random_.from",
        "aten.random_.to",
    ] {
        t.mutate(name, |c| fill_random(c, None));
    }
    register_factories(t);
    register_mixed(t);
}

/// The numbers that a tensor holds: pairs where they are complex.
fn drawn(out: &Tensor) -> Tensor {
    if out.dtype().is_complex() { pairs(out) } else { out.clone() }
}

fn register_factories(t: &mut KernelTable) {
    for name in ["aten.rand.default", "aten.rand.generator", "aten.rand_like.default", "aten.rand_like.generator"] {
        t.fill(name, |c, o| uniform(&o[0], 0.0, 1.0, &*generator(c)?));
        // Like a complex tensor, numbers may be drawn that are real.
        t.complex(name, Kernel::Fill(|c, o| uniform(&drawn(&o[0]), 0.0, 1.0, &*generator(c)?)));
    }
    for name in ["aten.randn.default", "aten.randn.generator", "aten.randn_like.default", "aten.randn_like.generator"] {
        t.fill(name, |c, o| normal(&o[0], 0.0, 1.0, &*generator(c)?));
        // The variance is that of both parts together.
        t.complex(
            name,
            Kernel::Fill(|c, o| {
                let deviation = if o[0].dtype().is_complex() { FRAC_1_SQRT_2 } else { 1.0 };
                normal(&drawn(&o[0]), 0.0, deviation, &*generator(c)?)
            }),
        );
    }
    for name in ["aten.uniform_.default", "aten.normal_.default"] {
        t.complex(name, Kernel::Mutate(|c| fill_random(c, None)));
    }
    for name in [
        "aten.randint.default",
        "aten.randint.generator",
        "aten.randint.low",
        "aten.randint.low_generator",
        "aten.randint_like.default",
        "aten.randint_like.low_dtype",
    ] {
        t.fill(name, |c, o| {
            let low = if c.get("low").is_none() { 0 } else { c.int("low")? };
            random_from(&o[0], low, Some(c.int("high")?), &*generator(c)?)
        });
    }
    for name in ["aten.randperm.default", "aten.randperm.generator"] {
        t.fill(name, |c, o| {
            let (n, g) = (c.int("n")?, generator(c)?);
            let mut order: Vec<i64> = (0..n).collect();
            for i in 0..n - 1 {
                let z = if n < i64::from(u32::MAX / 20) { u64::from(g.random()) } else { g.random64() } % (n - i) as u64;
                order.swap(i as usize, (i as u64 + z) as usize);
            }
            scatter(&o[0], &order)
        });
    }
    t.fill("aten.normal.float_float", |c, o| normal(&o[0], c.float("mean")?, c.float("std")?, &*generator(c)?));
}

fn register_mixed(t: &mut KernelTable) {
    t.fill("aten.normal.Tensor_float", |c, o| {
        normal(&o[0], 0.0, c.float("std")?, &*generator(c)?)?;
        with_mean(&o[0], &Value::from(1), c.get("mean"))
    });
    for name in ["aten.normal.float_Tensor", "aten.normal.Tensor_Tensor"] {
        t.fill(name, |c, o| {
            if values::<f64>(c.tensor("std")?)?.iter().any(|s| *s < 0.0) {
                return Err(Error::runtime("normal expects all elements of std >= 0.0"));
            }
            normal(&o[0], 0.0, 1.0, &*generator(c)?)?;
            with_mean(&o[0], c.get("std"), c.get("mean"))
        });
    }
    t.fill("aten.multinomial.default", multinomial);
    t.fill("aten.native_dropout.default", |c, o| {
        let x = c.get("input");
        if !c.get("train").is_none() && !c.bool("train")? {
            super::copy::fill(&o[1], &Value::Bool(true))?;
            return write(&o[0], x.tensor()?);
        }
        let keep = 1.0 - c.float("p")?;
        let scale = if keep == 0.0 { 0.0 } else { 1.0 / keep };
        bernoulli(&o[1], &Value::Float(keep), &default_generator())?;
        masked_scale(x, &(&o[1]).into(), scale, &o[0])
    });
    t.fill("aten.native_dropout_backward.default", |c, o| masked_scale(c.get("grad_output"), c.get("mask"), c.float("scale")?, &o[0]));
}

/// `x * mask * scale`
fn masked_scale(x: &Value, mask: &Value, scale: f64, out: &Tensor) -> Result<()> {
    match out.dtype() {
        Dtype::Float64 => map2(x, mask, out, |x: f64, m| x * m * scale),
        _ => map2(x, mask, out, |x: f32, m| x * m * scale as f32),
    }
}

/// `out * std + mean`, in place.
fn with_mean(out: &Tensor, std: &Value, mean: &Value) -> Result<()> {
    let drawn = Tensor::zeros(&out.spec())?;
    write(&drawn, out)?;
    let drawn = Value::Tensor(drawn);
    match out.dtype() {
        Dtype::Float64 => map3(&drawn, std, mean, out, |v: f64, s, m| v * s + m),
        _ => map3(&drawn, std, mean, out, |v: f32, s, m| v * s + m),
    }
}

/// Indices drawn by weight, row by row.
fn multinomial(c: &Call, o: &[Tensor]) -> Result<()> {
    let (x, count, g) = (c.tensor("self")?, c.int("num_samples")? as usize, generator(c)?);
    let weights = values::<f64>(x)?;
    if weights.iter().any(|w| !w.is_finite() || *w < 0.0) {
        return Err(Error::runtime("probability tensor contains either `inf`, `nan` or element < 0"));
    }
    let classes = x.concrete()?.sizes.last().copied().unwrap_or(0).max(1);
    if weights.chunks(classes).any(|row| row.iter().sum::<f64>() <= 0.0) {
        return Err(Error::runtime("invalid multinomial distribution (sum of probabilities <= 0)"));
    }
    let wide = x.dtype() == Dtype::Float64;
    let round = |v: f64| if wide { v } else { v as f32 as f64 };
    let mut out = Vec::new();
    if !c.bool("replacement")? || count == 1 {
        // The classes that would ring first, were each an exponential clock of its weight.
        let clocks: Vec<f64> = weights.iter().map(|_| round(-(-g.uniform64()).ln_1p())).collect();
        for (row, clocks) in weights.chunks(classes).zip(clocks.chunks(classes)) {
            let rates: Vec<f64> = row.iter().zip(clocks).map(|(w, q)| round(w / q)).collect();
            let mut order: Vec<usize> = (0..classes).collect();
            order.sort_by(|a, b| rates[*b].total_cmp(&rates[*a]));
            out.extend(order[..count].iter().map(|i| *i as i64));
        }
    } else {
        for row in weights.chunks(classes) {
            let mut sums: Vec<f64> = Vec::with_capacity(classes);
            for w in row {
                sums.push(round(sums.last().copied().unwrap_or(0.0) + w));
            }
            let total = sums[classes - 1];
            let cumulative: Vec<f64> = sums.iter().map(|s| round(s / total)).collect();
            for _ in 0..count {
                let u = g.uniform64();
                out.push(cumulative.partition_point(|c| *c < u).min(classes - 1) as i64);
            }
        }
    }
    scatter(&o[0], &out)
}
