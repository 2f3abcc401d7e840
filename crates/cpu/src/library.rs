//! The exponential, sine and cosine in single precision as the library computes them that PyTorch calls for whole tensors, not
//! rounded correctly: the exponential from a table of powers of two and a cubic, the sines by a polynomial in double precision.

use super::vectorized::Vectorized;
use std::f64::consts::{FRAC_1_PI, LN_2, LOG2_E, PI};
use std::sync::LazyLock;

/// Steps of an octave.
const STEPS: i32 = 32;

/// Powers of two in those steps, and what rounding them lost, as a share of each.
static POWERS: LazyLock<Vec<(f32, f32)>> = LazyLock::new(|| {
    let power = |j: i32| {
        let exact = libm::exp2(f64::from(j) / f64::from(STEPS));
        let held = exact as f32;
        (held, (exact - f64::from(held)) as f32 / held)
    };
    (0..STEPS).map(power).collect()
});

/// `e^x`. The cubic was determined from results. Source: Intel oneMKL, vsExp.
#[inline(always)]
pub fn exponential(x: f32) -> f32 {
    const STEP: f64 = LN_2 / STEPS as f64;
    const HIGH: f32 = STEP as f32;
    const LOW: f32 = (STEP - HIGH as f64) as f32;
    const PER_UNIT: f32 = (LOG2_E * STEPS as f64) as f32;
    const CUBIC: [f32; 2] = [0.166_671_6, 0.500_014_66];
    const RANGE: [f32; 2] = [-103.972_08, 88.722_84];
    if !(RANGE[0]..RANGE[1]).contains(&x) {
        return x.exp();
    }
    let steps = (x * PER_UNIT).floor();
    let rest = (-steps).fused(LOW, (-steps).fused(HIGH, x));
    let (power, lost) = POWERS[(steps as i32).rem_euclid(STEPS) as usize];
    let curve = CUBIC[0].fused(rest, CUBIC[1]);
    let part = curve.fused(rest * rest, rest + lost);
    let octave = (steps as i32).div_euclid(STEPS);
    (f64::from(power.fused(part, power)) * f64::from_bits(((octave + 1023) as u64) << 52)) as f32
}

/// Beyond this arguments are reduced with more care than here.
const FAR: f32 = 10_000.0;

/// The sine of what is left of `x` after so many half turns, of either sign as their number says. The polynomial was determined from
/// results. Source: Intel oneMKL, vsSin and vsCos.
fn sine_after(x: f64, half_turns: f64, odd: bool) -> f32 {
    const LOST: f64 = 1.224_646_799_147_353_2e-16;
    const POLYNOMIAL: [f64; 4] =
        [2.605_780_807_523_039e-6, -1.980_960_300_133_658_5e-4, 8.333_066_247_876_322e-3, -0.166_666_595_505_248_98];
    let rest = (x - half_turns * PI) - half_turns * LOST;
    let square = rest * rest;
    let curve = POLYNOMIAL[1..].iter().fold(POLYNOMIAL[0], |sum, term| sum * square + term);
    let sine = (rest + rest * square * curve) as f32;
    if odd { -sine } else { sine }
}

/// The sine.
pub fn sine(x: f32) -> f32 {
    let wide = f64::from(x);
    if x == 0.0 || !x.is_finite() || x.abs() > FAR {
        return wide.sin() as f32;
    }
    let half_turns = (wide * FRAC_1_PI).round_ties_even();
    sine_after(wide, half_turns, half_turns % 2.0 != 0.0)
}

/// The cosine: the sine a quarter turn on.
pub fn cosine(x: f32) -> f32 {
    let wide = f64::from(x);
    if !x.is_finite() || x.abs() > FAR {
        return wide.cos() as f32;
    }
    let half_turns = (wide * FRAC_1_PI + 0.5).round_ties_even();
    sine_after(wide, half_turns - 0.5, half_turns % 2.0 != 0.0)
}
