//! Eigenvalues of a general real matrix: a Hessenberg form by reflections, then QR steps with two shifts at once, which stay in real
//! numbers; eigenvectors, also of complex matrices, by inverse iteration.

use super::complex::write;
use super::complex_linalg::{factor, read as read_complex, solve_factored};
use super::complex_number::{C, ONE, c};
use super::linalg::Mat;
use diagnostics::error::{Error, Result};
use dispatch::{Call, Kernel, KernelTable};
use tensor::Tensor;

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.complex("aten.linalg_eig.default", Kernel::Fill(eig));
}

const ZERO: C = C { re: 0.0, im: 0.0 };

fn eig(call: &Call, out: &[Tensor]) -> Result<()> {
    let x = call.tensor("self")?;
    let (mut values, mut vectors) = (Vec::new(), Vec::new());
    for a in read_complex(x)? {
        if a.data.iter().any(|z| !z.re.is_finite() || !z.im.is_finite()) {
            return Err(Error::runtime("torch.linalg.eig: input tensor should not contain infs or NaNs."));
        }
        let is_real = !x.dtype().is_complex();
        let found = if is_real {
            eigenvalues(hessenberg(Mat { rows: a.rows, cols: a.cols, data: a.data.iter().map(|z| z.re).collect() }))?
        } else {
            super::complex_eigen::eigenvalues(a.clone())?
        };
        let columns: Vec<Vec<C>> = found.iter().map(|l| eigenvector(&a, *l, is_real)).collect();
        (0..a.rows).for_each(|i| vectors.extend(columns.iter().map(|column| column[i])));
        values.extend(found);
    }
    write(&out[0], &values)?;
    write(&out[1], &vectors)
}

/// A similar matrix without elements below the first subdiagonal.
fn hessenberg(mut a: Mat) -> Mat {
    let n = a.rows;
    for k in 1..n.saturating_sub(1) {
        let below: f64 = (k + 1..n).map(|i| a.at(i, k - 1).powi(2)).sum();
        if below == 0.0 {
            continue;
        }
        let alpha = a.at(k, k - 1);
        let beta = -(alpha * alpha + below).sqrt().copysign(alpha);
        let tau = (beta - alpha) / beta;
        let mut v = vec![0.0; n];
        v[k] = 1.0;
        (k + 1..n).for_each(|i| v[i] = a.at(i, k - 1) / (alpha - beta));
        for j in 0..n {
            let along: f64 = (k..n).map(|i| v[i] * a.at(i, j)).sum();
            (k..n).for_each(|i| a.set(i, j, a.at(i, j) - tau * along * v[i]));
        }
        for i in 0..n {
            let along: f64 = (k..n).map(|j| v[j] * a.at(i, j)).sum();
            (k..n).for_each(|j| a.set(i, j, a.at(i, j) - tau * along * v[j]));
        }
        (k + 1..n).for_each(|i| a.set(i, k - 1, 0.0));
    }
    a
}

/// Where the lowest block that is not yet split off begins.
fn block_start(a: &Mat, last: usize, norm: f64) -> usize {
    for l in (1..=last).rev() {
        let scale = a.at(l - 1, l - 1).abs() + a.at(l, l).abs();
        if a.at(l, l - 1).abs() <= f64::EPSILON * if scale == 0.0 { norm } else { scale } {
            return l;
        }
    }
    0
}

/// The eigenvalues of a Hessenberg matrix, in the order of the diagonal; of a conjugate pair the upper one first.
fn eigenvalues(mut a: Mat) -> Result<Vec<C>> {
    let n = a.rows;
    let norm: f64 = a.data.iter().map(|v| v.abs()).sum();
    let mut found = vec![ZERO; n];
    // What exceptional shifts have taken from the diagonal.
    let mut taken = 0.0;
    let (mut end, mut steps) = (n, 0);
    while end > 0 {
        let last = end - 1;
        let start = block_start(&a, last, norm);
        let x = a.at(last, last);
        if start == last {
            found[last] = c(x + taken, 0.0);
            (end, steps) = (last, 0);
            continue;
        }
        let (y, w) = (a.at(last - 1, last - 1), a.at(last, last - 1) * a.at(last - 1, last));
        if start + 1 == last {
            (found[last - 1], found[last]) = pair(x, y, w, taken);
            (end, steps) = (last - 1, 0);
            continue;
        }
        if steps == 60 {
            return Err(Error::runtime("linalg.eig: The algorithm failed to converge."));
        }
        let (mut x, mut y, mut w) = (x, y, w);
        if steps % 10 == 9 {
            taken += x;
            (0..end).for_each(|i| a.set(i, i, a.at(i, i) - x));
            let s = a.at(last, last - 1).abs() + a.at(last - 1, last - 2).abs();
            (x, y, w) = (0.75 * s, 0.75 * s, -0.4375 * s * s);
        }
        steps += 1;
        double_step(&mut a, start, last, [x, y, w]);
    }
    Ok(found)
}

