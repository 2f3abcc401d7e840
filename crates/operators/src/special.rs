//! `torch.special` and other pointwise functions that are rare: Bessel functions, orthogonal polynomials, tails of distributions.

use super::common::*;
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, Grads, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use std::f64::consts::{FRAC_2_SQRT_PI, FRAC_PI_2, SQRT_2};
use tensor::{Dtype, Tensor, TensorSpec};

/// Orthogonal polynomials: a point and a degree, neither differentiable.
pub const POLYNOMIALS: &[&str] = &[
    "special_chebyshev_polynomial_t",
    "special_chebyshev_polynomial_u",
    "special_chebyshev_polynomial_v",
    "special_chebyshev_polynomial_w",
    "special_shifted_chebyshev_polynomial_t",
    "special_shifted_chebyshev_polynomial_u",
    "special_shifted_chebyshev_polynomial_v",
    "special_shifted_chebyshev_polynomial_w",
    "special_hermite_polynomial_h",
    "special_hermite_polynomial_he",
    "special_laguerre_polynomial_l",
    "special_legendre_polynomial_p",
];

/// Functions of one operand without a derivative, with the name of the operand.
const FLAT: &[(&str, &str)] = &[
    ("special_airy_ai", "x"),
    ("special_scaled_modified_bessel_k0", "x"),
    ("special_scaled_modified_bessel_k1", "x"),
    ("special_spherical_bessel_j0", "x"),
];

/// One float result over both operands.
fn both(c: &Call) -> Specs {
    let values: Vec<&Value> = c.args[..2].iter().collect();
    one(&values, to_float(super::shapes::result_type(&values)?))
}

fn only(c: &Call) -> Specs {
    let x = c.args[0].tensor()?;
    one(&[&c.args[0]], to_float(x.dtype()))
}

fn x<'a>(b: &'a Backward) -> Result<&'a Tensor> {
    b.saved("self")
}

/// `grad * factor`
fn times(b: &Backward, factor: impl FnOnce() -> Result<Tensor>) -> Result<Grads> {
    unary_grad(b, |g| {
        let factor = factor()?;
        t!("mul.Tensor", g, factor)
    })
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    for name in POLYNOMIALS {
        for (overload, point, degree) in [("", "Tensor", "Tensor"), (".x_scalar", "Scalar", "Tensor"), (".n_scalar", "Tensor", "Scalar")] {
            b.op(&format!("{name}{overload}({point} x, {degree} n) -> Tensor"), Rule::Fresh(both))
                .tags(Tags::POINTWISE)
                .not_differentiable();
        }
    }
    for (name, operand) in FLAT {
        b.op(&format!("{name}(Tensor {operand}) -> Tensor"), Rule::Fresh(only)).tags(Tags::POINTWISE).not_differentiable();
    }
    b.at("special_airy_ai").doc("The Airy function.");
    register_bessel(b);
    register_tails(b);
    register_two(b);
    register_gamma(b);
    register_other_names(b);
    b.op(
        "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
        Rule::Fresh(|c| {
            let x = c.get("self");
            let mut specs = like_self(c)?;
            specs.extend(one(&[x], Dtype::Int32)?);
            Ok(specs)
        }),
    )
    .doc("Mantissa and exponent.")
    .tags(Tags::POINTWISE)
    .grad("FrexpBackward", &["result1"], |b| unary_grad(b, |g| t!("div.Tensor", g, t!("exp2", b.result(1)?)?)))
    .indices_without_grad(&[1]);
}

/// The slope of a Bessel function of order 1, of `x` without its neighbourhood of zero and its reciprocal; at zero the limit.
fn order_1_slope(x: &Tensor, slope: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let eps = if x.dtype() == Dtype::Float64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    // NaN is not near zero.
    let near = t!("le.Scalar", t!("abs", x)?, eps)?;
    let safe = t!("where.self", &near, scalar_like(eps, x)?, x)?;
    let slope = slope(&safe, &t!("reciprocal", &safe)?)?;
    t!("where.self", near, scalar_like(0.5, x)?, slope)
}

