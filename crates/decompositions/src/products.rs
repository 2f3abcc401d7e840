//! Matrix products: small ones are written as sums.

use super::expr::*;
use super::table::{Decomposed, Table};
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Call, Value, add_sizes, ask_numel, compare_sizes, counted};
use shape::{Relation, SymInt};
use tensor::{MemoryFormat, Tensor};

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

/// Whether a size is known to be so, whatever the symbols stand for.
fn surely(x: &Tensor, dim: usize, relation: Relation, bound: i64) -> Result<bool> {
    let (size, bound) = (x.size(dim), bound.into());
    compare_sizes(&size, relation, &bound)?;
    Ok(size.decide(relation, &bound) == Some(true))
}

fn is_one(x: &Tensor, dim: usize) -> Result<bool> {
    surely(x, dim, Relation::Eq, 1)
}

/// Whether a number is at most so; guards.
fn at_most(number: &SymInt, bound: i64) -> Result<bool> {
    compare_sizes(number, Relation::Le, &bound.into())?;
    number.holds_or(Relation::Le, &bound.into(), false)
}

/// How many elements two tensors have.
fn elements(a: &Tensor, b: &Tensor) -> Result<SymInt> {
    ask_numel(a)?;
    ask_numel(b)?;
    add_sizes(&counted(&a.sizes()), &counted(&b.sizes()))
}

/// A row times a column, as a matrix of one element.
fn inner(row: &Tensor, column: &Tensor) -> Result<Tensor> {
    let product = mul(t!("squeeze.dim", row, 0)?, t!("squeeze.dim", column, -1)?)?;
    t!("unsqueeze", sum(&product, vec![0i64], true)?, 0)
}

fn mm(c: &Call) -> Decomposed {
    let (a, b) = (c.tensor("self")?, c.tensor("mat2")?);
    let is_outer = is_one(a, 1)? && surely(a, 0, Relation::Ne, 1)? && surely(b, 1, Relation::Ne, 1)?;
    let is_whole = is_outer && surely(a, 0, Relation::Gt, 0)? && is_one(b, 0)? && a.dtype() == b.dtype();
    if is_whole && at_most(&elements(a, b)?, 32)? {
        return done(mul(a, b)?);
    }
    if is_one(a, 0)? && is_one(b, 1)? { done(inner(a, b)?) } else { Ok(None) }
}

fn bmm(c: &Call) -> Decomposed {
    let (a, b) = (c.tensor("self")?, c.tensor("mat2")?);
    if is_one(a, 2)? && is_one(b, 1)? {
        return done(contiguous(&mul(a, b)?, MemoryFormat::Contiguous)?);
    }
    if is_one(a, 1)? && is_one(b, 2)? {
        let product = mul(t!("squeeze.dim", a, 1)?, t!("squeeze.dim", b, -1)?)?;
        return done(t!("unsqueeze", sum(&product, vec![1i64], true)?, 1)?);
    }
    Ok(None)
}

fn addmm(c: &Call) -> Decomposed {
    let (bias, a, b) = (c.tensor("self")?, c.tensor("mat1")?, c.tensor("mat2")?);
    let product = if is_one(a, 0)? && is_one(b, 1)? {
        inner(a, b)?
    } else if is_one(a, 0)? && at_most(&b.size(0), 16)? && at_most(&b.size(1), 16)? {
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
