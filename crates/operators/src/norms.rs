//! Norms, distances and log-sum-exp.

use super::common::*;
use super::complex::conj;
use super::reduce::{float_dtype, reduced, unsqueeze_multiple};
use super::shapes::wrap_dim;
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Batch, Call, Grads, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use tensor::{Dtype, Tensor, TensorSpec};

fn norm_spec(c: &Call) -> Specs {
    let x = c.tensor("self")?;
    // PyTorch's kernel asks: a graph of fake tensors may hold such a call.
    if x.dtype().is_integral() && !x.is_fake() {
        return Err(Error::not_implemented(format!(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}",
            x.dtype().scalar_type()
        )));
    }
    check_identity(c)?;
    Ok(vec![reduced(c, c.dtype("dtype")?.unwrap_or(x.dtype()).to_real())?])
}

/// Of nothing there is no extremum, and no norm of a negative order.
fn check_identity(c: &Call) -> Result<()> {
    let (x, ord) = (c.tensor("self")?, order(c)?);
    if !(ord < 0.0 || ord == f64::INFINITY) || !x.sizes().iter().any(|size| size.as_int() == Some(0)) {
        return Ok(());
    }
    let dims = if c.get("dim").is_none() { Vec::new() } else { c.ints("dim")? };
    let dims = dims.into_iter().map(|d| wrap_dim(d, x.dim())).collect::<Result<Vec<_>>>()?;
    let what = match dims.iter().find(|d| x.size(**d).as_int() == Some(0)) {
        // Without a blank, as PyTorch has it.
        Some(dim) => format!("on the dimension {dim}because this dimension is empty and"),
        None if dims.is_empty() => "on an empty tensor because".to_owned(),
        None => return Ok(()),
    };
    Err(Error::runtime(format!("linalg.vector_norm cannot compute the {ord} norm {what} the operation does not have an identity")))
}

/// `linalg_vector_norm_backward`, a case per order.
pub(super) fn norm_backward(grad: &Tensor, x: &Tensor, norm: &Tensor, p: f64, dims: &Value) -> Result<Option<Tensor>> {
    let zeroed = |v: Tensor| t!("masked_fill_.Scalar", v, t!("eq.Scalar", norm, 0)?, 0);
    Ok(Some(match p {
        0.0 => return Ok(None),
        1.0 => t!("mul.Tensor", t!("sgn", x)?, grad)?,
        2.0 => t!("mul.Tensor", grad, zeroed(t!("div.Tensor", x, norm)?)?)?,
        _ if p.is_infinite() => {
            let size = t!("abs", x)?;
            let chosen = t!("eq.Tensor", &size, norm)?;
            let chosen = t!("logical_or", chosen, t!("isnan", &size)?)?;
            let dims = if dims.is_none() { Value::List(Vec::new()) } else { dims.clone() };
            let share = t!("div.Tensor", grad, t!("sum.dim_IntList", &chosen, dims, true)?)?;
            let share = t!("mul.Tensor", share, chosen)?;
            t!("mul.Tensor", t!("sgn", x)?, share)?
        }
        _ if p < 1.0 => {
            let power = t!("pow_.Scalar", t!("abs", x)?, p - 1.0)?;
            let power = t!("masked_fill_.Scalar", power, t!("eq.Scalar", x, 0)?, 0)?;
            let scaled = t!("mul.Tensor", t!("sgn", x)?, power)?;
            let rest = t!("pow.Tensor_Scalar", norm, 1.0 - p)?;
            t!("mul.Tensor", t!("mul.Tensor", scaled, grad)?, rest)?
        }
        _ => {
            let scaled = if p < 2.0 {
                let power = t!("pow_.Scalar", t!("abs", x)?, p - 1.0)?;
                t!("mul.Tensor", t!("sgn", x)?, power)?
            } else {
                t!("mul.Tensor", x, t!("pow_.Scalar", t!("abs", x)?, p - 2.0)?)?
            };
            let share = zeroed(t!("div.Tensor", grad, t!("pow.Tensor_Scalar", norm, p - 1.0)?)?)?;
            t!("mul.Tensor", scaled, share)?
        }
    }))
}

/// The order of a norm, by either of its names; none is two.
pub fn order(c: &Call) -> Result<f64> {
    let given = if c.entry.schema.position("ord").is_some() { c.get("ord") } else { c.get("p") };
    if given.is_none() { Ok(2.0) } else { given.float() }
}

fn vector_norm_backward(b: &Backward) -> Result<Grads> {
    let (x, dim) = (b.saved("self")?, b.arg("dim"));
    let p = order(&b.call())?;
    let (mut grad, mut norm) = (b.grad()?.clone(), b.result(0)?.clone());
    if p != 0.0 && !dim.is_none() && !b.arg("keepdim").bool()? && x.dim() != 0 {
        grad = unsqueeze_multiple(&grad, dim, x.dim())?;
        norm = unsqueeze_multiple(&norm, dim, x.dim())?;
    }
    let mut grads = Grads::new(b);
    grads.put(b, "self", norm_backward(&grad, x, &norm, p, dim)?)?;
    Ok(grads)
}