/// The same, of a function whose slope is that of order 0 less the ratio of result and argument.
fn i1_slope(x: &Tensor, result: &Tensor, order_0: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    order_1_slope(x, |safe, reciprocal| {
        let ratio = t!("mul.Tensor", result, reciprocal)?;
        t!("sub.Tensor", order_0(safe)?, ratio)
    })
}

fn register_bessel(b: &mut OpBuilder) {
    b.op("special_bessel_j0(Tensor self) -> Tensor", Rule::Fresh(only)).auto_element_wise("self").tags(Tags::POINTWISE);
    b.grad("SpecialBesselJ0Backward", &["self"], |b| times(b, || t!("neg", t!("special_bessel_j1", x(b)?)?)));
    b.op("special_bessel_j1(Tensor self) -> Tensor", Rule::Fresh(only)).auto_element_wise("self").tags(Tags::POINTWISE);
    b.grad("SpecialBesselJ1Backward", &["self", "result"], |b| {
        times(b, || i1_slope(x(b)?, b.result(0)?, |safe| t!("special_bessel_j0", safe)))
    });
    b.op("special_bessel_y0(Tensor self) -> Tensor", Rule::Fresh(only)).auto_element_wise("self").tags(Tags::POINTWISE);
    b.grad("SpecialBesselY0Backward", &["self"], |b| times(b, || t!("neg", t!("special_bessel_y1", x(b)?)?)));
    b.op("special_bessel_y1(Tensor self) -> Tensor", Rule::Fresh(only)).auto_element_wise("self").tags(Tags::POINTWISE);
    b.grad("SpecialBesselY1Backward", &["self", "result"], |b| {
        times(b, || {
            let ratio = t!("mul.Tensor", b.result(0)?, t!("reciprocal", x(b)?)?)?;
            let slope = t!("sub.Tensor", t!("special_bessel_y0", x(b)?)?, ratio)?;
            // At the pole the difference of two infinities would be NaN.
            let pole = scalar_like(f64::INFINITY, x(b)?)?;
            t!("where.self", t!("eq.Scalar", x(b)?, 0)?, pole, slope)
        })
    });
    b.op("special_modified_bessel_i1(Tensor self) -> Tensor", Rule::Fresh(only)).auto_element_wise("self").tags(Tags::POINTWISE);
    b.grad("SpecialModifiedBesselI1Backward", &["self", "result"], |b| times(b, || i1_slope(x(b)?, b.result(0)?, |safe| t!("i0", safe))));
    b.op("special_modified_bessel_k1(Tensor self) -> Tensor", Rule::Fresh(only)).auto_element_wise("self").tags(Tags::POINTWISE);
    b.grad("SpecialModifiedBesselK1Backward", &["self", "result"], |b| {
        times(b, || {
            let ratio = t!("mul.Tensor", b.result(0)?, t!("reciprocal", x(b)?)?)?;
            t!("neg", t!("add.Tensor", t!("special_modified_bessel_k0", x(b)?)?, ratio)?)
        })
    });
    b.op("special_modified_bessel_i0(Tensor self) -> Tensor", Rule::Fresh(only)).auto_element_wise("self").tags(Tags::POINTWISE);
    b.grad("SpecialModifiedBesselI0Backward", &["self"], |b| times(b, || t!("special_modified_bessel_i1", x(b)?)));
    b.op("special_modified_bessel_k0(Tensor self) -> Tensor", Rule::Fresh(only)).auto_element_wise("self").tags(Tags::POINTWISE);
    b.grad("SpecialModifiedBesselK0Backward", &["self"], |b| times(b, || t!("neg", t!("special_modified_bessel_k1", x(b)?)?)));
    b.op("special_i0e(Tensor self) -> Tensor", Rule::Fresh(only))
        .doc("`i0` scaled by an exponential.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("SpecialI0EBackward", &["self", "result"], |b| {
        times(b, || t!("sub.Tensor", t!("special_i1e", x(b)?)?, t!("mul.Tensor", t!("sgn", x(b)?)?, b.result(0)?)?))
    });
    b.op("special_i1(Tensor self) -> Tensor", Rule::Fresh(only))
        .doc("The modified Bessel function of order 1.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("SpecialI1Backward", &["self", "result"], |b| times(b, || i1_slope(x(b)?, b.result(0)?, |safe| t!("i0", safe))));
    b.op("special_i1e(Tensor self) -> Tensor", Rule::Fresh(only))
        .doc("`i1` scaled by an exponential.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("SpecialI1EBackward", &["self", "result"], |b| {
        times(b, || {
            order_1_slope(x(b)?, |safe, reciprocal| {
                let sum = t!("add.Tensor", t!("sgn", safe)?, reciprocal)?;
                let rest = t!("mul.Tensor", b.result(0)?, sum)?;
                t!("sub.Tensor", t!("special_i0e", safe)?, rest)
            })
        })
    });
}

