//! LU factors as results, pseudo-inverses and least squares, and the matrix exponential.

use super::complex_number::Number;
use super::dense::Lane;
use super::linalg::{Mat, batched, check_finite, decomposed, read, write, write_factors};
use super::triangular::{Lu, Triangle, factor, solve_factored, substitute};
use super::tridiagonal::symmetric;
use crate::dense::for_floats;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value};
use tensor::{Dtype, Tensor};

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.linalg_lu_factor_ex.default", |c, o| {
        let pivot = c.bool("pivot")?;
        for_floats!("linalg_lu_factor", o[0].dtype(), T => {
            let factors: Vec<Lu<T>> = read(c.tensor("A")?)?.into_iter().map(|m| factor(m, pivot)).collect();
            write_factors(&factors, &o[0], &o[1])?;
            i64::write(&o[2], &factors.iter().map(|f| f.info).collect::<Vec<_>>())
        })
    });
    t.fill("aten.linalg_lu.default", |c, o| {
        let pivot = c.bool("pivot")?;
        for_floats!("linalg_lu", o[1].dtype(), T => {
            let factors: Vec<Lu<T>> = read(c.tensor("A")?)?.into_iter().map(|m| factor(m, pivot)).collect();
            let parts: Vec<[Mat; 3]> = factors.iter().map(|f| lu_parts(&f.lu.held(), &f.pivots)).collect();
            write_parts(&parts, [pivot, true, true], o)
        })
    });
    t.fill("aten.lu_unpack.default", |c, o| {
        let lus = read(c.tensor("LU_data")?)?;
        let (data, turned) = (c.bool("unpack_data")?, c.bool("unpack_pivots")?);
        let pivots = pivots_of(c, lus.first().map_or(0, |lu: &Mat| lu.rows))?;
        let parts: Vec<[Mat; 3]> = lus
            .iter()
            .enumerate()
            .map(|(i, lu)| {
                let k = lu.rows.min(lu.cols);
                lu_parts(lu, if turned { &pivots[i * k..(i + 1) * k] } else { &[] })
            })
            .collect();
        write_parts(&parts, [turned, data, data], o)
    });
    t.fill("aten.linalg_pinv.atol_rtol_tensor", pseudo_inverse);
    t.fill("aten.linalg_lstsq.default", least_squares);
    t.fill("aten.linalg_matrix_exp.default", |c, o| {
        let made: Vec<Mat> = read(c.tensor("self")?)?.into_iter().map(exponential).collect();
        write(&o[0], &made)
    });
    t.fill("aten.cholesky_solve.default", |c, o| {
        let (upper, sizes) = (c.bool("upper")?, o[0].sizes());
        let batch = &sizes[..sizes.len() - 2];
        for_floats!("cholesky_solve", o[0].dtype(), T => {
            let factors = read::<T>(&batched(c.tensor("input2")?, batch, 2)?)?;
            let mut solved = read::<T>(&batched(c.tensor("self")?, batch, 2)?)?;
            for (m, x) in factors.iter().zip(&mut solved) {
                let (lower, turned) = if upper { (m.t(), true) } else { (m.clone(), false) };
                substitute(&lower, x, Triangle { upper: false, unit: false }, turned);
                substitute(&lower.t(), x, Triangle { upper: true, unit: false }, !turned);
            }
            write(&o[0], &solved)
        })
    });
    t.fill("aten.cholesky_inverse.default", |c, o| {
        let upper = c.bool("upper")?;
        let made: Vec<Mat> = read(c.tensor("self")?)?
            .into_iter()
            .map(|m: Mat| {
                let n = m.rows;
                let f = factor(gram(m, upper), true);
                solve_factored(&f.lu, &f.pivots, &Mat::identity(n), false)
            })
            .collect();
        write(&o[0], &made)
    });
}

/// The matrix whose Cholesky factor is one triangle of `m`.
fn gram(m: Mat, upper: bool) -> Mat {
    let mut lower = if upper { m.t() } else { m };
    (0..lower.rows).for_each(|i| (i + 1..lower.cols).for_each(|j| lower.set(i, j, 0.0)));
    product(&lower, &lower.t())
}

/// The rows that a call says were exchanged, none where it does not ask for them.
pub(super) fn pivots_of(c: &Call, rows: usize) -> Result<Vec<i64>> {
    let pivots = if c.bool("unpack_pivots")? { i64::read(c.tensor("LU_pivots")?)? } else { Vec::new() };
    if pivots.iter().any(|pivot| !(1..=rows as i64).contains(pivot)) {
        return Err(Error::runtime(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?",
        ));
    }
    Ok(pivots)
}

/// Ones on a diagonal.
pub(super) fn identity<T: Number>(n: usize) -> Mat<T> {
    let mut m = Mat::zeros(n, n);
    (0..n).for_each(|i| m.set(i, i, T::number(1.0)));
    m
}

