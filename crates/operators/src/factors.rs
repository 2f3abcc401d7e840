//! `torch.linalg`: Cholesky, QR, singular values and eigenvalues, with derivatives; matrix powers and norms.

use super::linalg::{Specs, check_info, check_matrix, check_square, columns, inverse_spec, mh, plain};
use crate::nll::first;
use crate::shapes::wrap_dim;
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, CastPolicy, Grads, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::Tensor;

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
        Rule::Fresh(inverse_spec),
    )
    .tags(Tags::COMPLEX_GRAD)
    .doc("`cholesky`, with a status instead of an error.")
    .autocast(CastPolicy::Fp32)
    .grad("LinalgCholeskyExBackward", &["result"], cholesky_grad)
    .indices_without_grad(&[1]);
    b.op(
        "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
        Rule::Composite(|c| {
            let results = aten!("linalg_cholesky_ex", &c.args[0]; upper = c.get("upper"))?.tensors()?;
            check_info(&results[1], "linalg.cholesky", c.tensor("self")?)?;
            Ok(results[0].clone().into())
        }),
    )
    .doc("The triangular factor of symmetric positive definite matrices.")
    .autocast(CastPolicy::Fp32);
    b.op("linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", Rule::Fresh(qr_spec))
        .tags(Tags::COMPLEX_GRAD)
        .doc("The factors Q and R.")
        .autocast(CastPolicy::Fp32)
        .grad("LinalgQrBackward", &["result", "result1"], qr_grad);
    b.op(
        "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
        Rule::Fresh(svd_spec),
    )
    .tags(Tags::COMPLEX_GRAD)
    .grad("LinalgSvdBackward", &["result", "result1", "result2"], svd_grad);
    b.op(
        "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
        Rule::Composite(|c| aten!("_linalg_svd", &c.args[0], &c.args[1], true; driver = c.get("driver"))),
    )
    .doc("The singular value decomposition.")
    .autocast(CastPolicy::Fp32);
    b.op(
        "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
        Rule::Composite(|c| {
            let results = aten!("_linalg_svd", &c.args[0], false, true; driver = c.get("driver"))?;
            Ok(results.list()?[1].clone())
        }),
    )
    .doc("The singular values.")
    .autocast(CastPolicy::Fp32);
    b.op(
        "_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)",
        Rule::Fresh(eigh_spec),
    )
    .tags(Tags::COMPLEX_GRAD)
    .grad("LinalgEighBackward", &["result", "result1"], eigh_grad);
    b.op(
        "linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)",
        Rule::Composite(|c| aten!("_linalg_eigh", &c.args[0], &c.args[1], true)),
    )
    .doc("Eigenvalues and eigenvectors of symmetric matrices.")
    .autocast(CastPolicy::Fp32);
    b.op(
        "linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor",
        Rule::Composite(|c| {
            let with_vectors = autograd::meta::requires_grad(c.tensor("self")?);
            first(aten!("_linalg_eigh", &c.args[0], &c.args[1], with_vectors)?)
        }),
    )
    .doc("Eigenvalues of symmetric matrices.")
    .autocast(CastPolicy::Fp32);
    b.op("linalg_matrix_sqrth(Tensor A) -> Tensor", Rule::Composite(matrix_sqrth))
        .doc("The square root of a symmetric matrix.")
        .tags(Tags::APART_IN_EXPORT);
    b.op("linalg_polar(Tensor A) -> (Tensor U, Tensor P)", Rule::Composite(polar))
        .doc("Complex numbers of lengths and angles; of matrices, an orthonormal factor times a symmetric one.")
        .tags(Tags::APART_IN_EXPORT);
    for name in ["linalg_matrix_power", "matrix_power"] {
        b.op(&format!("{name}(Tensor self, int n) -> Tensor"), Rule::Composite(matrix_power)).doc("The n-th power of matrices.");
    }
    b.op(
        "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        Rule::Composite(matrix_norm),
    )
    .doc("A norm of matrices.");
    b.op(
        "linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        Rule::Composite(matrix_norm_named),
    );
}

fn cholesky_grad(b: &Backward) -> Result<Grads> {
    let (grad, factor, upper) = (b.grad()?, b.result(0)?, b.arg("upper").bool()?);
    Grads::one(b, "self", || {
        let (l, g) = if upper { (mh(factor)?, mh(grad)?) } else { (factor.clone(), grad.clone()) };
        let phi = t!("tril", t!("matmul", mh(&l)?, g)?)?;
        let phi = t!("add.Tensor", &phi, mh(&t!("tril", &phi, -1)?)?)?;
        let phi = t!("mul.Scalar", phi, 0.5)?;
        let inner = t!("linalg_solve_triangular", mh(&l)?, phi; upper = true)?;
        t!("linalg_solve_triangular", l, inner; upper = false, left = false)
    })
}

