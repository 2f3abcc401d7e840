//! `torch.linalg`: pseudo-inverses, least squares, ranks, conditions, the matrix exponential; and the older names of factorizations.

use super::linalg::{Specs, check_matrix, check_square, columns, inverse_spec, mh, plain};
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, CastPolicy, Grads, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    register_inverses(b);
    register_ranks(b);
    register_cholesky(b);
    register_tensors(b);
    register_older(b);
    b.op(
        "linalg_matrix_exp(Tensor self) -> Tensor",
        Rule::Fresh(|c| {
            let a = c.tensor("self")?;
            check_square(a, "linalg.matrix_exp")?;
            Ok(vec![plain(&a.sizes(), a.dtype(), a)])
        }),
    )
    .tags(Tags::COMPLEX_GRAD)
    .doc("The exponential of matrices.")
    .grad("LinalgMatrixExpBackward", &["self"], |b| {
        let (a, g) = (mh(b.saved("self")?)?, b.grad()?);
        // The exponential of a block matrix holds the derivative in its corner.
        Grads::one(b, "self", || {
            let n = a.size(a.dim() - 1);
            let row = |x: Tensor, y: Tensor| aten!("cat", Value::List(vec![x.into(), y.into()]), -1);
            let top = row(a.clone(), g.clone())?;
            let bottom = row(t!("zeros_like", &a)?, a.clone())?;
            let whole = t!("linalg_matrix_exp", aten!("cat", Value::List(vec![top, bottom]), -2)?.into_tensor()?)?;
            t!("narrow", t!("narrow", whole, -2, 0, n.clone())?, -1, n.clone(), n)
        })
    });
    b.op("matrix_exp(Tensor self) -> Tensor", Rule::Composite(|c| aten!("linalg_matrix_exp", &c.args[0])))
        .doc("The exponential of matrices.");
}

fn transposed_spec(c: &Call) -> Specs {
    let a = c.args[0].tensor()?;
    if a.dim() < 2 {
        return Err(Error::runtime("linalg.pinv: The input tensor A must have at least 2 dimensions."));
    }
    check_matrix(a, "linalg.pinv")?;
    let (mut sizes, n) = (a.sizes(), a.dim());
    sizes.swap(n - 1, n - 2);
    Ok(vec![plain(&sizes, a.dtype(), a)])
}

fn pinv_grad(g: &Tensor, inverse: &Tensor, a: &Tensor) -> Result<Tensor> {
    let mm = |x: &Tensor, y: &Tensor| t!("matmul", x, y);
    let (gh, inverse_h) = (mh(g)?, mh(inverse)?);
    let (m, n) = (a.size(a.dim() - 2), a.size(a.dim() - 1));
    if !n.sym_lt(m)? {
        let k = mm(&gh, inverse)?;
        let turned = mm(&k, &inverse_h)?;
        let first = t!("sub.Tensor", turned.clone(), mh(&mm(inverse, &k)?)?)?;
        let second = t!("sub.Tensor", first, mm(&mm(a, inverse)?, &turned)?)?;
        let rest = t!("sub.Tensor", gh, mm(&k, a)?)?;
        return t!("add.Tensor", second, mm(&mm(&inverse_h, inverse)?, &rest)?);
    }
    let k = mm(inverse, &gh)?;
    let turned = mm(&inverse_h, &k)?;
    let rest = t!("sub.Tensor", gh, mm(a, &k)?)?;
    let first = t!("sub.Tensor", mm(&mm(&rest, inverse)?, &inverse_h)?, mh(&mm(&k, inverse)?)?)?;
    let second = t!("add.Tensor", first, &turned)?;
    t!("sub.Tensor", second, mm(&mm(&turned, inverse)?, a)?)
}