/// The conjugate of the transpose.
pub(super) fn adjoint<T: Number>(m: &Mat<T>) -> Mat<T> {
    let mut turned = m.t();
    turned.data.iter_mut().for_each(|v| *v = v.conjugate());
    turned
}

/// The product of two matrices.
pub(super) fn product<T: Number>(a: &Mat<T>, b: &Mat<T>) -> Mat<T> {
    let mut out = Mat::zeros(a.rows, b.cols);
    for i in 0..a.rows {
        for k in 0..a.cols {
            let v = a.at(i, k);
            for j in 0..b.cols {
                out.set(i, j, out.at(i, j) + v * b.at(k, j));
            }
        }
    }
    out
}

/// P, L and U of factors that lie in one matrix.
pub(super) fn lu_parts<T: Number>(lu: &Mat<T>, pivots: &[i64]) -> [Mat<T>; 3] {
    let (m, n, k) = (lu.rows, lu.cols, lu.rows.min(lu.cols));
    let (mut l, mut u, mut turned) = (Mat::zeros(m, k), Mat::zeros(k, n), identity(m));
    for i in 0..m {
        for j in 0..n {
            if j < i && j < k {
                l.set(i, j, lu.at(i, j));
            } else if i < k && j >= i {
                u.set(i, j, lu.at(i, j));
            }
        }
        if i < k {
            l.set(i, i, T::number(1.0));
        }
    }
    pivots.iter().enumerate().for_each(|(k, p)| turned.swap_rows(k, *p as usize - 1));
    [turned.t(), l, u]
}

fn write_parts(parts: &[[Mat; 3]], wanted: [bool; 3], o: &[Tensor]) -> Result<()> {
    for i in 0..3 {
        if wanted[i] {
            write(&o[i], parts.iter().map(|p| &p[i]))?;
        }
    }
    Ok(())
}

/// A decomposition (U, s, V).
pub(super) type Decomposed<T> = (Mat<T>, Vec<f64>, Mat<T>);

/// V / s U^H over the singular values above the tolerance, and how many they are.
fn inverted<T: Number>((u, s, v): &Decomposed<T>, atol: f64, rtol: f64) -> (Mat<T>, usize) {
    let bound = atol.max(rtol * s.first().copied().unwrap_or(0.0));
    let kept = s.iter().filter(|s| **s > bound).count();
    let mut scaled = Mat::zeros(v.rows, kept);
    let mut left = Mat::zeros(kept, u.rows);
    for (to, from) in (0..s.len()).filter(|i| s[*i] > bound).enumerate() {
        let by = |z: T| z * T::number(1.0 / s[from]);
        (0..v.rows).for_each(|i| scaled.set(i, to, by(v.at(i, from))));
        (0..u.rows).for_each(|i| left.set(to, i, u.at(i, from).conjugate()));
    }
    (product(&scaled, &left), kept)
}

/// The relative tolerance that holds where none is given.
fn default_rtol(x: &Tensor, m: usize, n: usize) -> f64 {
    let eps = if x.dtype() == Dtype::Float64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    eps * m.max(n) as f64
}

fn pseudo_inverse(c: &Call, o: &[Tensor]) -> Result<()> {
    let singular = |a: &Mat| check_finite(a).map(|()| decomposed(a.clone(), false));
    // Of the lower triangle's symmetric matrix.
    let eigen = |a: &Mat| {
        let mut whole = a.clone();
        (0..a.rows).for_each(|i| (0..i).for_each(|j| whole.set(j, i, a.at(i, j))));
        symmetric(whole)
    };
    let made = pseudo_inverses(c, read(c.tensor("self")?)?, singular, eigen)?;
    write(&o[0], &made)
}

/// Pseudo-inverses by singular values, or of Hermitian matrices by eigenvalues.
pub(super) fn pseudo_inverses<T: Number>(
    c: &Call,
    mats: Vec<Mat<T>>,
    singular: impl Fn(&Mat<T>) -> Result<Decomposed<T>>,
    eigen: impl Fn(&Mat<T>) -> (Vec<f64>, Mat<T>),
) -> Result<Vec<Mat<T>>> {
    let x = c.tensor("self")?;
    let given = |name: &str| -> Result<Option<Vec<f64>>> {
        match c.get(name) {
            Value::Tensor(t) => super::elementwise::values::<f64>(t).map(Some),
            _ => Ok(None),
        }
    };
    let (atol, rtol) = (given("atol")?, given("rtol")?);
    let pick = |v: &Option<Vec<f64>>, i: usize| v.as_ref().and_then(|v| v.get(if v.len() == 1 { 0 } else { i }).copied());
    let hermitian = c.bool("hermitian")?;
    let one = |(i, a): (usize, Mat<T>)| {
        let atol = pick(&atol, i);
        let default = if atol.is_some_and(|v| v > 0.0) { 0.0 } else { default_rtol(x, a.rows, a.cols) };
        let rtol = pick(&rtol, i).unwrap_or(default);
        if !hermitian {
            return Ok(inverted(&singular(&a)?, atol.unwrap_or(0.0), rtol).0);
        }
        if a.rows != a.cols {
            let said = format!("linalg.eigh: A must be batches of square matrices, but they are {} by {} matrices", a.rows, a.cols);
            return Err(Error::runtime(said));
        }
        let (values, vectors) = eigen(&a);
        let largest = values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        let bound = atol.unwrap_or(0.0).max(rtol * largest);
        let mut scaled = vectors.clone();
        for (j, v) in values.iter().enumerate() {
            let by = T::number(if v.abs() > bound { 1.0 / v } else { 0.0 });
            (0..scaled.rows).for_each(|i| scaled.set(i, j, scaled.at(i, j) * by));
        }
        Ok(product(&scaled, &adjoint(&vectors)))
    };
    mats.into_iter().enumerate().map(one).collect()
}

