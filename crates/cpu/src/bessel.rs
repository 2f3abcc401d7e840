//! Bessel functions, Airy's function and orthogonal polynomials, in f64: by integrals, series and recurrences that serve every
//! argument alike. What PyTorch's kernels compute in the precision of the elements, and whose rounding shows in the result (a phase,
//! a half that vanishes, an exponential that overflows), is rounded by the caller's `Round`.

use std::f64::consts::{FRAC_PI_4, PI};

/// Rounds to the precision of the elements.
pub type Round = fn(f64) -> f64;

/// How far PyTorch's phase of the asymptotic wave of a Bessel function is from the true one.
fn phase_error(order: i32, x: f64, round: Round) -> f64 {
    let quarter = f64::from(2 * order + 1) * FRAC_PI_4;
    (round(x - round(quarter)) - x) + quarter
}

/// Up to here PyTorch sums series; beyond, it takes asymptotic waves.
const WAVES: f64 = 5.0;

/// Both Bessel functions of order 0 or 1, turned by the error of the phase.
fn bessel_wave(order: i32, x: f64, round: Round) -> (f64, f64) {
    if x.is_infinite() {
        return (f64::NAN, f64::NAN);
    }
    let (j, y) = if order == 0 { (libm::j0(x), libm::y0(x)) } else { (libm::j1(x), libm::y1(x)) };
    let (sin, cos) = phase_error(order, x, round).sin_cos();
    (j * cos - y * sin, y * cos + j * sin)
}

/// The Bessel function of the first kind, of order 0 or 1.
pub fn bessel_j(order: i32, x: f64, round: Round) -> f64 {
    let sign = if order == 1 && x < 0.0 { -1.0 } else { 1.0 };
    match (x.abs() > WAVES, order) {
        (true, _) => sign * bessel_wave(order, x.abs(), round).0,
        (_, 0) => libm::j0(x),
        _ => libm::j1(x),
    }
}

/// The Bessel function of the second kind, of order 0 or 1.
pub fn bessel_y(order: i32, x: f64, round: Round) -> f64 {
    match (x > WAVES, order) {
        (true, _) => bessel_wave(order, x, round).1,
        (_, 0) => libm::y0(x),
        _ => libm::y1(x),
    }
}

/// The power series of the modified Bessel functions of the first kind, for arguments that are not large.
fn bessel_i_near(order: i32, a: f64) -> f64 {
    let quarter = a * a / 4.0;
    let (mut term, mut sum, mut k) = (if order == 0 { 1.0 } else { a / 2.0 }, 0.0, 0.0);
    while term > sum * 1e-17 {
        sum += term;
        k += 1.0;
        term *= quarter / (k * (k + f64::from(order)));
    }
    sum
}

/// Their asymptotic series times `exp(-a)`, up to its smallest term.
fn bessel_i_far(order: i32, a: f64) -> f64 {
    let mu = f64::from(4 * order * order);
    let (mut term, mut sum, mut k) = (1.0f64, 1.0, 1.0);
    while k < 60.0 {
        let odd = 2.0 * k - 1.0;
        let next = -term * (mu - odd * odd) / (k * 8.0 * a);
        if next.abs() >= term.abs() || next.abs() < 1e-17 {
            break;
        }
        sum += next;
        term = next;
        k += 1.0;
    }
    sum / (2.0 * PI * a).sqrt()
}

/// From here on the asymptotic series is exact.
const FAR: f64 = 20.0;

/// The modified Bessel function of the first kind, of order 0 or 1.
pub fn bessel_i(order: i32, x: f64, round: Round) -> f64 {
    let (a, sign) = (x.abs(), if order == 1 { 1f64.copysign(x) } else { 1.0 });
    sign * if a < FAR { bessel_i_near(order, a) } else { bessel_i_far(order, a) * round(a.exp()) }
}

/// The same times `exp(-|x|)`.
pub fn bessel_i_scaled(order: i32, x: f64) -> f64 {
    let (a, sign) = (x.abs(), if order == 1 { 1f64.copysign(x) } else { 1.0 });
    sign * if a < FAR { bessel_i_near(order, a) * (-a).exp() } else { bessel_i_far(order, a) }
}