fn register_inverses(b: &mut OpBuilder) {
    b.op(
        "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
        Rule::Fresh(transposed_spec),
    )
    .tags(Tags::COMPLEX_GRAD)
    .grad("LinalgPinvBackward", &["self", "result"], |b| Grads::one(b, "self", || pinv_grad(b.grad()?, b.result(0)?, b.saved("self")?)));
    fn tolerance(c: &Call, name: &str) -> Result<Value> {
        let a = c.tensor("self")?;
        match c.get(name) {
            Value::None => Ok(Value::None),
            Value::Tensor(t) => Ok(t.into()),
            number => aten!("full", Value::List(Vec::new()), number.float()?; dtype = Dtype::Float64, device = a.device()),
        }
    }
    b.op(
        "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
        Rule::Composite(|c| {
            let (atol, rtol) = (tolerance(c, "atol")?, tolerance(c, "rtol")?);
            aten!("linalg_pinv.atol_rtol_tensor", &c.args[0]; atol = atol, rtol = rtol, hermitian = c.get("hermitian"))
        }),
    )
    .doc("The pseudo-inverse.");
    for (overload, ty) in [("", "float"), (".rcond_tensor", "Tensor")] {
        b.op(
            &format!("linalg_pinv{overload}(Tensor self, {ty} rcond, bool hermitian=False) -> Tensor"),
            Rule::Composite(|c| {
                let zero = aten!("full", Value::List(Vec::new()), 0.0; dtype = Dtype::Float64)?;
                aten!("linalg_pinv.atol_rtol_tensor", &c.args[0]; atol = zero, rtol = tolerance(c, "rcond")?, hermitian = c.get("hermitian"))
            }),
        );
    }
    b.op("pinverse(Tensor self, float rcond=1e-15) -> Tensor", Rule::Composite(|c| aten!("linalg_pinv", &c.args[0], &c.args[1], false)))
        .doc("The pseudo-inverse.")
        .autocast(CastPolicy::Fp32);
    b.op(
        "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
        Rule::Fresh(lstsq_spec),
    ).tags(Tags::COMPLEX_GRAD).doc("The least squares solution.").autocast(CastPolicy::Fp32)
    .grad("LinalgLstsqBackward", &["self", "b", "result"], lstsq_grad)
    .indices_without_grad(&[2, 3]);
}

fn lstsq_spec(c: &Call) -> Specs {
    let (a, rhs) = (c.tensor("self")?, c.tensor("b")?);
    check_matrix(a, "torch.linalg.lstsq")?;
    if rhs.dim() == 0 {
        return Err(Error::runtime("torch.linalg.lstsq: other must have at least 1 dimension."));
    }
    if rhs.dim() > a.dim() || rhs.dim() + 1 < a.dim() {
        return Err(Error::runtime(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1",
        ));
    }
    if a.dtype() != rhs.dtype() {
        return Err(Error::runtime(format!(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype {} and other's dtype {}",
            a.dtype().scalar_type(),
            rhs.dtype().scalar_type()
        )));
    }
    let (lead, n) = (a.dim() - 2, a.size(a.dim() - 1));
    let vector = rhs.dim() + 1 == a.dim();
    let batch = &a.sizes()[..lead];
    let mut solution = batch.to_vec();
    solution.push(n.clone());
    let mut residuals = batch.to_vec();
    if !vector {
        let columns = rhs.size(rhs.dim() - 1);
        solution.push(columns.clone());
        residuals.push(columns);
    }
    let tall = n.sym_lt(a.size(lead))?;
    let driver = if c.get("driver").is_none() { "gelsy" } else { c.str("driver")? };
    let least = a.size(lead).min(&n);
    let mut values = batch.to_vec();
    values.push(least);
    let real = a.dtype().to_real();
    let none = || plain(&[SymInt::Int(0)], real, a);
    let residuals = if tall && driver != "gelsy" { plain(&residuals, real, a) } else { none() };
    let rank = if driver == "gels" { plain(&[SymInt::Int(0)], Dtype::Int64, a) } else { plain(batch, Dtype::Int64, a) };
    let singular = if matches!(driver, "gelsd" | "gelss") { plain(&values, real, a) } else { none() };
    let solution = if vector { plain(&solution, a.dtype(), a) } else { Some(columns(solution, a.dtype(), a)) };
    Ok(vec![solution, residuals, rank, singular])
}

