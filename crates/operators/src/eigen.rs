//! Eigenvalues and eigenvectors of matrices that need not be symmetric: complex numbers, also of real matrices.

use super::complex::conj;
use super::linalg::{Specs, check_square, columns, mt, plain};
use crate::nll::first;
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, CastPolicy, Grads, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use tensor::Tensor;

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", Rule::Fresh(spec))
        .doc("Eigenvalues and eigenvectors, as complex numbers.")
        .autocast(CastPolicy::Fp32)
        .tags(Tags::COMPLEX_GRAD)
        .grad("LinalgEigBackward", &["result", "result1"], gradient);
    b.op(
        "linalg_eigvals(Tensor self) -> Tensor",
        Rule::Composite(|c| {
            check_square(c.tensor("self")?, "linalg.eigvals")?;
            first(aten!("linalg_eig", &c.args[0])?)
        }),
    )
    .doc("Eigenvalues, as complex numbers.")
    .autocast(CastPolicy::Fp32);
}

fn spec(c: &Call) -> Specs {
    let a = c.tensor("self")?;
    check_square(a, "linalg.eig")?;
    let (sizes, dtype) = (a.sizes(), a.dtype().to_complex());
    Ok(vec![plain(&sizes[..sizes.len() - 1], dtype, a), Some(columns(sizes, dtype, a))])
}

fn gradient(b: &Backward) -> Result<Grads> {
    let (gl, gv) = (b.grads.first().cloned().flatten(), b.grads.get(1).cloned().flatten());
    let (values, vectors) = (b.result(0)?, b.result(1)?);
    Grads::one(b, "self", || {
        let adjoint = conj(&mt(vectors)?)?;
        let inner = match (gl, gv) {
            (None, None) => return Err(Error::runtime("linalg.eig: no gradient came")),
            (Some(gl), None) => t!("mul.Tensor", t!("unsqueeze", gl, -1)?, &adjoint)?,
            (gl, Some(gv)) => t!("matmul", of_vectors(values, vectors, &adjoint, gl, gv)?, &adjoint)?,
        };
        // A real matrix has a real gradient.
        let grad = t!("linalg_solve", adjoint, inner)?;
        if b.spec("self")?.dtype.is_complex() { Ok(grad) } else { t!("real", grad) }
    })
}

/// The gradient in the basis of the eigenvectors. A loss must not depend on their phases, which are arbitrary: that part of their
/// gradient, along the vectors themselves, is left out as far as their length is concerned.
fn of_vectors(values: &Tensor, vectors: &Tensor, adjoint: &Tensor, gl: Option<Tensor>, gv: Tensor) -> Result<Tensor> {
    let along = t!("matmul", adjoint, gv)?;
    let lengths = t!("real", t!("diagonal", &along, 0, -2, -1)?)?;
    let scaled = t!("mul.Tensor", t!("matmul", adjoint, vectors)?, t!("unsqueeze", lengths, -2)?)?;
    let inner = t!("sub.Tensor", along, scaled)?;
    let gaps = t!("sub.Tensor", t!("unsqueeze", values, -2)?, t!("unsqueeze", values, -1)?)?;
    t!("fill_.Scalar", t!("diagonal", &gaps, 0, -2, -1)?, 1.0)?;
    let gaps = conj(&gaps)?;
    let inner = t!("div.Tensor", inner, gaps)?;
    let diagonal = t!("diagonal", &inner, 0, -2, -1)?;
    match gl {
        Some(gl) => aten!("copy_", diagonal, gl)?,
        None => aten!("fill_.Scalar", diagonal, Value::Float(0.0))?,
    };
    Ok(inner)
}