/// Whether half of the argument rounds to zero, of which PyTorch's kernels take the logarithm.
fn half_vanishes(x: f64, round: Round) -> bool {
    x > 0.0 && round(x / 2.0) == 0.0
}

/// The modified Bessel function of the second kind, of order 0 or 1.
pub fn modified_k(order: f64, x: f64, round: Round) -> f64 {
    // The logarithm meets a zero. In order 0 it is taken of the argument.
    if order == 1.0 && half_vanishes(x, round) { f64::NAN } else { bessel_k(order, x) }
}

/// The same times `exp(x)`.
pub fn modified_k_scaled(order: f64, x: f64, round: Round) -> f64 {
    match half_vanishes(x, round) {
        true if order == 0.0 => f64::INFINITY,
        true => f64::NAN,
        false => bessel_k_scaled(order, x),
    }
}

/// The modified Bessel function of the second kind times `exp(x)`: the integral of `exp(-x (cosh t - 1)) cosh(order t)`, whose
/// trapezoidal sums converge as fast as doubles can tell.
fn bessel_k_scaled(order: f64, x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::INFINITY;
    }
    if x.is_infinite() {
        return 0.0;
    }
    // The integrand is as narrow as 1 / sqrt(x).
    let step = (0.6 / x.sqrt()).min(0.125);
    let (mut sum, mut k) = (0.5, 1.0);
    loop {
        let t: f64 = step * k;
        // cosh t - 1 without cancellation.
        let half = (t / 2.0).sinh();
        let exponent = 2.0 * x * half * half - order * t;
        if exponent > 745.0 || k > 1e5 {
            return sum * step;
        }
        sum += (-2.0 * x * half * half).exp() * (order * t).cosh();
        k += 1.0;
    }
}

/// The modified Bessel function of the second kind.
fn bessel_k(order: f64, x: f64) -> f64 {
    bessel_k_scaled(order, x) * (-x).exp()
}

/// Airy's function: its power series near zero, Bessel functions of order 1/3 to the right, the asymptotic wave to the left.
pub fn airy(x: f64, round: Round) -> f64 {
    if x.is_infinite() {
        return f64::NAN;
    }
    if x > 2.0 {
        let z = 2.0 / 3.0 * x * x.sqrt();
        return (x / 3.0).sqrt() / PI * bessel_k(1.0 / 3.0, z);
    }
    if x > -8.0 {
        // Source: Abramowitz and Stegun, 10.4.4 and 10.4.5.
        const AT_ZERO: f64 = 0.355_028_053_887_817_2;
        const SLOPE: f64 = 0.258_819_403_792_806_8;
        let (cube, mut k) = (x * x * x, 1.0);
        let (mut f, mut g, mut sum) = (AT_ZERO, SLOPE * x, AT_ZERO - SLOPE * x);
        while f.abs() + g.abs() > 1e-18 * sum.abs().max(1e-3) && k < 500.0 {
            f *= cube / ((3.0 * k - 1.0) * (3.0 * k));
            g *= cube / ((3.0 * k) * (3.0 * k + 1.0));
            sum += f - g;
            k += 1.0;
        }
        return sum;
    }
    let root = round((-x).sqrt());
    let z = round(round(round(-2.0 * x) * root) / 3.0);
    let (mut even, mut odd, mut term) = (1.0, 0.0, 1.0f64);
    for k in 1..24 {
        let k = f64::from(k);
        let next = term * (6.0 * k - 5.0) * (6.0 * k - 1.0) / (72.0 * k * z);
        if next.abs() > term.abs() {
            break;
        }
        term = next;
        match k as i64 % 4 {
            1 => odd += term,
            2 => even -= term,
            3 => odd -= term,
            _ => even += term,
        }
    }
    let phase = round(z + round(FRAC_PI_4));
    (phase.sin() * even - phase.cos() * odd) / (PI * root).sqrt()
}

/// `sin(x) / x`, with its limit.
pub fn spherical_j0(x: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    if x.abs() < 0.5 {
        let s = x * x;
        return 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0 * (1.0 - s / 110.0))));
    }
    x.sin() / x
}

