//! Scaled dot-product attention and its gradient: one loop for rows that fit into registers; products, a softmax and pointwise loops
//! for longer ones.

use super::rule::{Lower, Rule, floats_only};
use crate::language::{Attention, Combine, Loop, Part, Slopes, Ty, View, X, coord, float, over};
use diagnostics::error::{Error, Result};

/// Lowerings by operator name.
pub const RULES: &[(&str, Rule)] = &[
    ("aten._scaled_dot_product_flash_attention_for_cpu.default", forward),
    ("aten._scaled_dot_product_flash_attention_for_cpu_backward.default", backward),
];

/// Channels of a row that a thread keeps in registers.
const IN_REGISTERS: i64 = 64;

/// `out[n, h, i, j] = sum over k of a * b`, the factors' indices given.
fn product(l: &mut Lower, out: &View, turns: i64, a: X, b: X) {
    l.b.emit(out, Loop::Matmul { over: vec![turns], batch: 2, rows: 1, a: a.f(), b: b.f() });
}

fn at(view: &View, row: X, column: X) -> X {
    view.at(vec![coord(0), coord(1), row, column])
}

/// A call's queries, keys and values, and how they meet.
struct Heads {
    q: View,
    k: View,
    v: View,
    mask: Option<View>,
    scale: f64,
    causal: bool,
}

impl Heads {
    fn of(l: &mut Lower) -> Result<Heads> {
        let (q, k, v) = (l.view("query")?, l.view("key")?, l.view("value")?);
        floats_only(&q)?;
        if q.dim() != 4 || l.call.float("dropout_p")? != 0.0 {
            return Err(Error::not_implemented("attention with dropout or without heads"));
        }
        if q.sizes[1] != k.sizes[1] {
            return Err(Error::not_implemented("attention of heads that share keys"));
        }
        let scale = if l.call.get("scale").is_none() { 1.0 / (q.sizes[3] as f64).sqrt() } else { l.call.float("scale")? };
        let (mask, causal) = (l.opt_view("attn_mask")?, l.call.bool("is_causal")?);
        Ok(Heads { q, k, v, mask, scale, causal })
    }

    fn fits_registers(&self) -> bool {
        self.q.sizes[3] <= IN_REGISTERS
    }

    /// As a loop that has no matrix of scores.
    fn one_pass(&self, part: Part, slopes: Option<Slopes>, second: Option<View>) -> Loop {
        let row = |view: &View| at(view, over(0), over(1));
        // The mask's dimensions are the last ones of the scores'.
        let mask = self.mask.as_ref().map(|mask| mask.broadcast(4).placed(&[coord(0), coord(1), over(0), over(1)], &[]));
        Loop::Attention(Box::new(Attention {
            part,
            lengths: [self.q.sizes[2], self.k.sizes[2]],
            width: self.q.sizes[3],
            scale: self.scale as f32,
            causal: self.causal,
            mask,
            query: row(&self.q),
            key: row(&self.k),
            value: row(&self.v),
            slopes,
            second,
        }))
    }

    /// The scaled and masked products of queries and keys.
    fn scores(&self, l: &mut Lower) -> View {
        let sizes = [self.q.sizes[0], self.q.sizes[1], self.q.sizes[2], self.k.sizes[2]];
        let (dots, scores) = (l.temp(&sizes), l.temp(&sizes));
        product(l, &dots, self.q.sizes[3], at(&self.q, coord(2), over(0)), at(&self.k, coord(3), over(0)));
        let mut value = dots.here() * float(self.scale);
        if let Some(mask) = &self.mask {
            let m = mask.broadcast(4);
            value = if m.ty() == Ty::Bool { X::where_(&m, &value, &float(f64::NEG_INFINITY)) } else { value + m.f() };
        }
        if self.causal {
            value = X::where_(&coord(3).le(&coord(2)), &value, &float(f64::NEG_INFINITY));
        }
        l.b.pointwise(&scores, value);
        scores
    }
}

/// Whether nothing has been met: such a row weighs nothing.
fn is_nothing(most: &X) -> X {
    most.equals(&float(f64::NEG_INFINITY))
}