fn qr_spec(c: &Call) -> Specs {
    let (a, mode) = (c.tensor("A")?, c.str("mode")?);
    check_matrix(a, "linalg.qr")?;
    let sizes = a.sizes();
    let lead = sizes.len() - 2;
    let (m, n) = (sizes[lead].clone(), sizes[lead + 1].clone());
    let k = m.min(&n);
    let with = |rows: &SymInt, cols: &SymInt| {
        let mut s = sizes[..lead].to_vec();
        s.extend([rows.clone(), cols.clone()]);
        Some(columns(s, a.dtype(), a))
    };
    match mode {
        "reduced" => Ok(vec![with(&m, &k), with(&k, &n)]),
        "complete" => Ok(vec![with(&m, &m), with(&m, &n)]),
        "r" => Ok(vec![plain(&[SymInt::Int(0)], a.dtype(), a), with(&k, &n)]),
        other => Err(Error::runtime(format!(
            "qr received unrecognized mode '{other}' but expected one of 'reduced' (default), 'r', or 'complete'"
        ))),
    }
}

fn qr_grad(b: &Backward) -> Result<Grads> {
    let (gq, gr) = (b.grads.first().cloned().flatten(), b.grads.get(1).cloned().flatten());
    let (q, r, mode) = (b.result(0)?, b.result(1)?, b.arg("mode").str()?);
    let sizes = b.sizes("A")?;
    let (m, n) = (&sizes[sizes.len() - 2], &sizes[sizes.len() - 1]);
    if mode == "complete" && n.sym_lt(m.clone())? {
        return Err(Error::runtime("The QR decomposition is not differentiable when mode='complete' and nrows > ncols"));
    }
    if mode == "r" {
        return Err(Error::runtime(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') if you are going to use the backward.",
        ));
    }
    Grads::one(b, "A", || {
        if !m.sym_lt(n.clone())? {
            return tall_qr_grad(q, r, gq, gr.as_ref());
        }
        // A = Q [R1 R2], where R2 = Q^T A2: its gradient is that of Q, and of A2, beside those of a square factorization.
        let part = |x: &Tensor, from: &SymInt, to: &SymInt| t!("narrow", x, -1, from, to - from);
        let zero = SymInt::Int(0);
        let (first, second) = (part(r, &zero, m)?, part(r, m, n)?);
        let Some(gr) = gr else {
            let square = tall_qr_grad(q, &first, gq, None)?;
            return t!("constant_pad_nd", square, vec![zero, n - m]);
        };
        let (of_first, of_second) = (part(&gr, &zero, m)?, part(&gr, m, n)?);
        let through = t!("matmul", t!("matmul", q, second)?, mh(&of_second)?)?;
        let of_q = gq.map_or(Ok(through.clone()), |g| t!("add.Tensor", g, through))?;
        let square = tall_qr_grad(q, &first, Some(of_q), Some(&of_first))?;
        let rest = t!("matmul", q, of_second)?;
        aten!("cat", Value::List(vec![square.into(), rest.into()]), -1)?.into_tensor()
    })
}

/// The gradient of a matrix with no more columns than rows.
fn tall_qr_grad(q: &Tensor, r: &Tensor, gq: Option<Tensor>, gr: Option<&Tensor>) -> Result<Tensor> {
    let from_q = gq.as_ref().map(|g| t!("matmul", mh(q)?, g)).transpose()?;
    let from_r = gr.map(|g| t!("matmul", g, mh(r)?)).transpose()?;
    let inner = match (from_r, from_q) {
        (Some(r), Some(q)) => t!("sub.Tensor", r, q)?,
        (Some(r), None) => r,
        (None, Some(q)) => t!("neg", q)?,
        (None, None) => return Err(Error::runtime("linalg.qr: no gradient came")),
    };
    let upper = t!("triu", inner)?;
    let symmetric = t!("add.Tensor", &upper, mh(&upper)?)?;
    t!("mul_.Scalar", t!("diagonal", &symmetric, 0, -2, -1)?, 0.5)?;
    let mut total = t!("matmul", q, symmetric)?;
    if let Some(gq) = gq {
        total = t!("add.Tensor", total, gq)?;
    }
    t!("linalg_solve_triangular", mh(r)?, total; upper = false, left = false)
}

