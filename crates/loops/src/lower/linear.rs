//! Products of matrices and vectors.

use super::rule::{Lower, Rule};
use crate::language::{Combine, Loop, Ty, View, X, coord, over, scalar};
use diagnostics::error::{Error, Result};

/// Lowerings by operator name.
pub const RULES: &[(&str, Rule)] = &[
    ("aten.mm.default", |l| product(l, "self", "mat2")),
    ("aten.bmm.default", |l| product(l, "self", "mat2")),
    ("aten.mv.default", |l| product(l, "self", "vec")),
    ("aten.dot.default", |l| product(l, "self", "tensor")),
    ("aten.addmm.default", |l| added(l, "mat1", "mat2")),
    ("aten.baddbmm.default", |l| added(l, "batch1", "batch2")),
    ("aten.addmv.default", |l| added(l, "mat", "vec")),
    ("aten.addr.default", outer),
    ("aten.linear.default", linear),
];

/// Fills `out` with the product of two regions: matrix by matrix (batched or not), matrix by vector, vector by vector.
pub fn multiply(l: &mut Lower, out: &View, a: &View, b: &View) -> Result<()> {
    let ty = Ty::of(out.dtype).unwrap_or(Ty::Float);
    let k = *a.sizes.last().ok_or_else(|| Error::not_implemented("a product of scalars"))?;
    let (left, right, batch, rows) = match (a.dim(), b.dim()) {
        (1, 1) => (a.at(vec![over(0)]), b.at(vec![over(0)]), 0, 0),
        (2, 1) => (a.at(vec![coord(0), over(0)]), b.at(vec![over(0)]), 0, 1),
        (2, 2) => (a.at(vec![coord(0), over(0)]), b.at(vec![over(0), coord(1)]), 0, 1),
        (3, 3) => (a.at(vec![coord(0), coord(1), over(0)]), b.at(vec![coord(0), over(0), coord(2)]), 1, 1),
        _ => return Err(Error::not_implemented("a product of these ranks")),
    };
    if ty == Ty::Float && out.dim() >= 2 {
        l.b.emit(out, Loop::Matmul { over: vec![k], batch, rows, a: left.f(), b: right.f() });
    } else {
        l.reduce(out, vec![k], Combine::Sum, left.cast(ty) * right.cast(ty));
    }
    Ok(())
}

fn product(l: &mut Lower, a: &str, b: &str) -> Result<()> {
    let (a, b, out) = (l.view(a)?, l.view(b)?, l.out(0)?);
    multiply(l, &out, &a, &b)
}

fn scaled(l: &Lower, x: X, name: &str) -> Result<X> {
    let factor = scalar(l.call.get(name))?.cast(x.ty());
    Ok(if l.call.float(name)? == 1.0 { x } else { x * factor })
}

fn added(l: &mut Lower, a: &str, b: &str) -> Result<()> {
    let (a, b, out) = (l.view(a)?, l.view(b)?, l.out(0)?);
    let dtype = if out.dtype.is_floating() { tensor::Dtype::Float32 } else { out.dtype };
    let made = l.b.temp(&out.sizes, dtype);
    multiply(l, &made, &a, &b)?;
    let value = scaled(l, made.here(), "alpha")?;
    if l.call.float("beta")? == 0.0 {
        l.b.pointwise(&out, value);
        return Ok(());
    }
    let bias = l.as_out("self")?;
    let bias = scaled(l, bias, "beta")?;
    l.b.pointwise(&out, bias + value);
    Ok(())
}

fn outer(l: &mut Lower) -> Result<()> {
    let (a, b, out) = (l.view("vec1")?, l.view("vec2")?, l.out(0)?);
    let ty = Ty::of(out.dtype).unwrap_or(Ty::Float);
    let value = a.at(vec![coord(0)]).cast(ty) * b.at(vec![coord(1)]).cast(ty);
    let value = scaled(l, value, "alpha")?;
    let x = l.as_out("self")?;
    let x = scaled(l, x, "beta")?;
    l.b.pointwise(&out, x + value);
    Ok(())
}

/// `input @ weight.T + bias`, of an input of any rank.
fn linear(l: &mut Lower) -> Result<()> {
    let (x, w, out) = (l.view("input")?, l.view("weight")?, l.out(0)?);
    super::rule::floats_only(&x)?;
    if w.dim() != 2 || x.dim() == 0 {
        return Err(Error::not_implemented("a weight that is no matrix"));
    }
    let rows = x.dim() - 1;
    let mut index: Vec<X> = (0..rows).map(coord).collect();
    index.push(over(0));
    let (a, b) = (x.at(index).f(), w.at(vec![coord(rows), over(0)]).f());
    let made = l.temp(&out.sizes);
    l.b.emit(&made, Loop::Matmul { over: vec![w.sizes[1]], batch: 0, rows, a, b });
    let value = match l.opt_view("bias")? {
        Some(bias) => made.here() + bias.at(vec![coord(rows)]).f(),
        None => made.here(),
    };
    l.b.pointwise(&out, value);
    Ok(())
}
