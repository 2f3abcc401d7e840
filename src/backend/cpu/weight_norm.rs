//! Weight normalization: every slice along a dimension is scaled to a magnitude. Sums are carried in float64.

use super::dense::{Lane, Real};
use crate::dispatch::{Call, KernelTable};
use crate::error::Result;
use crate::for_floats;
use crate::tensor::Tensor;

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

fn forward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (v, g) = (c.tensor("v")?, c.tensor("g")?);
    let slice = slice_of(v, c.int("dim")?)?;
    for_floats!("weight_norm", v.dtype(), T => {
        let (values, magnitudes) = (T::read(v)?, T::read(g)?);
        let mut norms = vec![0f64; magnitudes.len()];
        for (i, x) in values.iter().enumerate() {
            norms[slice(i)] += x.wide() * x.wide();
        }
        let norms: Vec<T> = norms.iter().map(|n| T::of(n.sqrt())).collect();
        let scale: Vec<T> = magnitudes.iter().zip(&norms).map(|(g, n)| T::of(g.wide() / n.wide())).collect();
        let scaled: Vec<T> = values.iter().enumerate().map(|(i, x)| T::of(x.wide() * scale[slice(i)].wide())).collect();
        T::write(&out[0], &scaled)?;
        T::write(&out[1], &norms)
    })
}

fn backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (grad, v, g, norms) = (c.tensor("grad_w")?, c.tensor("saved_v")?, c.tensor("saved_g")?, c.tensor("saved_norms")?);
    let slice = slice_of(v, c.int("dim")?)?;
    for_floats!("weight_norm", v.dtype(), T => {
        let (grad, v, g, norms) = (T::read(grad)?, T::read(v)?, T::read(g)?, T::read(norms)?);
        let mut sums = vec![0f64; g.len()];
        for (i, (d, x)) in grad.iter().zip(&v).enumerate() {
            sums[slice(i)] += d.wide() * x.wide();
        }
        let along = |i: usize| {
            let (s, n) = (slice(i), norms[slice(i)].wide());
            T::of(g[s].wide() / n * (grad[i].wide() - v[i].wide() * sums[s] / (n * n)))
        };
        T::write(&out[0], &(0..v.len()).map(along).collect::<Vec<T>>())?;
        T::write(&out[1], &sums.iter().zip(&norms).map(|(s, n)| T::of(s / n.wide())).collect::<Vec<T>>())
    })
}