fn lstsq_grad(b: &Backward) -> Result<Grads> {
    let (a, rhs, mut grads) = (b.saved("self")?, b.saved("b")?, Grads::new(b));
    let vector = rhs.dim() + 1 == a.dim();
    let matrix = |x: &Tensor| if vector { t!("unsqueeze", x, -1) } else { Ok(x.clone()) };
    let rhs = matrix(rhs)?;
    let (mut of_a, mut of_b): (Option<Tensor>, Option<Tensor>) = (None, None);
    if let Some(Some(g)) = b.grads.first() {
        let (g, inverse) = (matrix(g)?, t!("linalg_pinv.atol_rtol_float", a)?);
        of_a = Some(pinv_grad(&t!("matmul", &g, mh(&rhs)?)?, &inverse, a)?);
        of_b = Some(t!("matmul", mh(&inverse)?, &g)?);
    }
    if let Some(Some(g)) = b.grads.get(1)
        && g.numel().guard_int()? > 0
    {
        // What is missed does not move with the solution, to which it is orthogonal.
        let x = matrix(b.result(0)?)?;
        let missed = t!("sub.Tensor", t!("matmul", a, &x)?, &rhs)?;
        let along = t!("unsqueeze", if vector { t!("unsqueeze", g, -1)? } else { g.clone() }, -2)?;
        let scaled = t!("mul.Tensor", t!("mul.Scalar", missed, 2)?, along)?;
        let (more_a, more_b) = (t!("matmul", &scaled, mh(&x)?)?, t!("neg", &scaled)?);
        of_a = Some(of_a.map_or_else(|| Ok(more_a.clone()), |have| t!("add.Tensor", have, &more_a))?);
        of_b = Some(of_b.map_or_else(|| Ok(more_b.clone()), |have| t!("add.Tensor", have, &more_b))?);
    }
    grads.put(b, "self", of_a)?;
    grads.put(b, "b", of_b.map(|g| if vector { t!("squeeze.dim", g, -1) } else { Ok(g) }).transpose()?)?;
    Ok(grads)
}

/// Zeros, the condition numbers of matrices without elements, whatever the norm.
fn cond_of_nothing(a: &Tensor) -> Result<Option<Value>> {
    check_matrix(a, "linalg.cond")?;
    if a.numel().as_int() != Some(0) {
        return Ok(None);
    }
    aten!("zeros", a.sizes()[..a.dim() - 2].to_vec(); dtype = a.dtype(), device = a.device()).map(Some)
}

/// How many singular values exceed the tolerance.
fn rank(c: &Call, atol: Option<Tensor>, rtol: Option<Tensor>) -> Result<Value> {
    let a = c.args[0].tensor()?;
    check_matrix(a, "torch.linalg.matrix_rank")?;
    // Matrices without elements have no rank, square or not.
    if a.numel().as_int() == Some(0) {
        let batch = a.sizes()[..a.dim() - 2].to_vec();
        return aten!("zeros", batch; dtype = Dtype::Int64, device = a.device());
    }
    let values = if c.bool("hermitian")? { t!("abs", t!("linalg_eigvalsh", a)?)? } else { t!("linalg_svdvals", a)? };
    let (m, n) = (a.size(a.dim() - 2).guard_int()?, a.size(a.dim() - 1).guard_int()?);
    let eps = if a.dtype().to_real() == Dtype::Float64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let number = |v: f64| t!("full", Value::List(Vec::new()), v; dtype = a.dtype().to_real(), device = a.device());
    let rtol = match (rtol, &atol) {
        (Some(given), _) => given,
        (None, Some(given)) => {
            let none = t!("gt.Scalar", given, 0.0)?;
            t!("where.self", none, number(0.0)?, number(eps * m.max(n) as f64)?)?
        }
        (None, None) => number(eps * m.max(n) as f64)?,
    };
    let largest = t!("amax", &values, vec![-1i64])?;
    let atol = atol.map_or_else(|| number(0.0), Ok)?;
    let bound = t!("maximum", t!("to.dtype", atol, a.dtype().to_real())?, t!("mul.Tensor", rtol, largest)?)?;
    aten!("sum.dim_IntList", t!("gt.Tensor", values, t!("unsqueeze", bound, -1)?)?, vec![-1i64])
}

