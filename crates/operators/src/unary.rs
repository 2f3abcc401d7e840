//! Pointwise operators of one operand: arithmetic, rounding, exponentials, trigonometry, special functions, predicates.
//!
//! Float functions of integers give the default dtype. Operators whose derivative reads their result save the result, those
//! that read the operand save it, as PyTorch's own formulas do.

use super::common::*;
use super::complex::conj;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Call, Complex, Grads, OpBuilder, Rule, Tags, Value};
use std::f64::consts::{FRAC_2_SQRT_PI, FRAC_PI_4, LN_2, LN_10, PI};
use tensor::{Dtype, Layout, Tensor};

type Formula = fn(&Backward) -> Result<Grads>;
type Saves = &'static [&'static str];

const SELF: Saves = &["self"];
const RESULT: Saves = &["result"];

/// `self * self + 1` and its relatives: `grad * (...)`.
fn times(b: &Backward, factor: impl FnOnce() -> Result<Tensor>) -> Result<Grads> {
    unary_grad(b, |g| {
        let factor = factor()?;
        t!("mul.Tensor", g, factor)
    })
}

fn over(b: &Backward, divisor: impl FnOnce() -> Result<Tensor>) -> Result<Grads> {
    unary_grad(b, |g| {
        let divisor = divisor()?;
        t!("div.Tensor", g, divisor)
    })
}

fn x<'a>(b: &'a Backward) -> Result<&'a Tensor> {
    b.saved("self")
}

/// `factor * f(self) * grad` in that order.
fn scaled(b: &Backward, value: Result<Tensor>, factor: f64) -> Result<Grads> {
    let value = t!("mul.Scalar", value?, factor)?;
    unary_grad(b, |g| t!("mul.Tensor", value, g))
}

fn gaussian(b: &Backward) -> Result<Tensor> {
    t!("exp", t!("neg", t!("pow.Tensor_Scalar", x(b)?, 2)?)?)
}

fn one_minus_square_rsqrt(x: &Tensor) -> Result<Tensor> {
    let square = t!("mul.Tensor", t!("neg", x)?, x)?;
    t!("rsqrt", t!("add.Scalar", square, 1)?)
}

/// `1 / sqrt(x^2 - 1)`; the root of a product of complex numbers need not be the product of their roots.
fn acosh_slope(x: &Tensor) -> Result<Tensor> {
    if !x.dtype().is_complex() {
        return t!("rsqrt", t!("sub.Scalar", t!("mul.Tensor", x, x)?, 1)?);
    }
    let roots = t!("mul.Tensor", t!("rsqrt", t!("add.Scalar", x, 1)?)?, t!("rsqrt", t!("sub.Scalar", x, 1)?)?)?;
    conj(&roots)
}

/// The part of a direction's gradient that turns it, over the distance from zero; a sign has none.
fn sgn_backward(b: &Backward) -> Result<Grads> {
    let spec = b.spec("self")?;
    Grads::one(b, "self", || {
        if !spec.dtype.is_complex() {
            let layout = Value::Layout(Layout::Strided);
            return t!("_efficientzerotensor", &spec.geometry.sizes; dtype = spec.dtype, layout = layout, device = spec.device);
        }
        let (g, sgn, abs) = (b.grad()?, b.result(0)?, t!("abs", x(b)?)?);
        let along = t!("real", t!("div.Tensor", g, sgn)?)?;
        let turning = t!("sub.Tensor", t!("div.Tensor", g, &abs)?, t!("mul.Tensor", along, t!("div.Tensor", sgn, &abs)?)?)?;
        t!("masked_fill_.Scalar", turning, t!("eq.Scalar", abs, 0.0)?, 0.0)
    })
}

