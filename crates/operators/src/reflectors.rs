//! Householder reflectors: a product of `I - tau v v^T`, kept as the vectors below a matrix's diagonal and their factors.

use super::linalg::{Specs, check_matrix, columns, mt, plain};
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, CastPolicy, Grads, OpBuilder, Rule, Value};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Layout, Tensor};

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
        .grad("LinalgHouseholderProductBackward", &["input", "tau"], |b| {
            let (a, tau) = (b.saved("input")?, b.saved("tau")?);
            // A product of no reflectors depends on nothing.
            if tau.numel().sym_eq(0)? {
                return Ok(Grads::new(b));
            }
            let (rows, cols) = (a.size(a.dim() - 2), a.size(a.dim() - 1));
            let eye = t!("eye.m", rows, cols; dtype = a.dtype(), layout = Value::Layout(Layout::Strided), device = a.device())?;
            let found = through(a, tau, &eye, b.grad()?, false)?;
            let mut grads = Grads::new(b);
            grads.set(b, "input", || Ok(found.vectors))?;
            grads.set(b, "tau", || Ok(found.factors))?;
            Ok(grads)
        });
    b.op("orgqr(Tensor self, Tensor input2) -> Tensor", Rule::Composite(|c| aten!("linalg_householder_product", &c.args[0], &c.args[1])))
        .doc("The matrix that reflectors make.")
        .autocast(CastPolicy::Fp32);
    b.op("ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", Rule::Fresh(ormqr_spec))
        .doc("A matrix multiplied by what reflectors make.")
        .autocast(CastPolicy::Fp32)
        .grad("OrmqrBackward", &["self", "input2", "input3"], ormqr_grad);
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

/// What a gradient through a row of reflections comes to.
struct Through {
    vectors: Tensor,
    factors: Tensor,
    start: Tensor,
}

/// Gradients of reflecting `start` by all reflectors, last to first, or, `forwards`, first to last.
fn through(a: &Tensor, tau: &Tensor, start: &Tensor, grad: &Tensor, forwards: bool) -> Result<Through> {
    let (rows, count) = (a.size(a.dim() - 2), tau.size(tau.dim() - 1).guard_int()?);
    let eye = t!("eye.m", rows, a.size(a.dim() - 1); dtype = a.dtype(), layout = Value::Layout(Layout::Strided), device = a.device())?;
    let unit = t!("add.Tensor", t!("tril", a, -1)?, eye)?;
    let vector = |i: i64| t!("narrow", &unit, -1, i, 1);
    let factor = |i: i64| t!("unsqueeze", t!("narrow", tau, -1, i, 1)?, -1);
    let order: Vec<i64> = if forwards { (0..count).collect() } else { (0..count).rev().collect() };
    let reflect = |x: &Tensor, i: i64| {
        let v = vector(i)?;
        let along = t!("matmul", mt(&v)?, x)?;
        t!("sub.Tensor", x, t!("mul.Tensor", factor(i)?, t!("matmul", v, along)?)?)
    };
    let mut states = vec![start.clone()];
    for i in &order {
        let next = reflect(&states[states.len() - 1], *i)?;
        states.push(next);
    }
    let mut g = grad.clone();
    let (mut columns, mut factors) = (vec![Value::None; count as usize], vec![Value::None; count as usize]);
    for (x, i) in states.iter().zip(&order).rev() {
        let (v, scale) = (vector(*i)?, factor(*i)?);
        let (along, of_grad) = (t!("matmul", mt(&v)?, x)?, t!("matmul", mt(&v)?, &g)?);
        let both = t!("sum.dim_IntList", t!("mul.Tensor", &along, &of_grad)?, vec![-1i64])?;
        factors[*i as usize] = t!("neg", both)?.into();
        let moved = t!("add.Tensor", t!("matmul", &g, mt(&along)?)?, t!("matmul", x, mt(&of_grad)?)?)?;
        columns[*i as usize] = t!("neg", t!("mul.Tensor", scale, moved)?)?.into();
        g = reflect(&g, *i)?;
    }
    let rest = a.size(a.dim() - 1).guard_int()? - count;
    if rest > 0 {
        columns.push(t!("zeros_like", t!("narrow", a, -1, count, rest)?)?.into());
    }
    let joined =
        |parts: Vec<Value>, like: &Tensor| if parts.is_empty() { t!("zeros_like", like) } else { t!("cat", Value::List(parts), -1) };
    Ok(Through { vectors: t!("tril", joined(columns, a)?, -1)?, factors: joined(factors, tau)?, start: g })
}

fn ormqr_grad(b: &Backward) -> Result<Grads> {
    let (a, tau, other) = (b.saved("self")?, b.saved("input2")?, b.saved("input3")?);
    let (left, transpose) = (b.arg("left").bool()?, b.arg("transpose").bool()?);
    // From the right, the transposed product is reflected from the left the other way round.
    let turned = |x: &Tensor| if left { Ok(x.clone()) } else { mt(x) };
    let found = through(a, tau, &turned(other)?, &turned(b.grad()?)?, left == transpose)?;
    let mut grads = Grads::new(b);
    grads.set(b, "self", || Ok(found.vectors))?;
    grads.set(b, "input2", || Ok(found.factors))?;
    grads.set(b, "input3", || turned(&found.start))?;
    Ok(grads)
}
