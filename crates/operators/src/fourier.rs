//! `torch.fft`: every transform as one of three operators (real to complex, complex to real, complex to complex), shifts,
//! frequencies, and the short-time transform.

use super::common::*;
use super::shapes::{dim_of, wrap_dim};
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, CastPolicy, Grads, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    register_transforms(b);
    register_names(b);
    register_shifts(b);
    super::short_time::register(b);
}

fn dims_of(c: &Call, ndim: usize) -> Result<Vec<usize>> {
    c.ints("dim")?.iter().map(|d| wrap_dim(*d, ndim)).collect()
}

/// The dimensions of a transform, of a tensor that has some.
fn transformed(c: &Call, x: &Tensor) -> Result<Vec<usize>> {
    let dims = dims_of(c, x.dim())?;
    if x.dim() == 0 && !dims.is_empty() {
        return Err(Error::runtime("shape '[-1, 0]' is invalid for input of size 1"));
    }
    if dims.iter().any(|d| x.size(*d).as_int() == Some(0)) && c.entry.base_name() != "_fft_c2c" {
        let sizes: Vec<String> = dims.iter().map(|d| x.size(*d).to_string()).collect();
        return Err(Error::runtime(format!(
            "cannot reshape tensor of 0 elements into shape [-1, {}] because the unspecified dimension size -1 can be any value and is ambiguous",
            sizes.join(", ")
        )));
    }
    if dims.is_empty() && c.entry.base_name() != "_fft_c2c" {
        return Err(Error::runtime("ArrayRef: attempted to access back() of empty list"));
    }
    Ok(dims)
}

/// A result whose transformed dimensions are innermost, in the order they lie in, as the others are. The last one is the first of all where
/// it alone changes its size.
fn laid_out(x: &Tensor, sizes: Vec<SymInt>, dims: &[usize], dtype: tensor::Dtype) -> Specs {
    let hints: Vec<i64> = x.geometry().strides.iter().map(|s| s.hint().unwrap_or(0)).collect();
    let Some((last, others)) = dims.split_last() else { return Ok(vec![Some(TensorSpec::contiguous(sizes, dtype, x.device()))]) };
    let by_stride = |mut group: Vec<usize>| {
        group.sort_by_key(|d| std::cmp::Reverse(hints[*d]));
        group
    };
    let mut order = by_stride((0..sizes.len()).filter(|d| !dims.contains(d)).collect());
    if x.dtype().is_complex() && dtype.is_complex() {
        order.extend(by_stride(dims.to_vec()));
    } else {
        order.extend(by_stride(others.to_vec()));
        order.push(*last);
    }
    let (mut strides, mut next) = (vec![SymInt::Int(1); sizes.len()], SymInt::Int(1));
    for d in order.into_iter().rev() {
        strides[d] = next.clone();
        next = &next * &sizes[d].max(&SymInt::Int(1));
    }
    Ok(vec![Some(TensorSpec::strided(sizes, strides, dtype, x.device()))])
}

fn r2c_spec(c: &Call) -> Specs {
    let x = c.tensor("self")?;
    let (mut sizes, dims) = (x.sizes(), transformed(c, x)?);
    if c.bool("onesided")?
        && let Some(last) = dims.last()
    {
        sizes[*last] = &sizes[*last].floor_div(&2.into())? + &1.into();
    }
    laid_out(x, sizes, &dims, x.dtype().to_complex())
}

fn c2r_spec(c: &Call) -> Specs {
    let x = c.tensor("self")?;
    let (mut sizes, dims) = (x.sizes(), transformed(c, x)?);
    if let Some(last) = dims.last() {
        sizes[*last] = c.sym_int("last_dim_size")?;
    }
    laid_out(x, sizes, &dims, x.dtype().to_real())
}

fn r2c_backward(b: &Backward) -> Result<Grads> {
    let (dim, normalization) = (b.arg("dim"), b.arg("normalization"));
    let sizes = b.sizes("self")?;
    unary_grad(b, |g| {
        let last = wrap_dim(dim.ints()?.last().copied().unwrap_or(-1), sizes.len())?;
        let mut full = g.clone();
        if b.arg("onesided").bool()? && (&sizes[last] - &g.size(last)).guard_int()? > 0 {
            let mut whole = g.sizes();
            whole[last] = sizes[last].clone();
            full = t!("new_zeros", g, whole)?;
            t!("copy_", t!("slice.Tensor", &full, last as i64, 0, g.size(last))?, g)?;
        }
        t!("real", t!("_fft_c2c", full, dim, normalization, false)?)
    })
}

