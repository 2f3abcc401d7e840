//! `torch.linalg`: the LU factorization in its several forms, with derivatives. A = P L U.

use super::linalg::{Specs, check_info, check_matrix, columns, mh, plain};
use diagnostics::error::{Error, Result};
use dispatch::{Backward, CastPolicy, Grads, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
        Rule::Fresh(|c| {
            let a = c.tensor("A")?;
            check_matrix(a, "torch.lu_factor")?;
            let (lead, m, n) = shape(a);
            let (sizes, k) = (a.sizes(), m.min(&n));
            let mut rows = sizes[..lead].to_vec();
            rows.push(k);
            Ok(vec![Some(columns(sizes.clone(), a.dtype(), a)), plain(&rows, Dtype::Int32, a), plain(&sizes[..lead], Dtype::Int32, a)])
        }),
    )
    .tags(Tags::COMPLEX_GRAD)
    .grad("LinalgLuFactorExBackward", &["result", "result1"], |b| {
        let (lu, pivots, grad) = (b.result(0)?, b.result(1)?, b.grad()?);
        Grads::one(b, "A", || {
            let parts = aten!("lu_unpack", lu, pivots, true, b.arg("pivot"))?.tensors()?;
            let (_, m, n) = shape(lu);
            let k = m.min(&n);
            let of_l = t!("narrow", grad, -1, 0, k.clone())?;
            let of_u = t!("narrow", grad, -2, 0, k)?;
            factor_grad(Some(t!("tril", of_l, -1)?), Some(t!("triu", of_u)?), &parts[0], &parts[1], &parts[2], b.arg("pivot").bool()?)
        })
    })
    .indices_without_grad(&[1, 2]);
    b.op(
        "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
        Rule::Composite(|c| {
            let results = aten!("linalg_lu_factor_ex", &c.args[0]; pivot = c.get("pivot"))?.tensors()?;
            check_info(&results[2], "torch.linalg.lu_factor", c.tensor("A")?)?;
            Ok(Value::List(results[..2].iter().cloned().map(Value::from).collect()))
        }),
    )
    .doc("The LU factorization in one matrix, with pivots.");
    b.op(
        "_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)",
        Rule::Composite(|c| aten!("linalg_lu_factor_ex", &c.args[0]; pivot = c.get("pivot"), check_errors = c.get("check_errors"))),
    )
    .autocast(CastPolicy::Fp32);
    b.op(
        "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
        Rule::Fresh(|c| {
            check_matrix(c.tensor("A")?, "linalg.lu")?;
            parts_spec(c.tensor("A")?, c.bool("pivot")?)
        }),
    )
    .tags(Tags::COMPLEX_GRAD)
    .doc("The factors P, L and U.")
    .grad("LinalgLuBackward", &["result", "result1", "result2"], |b| {
        let (of_l, of_u) = (given(b, 1), given(b, 2));
        Grads::one(b, "A", || factor_grad(of_l, of_u, b.result(0)?, b.result(1)?, b.result(2)?, b.arg("pivot").bool()?))
    })
    .indices_without_grad(&[0]);
    b.op(
        "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
        Rule::Fresh(|c| {
            if c.bool("unpack_pivots")? && c.tensor("LU_pivots")?.dtype() != Dtype::Int32 {
                return Err(Error::runtime(
                    "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function is intended to be used with the output produced by torch.linalg.lu_factor",
                ));
            }
            let (data, pivots) = (c.tensor("LU_data")?, c.tensor("LU_pivots")?);
            let mut specs = parts_spec(data, c.bool("unpack_pivots")?)?;
            let (lead, m, n) = shape(data);
            let expected = [&data.sizes()[..lead], &[m.min(&n)]].concat();
            if c.bool("unpack_pivots")? && !super::shapes::may_be_same(&pivots.sizes(), &expected) {
                return Err(Error::value(format!(
                    "Expected LU_pivots to have shape {expected:?} but got {:?} instead.",
                    pivots.sizes()
                )));
            }
            if !c.bool("unpack_data")? {
                let lu = c.tensor("LU_data")?;
                specs[1] = plain(&[SymInt::Int(0)], lu.dtype(), lu);
                specs[2] = specs[1].clone();
            }
            Ok(specs)
        }),
    ).tags(Tags::COMPLEX_GRAD).doc("The factors P, L and U of an LU factorization.")
    .grad("LuUnpackBackward", &[], |b| {
        let (of_l, of_u, sizes) = (given(b, 1), given(b, 2), b.sizes("LU_data")?);
        Grads::one(b, "LU_data", || {
            let (m, n) = (&sizes[sizes.len() - 2], &sizes[sizes.len() - 1]);
            let wider = |x: Tensor, dim: i64, by: SymInt| -> Result<Tensor> {
                let pad = by.guard_int()?;
                if pad == 0 { Ok(x) } else { t!("constant_pad_nd", x, if dim == -1 { vec![0, pad] } else { vec![0, 0, 0, pad] }) }
            };
            let k = m.min(n);
            let lower = of_l.map(|g| wider(t!("tril", g, -1)?, -1, n - &k)).transpose()?;
            let upper = of_u.map(|g| wider(t!("triu", g)?, -2, m - &k)).transpose()?;
            sum(lower, upper)
        })
    })
    .indices_without_grad(&[0]);
    b.op(
        "lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
        Rule::Composite(|c| aten!("linalg_lu_solve", &c.args[1], &c.args[2], &c.args[0])),
    )
    .doc("Solves a system from its LU factorization.")
    .autocast(CastPolicy::Fp32);
    b.op(
        "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
        Rule::Composite(|c| {
            let all = aten!("_linalg_solve_ex", &c.args[0], &c.args[1]; left = c.get("left"))?;
            let all = all.list()?;
            Ok(Value::List(vec![all[0].clone(), all[3].clone()]))
        }),
    );
    b.at("linalg_lu_solve").grad("LinalgLuSolveBackward", &["LU", "pivots", "result"], solve_grad);
}

