//! Matrix products: small ones are written as sums.

use super::expr::*;
use super::{Decomposed, Table};
use crate::dispatch::{Call, Value};
use crate::error::Result;
use crate::t;
use crate::tensor::{MemoryFormat, Tensor};

/// Registers the rules.
pub fn register(table: &mut Table) {
    table.compute("aten.mm.default", mm);
    table.compute("aten.bmm.default", bmm);
    table.compute("aten.addmm.default", addmm);
    table.compute("aten.addmv.default", addmv);
    table.compute("aten.mv.default", |c| done(sum(&mul(c.tensor("self")?, c.tensor("vec")?)?, vec![1i64], false)?));
    table.add("aten.dot.default", |c| done(sum_all(&mul(c.tensor("self")?, c.tensor("tensor")?)?)?));
    table.add("aten.vdot.default", |c| done(sum_all(&mul(c.tensor("self")?, c.tensor("other")?)?)?));
    table.add("aten.addr.default", addr);
}

fn is(x: &Tensor, dim: usize, size: i64) -> bool {
    x.size(dim).as_int() == Some(size)
}

/// A row times a column, as a matrix of one element.
fn inner(row: &Tensor, column: &Tensor) -> Result<Tensor> {
    let product = mul(t!("squeeze.dim", row, 0)?, t!("squeeze.dim", column, -1)?)?;
    t!("unsqueeze", sum(&product, vec![0i64], true)?, 0)
}

fn mm(c: &Call) -> Decomposed {
    let (a, b) = (c.tensor("self")?, c.tensor("mat2")?);
    let few = || a.numel().as_int().zip(b.numel().as_int()).is_some_and(|(m, n)| m + n <= 32);
    // What is not known to be one is taken for larger only where it is known.
    let not_one = |x: &Tensor, d: usize| x.size(d).as_int().is_some_and(|n| n != 1);
    if is(a, 1, 1) && not_one(a, 0) && not_one(b, 1) && a.size(0).as_int() != Some(0) && is(b, 0, 1) && a.dtype() == b.dtype() && few() {
        return done(mul(a, b)?);
    }
    if is(a, 0, 1) && is(b, 1, 1) { done(inner(a, b)?) } else { Ok(None) }
}

fn bmm(c: &Call) -> Decomposed {
    let (a, b) = (c.tensor("self")?, c.tensor("mat2")?);
    if is(a, 2, 1) && is(b, 1, 1) {
        return done(contiguous(&mul(a, b)?, MemoryFormat::Contiguous)?);
    }
    if is(a, 1, 1) && is(b, 2, 1) {
        let product = mul(t!("squeeze.dim", a, 1)?, t!("squeeze.dim", b, -1)?)?;
        return done(t!("unsqueeze", sum(&product, vec![1i64], true)?, 1)?);
    }
    Ok(None)
}

fn addmm(c: &Call) -> Decomposed {
    let (bias, a, b) = (c.tensor("self")?, c.tensor("mat1")?, c.tensor("mat2")?);
    let product = if is(a, 0, 1) && is(b, 1, 1) {
        inner(a, b)?
    } else if is(a, 0, 1) && [0, 1].iter().all(|d| b.size(*d).as_int().is_some_and(|n| n <= 16)) {
        sum(&mul(t!("permute", a, vec![1i64, 0])?, b)?, vec![0i64], true)?
    } else {
        return Ok(None);
    };
    done(add(mul(product, c.get("alpha"))?, mul(bias, c.get("beta"))?)?)
}

fn addmv(c: &Call) -> Decomposed {
    let whole = |v: &Value, x: &Tensor| if x.dtype().is_floating() { v.clone() } else { Value::Int(v.int().unwrap_or(1).into()) };
    let (bias, matrix) = (c.tensor("self")?, c.tensor("mat")?);
    let product = mul(sum(&mul(matrix, c.tensor("vec")?)?, vec![1i64], false)?, whole(c.get("alpha"), bias))?;
    if c.get("beta").float()? == 0.0 {
        return done(product);
    }
    let bias = t!("expand", bias, product.sizes())?;
    done(add(product, mul(&bias, whole(c.get("beta"), &bias))?)?)
}

fn addr(c: &Call) -> Decomposed {
    let (x, column, row) = (c.tensor("self")?, c.tensor("vec1")?, c.tensor("vec2")?);
    if !x.dtype().is_floating() {
        return Ok(None);
    }
    let scaled = |alpha: &Value| mul(t!("outer", column, row)?, alpha);
    let x = t!("expand", x, vec![column.size(0), row.size(0)])?;
    if c.get("beta").float()? == 0.0 {
        return done(scaled(c.get("alpha"))?);
    }
    let first = mul(x, c.get("beta"))?;
    done(add(first, scaled(c.get("alpha"))?)?)
}
