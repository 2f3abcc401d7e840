//! Eigenvalues and singular values of complex matrices: of Hermitian ones and of singular values by plane rotations, which are as
//! precise as numbers are; of others by QR steps with shifts on a Hessenberg form.

use super::complex::write as write_values;
use super::complex_linalg::{formed, read, reflected, write};
use super::complex_number::{C, ONE, c};
use super::dense::Lane;
use super::linalg::Mat;
use super::lu::{Decomposed, adjoint, identity, least_squares_of, product, pseudo_inverses, sides};
use diagnostics::error::{Error, ErrorKind, Result};
use dispatch::{Call, KernelTable};
use tensor::Tensor;

/// Registers the kernels.
pub(super) fn register(t: &mut KernelTable) {
    t.fill_complex("aten._linalg_eigh.default", eigh);
    t.fill_complex("aten._linalg_svd.default", svd);
    t.fill_complex("aten.linalg_pinv.atol_rtol_tensor", |call, o| {
        let singular = |a: &Mat<C>| check_finite(a).map(|()| decomposed(a));
        let made = pseudo_inverses(call, read(call.tensor("self")?)?, singular, |a| hermitian(a.clone(), true))?;
        write(&o[0], &made)
    });
    t.fill_complex("aten.linalg_lstsq.default", |call, o| {
        least_squares_of(call, o, &read(call.tensor("self")?)?, &read(&sides(call)?)?, decomposed, write_values)
    });
}

/// What turns two columns so that they are orthogonal, or a Hermitian matrix so that two of its elements vanish: a cosine, a sine, and
/// the direction of what is between them. `first` and `second` are their squares, or the diagonal's elements.
fn rotation(first: f64, second: f64, between: C) -> (f64, f64, C) {
    let size = between.abs();
    let ratio = (second - first) / (2.0 * size);
    let tangent = 1f64.copysign(ratio) / (ratio.abs() + (1.0 + ratio * ratio).sqrt());
    let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
    (cosine, cosine * tangent, between.scale(1.0 / size))
}

/// Turns two columns.
fn turn(m: &mut Mat<C>, [p, q]: [usize; 2], (cosine, sine, direction): (f64, f64, C)) {
    for i in 0..m.rows {
        let (x, y) = (m.at(i, p), m.at(i, q) * direction.conj());
        m.set(i, p, x.scale(cosine) - y.scale(sine));
        m.set(i, q, x.scale(sine) + y.scale(cosine));
    }
}

fn in_order(m: &Mat<C>, order: &[usize]) -> Mat<C> {
    let mut out = Mat::zeros(m.rows, order.len());
    (0..m.rows).for_each(|i| order.iter().enumerate().for_each(|(to, from)| out.set(i, to, m.at(i, *from))));
    out
}

