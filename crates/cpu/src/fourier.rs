//! Discrete Fourier transforms in pairs of f64: powers of two by halves, other lengths as a convolution (Bluestein).

use super::bessel::bessel_i;
use super::complex::{read, write};
use super::complex_number::{C, c};
use super::elementwise::scatter;
use super::library;
use diagnostics::error::Result;
use dispatch::{Call, Kernel, KernelTable};
use std::f64::consts::PI;
use tensor::{Dtype, Tensor};

/// Transforms in place, without normalization; forward turns clockwise.
pub fn transform(x: &mut [C], forward: bool) {
    let n = x.len();
    if n < 2 {
        return;
    }
    if n.is_power_of_two() { halves(x, forward) } else { convolved(x, forward) }
}

fn halves(x: &mut [C], forward: bool) {
    let n = x.len();
    let shift = usize::BITS - n.trailing_zeros();
    for i in 0..n {
        let j = i.reverse_bits() >> shift;
        if i < j {
            x.swap(i, j);
        }
    }
    let sign = if forward { -2.0 } else { 2.0 };
    let mut length = 2;
    while length <= n {
        let turns: Vec<C> = (0..length / 2).map(|k| C::polar(1.0, sign * PI * k as f64 / length as f64)).collect();
        for block in x.chunks_mut(length) {
            let (low, high) = block.split_at_mut(length / 2);
            for ((a, b), turn) in low.iter_mut().zip(high).zip(&turns) {
                let turned = *b * *turn;
                (*a, *b) = (*a + turned, *a - turned);
            }
        }
        length *= 2;
    }
}

fn convolved(x: &mut [C], forward: bool) {
    let n = x.len();
    let size = (2 * n - 1).next_power_of_two();
    let sign = if forward { -1.0 } else { 1.0 };
    // k * k modulo 2n keeps the angle exact.
    let chirp: Vec<C> = (0..n).map(|k| C::polar(1.0, sign * PI * ((k * k) % (2 * n)) as f64 / n as f64)).collect();
    let conj = |z: C| c(z.re, -z.im);
    let (mut a, mut b) = (vec![C::default(); size], vec![C::default(); size]);
    for k in 0..n {
        a[k] = x[k] * chirp[k];
        b[k] = conj(chirp[k]);
        b[(size - k) % size] = conj(chirp[k]);
    }
    halves(&mut a, true);
    halves(&mut b, true);
    a.iter_mut().zip(&b).for_each(|(a, b)| *a = *a * *b);
    halves(&mut a, false);
    for k in 0..n {
        let z = a[k] * chirp[k];
        x[k] = c(z.re / size as f64, z.im / size as f64);
    }
}

/// Transforms row-major data along one dimension.
fn along(data: &mut [C], sizes: &[usize], dim: usize, forward: bool) {
    let (n, inner): (usize, usize) = (sizes[dim], sizes[dim + 1..].iter().product());
    if data.is_empty() {
        return;
    }
    let mut line = vec![C::default(); n];
    for start in 0..data.len() / n.max(1) {
        let base = start / inner * inner * n + start % inner;
        for (k, z) in line.iter_mut().enumerate() {
            *z = data[base + k * inner];
        }
        let real = line.iter().all(|z| z.im == 0.0);
        transform(&mut line, forward);
        // Of real numbers these two terms are sums, without a twiddle that would carry NaN into the imaginary part.
        if real {
            line[0].im = 0.0;
            if n % 2 == 0 {
                line[n / 2].im = 0.0;
            }
        }
        for (k, z) in line.iter().enumerate() {
            data[base + k * inner] = *z;
        }
    }
}

fn scale(call: &Call, count: usize) -> Result<f64> {
    Ok(match call.int("normalization")? {
        1 => 1.0 / (count as f64).sqrt(),
        2 => 1.0 / count as f64,
        _ => 1.0,
    })
}

fn dims(call: &Call, ndim: usize) -> Result<Vec<usize>> {
    call.ints("dim")?.iter().map(|d| operators::shapes::wrap_dim(*d, ndim)).collect()
}

/// The transform of the input over `dims`, in row-major order, scaled.
fn transformed(call: &Call, forward: bool) -> Result<(Vec<C>, Vec<usize>, Vec<usize>)> {
    let sizes = call.tensor("self")?.concrete()?.sizes;
    let dims = dims(call, sizes.len())?;
    let mut data = read(call.get("self"), &sizes)?;
    dims.iter().for_each(|d| along(&mut data, &sizes, *d, forward));
    let by = scale(call, dims.iter().map(|d| sizes[*d]).product())?;
    data.iter_mut().for_each(|z| *z = c(z.re * by, z.im * by));
    if !matches!(call.tensor("self")?.dtype(), Dtype::Float64 | Dtype::Complex128) {
        settle(&mut data);
    }
    Ok((data, sizes, dims))
}

/// In single precision, what is left of terms that cancel is zero, not the rounding of doubles.
fn settle(data: &mut [C]) {
    let largest = data.iter().fold(0.0f64, |most, z| most.max(z.re.abs()).max(z.im.abs()));
    let settled = |v: f64| if v.abs() < 1e-14 * largest { 0.0 } else { v };
    data.iter_mut().for_each(|z| *z = c(settled(z.re), settled(z.im)));
}

/// The first `keep` elements along a dimension.
fn narrowed(data: &[C], sizes: &[usize], dim: usize, keep: usize) -> Vec<C> {
    let inner: usize = sizes[dim + 1..].iter().product();
    data.chunks((sizes[dim] * inner).max(1)).flat_map(|block| block[..keep * inner].iter().copied()).collect()
}

