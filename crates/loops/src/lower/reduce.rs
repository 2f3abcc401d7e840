//! Reductions over any dimensions, scans, softmax and its kin.

use super::rule::{Lower, Rule, wrap, wrap_all};
use crate::language::{Combine, Loop, Ty, View, X, coord, float, int, over};
use diagnostics::error::{Error, Result};
use dispatch::Value;
use tensor::Dtype;

/// Lowerings by operator name.
pub const RULES: &[(&str, Rule)] = &[
    ("aten.sum.default", |l| plain(l, Combine::Sum)),
    ("aten.sum.dim_IntList", |l| plain(l, Combine::Sum)),
    ("aten.prod.default", |l| plain(l, Combine::Prod)),
    ("aten.prod.dim_int", |l| plain(l, Combine::Prod)),
    ("aten.amax.default", |l| plain(l, Combine::Max)),
    ("aten.amin.default", |l| plain(l, Combine::Min)),
    ("aten.max.default", |l| plain(l, Combine::Max)),
    ("aten.min.default", |l| plain(l, Combine::Min)),
    ("aten.any.default", |l| truth(l, Combine::Max)),
    ("aten.any.dim", |l| truth(l, Combine::Max)),
    ("aten.any.dims", |l| truth(l, Combine::Max)),
    ("aten.all.default", |l| truth(l, Combine::Min)),
    ("aten.all.dim", |l| truth(l, Combine::Min)),
    ("aten.all.dims", |l| truth(l, Combine::Min)),
    ("aten.mean.default", mean),
    ("aten.mean.dim", mean),
    ("aten.argmax.default", |l| arg(l, Combine::ArgMax)),
    ("aten.argmin.default", |l| arg(l, Combine::ArgMin)),
    ("aten.max.dim", |l| extremum(l, Combine::ArgMax)),
    ("aten.min.dim", |l| extremum(l, Combine::ArgMin)),
    ("aten.var.correction", |l| variance(l, false)),
    ("aten.std.correction", |l| variance(l, true)),
    ("aten.var_mean.correction", |l| variance(l, false)),
    ("aten.std_mean.correction", |l| variance(l, true)),
    ("aten.linalg_vector_norm.default", |l| vector_norm(l, "ord")),
    ("aten.norm.Scalar", |l| vector_norm(l, "p")),
    ("aten.logsumexp.default", logsumexp),
    ("aten.cumsum.default", |l| scan(l, Combine::Sum)),
    ("aten.cumprod.default", |l| scan(l, Combine::Prod)),
    ("aten._softmax.default", softmax),
    ("aten._log_softmax.default", softmax),
    ("aten._softmax_backward_data.default", softmax_backward),
    ("aten._log_softmax_backward_data.default", log_softmax_backward),
];

/// The element of a region at the loop's coordinates in `dims` and the output's elsewhere, and the loop's sizes.
pub fn reduced(view: &View, dims: &[usize], keep: bool) -> (X, Vec<i64>) {
    let (mut next, mut sizes, mut index) = (0, Vec::new(), Vec::new());
    for d in 0..view.dim() {
        if dims.contains(&d) {
            index.push(over(sizes.len()));
            sizes.push(view.sizes[d]);
            next += usize::from(keep);
        } else {
            index.push(coord(next));
            next += 1;
        }
    }
    (view.at(index), sizes)
}

/// The dimensions a reduction's arguments name, and whether they stay with size one.
fn dims_of(l: &Lower, rank: usize) -> Result<(Vec<usize>, bool)> {
    let dims = match l.call.get("dim") {
        Value::None => (0..rank).collect(),
        other => wrap_all(other, rank)?,
    };
    let dims = if rank == 0 { Vec::new() } else { dims };
    Ok((dims, matches!(l.call.get("keepdim"), Value::Bool(true))))
}

/// Numbers in the type of the result.
fn plain(l: &mut Lower, combine: Combine) -> Result<()> {
    let ty = Ty::of(l.out(0)?.dtype).unwrap_or(Ty::Float);
    combined(l, combine, |body| body.cast(ty))
}

/// Whether elements are true, as integers.
fn truth(l: &mut Lower, combine: Combine) -> Result<()> {
    combined(l, combine, |body| body.b().i())
}

fn combined(l: &mut Lower, combine: Combine, read: impl Fn(X) -> X) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    let (dims, keep) = dims_of(l, x.dim())?;
    let (body, sizes) = reduced(&x, &dims, keep);
    let body = read(body);
    if sizes.iter().product::<i64>() == 0 && !matches!(combine, Combine::Sum | Combine::Prod) {
        return Err(Error::not_implemented("a reduction of no elements"));
    }
    l.reduce(&out, sizes, combine, body);
    Ok(())
}

