//! `torch.linalg`: solving and determinants, with derivatives. Factors lie column by column, as LAPACK leaves them.

use super::complex::conj;
use crate::nll::first;
use crate::shapes::{broadcast_two, may_be_same};
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Batch, Call, CastPolicy, Grads, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Dtype, Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    register_solving(b);
    super::factors::register(b);
}

fn register_solving(b: &mut OpBuilder) {
    b.op("_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()", Rule::Fresh(|_| Ok(vec![])))
        .batch(Batch::Rule(super::batch_rules::check_errors))
        .tags(Tags::ORDERED);
    b.op("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", Rule::Fresh(inverse_spec))
        .tags(Tags::COMPLEX_GRAD)
        .doc("The inverse, with a status instead of an error.")
        .autocast(CastPolicy::Fp32)
        .grad("LinalgInvExBackward", &["result"], |b| {
            let inverse = b.result(0)?;
            let inner = t!("matmul", b.grad()?, mh(inverse)?)?;
            Grads::one(b, "A", || t!("neg", t!("matmul", mh(inverse)?, inner)?))
        })
        .indices_without_grad(&[1]);
    b.op("linalg_inv(Tensor A) -> Tensor", Rule::Composite(inverse)).doc("The inverse of matrices.").autocast(CastPolicy::Fp32);
    b.op("inverse(Tensor self) -> Tensor", Rule::Composite(inverse)).doc("The inverse of matrices.").autocast(CastPolicy::Fp32);
    b.op(
        "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
        Rule::Fresh(solve_spec),
    ).tags(Tags::COMPLEX_GRAD)
    .grad("LinalgSolveExBackward", &["A", "result", "result1", "result2"], solve_grad)
    .indices_without_grad(&[1, 2, 3]);
    b.op("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", Rule::Composite(solve))
        .doc("Solves `A X = B`.")
        .autocast(CastPolicy::Fp32);
    b.op(
        "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
        Rule::Fresh(|c| {
            let (lu, pivots, b) = (c.tensor("LU")?, c.tensor("pivots")?, c.tensor("B")?);
            check_square(lu, "torch.linalg.lu_solve")?;
            check_matrix(b, "torch.linalg.lu_solve")?;
            if pivots.dtype() != Dtype::Int32 {
                return Err(Error::runtime("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32"));
            }
            if lu.dtype() != b.dtype() {
                return Err(Error::runtime(format!(
                    "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {} and B of type {} instead",
                    lu.dtype().scalar_type(),
                    b.dtype().scalar_type()
                )));
            }
            let (sizes, sb, left) = (lu.sizes(), b.sizes(), c.bool("left")?);
            let (lead, at) = (sizes.len() - 2, if left { sb.len() - 2 } else { sb.len() - 1 });
            if !may_be_same(&sizes[lead + 1..], &sb[at..=at]) {
                return Err(Error::runtime(format!(
                    "linalg.lu_solve: Incompatible shapes of A and B for the equation {} ({}x{} and {}x{})",
                    if left { "AX = B" } else { "XA = B" },
                    sizes[lead],
                    sizes[lead + 1],
                    sb[sb.len() - 2],
                    sb[sb.len() - 1]
                )));
            }
            if !may_be_same(&pivots.sizes(), &sizes[..=lead]) {
                return Err(Error::runtime(format!(
                    "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape {:?} instead",
                    pivots.sizes()
                )));
            }
            let mut whole = broadcast_two(&sizes[..lead], &sb[..sb.len() - 2])?;
            whole.extend_from_slice(&sb[sb.len() - 2..]);
            Ok(vec![if left { Some(columns(whole, b.dtype(), b)) } else { plain(&whole, b.dtype(), b) }])
        }),
    )
    .tags(Tags::COMPLEX_GRAD)
    .doc("Solves a system from its LU factorization.");
    b.op(
        "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
        Rule::Fresh(triangular_spec),
    )
    .tags(Tags::COMPLEX_GRAD)
    .doc("Solves a triangular system.")
    .tags(Tags::CONJ_FALLTHROUGH | Tags::NEG_FALLTHROUGH)
    .grad("LinalgSolveTriangularBackward", &["self", "result"], triangular_grad);
    b.op("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", Rule::Fresh(det_spec))
        .tags(Tags::COMPLEX_GRAD)
        .grad("LinalgDetBackward", &["A", "result", "result1", "result2"], det_grad)
        .indices_without_grad(&[1, 2]);
    b.op("linalg_det(Tensor A) -> Tensor", Rule::Composite(|c| first(aten!("_linalg_det", &c.args[0])?))).doc("The determinant.");
    b.op("det(Tensor self) -> Tensor", Rule::Composite(|c| first(aten!("_linalg_det", &c.args[0])?))).doc("The determinant.");
    b.op("_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)", Rule::Fresh(slogdet_spec))
        .tags(Tags::COMPLEX_GRAD)
        .grad("LinalgSlogdetBackward", &["A", "result", "result2", "result3"], slogdet_grad)
        .indices_without_grad(&[2, 3]);
    for name in ["linalg_slogdet(Tensor A)", "slogdet(Tensor self)"] {
        b.op(
            &format!("{name} -> (Tensor sign, Tensor logabsdet)"),
            Rule::Composite(|c| Ok(Value::List(aten!("_linalg_slogdet", &c.args[0])?.list()?[..2].to_vec()))),
        )
        .doc("Sign and logarithm of the determinant.");
    }
    b.op(
        "logdet(Tensor self) -> Tensor",
        Rule::Composite(|c| {
            let parts = aten!("_linalg_slogdet", &c.args[0])?.tensors()?;
            if parts[0].dtype().is_complex() {
                return aten!("add.Tensor", t!("log", &parts[0])?, &parts[1]);
            }
            aten!("where.ScalarSelf", t!("eq.Scalar", &parts[0], -1.0)?, f64::NAN, &parts[1])
        }),
    )
    .doc("The logarithm of the determinant.");
}

