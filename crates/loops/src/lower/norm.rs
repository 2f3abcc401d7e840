//! Layer, batch and group normalization, and their gradients, as reductions and pointwise loops.

use super::reduce::{moments, reduced};
use super::rule::{Lower, Rule, floats_only};
use crate::language::{Combine, View, X, coord, float, int, over, row_major};
use diagnostics::error::{Error, Result};

/// Lowerings by operator name.
pub const RULES: &[(&str, Rule)] = &[
    ("aten.native_layer_norm.default", layer_norm),
    ("aten.native_layer_norm_backward.default", layer_norm_backward),
    ("aten._native_batch_norm_legit_functional.default", |l| batch_norm(l, true)),
    ("aten._native_batch_norm_legit_no_training.default", |l| batch_norm(l, false)),
    ("aten._native_batch_norm_legit.no_stats", |l| batch_norm(l, false)),
    ("aten.native_batch_norm_backward.default", batch_norm_backward),
    ("aten.native_group_norm.default", group_norm),
    ("aten.native_group_norm_backward.default", group_norm_backward),
];

/// A per-feature vector at the output's coordinates from `first` on.
fn feature(view: &View, first: usize) -> X {
    view.at((0..view.dim()).map(|d| coord(first + d)).collect()).f()
}

fn layer_norm(l: &mut Lower) -> Result<()> {
    let (x, out) = (l.view("input")?, l.out(0)?);
    floats_only(&x)?;
    let inner = l.call.ints("normalized_shape")?.len();
    let outer = x.dim() - inner.min(x.dim());
    let dims: Vec<usize> = (outer..x.dim()).collect();
    let eps = l.call.float("eps")?;
    let (mean, squares, count) = moments(l, &x, &dims);
    let rstd = l.temp(&mean.sizes.clone());
    l.b.pointwise(&rstd, (squares.here() / float(count as f64) + float(eps)).rsqrt());
    let mut y = (x.here().f() - mean.broadcast(x.dim())) * rstd.broadcast(x.dim());
    if let Some(weight) = l.opt_view("weight")? {
        y = y * feature(&weight, outer);
    }
    if let Some(bias) = l.opt_view("bias")? {
        y = y + feature(&bias, outer);
    }
    l.b.pointwise(&out, y);
    for (i, value) in [(1, &mean), (2, &rstd)] {
        if let Some(out) = l.opt_out(i) {
            l.b.pointwise(&out, value.here());
        }
    }
    Ok(())
}

fn layer_norm_backward(l: &mut Lower) -> Result<()> {
    let (g, x, mean, rstd) = (l.view("grad_out")?, l.view("input")?, l.view("mean")?, l.view("rstd")?);
    floats_only(&x)?;
    let inner = l.call.ints("normalized_shape")?.len();
    let (rank, outer) = (x.dim(), x.dim() - inner.min(x.dim()));
    let dims: Vec<usize> = (outer..rank).collect();
    let rows: Vec<usize> = (0..outer).collect();
    let weight = l.opt_view("weight")?;
    let kept = mean.sizes.clone();
    let ((gx, sizes), (xx, _)) = (reduced(&g, &dims, true), reduced(&x, &dims, true));
    let count = sizes.iter().product::<i64>() as f64;
    let weighted = |g: X, index: Vec<X>| match &weight {
        Some(w) => g.f() * w.at(index).f(),
        None => g.f(),
    };
    if let Some(out) = l.opt_out(0) {
        let inside: Vec<X> = (0..inner).map(over).collect();
        let gw = weighted(gx, inside);
        let (first, second) = (l.temp(&kept), l.temp(&kept));
        let hat = (xx.f() - mean.here().f()) * rstd.here().f();
        l.reduce(&first, sizes.clone(), Combine::Sum, gw.clone());
        l.reduce(&second, sizes, Combine::Sum, gw * hat);
        let gw = weighted(g.here(), (outer..rank).map(coord).collect());
        let hat = (x.here().f() - mean.broadcast(rank).f()) * rstd.broadcast(rank).f();
        let a = first.broadcast(rank) / float(count);
        let b = hat * (second.broadcast(rank) / float(count));
        l.b.pointwise(&out, rstd.broadcast(rank).f() * (gw - a - b));
    }
    let ((gr, sizes), (xr, _)) = (reduced(&g, &rows, false), reduced(&x, &rows, false));
    let (mr, rr) = (rows_only(&mean, outer), rows_only(&rstd, outer));
    if let Some(out) = l.opt_out(1) {
        l.reduce(&out, sizes.clone(), Combine::Sum, gr.f() * ((xr.f() - mr.f()) * rr.f()));
    }
    if let Some(out) = l.opt_out(2) {
        l.reduce(&out, sizes, Combine::Sum, gr.f());
    }
    Ok(())
}

