//! Pointwise operators of one operand: arithmetic, rounding, exponentials, trigonometry, special functions, predicates.
//!
//! Float functions of integers give the default dtype. Operators whose derivative reads their result save the result, those
//! that read the operand save it, as PyTorch's own formulas do.

use super::common::*;
use super::complex::conj;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Call, Grads, OpBuilder, Rule, Tags, Value};
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

const FLOATS: &[(&str, &str, Saves, Formula)] = &[
    ("exp", "ExpBackward", RESULT, |b| times(b, || conj(b.result(0)?))),
    ("exp2", "Exp2Backward", RESULT, |b| {
        unary_grad(b, |g| {
            let scaled = t!("mul.Tensor", g, b.result(0)?)?;
            t!("mul.Scalar", scaled, LN_2)
        })
    }),
    ("expm1", "Expm1Backward", RESULT, |b| times(b, || t!("add.Scalar", conj(b.result(0)?)?, 1))),
    ("log", "LogBackward", SELF, |b| over(b, || conj(x(b)?))),
    ("log2", "Log2Backward", SELF, |b| over(b, || t!("mul.Scalar", conj(x(b)?)?, LN_2))),
    ("log10", "Log10Backward", SELF, |b| over(b, || t!("mul.Scalar", conj(x(b)?)?, LN_10))),
    ("log1p", "Log1PBackward", SELF, |b| over(b, || t!("add.Scalar", conj(x(b)?)?, 1))),
    ("sqrt", "SqrtBackward", RESULT, |b| over(b, || t!("mul.Scalar", conj(b.result(0)?)?, 2))),
    ("rsqrt", "RsqrtBackward", RESULT, |b| {
        let cube = conj(&t!("pow.Tensor_Scalar", b.result(0)?, 3)?)?;
        unary_grad(b, |g| t!("mul.Tensor", t!("mul.Scalar", g, -0.5)?, cube))
    }),
    ("reciprocal", "ReciprocalBackward", RESULT, |b| {
        let square = conj(&t!("mul.Tensor", b.result(0)?, b.result(0)?)?)?;
        unary_grad(b, |g| t!("mul.Tensor", t!("neg", g)?, square))
    }),
    ("sin", "SinBackward", SELF, |b| times(b, || conj(&t!("cos", x(b)?)?))),
    ("cos", "CosBackward", SELF, |b| times(b, || t!("neg", conj(&t!("sin", x(b)?)?)?))),
    ("tan", "TanBackward", RESULT, |b| times(b, || conj(&t!("add.Scalar", t!("pow.Tensor_Scalar", b.result(0)?, 2)?, 1)?))),
    ("asin", "AsinBackward", SELF, |b| times(b, || one_minus_square_rsqrt(x(b)?))),
    ("acos", "AcosBackward", SELF, |b| times(b, || t!("neg", one_minus_square_rsqrt(x(b)?)?))),
    ("atan", "AtanBackward", SELF, |b| over(b, || t!("add.Scalar", t!("mul.Tensor", x(b)?, x(b)?)?, 1))),
    ("sinh", "SinhBackward", SELF, |b| times(b, || conj(&t!("cosh", x(b)?)?))),
    ("cosh", "CoshBackward", SELF, |b| times(b, || conj(&t!("sinh", x(b)?)?))),
    ("tanh", "TanhBackward", RESULT, |b| unary_grad(b, |g| t!("tanh_backward", g, b.result(0)?))),
    ("asinh", "AsinhBackward", SELF, |b| times(b, || t!("rsqrt", t!("add.Scalar", t!("pow.Tensor_Scalar", x(b)?, 2)?, 1)?))),
    ("acosh", "AcoshBackward", SELF, |b| times(b, || t!("rsqrt", t!("sub.Scalar", t!("mul.Tensor", x(b)?, x(b)?)?, 1)?))),
    ("atanh", "AtanhBackward", SELF, |b| {
        let divisor = number_minus(1, &t!("pow.Tensor_Scalar", x(b)?, 2)?)?;
        unary_grad(b, |g| t!("div.Tensor", t!("mul.Scalar", g, 1)?, divisor))
    }),
    ("sigmoid", "SigmoidBackward", RESULT, |b| unary_grad(b, |g| t!("sigmoid_backward", g, b.result(0)?))),
    ("erf", "ErfBackward", SELF, |b| scaled(b, gaussian(b), FRAC_2_SQRT_PI)),
    ("erfc", "ErfcBackward", SELF, |b| scaled(b, gaussian(b), -FRAC_2_SQRT_PI)),
    ("erfinv", "ErfinvBackward", SELF, |b| {
        scaled(b, t!("erfinv", x(b)?).and_then(|v| t!("exp", t!("pow.Tensor_Scalar", v, 2)?)), FRAC_PI_4 * FRAC_2_SQRT_PI)
    }),
    ("lgamma", "LgammaBackward", SELF, |b| times(b, || t!("digamma", x(b)?))),
    ("digamma", "DigammaBackward", SELF, |b| times(b, || t!("polygamma", 1, x(b)?))),
    ("i0", "I0Backward", SELF, |b| times(b, || t!("special_i1", x(b)?))),
    ("sinc", "SincBackward", SELF, sinc_backward),
    ("frac", "FracBackward", &[], |b| unary_grad(b, |g| Ok(g.clone()))),
    ("rad2deg", "Rad2DegBackward", &[], |b| unary_grad(b, |g| t!("mul.Scalar", g, 180.0 / PI))),
    ("deg2rad", "Deg2RadBackward", &[], |b| unary_grad(b, |g| t!("mul.Scalar", g, PI / 180.0))),
];

