//! Eigenvalues of a symmetric matrix as the reference library finds them, so that vectors have the signs that it gives them: by
//! reflectors to a tridiagonal matrix, then by implicit shifts from the end whose element is the smaller.

use super::linalg::Mat;
use super::reflectors::{hypotenuse, reflector};
use super::rotations::{Turn, limits, signed, turn_of};
use super::triangular::masked_dot;
use super::vectorized::Vectorized;

/// Sweeps per eigenvalue after which the search fails.
const SWEEPS: usize = 30;

/// Eigenvalues, ascending, and their vectors as columns; the lower triangle counts.
pub(super) fn symmetric<T: Vectorized>(mut a: Mat<T>) -> (Vec<T>, Mat<T>) {
    let n = a.rows;
    if n == 0 {
        return (Vec::new(), a);
    }
    let (mut found, reflectors) = reduced(&mut a);
    found.settle();
    let Tridiagonal { diagonal, mut vectors, .. } = found;
    for (k, (v, tau)) in reflectors.iter().enumerate().rev().filter(|(_, (_, tau))| *tau != T::default()) {
        // Vectors are rows here.
        for row in 0..n {
            let along = *tau * masked_dot(v.iter().enumerate().map(|(i, v)| (*v, vectors.at(row, k + 1 + i))));
            v.iter().enumerate().for_each(|(i, v)| vectors.set(row, k + 1 + i, (-*v).fused(along, vectors.at(row, k + 1 + i))));
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| diagonal[*i].wide().total_cmp(&diagonal[*j].wide()));
    let mut sorted = Mat::zeros(n, n);
    for (to, from) in order.iter().enumerate() {
        (0..n).for_each(|i| sorted.set(i, to, vectors.at(*from, i)));
    }
    (order.iter().map(|i| diagonal[*i]).collect(), sorted)
}

/// A symmetric tridiagonal matrix on its way to a diagonal one, and its vectors as rows.
struct Tridiagonal<T> {
    diagonal: Vec<T>,
    beside: Vec<T>,
    vectors: Mat<T>,
}

/// The tridiagonal matrix, and the reflectors (each with its factor) that lead to it.
fn reduced<T: Vectorized>(a: &mut Mat<T>) -> (Tridiagonal<T>, Vec<(Vec<T>, T)>) {
    let n = a.rows;
    let (mut beside, mut reflectors) = (Vec::new(), Vec::new());
    for k in 0..n - 1 {
        let mut v: Vec<T> = (k + 1..n).map(|i| a.at(i, k)).collect();
        let (beta, tau) = reflector(&mut v, false);
        v[0] = T::of(1.0);
        beside.push(beta);
        // The image of `v` is made column by column of the lower triangle, whose sums stand for the upper one.
        let (m, part) = (v.len(), k + 1);
        let mut w = vec![T::default(); m];
        for j in 0..m {
            let scaled = tau * v[j];
            (j..m).for_each(|i| w[i] = scaled.fused(a.at(part + i, part + j), w[i]));
            let below = masked_dot((j + 1..m).map(|i| (a.at(part + i, part + j), v[i])));
            w[j] = tau.fused(below, w[j]);
        }
        let along = T::of(-0.5) * tau * masked_dot(w.iter().copied().zip(v.iter().copied()));
        w.iter_mut().zip(&v).for_each(|(w, v)| *w = along.fused(*v, *w));
        for j in 0..m {
            for i in j..m {
                let once = (-v[i]).fused(w[j], a.at(part + i, part + j));
                a.set(part + i, part + j, (-w[i]).fused(v[j], once));
            }
        }
        reflectors.push((v, tau));
    }
    let diagonal = (0..n).map(|i| a.at(i, i)).collect();
    (Tridiagonal { diagonal, beside, vectors: Mat::identity(n) }, reflectors)
}

impl<T: Vectorized> Tridiagonal<T> {
    /// Makes the matrix diagonal, block by block.
    fn settle(&mut self) {
        let n = self.diagonal.len();
        let (eps, _) = limits::<T>();
        let mut left = n * SWEEPS;
        let mut start = 0;
        while start < n {
            if start > 0 {
                self.beside[start - 1] = T::default();
            }
            let small = |k: &usize| {
                let e = self.beside[*k].abs();
                e == T::default() || e <= self.diagonal[*k].abs().sqrt() * self.diagonal[*k + 1].abs().sqrt() * eps
            };
            let end = (start..n - 1).find(small).unwrap_or(n - 1);
            if end < n - 1 {
                self.beside[end] = T::default();
            }
            let back = self.diagonal[end].abs() < self.diagonal[start].abs();
            self.settle_block(start, end, back, &mut left);
            start = if left == 0 { n } else { end + 1 };
        }
    }

    /// Finds a block's eigenvalues one by one from its start, or from its end `back` to its start.
    fn settle_block(&mut self, start: usize, end: usize, back: bool, left: &mut usize) {
        let (eps, least) = limits::<T>();
        let last = end - start;
        // Places as they are counted from where the search begins, and what lies between a place and the next.
        let at = |k: usize| if back { end - k } else { start + k };
        let between = |k: usize| if back { end - 1 - k } else { start + k };
        let mut l = 0;
        while l <= last {
            let small = |k: &usize| {
                let e = self.beside[between(*k)].abs();
                e * e <= (eps * eps * self.diagonal[at(*k)].abs()) * self.diagonal[at(*k + 1)].abs() + least
            };
            let m = (l..last).find(small).unwrap_or(last);
            if m < last {
                self.beside[between(m)] = T::default();
            }
            if m == l {
                l += 1;
            } else if m == l + 1 {
                self.settle_pair(at(l).min(at(m)));
                l += 2;
            } else if *left == 0 {
                return;
            } else {
                *left -= 1;
                self.sweep(l, m, at, between);
            }
        }
    }

    /// Two rows and columns, `first` and the next.
    fn settle_pair(&mut self, first: usize) {
        let (a, b, c) = (self.diagonal[first], self.beside[first], self.diagonal[first + 1]);
        let (large, little, turn) = pair(a, b, c);
        turn.rows(&mut self.vectors, first, first + 1);
        self.diagonal[first] = large;
        self.diagonal[first + 1] = little;
        self.beside[first] = T::default();
    }

    /// One step with a shift, from place `m` to place `l`.
    fn sweep(&mut self, l: usize, m: usize, at: impl Fn(usize) -> usize, between: impl Fn(usize) -> usize) {
        let one = T::of(1.0);
        let (d, e) = (&mut self.diagonal, &mut self.beside);
        let corner = d[at(l)];
        let g = (d[at(l + 1)] - corner) / (T::of(2.0) * e[between(l)]);
        let r = hypotenuse(g, one);
        let mut g = d[at(m)] - corner + e[between(l)] / (g + signed(r, g));
        let (mut turn, mut p) = (Turn { cos: one, sin: one }, T::default());
        let mut turns = Vec::new();
        for i in (l..m).rev() {
            let (f, b) = (turn.sin * e[between(i)], turn.cos * e[between(i)]);
            let made = turn_of(g, f, false);
            turn = made.0;
            if i + 1 != m {
                e[between(i + 1)] = made.1;
            }
            g = d[at(i + 1)] - p;
            let r = (d[at(i)] - g) * turn.sin + T::of(2.0) * turn.cos * b;
            p = turn.sin * r;
            d[at(i + 1)] = g + p;
            g = turn.cos * r - b;
            turns.push((at(i + 1), at(i), turn));
        }
        d[at(l)] = d[at(l)] - p;
        e[between(l)] = g;
        turns.into_iter().for_each(|(p, q, turn)| turn.rows(&mut self.vectors, p, q));
    }
}

/// The eigenvalues of `[[a, b], [b, c]]`, the larger in magnitude first, and the turn to its vector.
fn pair<T: Vectorized>(a: T, b: T, c: T) -> (T, T, Turn<T>) {
    let (one, half, zero) = (T::of(1.0), T::of(0.5), T::default());
    let (sum, difference, twice) = (a + c, a - c, b + b);
    let (most, least) = if a.abs() > c.abs() { (a, c) } else { (c, a) };
    let (wide, across) = (difference.abs(), twice.abs());
    let share = |small: T, large: T| (one + (small / large) * (small / large)).sqrt();
    let root = if wide > across {
        wide * share(across, wide)
    } else if wide < across {
        across * share(wide, across)
    } else {
        across * T::of(2.0).sqrt()
    };
    let negative = sum < zero;
    let (large, little) = if sum == zero {
        (half * root, -half * root)
    } else {
        let large = half * if negative { sum - root } else { sum + root };
        (large, (most / large) * least - (b / large) * b)
    };
    let falls = difference < zero;
    let lean = if falls { difference - root } else { difference + root };
    let turn = if lean.abs() > across {
        let cotangent = -twice / lean;
        let sin = one / (one + cotangent * cotangent).sqrt();
        Turn { cos: cotangent * sin, sin }
    } else if across == zero {
        Turn { cos: one, sin: zero }
    } else {
        let tangent = -lean / twice;
        let cos = one / (one + tangent * tangent).sqrt();
        Turn { cos, sin: tangent * cos }
    };
    (large, little, if negative == falls { Turn { cos: -turn.sin, sin: turn.cos } } else { turn })
}