/// A statistic per row, at the loop's coordinates.
fn rows_only(view: &View, outer: usize) -> X {
    let index = (0..view.dim()).map(|d| if d < outer { over(d) } else { int(0) }).collect();
    view.at(index)
}

fn all_but_channels(x: &View) -> Vec<usize> {
    (0..x.dim()).filter(|d| *d != 1).collect()
}

/// A per-channel vector at the output's channel.
fn channel(view: &View) -> X {
    view.at(vec![coord(1)]).f()
}

fn batch_norm(l: &mut Lower, functional: bool) -> Result<()> {
    let (x, out) = (l.view("input")?, l.out(0)?);
    floats_only(&x)?;
    let eps = l.call.float("eps")?;
    let training = l.call.entry.schema.position("training").is_some() && l.call.bool("training")?;
    let (weight, bias) = (l.opt_view("weight")?, l.opt_view("bias")?);
    let (running_mean, running_var) = (l.opt_view("running_mean")?, l.opt_view("running_var")?);
    let channels = [x.sizes[1]];
    let (mean, rstd) = (l.temp(&channels), l.temp(&channels));
    if training {
        let (m, squares, count) = moments(l, &x, &all_but_channels(&x));
        let flat = |v: &View| v.without(|d| d != 1);
        let (m, squares) = (flat(&m), flat(&squares));
        l.b.pointwise(&mean, m.here());
        l.b.pointwise(&rstd, (squares.here() / float(count as f64) + float(eps)).rsqrt());
        if functional {
            let momentum = l.call.float("momentum")?;
            let blend = |new: X, old: &View| new * float(momentum) + old.here().f() * float(1.0 - momentum);
            if let (Some(out), Some(old)) = (l.opt_out(3), &running_mean) {
                l.b.pointwise(&out, blend(m.here(), old));
            }
            if let (Some(out), Some(old)) = (l.opt_out(4), &running_var) {
                l.b.pointwise(&out, blend(squares.here() / float(count as f64 - 1.0), old));
            }
        }
    } else {
        let (Some(m), Some(v)) = (&running_mean, &running_var) else { return Err(Error::not_implemented("no running statistics")) };
        l.b.pointwise(&mean, m.here().f());
        l.b.pointwise(&rstd, (v.here().f() + float(eps)).rsqrt());
        if functional {
            for (i, old) in [(3, m), (4, v)] {
                if let Some(out) = l.opt_out(i) {
                    l.b.pointwise(&out, old.here());
                }
            }
        }
    }
    let mut y = (x.here().f() - channel(&mean)) * channel(&rstd);
    if let Some(weight) = &weight {
        y = y * channel(weight);
    }
    if let Some(bias) = &bias {
        y = y + channel(bias);
    }
    l.b.pointwise(&out, y);
    for (i, value) in [(1, &mean), (2, &rstd)] {
        if let Some(out) = l.opt_out(i).filter(|o| o.numel() == value.numel()) {
            l.b.pointwise(&out, value.here());
        }
    }
    Ok(())
}

fn batch_norm_backward(l: &mut Lower) -> Result<()> {
    let (g, x) = (l.view("grad_out")?, l.view("input")?);
    floats_only(&x)?;
    let train = l.call.bool("train")?;
    let eps = l.call.float("eps")?;
    let weight = l.opt_view("weight")?;
    let (mean, rstd) = if train {
        (l.view("save_mean")?, l.view("save_invstd")?)
    } else {
        let (mean, var) = (l.view("running_mean")?, l.view("running_var")?);
        let rstd = l.temp(&var.sizes.clone());
        l.b.pointwise(&rstd, (var.here().f() + float(eps)).rsqrt());
        (mean, rstd)
    };
    let dims = all_but_channels(&x);
    let ((gx, sizes), (xx, _)) = (reduced(&g, &dims, false), reduced(&x, &dims, false));
    let count = sizes.iter().product::<i64>() as f64;
    let channels = [x.sizes[1]];
    let (sum, dot) = (l.temp(&channels), l.temp(&channels));
    l.reduce(&sum, sizes.clone(), Combine::Sum, gx.f());
    l.reduce(&dot, sizes, Combine::Sum, gx.f() * ((xx.f() - mean.here().f()) * rstd.here().f()));
    if let Some(out) = l.opt_out(0) {
        let scale = match &weight {
            Some(w) => channel(w) * channel(&rstd),
            None => channel(&rstd),
        };
        let value = if train {
            let hat = (x.here().f() - channel(&mean)) * channel(&rstd);
            g.here().f() - channel(&sum) / float(count) - hat * (channel(&dot) / float(count))
        } else {
            g.here().f()
        };
        l.b.pointwise(&out, value * scale);
    }
    for (i, value) in [(1, &dot), (2, &sum)] {
        if let Some(out) = l.opt_out(i) {
            l.b.pointwise(&out, value.here());
        }
    }
    Ok(())
}

