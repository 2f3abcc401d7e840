//! Kernels of `torch.special`, over the functions of `special` and `bessel`, and of other pointwise functions that are rare.

use super::bessel::{
    Family, LONG, Round, airy, bessel_i, bessel_i_scaled, bessel_j, bessel_y, modified_k, modified_k_scaled, polynomial, spherical_j0,
};
use super::elementwise::{float1, float2, map2, scatter, values};
use super::special;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value};
use tensor::{Dtype, Tensor};

/// One operand, computed in f64 whatever the dtype.
fn wide1(name: &str, a: &Value, out: &Tensor, f: &dyn Fn(f64) -> f64) -> Result<()> {
    float1(name, a, out, |x| f(f64::from(x)) as f32, f)
}

/// Two operands, computed in f64 whatever the dtype.
fn wide2(name: &str, a: &Value, b: &Value, out: &Tensor, f: &dyn Fn(f64, f64) -> f64) -> Result<()> {
    float2(name, a, b, out, |x, y| f(f64::from(x), f64::from(y)) as f32, f)
}

/// A function in f64, which is told how the elements round.
type Unary = fn(f64, Round) -> f64;

const UNARY: &[(&str, &str, Unary)] = &[
    ("i0", "i0", |x, round| bessel_i(0, x, round)),
    ("special_i1", "i1", |x, round| bessel_i(1, x, round)),
    ("special_i0e", "i0e", |x, _| bessel_i_scaled(0, x)),
    ("special_i1e", "i1e", |x, _| bessel_i_scaled(1, x)),
    ("special_ndtri", "ndtri_cpu", |x, _| special::ndtri(x)),
    ("special_log_ndtr", "log_ndtr_cpu", |x, _| special::log_ndtr(x)),
    ("special_erfcx", "erfcx", |x, _| special::erfcx(x)),
    ("special_airy_ai", "airy_ai_cpu", airy),
    ("special_bessel_j0", "bessel_j0_cpu", |x, round| bessel_j(0, x, round)),
    ("special_bessel_j1", "bessel_j1_cpu", |x, round| bessel_j(1, x, round)),
    ("special_bessel_y0", "bessel_y0_cpu", |x, round| bessel_y(0, x, round)),
    ("special_bessel_y1", "bessel_y1_cpu", |x, round| bessel_y(1, x, round)),
    ("special_modified_bessel_i0", "modified_bessel_i0_cpu", |x, round| bessel_i(0, x, round)),
    ("special_modified_bessel_i1", "modified_bessel_i1_cpu", |x, round| bessel_i(1, x, round)),
    ("special_modified_bessel_k0", "modified_bessel_k0_cpu", |x, round| modified_k(0.0, x, round)),
    ("special_modified_bessel_k1", "modified_bessel_k1_cpu", |x, round| modified_k(1.0, x, round)),
    ("special_scaled_modified_bessel_k0", "scaled_modified_bessel_k0_cpu", |x, round| modified_k_scaled(0.0, x, round)),
    ("special_scaled_modified_bessel_k1", "scaled_modified_bessel_k1_cpu", |x, round| modified_k_scaled(1.0, x, round)),
    ("special_spherical_bessel_j0", "spherical_bessel_j0_cpu", |x, _| spherical_j0(x)),
];

fn unary(c: &Call, o: &[Tensor]) -> Result<()> {
    let (_, stub, f) = UNARY.iter().find(|(name, ..)| *name == c.entry.base_name()).ok_or_else(|| Error::not_implemented(c.entry.name))?;
    let single: Round = |x| f64::from(x as f32);
    float1(stub, &c.args[0], &o[0], |x| f(f64::from(x), single) as f32, |x| f(x, |x| x))
}

fn family(name: &str) -> Option<(Family, bool)> {
    let (name, shifted) = match name.strip_prefix("special_shifted_") {
        Some(rest) => (rest, true),
        None => (name.strip_prefix("special_")?, false),
    };
    let family = match name {
        "chebyshev_polynomial_t" => Family::ChebyshevT,
        "chebyshev_polynomial_u" => Family::ChebyshevU,
        "chebyshev_polynomial_v" => Family::ChebyshevV,
        "chebyshev_polynomial_w" => Family::ChebyshevW,
        "hermite_polynomial_h" => Family::HermiteH,
        "hermite_polynomial_he" => Family::HermiteHe,
        "laguerre_polynomial_l" => Family::Laguerre,
        "legendre_polynomial_p" => Family::Legendre,
        _ => return None,
    };
    Some((family, shifted))
}

fn orthogonal(c: &Call, o: &[Tensor]) -> Result<()> {
    let name = c.entry.base_name();
    let (family, shifted) = family(name).ok_or_else(|| Error::not_implemented(name))?;
    // These have no closed form, and their recurrences take as many steps as the degree says.
    if matches!(family, Family::Laguerre | Family::Legendre) {
        let degrees = match &c.args[1] {
            Value::Tensor(t) => values::<f64>(t)?,
            number => vec![number.float()?],
        };
        if let Some(n) = degrees.iter().find(|n| (LONG..i64::MAX as f64).contains(*n)) {
            return Err(Error::not_implemented(format!("{name} of degree {n} is not implemented in this playground")));
        }
    }
    let f = |x: f64, n: f64| polynomial(family, if shifted { x + x - 1.0 } else { x }, n);
    wide2(name, &c.args[0], &c.args[1], &o[0], &f)
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a.wrapping_rem(b));
    }
    a.wrapping_abs()
}