fn real_to_complex(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (data, sizes, dims) = transformed(call, true)?;
    match dims.last() {
        Some(last) if call.bool("onesided")? => write(&outs[0], &narrowed(&data, &sizes, *last, sizes[*last] / 2 + 1)),
        _ => write(&outs[0], &data),
    }
}

/// The last dimension's missing half is the conjugate of the first; imaginary parts of what is its own mirror are ignored.
fn complex_to_real(call: &Call, outs: &[Tensor]) -> Result<()> {
    let mut sizes = call.tensor("self")?.concrete()?.sizes;
    let dims = dims(call, sizes.len())?;
    let mut data = read(call.get("self"), &sizes)?;
    let Some((last, others)) = dims.split_last() else { return Ok(()) };
    if outs[0].concrete()?.numel() == 0 {
        return Ok(());
    }
    others.iter().for_each(|d| along(&mut data, &sizes, *d, false));
    let (have, n) = (sizes[*last], call.int("last_dim_size")? as usize);
    let inner: usize = sizes[last + 1..].iter().product();
    sizes[*last] = n;
    let mut full = vec![C::default(); sizes.iter().product()];
    for (from, to) in data.chunks(have * inner).zip(full.chunks_mut(n * inner)) {
        for k in 0..n {
            let mirrored = k > n / 2;
            let at = if mirrored { n - k } else { k };
            for i in 0..inner {
                let z = if at < have { from[at * inner + i] } else { C::default() };
                let real = k == 0 || 2 * k == n;
                to[k * inner + i] = c(
                    z.re,
                    if real {
                        0.0
                    } else if mirrored {
                        -z.im
                    } else {
                        z.im
                    },
                );
            }
        }
    }
    along(&mut full, &sizes, *last, false);
    let by = scale(call, dims.iter().map(|d| sizes[*d]).product())?;
    scatter(&outs[0], &full.iter().map(|z| z.re * by).collect::<Vec<f64>>())
}

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.complex("aten._fft_r2c.default", Kernel::Fill(real_to_complex));
    t.complex("aten._fft_c2r.default", Kernel::Fill(complex_to_real));
    t.complex("aten._fft_c2c.default", Kernel::Fill(|call, outs| write(&outs[0], &transformed(call, call.bool("forward")?)?.0)));
}

/// Frequencies and windows: factories of one dimension.
pub fn register_windows(t: &mut KernelTable) {
    t.fill("aten.fft_fftfreq.default", |call, o| {
        let (n, d) = (call.int("n")?, call.float("d")?);
        let half = (n + 1) / 2;
        scatter(&o[0], &(0..n).map(|k| (if k < half { k } else { k - n }) as f64 / (n as f64 * d)).collect::<Vec<f64>>())
    });
    t.fill("aten.fft_rfftfreq.default", |call, o| {
        let (n, d) = (call.int("n")?, call.float("d")?);
        scatter(&o[0], &(0..n / 2 + 1).map(|k| k as f64 / (n as f64 * d)).collect::<Vec<f64>>())
    });
    for entry in operators::short_time::overloads() {
        t.fill(entry, window);
    }
}

fn window(call: &Call, o: &[Tensor]) -> Result<()> {
    let length = call.int("window_length")?;
    if length == 1 {
        return scatter(&o[0], &[1.0]);
    }
    let given = |name: &str, or: f64| if call.get(name).is_none() { Ok(or) } else { call.float(name) };
    let periodic = call.get("periodic").is_none() || call.bool("periodic")?;
    // A periodic window is the symmetric one of a point more, without its last.
    let last = (if periodic { length } else { length - 1 }) as f64;
    let turn = |k: f64, times: f64| (2.0 * PI * times * k / last).cos();
    let (name, single) = (call.entry.base_name(), o[0].dtype() != Dtype::Float64);
    let (alpha, beta) = (given("alpha", 0.54)?, given("beta", if name == "kaiser_window" { 12.0 } else { 0.46 })?);
    let value = |k: f64| match name {
        // In single precision step by step, as the operators do of which these are made.
        "bartlett_window" if single => {
            let rising = k as f32 * (2.0 / last) as f32;
            f64::from(if k <= (last / 2.0).floor() { rising } else { 2.0 - rising })
        }
        "blackman_window" if single => {
            let step = k as f32 * (PI / last) as f32;
            f64::from(library::cosine(step * 4.0) * 0.08 - library::cosine(step * 2.0) * 0.5 + 0.42)
        }
        "hann_window" | "hamming_window" if single => {
            let (alpha, beta) = if name == "hann_window" { (0.5, 0.5) } else { (alpha, beta) };
            f64::from(library::cosine(k as f32 * (2.0 * PI / last) as f32) * -(beta as f32) + alpha as f32)
        }
        "bartlett_window" => 1.0 - (2.0 * k / last - 1.0).abs(),
        "blackman_window" => turn(k, 2.0) * 0.08 - turn(k, 1.0) * 0.5 + 0.42,
        "hann_window" => 0.5 - 0.5 * turn(k, 1.0),
        "hamming_window" => alpha - beta * turn(k, 1.0),
        _ => {
            let x = 2.0 * k / last - 1.0;
            bessel_i(0, beta * (1.0 - x * x).max(0.0).sqrt(), |x| x) / bessel_i(0, beta, |x| x)
        }
    };
    scatter(&o[0], &(0..length).map(|k| value(k as f64)).collect::<Vec<f64>>())
}
