//! softmax and log_softmax along one dimension, and their gradients.

use super::dense::{Lane, Real, held};
use super::vectorized::{Vectorized, exponentials_above, line_dot, line_sum, wide};
use crate::dense::for_floats;
use diagnostics::error::Result;
use dispatch::{Call, KernelTable};
use operators::shapes::wrap_dim;
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten._softmax.default", |c, out| forward(c, out, "softmax", false));
    t.fill("aten._log_softmax.default", |c, out| forward(c, out, "log_softmax", true));
    t.fill("aten._softmax_backward_data.default", |c, out| backward(c, out, false));
    t.fill("aten._log_softmax_backward_data.default", |c, out| backward(c, out, true));
}

/// Calls `f` with the indices of every line along a dimension: its start, its step and its length.
pub fn lines(t: &Tensor, dim: i64, mut f: impl FnMut(usize, usize, usize)) -> Result<()> {
    let sizes = t.concrete()?.sizes;
    if sizes.is_empty() {
        f(0, 1, 1);
        return Ok(());
    }
    let d = wrap_dim(dim, sizes.len())?;
    let (outer, n, inner): (usize, usize, usize) = (sizes[..d].iter().product(), sizes[d], sizes[d + 1..].iter().product());
    for o in 0..outer {
        for i in 0..inner {
            f(o * n * inner + i, inner, n);
        }
    }
    Ok(())
}

fn is_last(t: &Tensor, dim: i64) -> bool {
    dim == -1 || dim == t.dim() as i64 - 1 || t.dim() == 0
}

fn kernel_name(name: &str, t: &Tensor, dim: i64) -> String {
    format!("{name}_{}kernel_impl", if is_last(t, dim) { "lastdim_" } else { "" })
}

fn forward(c: &Call, out: &[Tensor], name: &str, log: bool) -> Result<()> {
    let (input, dim) = (c.tensor("self")?, c.int("dim")?);
    for_floats!(&kernel_name(name, input, dim), out[0].dtype(), T => {
        let (mut x, last) = (T::read(input)?, is_last(input, dim));
        lines(input, dim, |start, step, n| line_forward(&mut x, (start, step, n), last, out[0].dtype(), log))?;
        T::write(&out[0], &x)
    })
}

/// Along the last dimension the sum has lanes, and its reciprocal is multiplied with; along others it has none, and lines that lie
/// side by side are computed together as far as they fill groups. In half precision, what a kernel keeps between two loops over the line is rounded: the logarithm with its sum, or the exponentials.
fn line_forward<T: Vectorized>(x: &mut [T], (start, step, n): (usize, usize, usize), last: bool, dtype: Dtype, log: bool) {
    let at = |i: usize| start + i * step;
    let Some(max) = (0..n).map(|i| x[at(i)]).reduce(|a, b| if b > a || b.nan() { b } else { a }) else { return };
    let grouped = last || in_group::<T>(start, step);
    let mut exps: Vec<T> = (0..n).map(|i| x[at(i)]).collect();
    exponentials_above(&mut exps, max, grouped);
    let sum = if last { line_sum(&exps) } else { exps.iter().fold(T::default(), |sum, v| sum + *v) };
    if log {
        let ln = |v: T| if grouped { v.logarithm() } else { v.ln() };
        let shift = if last { held(ln(held(sum, dtype)), dtype) } else { ln(sum) };
        (0..n).for_each(|i| x[at(i)] = x[at(i)] - max - shift);
    } else {
        let inverse = T::of(1.0) / sum;
        (0..n).for_each(|i| x[at(i)] = if last { exps[i] * inverse } else { held(exps[i], dtype) / sum });
    }
}

/// Whether a line is one of a whole group of lines side by side.
fn in_group<T: Vectorized>(start: usize, step: usize) -> bool {
    start % step < step / wide::<T>() * wide::<T>()
}

fn backward(c: &Call, out: &[Tensor], log: bool) -> Result<()> {
    let (grad, output, dim) = (c.tensor("grad_output")?, c.tensor("output")?, c.int("dim")?);
    for_floats!("softmax_backward", grad.dtype(), T => {
        let (g, y, last) = (T::read(grad)?, T::read(output)?, is_last(grad, dim));
        let mut result = vec![T::of(0.0); g.len()];
        lines(grad, dim, |start, step, n| {
            let at = |i: usize| start + i * step;
            let line = |v: &[T]| (0..n).map(|i| v[at(i)]).collect::<Vec<T>>();
            let sum = match (log, last) {
                (true, true) => line_sum(&line(&g)),
                (true, false) => (0..n).fold(T::default(), |sum, i| sum + g[at(i)]),
                (false, true) => line_dot(&line(&g), &line(&y)),
                (false, false) => (0..n).fold(T::default(), |sum, i| g[at(i)].fused(y[at(i)], sum)),
            };
            let grouped = last || in_group::<T>(start, step);
            let mut exps = if log { line(&y) } else { Vec::new() };
            exponentials_above(&mut exps, T::default(), grouped);
            for i in 0..n {
                result[at(i)] = if log { (-exps[i]).fused(sum, g[at(i)]) } else { (g[at(i)] - sum) * y[at(i)] };
            }
        })?;
        T::write(&out[0], &result)
    })
}
