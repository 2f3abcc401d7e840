//! `torch.linalg`: the factorization of symmetric matrices that need not be definite, A = L D L^T with blocks of one or two rows in D.

use super::linalg::{check_matrix, check_squares, columns, plain};
use super::shapes::{broadcast_two, dim_of, may_be_same};
use diagnostics::error::{Error, Result};
use dispatch::{Call, OpBuilder, Rule, Value};
use dispatch::{aten, t};
use tensor::{Dtype, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
        Rule::Fresh(|c| {
            let (a, name) = (c.tensor("self")?, "torch.linalg.ldl_factor_ex");
            check_matrix(a, name)?;
            check_squares(a, name)?;
            let (sizes, lead) = (a.sizes(), a.dim() - 2);
            let (rows, batch) = (&sizes[..=lead], &sizes[..lead]);
            Ok(vec![Some(columns(sizes.clone(), a.dtype(), a)), plain(rows, Dtype::Int32, a), plain(batch, Dtype::Int32, a)])
        }),
    )
    .indices_without_grad(&[1, 2]);
    b.op(
        "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
        Rule::Composite(|c| {
            let results = aten!("linalg_ldl_factor_ex", &c.args[0]; hermitian = c.get("hermitian"))?.tensors()?;
            let info = &results[2];
            if !info.is_fake() && info.numel().as_int() != Some(0) {
                let code = aten!("_local_scalar_dense", t!("max", info)?)?.int()?;
                if code != 0 {
                    return Err(Error::runtime(format!("torch.linalg.ldl_factor: Unknown error code: {code}.")));
                }
            }
            Ok(Value::List(results[..2].iter().cloned().map(Value::from).collect()))
        }),
    )
    .doc("The factors L and D of symmetric matrices in one, with pivots.");
    b.op("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor", Rule::Fresh(solve_spec))
        .doc("Solves systems by their factors L and D.");
}

fn solve_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (ld, pivots, rhs, name) = (c.tensor("LD")?, c.tensor("pivots")?, c.tensor("B")?, "torch.linalg.ldl_solve");
    let rows = rhs.size(dim_of(rhs, -2)?);
    if rhs.dtype() != ld.dtype() {
        return Err(Error::runtime(format!(
            "Expected b and A to have the same dtype, but found b of type {} and A of type {} instead.",
            rhs.dtype().scalar_type(),
            ld.dtype().scalar_type()
        )));
    }
    check_matrix(ld, name)?;
    check_squares(ld, name)?;
    let (n, m) = (ld.dim(), rhs.dim());
    if !rows.sym_eq(ld.size(n - 1))? {
        let (size, columns) = (ld.size(n - 1), rhs.size(m - 1));
        return Err(Error::runtime(format!(
            "Incompatible matrix sizes for {name}: each A matrix is {size} by {size} but each b matrix is {rows} by {columns}"
        )));
    }
    if !may_be_same(&pivots.sizes(), &ld.sizes()[..n - 1]) {
        return Err(Error::runtime(format!(
            "{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape {:?} instead",
            pivots.sizes()
        )));
    }
    if !pivots.dtype().is_integral() || pivots.dtype() == Dtype::Bool {
        return Err(Error::runtime(format!("{name}: Expected pivots to be integers. Got {}", pivots.dtype().scalar_type())));
    }
    let mut sizes = broadcast_two(&ld.sizes()[..n - 2], &rhs.sizes()[..m - 2])?;
    sizes.extend(rhs.sizes()[m - 2..].iter().cloned());
    Ok(vec![Some(columns(sizes, rhs.dtype(), rhs))])
}