/// The eigenvalues of a block of two: `x` its lower right element, `y` its upper left one, `w` the product of the others.
fn pair(x: f64, y: f64, w: f64, taken: f64) -> (C, C) {
    let p = 0.5 * (y - x);
    let q = p * p + w;
    let z = q.abs().sqrt();
    let x = x + taken;
    if q < 0.0 {
        return (c(x + p, z), c(x + p, -z));
    }
    let z = p + z.copysign(p);
    (c(x + z, 0.0), c(if z == 0.0 { x } else { x - w / z }, 0.0))
}

/// One QR step with two shifts on the block from `start` to `last`, chasing a bulge down the diagonal.
fn double_step(a: &mut Mat, start: usize, last: usize, [x, y, w]: [f64; 3]) {
    let mut first = last - 2;
    let mut bulge;
    loop {
        let z = a.at(first, first);
        let (r, s) = (x - z, y - z);
        bulge = [
            (r * s - w) / a.at(first + 1, first) + a.at(first, first + 1),
            a.at(first + 1, first + 1) - z - r - s,
            a.at(first + 2, first + 1),
        ];
        let scale: f64 = bulge.iter().map(|v| v.abs()).sum();
        bulge = bulge.map(|v| v / scale);
        if first == start {
            break;
        }
        let u = a.at(first, first - 1).abs() * (bulge[1].abs() + bulge[2].abs());
        let v = bulge[0].abs() * (a.at(first - 1, first - 1).abs() + z.abs() + a.at(first + 1, first + 1).abs());
        if u <= f64::EPSILON * v {
            break;
        }
        first -= 1;
    }
    for i in first + 2..=last {
        a.set(i, i - 2, 0.0);
        if i != first + 2 {
            a.set(i, i - 3, 0.0);
        }
    }
    for k in first..last {
        let three = k + 1 != last;
        let mut size = 0.0;
        if k != first {
            bulge = [a.at(k, k - 1), a.at(k + 1, k - 1), if three { a.at(k + 2, k - 1) } else { 0.0 }];
            size = bulge.iter().map(|v| v.abs()).sum();
            if size != 0.0 {
                bulge = bulge.map(|v| v / size);
            }
        }
        let [p, q, r] = bulge;
        let s = (p * p + q * q + r * r).sqrt().copysign(p);
        if s == 0.0 {
            continue;
        }
        if k != first {
            a.set(k, k - 1, -s * size);
        } else if start != first {
            a.set(k, k - 1, -a.at(k, k - 1));
        }
        let sum = p + s;
        let (along, back) = ([1.0, q / sum, if three { r / sum } else { 0.0 }], [sum / s, q / s, if three { r / s } else { 0.0 }]);
        let reach = if three { 3 } else { 2 };
        for j in k..=last {
            let dot: f64 = (0..reach).map(|i| along[i] * a.at(k + i, j)).sum();
            (0..reach).for_each(|i| a.set(k + i, j, a.at(k + i, j) - dot * back[i]));
        }
        for i in start..=last.min(k + 3) {
            let dot: f64 = (0..reach).map(|j| back[j] * a.at(i, k + j)).sum();
            (0..reach).for_each(|j| a.set(i, k + j, a.at(i, k + j) - dot * along[j]));
        }
    }
}

/// A vector of length one that `a` stretches by `value`, its largest element real.
fn eigenvector(a: &Mat<C>, value: C, is_real: bool) -> Vec<C> {
    let n = a.rows;
    let scale = a.data.iter().fold(0f64, |m, z| m.max(z.abs())).max(f64::MIN_POSITIVE);
    let mut shifted = a.clone();
    (0..n).for_each(|i| shifted.set(i, i, shifted.at(i, i) - value));
    let mut factors = factor(shifted, true);
    // The matrix is singular up to rounding: where elimination comes to nothing, it goes on with next to nothing.
    for k in 0..n {
        if factors.lu.at(k, k).abs() < f64::EPSILON * scale {
            factors.lu.set(k, k, c(f64::EPSILON * scale, 0.0));
        }
    }
    let mut v = Mat { rows: n, cols: 1, data: (0..n).map(|i| c(1.0 + i as f64 / (7.0 * n as f64), 0.0)).collect() };
    for _ in 0..3 {
        v = solve_factored(&factors.lu, &factors.pivots, &v, false);
        let largest = v.data.iter().fold(0f64, |m, z| m.max(z.abs()));
        v.data.iter_mut().for_each(|z| *z = z.scale(1.0 / largest));
    }
    let length = v.data.iter().map(|z| z.square()).sum::<f64>().sqrt();
    let largest = v.data.iter().copied().reduce(|a, b| if b.abs() > a.abs() * (1.0 + 1e-12) { b } else { a }).unwrap_or(ZERO);
    // A real matrix has real vectors of real eigenvalues, as they are.
    let turn = if is_real && value.im == 0.0 { ONE } else { largest.conj().scale(1.0 / largest.abs()) };
    v.data.into_iter().map(|z| (z * turn).scale(1.0 / length)).collect()
}
