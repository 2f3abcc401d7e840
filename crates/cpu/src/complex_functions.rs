//! Functions and reductions of complex numbers, computed in pairs of f64.

use super::complex::{apart, part, read, unknown, write};
use super::complex_number::{C, ONE, c};
use super::elementwise::{gather, scatter};
use diagnostics::error::Result;
use dispatch::{Call, Kernel, KernelTable, Value, real_kernel};
use operators::shapes::{wrap_dim, wrap_dims};
use tensor::Tensor;

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    register_elements(t);
    register_reductions(t);
}

fn unary(call: &Call, outs: &[Tensor], f: fn(C) -> C) -> Result<()> {
    let values: Vec<C> = read(&call.args[0], &outs[0].concrete()?.sizes)?.into_iter().map(f).collect();
    write(&outs[0], &values)
}

fn reading(call: &Call, outs: &[Tensor], f: fn(C) -> f64) -> Result<()> {
    let values: Vec<f64> = read(&call.args[0], &outs[0].concrete()?.sizes)?.into_iter().map(f).collect();
    scatter(&outs[0], &values)
}

fn binary(call: &Call, outs: &[Tensor], f: fn(C, C) -> C) -> Result<()> {
    let sizes = outs[0].concrete()?.sizes;
    let (a, b) = (read(&call.args[0], &sizes)?, read(&call.args[1], &sizes)?);
    write(&outs[0], &a.into_iter().zip(b).map(|(a, b)| f(a, b)).collect::<Vec<_>>())
}

fn equality(call: &Call, outs: &[Tensor], equal: bool) -> Result<()> {
    let sizes = outs[0].concrete()?.sizes;
    let (a, b) = (read(&call.args[0], &sizes)?, read(&call.args[1], &sizes)?);
    scatter(&outs[0], &a.into_iter().zip(b).map(|(a, b)| u8::from((a == b) == equal)).collect::<Vec<u8>>())
}

fn ternary(call: &Call, outs: &[Tensor], f: fn(C, C, C) -> C) -> Result<()> {
    with_factor(call, outs, C::default(), |a, b, c, _| f(a, b, c))
}

/// Of three operands and a number.
fn with_value(call: &Call, outs: &[Tensor], f: fn(C, C, C, C) -> C) -> Result<()> {
    let value = read(call.get("value"), &[])?[0];
    with_factor(call, outs, value, f)
}

fn with_factor(call: &Call, outs: &[Tensor], value: C, f: impl Fn(C, C, C, C) -> C) -> Result<()> {
    let sizes = outs[0].concrete()?.sizes;
    let [a, b, c] = [read(&call.args[0], &sizes)?, read(&call.args[1], &sizes)?, read(&call.args[2], &sizes)?];
    write(&outs[0], &(0..a.len()).map(|i| f(a[i], b[i], c[i], value)).collect::<Vec<_>>())
}

/// A point on the way from one number to another, from the nearer end.
fn between(from: C, to: C, weight: C) -> C {
    if weight.abs() < 0.5 { from + weight * (to - from) } else { to - (to - from) * (ONE - weight) }
}

