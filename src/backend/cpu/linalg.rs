//! Solving and factorizations, matrix by matrix, in float64: LU with partial pivoting, Cholesky, Householder QR, and Jacobi
//! rotations for eigenvalues and singular values.

use super::dense::{Lane, expanded, unsupported};
use super::reflectors;
use crate::dispatch::{Call, KernelTable};
use crate::error::{Error, ErrorKind, Result};
use crate::shape::SymInt;
use crate::tensor::Tensor;

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
pub(super) struct Mat {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) data: Vec<f64>,
}

impl Mat {
    pub(super) fn zeros(rows: usize, cols: usize) -> Mat {
        Mat { rows, cols, data: vec![0.0; rows * cols] }
    }
    pub(super) fn identity(n: usize) -> Mat {
        let mut m = Mat::zeros(n, n);
        (0..n).for_each(|i| m.set(i, i, 1.0));
        m
    }
    pub(super) fn at(&self, i: usize, j: usize) -> f64 {
        self.data[i * self.cols + j]
    }
    pub(super) fn set(&mut self, i: usize, j: usize, v: f64) {
        self.data[i * self.cols + j] = v;
    }
    pub(super) fn t(&self) -> Mat {
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

/// The matrices of a tensor, in order.
pub(super) fn read(t: &Tensor) -> Result<Vec<Mat>> {
    if !t.dtype().is_floating() {
        return Err(unsupported("linalg", t.dtype()));
    }
    let sizes = t.concrete()?.sizes;
    let n = sizes.len();
    let (rows, cols) = (sizes[n - 2], sizes[n - 1]);
    let data = f64::read(t)?;
    let count: usize = sizes[..n - 2].iter().product();
    Ok((0..count).map(|i| Mat { rows, cols, data: data[i * rows * cols..(i + 1) * rows * cols].to_vec() }).collect())
}

pub(super) fn write<'a>(t: &Tensor, mats: impl IntoIterator<Item = &'a Mat>) -> Result<()> {
    f64::write(t, &mats.into_iter().flat_map(|m| m.data.iter().copied()).collect::<Vec<_>>())
}

/// PA = LU in one matrix, rows exchanged (counted from one), the first zero pivot (counted from one; 0: none) and the sign of P.
pub(super) struct Lu {
    pub(super) lu: Mat,
    pub(super) pivots: Vec<i64>,
    pub(super) info: i64,
    sign: f64,
}

fn factor(lu: Mat) -> Lu {
    factor_as(lu, true)
}

/// Factors a matrix of any shape, with or without exchanging rows.
pub(super) fn factor_as(mut lu: Mat, exchange: bool) -> Lu {
    let (n, k_end) = (lu.rows, lu.rows.min(lu.cols));
    let (mut pivots, mut info, mut sign) = (Vec::with_capacity(n), 0, 1.0);
    for k in 0..k_end {
        let p = (k..if exchange { n } else { k + 1 }).fold(k, |best, i| if lu.at(i, k).abs() > lu.at(best, k).abs() { i } else { best });
        pivots.push(p as i64 + 1);
        if p != k {
            lu.swap_rows(p, k);
            sign = -sign;
        }
        let pivot = lu.at(k, k);
        if pivot == 0.0 {
            info = if info == 0 { k as i64 + 1 } else { info };
            continue;
        }
        for i in k + 1..n {
            let factor = lu.at(i, k) / pivot;
            lu.set(i, k, factor);
            for j in k + 1..lu.cols {
                lu.set(i, j, lu.at(i, j) - factor * lu.at(k, j));
            }
        }
    }
    Lu { lu, pivots, info, sign }
}

/// Solves a triangular system in place; `a` may hold more than the triangle.
fn substitute(a: &Mat, x: &mut Mat, upper: bool, unit: bool) {
    let n = a.rows;
    let order: Vec<usize> = if upper { (0..n).rev().collect() } else { (0..n).collect() };
    for j in 0..x.cols {
        for &i in &order {
            let done = if upper { i + 1..n } else { 0..i };
            let sum: f64 = done.map(|k| a.at(i, k) * x.at(k, j)).sum();
            let v = x.at(i, j) - sum;
            x.set(i, j, if unit { v } else { v / a.at(i, i) });
        }
    }
}

/// Solves A X = B, or with the transpose of A, from the factorization of A.
pub(super) fn solve_factored(lu: &Mat, pivots: &[i64], b: &Mat, transposed: bool) -> Mat {
    let mut x = b.clone();
    let exchange = |x: &mut Mat, k: usize| {
        let p = pivots[k] as usize - 1;
        if p != k {
            x.swap_rows(p, k);
        }
    };
    if transposed {
        let flipped = lu.t();
        substitute(&flipped, &mut x, false, false);
        substitute(&flipped, &mut x, true, true);
        (0..lu.rows).rev().for_each(|k| exchange(&mut x, k));
    } else {
        (0..lu.rows).for_each(|k| exchange(&mut x, k));
        substitute(lu, &mut x, false, true);
        substitute(lu, &mut x, true, false);
    }
    x
}

fn inverse(c: &Call, out: &[Tensor]) -> Result<()> {
    let (mut inverses, mut infos) = (Vec::new(), Vec::new());
    for a in read(c.tensor("A")?)? {
        let n = a.rows;
        let f = factor(a);
        infos.push(f.info);
        inverses.push(solve_factored(&f.lu, &f.pivots, &Mat::identity(n), false));
    }
    write(&out[0], &inverses)?;
    i64::write(&out[1], &infos)
}

/// A tensor's batch dimensions broadcast to those of a result, its last `keep` dimensions kept.
pub(super) fn batched(t: &Tensor, batch: &[SymInt], keep: usize) -> Result<Tensor> {
    let own = t.sizes();
    expanded(t, &[batch, &own[own.len() - keep..]].concat())
}

fn solve(c: &Call, out: &[Tensor]) -> Result<()> {
    let (a, b) = (c.tensor("A")?, c.tensor("B")?);
    let left = c.bool("left")?;
    let (mut factors, mut pivots, mut infos) = (Vec::new(), Vec::new(), Vec::new());
    for a in read(a)? {
        let f = factor(a);
        infos.push(f.info);
        pivots.extend(f.pivots.iter().copied());
        factors.push(f.lu);
    }
    write(&out[1], &factors)?;
    i64::write(&out[2], &pivots)?;
    i64::write(&out[3], &infos)?;
    // A right side of vectors is one of matrices with a single column.
    let (result, sizes) = (&out[0], out[0].sizes());
    let vector = b.dim() == 1 || (a.dim() == b.dim() + 1 && sizes.len() == b.dim() && a.dim() == sizes.len() + 1);
    let keep = if vector { 1 } else { 2 };
    let batch = &sizes[..sizes.len() - keep];
    let b = batched(b, batch, keep)?;
    let b = if vector { super::dense::with_trailing_one(&b) } else { b };
    let lus = read(&batched(a, batch, 2)?)?;
    let solved: Vec<Mat> = lus
        .into_iter()
        .zip(read(&b)?)
        .map(|(a, b)| {
            let f = factor(a);
            if left { solve_factored(&f.lu, &f.pivots, &b, false) } else { solve_factored(&f.lu, &f.pivots, &b.t(), true).t() }
        })
        .collect();
    write(result, &solved)
}

fn lu_solve(c: &Call, out: &[Tensor]) -> Result<()> {
    let (left, adjoint) = (c.bool("left")?, c.bool("adjoint")?);
    let sizes = out[0].sizes();
    let batch = &sizes[..sizes.len() - 2];
    let lus = read(&batched(c.tensor("LU")?, batch, 2)?)?;
    let pivots = i64::read(&batched(c.tensor("pivots")?, batch, 1)?)?;
    let solved: Vec<Mat> = lus
        .iter()
        .zip(read(c.tensor("B")?)?)
        .enumerate()
        .map(|(i, (lu, b))| {
            let pivots = &pivots[i * lu.rows..][..lu.rows];
            if left { solve_factored(lu, pivots, &b, adjoint) } else { solve_factored(lu, pivots, &b.t(), !adjoint).t() }
        })
        .collect();
    write(&out[0], &solved)
}

fn solve_triangular(c: &Call, out: &[Tensor]) -> Result<()> {
    let [upper, left, unit] = [c.bool("upper")?, c.bool("left")?, c.bool("unitriangular")?];
    let sizes = out[0].sizes();
    let batch = &sizes[..sizes.len() - 2];
    let (a, b) = (read(&batched(c.tensor("self")?, batch, 2)?)?, read(&batched(c.tensor("B")?, batch, 2)?)?);
    let solved: Vec<Mat> = a
        .into_iter()
        .zip(b)
        .map(|(a, b)| {
            if left {
                let mut x = b;
                substitute(&a, &mut x, upper, unit);
                return x;
            }
            let mut x = b.t();
            substitute(&a.t(), &mut x, !upper, unit);
            x.t()
        })
        .collect();
    write(&out[0], &solved)
}

/// Factors every matrix (the transpose of a contiguous one, as PyTorch does) and writes factors and pivots.
fn factor_all(a: &Tensor, lu_out: &Tensor, pivots_out: &Tensor) -> Result<Vec<Lu>> {
    let transpose = a.is_contiguous()?;
    let factors: Vec<Lu> = read(a)?.into_iter().map(|m| factor(if transpose { m.t() } else { m })).collect();
    write(lu_out, factors.iter().map(|f| &f.lu))?;
    i64::write(pivots_out, &factors.iter().flat_map(|f| f.pivots.iter().copied()).collect::<Vec<_>>())?;
    Ok(factors)
}

fn det(c: &Call, out: &[Tensor]) -> Result<()> {
    let factors = factor_all(c.tensor("A")?, &out[1], &out[2])?;
    let values: Vec<f64> = factors.iter().map(|f| (0..f.lu.rows).fold(f.sign, |product, i| product * f.lu.at(i, i))).collect();
    f64::write(&out[0], &values)
}

fn slogdet(c: &Call, out: &[Tensor]) -> Result<()> {
    let factors = factor_all(c.tensor("A")?, &out[2], &out[3])?;
    let diagonal = |f: &Lu| (0..f.lu.rows).map(|i| f.lu.at(i, i)).collect::<Vec<_>>();
    let sign = |v: f64| if v == 0.0 { 0.0 } else { v.signum() };
    let signs: Vec<f64> = factors.iter().map(|f| diagonal(f).into_iter().fold(f.sign, |s, v| s * sign(v))).collect();
    let logs: Vec<f64> = factors.iter().map(|f| diagonal(f).into_iter().map(|v| v.abs().ln()).sum()).collect();
    f64::write(&out[0], &signs)?;
    f64::write(&out[1], &logs)
}

fn cholesky(c: &Call, out: &[Tensor]) -> Result<()> {
    let upper = c.bool("upper")?;
    let (mut factors, mut infos) = (Vec::new(), Vec::new());
    for a in read(c.tensor("self")?)? {
        let a = if upper { a.t() } else { a };
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
fn householder(mut a: Mat, cols: usize) -> (Mat, Mat) {
    let factors = reflectors::reflected(&mut a);
    let q = reflectors::formed(&a, &factors, cols);
    for k in 0..a.cols.min(a.rows) {
        (k + 1..a.rows).for_each(|i| a.set(i, k, 0.0));
    }
    (q, a)
}

/// The upper left part of a matrix.
fn corner(m: &Mat, rows: usize, cols: usize) -> Mat {
    let mut out = Mat::zeros(rows, cols);
    for i in 0..rows {
        (0..cols).for_each(|j| out.set(i, j, m.at(i, j)));
    }
    out
}

fn qr(c: &Call, out: &[Tensor]) -> Result<()> {
    let (mode, a) = (c.str("mode")?, read(c.tensor("A")?)?);
    let (mut qs, mut rs) = (Vec::new(), Vec::new());
    for a in a {
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
}

/// Eigenvalues of a symmetric matrix, ascending, and their vectors as columns, by Jacobi rotations.
pub(super) fn symmetric(mut a: Mat) -> (Vec<f64>, Mat) {
    let n = a.rows;
    let mut v = Mat::identity(n);
    for _ in 0..60 {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a.at(i, j).powi(2)).sum();
        let scale: f64 = a.data.iter().map(|x| x * x).sum();
        if off <= 1e-32 * scale {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a.at(p, q) == 0.0 {
                    continue;
                }
                let theta = (a.at(q, q) - a.at(p, p)) / (2.0 * a.at(p, q));
                let t = 1f64.copysign(theta) / (theta.abs() + (theta * theta + 1.0).sqrt());
                let cos = 1.0 / (t * t + 1.0).sqrt();
                let sin = t * cos;
                for k in 0..n {
                    let (x, y) = (a.at(k, p), a.at(k, q));
                    a.set(k, p, cos * x - sin * y);
                    a.set(k, q, sin * x + cos * y);
                }
                for k in 0..n {
                    let (x, y) = (a.at(p, k), a.at(q, k));
                    a.set(p, k, cos * x - sin * y);
                    a.set(q, k, sin * x + cos * y);
                }
                for k in 0..n {
                    let (x, y) = (v.at(k, p), v.at(k, q));
                    v.set(k, p, cos * x - sin * y);
                    v.set(k, q, sin * x + cos * y);
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| a.at(*i, *i).total_cmp(&a.at(*j, *j)));
    let mut vectors = Mat::zeros(n, n);
    for (to, from) in order.iter().enumerate() {
        (0..n).for_each(|k| vectors.set(k, to, v.at(k, *from)));
    }
    (order.iter().map(|i| a.at(*i, *i)).collect(), vectors)
}

fn eigh(c: &Call, out: &[Tensor]) -> Result<()> {
    let lower = c.str("UPLO")?.eq_ignore_ascii_case("L");
    let (mut values, mut vectors) = (Vec::new(), Vec::new());
    for a in read(c.tensor("A")?)? {
        let mut whole = a.clone();
        for i in 0..a.rows {
            for j in 0..i {
                let v = if lower { a.at(i, j) } else { a.at(j, i) };
                whole.set(i, j, v);
                whole.set(j, i, v);
            }
        }
        let (l, v) = symmetric(whole);
        values.extend(l);
        vectors.push(v);
    }
    f64::write(&out[0], &values)?;
    if c.bool("compute_v")? { write(&out[1], &vectors) } else { Ok(()) }
}

/// Singular values of a matrix with at least as many rows as columns, falling, with U (m x n) and V (n x n), by one-sided
/// Jacobi rotations.
pub(super) fn tall_svd(mut a: Mat) -> (Mat, Vec<f64>, Mat) {
    let (m, n) = (a.rows, a.cols);
    let mut v = Mat::identity(n);
    for _ in 0..60 {
        let mut turned = false;
        for p in 0..n {
            for q in p + 1..n {
                let sum = |f: &dyn Fn(usize) -> f64| (0..m).map(f).sum::<f64>();
                let (x, y) = (sum(&|k| a.at(k, p).powi(2)), sum(&|k| a.at(k, q).powi(2)));
                let dot = sum(&|k| a.at(k, p) * a.at(k, q));
                if dot.abs() <= 1e-16 * (x * y).sqrt() || dot == 0.0 {
                    continue;
                }
                turned = true;
                let zeta = (y - x) / (2.0 * dot);
                let t = 1f64.copysign(zeta) / (zeta.abs() + (zeta * zeta + 1.0).sqrt());
                let cos = 1.0 / (t * t + 1.0).sqrt();
                let sin = t * cos;
                for target in [&mut a, &mut v] {
                    for k in 0..target.rows {
                        let (x, y) = (target.at(k, p), target.at(k, q));
                        target.set(k, p, cos * x - sin * y);
                        target.set(k, q, sin * x + cos * y);
                    }
                }
            }
        }
        if !turned {
            break;
        }
    }
    let norms: Vec<f64> = (0..n).map(|j| (0..m).map(|k| a.at(k, j).powi(2)).sum::<f64>().sqrt()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| norms[*j].total_cmp(&norms[*i]));
    let (mut u, mut sorted) = (Mat::zeros(m, n), Mat::zeros(n, n));
    for (to, from) in order.iter().enumerate() {
        (0..n).for_each(|k| sorted.set(k, to, v.at(k, *from)));
        (0..m).for_each(|k| u.set(k, to, if norms[*from] > 0.0 { a.at(k, *from) / norms[*from] } else { 0.0 }));
    }
    (complete(u, n), order.iter().map(|i| norms[*i]).collect(), sorted)
}

/// Orthonormal columns: those that are zero, and as many more as make `count`, are found by projection.
fn complete(u: Mat, count: usize) -> Mat {
    let m = u.rows;
    let mut columns: Vec<Vec<f64>> = (0..u.cols).map(|j| (0..m).map(|i| u.at(i, j)).collect()).collect();
    columns.resize(count, vec![0.0; m]);
    let mut next = 0;
    for j in 0..count {
        while columns[j].iter().all(|v| *v == 0.0) && next < m {
            let mut candidate = vec![0.0; m];
            candidate[next] = 1.0;
            next += 1;
            // Twice, so that rounding leaves nothing of the others.
            for _ in 0..2 {
                for other in columns.iter().filter(|c| c.iter().any(|v| *v != 0.0)) {
                    let dot: f64 = other.iter().zip(&candidate).map(|(a, b)| a * b).sum();
                    candidate.iter_mut().zip(other).for_each(|(c, o)| *c -= dot * o);
                }
            }
            let norm = candidate.iter().map(|v| v * v).sum::<f64>().sqrt();
            if norm > 1e-8 {
                columns[j] = candidate.into_iter().map(|v| v / norm).collect();
            }
        }
    }
    let mut out = Mat::zeros(m, count);
    for (j, column) in columns.iter().enumerate() {
        column.iter().enumerate().for_each(|(i, v)| out.set(i, j, *v));
    }
    out
}

/// Singular values are those of finite numbers.
pub(super) fn check_finite(a: &Mat) -> Result<()> {
    if a.data.iter().all(|x| x.is_finite()) {
        return Ok(());
    }
    let said = "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.";
    Err(Error::new(ErrorKind::LinAlg, said))
}

fn svd(c: &Call, out: &[Tensor]) -> Result<()> {
    let (full, vectors) = (c.bool("full_matrices")?, c.bool("compute_uv")?);
    let (mut us, mut values, mut vs) = (Vec::new(), Vec::new(), Vec::new());
    for a in read(c.tensor("A")?)? {
        let (m, n) = (a.rows, a.cols);
        check_finite(&a)?;
        let (u, s, v) = if m >= n {
            tall_svd(a)
        } else {
            let (v, s, u) = tall_svd(a.t());
            (u, s, v)
        };
        values.extend(s);
        us.push(if full { complete(u, m) } else { u });
        vs.push(if full { complete(v, n) } else { v }.t());
    }
    f64::write(&out[1], &values)?;
    if !vectors {
        return Ok(());
    }
    write(&out[0], &us)?;
    write(&out[2], &vs)
}

/// Fails where a factorization says that it failed.
fn check_errors(c: &Call, _: &[Tensor]) -> Result<()> {
    let info = c.tensor("info")?;
    let g = info.concrete()?;
    let values: Vec<i32> = info.with_slice::<i32, _>(|s| s[g.offset..g.offset + g.numel()].to_vec())?;
    let Some(i) = values.iter().position(|v| *v != 0) else { return Ok(()) };
    let name = c.str("api_name")?;
    let place = if g.sizes.is_empty() { String::new() } else { format!("(Batch element {i}): ") };
    let said = format!("{name}: {place}{}", crate::ops::linalg::failure(name, values[i].into()));
    // A factor with a zero on its diagonal is a factor all the same.
    Err(if name.contains("lu_factor") { Error::runtime(said) } else { Error::new(ErrorKind::LinAlg, said) })
}