fn register_tails(b: &mut OpBuilder) {
    b.op("special_erfcx(Tensor self) -> Tensor", Rule::Fresh(only))
        .doc("`exp(x ** 2) * erfc(x)`.")
        .refuses("h", "erfcx_cpu")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("SpecialErfcxBackward", &["self", "result"], |b| {
        let product = t!("mul.Tensor", t!("mul.Scalar", x(b)?, 2.0)?, b.result(0)?)?;
        let slope = t!("sub.Scalar", product, FRAC_2_SQRT_PI)?;
        unary_grad(b, |g| t!("mul.Tensor", slope, g))
    });
    b.op("special_ndtri(Tensor self) -> Tensor", Rule::Fresh(only))
        .doc("The inverse of the normal distribution function.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("SpecialNdtriBackward", &["result"], |b| {
        let density = t!("exp", t!("mul.Scalar", t!("square", b.result(0)?)?, 0.5)?)?;
        unary_grad(b, |g| t!("mul.Tensor", t!("mul.Scalar", g, FRAC_PI_2 * SQRT_2 * FRAC_2_SQRT_PI)?, density))
    });
    b.op("special_log_ndtr(Tensor self) -> Tensor", Rule::Fresh(only))
        .doc("The logarithm of the normal distribution function.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("SpecialLogNdtrBackward", &["self", "result"], |b| {
        let half = t!("mul.Scalar", t!("pow.Tensor_Scalar", x(b)?, 2)?, 0.5)?;
        let ratio = t!("exp", t!("neg", t!("add.Tensor", b.result(0)?, half)?)?)?;
        unary_grad(b, |g| t!("mul.Tensor", t!("mul.Scalar", g, FRAC_2_SQRT_PI * SQRT_2 * 0.25)?, ratio))
    });
    b.op(
        "special_ndtr(Tensor self) -> Tensor",
        Rule::Composite(|c| {
            // Away from zero the complement keeps the digits of a small tail.
            let scaled = t!("div.Scalar", c.tensor("self")?, SQRT_2)?;
            let size = t!("abs", &scaled)?;
            let near = t!("mul.Scalar", t!("add.Scalar", t!("erf", &scaled)?, 1.0)?, 0.5)?;
            let tail = t!("mul.Scalar", t!("erfc", &size)?, 0.5)?;
            let one_minus = t!("rsub.Scalar", &tail, 1.0)?;
            let far = t!("where.self", t!("gt.Scalar", &scaled, 0.0)?, one_minus, tail)?;
            aten!("where.self", t!("lt.Scalar", size, std::f64::consts::FRAC_1_SQRT_2)?, near, far)
        }),
    )
    .doc("The normal distribution function.");
}

