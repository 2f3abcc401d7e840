//! Linear algebra of complex matrices in pairs of f64, rounded once: elimination, triangular systems, Householder and Cholesky factors.
//! Real matrices have kernels of their own, whose steps are ordered as the library orders them for a precision; here nothing is lost
//! by plain steps.

use super::complex::{read as read_values, write as write_values};
use super::complex_number::{C, ONE, c};
use super::dense::{Lane, with_trailing_one};
use super::linalg::{Mat, batched};
use super::lu::{adjoint, exponential, identity, lu_parts, pivots_of};
use diagnostics::error::Result;
use dispatch::{Call, KernelTable};
use shape::SymInt;
use tensor::Tensor;

/// Registers the kernels.
pub(super) fn register(t: &mut KernelTable) {
    t.fill_complex("aten.linalg_inv_ex.default", inverse);
    t.fill_complex("aten._linalg_solve_ex.default", solve);
    t.fill_complex("aten.linalg_lu_solve.default", lu_solve);
    t.fill_complex("aten.linalg_solve_triangular.default", solve_triangular);
    t.fill_complex("aten._linalg_det.default", det);
    t.fill_complex("aten._linalg_slogdet.default", slogdet);
    t.fill_complex("aten.linalg_cholesky_ex.default", cholesky);
    t.fill_complex("aten.linalg_qr.default", qr);
    t.fill_complex("aten.linalg_lu_factor_ex.default", |c, o| {
        let factors = factors_of(c.tensor("A")?, c.bool("pivot")?)?;
        write_factors(&factors, &o[0], &o[1])?;
        i64::write(&o[2], &factors.iter().map(|f| f.info).collect::<Vec<_>>())
    });
    t.fill_complex("aten.linalg_lu.default", |c, o| {
        let pivot = c.bool("pivot")?;
        let parts: Vec<[Mat<C>; 3]> = factors_of(c.tensor("A")?, pivot)?.iter().map(|f| lu_parts(&f.lu, &f.pivots)).collect();
        write_parts(&parts, [pivot, true, true], o)
    });
    t.fill_complex("aten.lu_unpack.default", |c, o| {
        let lus = read(c.tensor("LU_data")?)?;
        let (data, turned) = (c.bool("unpack_data")?, c.bool("unpack_pivots")?);
        let pivots = pivots_of(c, lus.first().map_or(0, |lu| lu.rows))?;
        let of = |i: usize, lu: &Mat<C>| {
            let k = lu.rows.min(lu.cols);
            lu_parts(lu, if turned { &pivots[i * k..(i + 1) * k] } else { &[] })
        };
        let parts: Vec<[Mat<C>; 3]> = lus.iter().enumerate().map(|(i, lu)| of(i, lu)).collect();
        write_parts(&parts, [turned, data, data], o)
    });
    t.fill_complex("aten.linalg_matrix_exp.default", |c, o| {
        let made: Vec<Mat<C>> = read(c.tensor("self")?)?.into_iter().map(exponential).collect();
        write(&o[0], &made)
    });
    t.fill_complex("aten.cholesky_solve.default", |c, o| {
        let (upper, sizes) = (c.bool("upper")?, o[0].sizes());
        let batch = &sizes[..sizes.len() - 2];
        let factors = read(&batched(c.tensor("input2")?, batch, 2)?)?;
        let mut solved = read(&batched(c.tensor("self")?, batch, 2)?)?;
        factors.iter().zip(&mut solved).for_each(|(m, x)| from_cholesky(m, upper, x));
        write(&o[0], &solved)
    });
    t.fill_complex("aten.cholesky_inverse.default", |c, o| {
        let upper = c.bool("upper")?;
        let inverted = |m: Mat<C>| {
            let mut x = identity(m.rows);
            from_cholesky(&m, upper, &mut x);
            x
        };
        let made: Vec<Mat<C>> = read(c.tensor("self")?)?.into_iter().map(inverted).collect();
        write(&o[0], &made)
    });
    t.fill_complex("aten.geqrf.default", |c, o| {
        let (mut made, mut factors) = (Vec::new(), Vec::new());
        for mut a in read(c.tensor("self")?)? {
            factors.extend(reflected(&mut a));
            made.push(a);
        }
        write(&o[0], &made)?;
        write_values(&o[1], &factors)
    });
    t.fill_complex("aten.linalg_householder_product.default", |c, o| {
        let made = with_reflectors(c.tensor("input")?, c.tensor("tau")?, |_, a, tau| {
            let mut x = Mat::zeros(a.rows, a.cols);
            (0..a.cols).for_each(|i| x.set(i, i, ONE));
            (0..tau.len()).rev().for_each(|k| reflect(a, k, tau[k], &mut x));
            x
        })?;
        write(&o[0], &made)
    });
    t.fill_complex("aten.ormqr.default", |c, o| {
        let (left, transpose) = (c.bool("left")?, c.bool("transpose")?);
        let others = read(c.tensor("input3")?)?;
        let made = with_reflectors(c.tensor("self")?, c.tensor("input2")?, |i, a, tau| {
            let mut x = if left { others[i].clone() } else { adjoint(&others[i]) };
            // The adjoint of the product has the reflectors' adjoints in the other order.
            if left == transpose {
                (0..tau.len()).for_each(|k| reflect(a, k, tau[k].conj(), &mut x));
            } else {
                (0..tau.len()).rev().for_each(|k| reflect(a, k, tau[k], &mut x));
            }
            if left { x } else { adjoint(&x) }
        })?;
        write(&o[0], &made)
    });
}