fn dist_backward(b: &Backward) -> Result<Grads> {
    let p = b.arg("p").float()?;
    let one = || {
        let difference = t!("sub.Tensor", b.saved("self")?, b.saved("other")?)?;
        norm_backward(b.grad()?, &difference, b.result(0)?, p, &Value::None)
    };
    let mut grads = Grads::new(b);
    if b.needs("other") {
        let negated = one()?.map(|g| t!("neg", g)).transpose()?;
        grads.put(b, "other", negated)?;
    }
    if b.needs("self") {
        grads.put(b, "self", one()?)?;
    }
    Ok(grads)
}

/// Registers the operators.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        Rule::Fresh(norm_spec),
    )
    .doc("A norm of vectors.")
    .batch(Batch::Shifted)
    .tags(Tags::COMPLEX_GRAD);
    b.tags(Tags::REDUCTION).grad("LinalgVectorNormBackward", &["self", "result"], vector_norm_backward);
    b.op("norm.Scalar(Tensor self, Scalar p=2) -> Tensor", Rule::Fresh(|c| Ok(vec![reduced(c, c.tensor("self")?.dtype().to_real())?])));
    b.tags(Tags::REDUCTION).grad("NormBackward", &["self", "result"], vector_norm_backward);
    b.op(
        "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
        Rule::Fresh(|c| Ok(vec![reduced(c, c.tensor("self")?.dtype().to_real())?])),
    )
    .doc("A norm of vectors or matrices.")
    .batch(Batch::Shifted);
    b.tags(Tags::REDUCTION).grad("NormBackward1", &["self", "result"], vector_norm_backward);
    b.op(
        "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        Rule::Composite(|c| {
            let x = c.tensor("self")?;
            let dims = if c.get("dim").is_none() { None } else { Some(c.ints("dim")?) };
            let matrix = dims.as_ref().map_or(x.dim(), Vec::len) == 2;
            if !c.get("ord").is_none() && matrix {
                let dims = dims.unwrap_or_else(|| vec![0, 1]);
                return aten!("linalg_matrix_norm", x, c.get("ord"), dims, c.get("keepdim"); dtype = c.get("dtype"));
            }
            let ord = if c.get("ord").is_none() { Value::Float(2.0) } else { c.get("ord").clone() };
            aten!("linalg_vector_norm", x, ord, c.get("dim"), c.get("keepdim"); dtype = c.get("dtype"))
        }),
    )
    .doc("A norm of vectors or matrices.");
    b.op(
        "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        Rule::Composite(|c| {
            let dims = if c.get("dim").is_none() { Value::from(vec![0i64, 1]) } else { c.get("dim").clone() };
            aten!("linalg_matrix_norm.str_ord", c.get("self"), c.get("ord"), dims, c.get("keepdim"); dtype = c.get("dtype"))
        }),
    );
    b.op(
        "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
        Rule::Fresh(|c| {
            let x = c.tensor("self")?;
            let dtype = super::shapes::result_type(&[c.get("self"), c.get("other")])?;
            Ok(vec![Some(TensorSpec::contiguous(vec![], dtype.to_real(), x.device()))])
        }),
    )
    .tags(Tags::COMPLEX_GRAD)
    .doc("The norm of a difference.")
    .refuses("i", "norm(): input dtype should be either floating point or complex. Got {} instead.");
    b.tags(Tags::REDUCTION).grad("DistBackward", &["self", "other", "result"], dist_backward);
    b.op(
        "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
        Rule::Fresh(|c| {
            let dtype: Dtype = float_dtype(c.tensor("self")?.dtype());
            Ok(vec![reduced(c, dtype)?])
        }),
    )
    .tags(Tags::COMPLEX_GRAD)
    .doc("The logarithm of the sum of exponentials.")
    .batch(Batch::Shifted);
    b.tags(Tags::REDUCTION).grad("LogsumexpBackward", &["self", "result"], |b| {
        unary_grad(b, |g| {
            let x = b.saved("self")?;
            let (mut grad, mut result) = (g.clone(), b.result(0)?.clone());
            if !b.arg("keepdim").bool()? && x.dim() != 0 {
                grad = unsqueeze_multiple(&grad, b.arg("dim"), x.dim())?;
                result = unsqueeze_multiple(&result, b.arg("dim"), x.dim())?;
            }
            t!("mul.Tensor", grad, conj(&t!("exp", t!("sub.Tensor", x, result)?)?)?)
        })
    });
}