pub(super) type Specs = Result<Vec<Option<TensorSpec>>>;

/// The matrices' transpose.
pub(super) fn mt(t: &Tensor) -> Result<Tensor> {
    t!("transpose.int", t, -2, -1)
}

/// The conjugate of the matrices' transpose.
pub(super) fn mh(t: &Tensor) -> Result<Tensor> {
    super::complex::conj(&mt(t)?)
}

/// A result whose matrices lie column by column.
pub(super) fn columns(sizes: Vec<SymInt>, dtype: Dtype, like: &Tensor) -> TensorSpec {
    let mut lying = sizes.clone();
    let n = lying.len();
    if n >= 2 {
        lying.swap(n - 2, n - 1);
    }
    let mut strides = tensor::contiguous_strides(&lying);
    if n >= 2 {
        strides.swap(n - 2, n - 1);
    }
    TensorSpec::strided(sizes, strides, dtype, like.device())
}

pub(super) fn plain(sizes: &[SymInt], dtype: Dtype, like: &Tensor) -> Option<TensorSpec> {
    Some(TensorSpec::contiguous(sizes.to_vec(), dtype, like.device()))
}

/// Checks that a tensor holds floating-point or complex matrices, in the words of `name`.
pub(super) fn check_matrix(t: &Tensor, name: &str) -> Result<()> {
    if t.dim() < 2 {
        return Err(Error::runtime(format!("{name}: The input tensor A must have at least 2 dimensions.")));
    }
    let is_short = matches!(t.dtype(), Dtype::Float16 | Dtype::BFloat16);
    // Some are told apart by the kernel alone.
    let kernel = match name {
        "linalg.eigh" => "linalg_eigh_cpu",
        "linalg.lu" | "linalg.lu_factor" => "lu_cpu",
        "linalg.det" | "linalg.solve" if is_short => "lu_cpu",
        "linalg.cholesky" if is_short => "cholesky_cpu",
        "linalg.qr" if is_short => "geqrf_cpu",
        "linalg.svd" if is_short => "linalg_svd_cpu",
        "linalg.eig" if is_short => "linalg_eig_out_cpu",
        _ => "",
    };
    if !kernel.is_empty() && (is_short || t.dtype().is_integral()) {
        return Err(Error::not_implemented(format!("\"{kernel}\" not implemented for '{}'", t.dtype().scalar_type())));
    }
    if !t.dtype().is_floating() && !t.dtype().is_complex() {
        return Err(Error::not_implemented(format!(
            "{name}: Expected a floating point or complex tensor as input. Got {}",
            t.dtype().scalar_type()
        )));
    }
    if is_short {
        return Err(Error::not_implemented(format!("{name}: Low precision dtypes not supported. Got {}", t.dtype().scalar_type())));
    }
    Ok(())
}