fn mean(l: &mut Lower) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    let (dims, keep) = dims_of(l, x.dim())?;
    let (body, sizes) = reduced(&x, &dims, keep);
    let count = sizes.iter().product::<i64>();
    let sum = l.temp(&out.sizes);
    l.reduce(&sum, sizes, Combine::Sum, body.f());
    l.b.pointwise(&out, sum.here() / float(count as f64));
    Ok(())
}

fn arg(l: &mut Lower, combine: Combine) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    let (dims, keep) = dims_of(l, x.dim())?;
    let (body, sizes) = reduced(&x, &dims, keep);
    l.reduce(&out, sizes, combine, body);
    Ok(())
}

fn extremum(l: &mut Lower, combine: Combine) -> Result<()> {
    let (x, values, indices) = (l.view("self")?, l.out(0)?, l.out(1)?);
    let (dims, keep) = dims_of(l, x.dim())?;
    let (body, sizes) = reduced(&x, &dims, keep);
    l.reduce(&indices, sizes, combine, body);
    let mut next = 0;
    let mut index = Vec::new();
    for d in 0..x.dim() {
        if dims.contains(&d) {
            index.push(indices.here());
            next += usize::from(keep);
        } else {
            index.push(coord(next));
            next += 1;
        }
    }
    l.b.pointwise(&values, x.at(index));
    Ok(())
}

/// Mean and the sum of squared distances from it, both over `dims` with size one left in their place.
pub fn moments(l: &mut Lower, x: &View, dims: &[usize]) -> (View, View, i64) {
    let kept: Vec<i64> = (0..x.dim()).map(|d| if dims.contains(&d) { 1 } else { x.sizes[d] }).collect();
    let (body, sizes) = reduced(x, dims, true);
    let count: i64 = sizes.iter().product();
    let (sum, mean, squares) = (l.temp(&kept), l.temp(&kept), l.temp(&kept));
    l.reduce(&sum, sizes.clone(), Combine::Sum, body.f());
    l.b.pointwise(&mean, sum.here() / float(count as f64));
    l.reduce(&squares, sizes, Combine::Sum, (body.f() - mean.here()).square());
    (mean, squares, count)
}

fn variance(l: &mut Lower, root: bool) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    let (dims, keep) = dims_of(l, x.dim())?;
    let correction = if l.call.get("correction").is_none() { 1.0 } else { l.call.float("correction")? };
    let (mean, squares, count) = moments(l, &x, &dims);
    let squeezed = |v: &View| if keep { v.clone() } else { v.without(|d| dims.contains(&d)) };
    let value = squeezed(&squares).here() / float((count as f64 - correction).max(0.0));
    l.b.pointwise(&out, if root { value.sqrt() } else { value });
    if let Some(out) = l.opt_out(1) {
        l.b.pointwise(&out, squeezed(&mean).here());
    }
    Ok(())
}

fn vector_norm(l: &mut Lower, order: &str) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    let (dims, keep) = dims_of(l, x.dim())?;
    let ord = l.call.float(order)?;
    let (body, sizes) = reduced(&x, &dims, keep);
    let size = X::call("abs", &[&body]);
    if ord == f64::INFINITY {
        l.reduce(&out, sizes, Combine::Max, size);
    } else if ord == 1.0 {
        l.reduce(&out, sizes, Combine::Sum, size);
    } else if ord == 2.0 {
        let sum = l.temp(&out.sizes);
        l.reduce(&sum, sizes, Combine::Sum, body.f().square());
        l.b.pointwise(&out, sum.here().sqrt());
    } else {
        return Err(Error::not_implemented("this order of norm"));
    }
    Ok(())
}

fn logsumexp(l: &mut Lower) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    let (dims, keep) = dims_of(l, x.dim())?;
    let (body, sizes) = reduced(&x, &dims, keep);
    let (most, sum) = (l.temp(&out.sizes), l.temp(&out.sizes));
    l.reduce(&most, sizes.clone(), Combine::Max, body.f());
    // Rows whose largest is infinite have no distance from it.
    let shift = X::where_(&X::test("is_finite", &[&most.here()]), &most.here(), &float(0.0));
    l.reduce(&sum, sizes, Combine::Sum, (body.f() - shift.clone()).exp());
    l.b.pointwise(&out, sum.here().log() + shift);
    Ok(())
}