fn register_two(b: &mut OpBuilder) {
    fn vanishing(b: &Backward, other: &Value, g: &Tensor) -> Result<Tensor> {
        let slope = t!("special_xlog1py", g, other)?;
        let at = t!("logical_and", t!("eq.Scalar", x(b)?, 0.0)?, t!("le.Scalar", other.tensor()?, -1.0)?)?;
        t!("masked_fill.Scalar", slope, at, 0.0)
    }
    fn of_other(b: &Backward) -> Result<Tensor> {
        let scaled = t!("mul.Tensor", b.grad()?, b.arg("self"))?;
        t!("div.Tensor", scaled, t!("add.Scalar", b.saved("other")?, 1)?)
    }
    b.op("special_xlog1py(Tensor self, Tensor other) -> Tensor", Rule::Fresh(|c| super::binary::times_log_spec(c, both(c)?)))
        .doc("`self * log(1 + other)`.")
        .tags(Tags::POINTWISE);
    b.grad("SpecialXlog1PyBackward", &["self", "other"], |b| {
        let mut grads = Grads::new(b);
        grads.set(b, "other", || of_other(b))?;
        grads.set(b, "self", || vanishing(b, b.arg("other"), b.grad()?))?;
        Ok(grads)
    });
    b.op("special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor", Rule::Fresh(both))
        .auto_element_wise("other")
        .tags(Tags::POINTWISE);
    b.grad("SpecialXlog1PyBackward1", &["other"], |b| Grads::one(b, "other", || of_other(b)));
    b.op("special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor", Rule::Fresh(both))
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("SpecialXlog1PyBackward2", &["self"], |b| {
        unary_grad(b, |g| {
            let slope = t!("special_xlog1py.other_scalar", g, b.arg("other"))?;
            if b.arg("other").float()? > -1.0 { Ok(slope) } else { t!("masked_fill.Scalar", slope, t!("eq.Scalar", x(b)?, 0.0)?, 0.0) }
        })
    });
    fn zeta_slope(b: &Backward) -> Result<Grads> {
        if b.needs("self") {
            return Err(Error::not_implemented("the derivative for 'zeta' is not implemented."));
        }
        let (s, q) = (b.arg("self"), b.saved("other")?);
        Grads::one(b, "other", || {
            let (minus, next) = match s {
                Value::Tensor(s) => (Value::from(t!("neg", s)?), Value::from(t!("add.Scalar", s, 1.0)?)),
                number => (Value::Float(-number.float()?), Value::Float(number.float()? + 1.0)),
            };
            let scaled = t!("mul.Tensor", b.grad()?, minus)?;
            let slope = match next {
                Value::Tensor(next) => t!("special_zeta", next, q)?,
                number => t!("special_zeta.self_scalar", number, q)?,
            };
            t!("mul.Tensor", scaled, slope)
        })
    }
    b.op("special_zeta(Tensor self, Tensor other) -> Tensor", Rule::Fresh(both)).doc("The Hurwitz zeta function.").tags(Tags::POINTWISE);
    b.grad("SpecialZetaBackward", &["self", "other"], zeta_slope);
    b.op("special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor", Rule::Fresh(both)).tags(Tags::POINTWISE);
    b.grad("SpecialZetaBackward1", &["other"], zeta_slope);
    b.op("special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor", Rule::Fresh(both)).tags(Tags::POINTWISE);
    b.grad("SpecialZetaBackward2", &[], |_| Err(Error::not_implemented("the derivative for 'zeta' is not implemented.")));
    b.op("nextafter(Tensor self, Tensor other) -> Tensor", Rule::Fresh(|c| promoted(c, &["self", "other"])))
        .refuses("c", "nextafter_cpu")
        .doc("The next number toward another.")
        .tags(Tags::POINTWISE);
    b.grad("NextafterBackward", &["self", "other"], |b| {
        let mut grads = Grads::new(b);
        grads.set(b, "other", || t!("zeros_like", b.saved("other")?))?;
        grads.set(b, "self", || t!("where.ScalarOther", t!("ne.Tensor", x(b)?, b.saved("other")?)?, b.grad()?, 0))?;
        Ok(grads)
    });
    b.inplace();
}