pub(super) fn check_square(t: &Tensor, name: &str) -> Result<()> {
    check_matrix(t, name)?;
    check_squares(t, name)
}

/// Square matrices of any dtype.
pub(super) fn check_squares(t: &Tensor, name: &str) -> Result<()> {
    if t.dim() < 2 {
        return Err(Error::runtime(format!("{name}: The input tensor A must have at least 2 dimensions.")));
    }
    let (rows, cols) = (t.size(t.dim() - 2), t.size(t.dim() - 1));
    if !rows.sym_eq(cols.clone())? {
        return Err(Error::runtime(format!("{name}: A must be batches of square matrices, but they are {rows} by {cols} matrices")));
    }
    Ok(())
}

/// The name an error speaks of.
fn spoken(c: &Call) -> String {
    let name = c.entry.schema.name.trim_start_matches('_').trim_end_matches("_ex");
    match name.strip_prefix("linalg_") {
        Some(rest) => format!("linalg.{rest}"),
        None => name.to_owned(),
    }
}

/// Has a call check what a factorization of matrices said; errors speak of `name`.
pub(super) fn check_info(info: &Tensor, name: &str, matrix: &Tensor) -> Result<()> {
    aten!("_linalg_check_errors", info, name; is_matrix = matrix.dim() == 2).map(|_| ())
}

