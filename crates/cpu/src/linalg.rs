//! Solving and factorizations, matrix by matrix: LU with partial pivoting, Householder QR, eigenvalues and singular values in the
//! elements' precision, in the library's order; Cholesky factors in float64.

use super::dense::{Lane, Real, expanded, unsupported};
use super::triangular::{Lu, Triangle, factor, solve_factored, substitute};
use super::tridiagonal::symmetric;
use super::vectorized::{Vectorized, lanes_sum};
use super::{bidiagonal, reflectors};
use crate::dense::for_floats;
use diagnostics::error::{Error, ErrorKind, Result};
use dispatch::{Call, KernelTable};
use shape::SymInt;
use tensor::Tensor;

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten._linalg_check_errors.default", check_errors);
    t.fill("aten.linalg_inv_ex.default", inverse);
    t.fill("aten._linalg_solve_ex.default", solve);
    t.fill("aten.linalg_lu_solve.default", lu_solve);
    t.fill("aten.linalg_solve_triangular.default", solve_triangular);
    t.fill("aten._linalg_det.default", det);
    t.fill("aten._linalg_slogdet.default", slogdet);
    t.fill("aten.linalg_cholesky_ex.default", cholesky);
    t.fill("aten.linalg_qr.default", qr);
    t.fill("aten._linalg_svd.default", svd);
    t.fill("aten._linalg_eigh.default", eigh);
}

/// A row-major matrix.
#[derive(Clone)]
pub(super) struct Mat<T = f64> {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) data: Vec<T>,
}

impl<T: Copy + Default> Mat<T> {
    pub(super) fn zeros(rows: usize, cols: usize) -> Self {
        Mat { rows, cols, data: vec![T::default(); rows * cols] }
    }
    pub(super) fn at(&self, i: usize, j: usize) -> T {
        self.data[i * self.cols + j]
    }
    pub(super) fn set(&mut self, i: usize, j: usize, v: T) {
        self.data[i * self.cols + j] = v;
    }
    pub(super) fn t(&self) -> Self {
        let mut m = Mat::zeros(self.cols, self.rows);
        for i in 0..self.rows {
            for j in 0..self.cols {
                m.set(j, i, self.at(i, j));
            }
        }
        m
    }
    pub(super) fn swap_rows(&mut self, a: usize, b: usize) {
        for j in 0..self.cols {
            self.data.swap(a * self.cols + j, b * self.cols + j);
        }
    }
}

impl<T: Real> Mat<T> {
    pub(super) fn identity(n: usize) -> Self {
        let mut m = Mat::zeros(n, n);
        (0..n).for_each(|i| m.set(i, i, T::of(1.0)));
        m
    }
    /// The same numbers in another precision.
    pub(super) fn held<U: Real>(&self) -> Mat<U> {
        Mat { rows: self.rows, cols: self.cols, data: self.data.iter().map(|v| U::of(v.wide())).collect() }
    }
}

/// The matrices of a tensor, in order.
pub(super) fn read<T: Real + Lane>(t: &Tensor) -> Result<Vec<Mat<T>>> {
    if !t.dtype().is_floating() {
        return Err(unsupported("linalg", t.dtype()));
    }
    let sizes = t.concrete()?.sizes;
    let n = sizes.len();
    let (rows, cols) = (sizes[n - 2], sizes[n - 1]);
    let data = T::read(t)?;
    let count: usize = sizes[..n - 2].iter().product();
    Ok((0..count).map(|i| Mat { rows, cols, data: data[i * rows * cols..(i + 1) * rows * cols].to_vec() }).collect())
}

pub(super) fn write<'a, T: Real + Lane>(t: &Tensor, mats: impl IntoIterator<Item = &'a Mat<T>>) -> Result<()> {
    T::write(t, &mats.into_iter().flat_map(|m| m.data.iter().copied()).collect::<Vec<_>>())
}

fn inverse(c: &Call, out: &[Tensor]) -> Result<()> {
    for_floats!("linalg_inv", out[0].dtype(), T => {
        let (mut inverses, mut infos) = (Vec::new(), Vec::new());
        for a in read::<T>(c.tensor("A")?)? {
            let n = a.rows;
            let f = factor(a, true);
            infos.push(f.info);
            inverses.push(solve_factored(&f.lu, &f.pivots, &Mat::identity(n), false));
        }
        write(&out[0], &inverses)?;
        i64::write(&out[1], &infos)
    })
}