fn register_ranks(b: &mut OpBuilder) {
    fn tolerance(c: &Call, name: &str) -> Result<Option<Tensor>> {
        let a = c.args[0].tensor()?;
        match c.get(name) {
            Value::None => Ok(None),
            Value::Tensor(t) => Ok(Some(t.clone())),
            number => t!("full", Value::List(Vec::new()), number.float()?; dtype = a.dtype().to_real(), device = a.device()).map(Some),
        }
    }
    for (overload, first, ty) in [("atol_rtol_tensor", "input", "Tensor"), ("atol_rtol_float", "self", "float")] {
        b.op(
            &format!("linalg_matrix_rank.{overload}(Tensor {first}, *, {ty}? atol=None, {ty}? rtol=None, bool hermitian=False) -> Tensor"),
            Rule::Composite(|c| rank(c, tolerance(c, "atol")?, tolerance(c, "rtol")?)),
        );
    }
    for (overload, first, ty) in [("", "self", "float"), (".tol_tensor", "input", "Tensor")] {
        b.op(
            &format!("linalg_matrix_rank{overload}(Tensor {first}, {ty} tol, bool hermitian=False) -> Tensor"),
            Rule::Composite(|c| {
                let a = c.args[0].tensor()?;
                let none = t!("full", Value::List(Vec::new()), 0.0; dtype = a.dtype(), device = a.device())?;
                rank(c, tolerance(c, "tol")?, Some(none))
            }),
        )
        .doc("The rank of matrices.")
        .autocast(CastPolicy::Fp32);
    }
    b.op(
        "linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
        Rule::Composite(|c| {
            let a = c.tensor("self")?;
            if let Some(nothing) = cond_of_nothing(a)? {
                return Ok(nothing);
            }
            let p = if c.get("p").is_none() { 2.0 } else { c.get("p").float()? };
            if p.abs() == 2.0 {
                let values = t!("linalg_svdvals", a)?;
                let (most, least) = (t!("select.int", &values, -1, 0)?, t!("select.int", &values, -1, -1)?);
                return if p > 0.0 { aten!("div.Tensor", most, least) } else { aten!("div.Tensor", least, most) };
            }
            check_square(a, "linalg.cond")?;
            let norm = |x: &Tensor| t!("linalg_matrix_norm", x, p);
            let inverse = aten!("linalg_inv_ex", a)?.tensors()?;
            aten!("mul.Tensor", norm(a)?, norm(&inverse[0])?)
        }),
    )
    .doc("The condition number.")
    .autocast(CastPolicy::Fp32);
    b.op(
        "linalg_cond.p_str(Tensor self, str p) -> Tensor",
        Rule::Composite(|c| {
            let a = c.tensor("self")?;
            check_square(a, &format!("linalg.cond(ord={})", c.str("p")?))?;
            if let Some(nothing) = cond_of_nothing(a)? {
                return Ok(nothing);
            }
            let norm = |x: &Tensor| t!("linalg_matrix_norm.str_ord", x, c.get("p"));
            let inverse = aten!("linalg_inv_ex", a)?.tensors()?;
            aten!("mul.Tensor", norm(a)?, norm(&inverse[0])?)
        }),
    );
}