/// Families of orthogonal polynomials.
#[derive(Clone, Copy)]
pub enum Family {
    /// Chebyshev's of the first kind.
    ChebyshevT,
    /// Of the second kind.
    ChebyshevU,
    /// Of the third kind.
    ChebyshevV,
    /// Of the fourth kind.
    ChebyshevW,
    /// Hermite's, as physicists write them.
    HermiteH,
    /// Hermite's, as probabilists write them.
    HermiteHe,
    /// Laguerre's.
    Laguerre,
    /// Legendre's.
    Legendre,
}

/// The degree from which on no recurrence is followed to its end.
pub const LONG: f64 = (1u64 << 24) as f64;

/// A Chebyshev polynomial outside of its interval. The recurrence ends as NaN where it overflows.
fn outside(family: Family, x: f64, n: f64) -> f64 {
    use Family::*;
    let angle = x.abs().acosh();
    // Below the interval the two of half steps change places.
    let value = match (family, x < 0.0) {
        (ChebyshevT, _) => (n * angle).cosh(),
        (ChebyshevU, _) => ((n + 1.0) * angle).sinh() / angle.sinh(),
        (ChebyshevV, false) | (ChebyshevW, true) => ((n + 0.5) * angle).cosh() / (angle / 2.0).cosh(),
        _ => ((n + 0.5) * angle).sinh() / (angle / 2.0).sinh(),
    };
    match value.is_finite() {
        true if x < 0.0 && n % 2.0 != 0.0 => -value,
        true => value,
        false => f64::NAN,
    }
}

/// The polynomial of degree `n`; zero where the degree is negative.
pub fn polynomial(family: Family, x: f64, n: f64) -> f64 {
    use Family::*;
    let n = n.trunc();
    // A degree that is no 64 bit integer is one below zero where it is made one.
    if !(0.0..=i64::MAX as f64).contains(&n) || n == i64::MAX as f64 {
        return 0.0;
    }
    if n == 0.0 {
        return 1.0;
    }
    // At the ends of their interval the recurrences are exact, but long.
    let sign = |odd: bool| if odd && n % 2.0 != 0.0 { -1.0 } else { 1.0 };
    match family {
        ChebyshevT if x.abs() == 1.0 => return sign(x < 0.0),
        ChebyshevU if x.abs() == 1.0 => return sign(x < 0.0) * (n + 1.0),
        ChebyshevV if x == 1.0 => return 1.0,
        ChebyshevV if x == -1.0 => return sign(true) * (n + n + 1.0),
        ChebyshevW if x == 1.0 => return n + n + 1.0,
        ChebyshevW if x == -1.0 => return sign(true),
        Legendre if x.abs() == 1.0 => return sign(x < 0.0),
        ChebyshevT | ChebyshevU | ChebyshevV | ChebyshevW if n > LONG && x.abs() > 1.0 => return outside(family, x, n),
        ChebyshevT if n > 6.0 && x.abs() < 1.0 => return (n * x.acos()).cos(),
        ChebyshevU if n > 8.0 && x.abs() < 1.0 && x.acos().sin() != 0.0 => return ((n + 1.0) * x.acos()).sin() / x.acos().sin(),
        ChebyshevV if n > 8.0 && x.abs() < 1.0 && ((x.acos() / 2.0).sin() != 1.0 || n > LONG) => {
            return ((n + 0.5) * x.acos()).cos() / (x.acos() / 2.0).cos();
        }
        ChebyshevW if n > 8.0 && x.abs() < 1.0 && ((x.acos() / 2.0).cos() != 1.0 || n > LONG) => {
            return ((n + 0.5) * x.acos()).sin() / (x.acos() / 2.0).sin();
        }
        _ => {}
    }
    let first = match family {
        ChebyshevT | HermiteHe | Legendre => x,
        ChebyshevU | HermiteH => x + x,
        ChebyshevV => x + x - 1.0,
        ChebyshevW => x + x + 1.0,
        Laguerre => 1.0 - x,
    };
    let (mut before, mut value, mut k) = (1.0, first, 1.0);
    while k < n && !value.is_nan() {
        let next = match family {
            HermiteH => (x + x) * value - 2.0 * k * before,
            HermiteHe => x * value - k * before,
            Laguerre => ((k + k + 1.0 - x) * value - k * before) / (k + 1.0),
            Legendre => ((k + k + 1.0) * x * value - k * before) / (k + 1.0),
            _ => (x + x) * value - before,
        };
        (before, value) = (value, next);
        k += 1.0;
    }
    value
}
