//! Special functions in f64: erfinv, digamma, polygamma, tails of distributions. (erf and lgamma come from libm.)

use std::f64::consts::PI;

/// Inverse error function: a rational approximation, then two steps of Newton's method.
pub fn erfinv(y: f64) -> f64 {
    if y.is_nan() || y.abs() > 1.0 {
        return f64::NAN;
    }
    if y.abs() == 1.0 {
        return y * f64::INFINITY;
    }
    if y == 0.0 {
        return y;
    }
    // Polynomials for single precision. Source: Giles.
    let w = -((1.0 - y) * (1.0 + y)).ln();
    let poly = |c: &[f64], x: f64| c.iter().fold(0.0, |acc, k| acc * x + k);
    let mut x = y * if w < 5.0 {
        poly(
            &[
                2.81022636e-08,
                3.43273939e-07,
                -3.5233877e-06,
                -4.39150654e-06,
                0.00021858087,
                -0.00125372503,
                -0.00417768164,
                0.246640727,
                1.50140941,
            ],
            w - 2.5,
        )
    } else {
        poly(
            &[
                -0.000200214257,
                0.000100950558,
                0.00134934322,
                -0.00367342844,
                0.00573950773,
                -0.0076224613,
                0.00943887047,
                1.00167406,
                2.83297682,
            ],
            w.sqrt() - 3.0,
        )
    };
    for _ in 0..2 {
        let error = if x > 0.0 { (1.0 - y) - libm::erfc(x) } else { libm::erfc(-x) - (1.0 + y) };
        x -= error / (2.0 / PI.sqrt() * (-x * x).exp());
    }
    x
}

/// The logarithmic derivative of the gamma function.
pub fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        if x == x.floor() {
            return f64::NAN;
        }
        return digamma(1.0 - x) - PI / (PI * (x - x.trunc())).tan();
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    // Source: Abramowitz and Stegun, 6.3.18.
    let series =
        z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z * (1.0 / 240.0 - z * (1.0 / 132.0 - z * (691.0 / 32760.0 - z / 12.0))))));
    sum + x.ln() - 0.5 / x - series
}

/// Digamma in single precision, as PyTorch's sums it. Source: Cephes, psif.c.
pub fn single_digamma(x: f32) -> f32 {
    const SERIES: [f32; 7] = [0.083_333_336, -0.021_092_797, 0.007_575_758, -0.004_166_667, 0.003_968_254, -0.008_333_334, 0.083_333_336];
    const AT_TEN: f32 = 2.251_752_6;
    if x == 0.0 {
        return f32::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        if x == x.trunc() {
            return f32::NAN;
        }
        let slope = (PI / (PI * f64::from(x - x.trunc())).tan()) as f32;
        return single_digamma(1.0 - x) - slope;
    }
    let (mut x, mut sum) = (x, 0.0f32);
    while x < 10.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    if x == 10.0 {
        return sum + AT_TEN;
    }
    let series = if x < 1e17 {
        let z = 1.0 / (x * x);
        z * SERIES[1..].iter().fold(SERIES[0], |u, term| u * z + term)
    } else {
        0.0
    };
    sum + x.ln() - 0.5 / x - series
}

/// The Hurwitz zeta function, by Euler and Maclaurin.
pub fn zeta(s: f64, q: f64) -> f64 {
    if q == f64::INFINITY {
        return f64::NAN;
    }
    if s == 1.0 {
        return f64::INFINITY;
    }
    if s < 1.0 {
        return f64::NAN;
    }
    if q <= 0.0 {
        if q == q.floor() {
            return f64::INFINITY;
        }
        if s != s.floor() {
            return f64::NAN;
        }
    }
    let (mut sum, mut a) = (0.0, q);
    for _ in 0..12 {
        sum += a.powf(-s);
        a += 1.0;
    }
    sum += a.powf(1.0 - s) / (s - 1.0) + 0.5 * a.powf(-s);
    // Bernoulli numbers B(2k) / (2k)!. Source: Abramowitz and Stegun, table 23.2.
    const TERMS: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30240.0,
        -1.0 / 1209600.0,
        1.0 / 47900160.0,
        -691.0 / 1307674368000.0,
        1.0 / 74724249600.0,
        -3617.0 / 10670622842880000.0,
    ];
    let (mut factor, mut power) = (s, a.powf(-s - 1.0));
    for (k, term) in TERMS.iter().enumerate() {
        sum += term * factor * power;
        let k = 2.0 * k as f64;
        factor *= (s + k + 1.0) * (s + k + 2.0);
        power /= a * a;
    }
    sum
}

