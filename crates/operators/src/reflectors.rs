//! Householder reflectors: a product of `I - tau v v^T`, kept as the vectors below a matrix's diagonal and their factors.

use super::linalg::{Specs, check_matrix, columns, mt, plain};
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, CastPolicy, Grads, OpBuilder, Rule, Value};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::Tensor;

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "geqrf(Tensor self) -> (Tensor a, Tensor tau)",
        Rule::Fresh(|c| {
            let a = c.tensor("self")?;
            check_matrix(a, "torch.geqrf")?;
            let (sizes, n) = (a.sizes(), a.dim());
            let mut factors = sizes[..n - 2].to_vec();
            factors.push(sizes[n - 2].min(&sizes[n - 1]));
            Ok(vec![Some(columns(sizes, a.dtype(), a)), plain(&factors, a.dtype(), a)])
        }),
    )
    .doc("A QR factorization, kept as reflectors.")
    .autocast(CastPolicy::Fp32);
    b.op("linalg_householder_product(Tensor input, Tensor tau) -> Tensor", Rule::Fresh(product_spec))
        .doc("The matrix that reflectors make.")
        .autocast(CastPolicy::Fp32)
        .grad("LinalgHouseholderProductBackward", &["input", "tau", "result"], |b| {
            let (a, tau) = (b.saved("input")?, b.saved("tau")?);
            let mut grads = Grads::new(b);
            if let Some((of_a, of_tau)) = reflectors_grad(b.grad()?, b.result(0)?, a, tau, false)? {
                grads.set(b, "input", || Ok(of_a))?;
                grads.set(b, "tau", || Ok(of_tau))?;
            }
            Ok(grads)
        });
    b.op("orgqr(Tensor self, Tensor input2) -> Tensor", Rule::Composite(|c| aten!("linalg_householder_product", &c.args[0], &c.args[1])))
        .doc("The matrix that reflectors make.")
        .autocast(CastPolicy::Fp32);
    b.op("ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", Rule::Fresh(ormqr_spec))
        .doc("A matrix multiplied by what reflectors make.")
        .autocast(CastPolicy::Fp32)
        .grad("OrmqrBackward", &["self", "input2", "input3", "result"], ormqr_grad);
}

fn check_factors(a: &Tensor, tau: &Tensor, name: &str, rows: &SymInt) -> Result<()> {
    let n = a.dim();
    super::shapes::dim_of(tau, -1)?;
    if a.size(n - 1).sym_lt(tau.size(tau.dim() - 1))? {
        return Err(Error::runtime(format!("{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")));
    }
    if rows.sym_lt(tau.size(tau.dim() - 1))? {
        return Err(Error::runtime(format!("{name}: other.shape[-2] must be greater than or equal to tau.shape[-1]")));
    }
    if tau.dim() + 1 != n {
        return Err(Error::runtime(format!(
            "{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {} and input.ndim is equal to {n}",
            tau.dim()
        )));
    }
    if !super::shapes::may_be_same(&tau.sizes()[..n - 2], &a.sizes()[..n - 2]) {
        return Err(Error::runtime(format!(
            "{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {:?}",
            &tau.sizes()[..n - 2]
        )));
    }
    Ok(())
}

fn product_spec(c: &Call) -> Specs {
    let (a, tau) = (c.tensor("input")?, c.tensor("tau")?);
    let name = "torch.linalg.householder_product";
    if a.dim() < 2 {
        return Err(Error::runtime(format!("{name}: input must have at least 2 dimensions.")));
    }
    check_matrix(a, name)?;
    let (rows, cols) = (a.size(a.dim() - 2), a.size(a.dim() - 1));
    if rows.sym_lt(cols.clone())? {
        return Err(Error::runtime(format!("{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")));
    }
    check_factors(a, tau, name, &rows)?;
    if tau.dtype() != a.dtype() {
        return Err(Error::runtime(format!(
            "{name}: tau dtype {} does not match input dtype {}",
            tau.dtype().scalar_type(),
            a.dtype().scalar_type()
        )));
    }
    Ok(vec![Some(columns(a.sizes(), a.dtype(), a))])
}

fn ormqr_spec(c: &Call) -> Specs {
    let (a, tau, other) = (c.tensor("self")?, c.tensor("input2")?, c.tensor("input3")?);
    check_matrix(a, "torch.ormqr")?;
    check_matrix(other, "torch.ormqr")?;
    if other.dim() != a.dim() {
        return Err(Error::runtime(format!(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim equal to {} and input.ndim is equal to {}",
            other.dim(),
            a.dim()
        )));
    }
    for (name, x) in [("tau", tau), ("other", other)] {
        if x.dtype() != a.dtype() {
            return Err(Error::runtime(format!(
                "torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype{} and {name} has dtype {}",
                a.dtype().scalar_type(),
                x.dtype().scalar_type()
            )));
        }
    }
    let batch = a.sizes()[..a.dim() - 2].to_vec();
    if !super::shapes::may_be_same(&batch, &other.sizes()[..a.dim() - 2]) {
        return Err(Error::runtime(format!(
            "torch.ormqr: Expected batch dimensions of other to be equal to input.shape[:-2], but got {:?}",
            &other.sizes()[..a.dim() - 2]
        )));
    }
    let side = if c.bool("left")? { 2 } else { 1 };
    let rows = other.size(other.dim() - side);
    if !rows.sym_eq(a.size(a.dim() - 2))? {
        return Err(Error::runtime(format!("torch.ormqr: other.shape[-{side}] must be equal to input.shape[-2]")));
    }
    check_factors(a, tau, "torch.ormqr", &rows)?;
    Ok(vec![Some(columns(other.sizes(), other.dtype(), other))])
}

