//! Pointwise kernels of one operand: arithmetic, rounding, exponentials, trigonometry, special functions, predicates.

use super::dense::held;
use super::elementwise::{Compute, float1, map1, not_for, number};
use super::grouped::map1_grouped;
use super::{library, paired, special};
use diagnostics::error::Result;
use dispatch::{Call, KernelTable, Value};
use tensor::{Dtype, Tensor};

/// The operand: `self`, or the only tensor there is.
fn operand<'a>(c: &Call<'a>) -> &'a Value {
    c.get("self")
}

/// Kernels whose results are floats.
macro_rules! floats {
    ($t:ident: $($name:literal, $stub:literal => |$x:ident| $body:expr;)*) => { $(
        $t.fill($name, |c, o| float1($stub, operand(c), &o[0], |$x: f32| $body, |$x: f64| $body));
    )* };
}

/// Kernels that keep the dtype: floats and integers.
macro_rules! keeps {
    ($t:ident: $($name:literal, $stub:literal => |$x:ident| $float:expr, |$i:ident| $int:expr;)*) => { $(
        $t.fill($name, |c, o| match o[0].dtype() {
            d if d.is_integral() => map1(operand(c), &o[0], |$i: i64| $int),
            _ => float1($stub, operand(c), &o[0], |$x: f32| $float, |$x: f64| $float),
        });
    )* };
}

/// Functions that Rust's floats lack, per precision.
pub trait Special: Copy {
    /// Error function.
    fn error_function(self) -> Self;
    /// Its complement.
    fn error_complement(self) -> Self;
    /// Logarithm of the absolute value of the gamma function.
    fn lgamma(self) -> Self;
    /// Rounds halves to even.
    fn rint(self) -> Self;
    /// Through f64.
    fn via(self, f: impl Fn(f64) -> f64) -> Self;
}
impl Special for f32 {
    fn error_function(self) -> Self {
        libm::erf(self.into()) as f32
    }
    fn error_complement(self) -> Self {
        libm::erfc(self.into()) as f32
    }
    fn lgamma(self) -> Self {
        libm::lgamma(self.into()) as f32
    }
    fn rint(self) -> Self {
        self.round_ties_even()
    }
    fn via(self, f: impl Fn(f64) -> f64) -> Self {
        f(self as f64) as f32
    }
}
impl Special for f64 {
    fn error_function(self) -> Self {
        libm::erf(self)
    }
    fn error_complement(self) -> Self {
        libm::erfc(self)
    }
    fn lgamma(self) -> Self {
        libm::lgamma(self)
    }
    fn rint(self) -> Self {
        self.round_ties_even()
    }
    fn via(self, f: impl Fn(f64) -> f64) -> Self {
        f(self)
    }
}

