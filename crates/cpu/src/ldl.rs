//! L D L^T of symmetric matrices, and systems solved by it. Pivoting is Bunch's and Kaufman's. Source: LAPACK, sytf2 and sytrs, as it
//! reads the lower triangle.

use super::dense::{Lane, Real, expanded};
use super::linalg::{Mat, read, write};
use crate::dense::for_floats;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable};
use tensor::Tensor;

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.linalg_ldl_factor_ex.default", factor_all);
    t.fill("aten.linalg_ldl_solve.default", solve_all);
}

/// What was found of one matrix: its factors, for each row the row that it was exchanged with, below zero where a block has two rows,
/// and the first pivot that is zero.
struct Factored<T> {
    ld: Mat<T>,
    pivots: Vec<i64>,
    info: i64,
}

/// Exchanges the rows and columns of two indices, of what the lower triangle says from the first of them on.
fn exchange<T: Real>(a: &mut Mat<T>, first: usize, second: usize) {
    let n = a.rows;
    let mut swap = |p: (usize, usize), q: (usize, usize)| {
        let (x, y) = (a.at(p.0, p.1), a.at(q.0, q.1));
        a.set(p.0, p.1, y);
        a.set(q.0, q.1, x);
    };
    (second + 1..n).for_each(|i| swap((i, first), (i, second)));
    (first + 1..second).for_each(|i| swap((i, first), (second, i)));
    swap((first, first), (second, second));
}

fn factored<T: Real>(mut a: Mat<T>) -> Factored<T> {
    let n = a.rows;
    // What bounds the growth of elements best.
    let alpha = (1.0 + 17f64.sqrt()) / 8.0;
    let (mut pivots, mut info, mut k) = (vec![0; n], 0, 0);
    while k < n {
        let size = |a: &Mat<T>, i: usize, j: usize| a.at(i, j).wide().abs();
        let own = size(&a, k, k);
        let (mut largest, mut column) = (k, 0.0);
        for i in k + 1..n {
            if size(&a, i, k) > column {
                (largest, column) = (i, size(&a, i, k));
            }
        }
        let (mut pivot, mut rows) = (k, 1);
        if own.max(column) == 0.0 || own.is_nan() {
            info = if info == 0 { k as i64 + 1 } else { info };
            pivots[k] = k as i64 + 1;
            k += 1;
            continue;
        }
        if own < alpha * column {
            let left = (k..largest).map(|j| size(&a, largest, j));
            let row = left.chain((largest + 1..n).map(|i| size(&a, i, largest))).fold(0.0, f64::max);
            if own < alpha * column * (column / row) {
                pivot = largest;
                rows = if size(&a, largest, largest) >= alpha * row { 1 } else { 2 };
            }
        }
        let last = k + rows - 1;
        if pivot != last {
            exchange(&mut a, last, pivot);
            if rows == 2 {
                let (x, y) = (a.at(k + 1, k), a.at(pivot, k));
                a.set(k + 1, k, y);
                a.set(pivot, k, x);
            }
        }
        if rows == 1 {
            let inverse = T::of(1.0) / a.at(k, k);
            for j in k + 1..n {
                let factor = inverse * a.at(j, k);
                (j..n).for_each(|i| a.set(i, j, a.at(i, j) - a.at(i, k) * factor));
            }
            (k + 1..n).for_each(|i| a.set(i, k, a.at(i, k) * inverse));
            pivots[k] = pivot as i64 + 1;
        } else {
            let beside = a.at(k + 1, k);
            let (first, second) = (a.at(k + 1, k + 1) / beside, a.at(k, k) / beside);
            let scale = T::of(1.0) / (first * second - T::of(1.0)) / beside;
            for j in k + 2..n {
                let one = scale * (first * a.at(j, k) - a.at(j, k + 1));
                let other = scale * (second * a.at(j, k + 1) - a.at(j, k));
                (j..n).for_each(|i| a.set(i, j, a.at(i, j) - a.at(i, k) * one - a.at(i, k + 1) * other));
                a.set(j, k, one);
                a.set(j, k + 1, other);
            }
            pivots[k] = -(pivot as i64 + 1);
            pivots[k + 1] = pivots[k];
        }
        k += rows;
    }
    (0..n).for_each(|i| (i + 1..n).for_each(|j| a.set(i, j, T::default())));
    Factored { ld: a, pivots, info }
}