fn c2r_backward(b: &Backward) -> Result<Grads> {
    let (dim, normalization) = (b.arg("dim"), b.arg("normalization"));
    let have = b.sizes("self")?;
    unary_grad(b, |g| {
        let last = wrap_dim(dim.ints()?.last().copied().unwrap_or(-1), have.len())?;
        let grad = t!("_fft_r2c", g, dim, normalization, true)?;
        // Every element but the first, and a last one that is its own mirror, stood for two.
        let doubled = &g.size(last) - &grad.size(last);
        if doubled.guard_int()? > 0 {
            t!("mul_.Scalar", t!("narrow", &grad, last as i64, 1, doubled)?, 2)?;
        }
        resized(&grad, last, &have[last])
    })
}

fn register_transforms(b: &mut OpBuilder) {
    b.op("_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", Rule::Fresh(r2c_spec))
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD);
    b.grad("FftR2CBackward", &[], r2c_backward);
    b.op("_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", Rule::Fresh(c2r_spec))
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD);
    b.grad("FftC2RBackward", &[], c2r_backward);
    b.op(
        "_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
        Rule::Fresh(|c| {
            let x = c.tensor("self")?;
            laid_out(x, x.sizes(), &transformed(c, x)?, x.dtype())
        }),
    )
    .auto_linear(&["self"])
    .tags(Tags::COMPLEX_GRAD);
    b.grad("FftC2CBackward", &[], |b| {
        let back = !b.arg("forward").bool()?;
        unary_grad(b, |g| t!("_fft_c2c", g, b.arg("dim"), b.arg("normalization"), back))
    });
}

/// What a name of `torch.fft` asks for.
#[derive(Clone, Copy)]
struct Plan {
    forward: bool,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Complex to complex.
    Full,
    /// Real to half of the complex result.
    FromReal,
    /// Half of a complex input to real.
    ToReal,
}

fn plan(name: &str) -> Plan {
    let name = name.strip_prefix("fft_").unwrap_or(name);
    let (forward, kind) = match name.trim_end_matches(['2', 'n']) {
        "fft" | "ff" => (true, Kind::Full),
        "ifft" => (false, Kind::Full),
        "rfft" => (true, Kind::FromReal),
        "ihfft" => (false, Kind::FromReal),
        "irfft" => (false, Kind::ToReal),
        _ => (true, Kind::ToReal),
    };
    Plan { forward, kind }
}

fn normalization(c: &Call, forward: bool) -> Result<i64> {
    let mode = if c.get("norm").is_none() { "backward" } else { c.str("norm")? };
    match mode {
        "backward" => Ok(if forward { 0 } else { 2 }),
        "forward" => Ok(if forward { 2 } else { 0 }),
        "ortho" => Ok(1),
        other => Err(Error::runtime(format!("Invalid normalization mode: \"{other}\""))),
    }
}

/// The tensor cut or padded with zeros to a size along a dimension.
fn resized(x: &Tensor, dim: usize, size: &SymInt) -> Result<Tensor> {
    let have = x.size(dim);
    let (have, want) = (have.guard_int()?, size.guard_int()?);
    if want < have {
        return t!("slice.Tensor", x, dim as i64, 0, want);
    }
    if want == have {
        return Ok(x.clone());
    }
    let mut pad = vec![0i64; 2 * x.dim()];
    pad[2 * (x.dim() - 1 - dim) + 1] = want - have;
    t!("constant_pad_nd", x, pad)
}

/// The input as what the transform takes.
fn promoted_input(x: &Tensor, complex: bool) -> Result<Tensor> {
    let mut dtype = to_float(x.dtype());
    if matches!(dtype, tensor::Dtype::Float16 | tensor::Dtype::BFloat16) {
        return Err(Error::runtime(format!("Unsupported dtype {}", dtype.scalar_type())));
    }
    if complex {
        dtype = dtype.to_complex();
    }
    if dtype == x.dtype() { Ok(x.clone()) } else { t!("to.dtype", x, dtype) }
}