/// Functions of one number or two, element by element.
fn register_elements(t: &mut KernelTable) {
    t.fill_complex("aten.exp.default", |call, o| unary(call, o, C::exp));
    t.fill_complex("aten.expm1.default", |call, o| unary(call, o, |z| z.exp() - ONE));
    t.fill_complex("aten.log.default", |call, o| unary(call, o, C::ln));
    t.fill_complex("aten.log2.default", |call, o| unary(call, o, |z| z.ln().scale(std::f64::consts::LOG2_E)));
    t.fill_complex("aten.log10.default", |call, o| unary(call, o, |z| z.ln().scale(std::f64::consts::LOG10_E)));
    t.fill_complex("aten.log1p.default", |call, o| unary(call, o, C::ln_1p));
    t.fill_complex("aten.sqrt.default", |call, o| unary(call, o, C::sqrt));
    t.fill_complex("aten.rsqrt.default", |call, o| unary(call, o, |z| ONE / z.sqrt()));
    t.fill_complex("aten.reciprocal.default", |call, o| unary(call, o, |z| ONE / z));
    t.fill_complex("aten.sin.default", |call, o| unary(call, o, C::sin));
    t.fill_complex("aten.cos.default", |call, o| unary(call, o, C::cos));
    t.fill_complex("aten.tan.default", |call, o| unary(call, o, |z| z.sin() / z.cos()));
    t.fill_complex("aten.sinh.default", |call, o| unary(call, o, C::sinh));
    t.fill_complex("aten.cosh.default", |call, o| unary(call, o, C::cosh));
    t.fill_complex("aten.tanh.default", |call, o| unary(call, o, C::tanh));
    t.fill_complex("aten.sigmoid.default", |call, o| unary(call, o, C::sigmoid));
    t.fill_complex("aten._conj.default", |call, o| unary(call, o, C::conj));
    t.fill_complex("aten._conj_physical.default", |call, o| unary(call, o, C::conj));
    t.fill_complex("aten.sgn.default", |call, o| unary(call, o, |z| if z == C::default() { z } else { c(z.re / z.abs(), z.im / z.abs()) }));
    t.fill_complex("aten.abs.default", |call, o| reading(call, o, C::abs));
    t.fill_complex("aten.angle.default", |call, o| reading(call, o, C::angle));
    t.fill_complex("aten.isnan.default", |call, o| reading(call, o, |z| f64::from(u8::from(z.re.is_nan() || z.im.is_nan()))));
    t.fill_complex("aten.isinf.default", |call, o| reading(call, o, |z| f64::from(u8::from(z.re.is_infinite() || z.im.is_infinite()))));
    t.fill_complex("aten.logical_not.default", |call, o| reading(call, o, |z| f64::from(u8::from(z == C::default()))));
    t.fill_complex("aten.mul.Tensor", |call, o| binary(call, o, |a, b| a * b));
    t.fill_complex("aten.mul.Scalar", |call, o| binary(call, o, |a, b| a * b));
    t.fill_complex("aten.div.Tensor", |call, o| binary(call, o, |a, b| a / b));
    t.fill_complex("aten.div.Scalar", |call, o| binary(call, o, |a, b| a / b));
    t.fill_complex("aten.pow.Tensor_Tensor", |call, o| binary(call, o, C::pow));
    t.fill_complex("aten.pow.Tensor_Scalar", |call, o| binary(call, o, C::pow));
    t.fill_complex("aten.pow.Scalar", |call, o| binary(call, o, C::pow));
    t.fill_complex("aten.exp2.default", |call, o| unary(call, o, |z| z.scale(std::f64::consts::LN_2).exp()));
    t.fill_complex("aten.asin.default", |call, o| unary(call, o, C::asin));
    t.fill_complex("aten.acos.default", |call, o| unary(call, o, C::acos));
    t.fill_complex("aten.atan.default", |call, o| unary(call, o, C::atan));
    t.fill_complex("aten.asinh.default", |call, o| unary(call, o, C::asinh));
    t.fill_complex("aten.acosh.default", |call, o| unary(call, o, C::acosh));
    t.fill_complex("aten.atanh.default", |call, o| unary(call, o, C::atanh));
    t.fill_complex("aten.sinc.default", |call, o| unary(call, o, C::sinc));
    t.fill_complex("aten.silu.default", |call, o| unary(call, o, |z| z * z.sigmoid()));
    t.fill_complex("aten.tanh_backward.default", |call, o| binary(call, o, |g, y| g * (ONE - y * y).conj()));
    t.fill_complex("aten.sigmoid_backward.default", |call, o| binary(call, o, |g, y| g * ((ONE - y) * y).conj()));
    t.fill_complex("aten.logaddexp.default", |call, o| binary(call, o, C::log_add_exp));
    t.fill_complex("aten.ldexp.Tensor", |call, o| binary(call, o, |a, b| a * b.scale(std::f64::consts::LN_2).exp()));
    t.fill_complex("aten.lerp.Scalar", |call, o| ternary(call, o, between));
    t.fill_complex("aten.lerp.Tensor", |call, o| ternary(call, o, between));
    t.fill_complex("aten.addcmul.default", |call, o| with_value(call, o, |x, a, b, value| x + value * a * b));
    t.fill_complex("aten.addcdiv.default", |call, o| with_value(call, o, |x, a, b, value| x + value * a / b));
    for (name, equal) in [("aten.eq.Tensor", true), ("aten.eq.Scalar", true), ("aten.ne.Tensor", false), ("aten.ne.Scalar", false)] {
        t.complex(name, Kernel::Fill(if equal { |call, o| equality(call, o, true) } else { |call, o| equality(call, o, false) }));
    }
}

