//! Functions in single precision to the last bit of the SLEEF library's, with which PyTorch's kernels are vectorized: what lies
//! near the result is carried as a pair of floats, a number and what rounding it lost. In groups of lanes these are computed; what
//! groups leave over is a matter of the C library. Polynomials and bounds are those of SLEEF 3's src/libm/sleefsp.c.

use super::vectorized::Vectorized;
use std::ops::{Add, Mul};

/// A number and what rounding it lost.
#[derive(Clone, Copy)]
struct Pair(f32, f32);

/// A number without a loss.
#[inline(always)]
fn whole(x: f32) -> Pair {
    Pair(x, 0.0)
}

/// A sum and what rounding it lost, whichever part is larger.
#[inline(always)]
fn sum(a: f32, b: f32) -> Pair {
    let s = a + b;
    let v = s - a;
    Pair(s, (a - (s - v)) + (b - v))
}

impl Pair {
    #[inline(always)]
    fn value(self) -> f32 {
        self.0 + self.1
    }
    #[inline(always)]
    fn neg(self) -> Pair {
        Pair(-self.0, -self.1)
    }
    #[inline(always)]
    fn scale(self, by: f32) -> Pair {
        Pair(self.0 * by, self.1 * by)
    }
    #[inline(always)]
    fn normal(self) -> Pair {
        sum_larger(self.0, self.1)
    }
    /// Of the two, `self` is the larger.
    #[inline(always)]
    fn plus(self, b: Pair) -> Pair {
        let s = self.0 + b.0;
        Pair(s, (((self.0 - s) + b.0) + self.1) + b.1)
    }
    #[inline(always)]
    fn times(self, by: f32) -> Pair {
        let s = self.0 * by;
        Pair(s, self.1.fused(by, self.0.fused(by, -s)))
    }
    #[inline(always)]
    fn square(self) -> Pair {
        let s = self.0 * self.0;
        Pair(s, (self.0 + self.0).fused(self.1, self.0.fused(self.0, -s)))
    }
    #[inline(always)]
    fn inverse(self) -> Pair {
        let s = 1.0 / self.0;
        Pair(s, s * (-self.1).fused(s, (-self.0).fused(s, 1.0)))
    }
    #[inline(always)]
    fn over(self, d: Pair) -> Pair {
        let t = 1.0 / d.0;
        let s = self.0 * t;
        let lost = t.fused(self.0, -s);
        let error = (-d.1).fused(t, (-d.0).fused(t, 1.0));
        Pair(s, s.fused(error, self.1.fused(t, lost)))
    }
}

impl Add for Pair {
    type Output = Pair;
    #[inline(always)]
    fn add(self, b: Pair) -> Pair {
        let Pair(s, lost) = sum(self.0, b.0);
        Pair(s, lost + (self.1 + b.1))
    }
}

impl Mul for Pair {
    type Output = Pair;
    #[inline(always)]
    fn mul(self, b: Pair) -> Pair {
        let s = self.0 * b.0;
        Pair(s, self.0.fused(b.1, self.1.fused(b.0, self.0.fused(b.0, -s))))
    }
}

/// A polynomial, the highest power's factor first.
#[inline(always)]
fn polynomial<const N: usize>(x: f32, factors: [f32; N]) -> f32 {
    factors[1..].iter().fold(factors[0], |sum, factor| sum.fused(x, *factor))
}

#[inline(always)]
fn power_of_two(q: i32) -> f32 {
    f32::from_bits(((q + 127) as u32) << 23)
}

/// `x` times a power of two that may be beyond what a float holds.
#[inline(always)]
fn scaled(x: f32, q: i32) -> f32 {
    x * power_of_two(q >> 1) * power_of_two(q - (q >> 1))
}

/// A positive number as `m * 2^e`, with `m` around one.
#[inline(always)]
fn split(x: f32) -> (f32, i32) {
    let exponent = |x: f32| (x.to_bits() >> 23) as i32 - 127;
    let (x, less) = if x < f32::MIN_POSITIVE { (x * power_of_two(64), 64) } else { (x, 0) };
    let e = exponent(x * (1.0 / 0.75));
    (f32::from_bits((x.to_bits() as i32 - (e << 23)) as u32), e - less)
}

