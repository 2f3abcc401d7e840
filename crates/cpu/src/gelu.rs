//! Gelu and its gradient. In single precision the error function is that of whichever kernel PyTorch calls: of a whole contiguous
//! tensor a polynomial per quarter of an octave, in groups of lanes the textbook's approximation, of what is left over the C library's.

use super::elementwise::{map1, map2, not_for};
use super::grouped::{grouped, map1_grouped, map1_steps, map2_steps};
use super::vectorized::Vectorized;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};
use tensor::{Dtype, Tensor};

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.gelu.default", gelu);
    t.fill("aten.gelu_backward.default", gelu_backward);
}

/// Where the last polynomial ends: the error function is one from here on.
const FAR: f32 = 5.542_594;
/// Bits of the number below which the first polynomial serves, and of what tells two quarters of an octave apart.
const QUARTERS: i32 = 21;
const FIRST_QUARTER: i32 = 0x3e00_0000 >> QUARTERS;

/// The error function of `x / sqrt(2)`, as polynomials in `x` of degree 5, as bits; a row holds the factors of a power; others
/// would round otherwise. Source: oneDNN, which PyTorch calls here, src/cpu/x64/injectors/jit_uni_eltwise_injector.cpp.
#[rustfmt::skip]
const PIECES: [[u32; 22]; 6] = [
    [
        0x3282_7792, 0x3381_cc0c, 0x3452_3d4a, 0x351a_c44d, 0x35f3_6d88, 0x36ee_8229, 0x37b8_a3bb, 0x3867_a213, 0x3940_033b, 0x3a2a_5a1d, 0x3ae3_5863,
        0x3b78_28f2, 0x3c08_b14b, 0x3c51_5ed3, 0xbb50_3236, 0xbd8d_8e5e, 0xbe8a_bcd9, 0xbf0c_19a2, 0xbecc_b328, 0x3e17_6ced, 0x3f47_0d99, 0x3f7a_bb28,
    ],
    [
        0x3f4c_421f, 0x3f4c_4207, 0x3f4c_41cb, 0x3f4c_413b, 0x3f4c_3fad, 0x3f4c_3a2f, 0x3f4c_2d40, 0x3f4c_146a, 0x3f4b_c341, 0x3f4a_d08c, 0x3f48_f8cf,
        0x3f45_fac7, 0x3f40_4e07, 0x3f3b_980f, 0x3f48_dff3, 0x3f78_b21b, 0x3fbb_0704, 0x4001_9c32, 0x3fe5_36d6, 0x3f81_331e, 0x3e6c_8684, 0x3c98_f936,
    ],
    [
        0x3735_e4cf, 0x37f2_ff89, 0x388c_23be, 0x3917_535c, 0x39ab_2ab0, 0x3a60_fadb, 0x3af9_b960, 0x3b6e_5491, 0x3c0a_4ec5, 0x3ca5_aa8c, 0x3d21_38d9,
        0x3d87_37d4, 0x3ddf_b660, 0x3e0f_27ab, 0x3d94_004b, 0xbe0e_fdeb, 0xbf1d_96c3, 0xbf89_db58, 0xbf6d_9897, 0xbef6_9fb8, 0xbdc4_f8a8, 0xbbde_6422,
    ],
    [
        0xbe08_4570, 0xbe08_639b, 0xbe08_9837, 0xbe08_f409, 0xbe09_ab95, 0xbe0b_66d0, 0xbe0e_400a, 0xbe12_4df8, 0xbe1b_de02, 0xbe2f_19c9, 0xbe49_31bf,
        0xbe68_5fbc, 0xbe89_c95f, 0xbe96_cbca, 0xbe80_44aa, 0xbe05_50f2, 0x3dcf_d6a1, 0x3e94_c826, 0x3e79_345f, 0x3dec_ec91, 0x3ca4_6568, 0x3aa1_e00a,
    ],
    [
        0x39f0_97a3, 0x3a58_45dc, 0x3ab1_fa35, 0x3b0c_efb8, 0x3b65_3ab6, 0x3bca_e527, 0x3c22_1712, 0x3c6c_5840, 0x3cc0_a703, 0x3d1d_cc19, 0x3d63_656d,
        0x3d95_5907, 0x3dbf_9910, 0x3dd5_3f69, 0x3db7_dcef, 0x3d63_9ebe, 0xba6e_de48, 0xbd22_be69, 0xbd04_1cf1, 0xbc64_f5ab, 0xbb09_7a32, 0xb8eb_f380,
    ],
    [
        0x3c9b_6050, 0x3c97_8d11, 0x3c92_e850, 0x3c8d_058b, 0x3c84_8454, 0x3c6c_d623, 0x3c4c_824b, 0x3c2a_7935, 0x3be0_b390, 0x3b06_51ac, 0xbb23_2f53,
        0xbbd4_2fa0, 0xbc2c_5366, 0xbc49_2c9e, 0xbc2a_7aa6, 0xbbd5_5d04, 0xba82_3a76, 0x3b10_2aa8, 0x3ae2_5a7e, 0x3a31_f792, 0x38b8_4375, 0x3689_bb5a,
    ],
];