/// Dimensions and their sizes after the call's `s` and `dim`.
fn shape(c: &Call, x: &Tensor) -> Result<(Vec<usize>, Vec<Option<SymInt>>)> {
    let ndim = x.dim();
    if c.entry.schema.position("n").is_some() {
        let dim = wrap_dim(c.int("dim")?, ndim)?;
        if ndim == 0 {
            return Err(Error::index(format!("Dimension specified as {} but tensor has no dimensions", c.int("dim")?)));
        }
        let size = if c.get("n").is_none() { None } else { Some(c.sym_int("n")?) };
        return Ok((vec![dim], vec![size]));
    }
    if ndim == 0
        && let Some(dim) = (!c.get("dim").is_none()).then(|| c.ints("dim")).transpose()?.and_then(|dims| dims.first().copied())
    {
        return Err(Error::index(format!("Dimension specified as {dim} but tensor has no dimensions")));
    }
    let sizes = if c.get("s").is_none() { None } else { Some(c.sym_ints("s")?) };
    let dims: Vec<usize> = match (c.get("dim"), &sizes) {
        (Value::None, Some(s)) => {
            if s.len() > ndim {
                return Err(Error::runtime(format!("Got shape with {} values but input tensor only has {ndim} dimensions.", s.len())));
            }
            (ndim - s.len()..ndim).collect()
        }
        (Value::None, None) => (0..ndim).collect(),
        _ => dims_of(c, ndim)?,
    };
    for (i, d) in dims.iter().enumerate() {
        if dims[..i].contains(d) {
            return Err(Error::runtime("FFT dims must be unique"));
        }
    }
    if let Some(s) = &sizes
        && s.len() != dims.len()
    {
        return Err(Error::runtime("When given, dim and shape arguments must have the same length"));
    }
    for (i, d) in dims.iter().enumerate() {
        let size = sizes.as_ref().map(|s| &s[i]).filter(|size| size.hint() != Some(-1)).cloned();
        let size = size.unwrap_or_else(|| x.size(*d));
        if size.as_int().is_some_and(|size| size < 1) {
            return Err(Error::runtime(format!("Invalid number of data points ({size}) specified")));
        }
    }
    let wanted = |i: usize| sizes.as_ref().and_then(|s| (s[i].hint() != Some(-1)).then(|| s[i].clone()));
    let sizes = (0..dims.len()).map(wanted).collect();
    Ok((dims, sizes))
}

fn ints(dims: &[usize]) -> Vec<i64> {
    dims.iter().map(|d| *d as i64).collect()
}

fn run(c: &Call) -> Result<Value> {
    let Plan { forward, kind } = plan(c.entry.base_name());
    let x = c.tensor("self")?;
    let norm = normalization(c, forward)?;
    let (dims, sizes) = shape(c, x)?;
    if kind == Kind::FromReal && x.dtype().is_complex() {
        let name = &c.entry.base_name()[4..];
        return Err(Error::runtime(format!("{name} expects a real input tensor, but got {}", x.dtype().scalar_type())));
    }
    let single = c.entry.schema.position("n").is_some();
    // A single complex transform of real numbers goes from real to complex.
    let mut x = promoted_input(x, kind == Kind::ToReal || (kind == Kind::Full && !single))?;
    let Some((last, others)) = dims.split_last() else { return Ok(x.into()) };
    let last_size = match (&sizes[dims.len() - 1], kind) {
        (Some(n), _) => n.clone(),
        (None, Kind::ToReal) => &(&x.size(*last) - &1.into()) * 2,
        (None, _) => x.size(*last),
    };
    if last_size.sym_lt(1)? {
        return Err(Error::runtime(format!("Invalid number of data points ({last_size}) specified")));
    }
    for (i, d) in dims.iter().enumerate() {
        if kind == Kind::ToReal && i + 1 == dims.len() {
            x = resized(&x, *d, &(&last_size.floor_div(&2.into())? + &1.into()))?;
        } else if let Some(n) = &sizes[i] {
            x = resized(&x, *d, n)?;
        }
    }
    match (kind, forward) {
        (Kind::Full, _) if !x.dtype().is_complex() => {
            let out = t!("_fft_r2c", x, ints(&dims), norm, false)?;
            if forward { Ok(out.into()) } else { aten!("conj", out) }
        }
        (Kind::Full, _) => aten!("_fft_c2c", x, ints(&dims), norm, forward),
        (Kind::FromReal, true) => aten!("_fft_r2c", x, ints(&dims), norm, true),
        (Kind::FromReal, false) => {
            let out = t!("_fft_r2c", x, vec![*last as i64], norm, true)?;
            if others.is_empty() { aten!("conj", out) } else { aten!("_fft_c2c", t!("conj_physical", out)?, ints(others), norm, false) }
        }
        (Kind::ToReal, false) => aten!("_fft_c2r", x, ints(&dims), norm, last_size),
        (Kind::ToReal, true) => {
            let x = if others.is_empty() { x } else { t!("_fft_c2c", x, ints(others), norm, true)? };
            aten!("_fft_c2r", t!("conj", x)?, vec![*last as i64], norm, last_size)
        }
    }
}