fn register_cholesky(b: &mut OpBuilder) {
    b.op("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", Rule::Fresh(|c| Ok(vec![inverse_spec(c)?[0].clone()])))
        .tags(Tags::COMPLEX_GRAD)
        .doc("The inverse of a matrix from its Cholesky factor.")
        .autocast(CastPolicy::Fp32)
        .grad("CholeskyInverseBackward", &["self", "result"], |b| {
            let (factor, inverse, g) = (b.saved("self")?, b.result(0)?, b.grad()?);
            Grads::one(b, "self", || {
                let both = t!("add.Tensor", g, mh(g)?)?;
                let inner = t!("matmul", inverse, t!("matmul", both, inverse)?)?;
                t!("neg", if b.arg("upper").bool()? { t!("matmul", factor, inner) } else { t!("matmul", inner, factor) }?)
            })
        });
    b.op(
        "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
        Rule::Fresh(|c| {
            let (rhs, factor) = (c.tensor("self")?, c.tensor("input2")?);
            for (name, x) in [("b", rhs), ("u", factor)] {
                if x.dim() < 2 {
                    return Err(Error::runtime(format!(
                        "{name} should have at least 2 dimensions, but has {} dimensions instead",
                        x.dim()
                    )));
                }
            }
            check_square(factor, "cholesky_solve")?;
            let (a, b) = (factor.sizes(), rhs.sizes());
            let (side, rows) = (&a[a.len() - 1], &b[b.len() - 2]);
            if !super::shapes::may_be_same(std::slice::from_ref(side), std::slice::from_ref(rows)) {
                return Err(Error::runtime(format!(
                    "Incompatible matrix sizes for cholesky_solve: each A matrix is {side} by {side} but each b matrix is {rows} by {}",
                    b[b.len() - 1]
                )));
            }
            let mut sizes = super::shapes::broadcast_two(&a[..a.len() - 2], &b[..b.len() - 2])?;
            sizes.extend_from_slice(&b[b.len() - 2..]);
            Ok(vec![Some(columns(sizes, rhs.dtype(), rhs))])
        }),
    )
    .tags(Tags::COMPLEX_GRAD)
    .doc("Solves a system from its Cholesky factor.")
    .autocast(CastPolicy::Fp32)
    .grad("CholeskySolveBackward", &["input2", "result"], |b| {
        let (factor, upper, mut grads) = (b.saved("input2")?, b.arg("upper"), Grads::new(b));
        let solved = t!("cholesky_solve", b.grad()?, factor, upper)?;
        grads.set(b, "input2", || {
            let common = t!("matmul", &solved, mh(b.result(0)?)?)?;
            let common = t!("add.Tensor", &common, mh(&common)?)?;
            t!("neg", if upper.bool()? { t!("matmul", factor, common) } else { t!("matmul", common, factor) }?)
        })?;
        grads.put(b, "self", Some(solved))?;
        Ok(grads)
    });
}

fn register_tensors(b: &mut OpBuilder) {
    b.op(
        "linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
        Rule::Composite(|c| {
            let (a, ind) = (c.tensor("self")?, c.int("ind")?);
            if ind <= 0 {
                return Err(Error::runtime("Expected a strictly positive integer for 'ind'"));
            }
            let (sizes, ind) = (a.sizes(), ind as usize);
            let (rows, cols) = (&sizes[..ind.min(sizes.len())], &sizes[ind.min(sizes.len())..]);
            let product = |s: &[SymInt]| s.iter().fold(SymInt::Int(1), |a, b| &a * b);
            let (m, n) = (product(cols), product(rows));
            if !m.sym_eq(n.clone())? {
                return Err(Error::runtime(format!(
                    "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {m} != {n}"
                )));
            }
            let inverse = t!("linalg_inv", t!("reshape", a, vec![n, m])?)?;
            aten!("reshape", inverse, [cols, rows].concat())
        }),
    )
    .doc("The inverse of a tensor as a matrix.")
    .autocast(CastPolicy::Fp32);
    b.op(
        "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
        Rule::Composite(|c| {
            let (mut a, other) = (c.tensor("self")?.clone(), c.tensor("other")?);
            if !c.get("dims").is_none() {
                let dims = c.ints("dims")?;
                let count = dims.len() as i64;
                a = t!("movedim.intlist", a, dims, (-count..0).collect::<Vec<i64>>())?;
            }
            let shape: Vec<SymInt> = match a.sizes().get(other.dim()..) {
                Some(shape) => shape.to_vec(),
                None => return Err(Error::runtime("cannot create std::vector larger than max_size()")),
            };
            let n = other.numel();
            let m = shape.iter().fold(SymInt::Int(1), |a, b| &a * b);
            if !m.sym_eq(n.clone())? {
                return Err(Error::runtime(format!(
                    "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got {m} != {n}"
                )));
            }
            let solved = t!("linalg_solve", t!("reshape", a, vec![n.clone(), m])?, t!("reshape", other, vec![n])?)?;
            aten!("reshape", solved, shape)
        }),
    ).doc("Solves a system whose matrix is a tensor.").autocast(CastPolicy::Fp32);
    b.op("linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", Rule::Composite(vander)).doc("Powers as columns.");
    b.op("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", Rule::Composite(vander)).doc("Powers as columns.");
}