fn least_squares(c: &Call, o: &[Tensor]) -> Result<()> {
    let mats = read(c.tensor("self")?)?;
    least_squares_of(c, o, &mats, &read(&sides(c)?)?, |a| decomposed(a.clone(), false), f64::write)
}

/// The right sides of least squares, as matrices.
pub(super) fn sides(c: &Call) -> Result<Tensor> {
    let (a, b) = (c.tensor("self")?, c.tensor("b")?);
    Ok(if b.dim() + 1 == a.dim() { super::dense::with_trailing_one(b) } else { b.clone() })
}

/// Least squares by singular values, whatever the driver.
pub(super) fn least_squares_of<T: Number>(
    c: &Call,
    o: &[Tensor],
    mats: &[Mat<T>],
    rhs: &[Mat<T>],
    singular: impl Fn(&Mat<T>) -> Decomposed<T>,
    write: impl Fn(&Tensor, &[T]) -> Result<()>,
) -> Result<()> {
    if rhs.len() != mats.len() || mats.iter().zip(rhs).any(|(a, b)| a.rows != b.rows) {
        return Err(Error::runtime("torch.linalg.lstsq: input.size(-2) should match other.size(-2)"));
    }
    let driver = if c.get("driver").is_none() { "gelsy" } else { c.str("driver")? };
    let rcond = if c.get("rcond").is_none() { None } else { Some(c.float("rcond")?) };
    let (mut solutions, mut residuals, mut ranks, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (a, b) in mats.iter().zip(rhs) {
        let parts = singular(a);
        let rtol = rcond.unwrap_or_else(|| default_rtol(c.args[0].tensor().unwrap_or(&o[0]), a.rows, a.cols));
        let (inverse, rank) = inverted(&parts, 0.0, rtol);
        let x = product(&inverse, b);
        let fitted = product(a, &x);
        for j in 0..b.cols {
            let miss = (0..b.rows).map(|i| (fitted.at(i, j) - b.at(i, j)).size().powi(2)).sum();
            residuals.push(miss);
        }
        ranks.push(rank as i64);
        values.extend(parts.1);
        solutions.extend(x.data);
    }
    write(&o[0], &solutions)?;
    let full = mats.iter().zip(&ranks).all(|(a, rank)| *rank == a.cols as i64);
    if !full && matches!(driver, "gelsd" | "gelss") {
        // Residuals of deficient matrices are not given.
        o[1].set_geometry(tensor::Geometry::contiguous(vec![0.into()]));
    } else if o[1].numel().guard_int()? as usize == residuals.len() {
        f64::write(&o[1], &residuals)?;
    }
    if driver != "gels" {
        i64::write(&o[2], &ranks)?;
    }
    if matches!(driver, "gelsd" | "gelss") { f64::write(&o[3], &values) } else { Ok(()) }
}

/// A Taylor polynomial of the scaled-down matrix, squared back up.
pub(super) fn exponential<T: Number>(a: Mat<T>) -> Mat<T> {
    let n = a.rows;
    let norm = (0..n).map(|j| (0..n).map(|i| a.at(i, j).size()).sum::<f64>()).fold(0.0f64, f64::max);
    let squarings = if norm > 0.5 && norm.is_finite() { (norm.log2() + 1.0).ceil() as i32 } else { 0 };
    let mut scaled = a;
    // The whole power may be more than a number holds.
    let half = squarings / 2;
    let by = |power: i32| T::number(2f64.powi(-power));
    scaled.data.iter_mut().for_each(|v| *v = *v * by(half) * by(squarings - half));
    let (mut term, mut sum) = (identity(n), identity(n));
    for k in 1..=18 {
        term = product(&term, &scaled);
        term.data.iter_mut().for_each(|v| *v = *v * T::number(1.0 / f64::from(k)));
        sum.data.iter_mut().zip(&term.data).for_each(|(s, t)| *s = *s + *t);
    }
    (0..squarings).for_each(|_| sum = product(&sum, &sum));
    sum
}