fn scan(l: &mut Lower, combine: Combine) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    let dim = wrap(l.call.int("dim")?, x.dim())?;
    let ty = Ty::of(out.dtype).unwrap_or(Ty::Float);
    if x.dim() == 0 {
        l.b.pointwise(&out, x.here().cast(ty));
    } else {
        l.b.emit(&out, Loop::Scan { dim, combine, body: x.here().cast(ty) });
    }
    Ok(())
}

/// Sizes with one dimension of size one.
fn without_dim(view: &View, dim: usize) -> Vec<i64> {
    (0..view.dim()).map(|d| if d == dim { 1 } else { view.sizes[d] }).collect()
}

fn softmax(l: &mut Lower) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    let (rank, dim) = (x.dim(), wrap(l.call.int("dim")?, x.dim())?);
    let dims: &[usize] = if rank == 0 { &[] } else { &[dim] };
    let kept = without_dim(&x, dim);
    let (most, sum) = (l.temp(&kept), l.temp(&kept));
    let (body, sizes) = reduced(&x, dims, true);
    l.reduce(&most, sizes.clone(), Combine::Max, body.f());
    l.reduce(&sum, sizes, Combine::Sum, (body.f() - most.here()).exp());
    let shifted = x.here().f() - most.broadcast(rank);
    let value = if l.call.entry.base_name() == "_softmax" {
        shifted.exp() / sum.broadcast(rank)
    } else {
        let logarithm = l.temp(&sum.sizes.clone());
        l.b.pointwise(&logarithm, sum.here().log());
        shifted - logarithm.broadcast(rank)
    };
    l.b.pointwise(&out, value);
    Ok(())
}

fn softmax_backward(l: &mut Lower) -> Result<()> {
    let (g, y, out) = (l.view("grad_output")?, l.view("output")?, l.out(0)?);
    let (rank, dim) = (y.dim(), wrap(l.call.int("dim")?, y.dim())?);
    let dims: &[usize] = if rank == 0 { &[] } else { &[dim] };
    let sum = l.temp(&without_dim(&y, dim));
    let ((gy, sizes), (yy, _)) = (reduced(&g, dims, true), reduced(&y, dims, true));
    l.reduce(&sum, sizes, Combine::Sum, gy.f() * yy.f());
    l.b.pointwise(&out, y.here().f() * (g.here().f() - sum.broadcast(rank)));
    Ok(())
}

fn log_softmax_backward(l: &mut Lower) -> Result<()> {
    let (g, y, out) = (l.view("grad_output")?, l.view("output")?, l.out(0)?);
    let (rank, dim) = (y.dim(), wrap(l.call.int("dim")?, y.dim())?);
    let dims: &[usize] = if rank == 0 { &[] } else { &[dim] };
    let sum = l.temp(&without_dim(&y, dim));
    let (body, sizes) = reduced(&g, dims, true);
    l.reduce(&sum, sizes, Combine::Sum, body.f());
    l.b.pointwise(&out, g.here().f() - y.here().f().exp() * sum.broadcast(rank));
    Ok(())
}

/// The position of every element among those of its row, largest (or smallest) first, equal ones in order.
pub fn ranks(l: &mut Lower, x: &View, dim: usize, descending: bool) -> View {
    let ranks = l.b.temp(&x.sizes, Dtype::Int32);
    let mut other: Vec<X> = (0..x.dim()).map(coord).collect();
    let me = if x.dim() == 0 { int(0) } else { coord(dim) };
    if x.dim() > 0 {
        other[dim] = over(0);
    }
    let (a, b) = (x.at(other), x.here());
    let first = if descending { a.gt(&b) } else { a.lt(&b) };
    let first = if x.dtype.is_floating() {
        let (nan_a, nan_b) = (X::test("is_nan", &[&a]), X::test("is_nan", &[&b]));
        // NaN counts as the largest.
        let before = if descending { nan_a.and(&nan_b.not()) } else { nan_b.and(&nan_a.not()) };
        let tie = a.equals(&b).or(&nan_a.and(&nan_b)).and(&over(0).lt(&me));
        before.or(&tie).or(&first.and(&nan_a.not()).and(&nan_b.not()))
    } else {
        first.or(&a.equals(&b).and(&over(0).lt(&me)))
    };
    let turns = if x.dim() == 0 { 1 } else { x.sizes[dim] };
    l.reduce(&ranks, vec![turns], Combine::Sum, first.i());
    ranks
}
