//! Distances between rows, and the three-way product behind bilinear layers.

use super::dense::{Lane, Real, expanded};
use super::vectorized::Vectorized;
use crate::dense::for_floats;
use diagnostics::error::Result;
use dispatch::{Call, KernelTable};
use operators::matmul::inserted;
use operators::shapes::{broadcast, broadcast_two};
use shape::SymInt;
use tensor::{Geometry, Tensor};

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten._cdist_forward.default", |c, out| distances(c, out, c.float("p")?));
    t.fill("aten._euclidean_dist.default", |c, out| distances(c, out, 2.0));
    t.fill("aten._cdist_backward.default", cdist_backward);
    t.fill("aten._trilinear.default", trilinear);
}

/// Rows of both operands, with batch dimensions broadcast: (batches, rows of x1, rows of x2, width) and the elements.
type Rows<T> = ([usize; 4], Vec<T>, Vec<T>);

fn rows<T: Real>(a: &Tensor, b: &Tensor) -> Result<Rows<T>> {
    let (sa, sb) = (a.sizes(), b.sizes());
    let batch = broadcast_two(&sa[..sa.len() - 2], &sb[..sb.len() - 2])?;
    let full = |s: &[SymInt]| [&batch[..], &s[s.len() - 2..]].concat();
    let (x, y) = (expanded(a, &full(&sa))?, expanded(b, &full(&sb))?);
    let (cx, cy) = (x.concrete()?.sizes, y.concrete()?.sizes);
    let n = cx.len();
    let batches = cx[..n - 2].iter().product();
    Ok(([batches, cx[n - 2], cy[n - 2], cx[n - 1]], T::read(&x)?, T::read(&y)?))
}

fn distances(c: &Call, out: &[Tensor], p: f64) -> Result<()> {
    for_floats!("cdist", out[0].dtype(), T => {
        let ([batches, m, n, width], x, y) = rows::<T>(c.tensor("x1")?, c.tensor("x2")?)?;
        let mut result = Vec::with_capacity(batches * m * n);
        for b in 0..batches {
            for i in 0..m {
                for j in 0..n {
                    let (u, v) = (&x[(b * m + i) * width..][..width], &y[(b * n + j) * width..][..width]);
                    if p == 2.0 {
                        result.push(euclidean(u, v));
                        continue;
                    }
                    let steps = u.iter().zip(v).map(|(u, v)| step(*u, *v).abs());
                    let sum = |terms: &mut dyn Iterator<Item = f64>| terms.fold(0.0, |sum, d| rounded::<T>(sum + d));
                    result.push(T::of(match p {
                        0.0 => sum(&mut steps.map(|d| if d.is_nan() { d } else { f64::from(u8::from(d != 0.0)) })),
                        1.0 => sum(&mut { steps }),
                        p if p.is_infinite() => steps.fold(0.0, f64::max),
                        p => sum(&mut steps.map(|d| rounded::<T>(d.powf(p)))).powf(1.0 / p),
                    }));
                }
            }
        }
        T::write(&out[0], &result)
    })
}

/// A number in the precision of the elements: as there, powers and their sums overflow.
fn rounded<T: Real>(v: f64) -> f64 {
    T::of(v).wide()
}

/// A difference in the precision of the elements. A largest step is one that equals the distance, which was rounded as well.
fn step<T: Real>(u: T, v: T) -> f64 {
    rounded::<T>(u.wide() - v.wide())
}

/// The squares of steps one after the other; those that are left over after whole groups of four are not rounded.
fn euclidean<T: Vectorized>(u: &[T], v: &[T]) -> T {
    let grouped = u.len() / 4 * 4;
    let steps = u.iter().zip(v).map(|(u, v)| *u - *v).enumerate();
    steps.fold(T::default(), |sum, (i, step)| if i < grouped { sum + step * step } else { step.fused(step, sum) }).sqrt()
}

fn cdist_backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let p = c.float("p")?;
    for_floats!("cdist_backward", out[0].dtype(), T => {
        let ([batches, m, n, width], x, y) = rows::<T>(c.tensor("x1")?, c.tensor("x2")?)?;
        let (grad, distances) = (T::read(c.tensor("grad_output")?)?, T::read(c.tensor("cdist")?)?);
        let mut result = vec![T::default(); batches * m * width];
        for b in 0..batches {
            for i in 0..m {
                for j in 0..n {
                    let (at, row) = ((b * m + i) * n + j, (b * m + i) * width);
                    let (g, d) = (grad[at].wide(), distances[at].wide());
                    for k in 0..width {
                        let step = step(x[row + k], y[(b * n + j) * width + k]);
                        result[row + k] += match p {
                            0.0 => T::default(),
                            1.0 => T::of(g * sign(step)),
                            _ if d == 0.0 => T::default(),
                            // A step of the elements' precision times the gradient is rounded before it is divided.
                            2.0 => grad[at] * T::of(step) / distances[at],
                            p if p.is_infinite() => T::of(g * sign(step) * f64::from(u8::from(step.abs() == d))),
                            p => T::of(g * step * step.abs().powf(p - 2.0) / d.powf(p - 1.0)),
                        };
                    }
                }
            }
        }
        T::write(&out[0], &result)
    })
}

fn sign(v: f64) -> f64 {
    if v == 0.0 { 0.0 } else { v.signum() }
}

/// Three operands broadcast together, multiplied, and summed over some dimensions.
fn trilinear(c: &Call, out: &[Tensor]) -> Result<()> {
    let mut operands = Vec::new();
    for (name, expand) in [("i1", "expand1"), ("i2", "expand2"), ("i3", "expand3")] {
        let (t, at) = (c.tensor(name)?, c.ints(expand)?);
        let g = t.geometry();
        let sizes = inserted(&g.sizes, &at, SymInt::Int(1));
        operands.push(t.view_as(Geometry { sizes, strides: inserted(&g.strides, &at, SymInt::Int(0)), offset: g.offset.clone() }));
    }
    let full = broadcast(&operands.iter().map(|t| t.sizes()).collect::<Vec<_>>())?;
    let summed = c.ints("sumdim")?;
    for_floats!("trilinear", out[0].dtype(), T => {
        let values: Vec<Vec<T>> = operands.iter().map(|t| T::read(&expanded(t, &full)?)).collect::<Result<_>>()?;
        let sizes: Vec<usize> = full.iter().map(|s| Ok(s.guard_int()? as usize)).collect::<Result<_>>()?;
        let mut sums = vec![0f64; out[0].numel().guard_int()? as usize];
        for i in 0..sizes.iter().product() {
            // The place in the result: the index without its summed dimensions.
            let (mut rest, mut place, mut step) = (i, 0, 1);
            for d in (0..sizes.len()).rev() {
                let at = rest % sizes[d];
                rest /= sizes[d];
                if !summed.contains(&(d as i64)) {
                    place += at * step;
                    step *= sizes[d];
                }
            }
            sums[place] += values.iter().map(|v| v[i].wide()).product::<f64>();
        }
        T::write(&out[0], &sums.into_iter().map(T::of).collect::<Vec<T>>())
    })
}
