//! Losses and their gradients: a pointwise formula, then a sum or mean where one is asked for.

use super::rule::{Lower, Rule};
use crate::language::{Combine, Ty, View, X, coord, float, int, over};
use diagnostics::error::{Error, Result};

/// Lowerings by operator name.
pub const RULES: &[(&str, Rule)] = &[
    ("aten.mse_loss.default", |l| elementwise(l, &|_, x, y| Ok((x - y).square()))),
    ("aten.mse_loss_backward.default", |l| gradient(l, &|_, x, y| Ok(float(2.0) * (x - y)))),
    ("aten.smooth_l1_loss.default", |l| elementwise(l, &smooth_l1)),
    ("aten.smooth_l1_loss_backward.default", |l| gradient(l, &smooth_l1_slope)),
    ("aten.huber_loss.default", |l| elementwise(l, &huber)),
    ("aten.huber_loss_backward.default", |l| gradient(l, &huber_slope)),
    ("aten.binary_cross_entropy.default", |l| elementwise(l, &cross_entropy)),
    ("aten.binary_cross_entropy_backward.default", |l| gradient(l, &cross_entropy_slope)),
    ("aten.binary_cross_entropy_with_logits.default", |l| elementwise(l, &with_logits)),
    ("aten.nll_loss_forward.default", nll),
    ("aten.nll_loss_backward.default", nll_backward),
];

type Formula = dyn Fn(&mut Lower, X, X) -> Result<X>;

/// The two inputs broadcast to each other's sizes, and these.
fn pair(l: &mut Lower) -> Result<(View, View, Vec<i64>)> {
    let (a, b) = (l.view("self")?, l.view("target")?);
    let rank = a.dim().max(b.dim());
    let size = |v: &View, d: usize| if d + v.dim() < rank { 1 } else { v.sizes[d + v.dim() - rank] };
    let sizes = (0..rank).map(|d| if size(&a, d) == 1 { size(&b, d) } else { size(&a, d) }).collect();
    Ok((a, b, sizes))
}

fn elementwise(l: &mut Lower, formula: &Formula) -> Result<()> {
    let out = l.out(0)?;
    let (a, b, sizes) = pair(l)?;
    let reduction = l.call.int("reduction")?;
    if reduction == 0 {
        let value = formula(l, a.broadcast(sizes.len()).f(), b.broadcast(sizes.len()).f())?;
        l.b.pointwise(&out, value);
        return Ok(());
    }
    let each = l.temp(&sizes);
    // The weight of some losses is broadcast as the inputs are; formulas read it through this rank.
    let value = formula(l, a.broadcast(sizes.len()).f(), b.broadcast(sizes.len()).f())?;
    l.b.pointwise(&each, value);
    let body = each.at((0..sizes.len()).map(over).collect());
    let count = sizes.iter().product::<i64>();
    let sum = l.temp(&[]);
    l.reduce(&sum, sizes, Combine::Sum, body);
    l.b.pointwise(&out, if reduction == 1 { sum.here() / float(count as f64) } else { sum.here() });
    Ok(())
}

/// The gradient: the formula's slope, times what came, shared by a mean.
fn gradient(l: &mut Lower, formula: &Formula) -> Result<()> {
    let out = l.out(0)?;
    let (a, b, sizes) = pair(l)?;
    let g = l.view("grad_output")?.broadcast(out.dim()).f();
    let slope = formula(l, a.broadcast(sizes.len()).f(), b.broadcast(sizes.len()).f())?;
    let count = sizes.iter().product::<i64>();
    let g = if l.call.int("reduction")? == 1 { g / float(count as f64) } else { g };
    l.b.pointwise(&out, slope * g);
    Ok(())
}

fn size_of(x: &X) -> X {
    X::call("abs", &[x])
}

fn smooth_l1(l: &mut Lower, x: X, y: X) -> Result<X> {
    let beta = l.call.float("beta")?;
    let z = size_of(&(x - y));
    if beta == 0.0 {
        return Ok(z);
    }
    let near = float(0.5) * z.square() / float(beta);
    Ok(X::where_(&z.lt(&float(beta)), &near, &(z.clone() - float(0.5 * beta))))
}

fn smooth_l1_slope(l: &mut Lower, x: X, y: X) -> Result<X> {
    let beta = l.call.float("beta")?;
    let z = x - y;
    let sign = X::call("sign", &[&z]);
    if beta == 0.0 {
        return Ok(sign);
    }
    Ok(X::where_(&size_of(&z).lt(&float(beta)), &(z / float(beta)), &sign))
}

fn huber(l: &mut Lower, x: X, y: X) -> Result<X> {
    let delta = l.call.float("delta")?;
    let z = size_of(&(x - y));
    let far = float(delta) * (z.clone() - float(0.5 * delta));
    Ok(X::where_(&z.lt(&float(delta)), &(float(0.5) * z.square()), &far))
}