/// The matrices of a tensor, in order.
pub(super) fn read(t: &Tensor) -> Result<Vec<Mat<C>>> {
    let sizes = t.concrete()?.sizes;
    let n = sizes.len();
    let (rows, cols) = (sizes[n - 2], sizes[n - 1]);
    let data = read_values(&t.into(), &sizes)?;
    let count: usize = sizes[..n - 2].iter().product();
    Ok((0..count).map(|i| Mat { rows, cols, data: data[i * rows * cols..(i + 1) * rows * cols].to_vec() }).collect())
}

/// Sets the matrices of a tensor.
pub(super) fn write<'a>(t: &Tensor, mats: impl IntoIterator<Item = &'a Mat<C>>) -> Result<()> {
    write_values(t, &mats.into_iter().flat_map(|m| m.data.iter().copied()).collect::<Vec<_>>())
}

fn write_parts(parts: &[[Mat<C>; 3]], wanted: [bool; 3], o: &[Tensor]) -> Result<()> {
    (0..3).filter(|i| wanted[*i]).try_for_each(|i| write(&o[i], parts.iter().map(|p| &p[i])))
}

/// PA = LU in one matrix, rows exchanged (counted from one), the first zero pivot (counted from one; 0: none) and the sign of P.
pub(super) struct Factors {
    pub(super) lu: Mat<C>,
    pub(super) pivots: Vec<i64>,
    info: i64,
    sign: f64,
}

/// Factors a matrix of any shape, with or without exchanging rows.
pub(super) fn factor(mut lu: Mat<C>, exchange: bool) -> Factors {
    let (mut pivots, mut info, mut sign) = (Vec::new(), 0, 1.0);
    // The library measures pivots by both parts.
    let size = |z: C| z.re.abs() + z.im.abs();
    for k in 0..lu.rows.min(lu.cols) {
        let below = k..if exchange { lu.rows } else { k + 1 };
        let p = below.fold(k, |best, i| if size(lu.at(i, k)) > size(lu.at(best, k)) { i } else { best });
        pivots.push(p as i64 + 1);
        if p != k {
            lu.swap_rows(p, k);
            sign = -sign;
        }
        let pivot = lu.at(k, k);
        if pivot == C::default() {
            info = if info == 0 { k as i64 + 1 } else { info };
            continue;
        }
        for i in k + 1..lu.rows {
            let by = lu.at(i, k) / pivot;
            lu.set(i, k, by);
            (k + 1..lu.cols).for_each(|j| lu.set(i, j, lu.at(i, j) - by * lu.at(k, j)));
        }
    }
    Factors { lu, pivots, info, sign }
}