/// The error function of `x / sqrt(2)` by the polynomials.
#[inline(always)]
fn error_by_pieces(x: f32) -> f32 {
    let size = x.abs();
    let error = if !size.is_finite() {
        // The last polynomial has factors of zero.
        return f32::NAN;
    } else if size > FAR {
        1.0
    } else {
        let piece = (((size.to_bits() as i32 - 1) >> QUARTERS) - FIRST_QUARTER).clamp(0, PIECES[0].len() as i32 - 1) as usize;
        PIECES.iter().rev().fold(0.0, |sum: f32, row| sum.fused(size, f32::from_bits(row[piece])))
    };
    error.copysign(x)
}

/// The textbook's approximation of the error function by powers of `w`, given `e^(-x^2)`. Source: Abramowitz and Stegun, 7.1.26.
#[inline(always)]
fn error_by_powers(x: f32, bell: f32) -> f32 {
    const NEAR: f32 = 0.327_591_1;
    const POWERS: [f32; 5] = [1.061_405_4, -1.453_152_1, 1.421_413_8, -0.284_496_72, 0.254_829_6];
    let w = 1.0 / NEAR.fused(x.abs(), 1.0);
    let series = POWERS[1..].iter().fold(POWERS[0], |sum, term| sum.fused(w, *term));
    let error = (-bell * w).fused(series, 1.0);
    if x.is_sign_negative() { -error } else { error }
}

fn single_gelu(x: &Value, out: &Tensor) -> Result<()> {
    let g = x.tensor()?.concrete()?;
    if g.is_contiguous() && g.numel() > 1 {
        return map1(x, out, |x: f32| x * (1.0 + error_by_pieces(x)) * 0.5);
    }
    map1_grouped(x, out, |x: f32, grouped| {
        let r = x * std::f32::consts::FRAC_1_SQRT_2;
        let error = if grouped { error_by_powers(r, (-(r * r)).exponential()) } else { libm::erff(r) };
        x * 0.5 * (1.0 + error)
    })
}

/// Whether gelu is approximated by tanh.
fn by_tanh(c: &Call) -> Result<bool> {
    match c.str("approximate")? {
        "none" => Ok(false),
        "tanh" => Ok(true),
        _ => Err(Error::runtime("approximate argument must be either none or tanh.")),
    }
}

/// The cube's factor in the approximation by tanh. Source: Hendrycks and Gimpel.
const KAPPA: f64 = 0.044715;
const SQRT_2_OVER_PI: f64 = SQRT_2 * FRAC_2_SQRT_PI * 0.5;

/// The tangent that gelu's approximation is made of.
macro_rules! tanh_of {
    ($t:ty, $x:ident, $grouped:ident) => {
        (SQRT_2_OVER_PI as $t * (KAPPA as $t).fused($x * $x * $x, $x)).tanh_in($grouped)
    };
}

fn gelu(c: &Call, o: &[Tensor]) -> Result<()> {
    let (x, tanh) = (c.get("self"), by_tanh(c)?);
    match o[0].dtype() {
        Dtype::Float64 if tanh => map1_steps(x, &o[0], grouped!([] |x: f64, grouped| 0.5 * x * (1.0 + tanh_of!(f64, x, grouped)))),
        Dtype::Float64 => map1(x, &o[0], |x: f64| x * 0.5 * (1.0 + libm::erf(x * FRAC_1_SQRT_2))),
        d if d.is_floating() && tanh => map1_steps(x, &o[0], grouped!([] |x: f32, grouped| 0.5 * x * (1.0 + tanh_of!(f32, x, grouped)))),
        d if d.is_floating() => single_gelu(x, &o[0]),
        d => Err(not_for("GeluKernelImpl", d)),
    }
}

#[inline(always)]
fn gelu_slope(g: f32, x: f32) -> f32 {
    const ONE_OVER_SQRT_PI: f32 = 0.564_189_55;
    let r = x * std::f32::consts::FRAC_1_SQRT_2;
    let bell = (-(r * r)).coarse_exponential();
    let density = r * ONE_OVER_SQRT_PI * bell;
    error_by_powers(r, bell).fused(0.5, density + 0.5) * g
}

fn gelu_slope_wide(g: f64, x: f64) -> f64 {
    let cdf = 0.5 * (1.0 + libm::erf(x * FRAC_1_SQRT_2));
    let pdf = (-0.5 * x * x).exp() * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * 0.5;
    g * (cdf + x * pdf)
}

fn gelu_backward(c: &Call, o: &[Tensor]) -> Result<()> {
    let (g, x) = (c.get("grad_output"), c.get("self"));
    macro_rules! run {
        ($t:ty, $slope:expr) => {
            if by_tanh(c)? {
                let slope = grouped!([] |g: $t, x, grouped| {
                    let t = tanh_of!($t, x, grouped);
                    let inner = SQRT_2_OVER_PI as $t * (3.0 * KAPPA as $t).fused(x * x, 1.0);
                    g * (0.5 * (1.0 + t) + 0.5 * x * (-t).fused(t, 1.0) * inner)
                });
                map2_steps(g, x, &o[0], slope)
            } else {
                map2(g, x, &o[0], $slope)
            }
        };
    }
    match o[0].dtype() {
        Dtype::Float64 => run!(f64, gelu_slope_wide),
        d if d.is_floating() => run!(f32, gelu_slope),
        d => Err(not_for("GeluBackwardKernelImpl", d)),
    }
}
