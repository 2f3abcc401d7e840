//! Functions of single precision, once for every machine: a formula is written in terms of [`Lanes`], which one machine computes and
//! another writes as code. Products and sums are rounded one by one, nothing is fused, so that all machines give the same bits.
//!
//! Polynomials are those of Cephes for single precision (expf.c, logf.c, tanhf.c, ndtrf.c): results are within two units
//! in the last place, of erf within three.

use std::f32::consts::LOG2_E;

/// What a machine does with lanes of floats.
pub trait Lanes {
    /// Floats.
    type F: Copy;
    /// Conditions.
    type B: Copy;
    /// A constant.
    fn number(&mut self, v: f32) -> Self::F;
    /// `a + b`
    fn add(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// `a - b`
    fn sub(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b`
    fn mul(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// `a / b`
    fn div(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// `-a`
    fn neg(&mut self, a: Self::F) -> Self::F;
    /// The absolute value.
    fn abs(&mut self, a: Self::F) -> Self::F;
    /// The square root, correctly rounded.
    fn sqrt(&mut self, a: Self::F) -> Self::F;
    /// Rounded down.
    fn floor(&mut self, a: Self::F) -> Self::F;
    /// Rounded up.
    fn ceil(&mut self, a: Self::F) -> Self::F;
    /// Rounded towards zero.
    fn trunc(&mut self, a: Self::F) -> Self::F;
    /// Rounded to nearest, halves to even.
    fn nearest(&mut self, a: Self::F) -> Self::F;
    /// `a < b`
    fn lt(&mut self, a: Self::F, b: Self::F) -> Self::B;
    /// `a <= b`
    fn le(&mut self, a: Self::F, b: Self::F) -> Self::B;
    /// `a == b`
    fn eq(&mut self, a: Self::F, b: Self::F) -> Self::B;
    /// `a != b`
    fn ne(&mut self, a: Self::F, b: Self::F) -> Self::B;
    /// Both.
    fn and(&mut self, a: Self::B, b: Self::B) -> Self::B;
    /// One of them at least.
    fn or(&mut self, a: Self::B, b: Self::B) -> Self::B;
    /// The opposite.
    fn not(&mut self, a: Self::B) -> Self::B;
    /// `a` where the condition holds, `b` elsewhere.
    fn select(&mut self, c: Self::B, a: Self::F, b: Self::F) -> Self::F;
    /// `b` where `a < b`, `a` elsewhere, where one of them is NaN too.
    fn at_least(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// `b` where `b < a`, `a` elsewhere, where one of them is NaN too.
    fn at_most(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// A number that is not negative, with the sign of another.
    fn with_sign_of(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// 2 to the power `n`, given as [`WHOLE`]` + n`: from -127, which gives zero, to 128, which gives infinity.
    fn power_of_two(&mut self, n: Self::F) -> Self::F;
    /// The same in two factors, for powers down to -253 and up to 254.
    fn two_powers(&mut self, n: Self::F) -> (Self::F, Self::F);
    /// Of a positive normal number: the power of two and the rest, from one half to below one.
    fn frexp(&mut self, a: Self::F) -> (Self::F, Self::F);
}

/// Factors of a polynomial from the highest power on, at `x`.
#[inline(always)]
fn polynomial<L: Lanes>(l: &mut L, x: L::F, factors: &[f32]) -> L::F {
    let mut sum = l.number(factors[0]);
    for factor in &factors[1..] {
        let factor = l.number(*factor);
        let product = l.mul(sum, x);
        sum = l.add(product, factor);
    }
    sum
}

// Source: Cephes, expf.c.
const EXP: [f32; 6] = [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5];

/// With this sum a float is rounded to a whole number, halves to even, which then stands in its last bits.
pub const WHOLE: f32 = 12_582_912.0;

/// `e^x` as `2^n (1 + e)`: [`WHOLE`]` + n`, and `e`.
#[inline(always)]
fn taken_apart<L: Lanes>(l: &mut L, x: L::F) -> (L::F, L::F) {
    let (per, whole) = (l.number(LOG2_E), l.number(WHOLE));
    let n = l.mul(x, per);
    let with_whole = l.add(n, whole);
    let n = l.sub(with_whole, whole);
    // ln 2 in two parts; products with the first are exact.
    let (first, second) = (l.number(0.693_359_4), l.number(-2.121_944_4e-4));
    let first = l.mul(n, first);
    let r = l.sub(x, first);
    let second = l.mul(n, second);
    let r = l.sub(r, second);
    let p = polynomial(l, r, &EXP);
    let square = l.mul(r, r);
    let p = l.mul(p, square);
    (with_whole, l.add(p, r))
}

/// `x` between two numbers; NaN stays NaN.
#[inline(always)]
fn between<L: Lanes>(l: &mut L, x: L::F, low: f32, high: f32) -> L::F {
    let (low, high) = (l.number(low), l.number(high));
    let x = l.at_least(x, low);
    l.at_most(x, high)
}

/// `e^x`
#[inline(always)]
pub fn exp<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    // Beyond, everything is zero or infinite.
    let x = between(l, x, -104.0, 89.0);
    let (n, e) = taken_apart(l, x);
    let one = l.number(1.0);
    let y = l.add(e, one);
    let (part, rest) = l.two_powers(n);
    let y = l.mul(y, part);
    l.mul(y, rest)
}

/// `e^x` from -87 on, and what it is there below.
#[inline(always)]
fn exp_from_87<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let x = between(l, x, -87.0, 89.0);
    let (n, e) = taken_apart(l, x);
    let one = l.number(1.0);
    let y = l.add(e, one);
    let power = l.power_of_two(n);
    l.mul(y, power)
}

/// `e^x - 1`
#[inline(always)]
pub fn expm1<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let inside = between(l, x, -87.0, 89.0);
    let (n, e) = taken_apart(l, inside);
    let one = l.number(1.0);
    let large = l.add(e, one);
    let (part, rest) = l.two_powers(n);
    let large = l.mul(large, part);
    let large = l.mul(large, rest);
    // 2^n e + (2^n - 1)
    let power = l.mul(part, rest);
    let low = l.mul(power, e);
    let high = l.sub(power, one);
    let y = l.add(low, high);
    let limit = l.number(20.0);
    let is_large = l.lt(limit, x);
    let y = l.select(is_large, large, y);
    // The sign of zero.
    let zero = l.number(0.0);
    let is_zero = l.eq(x, zero);
    l.select(is_zero, x, y)
}

// Source: Cephes, logf.c.
const LOG: [f32; 9] =
    [7.037_683_6e-2, -0.115_146_1, 0.116_769_98, -0.124_201_41, 0.142_493_23, -0.166_680_58, 0.200_007_15, -0.249_999_94, 0.333_333_3];

/// The natural logarithm.
#[inline(always)]
pub fn log<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let (zero, one, half) = (l.number(0.0), l.number(1.0), l.number(0.5));
    // Numbers below the smallest normal one are taken 2^25 times.
    let smallest = l.number(f32::MIN_POSITIVE);
    let is_small = l.lt(x, smallest);
    let times = l.number(33_554_432.0);
    let large = l.mul(x, times);
    let normal = l.select(is_small, large, x);
    let (e, m) = l.frexp(normal);
    let shift = l.number(25.0);
    let shifted = l.sub(e, shift);
    let e = l.select(is_small, shifted, e);
    let root = l.number(std::f32::consts::FRAC_1_SQRT_2);
    let is_low = l.lt(m, root);
    let lower = l.sub(e, one);
    let e = l.select(is_low, lower, e);
    let twice = l.add(m, m);
    let m = l.select(is_low, twice, m);
    let m = l.sub(m, one);
    let z = l.mul(m, m);
    let p = polynomial(l, m, &LOG);
    let p = l.mul(p, m);
    let p = l.mul(p, z);
    let (second, first) = (l.number(-2.121_944_4e-4), l.number(0.693_359_4));
    let low = l.mul(e, second);
    let p = l.add(p, low);
    let halved = l.mul(z, half);
    let p = l.sub(p, halved);
    let p = l.add(m, p);
    let high = l.mul(e, first);
    let y = l.add(p, high);
    let infinite = l.number(f32::INFINITY);
    let is_finite = l.lt(x, infinite);
    // NaN and infinity stay what they are.
    let y = l.select(is_finite, y, x);
    let is_zero = l.eq(x, zero);
    let least = l.number(f32::NEG_INFINITY);
    let y = l.select(is_zero, least, y);
    let is_negative = l.lt(x, zero);
    let nan = l.number(f32::NAN);
    l.select(is_negative, nan, y)
}

/// `ln(1 + x)`: the logarithm of the rounded sum, with what rounding lost.
#[inline(always)]
pub fn log1p<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let one = l.number(1.0);
    let u = l.add(x, one);
    let y = log(l, u);
    let back = l.sub(u, one);
    let lost = l.sub(x, back);
    let lost = l.div(lost, u);
    let sum = l.add(y, lost);
    // Where the sum is zero or infinite there is nothing to correct.
    let (zero, infinite) = (l.number(0.0), l.number(f32::INFINITY));
    let (above, below) = (l.lt(zero, u), l.lt(u, infinite));
    let inside = l.and(above, below);
    let y = l.select(inside, sum, y);
    // The sign of zero.
    let is_zero = l.eq(x, zero);
    l.select(is_zero, x, y)
}

/// The hyperbolic tangent.
#[inline(always)]
pub fn tanh<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let size = l.abs(x);
    let z = l.mul(x, x);
    // Source: Cephes, tanhf.c.
    let p = polynomial(l, z, &[-5.704_988_7e-3, 2.063_909e-2, -5.373_971_6e-2, 0.133_314_42, -0.333_332_84]);
    let p = l.mul(p, z);
    let p = l.mul(p, x);
    let near = l.add(p, x);
    let twice = l.add(size, size);
    let e = exp_from_87(l, twice);
    let (one, two) = (l.number(1.0), l.number(2.0));
    let e = l.add(e, one);
    let part = l.div(two, e);
    let far = l.sub(one, part);
    let far = l.with_sign_of(far, x);
    let limit = l.number(0.625);
    let is_near = l.lt(size, limit);
    l.select(is_near, near, far)
}

/// `1 / (1 + e^-x)`; zero where it is below 2^-127.
#[inline(always)]
pub fn sigmoid<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let x = l.neg(x);
    let e = exp_from_87(l, x);
    let one = l.number(1.0);
    let sum = l.add(e, one);
    l.div(one, sum)
}

/// The error function.
#[inline(always)]
pub fn erf<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let size = l.abs(x);
    let (one, two) = (l.number(1.0), l.number(2.0));
    let s = l.mul(x, x);
    // Source: Cephes, ndtrf.c.
    let near = polynomial(
        l,
        s,
        &[7.853_861e-5, -8.010_194e-4, 5.188_327_7e-3, -2.685_381_2e-2, 0.112_835_85, -0.376_126_26, std::f32::consts::FRAC_2_SQRT_PI],
    );
    let near = l.mul(near, x);
    let q = l.div(one, size);
    let y = l.mul(q, q);
    // Source: Cephes, ndtrf.c.
    let middle = polynomial(
        l,
        y,
        &[2.326_82e-2, -0.138_703_94, 0.368_742_47, -0.582_473_3, 0.621_000_47, -0.494_451_53, 0.340_488, -0.274_112_7, 0.563_825_96],
    );
    // Source: Cephes, ndtrf.c.
    let outer =
        polynomial(l, y, &[-10.477_664, 12.977_2, -7.495_518_7, 2.921_019, -1.015_265_3, 0.421_846_34, -0.282_076_74, 0.564_189_55]);
    let is_middle = l.lt(size, two);
    let curve = l.select(is_middle, middle, outer);
    let negative = l.neg(s);
    let bell = exp_from_87(l, negative);
    let rest = l.mul(bell, q);
    let rest = l.mul(rest, curve);
    let far = l.sub(one, rest);
    let far = l.with_sign_of(far, x);
    let is_near = l.le(size, one);
    l.select(is_near, near, far)
}

/// One, minus one, or zero, of NaN too.
#[inline(always)]
pub fn sign<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let (zero, one, less) = (l.number(0.0), l.number(1.0), l.number(-1.0));
    let (above, below) = (l.lt(zero, x), l.lt(x, zero));
    let y = l.select(below, less, zero);
    l.select(above, one, y)
}

/// The larger one; NaN wins.
#[inline(always)]
pub fn maximum<L: Lanes>(l: &mut L, a: L::F, b: L::F) -> L::F {
    let (nan, above) = (l.ne(a, a), l.lt(b, a));
    let first = l.or(nan, above);
    l.select(first, a, b)
}

/// The smaller one; NaN wins.
#[inline(always)]
pub fn minimum<L: Lanes>(l: &mut L, a: L::F, b: L::F) -> L::F {
    let (nan, below) = (l.ne(a, a), l.lt(a, b));
    let first = l.or(nan, below);
    l.select(first, a, b)
}

/// Whether it is NaN.
#[inline(always)]
pub fn is_nan<L: Lanes>(l: &mut L, a: L::F) -> L::B {
    l.ne(a, a)
}

/// Whether it is infinite.
#[inline(always)]
pub fn is_inf<L: Lanes>(l: &mut L, a: L::F) -> L::B {
    let (size, infinite) = (l.abs(a), l.number(f32::INFINITY));
    l.eq(size, infinite)
}

/// Whether it is neither.
#[inline(always)]
pub fn is_finite<L: Lanes>(l: &mut L, a: L::F) -> L::B {
    let (size, infinite) = (l.abs(a), l.number(f32::INFINITY));
    l.lt(size, infinite)
}

/// A lane of its own: what a processor computes.
pub struct One;

impl Lanes for One {
    type F = f32;
    type B = bool;
    #[inline(always)]
    fn number(&mut self, v: f32) -> f32 {
        v
    }
    #[inline(always)]
    fn add(&mut self, a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline(always)]
    fn sub(&mut self, a: f32, b: f32) -> f32 {
        a - b
    }
    #[inline(always)]
    fn mul(&mut self, a: f32, b: f32) -> f32 {
        a * b
    }
    #[inline(always)]
    fn div(&mut self, a: f32, b: f32) -> f32 {
        a / b
    }
    #[inline(always)]
    fn neg(&mut self, a: f32) -> f32 {
        -a
    }
    #[inline(always)]
    fn abs(&mut self, a: f32) -> f32 {
        a.abs()
    }
    #[inline(always)]
    fn sqrt(&mut self, a: f32) -> f32 {
        a.sqrt()
    }
    #[inline(always)]
    fn floor(&mut self, a: f32) -> f32 {
        a.floor()
    }
    #[inline(always)]
    fn ceil(&mut self, a: f32) -> f32 {
        a.ceil()
    }
    #[inline(always)]
    fn trunc(&mut self, a: f32) -> f32 {
        a.trunc()
    }
    #[inline(always)]
    fn nearest(&mut self, a: f32) -> f32 {
        a.round_ties_even()
    }
    #[inline(always)]
    fn lt(&mut self, a: f32, b: f32) -> bool {
        a < b
    }
    #[inline(always)]
    fn le(&mut self, a: f32, b: f32) -> bool {
        a <= b
    }
    #[inline(always)]
    fn eq(&mut self, a: f32, b: f32) -> bool {
        a == b
    }
    #[inline(always)]
    fn ne(&mut self, a: f32, b: f32) -> bool {
        a != b
    }
    #[inline(always)]
    fn and(&mut self, a: bool, b: bool) -> bool {
        a & b
    }
    #[inline(always)]
    fn or(&mut self, a: bool, b: bool) -> bool {
        a | b
    }
    #[inline(always)]
    fn not(&mut self, a: bool) -> bool {
        !a
    }
    #[inline(always)]
    fn select(&mut self, c: bool, a: f32, b: f32) -> f32 {
        if c { a } else { b }
    }
    #[inline(always)]
    fn at_least(&mut self, a: f32, b: f32) -> f32 {
        if a < b { b } else { a }
    }
    #[inline(always)]
    fn at_most(&mut self, a: f32, b: f32) -> f32 {
        if b < a { b } else { a }
    }
    #[inline(always)]
    fn with_sign_of(&mut self, a: f32, b: f32) -> f32 {
        f32::from_bits(a.to_bits() | b.to_bits() & 0x8000_0000)
    }
    #[inline(always)]
    fn power_of_two(&mut self, n: f32) -> f32 {
        // Of WHOLE's own bits none is left.
        f32::from_bits(n.to_bits().wrapping_add(127) << 23)
    }
    #[inline(always)]
    fn two_powers(&mut self, n: f32) -> (f32, f32) {
        let n = n.to_bits().wrapping_sub(WHOLE.to_bits()) as i32;
        let part = n >> 1;
        let power = |n: i32| f32::from_bits((n.wrapping_add(127) as u32) << 23);
        (power(part), power(n.wrapping_sub(part)))
    }
    #[inline(always)]
    fn frexp(&mut self, a: f32) -> (f32, f32) {
        let bits = a.to_bits();
        let exponent = ((bits >> 23) as i32).wrapping_sub(126) as f32;
        (exponent, f32::from_bits(bits & 0x007f_ffff | 0x3f00_0000))
    }
}