/// Solves a triangular system in place.
fn substitute(a: &Mat<C>, x: &mut Mat<C>, upper: bool, unit: bool) {
    let order: Vec<usize> = if upper { (0..a.rows).rev().collect() } else { (0..a.rows).collect() };
    for j in 0..x.cols {
        for (step, &i) in order.iter().enumerate() {
            let rest = order[..step].iter().fold(x.at(i, j), |rest, &k| rest - a.at(i, k) * x.at(k, j));
            x.set(i, j, if unit { rest } else { rest / a.at(i, i) });
        }
    }
}

/// Solves A X = B, or with the adjoint of A, from the factorization of A.
pub(super) fn solve_factored(lu: &Mat<C>, pivots: &[i64], b: &Mat<C>, turned: bool) -> Mat<C> {
    let mut x = b.clone();
    let exchange = |x: &mut Mat<C>, k: usize| x.swap_rows(pivots[k] as usize - 1, k);
    if turned {
        let lu = adjoint(lu);
        substitute(&lu, &mut x, false, false);
        substitute(&lu, &mut x, true, true);
        (0..lu.rows).rev().for_each(|k| exchange(&mut x, k));
    } else {
        (0..lu.rows).for_each(|k| exchange(&mut x, k));
        substitute(lu, &mut x, false, true);
        substitute(lu, &mut x, true, false);
    }
    x
}

/// Both triangles of a Cholesky factorization.
fn from_cholesky(m: &Mat<C>, upper: bool, x: &mut Mat<C>) {
    let lower = if upper { adjoint(m) } else { m.clone() };
    substitute(&lower, x, false, false);
    substitute(&adjoint(&lower), x, true, false);
}

fn factors_of(a: &Tensor, exchange: bool) -> Result<Vec<Factors>> {
    Ok(read(a)?.into_iter().map(|a| factor(a, exchange)).collect())
}

fn write_factors(factors: &[Factors], lu: &Tensor, pivots: &Tensor) -> Result<()> {
    write(lu, factors.iter().map(|f| &f.lu))?;
    i64::write(pivots, &factors.iter().flat_map(|f| f.pivots.iter().copied()).collect::<Vec<_>>())
}

fn inverse(c: &Call, out: &[Tensor]) -> Result<()> {
    let factors = factors_of(c.tensor("A")?, true)?;
    let inverses: Vec<Mat<C>> = factors.iter().map(|f| solve_factored(&f.lu, &f.pivots, &identity(f.lu.rows), false)).collect();
    write(&out[0], &inverses)?;
    i64::write(&out[1], &factors.iter().map(|f| f.info).collect::<Vec<_>>())
}

/// `A X = B`, or `X A = B`, whose adjoint is solved from the left.
fn solved(lu: &Mat<C>, pivots: &[i64], b: &Mat<C>, left: bool, turned: bool) -> Mat<C> {
    if left { solve_factored(lu, pivots, b, turned) } else { adjoint(&solve_factored(lu, pivots, &adjoint(b), !turned)) }
}