/// A tensor's batch dimensions broadcast to those of a result, its last `keep` dimensions kept.
pub(super) fn batched(t: &Tensor, batch: &[SymInt], keep: usize) -> Result<Tensor> {
    let own = t.sizes();
    expanded(t, &[batch, &own[own.len() - keep..]].concat())
}

fn solve(c: &Call, out: &[Tensor]) -> Result<()> {
    let (a, b) = (c.tensor("A")?, c.tensor("B")?);
    let left = c.bool("left")?;
    // A right side of vectors is one of matrices with a single column.
    let (result, sizes) = (&out[0], out[0].sizes());
    let vector = b.dim() == 1 || (a.dim() == b.dim() + 1 && sizes.len() == b.dim() && a.dim() == sizes.len() + 1);
    let keep = if vector { 1 } else { 2 };
    let batch = &sizes[..sizes.len() - keep];
    let b = batched(b, batch, keep)?;
    let b = if vector { super::dense::with_trailing_one(&b) } else { b };
    for_floats!("linalg_solve", result.dtype(), T => {
        let factors: Vec<Lu<T>> = read(a)?.into_iter().map(|a| factor(a, true)).collect();
        write_factors(&factors, &out[1], &out[2])?;
        i64::write(&out[3], &factors.iter().map(|f| f.info).collect::<Vec<_>>())?;
        let all = read::<T>(&batched(a, batch, 2)?)?;
        let solved: Vec<Mat<T>> = all
            .into_iter()
            .zip(read(&b)?)
            .map(|(a, b)| {
                let f = factor(a, true);
                if left { solve_factored(&f.lu, &f.pivots, &b, false) } else { solve_factored(&f.lu, &f.pivots, &b.t(), true).t() }
            })
            .collect();
        write(result, &solved)
    })
}

/// Writes factors and pivots.
pub(super) fn write_factors<T: Real + Lane>(factors: &[Lu<T>], lu: &Tensor, pivots: &Tensor) -> Result<()> {
    write(lu, factors.iter().map(|f| &f.lu))?;
    i64::write(pivots, &factors.iter().flat_map(|f| f.pivots.iter().copied()).collect::<Vec<_>>())
}

/// The exchanged rows that a system is given, broadcast to a result's batch.
pub(super) fn checked_pivots(c: &Call, batch: &[SymInt]) -> Result<Vec<i64>> {
    let pivots = i64::read(&batched(c.tensor("pivots")?, batch, 1)?)?;
    let rows = c.tensor("LU")?.size(c.tensor("LU")?.dim() - 2).guard_int()?;
    for (bound, outside) in
        [("greater or equal to 1", pivots.iter().any(|p| *p < 1)), ("smaller or equal to LU.size(-2)", pivots.iter().any(|p| *p > rows))]
    {
        if outside {
            return Err(Error::runtime(format!(
                "Pivots given to lu_solve must all be {bound}. Did you properly pass the result of lu_factor?"
            )));
        }
    }
    Ok(pivots)
}

fn lu_solve(c: &Call, out: &[Tensor]) -> Result<()> {
    let (left, adjoint) = (c.bool("left")?, c.bool("adjoint")?);
    let sizes = out[0].sizes();
    let batch = &sizes[..sizes.len() - 2];
    let pivots = checked_pivots(c, batch)?;
    for_floats!("linalg_lu_solve", out[0].dtype(), T => {
        let lus = read::<T>(&batched(c.tensor("LU")?, batch, 2)?)?;
        let solved: Vec<Mat<T>> = lus
            .iter()
            .zip(read(&batched(c.tensor("B")?, batch, 2)?)?)
            .enumerate()
            .map(|(i, (lu, b))| {
                let pivots = &pivots[i * lu.rows..][..lu.rows];
                if left { solve_factored(lu, pivots, &b, adjoint) } else { solve_factored(lu, pivots, &b.t(), !adjoint).t() }
            })
            .collect();
        write(&out[0], &solved)
    })
}