fn svd_spec(c: &Call) -> Specs {
    let a = c.tensor("A")?;
    check_matrix(a, "linalg.svd")?;
    let sizes = a.sizes();
    let lead = sizes.len() - 2;
    let (m, n) = (sizes[lead].clone(), sizes[lead + 1].clone());
    let k = m.min(&n);
    let with = |tail: &[&SymInt]| {
        let mut s = sizes[..lead].to_vec();
        s.extend(tail.iter().map(|t| (*t).clone()));
        s
    };
    let values = plain(&with(&[&k]), a.dtype().to_real(), a);
    if !c.bool("compute_uv")? {
        let empty = || plain(&[SymInt::Int(0)], a.dtype(), a);
        return Ok(vec![empty(), values, empty()]);
    }
    let (u, v) = if c.bool("full_matrices")? { (with(&[&m, &m]), with(&[&n, &n])) } else { (with(&[&m, &k]), with(&[&k, &n])) };
    Ok(vec![Some(columns(u, a.dtype(), a)), values, Some(columns(v, a.dtype(), a))])
}

fn svd_grad(b: &Backward) -> Result<Grads> {
    let narrow = |t: Tensor, dim: i64, k: SymInt| if b.arg("full_matrices").bool()? { t!("narrow", t, dim, 0, k) } else { Ok(t) };
    if !b.arg("compute_uv").bool()? {
        return Err(Error::runtime("linalg.svd: the gradient takes singular vectors, which were not computed"));
    }
    let s = b.result(1)?;
    let k = s.size(s.dim() - 1);
    let grad = |i: usize| b.grads.get(i).cloned().flatten();
    let gu = grad(0).map(|g| narrow(g, -1, k.clone())).transpose()?;
    let gv = grad(2).map(|g| narrow(g, -2, k.clone())).transpose()?;
    let (u, v) = (narrow(b.result(0)?.clone(), -1, k.clone())?, narrow(b.result(2)?.clone(), -2, k.clone())?);
    let (m, n) = (u.size(u.dim() - 2), v.size(v.dim() - 1));
    let tall = !m.sym_lt(n.clone())?;
    Grads::one(b, "A", || {
        if let (None, None, Some(gs)) = (&gu, &gv, grad(1)) {
            return if tall {
                t!("matmul", u, t!("mul.Tensor", t!("unsqueeze", gs, -1)?, v)?)
            } else {
                t!("matmul", t!("mul.Tensor", u, t!("unsqueeze", gs, -2)?)?, v)
            };
        }
        let skew = |t: Tensor| t!("sub.Tensor", &t, mh(&t)?);
        let of_u = gu.as_ref().map(|g| skew(t!("matmul", mh(&u)?, g)?)).transpose()?;
        let of_v = gv.as_ref().map(|g| skew(t!("matmul", &v, mh(g)?)?)).transpose()?;
        let turning = match (&of_u, &of_v) {
            (Some(x), Some(_)) if x.dtype().is_complex() => Some(t!("diagonal", x, 0, -2, -1)?),
            _ => None,
        };
        let squares = t!("mul.Tensor", s, s)?;
        let column = t!("unsqueeze", &squares, -1)?;
        let gaps = t!("sub.Tensor", t!("unsqueeze", squares, -2)?, column)?;
        t!("fill_.Scalar", t!("diagonal", &gaps, 0, -2, -1)?, 1)?;
        let mut inner = match (of_u, of_v) {
            (Some(x), Some(y)) => {
                let right = t!("mul.Tensor", t!("unsqueeze", s, -1)?, y)?;
                let left = t!("mul.Tensor", x, t!("unsqueeze", s, -2)?)?;
                t!("div.Tensor", t!("add.Tensor", left, right)?, gaps)?
            }
            (Some(x), None) => t!("mul.Tensor", t!("div.Tensor", x, gaps)?, t!("unsqueeze", s, -2)?)?,
            (None, Some(y)) => {
                let ratio = t!("div.Tensor", y, gaps)?;
                t!("mul.Tensor", t!("unsqueeze", s, -1)?, ratio)?
            }
            (None, None) => return Err(Error::runtime("linalg.svd: no gradient came")),
        };
        if let Some(gs) = grad(1) {
            inner = t!("add.Tensor", inner, t!("diag_embed", gs)?)?;
        }
        // Both vectors of a complex pair may turn together.
        if let Some(turning) = turning {
            let share = t!("div.Tensor", turning, t!("mul.Scalar", s, 2)?)?;
            inner = t!("add.Tensor", inner, t!("diag_embed", share)?)?;
        }
        match (&gu, &gv) {
            (Some(gu), _) if !m.sym_eq(k.clone())? => {
                let outer = t!("matmul", &u, inner)?;
                let scaled = t!("div.Tensor", gu, t!("unsqueeze", s, -2)?)?;
                let projected = t!("matmul", &u, t!("matmul", mh(&u)?, &scaled)?)?;
                let total = t!("sub.Tensor", t!("add.Tensor", outer, scaled)?, projected)?;
                t!("matmul", total, v)
            }
            (_, Some(gv)) if !n.sym_eq(k.clone())? => {
                let outer = t!("matmul", inner, &v)?;
                let scaled = t!("div.Tensor", gv, t!("unsqueeze", s, -1)?)?;
                let projected = t!("matmul", t!("matmul", &scaled, mh(&v)?)?, &v)?;
                let total = t!("sub.Tensor", t!("add.Tensor", outer, scaled)?, projected)?;
                t!("matmul", u, total)
            }
            _ if tall => t!("matmul", u, t!("matmul", inner, v)?),
            _ => t!("matmul", t!("matmul", u, inner)?, v),
        }
    })
}