fn gaussian(b: &Backward) -> Result<Tensor> {
    t!("exp", t!("neg", t!("pow.Tensor_Scalar", x(b)?, 2)?)?)
}

fn one_minus_square_rsqrt(x: &Tensor) -> Result<Tensor> {
    let square = t!("mul.Tensor", t!("neg", x)?, x)?;
    t!("rsqrt", t!("add.Scalar", square, 1)?)
}

fn sinc_backward(b: &Backward) -> Result<Grads> {
    let x = x(b)?;
    let pi_x = t!("mul.Scalar", x, PI)?;
    let pi_x2 = t!("mul.Scalar", t!("mul.Tensor", x, x)?, PI)?;
    let (sin, cos) = (t!("sin", &pi_x)?, t!("cos", &pi_x)?);
    let slope = t!("div.Tensor", t!("sub.Tensor", t!("mul.Tensor", pi_x, cos)?, sin)?, &pi_x2)?;
    unary_grad(b, |g| {
        let out = t!("mul.Tensor", g, slope)?;
        let zero = scalar_like(0.0, g)?;
        t!("where.self", t!("eq.Scalar", pi_x2, 0.0)?, zero, out)
    })
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    for (name, node, saves, formula) in FLOATS {
        b.op(&format!("{name}(Tensor self) -> Tensor"), Rule::Fresh(float_self))
            .tags(Tags::POINTWISE)
            .grad(node, saves, *formula)
            .inplace();
    }
    b.op("special_entr(Tensor self) -> Tensor", Rule::Fresh(float_self))
        .tags(Tags::POINTWISE)
        .grad("SpecialEntrBackward", SELF, |b| times(b, || t!("neg", t!("add.Scalar", t!("log", x(b)?)?, 1)?)));
    b.op("polygamma(int n, Tensor self) -> Tensor", Rule::Fresh(float_self)).tags(Tags::POINTWISE).grad("PolygammaBackward", SELF, |b| {
        let next = b.arg("n").int()? + 1;
        times(b, || t!("polygamma", next, x(b)?))
    });
    register_kept(b);
    register_predicates(b);
    register_composites(b);
}

fn round_to(c: &Call) -> Specs {
    if c.tensor("self")?.dtype().is_integral() && c.int("decimals")? < 0 {
        return Err(Error::runtime("round_cpu: negative decimals are not supported for integers"));
    }
    like_self(c)
}