fn factor_all(c: &Call, out: &[Tensor]) -> Result<()> {
    for_floats!("ldl_factor_kernel_cpu", out[0].dtype(), T => {
        let found: Vec<Factored<T>> = read::<T>(c.tensor("self")?)?.into_iter().map(factored).collect();
        i64::write(&out[1], &found.iter().flat_map(|f| f.pivots.iter().copied()).collect::<Vec<_>>())?;
        i64::write(&out[2], &found.iter().map(|f| f.info).collect::<Vec<_>>())?;
        write(&out[0], &found.into_iter().map(|f| f.ld).collect::<Vec<_>>())
    })
}

fn swap_rows<T: Real>(x: &mut Mat<T>, first: usize, second: usize) {
    for j in 0..x.cols {
        let (a, b) = (x.at(first, j), x.at(second, j));
        x.set(first, j, b);
        x.set(second, j, a);
    }
}

fn solve<T: Real>(a: &Mat<T>, pivots: &[i64], x: &mut Mat<T>) {
    let n = a.rows;
    let other = |k: usize| pivots[k].unsigned_abs() as usize - 1;
    let mut k = 0;
    // By L and D.
    while k < n {
        let rows = if pivots[k] > 0 { 1 } else { 2 };
        swap_rows(x, k + rows - 1, other(k));
        for j in 0..x.cols {
            for i in k + rows..n {
                let change = (k..k + rows).fold(T::default(), |sum, p| sum + a.at(i, p) * x.at(p, j));
                x.set(i, j, x.at(i, j) - change);
            }
            if rows == 1 {
                x.set(k, j, x.at(k, j) / a.at(k, k));
                continue;
            }
            let beside = a.at(k + 1, k);
            let (first, second) = (a.at(k, k) / beside, a.at(k + 1, k + 1) / beside);
            let determinant = first * second - T::of(1.0);
            let (p, q) = (x.at(k, j) / beside, x.at(k + 1, j) / beside);
            x.set(k, j, (second * p - q) / determinant);
            x.set(k + 1, j, (first * q - p) / determinant);
        }
        k += rows;
    }
    // By the transpose of L.
    while k > 0 {
        let rows = if pivots[k - 1] > 0 { 1 } else { 2 };
        for row in k - rows..k {
            for j in 0..x.cols {
                let change = (k..n).fold(T::default(), |sum, i| sum + a.at(i, row) * x.at(i, j));
                x.set(row, j, x.at(row, j) - change);
            }
        }
        swap_rows(x, k - 1, other(k - 1));
        k -= rows;
    }
}

/// Whether pivots are such as a factorization makes: within the matrix, and blocks of two rows whole.
fn sound(pivots: &[i64]) -> bool {
    let mut k = 0;
    while k < pivots.len() {
        let within = (1..=pivots.len() as u64).contains(&pivots[k].unsigned_abs());
        if !within || (pivots[k] < 0 && pivots.get(k + 1) != Some(&pivots[k])) {
            return false;
        }
        k += if pivots[k] > 0 { 1 } else { 2 };
    }
    true
}

fn solve_all(c: &Call, out: &[Tensor]) -> Result<()> {
    let sizes = out[0].sizes();
    let batch = &sizes[..sizes.len() - 2];
    let to = |t: &Tensor, own: usize| expanded(t, &[batch, &t.sizes()[t.dim() - own..]].concat());
    let pivots = i64::read(&to(c.tensor("pivots")?, 1)?)?;
    for_floats!("ldl_solve_kernel_cpu", out[0].dtype(), T => {
        let factors = read::<T>(&to(c.tensor("LD")?, 2)?)?;
        let mut solved = read::<T>(&to(c.tensor("B")?, 2)?)?;
        for (index, (a, x)) in factors.iter().zip(&mut solved).enumerate() {
            let pivots = &pivots[index * a.rows..][..a.rows];
            if !sound(pivots) {
                return Err(Error::runtime("torch.linalg.ldl_solve: pivots are not those of a factorization"));
            }
            solve(a, pivots, x);
        }
        write(&out[0], &solved)
    })
}