fn register_names(b: &mut OpBuilder) {
    for name in ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"] {
        b.op(&format!("fft_{name}(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"), Rule::Composite(run))
            .autocast(CastPolicy::Fp32);
        b.op(&format!("fft_{name}2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor"), Rule::Composite(run));
        b.op(&format!("fft_{name}n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"), Rule::Composite(run));
    }
    b.at("fft_fft").doc("The discrete Fourier transform.");
    b.at("fft_fft2").doc("The Fourier transform over two dimensions.").autocast(CastPolicy::Fp32);
    b.at("fft_fftn").doc("The Fourier transform over several dimensions.").autocast(CastPolicy::Fp32);
    b.at("fft_hfft").doc("The Fourier transform of a Hermitian signal: real output.");
    b.at("fft_ifft").doc("The inverse Fourier transform.");
    b.at("fft_ifft2").doc("The inverse Fourier transform over two dimensions.").autocast(CastPolicy::Fp32);
    b.at("fft_ifftn").doc("The inverse Fourier transform over several dimensions.").autocast(CastPolicy::Fp32);
    b.at("fft_ihfft").doc("The inverse of `hfft`.");
    b.at("fft_irfft").doc("The inverse Fourier transform to real output.");
    b.at("fft_irfft2").doc("The inverse Fourier transform to real output, over two dimensions.").autocast(CastPolicy::Fp32);
    b.at("fft_irfftn").doc("The inverse Fourier transform to real output, over several dimensions.").autocast(CastPolicy::Fp32);
    b.at("fft_rfft").doc("The Fourier transform of real input.");
    b.at("fft_rfft2").doc("The Fourier transform of real input, over two dimensions.").autocast(CastPolicy::Fp32);
    b.at("fft_rfftn").doc("The Fourier transform of real input, over several dimensions.").autocast(CastPolicy::Fp32);
}

/// Rolls by half of each size, rounded down or up.
fn shifted(c: &Call, round: i64) -> Result<Value> {
    let x = c.tensor("self")?;
    let dims: Vec<i64> = if c.get("dim").is_none() { (0..x.dim() as i64).collect() } else { c.ints("dim")? };
    let shifts: Vec<SymInt> = dims.iter().map(|d| (&x.size(dim_of(x, *d)?) + &round.into()).floor_div(&2.into())).collect::<Result<_>>()?;
    aten!("roll", x, shifts, dims)
}

fn frequencies(c: &Call, count: i64) -> Specs {
    let dtype = c.dtype("dtype")?.unwrap_or(super::shapes::default_dtype());
    Ok(vec![Some(TensorSpec::contiguous(vec![count.into()], dtype, c.get("device").device()?.unwrap_or(tensor::Device::CPU)))])
}

fn register_shifts(b: &mut OpBuilder) {
    b.op("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", Rule::Composite(|c| shifted(c, 0)))
        .doc("Frequencies with zero in the middle.");
    b.op("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", Rule::Composite(|c| shifted(c, 1))).doc("Undoes `fftshift`.");
    const OPTIONS: &str = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";
    b.op(&format!("fft_fftfreq(int n, float d=1.0, *, {OPTIONS}) -> Tensor"), Rule::Fresh(|c| frequencies(c, c.int("n")?)))
        .doc("The frequencies of a Fourier transform.");
    b.tags(Tags::FACTORY);
    b.op(&format!("fft_rfftfreq(int n, float d=1.0, *, {OPTIONS}) -> Tensor"), Rule::Fresh(|c| frequencies(c, c.int("n")? / 2 + 1)))
        .doc("The frequencies of a Fourier transform of real input.");
    b.tags(Tags::FACTORY);
}