/// Puts each element back where its plane's maximum was.
fn unpool(c: &Call, o: &[Tensor]) -> Result<()> {
    let dims = c.ints("output_size")?.len();
    let (x, out) = (c.tensor("self")?, o[0].concrete()?.sizes);
    let sizes = x.concrete()?.sizes;
    let volume = |s: &[usize]| s[s.len() - dims..].iter().product::<usize>();
    let (from, to) = (volume(&sizes), volume(&out));
    let (given, indices) = (values::<f64>(x)?, values::<i64>(c.tensor("indices")?)?);
    let mut made = vec![0.0; out.iter().product()];
    for (i, (value, at)) in given.iter().zip(&indices).enumerate() {
        if *at < 0 || *at as usize >= to {
            let place = out[out.len() - dims..].iter().map(usize::to_string).collect::<Vec<_>>().join("x");
            return Err(Error::runtime(format!("Found an invalid max index: {at} (output volumes are of size {place}")));
        }
        made[i / from * to + *at as usize] = *value;
    }
    scatter(&o[0], &made)
}

/// The regularized incomplete gamma functions, in which numbers too large for the dtype are infinite.
fn incomplete_gamma(name: &str, c: &Call, o: &[Tensor], upper: bool) -> Result<()> {
    let largest = if o[0].dtype() == Dtype::Float64 { f64::MAX } else { f64::from(f32::MAX) };
    wide2(name, &c.args[0], &c.args[1], &o[0], &|a, x| special::incomplete_gamma(a, x, upper, largest))
}

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    for (name, ..) in UNARY {
        t.fill(Box::leak(format!("aten.{name}.default").into_boxed_str()), unary);
    }
    for name in operators::special::POLYNOMIALS {
        for overload in ["default", "x_scalar", "n_scalar"] {
            t.fill(Box::leak(format!("aten.{name}.{overload}").into_boxed_str()), orthogonal);
        }
    }
    for name in ["aten.special_xlog1py.default", "aten.special_xlog1py.self_scalar", "aten.special_xlog1py.other_scalar"] {
        t.fill(name, |c, o| {
            let f = |x: f64, y: f64| {
                if y.is_nan() {
                    f64::NAN
                } else if x == 0.0 {
                    0.0
                } else {
                    x * y.ln_1p()
                }
            };
            wide2("xlog1py_cpu", &c.args[0], &c.args[1], &o[0], &f)
        });
    }
    for name in ["aten.special_zeta.default", "aten.special_zeta.self_scalar", "aten.special_zeta.other_scalar"] {
        t.fill(name, |c, o| wide2("zeta", &c.args[0], &c.args[1], &o[0], &special::zeta));
    }
    t.fill("aten.igamma.default", |c, o| incomplete_gamma("igamma", c, o, false));
    t.fill("aten.igammac.default", |c, o| incomplete_gamma("igammac", c, o, true));
    t.fill("aten.mvlgamma.default", |c, o| {
        let p = c.int("p")?;
        if values::<f64>(c.tensor("self")?)?.iter().any(|x| *x <= (p - 1) as f64 / 2.0) {
            return Err(Error::runtime("All elements must be greater than (p-1)/2"));
        }
        // PyTorch sums over a tensor of so many terms.
        let x = c.tensor("self")?;
        tensor::check_room((x.concrete()?.numel() as u64).saturating_mul(p as u64), x.dtype().itemsize())?;
        wide1("mvlgamma", &c.args[0], &o[0], &|x| special::mvlgamma(x, p))
    });
    t.fill("aten.nextafter.default", |c, o| match o[0].dtype() {
        // A short float is the upper half of a single one.
        Dtype::BFloat16 => map2(&c.args[0], &c.args[1], &o[0], |x: f32, y: f32| {
            let step = |x: f32, by: i32| f32::from_bits((((x.to_bits() >> 16) as i32 + by) as u32) << 16);
            match x.partial_cmp(&y) {
                None => f32::NAN,
                Some(std::cmp::Ordering::Equal) => y,
                Some(_) if x == 0.0 => f32::from_bits(1 << 16).copysign(y),
                Some(order) => step(x, if (order == std::cmp::Ordering::Less) == (x > 0.0) { 1 } else { -1 }),
            }
        }),
        _ => float2("nextafter_cpu", &c.args[0], &c.args[1], &o[0], libm::nextafterf, libm::nextafter),
    });
    t.fill("aten.gcd.default", |c, o| map2(&c.args[0], &c.args[1], &o[0], gcd));
    t.fill("aten.lcm.default", |c, o| {
        map2(&c.args[0], &c.args[1], &o[0], |a: i64, b| if a == 0 || b == 0 { 0 } else { (a / gcd(a, b)).wrapping_mul(b).abs() })
    });
    for name in ["aten.max_unpool2d.default", "aten.max_unpool3d.default"] {
        t.fill(name, unpool);
    }
    t.fill("aten.frexp.Tensor", |c, o| {
        let split = |x: f64| if x.is_finite() { libm::frexp(x) } else { (x, 0) };
        if !c.tensor("self")?.dtype().is_floating() {
            return Err(Error::runtime("torch.frexp() only supports floating-point dtypes"));
        }
        wide1("frexp", &c.args[0], &o[0], &|x| split(x).0)?;
        debug_assert!(o[1].dtype() == Dtype::Int32);
        super::elementwise::map1(&c.args[0], &o[1], |x: f64| i64::from(split(x).1))
    });
}
