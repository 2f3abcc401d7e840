//! Functions beside double precision.

use codegen::functions::{One, erf, exp, expm1, log, log1p, sigmoid, sign, tanh};

/// Units in the last place of `exact`, as single precision has them, between a result and it.
fn units(found: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if found.to_bits() == nearest.to_bits() || found.is_nan() && exact.is_nan() || found == nearest {
        return 0.0;
    }
    let unit = f64::from(f32::from_bits((nearest.abs().to_bits()).max(0x0080_0000) & 0x7f80_0000)) * 2f64.powi(-23);
    (f64::from(found) - exact).abs() / unit
}

/// Numbers of every size and sign, with the special ones.
fn numbers() -> Vec<f32> {
    let special = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, 1e-45, f32::MAX, f32::MIN];
    let spread = (0..200_000u32).map(|i| f32::from_bits(i.wrapping_mul(21_474)));
    let near = (0..100_000).map(|i| i as f32 * 2e-4);
    let all: Vec<f32> = special.into_iter().chain(spread).chain(near).collect();
    all.iter().copied().chain(all.iter().map(|x| -x)).collect()
}

/// The worst distance of a function from the exact one, and where it is.
fn worst(f: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64) -> (f64, f32) {
    numbers().into_iter().map(|x| (units(f(x), exact(x.into())), x)).fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
}

#[test]
fn functions_are_close() {
    let bound = |name: &str, limit: f64, (found, at): (f64, f32)| {
        assert!(found <= limit, "{name}({at:e}) is {found:.2} units away, not within {limit}");
    };
    bound("exp", 2.0, worst(|x| exp(&mut One, x), f64::exp));
    bound("expm1", 2.0, worst(|x| expm1(&mut One, x), f64::exp_m1));
    bound("log", 2.0, worst(|x| log(&mut One, x), f64::ln));
    bound("log1p", 2.0, worst(|x| log1p(&mut One, x), f64::ln_1p));
    bound("tanh", 2.0, worst(|x| tanh(&mut One, x), f64::tanh));
    bound("erf", 3.0, worst(|x| erf(&mut One, x), erf_by_series));
    // Below 2^-127 its formula gives zero.
    bound("sigmoid", 3.0, worst(|x| sigmoid(&mut One, x.max(-88.0)), |x| 1.0 / (1.0 + (-x.max(-88.0)).exp())));
    assert_eq!(sigmoid(&mut One, -100.0), 0.0);
    bound(
        "sign",
        0.0,
        worst(
            |x| sign(&mut One, x),
            |x| {
                if x > 0.0 {
                    1.0
                } else if x < 0.0 {
                    -1.0
                } else {
                    0.0
                }
            },
        ),
    );
}

/// By its series near zero, by the continued fraction of its complement elsewhere.
fn erf_by_series(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let size = x.abs();
    if size > 6.0 {
        return 1f64.copysign(x);
    }
    if size < 3.0 {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term.abs() > 1e-18 * sum.abs() {
            n += 1.0;
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        return sum * std::f64::consts::FRAC_2_SQRT_PI;
    }
    let fraction = (1..80).rev().fold(size, |below, n| size + f64::from(n) / 2.0 / below);
    (1.0 - (-size * size).exp() / (fraction * std::f64::consts::PI.sqrt())).copysign(x)
}