fn sinc_backward(b: &Backward) -> Result<Grads> {
    let x = x(b)?;
    let pi_x = t!("mul.Scalar", x, PI)?;
    let pi_x2 = t!("mul.Scalar", t!("mul.Tensor", x, x)?, PI)?;
    let (sin, cos) = (t!("sin", &pi_x)?, t!("cos", &pi_x)?);
    let slope = t!("div.Tensor", t!("sub.Tensor", t!("mul.Tensor", pi_x, cos)?, sin)?, &pi_x2)?;
    unary_grad(b, |g| {
        let out = t!("mul.Tensor", g, conj(&slope)?)?;
        let zero = scalar_like(0.0, g)?;
        t!("where.self", t!("eq.Scalar", pi_x2, 0.0)?, zero, out)
    })
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    register_floats(b);
    b.op("special_entr(Tensor self) -> Tensor", Rule::Fresh(float_self))
        .doc("`-x * log(x)`.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE)
        .grad("SpecialEntrBackward", SELF, |b| times(b, || t!("neg", t!("add.Scalar", t!("log", x(b)?)?, 1)?)));
    b.op("polygamma(int n, Tensor self) -> Tensor", Rule::Fresh(float_self))
        .doc("Derivatives of `digamma`.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE)
        .grad("PolygammaBackward", SELF, |b| {
            let next = b.arg("n").int()?.saturating_add(1);
            times(b, || t!("polygamma", next, x(b)?))
        });
    register_kept(b);
    register_predicates(b);
    register_composites(b);
}

/// A float function of one operand.
fn float<'a>(b: &'a mut OpBuilder, name: &str, node: &'static str, saves: Saves, formula: Formula) -> &'a mut OpBuilder {
    b.op(&format!("{name}(Tensor self) -> Tensor"), Rule::Fresh(float_self))
        .tags(Tags::POINTWISE)
        .auto_element_wise("self")
        .grad(node, saves, formula)
}

fn register_floats(b: &mut OpBuilder) {
    float(b, "exp", "ExpBackward", RESULT, |b| times(b, || conj(b.result(0)?))).doc("The exponential.").tags(Tags::COMPLEX_GRAD).inplace();
    float(b, "exp2", "Exp2Backward", RESULT, |b| {
        unary_grad(b, |g| {
            let scaled = t!("mul.Tensor", g, conj(b.result(0)?)?)?;
            t!("mul.Scalar", scaled, LN_2)
        })
    })
    .doc("Two to the power of every element.")
    .tags(Tags::COMPLEX_GRAD)
    .inplace();
    float(b, "expm1", "Expm1Backward", RESULT, |b| times(b, || t!("add.Scalar", conj(b.result(0)?)?, 1)))
        .doc("`exp(x) - 1`, exact near zero.")
        .tags(Tags::COMPLEX_GRAD)
        .inplace();
    float(b, "log", "LogBackward", SELF, |b| over(b, || conj(x(b)?))).doc("The natural logarithm.").tags(Tags::COMPLEX_GRAD).inplace();
    float(b, "log2", "Log2Backward", SELF, |b| over(b, || t!("mul.Scalar", conj(x(b)?)?, LN_2)))
        .doc("The logarithm to base 2.")
        .tags(Tags::COMPLEX_GRAD)
        .inplace();
    float(b, "log10", "Log10Backward", SELF, |b| over(b, || t!("mul.Scalar", conj(x(b)?)?, LN_10)))
        .doc("The logarithm to base 10.")
        .tags(Tags::COMPLEX_GRAD)
        .inplace();
    float(b, "log1p", "Log1PBackward", SELF, |b| over(b, || t!("add.Scalar", conj(x(b)?)?, 1)))
        .doc("`log(1 + x)`, exact near zero.")
        .tags(Tags::COMPLEX_GRAD)
        .inplace();
    float(b, "sqrt", "SqrtBackward", RESULT, |b| over(b, || t!("mul.Scalar", conj(b.result(0)?)?, 2)))
        .doc("The square root.")
        .tags(Tags::COMPLEX_GRAD)
        .inplace();
    float(b, "rsqrt", "RsqrtBackward", RESULT, |b| {
        let cube = conj(&t!("pow.Tensor_Scalar", b.result(0)?, 3)?)?;
        unary_grad(b, |g| t!("mul.Tensor", t!("mul.Scalar", g, -0.5)?, cube))
    })
    .doc("`1 / sqrt(x)`.")
    .tags(Tags::COMPLEX_GRAD)
    .inplace();
    float(b, "reciprocal", "ReciprocalBackward", RESULT, |b| {
        let square = conj(&t!("mul.Tensor", b.result(0)?, b.result(0)?)?)?;
        unary_grad(b, |g| t!("mul.Tensor", t!("neg", g)?, square))
    })
    .doc("`1 / x`.")
    .tags(Tags::COMPLEX_GRAD)
    .inplace();
    float(b, "sin", "SinBackward", SELF, |b| times(b, || conj(&t!("cos", x(b)?)?))).doc("The sine.").tags(Tags::COMPLEX_GRAD).inplace();
    float(b, "cos", "CosBackward", SELF, |b| times(b, || t!("neg", conj(&t!("sin", x(b)?)?)?)))
        .doc("The cosine.")
        .tags(Tags::COMPLEX_GRAD)
        .inplace();
    float(b, "tan", "TanBackward", RESULT, |b| times(b, || conj(&t!("add.Scalar", t!("pow.Tensor_Scalar", b.result(0)?, 2)?, 1)?)))
        .doc("The tangent.")
        .tags(Tags::COMPLEX_GRAD)
        .inplace();
    float(b, "asin", "AsinBackward", SELF, |b| times(b, || conj(&one_minus_square_rsqrt(x(b)?)?)))
        .doc("The arc sine.")
        .tags(Tags::COMPLEX_GRAD)
        .inplace();
    float(b, "acos", "AcosBackward", SELF, |b| times(b, || conj(&t!("neg", one_minus_square_rsqrt(x(b)?)?)?)))
        .doc("The arc cosine.")
        .tags(Tags::COMPLEX_GRAD)
        .inplace();
    float(b, "atan", "AtanBackward", SELF, |b| over(b, || conj(&t!("add.Scalar", t!("mul.Tensor", x(b)?, x(b)?)?, 1)?)))
        .tags(Tags::COMPLEX_GRAD)
        .doc("The arc tangent.")
        .inplace();
    float(b, "sinh", "SinhBackward", SELF, |b| times(b, || conj(&t!("cosh", x(b)?)?)))
        .doc("The hyperbolic sine.")
        .tags(Tags::COMPLEX_GRAD)
        .inplace();
    float(b, "cosh", "CoshBackward", SELF, |b| times(b, || conj(&t!("sinh", x(b)?)?)))
        .doc("The hyperbolic cosine.")
        .tags(Tags::COMPLEX_GRAD)
        .inplace();
    float(b, "tanh", "TanhBackward", RESULT, |b| unary_grad(b, |g| t!("tanh_backward", g, b.result(0)?)))
        .doc("The hyperbolic tangent.")
        .tags(Tags::COMPLEX_GRAD)
        .inplace();
    float(b, "asinh", "AsinhBackward", SELF, |b| {
        times(b, || conj(&t!("rsqrt", t!("add.Scalar", t!("pow.Tensor_Scalar", x(b)?, 2)?, 1)?)?))
    })
    .tags(Tags::COMPLEX_GRAD)
    .doc("The inverse hyperbolic sine.")
    .inplace();
    float(b, "acosh", "AcoshBackward", SELF, |b| times(b, || acosh_slope(x(b)?)))
        .tags(Tags::COMPLEX_GRAD)
        .doc("The inverse hyperbolic cosine.")
        .inplace();
    float(b, "atanh", "AtanhBackward", SELF, |b| {
        let divisor = number_minus(1, &t!("pow.Tensor_Scalar", x(b)?, 2)?)?;
        let divisor = conj(&divisor)?;
        unary_grad(b, |g| t!("div.Tensor", t!("mul.Scalar", g, 1)?, divisor))
    })
    .tags(Tags::COMPLEX_GRAD)
    .doc("The inverse hyperbolic tangent.")
    .inplace();
    float(b, "sigmoid", "SigmoidBackward", RESULT, |b| unary_grad(b, |g| t!("sigmoid_backward", g, b.result(0)?)))
        .doc("`1 / (1 + exp(-x))`.")
        .tags(Tags::COMPLEX_GRAD)
        .inplace();
    float(b, "erf", "ErfBackward", SELF, |b| scaled(b, gaussian(b), FRAC_2_SQRT_PI))
        .doc("The error function.")
        .refuses("c", "erf_vml_cpu")
        .inplace();
    float(b, "erfc", "ErfcBackward", SELF, |b| scaled(b, gaussian(b), -FRAC_2_SQRT_PI))
        .doc("One minus the error function.")
        .refuses("c", "erfc_vml_cpu")
        .inplace();
    float(b, "erfinv", "ErfinvBackward", SELF, |b| {
        scaled(b, t!("erfinv", x(b)?).and_then(|v| t!("exp", t!("pow.Tensor_Scalar", v, 2)?)), FRAC_PI_4 * FRAC_2_SQRT_PI)
    })
    .doc("The inverse of the error function.")
    .inplace();
    float(b, "lgamma", "LgammaBackward", SELF, |b| times(b, || t!("digamma", x(b)?)))
        .doc("The logarithm of the gamma function.")
        .refuses("c", "lgamma_vml_cpu")
        .inplace();
    float(b, "digamma", "DigammaBackward", SELF, |b| times(b, || t!("polygamma", 1, x(b)?)))
        .doc("The logarithmic derivative of the gamma function.")
        .inplace();
    float(b, "i0", "I0Backward", SELF, |b| times(b, || t!("special_i1", x(b)?))).doc("The modified Bessel function of order 0.").inplace();
    float(b, "sinc", "SincBackward", SELF, sinc_backward).doc("`sin(pi x) / (pi x)`.").tags(Tags::COMPLEX_GRAD).inplace();
    float(b, "frac", "FracBackward", &[], |b| unary_grad(b, |g| Ok(g.clone())))
        .doc("The part after the point.")
        .refuses("bic", "frac_cpu")
        .inplace();
    float(b, "rad2deg", "Rad2DegBackward", &[], |b| unary_grad(b, |g| t!("mul.Scalar", g, 180.0 / PI)))
        .doc("Radians to degrees.")
        .inplace();
    float(b, "deg2rad", "Deg2RadBackward", &[], |b| unary_grad(b, |g| t!("mul.Scalar", g, PI / 180.0)))
        .doc("Degrees to radians.")
        .inplace();
}

fn round_to(c: &Call) -> Specs {
    if c.tensor("self")?.dtype().is_integral() && c.int("decimals")? < 0 {
        return Err(Error::runtime("round_cpu: negative decimals are not supported for integers"));
    }
    like_self(c)
}

/// An operator of one operand that is flat wherever it has a slope.
fn flat<'a>(b: &'a mut OpBuilder, schema: &str, node: &'static str) -> &'a mut OpBuilder {
    b.op(schema, Rule::Fresh(like_self)).auto_element_wise("self").tags(Tags::POINTWISE | Tags::CORE).grad(node, &[], zero_grad)
}

fn register_kept(b: &mut OpBuilder) {
    b.op("neg(Tensor self) -> Tensor", Rule::Fresh(no_bool))
        .doc("`-x`.")
        .complex(Complex::ByParts)
        .auto_element_wise("self")
        .tags(Tags::COMPLEX_GRAD | Tags::POINTWISE | Tags::CORE);
    b.grad("NegBackward", &[], |b| unary_grad(b, |g| t!("neg", g))).inplace();
    b.op("abs(Tensor self) -> Tensor", Rule::Fresh(|c| one(&[c.get("self")], c.tensor("self")?.dtype().to_real())))
        .doc("The absolute value of every element.")
        .refuses("b", "abs_cpu")
        .tags(Tags::COMPLEX_GRAD | Tags::POINTWISE | Tags::CORE);
    b.grad("AbsBackward", SELF, |b| times(b, || t!("sgn", x(b)?))).inplace();
    flat(b, "floor(Tensor self) -> Tensor", "FloorBackward")
        .doc("The next integer below.")
        .refuses("b", "floor_vml_cpu")
        .refuses("c", "floor is not supported for complex inputs")
        .inplace();
    flat(b, "ceil(Tensor self) -> Tensor", "CeilBackward")
        .doc("The next integer above.")
        .refuses("b", "ceil_vml_cpu")
        .refuses("c", "ceil is not supported for complex inputs")
        .inplace();
    flat(b, "trunc(Tensor self) -> Tensor", "TruncBackward")
        .doc("Integers toward zero.")
        .refuses("b", "trunc_vml_cpu")
        .refuses("c", "trunc is not supported for complex inputs")
        .inplace();
    flat(b, "round(Tensor self) -> Tensor", "RoundBackward").inplace();
    flat(b, "sign(Tensor self) -> Tensor", "SignBackward")
        .doc("The sign.")
        .refuses("c", "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.")
        .inplace();
    b.op("round.decimals(Tensor self, *, int decimals) -> Tensor", Rule::Fresh(round_to))
        .doc("The nearest integer, even in the middle.")
        .refuses("bc", "round_vml_cpu")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("RoundBackward1", &[], zero_grad).inplace();
    b.op("sgn(Tensor self) -> Tensor", Rule::Fresh(like_self))
        .tags(Tags::COMPLEX_GRAD)
        .doc("The sign; of complex numbers the direction.")
        .tags(Tags::POINTWISE);
    b.grad("SgnBackward", &["self", "result"], sgn_backward);
    b.inplace();
    b.op("relu(Tensor self) -> Tensor", Rule::Fresh(no_bool))
        .doc("`max(0, x)`.")
        .refuses("c", "clamp is not supported for complex types")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("ReluBackward", RESULT, |b| unary_grad(b, |g| t!("threshold_backward", g, b.result(0)?, 0))).inplace();
    b.op("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", Rule::Fresh(like_self))
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .doc("NaN and infinities replaced by numbers.")
        .auto_element_wise("self");
    b.tags(Tags::POINTWISE).grad("NanToNumBackward", SELF, |b| times(b, || t!("isfinite", x(b)?))).inplace();
    b.op("logit(Tensor self, float? eps=None) -> Tensor", Rule::Fresh(float_self))
        .refuses("c", "logit_cpu")
        .doc("`log(x / (1 - x))`.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("LogitBackward", SELF, |b| unary_grad(b, |g| t!("logit_backward", g, x(b)?, b.arg("eps")))).inplace();
    b.op("bitwise_not(Tensor self) -> Tensor", Rule::Fresh(like_self))
        .doc("Not, bit by bit.")
        .tags(Tags::POINTWISE | Tags::CORE)
        .not_differentiable()
        .inplace();
    b.op(
        "positive(Tensor(a) self) -> Tensor(a)",
        Rule::Composite(|c| {
            let t = c.tensor("self")?;
            match t.dtype() {
                Dtype::Bool => Err(Error::not_implemented("The `+` operator, on a bool tensor is not supported.")),
                _ => Ok(t.into()),
            }
        }),
    )
    .doc("`+x`.")
    .tags(Tags::POINTWISE);
}

fn no_bool(c: &Call) -> Specs {
    let x = c.tensor("self")?;
    // PyTorch's kernels ask: a graph of fake tensors may hold such calls.
    if x.dtype() == Dtype::Bool && !x.is_fake() {
        return Err(Error::not_implemented(match c.entry.base_name() {
            "relu" => "Boolean inputs not supported for relu",
            _ => {
                "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
            }
        }));
    }
    like_self(c)
}

/// A question about every element.
fn predicate<'a>(b: &'a mut OpBuilder, schema: &str) -> &'a mut OpBuilder {
    b.op(schema, Rule::Fresh(bool_self)).tags(Tags::POINTWISE).not_differentiable()
}

fn register_predicates(b: &mut OpBuilder) {
    b.op("logical_not(Tensor self) -> Tensor", Rule::Fresh(bool_self))
        .doc("Not.")
        .tags(Tags::POINTWISE | Tags::CORE)
        .not_differentiable()
        .inplace();
    predicate(b, "isnan(Tensor self) -> Tensor").doc("Whether elements are NaN.");
    predicate(b, "isinf(Tensor self) -> Tensor").doc("Whether elements are infinite.");
    predicate(b, "isposinf(Tensor self) -> Tensor")
        .doc("Whether elements are plus infinity.")
        .refuses("c", "T:isposinf does not support complex inputs.");
    predicate(b, "isneginf(Tensor self) -> Tensor")
        .doc("Whether elements are minus infinity.")
        .refuses("c", "T:isneginf does not support complex inputs.");
    predicate(b, "signbit(Tensor self) -> Tensor")
        .doc("Whether the sign bit is set.")
        .refuses("c", "signbit is not implemented for complex tensors.");
    b.op(
        "isfinite(Tensor self) -> Tensor",
        Rule::Composite(|c| {
            let x = c.tensor("self")?;
            if x.dtype().is_integral() {
                return t!("ones_like", x; dtype = Dtype::Bool).map(Value::from);
            }
            let bounded = t!("ne.Scalar", t!("abs", x)?, f64::INFINITY)?;
            t!("mul.Tensor", t!("eq.Tensor", x, x)?, bounded).map(Value::from)
        }),
    )
    .doc("Whether elements are finite.")
    .tags(Tags::POINTWISE);
}

/// Other names of operators, and operators that are always written as others.
fn register_composites(b: &mut OpBuilder) {
    macro_rules! alias {
        ($($name:literal => $of:literal $inplace:literal $doc:literal;)*) => { $(
            b.op(concat!($name, "(Tensor self) -> Tensor"), Rule::Composite(|c| t!($of, c.get("self")).map(Value::from))).doc($doc);
            b.op(concat!($name, "_(Tensor(a!) self) -> Tensor(a!)"), Rule::Composite(|c| t!($inplace, c.get("self")).map(Value::from)));
        )* };
    }
    alias! {
        "absolute" => "abs" "abs_" "The absolute value of every element.";
        "negative" => "neg" "neg_" "`-x`.";
        "fix" => "trunc" "trunc_" "Integers toward zero.";
        "arccos" => "acos" "acos_" "The arc cosine.";
        "arcsin" => "asin" "asin_" "The arc sine.";
        "arctan" => "atan" "atan_" "The arc tangent.";
        "arccosh" => "acosh" "acosh_" "The inverse hyperbolic cosine.";
        "arcsinh" => "asinh" "asinh_" "The inverse hyperbolic sine.";
        "arctanh" => "atanh" "atanh_" "The inverse hyperbolic tangent.";
    }
    macro_rules! special {
        ($($name:literal => $of:literal $doc:literal;)*) => { $(
            b.op(concat!($name, "(Tensor self) -> Tensor"), Rule::Composite(|c| t!($of, c.get("self")).map(Value::from))).doc($doc);
        )* };
    }
    special! {
        "special_expit" => "sigmoid" "The sigmoid.";
        "special_erf" => "erf" "The error function.";
        "special_erfc" => "erfc" "One minus the error function.";
        "special_erfinv" => "erfinv" "The inverse of the error function.";
        "special_log1p" => "log1p" "`log(1 + x)`, exact near zero.";
        "special_expm1" => "expm1" "`exp(x) - 1`, exact near zero.";
        "special_exp2" => "exp2" "Two to the power of every element.";
        "special_gammaln" => "lgamma" "The logarithm of the gamma function.";
        "special_digamma" => "digamma" "The logarithmic derivative of the gamma function.";
        "special_psi" => "digamma" "The logarithmic derivative of the gamma function.";
        "special_i0" => "i0" "The modified Bessel function of order 0.";
        "special_sinc" => "sinc" "`sin(pi x) / (pi x)`.";
    }
    b.op("square(Tensor self) -> Tensor", Rule::Composite(|c| t!("pow.Tensor_Scalar", c.get("self"), 2).map(Value::from)))
        .doc("The square.")
        .tags(Tags::POINTWISE);
    b.op("square_(Tensor(a!) self) -> Tensor(a!)", Rule::Composite(|c| t!("pow_.Scalar", c.get("self"), 2).map(Value::from)));
}