/// Where the elements of each line along dimensions lie in row-major order; the lines in row-major order of the other dimensions.
fn lines(sizes: &[usize], dims: &[usize]) -> Vec<Vec<usize>> {
    let kept: usize = (0..sizes.len()).filter(|d| !dims.contains(d)).map(|d| sizes[d]).product();
    let mut lines = vec![Vec::new(); kept];
    for at in 0..sizes.iter().product() {
        let (mut rest, mut line, mut step) = (at, 0, 1);
        for (d, size) in sizes.iter().enumerate().rev() {
            if !dims.contains(&d) {
                line += rest % size * step;
                step *= size;
            }
            rest /= size;
        }
        lines[line].push(at);
    }
    lines
}

/// Makes one number of each line along the dimensions that a call names: all, where it names none.
fn reduced(call: &Call, outs: &[Tensor], f: fn(&mut dyn Iterator<Item = C>) -> C) -> Result<()> {
    let sizes = call.tensor("self")?.concrete()?.sizes;
    let dims = match call.entry.schema.position("dim").map(|at| &call.args[at]) {
        None | Some(Value::None) => (0..sizes.len()).collect(),
        Some(Value::Int(_)) => vec![wrap_dim(call.int("dim")?, sizes.len())?],
        Some(_) => wrap_dims(&call.ints("dim")?, sizes.len())?,
    };
    let dims = if dims.is_empty() { (0..sizes.len()).collect() } else { dims };
    let values = read(call.get("self"), &sizes)?;
    // What is made real is made so before it is reduced.
    let value = |at: usize| if outs[0].dtype().is_complex() { values[at] } else { c(values[at].re, 0.0) };
    let made: Vec<C> = lines(&sizes, &dims).into_iter().map(|line| f(&mut line.into_iter().map(value))).collect();
    if outs[0].dtype().is_complex() {
        return write(&outs[0], &made);
    }
    scatter(&outs[0], &made.into_iter().map(|z| z.re).collect::<Vec<f64>>())
}

/// A running form along a dimension.
fn running(call: &Call, outs: &[Tensor], f: fn(C, C) -> C) -> Result<()> {
    let sizes = call.tensor("self")?.concrete()?.sizes;
    let dims = if sizes.is_empty() { Vec::new() } else { vec![wrap_dim(call.int("dim")?, sizes.len())?] };
    let mut values = read(call.get("self"), &sizes)?;
    for line in lines(&sizes, &dims) {
        line.windows(2).for_each(|pair| values[pair[1]] = f(values[pair[0]], values[pair[1]]));
    }
    if outs[0].dtype().is_complex() {
        return write(&outs[0], &values);
    }
    scatter(&outs[0], &values.into_iter().map(|z| z.re).collect::<Vec<f64>>())
}

/// By the largest real part, so that exponentials stay numbers.
fn log_sum_exp(values: &mut dyn Iterator<Item = C>) -> C {
    let values: Vec<C> = values.collect();
    let largest = values.iter().map(|z| z.re).fold(f64::NEG_INFINITY, f64::max);
    let largest = if largest.is_finite() { largest } else { 0.0 };
    let sum: C = values.into_iter().map(|z| (z - c(largest, 0.0)).exp()).sum();
    sum.ln() + c(largest, 0.0)
}

/// Variances are those of both parts added, means are complex.
fn moments(call: &Call, outs: &[Tensor]) -> Result<()> {
    let Some(Kernel::Fill(fill)) = real_kernel(call.entry) else { return Err(unknown(call)) };
    let is_root = call.entry.base_name().starts_with("std");
    let sizes = outs[0].concrete()?.sizes;
    let mut total = vec![0.0; sizes.iter().product()];
    for index in 0..2 {
        let made: Vec<Tensor> = outs.iter().map(apart).collect::<Result<_>>()?;
        let mut args = call.args.to_vec();
        args[0] = part(call.args[0].tensor()?, index).into();
        fill(&Call { entry: call.entry, args: &args }, &made)?;
        let moment = gather::<f64>(&made[0], &sizes)?;
        total.iter_mut().zip(moment).for_each(|(sum, v)| *sum += if is_root { v * v } else { v });
        if let Some(mean) = outs.get(1) {
            super::copy::write(&part(mean, index), &made[1])?;
        }
    }
    if is_root {
        total.iter_mut().for_each(|v| *v = v.sqrt());
    }
    scatter(&outs[0], &total)
}

