//! Weight normalization: every slice along a dimension is scaled to a magnitude. A slice of the first dimension lies in a row, which
//! is added by lanes; sums over the other are carried in float64.

use super::dense::Lane;
use super::vectorized::{Vectorized, lanes_dot};
use crate::dense::for_floats;
use diagnostics::error::Result;
use dispatch::{Call, KernelTable};
use tensor::Tensor;

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten._weight_norm_interface.default", forward);
    t.fill("aten._weight_norm_interface_backward.default", backward);
}

/// Which slice an element belongs to: the first or the last dimension counts.
fn slice_of(v: &Tensor, dim: i64) -> Result<impl Fn(usize) -> usize> {
    let sizes = v.concrete()?.sizes;
    let inner: usize = sizes.iter().skip(1).product();
    let last = sizes.last().copied().unwrap_or(1);
    Ok(move |i: usize| if dim == 0 { i / inner.max(1) } else { i % last.max(1) })
}

/// The sum of products of two operands per slice.
fn products<T: Vectorized>(a: &[T], b: &[T], slices: usize, in_rows: bool) -> Vec<T> {
    if in_rows {
        let width = (a.len() / slices.max(1)).max(1);
        return a.chunks(width).zip(b.chunks(width)).map(|(a, b)| lanes_dot(a, b, false)).collect();
    }
    let mut sums = vec![0f64; slices];
    a.iter().zip(b).enumerate().for_each(|(i, (a, b))| sums[i % slices.max(1)] += a.wide() * b.wide());
    sums.into_iter().map(T::of).collect()
}

fn forward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (v, g, dim) = (c.tensor("v")?, c.tensor("g")?, c.int("dim")?);
    let slice = slice_of(v, dim)?;
    for_floats!("weight_norm", v.dtype(), T => {
        let (values, magnitudes) = (T::read(v)?, T::read(g)?);
        let norms: Vec<T> = products(&values, &values, magnitudes.len(), dim == 0).into_iter().map(T::sqrt).collect();
        let scale: Vec<T> = magnitudes.iter().zip(&norms).map(|(g, n)| *g / *n).collect();
        let scaled: Vec<T> = values.iter().enumerate().map(|(i, x)| *x * scale[slice(i)]).collect();
        T::write(&out[0], &scaled)?;
        T::write(&out[1], &norms)
    })
}

fn backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (grad, v, g, norms) = (c.tensor("grad_w")?, c.tensor("saved_v")?, c.tensor("saved_g")?, c.tensor("saved_norms")?);
    let dim = c.int("dim")?;
    let slice = slice_of(v, dim)?;
    for_floats!("weight_norm", v.dtype(), T => {
        let (grad, v, g, norms) = (T::read(grad)?, T::read(v)?, T::read(g)?, T::read(norms)?);
        let grad_g: Vec<T> = products(&grad, &v, g.len(), dim == 0).into_iter().zip(&norms).map(|(sum, n)| sum / *n).collect();
        let along = |i: usize| {
            let s = slice(i);
            let scale = g[s] / norms[s];
            (-v[i]).fused(scale * grad_g[s] / norms[s], grad[i] * scale)
        };
        T::write(&out[0], &(0..v.len()).map(along).collect::<Vec<T>>())?;
        T::write(&out[1], &grad_g)
    })
}