fn shape(a: &Tensor) -> (usize, SymInt, SymInt) {
    let lead = a.dim() - 2;
    (lead, a.size(lead), a.size(lead + 1))
}

fn given(b: &Backward, index: usize) -> Option<Tensor> {
    b.grads.get(index).cloned().flatten()
}

fn sum(a: Option<Tensor>, b: Option<Tensor>) -> Result<Tensor> {
    match (a, b) {
        (Some(a), Some(b)) => t!("add.Tensor", a, b),
        (Some(one), None) | (None, Some(one)) => Ok(one),
        (None, None) => Err(Error::runtime("LU: no gradient came")),
    }
}

fn parts_spec(a: &Tensor, pivot: bool) -> Specs {
    check_matrix(a, "torch.lu_unpack")?;
    let (lead, m, n) = shape(a);
    let (sizes, k) = (a.sizes(), m.min(&n));
    let with = |rows: &SymInt, cols: &SymInt| {
        let mut s = sizes[..lead].to_vec();
        s.extend([rows.clone(), cols.clone()]);
        s
    };
    let p = if pivot { plain(&with(&m, &m), a.dtype(), a) } else { plain(&[SymInt::Int(0)], a.dtype(), a) };
    Ok(vec![p, plain(&with(&m, &k), a.dtype(), a), plain(&with(&k, &n), a.dtype(), a)])
}

/// Solves with a triangular factor's transpose: `T^-T x` or, from the right, `x T^-T`.
fn against(factor: &Tensor, x: Tensor, upper: bool, left: bool) -> Result<Tensor> {
    t!("linalg_solve_triangular", mh(factor)?, x; upper = !upper, left = left, unitriangular = !upper)
}