/// Gradients of reflectors and their factors, of `result`, a product of all of them (`last_first`: of their inverses) with something
/// else. `None` where there are none.
///
/// Between the reflectors that come before one and those that come after stands the sensitivity of the result to that one alone. It
/// begins as the product of result and gradient, and moves past one reflector after the other: by its inverse on one side, by itself
/// on the other.
fn reflectors_grad(grad: &Tensor, result: &Tensor, a: &Tensor, tau: &Tensor, last_first: bool) -> Result<Option<(Tensor, Tensor)>> {
    if a.numel().sym_eq(0)? || tau.numel().sym_eq(0)? {
        return Ok(None);
    }
    let (rows, count) = (a.size(a.dim() - 2), tau.size(tau.dim() - 1).guard_int()?);
    let slice = |x: &Tensor, dim: i64, from: i64, to: SymInt| t!("slice.Tensor", x, dim, from, to);
    let unit = t!("tril", a, -1)?;
    t!("fill_.Scalar", t!("diagonal", &unit, 0, -2, -1)?, 1.0)?;
    let used = slice(&unit, -1, 0, count.into())?;
    let squares = t!("sum.dim_IntList", t!("mul.Tensor", &used, &used)?, vec![-2i64])?;
    let inverse_factors = t!("div.Tensor", tau, t!("sub.Scalar", t!("mul.Tensor", tau, squares)?, 1.0)?)?;
    let vector = |i: i64| slice(&slice(&unit, -1, i, (i + 1).into())?, -2, i, rows.clone());
    let factor = |factors: &Tensor, i: i64| t!("unsqueeze", slice(factors, -1, i, (i + 1).into())?, -1);
    let mut between = if last_first { t!("matmul", grad, mt(result)?)? } else { t!("matmul", result, mt(grad)?)? };
    // Moves one reflector: what is above it, or left of it, stays.
    let moved = |x: &Tensor, i: i64, factors: &Tensor, left: bool| {
        let (v, dim) = (vector(i)?, if left { -2 } else { -1 });
        let scaled = t!("mul.Tensor", factor(factors, i)?, &v)?;
        let part = slice(x, dim, i, rows.clone())?;
        let change = match left {
            true => t!("mul.Tensor", scaled, t!("matmul", mt(&v)?, &part)?)?,
            false => t!("mul.Tensor", t!("matmul", &part, scaled)?, mt(&v)?)?,
        };
        let part = t!("sub.Tensor", part, change)?;
        if i == 0 { Ok(part) } else { t!("cat", vec![slice(x, dim, 0, i.into())?, part], dim) }
    };
    let order: Vec<i64> = if last_first { (0..count).rev().collect() } else { (0..count).collect() };
    let (mut columns, mut factors) = (vec![Value::None; count as usize], vec![Value::None; count as usize]);
    between = moved(&between, order[0], &inverse_factors, !last_first)?;
    for (step, &i) in order.iter().enumerate() {
        let (v, own) = (vector(i)?, factor(tau, i)?);
        let across = t!("matmul", mt(&v)?, slice(&between, -2, i, rows.clone())?)?;
        let down = t!("matmul", slice(&between, -1, i, rows.clone())?, &v)?;
        let first = t!("squeeze.dim", t!("mul.Tensor", &own, down)?, -1)?;
        let second = t!("squeeze.dim", t!("mul.Tensor", t!("neg", &own)?, &across)?, -2)?;
        columns[i as usize] = t!("unsqueeze", t!("sub.Tensor", second, first)?, -1)?.into();
        let both = t!("matmul", slice(&across, -1, i, rows.clone())?, &v)?;
        factors[i as usize] = t!("squeeze.dim", t!("neg", both)?, -1)?.into();
        if let Some(&next) = order.get(step + 1) {
            between = moved(&between, next, &inverse_factors, !last_first)?;
            between = moved(&between, i, tau, last_first)?;
        }
    }
    let rest = a.size(a.dim() - 1).guard_int()? - count;
    if rest > 0 {
        columns.push(t!("zeros_like", t!("narrow", a, -1, count, rest)?)?.into());
    }
    let columns = t!("tril", t!("cat", Value::List(columns), -1)?, -1)?;
    Ok(Some((columns, t!("cat", Value::List(factors), -1)?)))
}

fn ormqr_grad(b: &Backward) -> Result<Grads> {
    let (a, tau, grad) = (b.saved("self")?, b.saved("input2")?, b.grad()?);
    let (left, transpose) = (b.arg("left").bool()?, b.arg("transpose").bool()?);
    let mut grads = Grads::new(b);
    grads.set(b, "input3", || t!("ormqr", a, tau, grad, left, !transpose))?;
    if !b.needs("self") && !b.needs("input2") {
        return Ok(grads);
    }
    // From the right, the transposed product is reflected from the left the other way round.
    let turned = |x: &Tensor| if left { Ok(x.clone()) } else { mt(x) };
    if let Some((of_a, of_tau)) = reflectors_grad(&turned(grad)?, &turned(b.result(0)?)?, a, tau, left == transpose)? {
        grads.set(b, "self", || Ok(of_a))?;
        grads.set(b, "input2", || Ok(of_tau))?;
    }
    Ok(grads)
}