/// Input split as (samples, groups, channels of a group, positions).
fn grouped(l: &mut Lower, name: &str) -> Result<View> {
    let x = l.view(name)?;
    floats_only(&x)?;
    let (n, c, hw, group) = (l.call.int("N")?, l.call.int("C")?, l.call.int("HxW")?, l.call.int("group")?);
    if !x.is_row_major() {
        return Err(Error::not_implemented("an input that is not contiguous"));
    }
    let sizes = vec![n, group, c / group.max(1), hw];
    Ok(View { strides: row_major(&sizes), sizes, ..x })
}

fn per_channel(view: &View, group: i64) -> X {
    view.split(0, group).at(vec![coord(1), coord(2)]).f()
}

fn group_norm(l: &mut Lower) -> Result<()> {
    let (x, out) = (grouped(l, "input")?, l.out(0)?);
    let (eps, group) = (l.call.float("eps")?, l.call.int("group")?);
    let (mean, squares, count) = moments(l, &x, &[2, 3]);
    let rstd = l.temp(&mean.sizes.clone());
    l.b.pointwise(&rstd, (squares.here() / float(count as f64) + float(eps)).rsqrt());
    let mut y = (x.here().f() - mean.broadcast(4)) * rstd.broadcast(4);
    if let Some(weight) = l.opt_view("weight")? {
        y = y * per_channel(&weight, group);
    }
    if let Some(bias) = l.opt_view("bias")? {
        y = y + per_channel(&bias, group);
    }
    l.b.pointwise(&View { sizes: x.sizes.clone(), strides: row_major(&x.sizes), ..out }, y);
    for (i, value) in [(1, &mean), (2, &rstd)] {
        if let Some(out) = l.opt_out(i) {
            l.b.pointwise(&out, value.without(|d| d > 1).here());
        }
    }
    Ok(())
}

fn group_norm_backward(l: &mut Lower) -> Result<()> {
    let (g, x) = (grouped(l, "grad_out")?, grouped(l, "input")?);
    let (mean, rstd, group) = (l.view("mean")?, l.view("rstd")?, l.call.int("group")?);
    let weight = l.opt_view("weight")?;
    let stat = |v: &View, a: X, b: X| v.at(vec![a, b]).f();
    if let Some(out) = l.opt_out(0) {
        let kept = [x.sizes[0], x.sizes[1], 1, 1];
        let ((gx, sizes), (xx, _)) = (reduced(&g, &[2, 3], true), reduced(&x, &[2, 3], true));
        let count = sizes.iter().product::<i64>() as f64;
        let w_in = weight.as_ref().map(|w| w.split(0, group).at(vec![coord(1), over(0)]).f());
        let gw = match w_in {
            Some(w) => gx.f() * w,
            None => gx.f(),
        };
        let (first, second) = (l.temp(&kept), l.temp(&kept));
        let hat = (xx.f() - stat(&mean, coord(0), coord(1))) * stat(&rstd, coord(0), coord(1));
        l.reduce(&first, sizes.clone(), Combine::Sum, gw.clone());
        l.reduce(&second, sizes, Combine::Sum, gw * hat);
        let gw = match &weight {
            Some(w) => g.here().f() * per_channel(w, group),
            None => g.here().f(),
        };
        let r = stat(&rstd, coord(0), coord(1));
        let hat = (x.here().f() - stat(&mean, coord(0), coord(1))) * r.clone();
        let value = gw - first.broadcast(4) / float(count) - hat * (second.broadcast(4) / float(count));
        l.b.pointwise(&View { sizes: x.sizes.clone(), strides: row_major(&x.sizes), ..out }, r * value);
    }
    let index = vec![over(0), coord(0), coord(1), over(1)];
    let sizes = vec![x.sizes[0], x.sizes[3]];
    let hat = (x.at(index.clone()).f() - stat(&mean, over(0), coord(0))) * stat(&rstd, over(0), coord(0));
    if let Some(out) = l.opt_out(1) {
        l.reduce(&out.split(0, group), sizes.clone(), Combine::Sum, g.at(index.clone()).f() * hat);
    }
    if let Some(out) = l.opt_out(2) {
        l.reduce(&out.split(0, group), sizes, Combine::Sum, g.at(index).f());
    }
    Ok(())
}