fn eigh_spec(c: &Call) -> Specs {
    let a = c.tensor("A")?;
    check_square(a, "linalg.eigh")?;
    if !matches!(c.str("UPLO")?.to_ascii_uppercase().as_str(), "L" | "U") {
        return Err(Error::runtime(format!("Expected UPLO argument to be 'L' or 'U', but got {}", c.str("UPLO")?)));
    }
    let sizes = a.sizes();
    let values = plain(&sizes[..sizes.len() - 1], a.dtype().to_real(), a);
    let vectors = if c.bool("compute_v")? { Some(columns(sizes, a.dtype(), a)) } else { plain(&[SymInt::Int(0)], a.dtype(), a) };
    Ok(vec![values, vectors])
}

fn eigh_grad(b: &Backward) -> Result<Grads> {
    let (gl, gv) = (b.grads.first().cloned().flatten(), b.grads.get(1).cloned().flatten());
    let (values, vectors) = (b.result(0)?, b.result(1)?);
    Grads::one(b, "A", || {
        let Some(gv) = gv else {
            let Some(gl) = gl else { return Err(Error::runtime("linalg.eigh: no gradient came")) };
            let transposed = mh(vectors)?;
            return t!("matmul", t!("mul.Tensor", vectors, t!("unsqueeze", gl, -2)?)?, transposed);
        };
        let inner = t!("matmul", mh(vectors)?, gv)?;
        let inner = t!("mul.Scalar", t!("sub.Tensor", &inner, mh(&inner)?)?, 0.5)?;
        let column = t!("unsqueeze", values, -1)?;
        let gaps = t!("sub.Tensor", t!("unsqueeze", values, -2)?, column)?;
        t!("fill_.Scalar", t!("diagonal", &gaps, 0, -2, -1)?, 1.0)?;
        let inner = t!("div_.Tensor", inner, gaps)?;
        if let Some(gl) = gl {
            t!("copy_", t!("diagonal", &inner, 0, -2, -1)?, gl)?;
        }
        t!("matmul", vectors, t!("matmul", inner, mh(vectors)?)?)
    })
}

/// The square root of a symmetric matrix without negative eigenvalues.
fn matrix_sqrth(c: &Call) -> Result<Value> {
    check_square(c.tensor("A")?, "linalg.matrix_sqrth")?;
    let parts = aten!("_linalg_eigh", &c.args[0], "L", true)?.tensors()?;
    let roots = t!("unsqueeze", t!("sqrt", &parts[0])?, -2)?;
    aten!("matmul", t!("mul.Tensor", &parts[1], roots)?, mh(&parts[1])?)
}

/// A matrix as one with orthonormal columns or rows, times a symmetric one without negative eigenvalues.
fn polar(c: &Call) -> Result<Value> {
    check_matrix(c.tensor("A")?, "linalg.polar")?;
    let parts = aten!("linalg_svd", &c.args[0], false)?.tensors()?;
    let (u, s, vh) = (&parts[0], &parts[1], &parts[2]);
    let symmetric = t!("matmul", t!("mul.Tensor", mh(vh)?, t!("unsqueeze", s, -2)?)?, vh)?;
    Ok(Value::List(vec![t!("matmul", u, vh)?.into(), symmetric.into()]))
}