fn solve(c: &Call, out: &[Tensor]) -> Result<()> {
    let (a, b, left) = (c.tensor("A")?, c.tensor("B")?, c.bool("left")?);
    // A right side of vectors is one of matrices with a single column.
    let (result, sizes) = (&out[0], out[0].sizes());
    let vector = b.dim() == 1 || (a.dim() == b.dim() + 1 && sizes.len() == b.dim() && a.dim() == sizes.len() + 1);
    let keep = if vector { 1 } else { 2 };
    let batch: &[SymInt] = &sizes[..sizes.len() - keep];
    let b = batched(b, batch, keep)?;
    let b = if vector { with_trailing_one(&b) } else { b };
    let factors = factors_of(a, true)?;
    write_factors(&factors, &out[1], &out[2])?;
    i64::write(&out[3], &factors.iter().map(|f| f.info).collect::<Vec<_>>())?;
    let all = factors_of(&batched(a, batch, 2)?, true)?;
    let made: Vec<Mat<C>> = all.iter().zip(read(&b)?).map(|(f, b)| solved(&f.lu, &f.pivots, &b, left, false)).collect();
    write(result, &made)
}

fn lu_solve(c: &Call, out: &[Tensor]) -> Result<()> {
    let (left, turned) = (c.bool("left")?, c.bool("adjoint")?);
    let sizes = out[0].sizes();
    let batch = &sizes[..sizes.len() - 2];
    let pivots = super::linalg::checked_pivots(c, batch)?;
    let lus = read(&batched(c.tensor("LU")?, batch, 2)?)?;
    let sides = read(&batched(c.tensor("B")?, batch, 2)?)?;
    let one = |(i, (lu, b)): (usize, (&Mat<C>, Mat<C>))| solved(lu, &pivots[i * lu.rows..][..lu.rows], &b, left, turned);
    let made: Vec<Mat<C>> = lus.iter().zip(sides).enumerate().map(one).collect();
    write(&out[0], &made)
}

fn solve_triangular(c: &Call, out: &[Tensor]) -> Result<()> {
    let [upper, left, unit] = [c.bool("upper")?, c.bool("left")?, c.bool("unitriangular")?];
    let sizes = out[0].sizes();
    let batch = &sizes[..sizes.len() - 2];
    let (a, mut b) = (read(&batched(c.tensor("self")?, batch, 2)?)?, read(&batched(c.tensor("B")?, batch, 2)?)?);
    for (a, b) in a.iter().zip(&mut b) {
        if left {
            substitute(a, b, upper, unit);
        } else {
            let mut x = b.t();
            substitute(&a.t(), &mut x, !upper, unit);
            *b = x.t();
        }
    }
    write(&out[0], &b)
}

fn diagonal(f: &Factors) -> impl Iterator<Item = C> + '_ {
    (0..f.lu.rows).map(|i| f.lu.at(i, i))
}

fn det(c: &Call, out: &[Tensor]) -> Result<()> {
    let factors = factors_of(c.tensor("A")?, true)?;
    write_factors(&factors, &out[1], &out[2])?;
    let product = |f: &Factors| diagonal(f).fold(ONE, |product, z| product * z).scale(f.sign);
    write_values(&out[0], &factors.iter().map(product).collect::<Vec<_>>())
}

fn slogdet(call: &Call, out: &[Tensor]) -> Result<()> {
    let factors = factors_of(call.tensor("A")?, true)?;
    write_factors(&factors, &out[2], &out[3])?;
    let direction = |z: C| if z == C::default() { z } else { z.scale(1.0 / z.abs()) };
    let sign = |f: &Factors| diagonal(f).fold(c(f.sign, 0.0), |sign, z| sign * direction(z));
    write_values(&out[0], &factors.iter().map(sign).collect::<Vec<_>>())?;
    f64::write(&out[1], &factors.iter().map(|f| diagonal(f).map(|z| z.abs().ln()).sum()).collect::<Vec<f64>>())
}