/// Runs the real kernel on distances from zero.
fn on_distances(call: &Call, outs: &[Tensor], values: &[C], sizes: &[shape::SymInt]) -> Result<()> {
    let Some(Kernel::Fill(fill)) = real_kernel(call.entry) else { return Err(unknown(call)) };
    let x = call.args[0].tensor()?;
    let absolute = Tensor::zeros(&tensor::TensorSpec::contiguous(sizes.to_vec(), x.dtype().to_real(), x.device()))?;
    scatter(&absolute, &values.iter().map(|z| z.abs()).collect::<Vec<f64>>())?;
    let mut args = call.args.to_vec();
    if let Some(other) = args.get_mut(1).filter(|other| matches!(other, Value::Tensor(_))) {
        *other = Tensor::zeros(&absolute.spec())?.into();
    }
    args[0] = absolute.into();
    fill(&Call { entry: call.entry, args: &args }, outs)
}

/// The norm of complex numbers is that of their absolute values.
fn norm(call: &Call, outs: &[Tensor]) -> Result<()> {
    let x = call.args[0].tensor()?;
    let values = read(&call.args[0], &x.concrete()?.sizes)?;
    on_distances(call, outs, &values, &x.sizes())
}

fn distance(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (x, y) = (call.tensor("self")?, call.tensor("other")?);
    let sizes = operators::shapes::broadcast_two(&x.sizes(), &y.sizes())?;
    let counts: Vec<usize> = shape::concrete(&sizes)?.into_iter().map(|n| n as usize).collect();
    let apart = read(call.get("self"), &counts)?.into_iter().zip(read(call.get("other"), &counts)?);
    on_distances(call, outs, &apart.map(|(a, b)| a - b).collect::<Vec<_>>(), &sizes)
}

/// Each number as far scaled down as its distance from zero is.
fn renorm(call: &Call, outs: &[Tensor]) -> Result<()> {
    let sizes = outs[0].concrete()?.sizes;
    let values = read(call.get("self"), &sizes)?;
    let scaled = apart(&outs[0])?;
    on_distances(call, std::slice::from_ref(&scaled), &values, &outs[0].sizes())?;
    let share = |(z, to): (C, f64)| if z.abs() == 0.0 { z } else { z.scale(to / z.abs()) };
    write(&outs[0], &values.into_iter().zip(gather::<f64>(&scaled, &sizes)?).map(share).collect::<Vec<_>>())
}

/// Numbers at even distances from a start to an end.
fn spaced(call: &Call, outs: &[Tensor], f: impl Fn(C) -> C) -> Result<()> {
    let count = outs[0].concrete()?.sizes.iter().product::<usize>();
    let [start, end] = [read(call.get("start"), &[])?[0], read(call.get("end"), &[])?[0]];
    let step = (end - start).scale(1.0 / count.saturating_sub(1).max(1) as f64);
    let at = |i: usize| if i < count / 2 || count == 1 { start + step.scale(i as f64) } else { end - step.scale((count - 1 - i) as f64) };
    write(&outs[0], &(0..count).map(|i| f(at(i))).collect::<Vec<_>>())
}

fn register_reductions(t: &mut KernelTable) {
    t.fill_complex("aten.prod.default", |call, o| reduced(call, o, |values| values.fold(ONE, |a, b| a * b)));
    t.fill_complex("aten.prod.dim_int", |call, o| reduced(call, o, |values| values.fold(ONE, |a, b| a * b)));
    t.fill_complex("aten.logsumexp.default", |call, o| reduced(call, o, log_sum_exp));
    t.fill_complex("aten.cumprod.default", |call, o| running(call, o, |a, b| a * b));
    t.fill_complex("aten.logcumsumexp.default", |call, o| running(call, o, C::log_add_exp));
    for name in ["var", "std", "var_mean", "std_mean"] {
        t.fill_complex(&format!("aten.{name}.correction"), moments);
    }
    t.fill_complex("aten.linalg_vector_norm.default", norm);
    t.fill_complex("aten.dist.default", distance);
    t.fill_complex("aten.renorm.default", renorm);
    t.fill_complex("aten.linspace.default", |call, o| spaced(call, o, |z| z));
    t.fill_complex("aten.logspace.default", |call, o| {
        let base = c(call.float("base")?, 0.0);
        spaced(call, o, |z| base.pow(z))
    });
}