fn register_gamma(b: &mut OpBuilder) {
    fn density(b: &Backward, minus: bool) -> Result<Grads> {
        if b.needs("self") {
            let name = b.entry.base_name().trim_end_matches('_');
            return Err(Error::not_implemented(format!("the derivative for '{name}: input' is not implemented.")));
        }
        let (a, x) = (x(b)?, b.saved("other")?);
        Grads::one(b, "other", || {
            let power = t!("mul.Tensor", t!("sub.Scalar", a, 1)?, t!("log", x)?)?;
            let density = t!("exp", t!("sub.Tensor", t!("sub.Tensor", power, x)?, t!("lgamma", a)?)?)?;
            let g = if minus { t!("neg", b.grad()?)? } else { b.grad()?.clone() };
            t!("mul.Tensor", g, density)
        })
    }
    b.op("igamma(Tensor self, Tensor other) -> Tensor", Rule::Fresh(both))
        .doc("The lower incomplete gamma function.")
        .refuses("*bi", "igamma_cpu")
        .tags(Tags::POINTWISE);
    b.grad("IgammaBackward", &["self", "other"], |b| density(b, false)).inplace();
    b.op("igammac(Tensor self, Tensor other) -> Tensor", Rule::Fresh(both))
        .doc("The upper incomplete gamma function.")
        .refuses("*bi", "igammac_cpu")
        .tags(Tags::POINTWISE);
    b.grad("IgammacBackward", &["self", "other"], |b| density(b, true)).inplace();
    b.op(
        "mvlgamma(Tensor self, int p) -> Tensor",
        Rule::Fresh(|c| {
            if c.int("p")? < 1 {
                return Err(Error::runtime("p has to be greater than or equal to 1"));
            }
            // The sum over one dimension more, which goes over its elements in order.
            let x = c.tensor("self")?;
            Ok(vec![Some(TensorSpec::contiguous(x.sizes(), to_float(x.dtype()), x.device()))])
        }),
    )
    .doc("The logarithm of the multivariate gamma function.")
    .auto_element_wise("self")
    .tags(Tags::POINTWISE);
    b.grad("MvlgammaBackward", &["self"], |b| {
        let p = b.arg("p").int()?;
        times(b, || {
            let x = x(b)?;
            let steps = t!("arange.start_step", -(p as f64) / 2.0 + 0.5, 0.5, 0.5; dtype = x.dtype(), device = x.device())?;
            let points = t!("add.Tensor", steps, t!("unsqueeze", x, -1)?)?;
            t!("sum.dim_IntList", t!("digamma", points)?, vec![-1i64])
        })
    });
    b.inplace();
}

/// Names that `torch.special` has for operators of `torch`.
fn register_other_names(b: &mut OpBuilder) {
    b.op("special_polygamma(int n, Tensor self) -> Tensor", Rule::Composite(|c| aten!("polygamma", &c.args[0], &c.args[1])))
        .doc("Derivatives of `digamma`.");
    b.op("special_multigammaln(Tensor self, int p) -> Tensor", Rule::Composite(|c| aten!("mvlgamma", &c.args[0], &c.args[1])))
        .doc("The logarithm of the multivariate gamma function.");
    b.op("special_logit(Tensor self, float? eps=None) -> Tensor", Rule::Composite(|c| aten!("logit", &c.args[0], &c.args[1])))
        .doc("`log(x / (1 - x))`.");
    b.op(
        "special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
        Rule::Composite(|c| aten!("logsumexp", &c.args[0], &c.args[1], &c.args[2])),
    )
    .doc("The logarithm of the sum of exponentials.");
    b.op(
        "special_round(Tensor self, *, int decimals=0) -> Tensor",
        Rule::Composite(|c| aten!("round.decimals", &c.args[0]; decimals = &c.args[1])),
    )
    .doc("The nearest integer, even in the middle.");
    b.op("special_gammainc(Tensor self, Tensor other) -> Tensor", Rule::Composite(|c| aten!("igamma", &c.args[0], &c.args[1])))
        .doc("The lower incomplete gamma function.");
    b.op("special_gammaincc(Tensor self, Tensor other) -> Tensor", Rule::Composite(|c| aten!("igammac", &c.args[0], &c.args[1])))
        .doc("The upper incomplete gamma function.");
}