fn solve_triangular(c: &Call, out: &[Tensor]) -> Result<()> {
    let [upper, left, unit] = [c.bool("upper")?, c.bool("left")?, c.bool("unitriangular")?];
    let sizes = out[0].sizes();
    let batch = &sizes[..sizes.len() - 2];
    // Rows that lie side by side are the library's columns: it solves with the transpose.
    let turned = c.tensor("self")?.is_contiguous()?;
    for_floats!("linalg_solve_triangular", out[0].dtype(), T => {
        let (a, b) = (read::<T>(&batched(c.tensor("self")?, batch, 2)?)?, read(&batched(c.tensor("B")?, batch, 2)?)?);
        let solved: Vec<Mat<T>> = a
            .into_iter()
            .zip(b)
            .map(|(a, b)| {
                if left {
                    let mut x = b;
                    substitute(&a, &mut x, Triangle { upper, unit }, turned);
                    return x;
                }
                let mut x = b.t();
                substitute(&a.t(), &mut x, Triangle { upper: !upper, unit }, !turned);
                x.t()
            })
            .collect();
        write(&out[0], &solved)
    })
}

/// Factors every matrix (the transpose of a contiguous one, as PyTorch does) and writes factors and pivots.
fn factor_all<T: Vectorized + Lane>(a: &Tensor, lu_out: &Tensor, pivots_out: &Tensor) -> Result<Vec<Lu<T>>> {
    let transpose = a.is_contiguous()?;
    let factors: Vec<Lu<T>> = read(a)?.into_iter().map(|m: Mat<T>| factor(if transpose { m.t() } else { m }, true)).collect();
    write_factors(&factors, lu_out, pivots_out)?;
    Ok(factors)
}

fn det(c: &Call, out: &[Tensor]) -> Result<()> {
    for_floats!("linalg_det", out[0].dtype(), T => {
        let factors = factor_all::<T>(c.tensor("A")?, &out[1], &out[2])?;
        let product = |f: &Lu<T>| (0..f.lu.rows).fold(T::of(1.0), |product, i| product * f.lu.at(i, i)) * f.sign;
        T::write(&out[0], &factors.iter().map(product).collect::<Vec<T>>())
    })
}

fn slogdet(c: &Call, out: &[Tensor]) -> Result<()> {
    for_floats!("linalg_slogdet", out[0].dtype(), T => {
        let factors = factor_all::<T>(c.tensor("A")?, &out[2], &out[3])?;
        let diagonal = |f: &Lu<T>| (0..f.lu.rows).map(|i| f.lu.at(i, i).wide()).collect::<Vec<_>>();
        // NaN has no sign.
        let sign = |v: f64| if v == 0.0 || v.is_nan() { 0.0 } else { v.signum() };
        let signs: Vec<f64> = factors.iter().map(|f| diagonal(f).into_iter().fold(f.sign.wide(), |s, v| s * sign(v))).collect();
        let logs: Vec<T> = factors.iter().map(|f| lanes_sum(&diagonal(f).into_iter().map(|v| T::of(v.abs().ln())).collect::<Vec<T>>())).collect();
        f64::write(&out[0], &signs)?;
        T::write(&out[1], &logs)
    })
}

fn cholesky(c: &Call, out: &[Tensor]) -> Result<()> {
    let upper = c.bool("upper")?;
    let (mut factors, mut infos) = (Vec::new(), Vec::new());
    for a in read::<f64>(c.tensor("self")?)? {
        let a: Mat = if upper { a.t() } else { a };
        let n = a.rows;
        let (mut l, mut info) = (Mat::zeros(n, n), 0);
        'columns: for j in 0..n {
            for i in j..n {
                let rest = (0..j).fold(a.at(i, j), |rest, k| rest - l.at(i, k) * l.at(j, k));
                if i == j {
                    if rest.is_nan() || rest <= 0.0 {
                        info = j as i64 + 1;
                        break 'columns;
                    }
                    l.set(j, j, rest.sqrt());
                } else {
                    l.set(i, j, rest / l.at(j, j));
                }
            }
        }
        infos.push(info);
        factors.push(if upper { l.t() } else { l });
    }
    write(&out[0], &factors)?;
    i64::write(&out[1], &infos)
}