fn register_kept(b: &mut OpBuilder) {
    b.op("neg(Tensor self) -> Tensor", Rule::Fresh(no_bool)).tags(Tags::POINTWISE | Tags::CORE);
    b.grad("NegBackward", &[], |b| unary_grad(b, |g| t!("neg", g))).inplace();
    b.op("abs(Tensor self) -> Tensor", Rule::Fresh(|c| one(&[c.get("self")], c.tensor("self")?.dtype().to_real())))
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("AbsBackward", SELF, |b| times(b, || t!("sgn", x(b)?))).inplace();
    for (name, node) in [
        ("floor", "FloorBackward"),
        ("ceil", "CeilBackward"),
        ("trunc", "TruncBackward"),
        ("round", "RoundBackward"),
        ("sign", "SignBackward"),
    ] {
        b.op(&format!("{name}(Tensor self) -> Tensor"), Rule::Fresh(like_self))
            .tags(Tags::POINTWISE | Tags::CORE)
            .grad(node, &[], zero_grad)
            .inplace();
    }
    b.op("round.decimals(Tensor self, *, int decimals) -> Tensor", Rule::Fresh(round_to)).tags(Tags::POINTWISE);
    b.grad("RoundBackward1", &[], zero_grad).inplace();
    b.op("sgn(Tensor self) -> Tensor", Rule::Fresh(like_self)).tags(Tags::POINTWISE);
    b.grad("SgnBackward", &[], |b| {
        let spec = b.spec("self")?;
        Grads::one(b, "self", || {
            t!("_efficientzerotensor", &spec.geometry.sizes; dtype = spec.dtype, layout = Value::Layout(Layout::Strided), device = spec.device)
        })
    });
    b.inplace();
    b.op("relu(Tensor self) -> Tensor", Rule::Fresh(no_bool)).tags(Tags::POINTWISE | Tags::CORE);
    b.grad("ReluBackward", RESULT, |b| unary_grad(b, |g| t!("threshold_backward", g, b.result(0)?, 0))).inplace();
    b.op("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", Rule::Fresh(like_self));
    b.tags(Tags::POINTWISE).grad("NanToNumBackward", SELF, |b| times(b, || t!("isfinite", x(b)?))).inplace();
    b.op("logit(Tensor self, float? eps=None) -> Tensor", Rule::Fresh(float_self)).tags(Tags::POINTWISE);
    b.grad("LogitBackward", SELF, |b| unary_grad(b, |g| t!("logit_backward", g, x(b)?, b.arg("eps")))).inplace();
    b.op("bitwise_not(Tensor self) -> Tensor", Rule::Fresh(like_self)).tags(Tags::POINTWISE | Tags::CORE).not_differentiable().inplace();
    b.op(
        "positive(Tensor(a) self) -> Tensor(a)",
        Rule::Composite(|c| {
            let t = c.tensor("self")?;
            match t.dtype() {
                Dtype::Bool => Err(Error::not_implemented("The `+` operator, on a bool tensor is not supported.")),
                _ => Ok(t.into()),
            }
        }),
    );
}

fn no_bool(c: &Call) -> Specs {
    if c.tensor("self")?.dtype() == Dtype::Bool {
        return Err(Error::not_implemented(match c.entry.base_name() {
            "relu" => "Boolean inputs not supported for relu",
            _ => {
                "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
            }
        }));
    }
    like_self(c)
}

fn register_predicates(b: &mut OpBuilder) {
    b.op("logical_not(Tensor self) -> Tensor", Rule::Fresh(bool_self)).tags(Tags::POINTWISE | Tags::CORE).not_differentiable().inplace();
    for name in ["isnan", "isinf", "isposinf", "isneginf", "signbit"] {
        b.op(&format!("{name}(Tensor self) -> Tensor"), Rule::Fresh(bool_self)).tags(Tags::POINTWISE).not_differentiable();
    }
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
    );
}

/// Other names of operators, and operators that are always written as others.
fn register_composites(b: &mut OpBuilder) {
    macro_rules! alias {
        ($($name:literal => $of:literal $inplace:literal;)*) => { $(
            b.op(concat!($name, "(Tensor self) -> Tensor"), Rule::Composite(|c| t!($of, c.get("self")).map(Value::from)));
            b.op(concat!($name, "_(Tensor(a!) self) -> Tensor(a!)"), Rule::Composite(|c| t!($inplace, c.get("self")).map(Value::from)));
        )* };
    }
    alias! {
        "absolute" => "abs" "abs_";
        "negative" => "neg" "neg_";
        "fix" => "trunc" "trunc_";
        "arccos" => "acos" "acos_";
        "arcsin" => "asin" "asin_";
        "arctan" => "atan" "atan_";
        "arccosh" => "acosh" "acosh_";
        "arcsinh" => "asinh" "asinh_";
        "arctanh" => "atanh" "atanh_";
    }
    macro_rules! special {
        ($($name:literal => $of:literal;)*) => { $(
            b.op(concat!($name, "(Tensor self) -> Tensor"), Rule::Composite(|c| t!($of, c.get("self")).map(Value::from)));
        )* };
    }
    special! {
        "special_expit" => "sigmoid";
        "special_erf" => "erf";
        "special_erfc" => "erfc";
        "special_erfinv" => "erfinv";
        "special_log1p" => "log1p";
        "special_expm1" => "expm1";
        "special_exp2" => "exp2";
        "special_gammaln" => "lgamma";
        "special_digamma" => "digamma";
        "special_psi" => "digamma";
        "special_i0" => "i0";
        "special_sinc" => "sinc";
    }
    b.op("square(Tensor self) -> Tensor", Rule::Composite(|c| t!("pow.Tensor_Scalar", c.get("self"), 2).map(Value::from)));
    b.op("square_(Tensor(a!) self) -> Tensor(a!)", Rule::Composite(|c| t!("pow_.Scalar", c.get("self"), 2).map(Value::from)));
}