/// Below this the exponential is zero.
const LOWEST: f32 = -104.0;
const LN2: Pair = Pair(std::f32::consts::LN_2, -1.904_654_3e-9);

/// An exponent's nearest multiple of ln 2, and the rest. Source: SLEEF, its `L2U` and `L2L`.
#[inline(always)]
fn reduced(x: Pair) -> (Pair, i32) {
    const HIGH: f32 = 0.693_145_75;
    const LOW: f32 = 1.428_606_8e-6;
    let q = (x.value() * std::f32::consts::LOG2_E).round_ties_even();
    (x + whole(q * -HIGH) + whole(q * -LOW), q as i32)
}

/// The exponential as a pair. Source: SLEEF, `expk2f`.
#[inline(always)]
fn exponential_pair(x: Pair) -> Pair {
    let (s, q) = reduced(x);
    let u = polynomial(s.0, [1.980_960_2e-4, 1.394_256_5e-3, 8.333_457e-3, 4.166_637_4e-2]);
    let t = s * (s.times(u) + whole(0.166_666_66)) + whole(0.5);
    let t = whole(1.0).plus(s + s.square() * t);
    let over_zero = |part: f32| if x.0 < LOWEST { 0.0 } else { scaled(part, q) };
    Pair(over_zero(t.0), over_zero(t.1))
}

/// The exponential of a pair as a number. Source: SLEEF, `expkf`.
fn exponential_of(x: Pair) -> f32 {
    if x.0 < LOWEST {
        return 0.0;
    }
    let (s, q) = reduced(x);
    let s = s.normal();
    let u = polynomial(s.0, [1.363_246_5e-3, 8.365_969e-3, 4.167_108_2e-2, 0.166_665_52, 0.499_999_85]);
    scaled(whole(1.0).plus(s.plus(s.square().times(u))).value(), q)
}

/// The logarithm of a positive number as a pair. Source: SLEEF, `logkf`.
fn logarithm_pair(x: f32) -> Pair {
    let (m, e) = split(x);
    let x = sum(-1.0, m).over(sum(1.0, m));
    let square = x.square();
    let t = polynomial(square.0, [0.240_320_35, 0.285_112_68, 0.400_008]);
    let s = LN2.times(e as f32).plus(x.scale(2.0));
    s.plus((square * x) * (square.times(t) + Pair(0.666_666_6, 3.691_838_6e-9)))
}

/// Half of an area tangent's logarithm. Source: SLEEF, `logk2f`.
fn logarithm_of(x: Pair) -> Pair {
    let (_, e) = split(x.0);
    let m = x.scale(power_of_two(-e));
    let x = (m + whole(-1.0)).over(m + whole(1.0));
    let square = x.square();
    let t = polynomial(square.0, [0.239_282_85, 0.285_182_12, 0.400_005_88, 0.666_666_7]);
    LN2.times(e as f32).plus(x.scale(2.0)).plus((square * x).times(t))
}

/// `e^x - 1`
#[inline(always)]
pub fn expm1(x: f32) -> f32 {
    match x {
        _ if x > 88.722_83 => f32::INFINITY,
        _ if x < -16.635_532 => -1.0,
        _ if x == 0.0 => x,
        _ => (exponential_pair(whole(x)) + whole(-1.0)).value(),
    }
}

/// `ln(1 + x)`
#[inline(always)]
pub fn log1p(x: f32) -> f32 {
    if x == 0.0 || x == f32::INFINITY || x.is_nan() {
        return x;
    }
    if x <= -1.0 {
        return if x == -1.0 { f32::NEG_INFINITY } else { f32::NAN };
    }
    let (_, e) = split(x + 1.0);
    let t = power_of_two(-e);
    let m = x.fused(t, t - 1.0);
    logarithm_value(whole(m).over(sum(2.0, m)), e)
}