/// Eigenvalues in ascending order, and eigenvectors, of the matrix that one triangle says. Of each vector the element that the library's
/// reflectors leave alone is real.
fn hermitian(a: Mat<C>, lower: bool) -> (Vec<f64>, Mat<C>) {
    let n = a.rows;
    let (mut a, mut vectors) = (if lower { a } else { adjoint(&a) }, identity(n));
    for i in 0..n {
        a.set(i, i, c(a.at(i, i).re, 0.0));
        (0..i).for_each(|j| a.set(j, i, a.at(i, j).conj()));
    }
    for _ in 0..60 {
        let mut moved = false;
        for p in 0..n {
            for q in p + 1..n {
                let between = a.at(p, q);
                let scale = a.at(p, p).re.abs() + a.at(q, q).re.abs();
                if between == C::default() || between.abs() <= f64::EPSILON * 1e-2 * scale {
                    continue;
                }
                moved = true;
                let by = rotation(a.at(p, p).re, a.at(q, q).re, between);
                turn(&mut a, [p, q], by);
                let mut turned = adjoint(&a);
                turn(&mut turned, [p, q], by);
                a = adjoint(&turned);
                turn(&mut vectors, [p, q], by);
            }
        }
        if !moved {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| a.at(*i, *i).re.total_cmp(&a.at(*j, *j).re));
    let mut vectors = in_order(&vectors, &order);
    let left_alone = if lower { 0 } else { n.saturating_sub(1) };
    for j in 0..n {
        let z = vectors.at(left_alone, j);
        let back = if z == C::default() { ONE } else { z.conj().scale(1.0 / z.abs()) };
        (0..n).for_each(|i| vectors.set(i, j, vectors.at(i, j) * back));
    }
    (order.into_iter().map(|i| a.at(i, i).re).collect(), vectors)
}

fn eigh(call: &Call, out: &[Tensor]) -> Result<()> {
    let lower = call.str("UPLO")?.eq_ignore_ascii_case("L");
    let (mut values, mut vectors) = (Vec::new(), Vec::new());
    for a in read(call.tensor("A")?)? {
        let (l, v) = hermitian(a, lower);
        values.extend(l);
        vectors.push(v);
    }
    f64::write(&out[0], &values)?;
    if call.bool("compute_v")? { write(&out[1], &vectors) } else { Ok(()) }
}

/// Singular values in descending order, and vectors: (U, s, V), with as many columns as values.
fn decomposed(a: &Mat<C>) -> Decomposed<C> {
    if a.rows < a.cols {
        let (v, s, u) = decomposed(&adjoint(a));
        return (u, s, v);
    }
    let n = a.cols;
    let (mut columns, mut v) = (a.clone(), identity(n));
    let square = |m: &Mat<C>, j: usize| (0..m.rows).map(|i| m.at(i, j).square()).sum::<f64>();
    for _ in 0..60 {
        let mut moved = false;
        for p in 0..n {
            for q in p + 1..n {
                let between: C = (0..a.rows).map(|i| columns.at(i, p).conj() * columns.at(i, q)).sum();
                let (first, second) = (square(&columns, p), square(&columns, q));
                if between.abs() <= f64::EPSILON * (first * second).sqrt() {
                    continue;
                }
                moved = true;
                let by = rotation(first, second, between);
                turn(&mut columns, [p, q], by);
                turn(&mut v, [p, q], by);
            }
        }
        if !moved {
            break;
        }
    }
    let lengths: Vec<f64> = (0..n).map(|j| square(&columns, j).sqrt()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| lengths[*j].total_cmp(&lengths[*i]));
    let values: Vec<f64> = order.iter().map(|j| lengths[*j]).collect();
    let mut u = in_order(&columns, &order);
    // Below this a column is what rounding left.
    let bound = values.first().copied().unwrap_or(0.0) * f64::EPSILON;
    let kept = values.iter().filter(|v| **v > bound).count();
    (0..kept).for_each(|j| (0..u.rows).for_each(|i| u.set(i, j, u.at(i, j).scale(1.0 / values[j]))));
    (completed(&u, kept, n), values, in_order(&v, &order))
}

/// The first columns of a matrix, which are orthonormal, with further ones up to a count.
fn completed(m: &Mat<C>, kept: usize, count: usize) -> Mat<C> {
    let mut first = in_order(m, &(0..kept).collect::<Vec<_>>());
    let factors = reflected(&mut first);
    let whole = formed(&first, &factors, count);
    let mut out = Mat::zeros(m.rows, count);
    for i in 0..m.rows {
        (0..count).for_each(|j| out.set(i, j, if j < kept { m.at(i, j) } else { whole.at(i, j) }));
    }
    out
}

fn svd(call: &Call, out: &[Tensor]) -> Result<()> {
    let (full, vectors) = (call.bool("full_matrices")?, call.bool("compute_uv")?);
    let (mut us, mut values, mut vs) = (Vec::new(), Vec::new(), Vec::new());
    for a in read(call.tensor("A")?)? {
        check_finite(&a)?;
        let (mut u, s, mut v) = decomposed(&a);
        if full {
            (u, v) = (completed(&u, u.cols, u.rows), completed(&v, v.cols, v.rows));
        }
        values.extend(s);
        us.push(u);
        vs.push(adjoint(&v));
    }
    f64::write(&out[1], &values)?;
    if !vectors {
        return Ok(());
    }
    write(&out[0], &us)?;
    write(&out[2], &vs)
}

/// Singular values are those of finite numbers.
fn check_finite(a: &Mat<C>) -> Result<()> {
    if a.data.iter().all(|z| z.re.is_finite() && z.im.is_finite()) {
        return Ok(());
    }
    let said = "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.";
    Err(Error::new(ErrorKind::LinAlg, said))
}

/// A similar matrix without elements below the first subdiagonal.
fn hessenberg(mut a: Mat<C>) -> Mat<C> {
    let n = a.rows;
    for k in 1..n.saturating_sub(1) {
        let mut column = Mat { rows: n - k, cols: 1, data: (k..n).map(|i| a.at(i, k - 1)).collect() };
        let tau = reflected(&mut column)[0];
        // As a matrix: the reflector's adjoint on the left, itself on the right.
        let part = formed(&column, &[tau], n - k);
        let mut whole = identity(n);
        (0..n - k).for_each(|i| (0..n - k).for_each(|j| whole.set(k + i, k + j, part.at(i, j))));
        a = product(&product(&adjoint(&whole), &a), &whole);
        (k + 1..n).for_each(|i| a.set(i, k - 1, C::default()));
    }
    a
}

/// The eigenvalue of a block of two that is nearer its lower right element.
fn shift(a: &Mat<C>, last: usize) -> C {
    let [x, y, z, w] = [a.at(last - 1, last - 1), a.at(last - 1, last), a.at(last, last - 1), a.at(last, last)];
    let half = (x - w).scale(0.5);
    let root = (half * half + y * z).sqrt();
    let [up, down] = [half + root, half - root];
    w + if up.abs() < down.abs() { up } else { down }
}

/// Eigenvalues, in the order of the diagonal.
pub(super) fn eigenvalues(a: Mat<C>) -> Result<Vec<C>> {
    let mut a = hessenberg(a);
    let n = a.rows;
    let norm: f64 = a.data.iter().map(|z| z.abs()).sum();
    let (mut end, mut steps) = (n, 0);
    while end > 1 {
        let last = end - 1;
        let splits = |l: &usize| {
            let scale = a.at(l - 1, l - 1).abs() + a.at(*l, *l).abs();
            a.at(*l, l - 1).abs() <= f64::EPSILON * if scale == 0.0 { norm } else { scale }
        };
        let start = (1..end).rev().find(splits).unwrap_or(0);
        if start == last {
            (end, steps) = (last, 0);
            continue;
        }
        if steps == 300 {
            return Err(Error::runtime("linalg.eig: The algorithm failed to converge."));
        }
        steps += 1;
        // Where steps go round in circles, another shift gets them out.
        let by = if steps % 10 == 0 { c(a.at(last, last - 1).abs(), 0.0) + a.at(last, last) } else { shift(&a, last) };
        step(&mut a, start, last, by);
    }
    Ok((0..n).map(|i| a.at(i, i)).collect())
}

/// A QR step on the block from `start` to `last`: rotations from the left, then from the right.
fn step(a: &mut Mat<C>, start: usize, last: usize, by: C) {
    (start..=last).for_each(|i| a.set(i, i, a.at(i, i) - by));
    let mut rotations = Vec::new();
    for k in start..last {
        let (x, y) = (a.at(k, k), a.at(k + 1, k));
        let length = (x.square() + y.square()).sqrt();
        let (cosine, sine) = if length == 0.0 { (ONE, C::default()) } else { (x.scale(1.0 / length), y.scale(1.0 / length)) };
        for j in k..=last {
            let (p, q) = (a.at(k, j), a.at(k + 1, j));
            a.set(k, j, cosine.conj() * p + sine.conj() * q);
            a.set(k + 1, j, cosine * q - sine * p);
        }
        rotations.push((cosine, sine));
    }
    for (k, (cosine, sine)) in (start..last).zip(rotations) {
        for i in start..=(k + 2).min(last) {
            let (p, q) = (a.at(i, k), a.at(i, k + 1));
            a.set(i, k, p * cosine + q * sine);
            a.set(i, k + 1, q * cosine.conj() - p * sine.conj());
        }
    }
    (start..=last).for_each(|i| a.set(i, i, a.at(i, i) + by));
}
