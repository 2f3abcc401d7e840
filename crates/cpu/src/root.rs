//! Square roots in single precision as the library computes them that PyTorch calls for whole tensors: one step of Newton's from
//! the processor's estimate of the inverse root, not rounded correctly.
//!
//! The estimate is made of straight lines, 32 to an octave, over the two octaves from 1 to 4; other numbers are such a number times
//! a power of four. Source: VRSQRT14, the x86 instruction whose results the lines reproduce bit by bit.

use super::vectorized::Vectorized;

/// Lines of an octave, and steps of a line.
const LINES: u32 = 32;
const STEP_BITS: u32 = 10;
/// An estimate has this many bits less than a number.
const COARSE: u32 = 7;
/// Fractional bits of a line's slope, and what the starts below are multiples of.
const SLOPE_BITS: u32 = 9;
const UNIT: u32 = 128;

/// Where the lines start, above one half. Source: VRSQRT14.
#[rustfmt::skip]
const STARTS: [u32; 64] = [
    262121, 254113, 246469, 239154, 232142, 225415, 218957, 212753, 206778, 201025, 195479, 190132,
    184962, 179962, 175135, 170459, 165927, 161539, 157279, 153144, 149133, 145235, 141448, 137763,
    134175, 130683, 127286, 123966, 120735, 117590, 114511, 111514, 108565, 102905, 97500, 92324,
    87372, 82615, 78049, 73657, 69437, 65371, 61445, 57661, 54005, 50474, 47057, 43755,
    40551, 37443, 34431, 31513, 28675, 25918, 23236, 20632, 18098, 15629, 13223, 10878,
    8597, 6365, 4192, 2070,
];

/// How much they fall in a step. Source: VRSQRT14.
#[rustfmt::skip]
const SLOPES: [u16; 64] = [
    1001, 955, 915, 877, 841, 807, 775, 747, 719, 693, 669, 647,
    625, 603, 585, 567, 549, 533, 517, 501, 487, 473, 461, 449,
    437, 425, 415, 403, 393, 385, 375, 367, 707, 675, 647, 619,
    595, 571, 549, 527, 509, 491, 473, 457, 441, 427, 413, 401,
    389, 377, 365, 355, 345, 335, 325, 317, 309, 301, 293, 285,
    279, 271, 265, 259,
];

/// The square root.
#[inline(always)]
pub fn square_root(x: f32) -> f32 {
    const MANTISSA: u32 = 23;
    const BIAS: u32 = 127;
    if !(f32::MIN_POSITIVE..f32::INFINITY).contains(&x) {
        return x.sqrt();
    }
    let (bits, fraction) = (x.to_bits(), x.to_bits() & ((1 << MANTISSA) - 1));
    let exponent = (bits >> MANTISSA) as i32 - BIAS as i32;
    let odd = exponent.rem_euclid(2) as u32;
    if fraction == 0 && odd == 0 {
        return x.sqrt();
    }
    let small = f32::from_bits(fraction | ((BIAS + odd) << MANTISSA));
    let step_width = MANTISSA - LINES.ilog2() - STEP_BITS;
    let line = (odd * LINES + (fraction >> (step_width + STEP_BITS))) as usize;
    let step = (fraction >> step_width) & ((1 << STEP_BITS) - 1);
    let above = (STARTS[line] * UNIT - u32::from(SLOPES[line]) * step) >> SLOPE_BITS;
    let estimate = f32::from_bits(((BIAS - 1) << MANTISSA) + (above << COARSE));
    let root = small * estimate;
    let missing = (-root).fused(root, small);
    let root = missing.fused(0.5 * estimate, root);
    root * f32::from_bits(((BIAS as i32 + (exponent - odd as i32) / 2) as u32) << MANTISSA)
}