/// `1 / sqrt(x)`. What groups leave over has its root rounded to the dtype first.
pub fn inverse_root(name: &str, x: &Value, out: &Tensor) -> Result<()> {
    match out.dtype() {
        dtype @ (Dtype::Float16 | Dtype::BFloat16) => map1_grouped(x, out, |x: f32, grouped| {
            let root = x.sqrt();
            1.0 / if grouped { root } else { held(root, dtype) }
        }),
        _ => float1(name, x, out, |x| 1.0 / x.sqrt(), |x| 1.0 / x.sqrt()),
    }
}

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    floats! { t:
        "aten.log.default", "log_vml_cpu" => |x| x.via(f64::ln);
        "aten.log2.default", "log2_vml_cpu" => |x| x.via(f64::log2);
        "aten.log10.default", "log10_vml_cpu" => |x| x.via(f64::log10);
        "aten.reciprocal.default", "reciprocal_cpu" => |x| 1.0 / x;
        "aten.tan.default", "tan_vml_cpu" => |x| x.via(f64::tan);
        "aten.asin.default", "asin_vml_cpu" => |x| x.via(f64::asin);
        "aten.acos.default", "acos_vml_cpu" => |x| x.via(f64::acos);
        "aten.atan.default", "atan_vml_cpu" => |x| x.via(f64::atan);
        "aten.sinh.default", "sinh_vml_cpu" => |x| x.sinh();
        "aten.cosh.default", "cosh_vml_cpu" => |x| x.cosh();
        "aten.tanh.default", "tanh_vml_cpu" => |x| x.via(f64::tanh);
        "aten.asinh.default", "asinh_vml_cpu" => |x| x.asinh();
        "aten.acosh.default", "acosh_vml_cpu" => |x| x.acosh();
        "aten.erf.default", "erf_vml_cpu" => |x| x.error_function();
        "aten.erfc.default", "erfc_vml_cpu" => |x| x.error_complement();
        "aten.erfinv.default", "erfinv_vml_cpu" => |x| x.via(special::erfinv);
        "aten.lgamma.default", "lgamma_vml_cpu" => |x| x.lgamma();
        "aten.special_entr.default", "entr" => |x| if x > 0.0 { -x * x.ln() } else if x == 0.0 { 0.0 } else if x.is_nan() { x } else { -1.0 / 0.0 };
        "aten.frac.default", "frac_cpu" => |x| x - x.trunc();
        "aten.rad2deg.default", "rad2deg" => |x| x.to_degrees();
        "aten.deg2rad.default", "deg2rad" => |x| x.to_radians();
    }
    keeps! { t:
        "aten.neg.default", "neg_cpu" => |x| -x, |i| i.wrapping_neg();
        "aten.abs.default", "abs_cpu" => |x| x.abs(), |i| i.wrapping_abs();
        "aten.floor.default", "floor_vml_cpu" => |x| x.floor(), |i| i;
        "aten.ceil.default", "ceil_vml_cpu" => |x| x.ceil(), |i| i;
        "aten.trunc.default", "trunc_vml_cpu" => |x| x.trunc(), |i| i;
        "aten.round.default", "round_vml_cpu" => |x| x.rint(), |i| i;
        "aten.sign.default", "sign_cpu" => |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { 0.0 }, |i| i.signum();
        "aten.sgn.default", "sgn_cpu" => |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { 0.0 }, |i| i.signum();
        "aten.relu.default", "clamp_min_scalar_cpu" => |x| if x > 0.0 || x.is_nan() { x } else { 0.0 }, |i| i.max(0);
    }
    t.fill("aten.rsqrt.default", |c, o| inverse_root("rsqrt_cpu", operand(c), &o[0]));
    t.fill("aten.exp.default", |c, o| float1("exp_vml_cpu", operand(c), &o[0], library::exponential, f64::exp));
    t.fill("aten.sin.default", |c, o| float1("sin_vml_cpu", operand(c), &o[0], library::sine, f64::sin));
    t.fill("aten.cos.default", |c, o| float1("cos_vml_cpu", operand(c), &o[0], library::cosine, f64::cos));
    t.fill("aten.expm1.default", |c, o| float1("expm1_vml_cpu", operand(c), &o[0], paired::expm1, f64::exp_m1));
    t.fill("aten.log1p.default", |c, o| float1("log1p_vml_cpu", operand(c), &o[0], paired::log1p, f64::ln_1p));
    t.fill("aten.atanh.default", |c, o| float1("atanh_vml_cpu", operand(c), &o[0], paired::atanh, f64::atanh));
    t.fill("aten.exp2.default", |c, o| float1("exp2", operand(c), &o[0], paired::exp2, f64::exp2));
    t.fill("aten.sinc.default", |c, o| {
        macro_rules! sinc {
            ($t:ty) => {
                |x: $t| {
                    let product = std::f64::consts::PI as $t * x;
                    if x == 0.0 { 1.0 } else { product.sin() / product }
                }
            };
        }
        float1("sinc_cpu", operand(c), &o[0], sinc!(f32), sinc!(f64))
    });
    t.fill("aten.sqrt.default", |c, o| float1("sqrt_cpu", operand(c), &o[0], super::root::square_root, f64::sqrt));
    t.fill("aten.round.decimals", |c, o| {
        let decimals = c.int("decimals")?;
        let ten = 10f64.powi(decimals.unsigned_abs() as i32);
        let round = move |x: f64, ten: f64| if decimals < 0 { (x / ten).rint() * ten } else { (x * ten).rint() / ten };
        let single = move |x: f32, ten: f32| if decimals < 0 { (x / ten).rint() * ten } else { (x * ten).rint() / ten };
        match o[0].dtype() {
            d if d.is_integral() => map1(operand(c), &o[0], |i: i64| i),
            _ => float1("round_vml_cpu", operand(c), &o[0], |x| single(x, ten as f32), |x| round(x, ten)),
        }
    });
    t.fill("aten.digamma.default", |c, o| float1("digamma", operand(c), &o[0], special::single_digamma, special::digamma));
    t.fill("aten.polygamma.default", |c, o| {
        let n = c.int("n")?;
        let single = |x: f32| if n == 1 { special::single_trigamma(x) } else { x.via(|v| special::polygamma(n, v)) };
        float1("polygamma", operand(c), &o[0], single, |x| special::polygamma(n, x))
    });
    t.fill("aten.bitwise_not.default", |c, o| match o[0].dtype() {
        Dtype::Bool => map1(operand(c), &o[0], |v: u8| u8::from(v == 0)),
        d if d.is_integral() => map1(operand(c), &o[0], |v: i64| !v),
        d => Err(not_for("bitwise_not_cpu", d)),
    });
    t.fill("aten.logical_not.default", |c, o| predicate(c, &o[0], |v: f64| !v.truth(), |v: i64| v == 0));
    t.fill("aten.isnan.default", |c, o| predicate(c, &o[0], f64::is_nan, |_| false));
    t.fill("aten.isinf.default", |c, o| predicate(c, &o[0], f64::is_infinite, |_| false));
    t.fill("aten.isposinf.default", |c, o| predicate(c, &o[0], |v| v == f64::INFINITY, |_| false));
    t.fill("aten.isneginf.default", |c, o| predicate(c, &o[0], |v| v == f64::NEG_INFINITY, |_| false));
    t.fill("aten.signbit.default", |c, o| predicate(c, &o[0], f64::is_sign_negative, |v| v < 0));
    t.fill("aten.nan_to_num.default", nan_to_num);
    t.fill("aten.logit.default", |c, o| {
        let eps = if c.get("eps").is_none() { -1.0 } else { c.float("eps")? };
        let logit = |x: f64| {
            let x = if eps < 0.0 || x.is_nan() {
                x
            } else if x < eps {
                eps
            } else {
                x.min(1.0 - eps)
            };
            (x / (1.0 - x)).ln()
        };
        let single = |x: f32| {
            let eps = eps as f32;
            let x = if eps < 0.0 || x.is_nan() {
                x
            } else if x < eps {
                eps
            } else {
                x.min(1.0 - eps)
            };
            (x / (1.0 - x)).ln()
        };
        float1("logit_cpu", operand(c), &o[0], single, logit)
    });
}