fn matrix_power(c: &Call) -> Result<Value> {
    let (a, n) = (c.tensor("self")?, c.int("n")?);
    super::linalg::check_squares(a, "linalg.matrix_power")?;
    if n == 0 {
        let size = a.size(a.dim() - 1);
        let eye = t!("eye", size; dtype = a.dtype(), device = a.device())?;
        // A copy of the input that is overwritten, so that the result has a history.
        let out = aten!("clone", a; memory_format = tensor::MemoryFormat::Contiguous)?.into_tensor()?;
        return aten!("copy_", out, eye);
    }
    let base = if n < 0 { t!("linalg_inv", a)? } else { a.clone() };
    Ok(match n.unsigned_abs() {
        1 if n < 0 => base,
        1 => t!("clone", base)?,
        2 => t!("matmul", &base, &base)?,
        3 => t!("matmul", t!("matmul", &base, &base)?, &base)?,
        mut rest => {
            // Squares of the base, multiplied where the exponent's binary digits are one.
            let (mut square, mut result): (Option<Tensor>, Option<Tensor>) = (None, None);
            while rest > 0 {
                let bit = rest & 1;
                rest /= 2;
                let next = match &square {
                    Some(s) => t!("matmul", s, s)?,
                    None => base.clone(),
                };
                if bit == 1 {
                    result = Some(match &result {
                        Some(r) => t!("matmul", r, &next)?,
                        None => next.clone(),
                    });
                }
                square = Some(next);
            }
            result.unwrap_or(base)
        }
    }
    .into())
}

/// The two dimensions of a matrix norm.
fn norm_dims(c: &Call) -> Result<(i64, i64)> {
    let a = c.tensor("self")?;
    match c.ints("dim")?.as_slice() {
        [x, y] => {
            let (x, y) = (wrap_dim(*x, a.dim())? as i64, wrap_dim(*y, a.dim())? as i64);
            if x == y {
                return Err(Error::runtime("linalg.matrix_norm: dims must be different."));
            }
            Ok((x, y))
        }
        dims => Err(Error::runtime(format!("linalg.matrix_norm: dim must be a 2-tuple. Got {dims:?}"))),
    }
}

/// Singular values over two dimensions, and the order that puts kept dimensions back.
fn singular_values(a: &Tensor, x: i64, y: i64) -> Result<(Tensor, Vec<i64>)> {
    let mut order: Vec<i64> = (0..a.dim() as i64).filter(|d| *d != x && *d != y).collect();
    order.extend([x, y]);
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, d)| back[*d as usize] = i as i64);
    Ok((t!("linalg_svdvals", t!("permute", a, order)?)?, back))
}

fn put_back(t: Tensor, keep: bool, back: Vec<i64>) -> Result<Value> {
    if !keep {
        return Ok(t.into());
    }
    Ok(t!("permute", t!("unsqueeze", t, -1)?, back)?.into())
}

fn matrix_norm(c: &Call) -> Result<Value> {
    let a = crate::softmax::to_dtype(c.tensor("self")?, c.dtype("dtype")?)?;
    let (ord, keep, (mut x, mut y)) = (c.get("ord").float()?, c.bool("keepdim")?, norm_dims(c)?);
    let extreme = |t: Tensor, dim: i64, keep: bool| {
        // Norms are not negative: the largest of none is zero, and there is no smallest.
        if ord > 0.0 && t.size(wrap_dim(dim, t.dim())?).as_int() == Some(0) {
            return t!("sum.dim_IntList", t, vec![dim], keep);
        }
        if ord > 0.0 { t!("amax", t, vec![dim], keep) } else { t!("amin", t, vec![dim], keep) }
    };
    match ord.abs() {
        2.0 => {
            let (values, back) = singular_values(&a, x, y)?;
            put_back(extreme(values, -1, keep)?, keep, back)
        }
        1.0 | f64::INFINITY => {
            if ord.abs() == f64::INFINITY {
                std::mem::swap(&mut x, &mut y);
            }
            let sums = t!("linalg_vector_norm", a, 1.0, vec![x], keep)?;
            Ok(extreme(sums, if !keep && x < y { y - 1 } else { y }, keep)?.into())
        }
        _ => Err(Error::runtime(format!("linalg.matrix_norm: Order {ord} not supported."))),
    }
}

fn matrix_norm_named(c: &Call) -> Result<Value> {
    let (x, y) = norm_dims(c)?;
    match c.str("ord")? {
        "fro" => aten!("linalg_vector_norm", &c.args[0], 2, vec![x, y], c.get("keepdim"); dtype = c.get("dtype")),
        "nuc" => {
            let a = crate::softmax::to_dtype(c.tensor("self")?, c.dtype("dtype")?)?;
            let keep = c.bool("keepdim")?;
            let (values, back) = singular_values(&a, x, y)?;
            put_back(t!("sum.dim_IntList", values, vec![-1i64], keep)?, keep, back)
        }
        other => Err(Error::runtime(format!("linalg.matrix_norm: Order {other} not supported."))),
    }
}
