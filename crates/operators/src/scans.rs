//! Running forms along one dimension: cumulative sums, products, extrema.

use super::common::*;
use super::complex::conj;
use super::shapes::wrap_dim;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Batch, Call, Complex, OpBuilder, Rule, Tags, Value};
use tensor::{Dtype, Layout, Tensor, TensorSpec};

fn like(c: &Call, dtype: Dtype) -> Result<Option<TensorSpec>> {
    let x = c.tensor("self")?;
    wrap_dim(c.int("dim")?, x.dim())?;
    Ok(Some(TensorSpec::contiguous(x.sizes(), dtype, x.device())))
}

fn summed(c: &Call) -> Specs {
    Ok(vec![like(c, c.dtype("dtype")?.unwrap_or(sum_dtype(c.tensor("self")?.dtype())))?])
}

fn with_indices(c: &Call) -> Specs {
    Ok(vec![like(c, c.tensor("self")?.dtype())?, like(c, Dtype::Int64)?])
}

/// A cumulative sum from the other end.
fn reversed_cumsum(x: &Tensor, dim: i64) -> Result<Tensor> {
    t!("flip", t!("cumsum", t!("flip", x, vec![dim])?, dim)?, vec![dim])
}

/// Whether there is only one element along the dimension.
fn trivial(x: &Tensor, dim: i64) -> Result<bool> {
    Ok(x.dim() == 0 || x.numel().sym_eq(0)? || x.numel().sym_eq(1)? || x.size(wrap_dim(dim, x.dim())?).sym_eq(1)?)
}

/// The gradient of a cumulative product that may pass through zeros: before the first zero by division, at it by the product
/// of the rest, nowhere after.
fn cumprod_backward(b: &Backward, grad: &Tensor) -> Result<Tensor> {
    let (x, dim, output) = (b.saved("self")?, b.arg("dim").int()?, b.result(0)?);
    let grad = &t!("to.dtype", grad, x.dtype())?;
    if trivial(x, dim)? {
        return Ok(grad.clone());
    }
    let dim = wrap_dim(dim, x.dim())? as i64;
    let weighted = t!("mul.Tensor", output, grad)?;
    let zero = t!("eq.Scalar", x, 0)?;
    let start = t!("new_zeros", grad, x.sizes())?;
    let zeros_so_far = t!("cumsum", &zero, dim)?;
    let before = t!("eq.Scalar", &zeros_so_far, 0)?;
    let kept = t!("masked_fill.Scalar", weighted, t!("bitwise_not", &before)?, 0.0)?;
    let divided = t!("div.Tensor", reversed_cumsum(&kept, dim)?, x)?;
    let result = t!("where.self", before, divided, start)?;
    let from_first = t!("eq.Scalar", &zeros_so_far, 1)?;
    let first = dispatch::aten!("max.dim", &from_first, dim, true)?.tensors()?.swap_remove(1);
    let at_first = t!("logical_and", &from_first, zero)?;
    let between = t!("bitwise_and_.Tensor", from_first, t!("bitwise_not", &at_first)?)?;
    let rest = t!("cumprod", t!("masked_fill.Scalar", x, t!("bitwise_not", between)?, 1.0)?, dim)?;
    let relevant = t!("masked_fill.Scalar", grad, t!("ne.Scalar", zeros_so_far, 1)?, 0.0)?;
    let last = t!("gather", output, dim, t!("relu_", t!("sub.Scalar", &first, 1)?)?)?;
    let last = t!("masked_fill_.Scalar", last, t!("eq.Scalar", first, 0)?, 1.0)?;
    let total = t!("sum.dim_IntList", t!("mul.Tensor", rest, relevant)?, vec![dim], true)?;
    t!("where.self", at_first, t!("mul.Tensor", total, last)?, result)
}

fn logcumsumexp_backward(b: &Backward, grad: &Tensor) -> Result<Tensor> {
    let (x, result, dim) = (b.saved("self")?, b.result(0)?, b.arg("dim").int()?);
    if trivial(x, dim)? {
        return Ok(grad.clone());
    }
    if grad.dtype().is_complex() {
        let log = t!("log", conj(grad)?)?;
        let shifted = t!("flip", t!("sub.Tensor", log, result)?, vec![dim])?;
        let run = t!("flip", t!("logcumsumexp", shifted, dim)?, vec![dim])?;
        return conj(&t!("exp", t!("add.Tensor", run, x)?)?);
    }
    let lowest = if grad.dtype() == Dtype::Float64 { f64::MIN } else { f32::MIN as f64 };
    let lowest = t!("scalar_tensor", lowest; dtype = grad.dtype(), layout = Value::Layout(Layout::Strided), device = grad.device())?;
    let log = t!("log", t!("abs", grad)?)?;
    let positive = t!("where.self", t!("gt.Scalar", grad, 0)?, &log, &lowest)?;
    let negative = t!("where.self", t!("lt.Scalar", grad, 0)?, &log, &lowest)?;
    let part = |logs: Tensor| -> Result<Tensor> {
        let shifted = t!("flip", t!("sub.Tensor", logs, result)?, vec![dim])?;
        let run = t!("flip", t!("logcumsumexp", shifted, dim)?, vec![dim])?;
        t!("exp", t!("add.Tensor", run, x)?)
    };
    let up = part(positive)?;
    t!("sub.Tensor", up, part(negative)?)
}