/// A logarithm of its half tangent and exponent. Source: SLEEF, `xlogf_u1`.
#[inline(always)]
fn logarithm_value(x: Pair, e: i32) -> f32 {
    let square = x.0 * x.0;
    let t = polynomial(square, [0.302_729_5, 0.399_610_82, 0.666_669_5]);
    LN2.times(e as f32).plus(x.scale(2.0)).plus(whole(square * x.0 * t)).value()
}

/// The natural logarithm.
pub fn log(x: f32) -> f32 {
    if x <= 0.0 || !x.is_finite() {
        return x.ln();
    }
    let (m, e) = split(x);
    logarithm_value(sum(-1.0, m).over(sum(1.0, m)), e)
}

/// `2^x`. Source: SLEEF, `xexp2f`.
pub fn exp2(x: f32) -> f32 {
    if x.is_nan() {
        return x;
    }
    if x >= 128.0 {
        return f32::INFINITY;
    }
    if x < -150.0 {
        return 0.0;
    }
    let q = x.round_ties_even();
    let u = polynomial(x - q, [1.535_920_9e-4, 1.339_262_7e-3, 9.618_385e-3, 5.550_347_3e-2, 0.240_226_45, std::f32::consts::LN_2, 1.0]);
    scaled(u, q as i32)
}

/// `x^y`
pub fn pow(x: f32, y: f32) -> f32 {
    let ordinary = x != 0.0 && x.is_finite() && y.is_finite() && y != 0.0 && x != 1.0;
    let (even, integral) = (y % 2.0 == 0.0, y.fract() == 0.0);
    if !ordinary || x < 0.0 && !integral {
        return x.powf(y);
    }
    let power = exponential_of(logarithm_pair(x.abs()).times(y));
    let power = if power.is_nan() { f32::INFINITY } else { power };
    if x < 0.0 && !even { -power } else { power }
}

/// The hyperbolic tangent.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    // Computed for every number: a loop without branches fills registers.
    let d = exponential_pair(whole(x.abs()));
    let e = d.inverse();
    let size = d.plus(e.neg()).over(d.plus(e)).value();
    let size = if x.abs() > 8.664_34 { 1.0 } else { size };
    if x.is_nan() { x } else { size.copysign(x) }
}

/// The area hyperbolic tangent.
pub fn atanh(x: f32) -> f32 {
    let y = x.abs();
    if y.is_nan() || y >= 1.0 {
        return if y == 1.0 { f32::INFINITY.copysign(x) } else { f32::NAN };
    }
    (logarithm_of(sum(1.0, y).over(sum(1.0, -y))).value() * 0.5).copysign(x)
}

/// The angle of a point. Source: SLEEF, `atan2kf_u1`.
pub fn atan2(y: f32, x: f32) -> f32 {
    if x == 0.0 || y == 0.0 || !x.is_finite() || !y.is_finite() {
        return y.atan2(x);
    }
    let (mut turns, across, up) = (if x < 0.0 { -2.0 } else { 0.0 }, x.abs(), y.abs());
    let (s, t) = if across < up {
        turns += 1.0;
        (-across, up)
    } else {
        (up, across)
    };
    let s = whole(s).over(whole(t));
    let t = s.square().normal();
    let u = polynomial(
        t.0,
        [-1.763_979_1e-3, 1.079_009e-2, -3.095_646e-2, 5.773_651e-2, -8.389_507e-2, 0.109_463_56, -0.142_626_82, 0.199_983_2],
    );
    let t = t * sum_larger(-0.333_332_87, u * t.0);
    let t = s * whole(1.0).plus(t);
    let angle = Pair(1.570_796_4, -4.371_139e-8).times(turns).plus(t).value();
    (if x < 0.0 { -angle } else { angle }).copysign(y)
}

/// A sum of which the first part is the larger.
#[inline(always)]
fn sum_larger(a: f32, b: f32) -> Pair {
    let s = a + b;
    Pair(s, (a - s) + b)
}