/// The gradient of A from those of the factors.
fn factor_grad(of_l: Option<Tensor>, of_u: Option<Tensor>, p: &Tensor, l: &Tensor, u: &Tensor, pivot: bool) -> Result<Tensor> {
    let (m, n) = (l.size(l.dim() - 2), u.size(u.dim() - 1));
    let k = m.min(&n);
    let head = |x: &Tensor, dim: i64| t!("narrow", x, dim, 0, k.clone());
    let tail = |x: &Tensor, dim: i64, size: &SymInt| t!("narrow", x, dim, k.clone(), size - &k);
    let (wide, tall) = (m.sym_lt(n.clone())?, n.sym_lt(m.clone())?);
    let (l1, u1) = (head(l, -2)?, head(u, -1)?);
    let mut lower = of_l.as_ref().map(|g| t!("matmul", mh(&l1)?, head(g, -2)?)).transpose()?;
    let mut upper = of_u.as_ref().map(|g| t!("matmul", head(g, -1)?, mh(&u1)?)).transpose()?;
    // What a factor has beyond the square part also moves the square part.
    if wide && let Some(g) = &of_u {
        let cross = t!("neg", t!("matmul", tail(g, -1, &n)?, mh(&tail(u, -1, &n)?)?)?)?;
        lower = Some(sum(lower, Some(cross))?);
    }
    if tall && let Some(g) = &of_l {
        let cross = t!("neg", t!("matmul", mh(&tail(l, -2, &m)?)?, tail(g, -2, &m)?)?)?;
        upper = Some(sum(upper, Some(cross))?);
    }
    let lower = lower.map(|x| t!("tril", x, -1)).transpose()?;
    let upper = upper.map(|x| t!("triu", x)).transpose()?;
    let inner = against(&u1, sum(lower, upper)?, true, false)?;
    let mut whole = against(&l1, inner, false, true)?;
    if wide {
        let rest = match &of_u {
            Some(g) => against(&l1, tail(g, -1, &n)?, false, true)?,
            None => t!("zeros_like", tail(u, -1, &n)?)?,
        };
        whole = aten!("cat", Value::List(vec![whole.into(), rest.into()]), -1)?.into_tensor()?;
    }
    if tall {
        let rest = match &of_l {
            Some(g) => against(&u1, tail(g, -2, &m)?, true, false)?,
            None => t!("zeros_like", tail(l, -2, &m)?)?,
        };
        whole = aten!("cat", Value::List(vec![whole.into(), rest.into()]), -2)?.into_tensor()?;
    }
    if pivot { t!("matmul", p, whole) } else { Ok(whole) }
}

/// Of `X = op(A)^-1 B` (or from the right), with A given by its factors.
fn solve_grad(b: &Backward) -> Result<Grads> {
    let (lu, pivots, grad, x) = (b.saved("LU")?, b.saved("pivots")?, b.grad()?, b.result(0)?);
    let (left, adjoint) = (b.arg("left").bool()?, b.arg("adjoint").bool()?);
    let mut grads = Grads::new(b);
    grads.set(b, "B", || t!("linalg_lu_solve", lu, pivots, grad; left = left, adjoint = !adjoint))?;
    grads.set(b, "LU", || {
        // From the right, the transposed system is solved from the left.
        let (x, g) = if left { (x.clone(), grad.clone()) } else { (mh(x)?, mh(grad)?) };
        let parts = aten!("lu_unpack", lu, pivots)?.tensors()?;
        let (p, l, u) = (&parts[0], &parts[1], &parts[2]);
        let (of_l, of_u) = if adjoint == left {
            let z = t!("matmul", mh(p)?, x)?;
            let inner = t!("linalg_solve_triangular", l, t!("matmul", mh(p)?, g)?; upper = false, unitriangular = true)?;
            let outer = t!("linalg_solve_triangular", u, &inner; upper = true)?;
            (t!("matmul", &z, mh(&inner)?)?, t!("matmul", t!("matmul", mh(l)?, z)?, mh(&outer)?)?)
        } else {
            let inner = against(u, g, true, true)?;
            let outer = against(l, inner.clone(), false, true)?;
            (t!("matmul", outer, mh(&t!("matmul", u, &x)?)?)?, t!("matmul", inner, mh(&x)?)?)
        };
        t!("neg", t!("add.Tensor", t!("tril", of_l, -1)?, t!("triu", of_u)?)?)
    })?;
    Ok(grads)
}