fn cholesky(call: &Call, out: &[Tensor]) -> Result<()> {
    let upper = call.bool("upper")?;
    let (mut factors, mut infos) = (Vec::new(), Vec::new());
    for a in read(call.tensor("self")?)? {
        let a = if upper { adjoint(&a) } else { a };
        let n = a.rows;
        let (mut l, mut info) = (Mat::<C>::zeros(n, n), 0);
        'columns: for j in 0..n {
            for i in j..n {
                let rest = (0..j).fold(a.at(i, j), |rest, k| rest - l.at(i, k) * l.at(j, k).conj());
                if i > j {
                    l.set(i, j, rest / l.at(j, j));
                } else if rest.re > 0.0 {
                    l.set(j, j, c(rest.re.sqrt(), 0.0));
                } else {
                    info = j as i64 + 1;
                    break 'columns;
                }
            }
        }
        infos.push(info);
        factors.push(if upper { adjoint(&l) } else { l });
    }
    write(&out[0], &factors)?;
    i64::write(&out[1], &infos)
}

/// Makes a matrix the triangle R, whose diagonal is real, with the reflectors below it; gives their factors.
pub(super) fn reflected(a: &mut Mat<C>) -> Vec<C> {
    let (m, n) = (a.rows, a.cols);
    let mut factors = Vec::new();
    for k in 0..n.min(m) {
        let alpha = a.at(k, k);
        let below = (k + 1..m).map(|i| a.at(i, k).square()).sum::<f64>();
        if below == 0.0 && alpha.im == 0.0 {
            factors.push(C::default());
            continue;
        }
        let beta = -(alpha.square() + below).sqrt().copysign(alpha.re);
        let tau = c((beta - alpha.re) / beta, -alpha.im / beta);
        let by = alpha - c(beta, 0.0);
        (k + 1..m).for_each(|i| a.set(i, k, a.at(i, k) / by));
        a.set(k, k, c(beta, 0.0));
        reflect_columns(&a.clone(), k, tau.conj(), a, k + 1);
        factors.push(tau);
    }
    factors
}

/// Reflects the columns of `x`, from one on, by the `k`-th reflector of `a`.
fn reflect_columns(a: &Mat<C>, k: usize, tau: C, x: &mut Mat<C>, from: usize) {
    let part = |i: usize| if i == k { ONE } else { a.at(i, k) };
    for j in from..x.cols {
        let along = tau * (k..a.rows).map(|i| part(i).conj() * x.at(i, j)).sum::<C>();
        (k..a.rows).for_each(|i| x.set(i, j, x.at(i, j) - part(i) * along));
    }
}

fn reflect(a: &Mat<C>, k: usize, tau: C, x: &mut Mat<C>) {
    reflect_columns(a, k, tau, x, 0);
}

/// The first columns of the product of a matrix's reflectors.
pub(super) fn formed(a: &Mat<C>, factors: &[C], cols: usize) -> Mat<C> {
    let mut x = Mat::zeros(a.rows, cols);
    (0..cols).for_each(|i| x.set(i, i, ONE));
    (0..factors.len()).rev().for_each(|k| reflect(a, k, factors[k], &mut x));
    x
}

fn with_reflectors(a: &Tensor, tau: &Tensor, f: impl Fn(usize, &Mat<C>, &[C]) -> Mat<C>) -> Result<Vec<Mat<C>>> {
    let sizes = tau.concrete()?.sizes;
    let (count, tau) = (sizes[sizes.len() - 1], read_values(&tau.into(), &sizes)?);
    Ok(read(a)?.iter().enumerate().map(|(i, a)| f(i, a, &tau[i * count..(i + 1) * count])).collect())
}

fn qr(call: &Call, out: &[Tensor]) -> Result<()> {
    let mode = call.str("mode")?;
    let (mut qs, mut rs) = (Vec::new(), Vec::new());
    for mut a in read(call.tensor("A")?)? {
        let factors = reflected(&mut a);
        let k = if mode == "complete" { a.rows } else { a.rows.min(a.cols) };
        qs.push(formed(&a, &factors, k));
        let mut r = Mat::zeros(k, a.cols);
        (0..k).for_each(|i| (i..a.cols).for_each(|j| r.set(i, j, a.at(i, j))));
        rs.push(r);
    }
    if mode != "r" {
        write(&out[0], &qs)?;
    }
    write(&out[1], &rs)
}