/// What a factorization's `info` means, where it is not zero.
pub fn failure(name: &str, info: i64) -> String {
    match name {
        _ if name.contains("inv") => {
            format!("The diagonal element {info} is zero, the inversion could not be completed because the input matrix is singular.")
        }
        _ if name.contains("solve") => "The solver failed because the input matrix is singular.".to_owned(),
        _ if name.contains("cholesky") => format!(
            "The factorization could not be completed because the input is not positive-definite (the leading minor of order {info} is not positive-definite)."
        ),
        _ if name.contains("lu_factor") => format!(
            "U[{info},{info}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        ),
        _ => format!("Unknown error code: {info}."),
    }
}

pub(super) fn inverse_spec(c: &Call) -> Specs {
    let a = c.args[0].tensor()?;
    check_square(a, &spoken(c))?;
    let sizes = a.sizes();
    Ok(vec![Some(columns(sizes.clone(), a.dtype(), a)), plain(&sizes[..sizes.len() - 2], Dtype::Int32, a)])
}

fn inverse(c: &Call) -> Result<Value> {
    let results = aten!("linalg_inv_ex", &c.args[0])?.tensors()?;
    check_info(&results[1], "linalg.inv", c.args[0].tensor()?)?;
    Ok(results[0].clone().into())
}

/// Whether the right side holds vectors rather than matrices.
fn is_vector(a: &[SymInt], b: &[SymInt]) -> Result<bool> {
    if b.len() == 1 {
        return Ok(true);
    }
    if a.len() != b.len() + 1 {
        return Ok(false);
    }
    for (x, y) in a.iter().zip(b) {
        if !x.sym_eq(y.clone())? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn solve_spec(c: &Call) -> Specs {
    let (a, b) = (c.tensor("A")?, c.tensor("B")?);
    check_square(a, "linalg.solve")?;
    if a.dtype() != b.dtype() {
        return Err(Error::runtime(format!(
            "linalg.solve: Expected A and B to have the same dtype, but found A of type {} and B of type {} instead",
            a.dtype().scalar_type(),
            b.dtype().scalar_type()
        )));
    }
    let (sa, sb) = (a.sizes(), b.sizes());
    let n = sa.len();
    if sb.is_empty() {
        return Err(Error::runtime("linalg.solve: The input tensor B must have at least 2 dimensions."));
    }
    let vector = is_vector(&sa, &sb)?;
    let left = c.bool("left")?;
    let rows = if vector { sb[sb.len() - 1].clone() } else { sb[sb.len() - if left { 2 } else { 1 }].clone() };
    if !rows.sym_eq(sa[n - 1].clone())? {
        return Err(Error::runtime(format!(
            "linalg.solve: Incompatible shapes of A and B for the equation {} ({}x{} and {}x{})",
            if left { "AX = B" } else { "XA = B" },
            sa[n - 2],
            sa[n - 1],
            if vector { &rows } else { &sb[sb.len() - 2] },
            if vector { "1".to_owned() } else { sb[sb.len() - 1].to_string() }
        )));
    }
    if vector && !left {
        return Err(Error::runtime(format!(
            "linalg.solve: Incompatible shapes of A and B for the equation XA = B ({}x{} and {rows}x1)",
            sa[n - 2],
            sa[n - 1]
        )));
    }
    let batch_b = if vector { &sb[..sb.len() - 1] } else { &sb[..sb.len() - 2] };
    let mut sizes = broadcast_two(&sa[..n - 2], batch_b)?;
    sizes.extend_from_slice(&sb[batch_b.len()..]);
    // From the right, the transposed system is solved. A batch of vectors lies as a matrix would.
    let result = if !left { TensorSpec::contiguous(sizes, b.dtype(), b.device()) } else { columns(sizes, b.dtype(), b) };
    Ok(vec![
        Some(result),
        Some(columns(sa.clone(), a.dtype(), a)),
        plain(&sa[..n - 1], Dtype::Int32, a),
        plain(&sa[..n - 2], Dtype::Int32, a),
    ])
}

fn solve(c: &Call) -> Result<Value> {
    let results = aten!("_linalg_solve_ex", &c.args[0], &c.args[1]; left = c.get("left"))?.tensors()?;
    check_info(&results[3], "torch.linalg.solve", c.tensor("A")?)?;
    Ok(results[0].clone().into())
}

fn solve_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad, result) = (Grads::new(b), b.grad()?, b.result(0)?);
    let (lu, pivots, left) = (b.result(1)?, b.result(2)?, b.arg("left").bool()?);
    let vector = is_vector(&b.sizes("A")?, &b.sizes("B")?)?;
    let matrix = |t: &Tensor| if vector { t!("unsqueeze", t, -1) } else { Ok(t.clone()) };
    let a = b.saved("A")?;
    let solved = if again(a) {
        t!("linalg_solve", mh(a)?, matrix(grad)?; left = left)?
    } else {
        t!("linalg_lu_solve", lu, pivots, matrix(grad)?; left = left, adjoint = true)?
    };
    grads.set(b, "A", || {
        let x = mh(&matrix(result)?)?;
        t!("neg", if left { t!("matmul", &solved, x)? } else { t!("matmul", x, &solved)? })
    })?;
    grads.set(b, "B", || if vector { t!("squeeze.dim", solved, -1) } else { Ok(solved) })?;
    Ok(grads)
}

fn triangular_spec(c: &Call) -> Specs {
    let (a, b) = (c.tensor("self")?, c.tensor("B")?);
    check_square(a, "linalg.solve_triangular")?;
    check_matrix(b, "linalg.solve_triangular")?;
    let (sa, sb) = (a.sizes(), b.sizes());
    let at = sb.len() - if c.bool("left")? { 2 } else { 1 };
    if !sa[sa.len() - 1].sym_eq(sb[at].clone())? {
        return Err(Error::runtime(format!(
            "linalg.solve_triangular: Incompatible shapes of A and B for the equation {} ({}x{} and {}x{})",
            if c.bool("left")? { "AX = B" } else { "XA = B" },
            sa[sa.len() - 2],
            sa[sa.len() - 1],
            sb[sb.len() - 2],
            sb[sb.len() - 1]
        )));
    }
    let mut sizes = broadcast_two(&sa[..sa.len() - 2], &sb[..sb.len() - 2])?;
    sizes.extend_from_slice(&sb[sb.len() - 2..]);
    Ok(vec![Some(columns(sizes, b.dtype(), b))])
}

fn triangular_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad, a, x) = (Grads::new(b), b.grad()?, b.saved("self")?, b.result(0)?);
    let [upper, left, unit] = [b.arg("upper").bool()?, b.arg("left").bool()?, b.arg("unitriangular").bool()?];
    let solved = t!("linalg_solve_triangular", mh(a)?, grad; upper = !upper, left = left, unitriangular = unit)?;
    grads.put(b, "B", Some(solved.clone()))?;
    grads.set(b, "self", || {
        let x = mh(x)?;
        let g = t!("neg", if left { t!("matmul", solved, x)? } else { t!("matmul", x, solved)? })?;
        if upper { t!("triu", g, i64::from(unit)) } else { t!("tril", g, -i64::from(unit)) }
    })?;
    Ok(grads)
}