fn huber_slope(l: &mut Lower, x: X, y: X) -> Result<X> {
    let delta = l.call.float("delta")?;
    let z = x - y;
    let far = float(delta) * X::call("sign", &[&z]);
    Ok(X::where_(&size_of(&z).lt(&float(delta)), &z, &far))
}

fn weighted(l: &mut Lower, value: X) -> Result<X> {
    let (a, _, sizes) = pair(l)?;
    let rank = sizes.len().max(a.dim());
    Ok(match l.opt_view("weight")? {
        Some(weight) => value * weight.broadcast(rank).f(),
        None => value,
    })
}

fn cross_entropy(l: &mut Lower, x: X, y: X) -> Result<X> {
    let least = float(-100.0);
    let log = |v: X| X::call("nan_max", &[&v.log(), &least]);
    let value = (y.clone() - float(1.0)) * log(float(1.0) - x.clone()) - y * log(x);
    weighted(l, value)
}

fn cross_entropy_slope(l: &mut Lower, x: X, y: X) -> Result<X> {
    let below = X::call("max", &[&((float(1.0) - x.clone()) * x.clone()), &float(1e-12)]);
    weighted(l, (x - y) / below)
}

fn with_logits(l: &mut Lower, x: X, y: X) -> Result<X> {
    // log(1 + exp(-x)), without overflow.
    let low = X::call("nan_max", &[&(-x.clone()), &float(0.0)]);
    let log = X::call("log1p", &[&(-size_of(&x)).exp()]) + low;
    let rank = pair(l)?.2.len();
    let log = match l.opt_view("pos_weight")? {
        Some(p) => ((p.broadcast(rank).f() - float(1.0)) * y.clone() + float(1.0)) * log,
        None => log,
    };
    let value = (float(1.0) - y) * x + log;
    weighted(l, value)
}

/// The loss of one sample and its weight; zero for the class that is ignored.
fn nll_terms(l: &mut Lower, x: &View, at: &dyn Fn(usize) -> X) -> Result<(X, X)> {
    let target = l.view("target")?;
    let ignored = l.call.int("ignore_index")?;
    let (rank, sample) = (x.dim(), at(0));
    let class = if target.dim() == 0 { target.at(Vec::new()) } else { target.at(vec![sample.clone()]) }.i();
    let index = if rank == 1 { vec![class.clone()] } else { vec![sample, class.clone()] };
    let weight = match l.opt_view("weight")? {
        Some(w) => w.at(vec![class.clone()]).f(),
        None => float(1.0),
    };
    let kept = class.differs(&int(ignored));
    let weight = X::where_(&kept, &weight, &float(0.0));
    let loss = X::where_(&kept, &(-(x.at(index).f() * weight.clone())), &float(0.0));
    Ok((loss, weight))
}

fn nll(l: &mut Lower) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    if !(1..=2).contains(&x.dim()) {
        return Err(Error::not_implemented("a loss over positions"));
    }
    let reduction = l.call.int("reduction")?;
    let samples = if x.dim() == 2 { x.sizes[0] } else { 1 };
    if reduction == 0 && x.dim() == 2 {
        let (loss, _) = nll_terms(l, &x, &coord)?;
        l.b.pointwise(&out, loss);
        if let Some(total) = l.opt_out(1) {
            l.b.pointwise(&total, float(0.0));
        }
        return Ok(());
    }
    let (loss, weight) = nll_terms(l, &x, &over)?;
    let (sum, total) = (l.temp(&[]), l.temp(&[]));
    l.reduce(&sum, vec![samples], Combine::Sum, loss);
    l.reduce(&total, vec![samples], Combine::Sum, weight);
    l.b.pointwise(&out, if reduction == 1 { sum.here() / total.here() } else { sum.here() });
    if let Some(out) = l.opt_out(1) {
        l.b.pointwise(&out, total.here());
    }
    Ok(())
}

fn nll_backward(l: &mut Lower) -> Result<()> {
    let (g, x, target, out) = (l.view("grad_output")?, l.view("self")?, l.view("target")?, l.out(0)?);
    if !(1..=2).contains(&x.dim()) {
        return Err(Error::not_implemented("a loss over positions"));
    }
    let (ignored, reduction) = (l.call.int("ignore_index")?, l.call.int("reduction")?);
    let class_dim = x.dim() - 1;
    let class = if target.dim() == 0 { target.at(Vec::new()) } else { target.at(vec![coord(0)]) }.i();
    let g = if g.dim() == 0 { g.at(Vec::new()) } else { g.at(vec![coord(0)]) }.f();
    let g = if reduction == 1 { g / l.view("total_weight")?.broadcast(out.dim()).f() } else { g };
    let weight = match l.opt_view("weight")? {
        Some(w) => w.at(vec![coord(class_dim)]).f(),
        None => float(1.0),
    };
    let hit = coord(class_dim).equals(&class).and(&class.differs(&int(ignored)));
    let zero = int(0).cast(Ty::Float);
    l.b.pointwise(&out, X::where_(&hit, &(-(g * weight)), &zero));
    Ok(())
}