/// Powers of a vector's elements.
fn vander(c: &Call) -> Result<Value> {
    if c.entry.base_name() == "vander" && c.tensor("x")?.dim() != 1 {
        return Err(Error::runtime("x must be a one-dimensional tensor."));
    }
    let x = &t!("atleast_1d", c.tensor("x")?)?;
    let shape = x.sizes();
    let n = if c.get("N").is_none() { shape.last().unwrap_or(&SymInt::Int(1)).guard_int()? } else { c.int("N")? };
    let linalg = c.entry.base_name().starts_with("linalg");
    if linalg && n <= 1 {
        return Err(Error::runtime("N must be greater than 1."));
    }
    let dtype = if x.dtype().is_integral() { Dtype::Int64 } else { x.dtype() };
    let x = t!("to.dtype", x, dtype)?;
    let column = t!("unsqueeze", &x, -1)?;
    let mut parts: Vec<Value> = Vec::new();
    if n > 0 {
        parts.push(t!("ones_like", &column)?.into());
    }
    if n > 1 {
        let mut sizes = shape.clone();
        sizes.push((n - 1).into());
        parts.push(t!("cumprod", t!("expand", &column, sizes)?, -1)?.into());
    }
    let powers = aten!("cat", Value::List(parts), -1)?;
    if linalg || c.bool("increasing")? { Ok(powers) } else { aten!("flip", powers, vec![-1i64]) }
}

/// The names that `torch.linalg` has replaced.
fn register_older(b: &mut OpBuilder) {
    b.op(
        "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
        Rule::Composite(|c| {
            let a = c.tensor("self")?;
            if a.dim() < 2 {
                return Err(Error::runtime(format!(
                    "linalg.svd: input should have at least 2 dimensions, but has {} dimensions instead",
                    a.dim()
                )));
            }
            if !c.bool("compute_uv")? {
                let (m, n) = (a.size(a.dim() - 2), a.size(a.dim() - 1));
                let batch = &a.sizes()[..a.dim() - 2];
                let square = |k: SymInt| -> Result<Value> {
                    let sizes = [batch, &[k.clone(), k]].concat();
                    aten!("zeros", sizes; dtype = a.dtype(), device = a.device())
                };
                return Ok(Value::List(vec![square(m)?, t!("linalg_svdvals", a)?.into(), square(n)?]));
            }
            let parts = aten!("linalg_svd", a, !c.bool("some")?)?.tensors()?;
            Ok(Value::List(vec![(&parts[0]).into(), (&parts[1]).into(), mh(&parts[2])?.into()]))
        }),
    )
    .doc("The singular value decomposition.")
    .autocast(CastPolicy::Fp32);
    b.op(
        "qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
        Rule::Composite(|c| aten!("linalg_qr", &c.args[0], if c.bool("some")? { "reduced" } else { "complete" })),
    )
    .doc("The factors Q and R.")
    .tags(Tags::APART_IN_EXPORT);
    b.op(
        "cholesky(Tensor self, bool upper=False) -> Tensor",
        Rule::Composite(|c| aten!("linalg_cholesky", &c.args[0]; upper = &c.args[1])),
    )
    .doc("The triangular factor of symmetric positive definite matrices.")
    .tags(Tags::APART_IN_EXPORT);
    b.op(
        "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
        Rule::Composite(|c| {
            let (rhs, a, upper, turn) = (c.tensor("self")?, c.tensor("A")?, c.bool("upper")?, c.bool("transpose")?);
            let factor = if turn { mh(a)? } else { a.clone() };
            let solved = t!("linalg_solve_triangular", factor, rhs; upper = upper != turn, unitriangular = c.get("unitriangular"))?;
            let batch = super::shapes::broadcast_two(&a.sizes()[..a.dim() - 2], &rhs.sizes()[..rhs.dim() - 2])?;
            let whole = [&batch[..], &a.sizes()[a.dim() - 2..]].concat();
            // The copy is what a solver reads, column by column.
            let copy = t!("clone", mh(&t!("expand", a, whole)?)?; memory_format = tensor::MemoryFormat::Contiguous)?;
            Ok(Value::List(vec![solved.into(), mh(&copy)?.into()]))
        }),
    ).doc("Solves a triangular system.").autocast(CastPolicy::Fp32).tags(Tags::APART_IN_EXPORT);
}
