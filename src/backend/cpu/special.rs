//! Special functions in f64: erfinv, digamma, polygamma, the modified Bessel functions. (erf and lgamma come from libm.)

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
    // Giles' single-precision polynomials.
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
    let series =
        z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z * (1.0 / 240.0 - z * (1.0 / 132.0 - z * (691.0 / 32760.0 - z / 12.0))))));
    sum + x.ln() - 0.5 / x - series
}

/// The Hurwitz zeta function, by Euler and Maclaurin.
pub fn zeta(s: f64, q: f64) -> f64 {
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
    // Bernoulli numbers B(2k) / (2k)!.
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

/// The derivative of digamma, to PyTorch's number of terms.
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

/// Modified Bessel functions of the first kind of order 0 or 1.
pub fn bessel_i(order: i32, x: f64) -> f64 {
    let a = x.abs();
    let sign = if order == 1 && x < 0.0 { -1.0 } else { 1.0 };
    if a < 20.0 {
        let quarter = a * a / 4.0;
        let (mut term, mut sum, mut k) = (if order == 0 { 1.0 } else { a / 2.0 }, 0.0, 0.0);
        while term > sum * 1e-17 {
            sum += term;
            k += 1.0;
            term *= quarter / (k * (k + f64::from(order)));
        }
        return sign * sum;
    }
    // The asymptotic series, up to its smallest term.
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
    sign * a.exp() / (2.0 * PI * a).sqrt() * sum
}