/// The derivative of digamma, to PyTorch's number of terms. Source: Abramowitz and Stegun, 6.4.12.
fn trigamma(x: f64) -> f64 {
    if x < 0.5 {
        let sine = (PI * x).sin();
        return PI * PI / (sine * sine) - trigamma(1.0 - x);
    }
    let (mut x, mut sum) = (x, 0.0);
    for _ in 0..6 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    sum + (1.0 + 1.0 / (2.0 * x) + z * (1.0 / 6.0 - z * (1.0 / 30.0 - z / 42.0))) / x
}

/// The same in single precision, which is far from it near a pole, as PyTorch's is.
pub fn single_trigamma(x: f32) -> f32 {
    let pi = PI as f32;
    let (mut sign, mut sum, mut x) = (1.0f32, 0.0f32, x);
    if x < 0.5 {
        let sine = (pi * x).sin();
        (sign, sum, x) = (-1.0, -(pi * pi) / (sine * sine), 1.0 - x);
    }
    for _ in 0..6 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    sign * (sum + (1.0 + 1.0 / (2.0 * x) + z * (1.0 / 6.0 - z * (1.0 / 30.0 - z * (1.0 / 42.0)))) / x)
}

/// The n-th derivative of digamma.
pub fn polygamma(n: i64, x: f64) -> f64 {
    match n {
        0 => return digamma(x),
        1 => return trigamma(x),
        _ => {}
    }
    let sign = if n % 2 == 0 { -1.0 } else { 1.0 };
    sign * libm::tgamma(n as f64 + 1.0) * zeta(n as f64 + 1.0, x)
}

/// `exp(x * x) * erfc(x)`: by its definition while that is accurate, then by a continued fraction.
pub fn erfcx(x: f64) -> f64 {
    if x < 3.0 {
        // exp of the square's rounding error as well, which matters as the square grows.
        let square = x * x;
        let rest = x.mul_add(x, -square);
        return if x < -26.7 { f64::INFINITY } else { square.exp() * (1.0 + rest) * libm::erfc(x) };
    }
    if x > 1e8 {
        return 1.0 / (x * PI.sqrt());
    }
    let fraction = (1..=60).rev().fold(x, |below, k| x + f64::from(k) / 2.0 / below);
    1.0 / (fraction * PI.sqrt())
}

/// The logarithm of the normal distribution function.
pub fn log_ndtr(x: f64) -> f64 {
    let t = x * std::f64::consts::FRAC_1_SQRT_2;
    if x < -1.0 { (erfcx(-t) / 2.0).ln() - t * t } else { (-libm::erfc(t) / 2.0).ln_1p() }
}