/// A test of every element.
fn predicate(c: &Call, out: &Tensor, float: impl Fn(f64) -> bool, int: impl Fn(i64) -> bool) -> Result<()> {
    let from = c.tensor("self")?.dtype();
    if from.is_integral() { map1(operand(c), out, |v: i64| u8::from(int(v))) } else { map1(operand(c), out, |v: f64| u8::from(float(v))) }
}

fn nan_to_num(c: &Call, o: &[Tensor]) -> Result<()> {
    let out = &o[0];
    if out.dtype().is_integral() {
        return map1(operand(c), out, |v: i64| v);
    }
    let (low, high) = match out.dtype() {
        Dtype::Float64 => (f64::MIN, f64::MAX),
        Dtype::Float8E4m3fn => (-448.0, 448.0),
        Dtype::Float8E5m2 => (-57344.0, 57344.0),
        Dtype::Float16 => (-65504.0, 65504.0),
        Dtype::BFloat16 => (half::bf16::MIN.to_f64(), half::bf16::MAX.to_f64()),
        _ => (f32::MIN as f64, f32::MAX as f64),
    };
    let given = |name: &str, or: f64| if c.get(name).is_none() { Ok(or) } else { number::<f64>(c.get(name)) };
    let (nan, posinf, neginf) = (given("nan", 0.0)?, given("posinf", high)?, given("neginf", low)?);
    let fix = |v: f64| match v {
        v if v.is_nan() => nan,
        f64::INFINITY => posinf,
        f64::NEG_INFINITY => neginf,
        v => v,
    };
    float1("nan_to_num", operand(c), out, |v| if v.is_finite() { v } else { fix(v as f64) as f32 }, fix)
}
