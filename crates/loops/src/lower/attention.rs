//! Scaled dot-product attention and its gradient, as products, a softmax and pointwise loops.

use super::rule::{Lower, Rule, floats_only};
use crate::language::{Combine, Loop, View, X, coord, float, over};
use diagnostics::error::{Error, Result};

/// Lowerings by operator name.
pub const RULES: &[(&str, Rule)] = &[
    ("aten._scaled_dot_product_flash_attention_for_cpu.default", forward),
    ("aten._scaled_dot_product_flash_attention_for_cpu_backward.default", backward),
];

/// `out[n, h, i, j] = sum over k of a * b`, the factors' indices given.
fn product(l: &mut Lower, out: &View, turns: i64, a: X, b: X) {
    l.b.emit(out, Loop::Matmul { over: vec![turns], batch: 2, rows: 1, a: a.f(), b: b.f() });
}

fn at(view: &View, row: X, column: X) -> X {
    view.at(vec![coord(0), coord(1), row, column])
}

/// Scaled and masked products of queries and keys, with the factor they are scaled by.
fn scores(l: &mut Lower, q: &View, k: &View) -> Result<(View, f64)> {
    floats_only(q)?;
    if q.dim() != 4 || l.call.float("dropout_p")? != 0.0 {
        return Err(Error::not_implemented("attention with dropout or without heads"));
    }
    let width = q.sizes[3];
    let scale = if l.call.get("scale").is_none() { 1.0 / (width as f64).sqrt() } else { l.call.float("scale")? };
    let sizes = [q.sizes[0], q.sizes[1], q.sizes[2], k.sizes[2]];
    let (dots, scores) = (l.temp(&sizes), l.temp(&sizes));
    product(l, &dots, width, at(q, coord(2), over(0)), at(k, coord(3), over(0)));
    let mut value = dots.here() * float(scale);
    if let Some(mask) = l.opt_view("attn_mask")? {
        let m = mask.broadcast(4);
        value = if m.ty() == crate::language::Ty::Bool { X::where_(&m, &value, &float(f64::NEG_INFINITY)) } else { value + m.f() };
    }
    if l.call.bool("is_causal")? {
        value = X::where_(&coord(3).le(&coord(2)), &value, &float(f64::NEG_INFINITY));
    }
    l.b.pointwise(&scores, value);
    Ok((scores, scale))
}

fn forward(l: &mut Lower) -> Result<()> {
    let (q, k, v, out) = (l.view("query")?, l.view("key")?, l.view("value")?, l.out(0)?);
    let (scores, _) = scores(l, &q, &k)?;
    let kept = [scores.sizes[0], scores.sizes[1], scores.sizes[2], 1];
    let (most, sum, weights) = (l.temp(&kept), l.temp(&kept), l.temp(&scores.sizes.clone()));
    let row = at(&scores, coord(2), over(0));
    let turns = vec![scores.sizes[3]];
    l.reduce(&most, turns.clone(), Combine::Max, row.clone());
    l.reduce(&sum, turns, Combine::Sum, (row - most.here()).exp());
    l.b.pointwise(&weights, (scores.here() - most.broadcast(4)).exp() / sum.broadcast(4));
    product(l, &out, scores.sizes[3], at(&weights, coord(2), over(0)), at(&v, over(0), coord(3)));
    if let Some(logsumexp) = l.opt_out(1) {
        let one = |x: &View| x.without(|d| d == 3).here();
        l.b.pointwise(&logsumexp, one(&sum).log() + one(&most));
    }
    Ok(())
}

fn backward(l: &mut Lower) -> Result<()> {
    let (g, q, k, v) = (l.view("grad_out")?, l.view("query")?, l.view("key")?, l.view("value")?);
    let (out, logsumexp) = (l.view("out")?, l.view("logsumexp")?);
    let (scores, scale) = scores(l, &q, &k)?;
    let sizes = scores.sizes.clone();
    let (weights, dots, slopes) = (l.temp(&sizes), l.temp(&sizes), l.temp(&sizes));
    let delta = l.temp(&[sizes[0], sizes[1], sizes[2]]);
    let per_row = |x: &View| x.at(vec![coord(0), coord(1), coord(2)]).f();
    l.b.pointwise(&weights, (scores.here() - per_row(&logsumexp)).exp());
    l.reduce(&delta, vec![v.sizes[3]], Combine::Sum, at(&g, coord(2), over(0)).f() * at(&out, coord(2), over(0)).f());
    product(l, &dots, v.sizes[3], at(&g, coord(2), over(0)), at(&v, coord(3), over(0)));
    l.b.pointwise(&slopes, weights.here() * (dots.here() - per_row(&delta)) * float(scale));
    if let Some(grad) = l.opt_out(0) {
        product(l, &grad, sizes[3], at(&slopes, coord(2), over(0)), at(&k, over(0), coord(3)));
    }
    if let Some(grad) = l.opt_out(1) {
        product(l, &grad, sizes[2], at(&slopes, over(0), coord(2)), at(&q, over(0), coord(3)));
    }
    if let Some(grad) = l.opt_out(2) {
        product(l, &grad, sizes[2], at(&weights, over(0), coord(2)), at(&g, over(0), coord(3)));
    }
    Ok(())
}