/// The quantile of the normal distribution: a logistic guess, then Newton's method on the logarithm of the smaller tail.
pub fn ndtri(p: f64) -> f64 {
    if p == 0.0 || p == 1.0 {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let upper = p > 0.5;
    let tail = if upper { 1.0 - p } else { p };
    let mut x = if tail > 1e-3 { (tail / (1.0 - tail)).ln() / 1.702 } else { -(-2.0 * tail.ln()).sqrt() };
    for _ in 0..60 {
        let (log, slope) = (log_ndtr(x), (-0.5 * x * x - 0.5 * (2.0 * PI).ln() - log_ndtr(x)).exp());
        let step = (log - tail.ln()) / slope;
        x -= step;
        if step.abs() < 1e-15 * x.abs().max(1e-3) {
            break;
        }
    }
    if upper { -x } else { x }
}

/// The regularized incomplete gamma functions: the lower one, or the upper one. Numbers above `largest` are infinite where they are computed
/// with. Which sum is taken where, and what that loses, is as in Cephes, igam.c. Source: Cephes.
pub fn incomplete_gamma(a: f64, x: f64, upper: bool, largest: f64) -> f64 {
    let pick = |lower: f64| if upper { 1.0 - lower } else { lower };
    if a < 0.0 || x < 0.0 {
        return f64::NAN;
    }
    if a == 0.0 {
        return if x > 0.0 { pick(1.0) } else { f64::NAN };
    }
    if x == 0.0 {
        return pick(0.0);
    }
    if a.is_infinite() {
        return if x.is_infinite() { f64::NAN } else { pick(0.0) };
    }
    if x.is_infinite() {
        return pick(1.0);
    }
    // As in PyTorch, after the limits: these hold of NaN beside them.
    if a.is_nan() || x.is_nan() {
        return f64::NAN;
    }
    let is_near = (x - a).abs() <= 0.4 * a;
    if is_near && a > 1e5 {
        return gamma_around_a(a, x, upper);
    }
    let (power, of_gamma) = (a * x.ln(), libm::lgamma(a));
    if !is_near && power > largest && of_gamma > largest {
        return f64::NAN;
    }
    let takes_small = if x <= 0.5 { -0.4 / x.ln() >= a } else { x * 1.1 >= a };
    if upper && x <= 1.1 && takes_small {
        return upper_gamma_of_small(a, x);
    }
    let factor = (power - x - of_gamma).exp();
    if x <= 1.0 || x <= a || upper && x <= 1.1 {
        let (mut term, mut sum, mut k) = (1.0 / a, 1.0 / a, a);
        for _ in 0..10_000 {
            k += 1.0;
            term *= x / k;
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        return pick(factor * sum);
    }
    // Lentz's method on the continued fraction of the upper one.
    let (mut b, mut c) = (x + 1.0 - a, 1e300);
    let mut d = 1.0 / b;
    let mut h = d;
    for k in 1..10_000 {
        let k = f64::from(k);
        let step = -k * (k - a);
        b += 2.0;
        d = 1.0 / (step * d + b);
        c = b + step / c;
        let factor = d * c;
        h *= factor;
        if (factor - 1.0).abs() < 1e-16 {
            break;
        }
    }
    let upper_value = factor * h;
    if upper { upper_value } else { 1.0 - upper_value }
}

/// The upper one where both are small: what is left of one by a sum of powers.
fn upper_gamma_of_small(a: f64, x: f64) -> f64 {
    let (mut power, mut sum) = (1.0, 0.0);
    for n in 1..2_000 {
        let n = f64::from(n);
        power *= -x / n;
        let term = power / (a + n);
        sum += term;
        if term.abs() <= f64::EPSILON * f64::abs(sum) {
            break;
        }
    }
    let log = a * x.ln();
    -libm::expm1(log - libm::lgamma(1.0 + a)) - (log - libm::lgamma(a)).exp() * sum
}

/// Both for large `a`, around `x = a`: the first terms of Temme's expansion. Source: DLMF, 8.12.
fn gamma_around_a(a: f64, x: f64, upper: bool) -> f64 {
    let mu = (x - a) / a;
    let half_square = if mu.abs() < 1e-4 { mu * mu * (0.5 - mu / 3.0 + mu * mu / 4.0) } else { mu - libm::log1p(mu) };
    let eta = (2.0 * half_square).sqrt().copysign(mu);
    let first = if eta.abs() < 1e-5 { eta / 12.0 - 1.0 / 3.0 } else { 1.0 / mu - 1.0 / eta };
    let rest = (-a * half_square).exp() / (2.0 * PI * a).sqrt() * first;
    let side = if upper { 1.0 } else { -1.0 };
    0.5 * libm::erfc(side * eta * (a / 2.0).sqrt()) + side * rest
}

/// The logarithm of the multivariate gamma function.
pub fn mvlgamma(x: f64, p: i64) -> f64 {
    let constant = p as f64 * (p - 1) as f64 / 4.0 * PI.ln();
    constant + (0..p).map(|j| libm::lgamma(x - j as f64 / 2.0)).sum::<f64>()
}
