//! Householder reflectors in the elements' precision: made as `geqrf` of the reference library makes them, one after the other and
//! without fused steps; their product as its vectorized code forms it. The library does so for matrices that it does not block.

use super::dense::{Lane, Real};
use super::linalg::{Mat, read, write};
use super::rotations::signed;
use super::triangular::masked_dot;
use super::vectorized::Vectorized;
use crate::dense::for_floats;
use diagnostics::error::Result;
use dispatch::{Call, KernelTable};
use tensor::Tensor;

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.geqrf.default", geqrf);
    t.fill("aten.linalg_householder_product.default", product);
    t.fill("aten.ormqr.default", ormqr);
}

/// Beyond so many rows the library works in blocks; here in float64, rounded once.
const UNBLOCKED: usize = 20;

fn geqrf(c: &Call, out: &[Tensor]) -> Result<()> {
    for_floats!("geqrf", out[0].dtype(), T => {
        let (mut made, mut factors) = (Vec::new(), Vec::new());
        for mut a in read::<T>(c.tensor("self")?)? {
            factors.extend(reflected(&mut a));
            made.push(a);
        }
        write(&out[0], &made)?;
        T::write(&out[1], &factors)
    })
}

/// The length of a vector, carried as the largest part so far times the root of a sum of squared shares of it.
pub fn length<T: Real>(values: impl Iterator<Item = T>) -> T {
    let (mut scale, mut sum) = (T::default(), T::of(1.0));
    for v in values.map(T::abs).filter(|v| *v != T::default()) {
        if scale < v {
            let share = scale / v;
            sum = T::of(1.0) + (sum * share) * share;
            scale = v;
        } else {
            let share = v / scale;
            sum += share * share;
        }
    }
    scale * sum.sqrt()
}

/// The hypotenuse.
pub fn hypotenuse<T: Real>(a: T, b: T) -> T {
    let (a, b) = (a.abs(), b.abs());
    let (long, short) = if a > b { (a, b) } else { (b, a) };
    if short == T::default() {
        return long;
    }
    let share = short / long;
    long * (T::of(1.0) + share * share).sqrt()
}

/// Turns a vector into a reflector that leaves its first element, `beta`: that, and the reflector's factor. What is below is
/// divided, or multiplied by a reciprocal.
pub fn reflector<T: Real>(x: &mut [T], divides: bool) -> (T, T) {
    let alpha = x[0];
    let below = length(x[1..].iter().copied());
    if below == T::default() {
        return (alpha, T::default());
    }
    let beta = -signed(hypotenuse(alpha, below), alpha);
    let (by, inverse) = (alpha - beta, T::of(1.0) / (alpha - beta));
    x[1..].iter_mut().for_each(|v| *v = if divides { *v / by } else { *v * inverse });
    (beta, (beta - alpha) / beta)
}

/// Makes a matrix the triangle R, with the reflectors below it; gives their factors.
pub fn reflected<T: Vectorized>(a: &mut Mat<T>) -> Vec<T> {
    if a.rows <= UNBLOCKED {
        return reflected_in_turn(a);
    }
    let mut precise = a.held::<f64>();
    let factors = reflected_in_turn(&mut precise);
    *a = precise.held();
    factors.into_iter().map(T::of).collect()
}

fn reflected_in_turn<T: Vectorized>(a: &mut Mat<T>) -> Vec<T> {
    let (m, n) = (a.rows, a.cols);
    let mut factors = Vec::new();
    for k in 0..n.min(m) {
        let mut column: Vec<T> = (k..m).map(|i| a.at(i, k)).collect();
        let (beta, tau) = reflector(&mut column, true);
        column[0] = beta;
        (k..m).for_each(|i| a.set(i, k, column[i - k]));
        if tau != T::default() {
            column[0] = T::of(1.0);
            for j in k + 1..n {
                let along = tau * (k..m).fold(T::default(), |sum, i| sum + column[i - k] * a.at(i, j));
                (k..m).for_each(|i| a.set(i, j, a.at(i, j) - column[i - k] * along));
            }
        }
        factors.push(tau);
    }
    factors
}

/// The first columns of the reflectors' product. The last reflector comes first, and its own column is made of it directly: where
/// it does nothing, what is below the diagonal is zero with the other sign.
pub fn formed<T: Vectorized>(a: &Mat<T>, factors: &[T], cols: usize) -> Mat<T> {
    let mut x = Mat::zeros(a.rows, cols);
    (factors.len()..cols).for_each(|i| x.set(i, i, T::of(1.0)));
    for (k, &tau) in factors.iter().enumerate().rev() {
        if tau != T::default() {
            reflect(a, k, tau, &mut x, k + 1);
        }
        if k < cols {
            (k + 1..a.rows).for_each(|i| x.set(i, k, -tau * a.at(i, k)));
            x.set(k, k, T::of(1.0) - tau);
        }
    }
    x
}

/// Reflects the columns of `x`, from one on, by the `k`-th reflector of `a`.
pub fn reflect<T: Vectorized>(a: &Mat<T>, k: usize, tau: T, x: &mut Mat<T>, from: usize) {
    let part = |i: usize| if i == k { T::of(1.0) } else { a.at(i, k) };
    for j in from..x.cols {
        let along = tau * masked_dot((k..a.rows).map(|i| (part(i), x.at(i, j))));
        (k..a.rows).for_each(|i| x.set(i, j, (-part(i)).fused(along, x.at(i, j))));
    }
}

/// Per matrix its reflectors' factors.
fn factors<T: Lane>(t: &Tensor) -> Result<(Vec<T>, usize)> {
    let sizes = t.concrete()?.sizes;
    Ok((T::read(t)?, sizes[sizes.len() - 1]))
}

fn product(c: &Call, out: &[Tensor]) -> Result<()> {
    for_floats!("householder_product", out[0].dtype(), T => {
        let (tau, count) = factors::<T>(c.tensor("tau")?)?;
        let mut made = Vec::new();
        for (index, a) in read::<T>(c.tensor("input")?)?.iter().enumerate() {
            made.push(formed(a, &tau[index * count..(index + 1) * count], a.cols));
        }
        write(&out[0], &made)
    })
}

fn ormqr(c: &Call, out: &[Tensor]) -> Result<()> {
    let (left, transpose) = (c.bool("left")?, c.bool("transpose")?);
    for_floats!("ormqr", out[0].dtype(), T => {
        let (tau, count) = factors::<T>(c.tensor("input2")?)?;
        let mut made = Vec::new();
        for (index, (a, x)) in read::<T>(c.tensor("self")?)?.iter().zip(read::<T>(c.tensor("input3")?)?).enumerate() {
            let mut x = if left { x } else { x.t() };
            // A factor of zero reflects nothing, whatever else there is.
            let mut one = |k: usize| match tau[index * count + k] {
                tau if tau == T::default() => {}
                tau => reflect(a, k, tau, &mut x, 0),
            };
            if left == transpose {
                (0..count).for_each(&mut one)
            } else {
                (0..count).rev().for_each(&mut one)
            }
            made.push(if left { x } else { x.t() });
        }
        write(&out[0], &made)
    })
}