fn forward(l: &mut Lower) -> Result<()> {
    let (heads, out) = (Heads::of(l)?, l.out(0)?);
    let logsumexp = l.opt_out(1);
    if heads.fits_registers() {
        l.b.emit(&out, heads.one_pass(Part::Forward, None, logsumexp));
        return Ok(());
    }
    let scores = heads.scores(l);
    let kept = [scores.sizes[0], scores.sizes[1], scores.sizes[2], 1];
    let (most, sum, weights) = (l.temp(&kept), l.temp(&kept), l.temp(&scores.sizes.clone()));
    let row = at(&scores, coord(2), over(0));
    let turns = vec![scores.sizes[3]];
    l.reduce(&most, turns.clone(), Combine::Max, row.clone());
    l.reduce(&sum, turns, Combine::Sum, (row - most.here()).exp());
    let value = (scores.here() - most.broadcast(4)).exp() / sum.broadcast(4);
    l.b.pointwise(&weights, X::where_(&is_nothing(&most.broadcast(4)), &float(0.0), &value));
    product(l, &out, scores.sizes[3], at(&weights, coord(2), over(0)), at(&heads.v, over(0), coord(3)));
    if let Some(logsumexp) = logsumexp {
        let one = |x: &View| x.without(|d| d == 3).here();
        let value = X::where_(&is_nothing(&one(&most)), &one(&most), &(one(&sum).log() + one(&most)));
        l.b.pointwise(&logsumexp, value);
    }
    Ok(())
}

fn backward(l: &mut Lower) -> Result<()> {
    let heads = Heads::of(l)?;
    let (g, out, logsumexp) = (l.view("grad_out")?, l.view("out")?, l.view("logsumexp")?);
    let Heads { q, k, v, scale, .. } = &heads;
    let delta = l.temp(&q.sizes[..3]);
    l.reduce(&delta, vec![v.sizes[3]], Combine::Sum, at(&g, coord(2), over(0)).f() * at(&out, coord(2), over(0)).f());
    if heads.fits_registers() {
        let per_query = |view: &View| view.at(vec![coord(0), coord(1), over(0)]).f();
        let slopes = Slopes { grad: at(&g, over(0), over(1)), logsumexp: per_query(&logsumexp), delta: per_query(&delta) };
        if let Some(grad) = l.opt_out(0) {
            l.b.emit(&grad, heads.one_pass(Part::Queries, Some(slopes.clone()), None));
        }
        if let (Some(grad), Some(of_values)) = (l.opt_out(1), l.opt_out(2)) {
            // Both at once bind eight storages, and a ninth with a mask: more than every machine has.
            let both = heads.mask.is_none().then(|| of_values.clone());
            l.b.emit(&grad, heads.one_pass(Part::Keys, Some(slopes.clone()), both.clone()));
            if both.is_none() {
                l.b.emit(&of_values, heads.one_pass(Part::Values, Some(slopes), None));
            }
        }
        return Ok(());
    }
    let scores = heads.scores(l);
    let sizes = scores.sizes.clone();
    let (weights, dots, slopes) = (l.temp(&sizes), l.temp(&sizes), l.temp(&sizes));
    let per_row = |x: &View| x.at(vec![coord(0), coord(1), coord(2)]).f();
    let above = per_row(&logsumexp);
    l.b.pointwise(&weights, X::where_(&is_nothing(&above), &float(0.0), &(scores.here() - above.clone()).exp()));
    product(l, &dots, v.sizes[3], at(&g, coord(2), over(0)), at(v, coord(3), over(0)));
    l.b.pointwise(&slopes, weights.here() * (dots.here() - per_row(&delta)) * float(*scale));
    if let Some(grad) = l.opt_out(0) {
        product(l, &grad, sizes[3], at(&slopes, coord(2), over(0)), at(k, over(0), coord(3)));
    }
    if let Some(grad) = l.opt_out(1) {
        product(l, &grad, sizes[2], at(&slopes, over(0), coord(2)), at(q, over(0), coord(3)));
    }
    if let Some(grad) = l.opt_out(2) {
        product(l, &grad, sizes[2], at(&weights, over(0), coord(2)), at(&g, over(0), coord(3)));
    }
    Ok(())
}
