//! Householder reflectors: made by `geqrf`, applied one after the other.

use super::dense::Lane;
use super::linalg::{Mat, read, write};
use crate::dispatch::{Call, KernelTable};
use crate::error::Result;
use crate::tensor::Tensor;

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.geqrf.default", geqrf);
    t.fill("aten.linalg_householder_product.default", product);
    t.fill("aten.ormqr.default", ormqr);
}

fn geqrf(c: &Call, out: &[Tensor]) -> Result<()> {
    let (mut made, mut factors) = (Vec::new(), Vec::new());
    for mut a in read(c.tensor("self")?)? {
        factors.extend(reflected(&mut a));
        made.push(a);
    }
    write(&out[0], &made)?;
    f64::write(&out[1], &factors)
}

/// Makes a matrix the triangle R, with the reflectors below it; gives their factors.
pub fn reflected(a: &mut Mat) -> Vec<f64> {
    let (m, n) = (a.rows, a.cols);
    let mut factors = Vec::new();
    for k in 0..n.min(m) {
        let below: f64 = (k + 1..m).map(|i| a.at(i, k).powi(2)).sum();
        if below == 0.0 {
            factors.push(0.0);
            continue;
        }
        let alpha = a.at(k, k);
        let beta = -(alpha * alpha + below).sqrt().copysign(alpha);
        let tau = (beta - alpha) / beta;
        (k + 1..m).for_each(|i| a.set(i, k, a.at(i, k) / (alpha - beta)));
        a.set(k, k, beta);
        for j in k + 1..n {
            let along = a.at(k, j) + (k + 1..m).map(|i| a.at(i, k) * a.at(i, j)).sum::<f64>();
            a.set(k, j, a.at(k, j) - tau * along);
            (k + 1..m).for_each(|i| a.set(i, j, a.at(i, j) - tau * along * a.at(i, k)));
        }
        factors.push(tau);
    }
    factors
}

/// The first columns of the reflectors' product. The last reflector comes first, and its own column is made of it directly: where
/// it does nothing, what is below the diagonal is zero with the other sign.
pub fn formed(a: &Mat, factors: &[f64], cols: usize) -> Mat {
    let mut x = Mat::zeros(a.rows, cols);
    (factors.len()..cols).for_each(|i| x.set(i, i, 1.0));
    for (k, &tau) in factors.iter().enumerate().rev() {
        if tau != 0.0 {
            reflect(a, k, tau, &mut x, k + 1);
        }
        if k < cols {
            (k + 1..a.rows).for_each(|i| x.set(i, k, -tau * a.at(i, k)));
            x.set(k, k, 1.0 - tau);
        }
    }
    x
}

/// Reflects the columns of `x`, from one on, by the `k`-th reflector of `a`.
fn reflect(a: &Mat, k: usize, tau: f64, x: &mut Mat, from: usize) {
    for j in from..x.cols {
        let along = x.at(k, j) + (k + 1..a.rows).map(|i| a.at(i, k) * x.at(i, j)).sum::<f64>();
        x.set(k, j, x.at(k, j) - tau * along);
        (k + 1..a.rows).for_each(|i| x.set(i, j, x.at(i, j) - tau * along * a.at(i, k)));
    }
}

/// Per matrix its reflectors' factors.
fn factors(t: &Tensor) -> Result<(Vec<f64>, usize)> {
    let sizes = t.concrete()?.sizes;
    Ok((f64::read(t)?, sizes[sizes.len() - 1]))
}

fn product(c: &Call, out: &[Tensor]) -> Result<()> {
    let (tau, count) = factors(c.tensor("tau")?)?;
    let mut made = Vec::new();
    for (index, a) in read(c.tensor("input")?)?.iter().enumerate() {
        made.push(formed(a, &tau[index * count..(index + 1) * count], a.cols));
    }
    write(&out[0], &made)
}

fn ormqr(c: &Call, out: &[Tensor]) -> Result<()> {
    let (tau, count) = factors(c.tensor("input2")?)?;
    let (left, transpose) = (c.bool("left")?, c.bool("transpose")?);
    let mut made = Vec::new();
    for (index, (a, x)) in read(c.tensor("self")?)?.iter().zip(read(c.tensor("input3")?)?).enumerate() {
        let mut x = if left { x } else { x.t() };
        let mut one = |k: usize| reflect(a, k, tau[index * count + k], &mut x, 0);
        if left == transpose {
            (0..count).for_each(&mut one)
        } else {
            (0..count).rev().for_each(&mut one)
        }
        made.push(if left { x } else { x.t() });
    }
    write(&out[0], &made)
}