fn det_spec(c: &Call) -> Specs {
    let a = c.tensor("A")?;
    check_square(a, "linalg.det")?;
    let sizes = a.sizes();
    let n = sizes.len();
    Ok(vec![plain(&sizes[..n - 2], a.dtype(), a), Some(columns(sizes.clone(), a.dtype(), a)), plain(&sizes[..n - 1], Dtype::Int32, a)])
}

fn slogdet_spec(c: &Call) -> Specs {
    let mut specs = det_spec(c)?;
    specs.insert(0, specs[0].clone());
    specs[1].iter_mut().for_each(|spec| spec.dtype = spec.dtype.to_real());
    Ok(specs)
}

/// The gradient of a determinant's logarithm: the inverse's transpose times `scale`. LU is of the transpose of a contiguous A.
fn log_det_grad(scale: Tensor, a: &Tensor, lu: Tensor, pivots: &Tensor) -> Result<Tensor> {
    let spread = t!("expand", t!("unsqueeze", scale, -1)?, pivots.sizes())?;
    let diagonal = mt(&t!("diag_embed", spread)?)?;
    t!("linalg_lu_solve", lu, pivots, diagonal; left = true, adjoint = !factored_turned(a)?)
}

/// Whether the factors of a determinant are those of the transpose.
fn factored_turned(a: &Tensor) -> Result<bool> {
    Ok(!a.dtype().is_complex() && a.is_contiguous()?)
}

/// Whether the gradient itself is differentiated: then it must depend on A, which factors do not.
fn again(a: &Tensor) -> bool {
    dispatch::modes().grad && autograd::meta::requires_grad(a)
}

/// The inverse's transpose times a number per matrix, as a function of A.
fn inverse_scaled(scale: Tensor, a: &Tensor) -> Result<Tensor> {
    let sizes = a.sizes();
    let spread = t!("expand", t!("unsqueeze", scale, -1)?, sizes[..sizes.len() - 1].to_vec())?;
    t!("linalg_solve", mh(a)?, t!("diag_embed", spread)?)
}

fn det_grad(b: &Backward) -> Result<Grads> {
    let (grad, det, lu, pivots) = (b.grad()?, b.result(0)?, b.result(1)?, b.result(2)?);
    Grads::one(b, "A", || {
        let a = b.saved("A")?;
        if again(a) {
            return inverse_scaled(t!("mul.Tensor", grad, conj(det)?)?, a);
        }
        let scale = t!("mul.Tensor", grad, conj(det)?)?;
        let spread = t!("expand", t!("unsqueeze", scale, -1)?, pivots.sizes())?;
        let target = mt(&t!("diag_embed", spread)?)?;
        // A zero on the diagonal would make the system singular.
        let eps = if matches!(a.dtype(), Dtype::Float64 | Dtype::Complex128) { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let zero = t!("eq.Scalar", t!("diagonal", lu, 0, -2, -1)?, 0.0)?;
        let lift = t!("where.Scalar", zero, eps, 0.0)?;
        let lift = if lift.dtype() == a.dtype() { lift } else { t!("to.dtype", lift, a.dtype())? };
        let lu = t!("add.Tensor", lu, t!("diag_embed", lift)?)?;
        t!("linalg_lu_solve", lu, pivots, target; left = true, adjoint = !factored_turned(a)?)
    })
}

fn slogdet_grad(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    let grad = match (b.grads.first().and_then(Option::as_ref), b.grads.get(1).and_then(Option::as_ref)) {
        // The direction of a determinant turns; the sign of a real one has no slope.
        (Some(of_sign), of_log) if of_sign.dtype().is_complex() => {
            let turning = t!("imag", t!("mul.Tensor", conj(of_sign)?, b.result(0)?)?)?;
            let turning = t!("mul.Scalar", turning, Value::Complex(0.0, -1.0))?;
            match of_log {
                Some(of_log) => t!("add.Tensor", of_log, turning)?,
                None => turning,
            }
        }
        (_, Some(of_log)) => of_log.clone(),
        _ => return Ok(grads),
    };
    let a = b.saved("A")?;
    let grad = if a.dtype().is_complex() && !grad.dtype().is_complex() { t!("to.dtype", grad, a.dtype())? } else { grad };
    grads.set(b, "A", || {
        if again(b.saved("A")?) {
            inverse_scaled(grad.clone(), b.saved("A")?)
        } else {
            log_det_grad(grad.clone(), b.saved("A")?, b.result(2)?.clone(), b.result(3)?)
        }
    })?;
    Ok(grads)
}