/// Householder reflections as LAPACK chooses them: the first `cols` columns of Q and the upper triangle.
fn householder<T: Vectorized>(mut a: Mat<T>, cols: usize) -> (Mat<T>, Mat<T>) {
    let factors = reflectors::reflected(&mut a);
    let q = reflectors::formed(&a, &factors, cols);
    for k in 0..a.cols.min(a.rows) {
        (k + 1..a.rows).for_each(|i| a.set(i, k, T::default()));
    }
    (q, a)
}

/// The upper left part of a matrix.
fn corner<T: Real>(m: &Mat<T>, rows: usize, cols: usize) -> Mat<T> {
    let mut out = Mat::zeros(rows, cols);
    for i in 0..rows {
        (0..cols).for_each(|j| out.set(i, j, m.at(i, j)));
    }
    out
}

fn qr(c: &Call, out: &[Tensor]) -> Result<()> {
    let mode = c.str("mode")?;
    for_floats!("linalg_qr", out[1].dtype(), T => {
        let (mut qs, mut rs) = (Vec::new(), Vec::new());
        for a in read::<T>(c.tensor("A")?)? {
            let (m, n) = (a.rows, a.cols);
            let k = m.min(n);
            let (q, r) = householder(a, if mode == "complete" { m } else { k });
            qs.push(q);
            rs.push(if mode == "complete" { r } else { corner(&r, k, n) });
        }
        if mode != "r" {
            write(&out[0], &qs)?;
        }
        write(&out[1], &rs)
    })
}

fn eigh(c: &Call, out: &[Tensor]) -> Result<()> {
    let lower = c.str("UPLO")?.eq_ignore_ascii_case("L");
    for_floats!("linalg_eigh", out[0].dtype(), T => {
        let (mut values, mut vectors) = (Vec::new(), Vec::new());
        for a in read::<T>(c.tensor("A")?)? {
            let (l, v) = symmetric(if lower { a } else { a.t() });
            values.extend(l);
            vectors.push(v);
        }
        T::write(&out[0], &values)?;
        if c.bool("compute_v")? { write(&out[1], &vectors) } else { Ok(()) }
    })
}

/// Singular values are those of finite numbers.
pub(super) fn check_finite<T: Real>(a: &Mat<T>) -> Result<()> {
    if a.data.iter().all(|x| x.wide().is_finite()) {
        return Ok(());
    }
    let said = "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.";
    Err(Error::new(ErrorKind::LinAlg, said))
}

fn svd(c: &Call, out: &[Tensor]) -> Result<()> {
    let (full, vectors) = (c.bool("full_matrices")?, c.bool("compute_uv")?);
    for_floats!("linalg_svd", out[1].dtype(), T => {
        let (mut us, mut values, mut vs) = (Vec::new(), Vec::new(), Vec::new());
        for a in read::<T>(c.tensor("A")?)? {
            check_finite(&a)?;
            let (u, s, v) = decomposed(a, full);
            values.extend(s);
            us.push(u);
            vs.push(v.t());
        }
        T::write(&out[1], &values)?;
        if !vectors {
            return Ok(());
        }
        write(&out[0], &us)?;
        write(&out[2], &vs)
    })
}

/// Singular values and vectors: (U, s, V), with as many columns as values, or `full`.
pub(super) fn decomposed<T: Vectorized>(a: Mat<T>, full: bool) -> (Mat<T>, Vec<T>, Mat<T>) {
    let (m, n) = (a.rows, a.cols);
    let columns = if full { m.max(n) } else { m.min(n) };
    if m >= n {
        return bidiagonal::tall(a, columns, false);
    }
    let (v, s, u) = bidiagonal::tall(a.t(), columns, true);
    (u, s, v)
}

/// Fails where a factorization says that it failed.
fn check_errors(c: &Call, _: &[Tensor]) -> Result<()> {
    let info = c.tensor("info")?;
    let values = tensor::strided::integers(info)?;
    let Some(i) = values.iter().position(|v| *v != 0) else { return Ok(()) };
    let name = c.str("api_name")?;
    let place = if info.dim() == 0 { String::new() } else { format!("(Batch element {i}): ") };
    let said = format!("{name}: {place}{}", operators::linalg::failure(name, values[i]));
    // A factor with a zero on its diagonal is a factor all the same.
    Err(if name.contains("lu_factor") { Error::runtime(said) } else { Error::new(ErrorKind::LinAlg, said) })
}