fn renorm_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (x, most) = (c.tensor("self")?, c.float("maxnorm")?);
    if c.float("p")? <= 0.0 {
        return Err(Error::runtime("renorm: non-positive-norm not supported"));
    }
    if most < 0.0 {
        return Err(Error::runtime(format!("renorm: expected maxnorm to be >= 0 but got {most}")));
    }
    if x.dim() < 2 {
        return Err(Error::runtime(format!("renorm: input needs at least 2 dimensions, got {} dimensions", x.dim())));
    }
    Ok(vec![like(c, x.dtype())?])
}

/// Registers the operators.
pub fn register(b: &mut OpBuilder) {
    b.op("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", Rule::Fresh(summed))
        .doc("Running sums.")
        .batch(Batch::Rule(super::batch_rules::along_dim))
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("CumsumBackward", &[], |b| {
            unary_grad(b, |g| {
                let g = t!("to.dtype", g, b.spec("self")?.dtype)?;
                let dim = b.arg("dim").int()?;
                if trivial(&g, dim)? { Ok(g) } else { reversed_cumsum(&g, dim) }
            })
        });
    b.inplace();
    b.at("cumsum_").batch(Batch::Shifted);
    b.op("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", Rule::Fresh(summed))
        .tags(Tags::COMPLEX_GRAD | Tags::HOLOMORPHIC)
        .doc("Running products.")
        .batch(Batch::Shifted);
    b.grad("CumprodBackward", &["self", "result"], |b| unary_grad(b, |g| cumprod_backward(b, g))).inplace();
    b.op("logcumsumexp(Tensor self, int dim) -> Tensor", Rule::Fresh(|c| Ok(vec![like(c, to_float(c.tensor("self")?.dtype()))?])))
        .tags(Tags::COMPLEX_GRAD)
        .doc("Running `logsumexp`.")
        .refuses("bi", "logcumsumexp_out_cpu")
        .batch(Batch::Shifted);
    b.grad("LogcumsumexpBackward", &["self", "result"], |b| unary_grad(b, |g| logcumsumexp_backward(b, g)));
    for (name, node) in [("cummax", "CummaxBackward"), ("cummin", "CumminBackward")] {
        b.op(&format!("{name}(Tensor self, int dim) -> (Tensor values, Tensor indices)"), Rule::Fresh(with_indices)).batch(Batch::Shifted);
        b.indices_without_grad(&[1]).grad(node, &["result1"], |b| {
            unary_grad(b, |g| {
                let start = t!("new_zeros", g, b.sizes("self")?)?;
                t!("scatter_add", start, b.arg("dim"), b.result(1)?, g)
            })
        });
    }
    b.at("cummax").doc("Running maxima and where they were.").refuses("c", "cummax_cpu");
    b.at("cummin").doc("Running minima and where they were.").refuses("c", "cummin_cpu");
    b.op("renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", Rule::Fresh(renorm_spec))
        .doc("Slices scaled down to a norm.")
        .refuses("bi", "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}")
        .batch(Batch::ByItem)
        .grad("RenormBackward", &["self"], renorm_backward)
        .inplace();
}

/// Where a slice was scaled down to the largest norm, its gradient loses what points along the norm's slope.
fn renorm_backward(b: &dispatch::Backward) -> Result<dispatch::Grads> {
    let (x, p, most) = (b.saved("self")?, b.arg("p").float()?, b.arg("maxnorm"));
    let kept = super::shapes::wrap_dim(b.arg("dim").int()?, x.dim())?;
    let dims: Value = (0..x.dim()).filter(|d| *d != kept).map(|d| d as i64).collect::<Vec<_>>().into();
    // Sums are carried in the next wider dtype.
    let wide = if matches!(x.dtype(), Dtype::Float16 | Dtype::BFloat16) { Dtype::Float32 } else { Dtype::Float64 };
    unary_grad(b, |g| {
        let norm = t!("linalg_vector_norm", x, p, dims.clone(), true; dtype = wide)?;
        let along = t!("sum.dim_IntList", t!("mul.Tensor", x, g)?, dims.clone(), true; dtype = wide)?;
        let slope = super::norms::norm_backward(&along, x, &norm, p, &dims)?;
        let inverse = t!("reciprocal", t!("add.Scalar", &norm, 1e-7)?)?;
        let rest = match slope {
            Some(slope) => t!("sub.Tensor", g, t!("mul.Tensor", &inverse, slope)?)?,
            None => g.clone(),
        };
        let scaled = t!("mul.Tensor", t!("mul.Scalar", inverse, most)?, rest)?;
        let scaled = if scaled.dtype() == g.dtype() { scaled } else { t!("to.dtype", scaled, g.dtype())? };
        t!("where.self", t!("gt.Scalar", norm, most)?, scaled, g)
    })
}
