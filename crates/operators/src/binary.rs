//! Pointwise arithmetic of two operands, with type promotion.
//!
//! Where the signature says Tensor and the tag NUMBERS_AS_TENSORS is set, a Python number stays a number down to the kernel.
//! Gradients are computed in the alphabetical order of the arguments' names, as PyTorch's generated code does; reducing them
//! to a broadcast operand's shape is the engine's work.

use super::activation::tied_after;
use super::common::*;
use super::complex::conj;
use super::shapes::{laid_out_by, pointwise_strides};
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, Complex, Grads, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use tensor::{Dtype, MemoryFormat, Tensor, TensorSpec};

const NUMBERS: Tags = Tags(Tags::POINTWISE.0 | Tags::CORE.0 | Tags::NUMBERS_AS_TENSORS.0);

/// Two operands, promoted.
fn two(c: &Call) -> Specs {
    promoted(c, &["self", "other"])
}

/// Two operands, promoted to a float.
fn two_float(c: &Call) -> Specs {
    promoted_float(c, &["self", "other"])
}

/// Two operands, promoted to a float; traced by what is asked of the second one first.
fn by_other(c: &Call) -> Specs {
    traced_in_order(c, two_float(c)?, &["other", "self"])
}

/// A quotient rounded down; of floats it is traced as a choice by the divisor.
fn floored(c: &Call) -> Specs {
    let specs = two(c)?;
    let is_float = specs[0].as_ref().is_some_and(|s| s.dtype.is_floating());
    if is_float { traced_in_order(c, specs, &["other", "self"]) } else { Ok(specs) }
}

/// `self * log(other)` is traced as choices that each operand is asked about before the product is broadcast.
pub(super) fn times_log_spec(c: &Call, mut specs: Vec<Option<TensorSpec>>) -> Specs {
    let (Some(x), Some(y)) = (c.args[0].as_tensor(), c.args[1].as_tensor()) else { return Ok(specs) };
    if x.is_fake() || y.is_fake() {
        for spec in specs.iter_mut().flatten() {
            let sizes = &spec.geometry.sizes;
            let (of_x, of_y) = (laid_out_by(&x.sizes(), &[x])?, laid_out_by(&y.sizes(), &[y])?);
            let product = laid_out_by(sizes, &[x, &of_y])?;
            let rest = laid_out_by(sizes, &[&of_x, &product])?;
            spec.geometry.strides = pointwise_strides(sizes, &[&of_y, &rest])?;
        }
    }
    Ok(specs)
}

/// `self * 2 ** other`: the power is a tensor of its own.
fn ldexp_spec(c: &Call) -> Specs {
    let mut specs = two_float(c)?;
    let (x, exponent) = (c.tensor("self")?, c.tensor("other")?);
    for spec in specs.iter_mut().flatten() {
        let power = if exponent.is_fake() {
            laid_out_by(&exponent.sizes(), &[exponent])?
        } else {
            Tensor::fake(&TensorSpec::contiguous(exponent.sizes(), spec.dtype, spec.device))?
        };
        spec.geometry.strides = pointwise_strides(&spec.geometry.sizes, &[x, &power])?;
    }
    Ok(specs)
}

/// add, sub, rsub: the multiplier must fit the result.
fn sum_spec(c: &Call) -> Specs {
    let specs = two(c)?;
    let dtype = specs[0].as_ref().map_or(Dtype::Float32, |s| s.dtype);
    if c.entry.base_name() != "add" && c.entry.base_name() != "add_" {
        for name in ["self", "other"] {
            // PyTorch's kernel asks: a graph of fake tensors may hold such a call.
            if matches!(c.get(name), Value::Tensor(t) if t.dtype() == Dtype::Bool && !t.is_fake()) {
                return Err(Error::not_implemented(if dtype == Dtype::Bool {
                    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
                } else {
                    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
                }));
            }
        }
    }
    let alpha = c.get("alpha");
    if matches!(alpha, Value::Bool(_)) && dtype != Dtype::Bool {
        return Err(Error::runtime("Boolean alpha only supported for Boolean results."));
    }
    if matches!(alpha, Value::Float(_)) && dtype.is_integral() {
        return Err(Error::runtime("For integral input tensors, argument alpha must not be a floating point number."));
    }
    Ok(specs)
}

/// `other - alpha * self`: the operands change places.
fn rsub_spec(c: &Call) -> Specs {
    let mut specs = sum_spec(c)?;
    if let [Value::Tensor(x), Value::Tensor(y)] = [c.get("self"), c.get("other")] {
        for spec in specs.iter_mut().flatten() {
            spec.geometry.strides = pointwise_strides(&spec.geometry.sizes, &[y, x])?;
        }
    }
    Ok(specs)
}

/// Division: true division gives floats, rounding modes keep the dtype.
fn div_spec(c: &Call) -> Specs {
    match c.get("rounding_mode") {
        Value::None => two_float(c),
        Value::Str(mode) if &**mode == "floor" => floored(c),
        Value::Str(mode) if &**mode == "trunc" => two(c),
        _ => Err(Error::runtime(format!(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{}'",
            c.str("rounding_mode").unwrap_or_default()
        ))),
    }
}

fn grad_of<'a>(b: &'a Backward) -> Result<&'a Tensor> {
    b.grad()
}

/// `grad * value`
fn mul(grad: &Tensor, value: &Value) -> Result<Tensor> {
    t!("mul.Tensor", grad, value)
}

fn saved<'a>(b: &'a Backward, name: &str) -> Result<&'a Tensor> {
    b.saved(name)
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    register_sums(b);
    register_products(b);
    register_remainders(b);
    register_extrema(b);
    register_floats(b);
    register_aliases(b);
}

fn add_backward(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "other", || multiply_back(b.grad()?.clone(), b.arg("alpha")))?;
    grads.set(b, "self", || b.grad().cloned())?;
    Ok(grads)
}

fn sub_backward(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "other", || multiply_back(t!("neg", b.grad()?)?, b.arg("alpha")))?;
    grads.set(b, "self", || b.grad().cloned())?;
    Ok(grads)
}

fn rsub_backward(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    if matches!(b.arg("other"), Value::None | Value::Tensor(_)) {
        grads.set(b, "other", || b.grad().cloned())?;
    }
    grads.set(b, "self", || multiply_back(t!("neg", b.grad()?)?, b.arg("alpha")))?;
    Ok(grads)
}

fn only_self(b: &Backward) -> Result<Grads> {
    Grads::one(b, "self", || b.grad().cloned())
}

fn register_sums(b: &mut OpBuilder) {
    b.op("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", Rule::Fresh(sum_spec))
        .complex(Complex::ByParts)
        .tags(NUMBERS);
    b.grad("AddBackward", &[], add_backward).inplace();
    b.op("add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", Rule::Fresh(sum_spec))
        .doc("`self + alpha * other`.")
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD | Tags::POINTWISE);
    b.grad("AddBackward1", &[], only_self).inplace();
    b.op("sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", Rule::Fresh(sum_spec))
        .complex(Complex::ByParts)
        .tags(NUMBERS);
    b.grad("SubBackward", &[], sub_backward).inplace();
    b.op("sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", Rule::Fresh(sum_spec))
        .doc("`self - alpha * other`.")
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD | Tags::POINTWISE);
    b.grad("SubBackward1", &[], only_self).inplace();
    b.op("rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", Rule::Fresh(rsub_spec))
        .complex(Complex::ByParts)
        .tags(Tags::ELEMENTWISE);
    b.grad("RsubBackward", &[], rsub_backward);
    b.op("rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", Rule::Fresh(sum_spec))
        .doc("`other - alpha * self`.")
        .function()
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD | Tags::POINTWISE);
    b.grad("RsubBackward1", &[], rsub_backward);
}

/// A factor's conjugate.
fn conjugate(value: &Value) -> Result<Value> {
    Ok(match value {
        Value::Tensor(t) => conj(t)?.into(),
        // To autograd it is a tensor.
        Value::Complex(..) => t!("_conj", value)?.into(),
        other => other.clone(),
    })
}

fn mul_backward(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "other", || real_where_it_is(b, "other", mul(b.grad()?, &conjugate(b.arg("self"))?)?))?;
    grads.set(b, "self", || real_where_it_is(b, "self", mul(b.grad()?, &conjugate(b.arg("other"))?)?))?;
    Ok(grads)
}

/// The real part of a gradient, where the argument is real.
fn real_where_it_is(b: &Backward, name: &str, grad: Tensor) -> Result<Tensor> {
    let is_real = !b.spec(name)?.dtype.is_complex();
    if is_real && grad.dtype().is_complex() { t!("real", grad) } else { Ok(grad) }
}

fn div_backward(b: &Backward) -> Result<Grads> {
    let rounded = !b.arg("rounding_mode").is_none();
    let zeros = |name: &str| -> Result<Tensor> {
        let g = grad_of(b)?;
        let dtype = b.spec(name).map_or(g.dtype(), |s| s.dtype);
        t!("zeros_like", g; dtype = dtype, layout = Value::Layout(tensor::Layout::Strided), device = g.device())
    };
    let mut grads = Grads::new(b);
    grads.set(b, "other", || {
        if rounded {
            return zeros("other");
        }
        let quotient = t!("div.Tensor", t!("div.Tensor", b.arg("self"), b.arg("other"))?, b.arg("other"))?;
        let slope = conj(&quotient)?;
        real_where_it_is(b, "other", t!("mul.Tensor", t!("neg", b.grad()?)?, slope)?)
    })?;
    grads.set(b, "self", || match rounded {
        true => zeros("self"),
        false => real_where_it_is(b, "self", t!("div.Tensor", b.grad()?, conjugate(b.arg("other"))?)?),
    })?;
    Ok(grads)
}

fn register_products(b: &mut OpBuilder) {
    b.op("mul.Tensor(Tensor self, Tensor other) -> Tensor", Rule::Fresh(two)).tags(NUMBERS);
    b.grad("MulBackward", &["self", "other"], mul_backward).serves(&[("self", "other"), ("other", "self")]).inplace();
    b.op("mul.Scalar(Tensor self, Scalar other) -> Tensor", Rule::Fresh(two))
        .doc("`self * other`.")
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD | Tags::POINTWISE);
    b.grad("MulBackward1", &[], |b| unary_grad(b, |g| t!("mul.Scalar", g, conjugate_number(b.arg("other"))))).inplace();
    b.op("div.Tensor(Tensor self, Tensor other) -> Tensor", Rule::Fresh(two_float)).tags(NUMBERS);
    b.grad("DivBackward", &["self", "other"], div_backward).serves(&[("self", "other")]).inplace();
    b.op("div.Scalar(Tensor self, Scalar other) -> Tensor", Rule::Fresh(two_float))
        .doc("`self / other`, optionally rounded.")
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD | Tags::POINTWISE);
    b.grad("DivBackward1", &[], |b| unary_grad(b, |g| real_where_it_is(b, "self", t!("div.Scalar", g, conjugate_number(b.arg("other")))?)));
    b.inplace();
    b.op("div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", Rule::Fresh(div_spec)).tags(NUMBERS);
    b.grad("DivBackward2", &["self", "other"], div_backward).serves(&[("self", "other")]).inplace();
    b.op("div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", Rule::Fresh(div_spec)).tags(Tags::POINTWISE);
    b.grad("DivBackward3", &[], div_backward).inplace();
    b.op("floor_divide(Tensor self, Tensor other) -> Tensor", Rule::Fresh(floored))
        .doc("The quotient rounded down.")
        .refuses("*bc", "div_floor_cpu")
        .tags(Tags::NUMBERS_AS_TENSORS | Tags::ELEMENTWISE);
    b.op("floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", Rule::Inplace("floor_divide")).tags(Tags::NUMBERS_AS_TENSORS);
    b.op("floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", Rule::Fresh(two)).tags(Tags::ELEMENTWISE).inplace();
    register_powers(b);
}

/// `exponent == 0` has a gradient of zero, whatever the base.
fn pow_self(b: &Backward) -> Result<Grads> {
    let exponent = b.arg("exponent");
    if let Value::Complex(re, im) = exponent {
        return unary_grad(b, |g| {
            let power = t!("pow.Tensor_Scalar", saved(b, "self")?, Value::Complex(re - 1.0, *im))?;
            t!("mul.Tensor", g, conj(&t!("mul.Scalar", power, exponent)?)?)
        });
    }
    let exponent = exponent.float()?;
    unary_grad(b, |g| {
        let x = saved(b, "self")?;
        if exponent == 0.0 {
            return t!("zeros_like", x; memory_format = MemoryFormat::Contiguous);
        }
        let power = t!("pow.Tensor_Scalar", x, exponent - 1.0)?;
        t!("mul.Tensor", g, conj(&t!("mul.Scalar", power, exponent)?)?)
    })
}

fn pow_tensors(b: &Backward) -> Result<Grads> {
    let (x, e) = (saved(b, "self")?, saved(b, "exponent")?);
    let mut grads = Grads::new(b);
    grads.set(b, "exponent", || {
        let positive = not_negative(e)?;
        let at_zero = t!("logical_and", t!("eq.Scalar", x, 0)?, positive)?;
        let slope = t!("mul.Tensor", b.result(0)?, t!("log", x)?)?;
        let zero = scalar_like(0.0, &slope)?;
        t!("mul.Tensor", b.grad()?, conj(&t!("where.self", at_zero, zero, slope)?)?)
    })?;
    grads.set(b, "self", || {
        let lower = t!("pow.Tensor_Tensor", x, t!("sub.Scalar", e, 1)?)?;
        let out = t!("mul.Tensor", b.grad()?, conj(&t!("mul.Tensor", e, lower)?)?)?;
        let zero = scalar_like(0.0, &out)?;
        t!("where.self", t!("eq.Scalar", e, 0.0)?, zero, out)
    })?;
    Ok(grads)
}

/// Where exponents are real and not negative.
fn not_negative(exponent: &Tensor) -> Result<Tensor> {
    if !exponent.dtype().is_complex() {
        return t!("ge.Scalar", exponent, 0);
    }
    let is_real = t!("eq.Scalar", t!("imag", exponent)?, 0)?;
    t!("logical_and", is_real, t!("ge.Scalar", t!("real", exponent)?, 0)?)
}

fn pow_scalar_base(b: &Backward) -> Result<Grads> {
    let base = b.arg("self");
    let (log, is_zero) = match base {
        Value::Complex(re, im) => (Value::Complex(re.hypot(*im).ln(), im.atan2(*re)), *re == 0.0 && *im == 0.0),
        _ => (base.float()?.ln().into(), base.float()? == 0.0),
    };
    // A negative base has complex powers whose logarithm is complex.
    let log = match log {
        Value::Float(log) if log.is_nan() && b.result(0)?.dtype().is_complex() => {
            Value::Complex(base.float()?.abs().ln(), std::f64::consts::PI)
        }
        log => log,
    };
    Grads::one(b, "exponent", || {
        let slope = t!("mul.Scalar", b.result(0)?, log)?;
        let slope = if is_zero {
            let zero = scalar_like(0.0, b.grad()?)?;
            t!("where.self", not_negative(saved(b, "exponent")?)?, zero, slope)?
        } else {
            slope
        };
        t!("mul.Tensor", b.grad()?, conj(&slope)?)
    })
}

fn pow_spec(c: &Call) -> Specs {
    let mut specs = promoted(c, &["self", "exponent"])?;
    if !matches!(c.get("self"), Value::Tensor(_)) && !c.tensor("exponent")?.is_fake() {
        // A number's powers are computed contiguously, however the exponents lie; tracing does not know that.
        for spec in specs.iter_mut().flatten() {
            spec.geometry.strides = tensor::contiguous_strides(&spec.geometry.sizes);
        }
    }
    let integral = specs[0].as_ref().is_some_and(|s| s.dtype.is_integral());
    // PyTorch's kernel asks: a graph of fake tensors may hold such a call.
    if integral && !Value::any_fake(c.args) && matches!(c.get("exponent"), Value::Int(e) if e.sym_lt(0)?) {
        return Err(Error::runtime("Integers to negative integer powers are not allowed."));
    }
    Ok(specs)
}

fn register_powers(b: &mut OpBuilder) {
    b.op("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", Rule::Fresh(pow_spec))
        .tags(Tags::COMPLEX_GRAD)
        .auto_element_wise("self")
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("PowBackward", &["self"], pow_self);
    b.op("pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", Rule::Fresh(pow_spec)).tags(Tags::POINTWISE | Tags::CORE);
    b.grad("PowBackward1", &["self", "exponent", "result"], pow_tensors);
    b.op("pow.Scalar(Scalar self, Tensor exponent) -> Tensor", Rule::Fresh(pow_spec))
        .doc("`self ** exponent`.")
        .refuses("*b", "pow")
        .auto_element_wise("exponent")
        .tags(Tags::COMPLEX_GRAD | Tags::POINTWISE | Tags::CORE);
    b.grad("PowBackward2", &["exponent", "result"], pow_scalar_base);
    b.op("pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)", Rule::Inplace("pow.Tensor_Scalar")).grad(
        "PowBackward",
        &["self"],
        pow_self,
    );
    b.op("pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)", Rule::Inplace("pow.Tensor_Tensor"));
    b.grad("PowBackward1", &["self", "exponent", "result"], pow_tensors);
    b.op(
        "float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
        Rule::Composite(|c| aten!("pow.Tensor_Scalar", widest(c, "self")?, widest_number(c, "exponent")?)),
    )
    .tags(Tags::POINTWISE);
    b.op(
        "float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
        Rule::Composite(|c| {
            let exponent = widest(c, "exponent")?;
            aten!("pow.Tensor_Tensor", widest(c, "self")?, exponent)
        }),
    )
    .tags(Tags::POINTWISE);
    b.op(
        "float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
        Rule::Composite(|c| aten!("pow.Scalar", widest_number(c, "self")?, widest(c, "exponent")?)),
    )
    .doc("Powers in double precision.")
    .tags(Tags::POINTWISE);
    for (overload, kind) in [("Scalar", "Scalar"), ("Tensor", "Tensor")] {
        b.op(&format!("float_power_.{overload}(Tensor(a!) self, {kind} exponent) -> Tensor(a!)"), Rule::Composite(float_power_in_place));
    }
}

/// The dtype that `float_power` computes in.
fn widest_dtype(c: &Call) -> Dtype {
    let complex = |v: &Value| matches!(v, Value::Complex(..)) || matches!(v, Value::Tensor(t) if t.dtype().is_complex());
    if c.args[..2].iter().any(complex) { Dtype::Complex128 } else { Dtype::Float64 }
}

fn widest(c: &Call, name: &str) -> Result<Tensor> {
    t!("to.dtype", c.get(name), widest_dtype(c))
}

fn widest_number(c: &Call, name: &str) -> Result<Value> {
    Ok(match c.get(name) {
        Value::Complex(re, im) => Value::Complex(*re, *im),
        _ if widest_dtype(c).is_complex() => Value::Complex(c.float(name)?, 0.0),
        _ => Value::Float(c.float(name)?),
    })
}

fn float_power_in_place(c: &Call) -> Result<Value> {
    let (base, dtype) = (c.tensor("self")?, widest_dtype(c));
    if base.dtype() != dtype {
        return Err(Error::runtime(format!(
            "the base given to float_power_ has dtype {} but the operation's result requires dtype {}",
            base.dtype().scalar_type(),
            dtype.scalar_type()
        )));
    }
    match c.get("exponent") {
        Value::Tensor(_) => aten!("pow_.Tensor", base, widest(c, "exponent")?),
        _ => aten!("pow_.Scalar", base, widest_number(c, "exponent")?),
    }
}

fn remainder_backward(b: &Backward, mode: &'static str) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "other", || {
        let quotient = t!("div.Tensor_mode", b.arg("self"), b.arg("other"); rounding_mode = mode)?;
        t!("mul.Tensor", t!("neg", b.grad()?)?, quotient)
    })?;
    grads.set(b, "self", || b.grad().cloned())?;
    Ok(grads)
}

fn register_remainders(b: &mut OpBuilder) {
    b.op("remainder.Tensor(Tensor self, Tensor other) -> Tensor", Rule::Fresh(two)).tags(Tags::POINTWISE | Tags::CORE);
    b.grad("RemainderBackward1", &["self", "other"], |b| remainder_backward(b, "floor")).inplace();
    b.op("remainder.Scalar(Tensor self, Scalar other) -> Tensor", Rule::Fresh(two))
        .doc("The remainder with the divisor's sign.")
        .refuses("*bc", "remainder_cpu")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("RemainderBackward", &[], only_self).inplace();
    b.op("remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", Rule::Fresh(two)).tags(Tags::POINTWISE);
    b.op("fmod.Tensor(Tensor self, Tensor other) -> Tensor", Rule::Fresh(two)).tags(Tags::POINTWISE | Tags::CORE);
    b.grad("FmodBackward1", &["self", "other"], |b| remainder_backward(b, "trunc")).inplace();
    b.op("fmod.Scalar(Tensor self, Scalar other) -> Tensor", Rule::Fresh(two))
        .doc("The remainder with the dividend's sign.")
        .refuses("*bc", "fmod_cpu")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("FmodBackward", &[], only_self).inplace();
}

/// Ties share the gradient; `over` says which mask drops the gradient of `other`, `under` that of `self`.
fn extremum(b: &Backward, over: fn(&Tensor, &Tensor) -> Result<Tensor>, under: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Grads> {
    let (x, y) = (saved(b, "self")?, saved(b, "other")?);
    let mut grads = Grads::new(b);
    grads.set(b, "other", || tied_after(b.grad()?, x, y, || over(x, y)))?;
    grads.set(b, "self", || tied_after(b.grad()?, x, y, || under(x, y)))?;
    Ok(grads)
}

fn gt(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    t!("gt.Tensor", x, y)
}

fn lt(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    t!("lt.Tensor", x, y)
}

fn or_nan(mask: Tensor, y: &Tensor) -> Result<Tensor> {
    t!("logical_or_", mask, t!("isnan", y)?)
}

fn register_extrema(b: &mut OpBuilder) {
    const BOTH: &[&str] = &["self", "other"];
    b.op("maximum(Tensor self, Tensor other) -> Tensor", Rule::Fresh(two))
        .refuses("c", "T:maximum not implemented for complex tensors.")
        .doc("The larger of two.")
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("MaximumBackward", BOTH, |b| extremum(b, gt, lt));
    b.op("minimum(Tensor self, Tensor other) -> Tensor", Rule::Fresh(two))
        .refuses("c", "T:minimum not implemented for complex tensors.")
        .doc("The smaller of two.")
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("MinimumBackward", BOTH, |b| extremum(b, lt, gt));
    b.op("fmax(Tensor self, Tensor other) -> Tensor", Rule::Fresh(two)).doc("The larger of two, ignoring NaN.").tags(Tags::POINTWISE);
    b.grad("FmaxBackward", BOTH, |b| {
        extremum(b, |x, y| or_nan(gt(x, y)?, y), |x, y| t!("logical_not_", or_nan(t!("ge.Tensor", x, y)?, y)?))
    });
    b.op("fmin(Tensor self, Tensor other) -> Tensor", Rule::Fresh(two)).doc("The smaller of two, ignoring NaN.").tags(Tags::POINTWISE);
    b.grad("FminBackward", BOTH, |b| {
        extremum(b, |x, y| or_nan(lt(x, y)?, y), |x, y| t!("logical_not_", or_nan(t!("le.Tensor", x, y)?, y)?))
    });
    b.op("max.other(Tensor self, Tensor other) -> Tensor", Rule::Composite(|c| aten!("maximum", c.get("self"), c.get("other"))))
        .doc("The largest element; along a dimension also where it is; or the larger of two.")
        .refuses("c", "max_all")
        .tags(Tags::POINTWISE);
    b.op("min.other(Tensor self, Tensor other) -> Tensor", Rule::Composite(|c| aten!("minimum", c.get("self"), c.get("other"))))
        .doc("The smallest element; along a dimension also where it is; or the smaller of two.")
        .refuses("c", "min_all")
        .tags(Tags::POINTWISE);
}

fn atan2_backward(b: &Backward) -> Result<Grads> {
    let (x, y) = (saved(b, "self")?, saved(b, "other")?);
    let square = t!("mul.Tensor", y, y)?;
    let norm = t!("add.Tensor", t!("mul.Tensor", x, x)?, square)?;
    let inverse = t!("reciprocal", &norm)?;
    let inverse = t!("masked_fill.Scalar", inverse, t!("eq.Scalar", norm, 0)?, 0)?;
    let mut grads = Grads::new(b);
    grads.set(b, "self", || t!("mul.Tensor", t!("mul.Tensor", b.grad()?, y)?, &inverse))?;
    grads.set(b, "other", || t!("mul.Tensor", t!("mul.Tensor", b.grad()?, t!("neg", x)?)?, &inverse))?;
    Ok(grads)
}

fn hypot_backward(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    for name in ["other", "self"] {
        grads.set(b, name, || t!("div.Tensor", t!("mul.Tensor", b.grad()?, saved(b, name)?)?, b.result(0)?))?;
    }
    Ok(grads)
}

fn copysign_backward(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    if let Ok(spec) = b.spec("other") {
        grads.set(
            b,
            "other",
            || t!("zeros", &spec.geometry.sizes; dtype = spec.dtype, layout = Value::Layout(tensor::Layout::Strided), device = spec.device),
        )?;
    }
    grads.set(b, "self", || {
        let x = saved(b, "self")?;
        let ratio = t!("div.Tensor", b.result(0)?, x)?;
        let ratio = t!("masked_fill_.Scalar", ratio, t!("eq.Scalar", x, 0)?, 0)?;
        t!("mul.Tensor", b.grad()?, ratio)
    })?;
    Ok(grads)
}

/// `grad / (1 + f(a - b))`
fn log_sum(c: &Call) -> Specs {
    traced_in_order(c, two(c)?, &["self", "other"])
}

fn logadd(b: &Backward, f: fn(Tensor) -> Result<Tensor>) -> Result<Grads> {
    let (x, y) = (saved(b, "self")?, saved(b, "other")?);
    let mut grads = Grads::new(b);
    let part = |p: &Tensor, q: &Tensor| t!("div.Tensor", b.grad()?, t!("add.Scalar", f(t!("sub.Tensor", p, q)?)?, 1)?);
    grads.set(b, "other", || part(x, y))?;
    grads.set(b, "self", || part(y, x))?;
    Ok(grads)
}

fn ldexp_backward(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "other", || t!("mul.Scalar", t!("mul.Tensor", b.grad()?, conj(b.result(0)?)?)?, std::f64::consts::LN_2))?;
    grads.set(b, "self", || t!("mul.Tensor", b.grad()?, conj(&t!("pow.Scalar", 2.0, saved(b, "other")?)?)?))?;
    Ok(grads)
}

fn xlogy_backward(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    let (x, y) = (b.arg("self"), b.arg("other"));
    if b.needs("other") {
        grads.set(b, "other", || {
            let scaled = if x.is_scalar() { t!("mul.Scalar", b.grad()?, x)? } else { t!("mul.Tensor", b.grad()?, x)? };
            t!("div.Tensor", scaled, y)
        })?;
    }
    if b.needs("self") {
        grads.set(b, "self", || {
            if y.is_scalar() {
                let out = t!("xlogy.Scalar_Other", b.grad()?, y)?;
                return if y.float()? > 0.0 { Ok(out) } else { t!("masked_fill.Scalar", out, t!("eq.Scalar", x, 0.0)?, 0.0) };
            }
            let out = t!("xlogy.Tensor", b.grad()?, y)?;
            let low = t!("le.Scalar", y, 0.0)?;
            let mask = t!("bitwise_and.Tensor", t!("eq.Scalar", x, 0.0)?, low)?;
            t!("masked_fill.Scalar", out, mask, 0.0)
        })?;
    }
    Ok(grads)
}

fn register_floats(b: &mut OpBuilder) {
    const BOTH: &[&str] = &["self", "other"];
    b.op("atan2(Tensor self, Tensor other) -> Tensor", Rule::Fresh(two_float))
        .refuses("c", "atan2_cpu")
        .doc("The angle of the point (other, self).")
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("Atan2Backward", BOTH, atan2_backward).inplace();
    b.op("hypot(Tensor self, Tensor other) -> Tensor", Rule::Fresh(two))
        .refuses("c", "hypot_cpu")
        .doc("The length of the hypotenuse.")
        .tags(Tags::POINTWISE);
    b.grad("HypotBackward", &["self", "other", "result"], hypot_backward).inplace();
    b.op("copysign.Tensor(Tensor self, Tensor other) -> Tensor", Rule::Fresh(by_other)).refuses("c", "copysign_cpu").tags(Tags::POINTWISE);
    b.grad("CopysignBackward", &["self", "result"], copysign_backward).inplace();
    b.op("copysign.Scalar(Tensor self, Scalar other) -> Tensor", Rule::Fresh(two_float))
        .doc("The first's magnitude with the second's sign.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("CopysignBackward1", &["self", "result"], copysign_backward).inplace();
    b.op("logaddexp(Tensor self, Tensor other) -> Tensor", Rule::Fresh(log_sum))
        .tags(Tags::COMPLEX_GRAD | Tags::HOLOMORPHIC)
        .doc("`log(exp(self) + exp(other))`.")
        .tags(Tags::POINTWISE);
    b.grad("LogaddexpBackward", BOTH, |b| logadd(b, |d| t!("exp", d)));
    b.op("logaddexp2(Tensor self, Tensor other) -> Tensor", Rule::Fresh(log_sum))
        .refuses("c", "logaddexp2_cpu")
        .doc("`log2(2 ** self + 2 ** other)`.")
        .tags(Tags::POINTWISE);
    b.grad("Logaddexp2Backward", BOTH, |b| logadd(b, |d| t!("pow.Scalar", 2, d)));
    b.op("ldexp.Tensor(Tensor self, Tensor other) -> Tensor", Rule::Fresh(ldexp_spec))
        .tags(Tags::COMPLEX_GRAD)
        .doc("`self * 2 ** other`.")
        .tags(Tags::APART_IN_EXPORT | Tags::POINTWISE);
    b.grad("LdexpBackward", &["other", "result"], ldexp_backward).inplace();
    b.op("xlogy.Tensor(Tensor self, Tensor other) -> Tensor", Rule::Fresh(|c| times_log_spec(c, two_float(c)?)))
        .refuses("c", "xlogy_cpu")
        .tags(Tags::POINTWISE);
    b.grad("XlogyBackward", BOTH, xlogy_backward).inplace();
    b.op("xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", Rule::Fresh(two_float)).auto_element_wise("other").tags(Tags::POINTWISE);
    b.grad("XlogyBackward1", &["other"], xlogy_backward);
    b.op("xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", Rule::Fresh(two_float))
        .doc("`self * log(other)`, zero where `self` is.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("XlogyBackward2", &["self"], xlogy_backward).inplace();
    b.op(
        "heaviside(Tensor self, Tensor values) -> Tensor",
        Rule::Fresh(|c| traced_in_order(c, promoted(c, &["self", "values"])?, &["self", "values"])),
    )
    .doc("The step function.")
    .refuses("!", "R:heaviside is not yet implemented for tensors with different dtypes.")
    .tags(Tags::POINTWISE)
    .inplace();
}

/// Other names of the same operators.
fn register_aliases(b: &mut OpBuilder) {
    macro_rules! alias {
        ($($schema:literal => $of:literal ($($arg:literal),*) ($($key:ident),*) $doc:literal;)*) => { $(
            b.op($schema, Rule::Composite(|c| aten!($of, $(c.get($arg)),*; $($key = c.get(stringify!($key))),*))).doc($doc);
        )* };
        (plain $($schema:literal => $of:literal ($($arg:literal),*) $doc:literal;)*) => { $(
            b.op($schema, Rule::Composite(|c| aten!($of, $(c.get($arg)),*))).doc($doc);
        )* };
    }
    alias! {
        "subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor" => "sub.Tensor" ("self", "other") (alpha) "`self - alpha * other`.";
    }
    alias! { plain
        "subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor" => "sub.Scalar" ("self", "other", "alpha") "`self - alpha * other`.";
        "multiply.Tensor(Tensor self, Tensor other) -> Tensor" => "mul.Tensor" ("self", "other") "`self * other`.";
        "multiply.Scalar(Tensor self, Scalar other) -> Tensor" => "mul.Scalar" ("self", "other") "`self * other`.";
        "divide.Tensor(Tensor self, Tensor other) -> Tensor" => "div.Tensor" ("self", "other") "`self / other`, optionally rounded.";
        "divide.Scalar(Tensor self, Scalar other) -> Tensor" => "div.Scalar" ("self", "other") "`self / other`, optionally rounded.";
        "true_divide.Tensor(Tensor self, Tensor other) -> Tensor" => "div.Tensor" ("self", "other") "`self / other`.";
        "true_divide.Scalar(Tensor self, Scalar other) -> Tensor" => "div.Scalar" ("self", "other") "`self / other`.";
        "true_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)" => "div_.Tensor" ("self", "other") "`self / other`.";
        "arctan2(Tensor self, Tensor other) -> Tensor" => "atan2" ("self", "other") "The angle of the point (other, self).";
        "special_xlogy(Tensor self, Tensor other) -> Tensor" => "xlogy.Tensor" ("self", "other") "`self * log(other)`, zero where `self` is.";
        "special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor" => "xlogy.Scalar_Self" ("self", "other") "`self * log(other)`, zero where `self` is.";
        "special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor" => "xlogy.Scalar_Other" ("self", "other") "`self * log(other)`, zero where `self` is.";
    }
    // After the plain ones: those are meant where no mode is given.
    alias! {
        "divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor" => "div.Tensor_mode" ("self", "other") (rounding_mode) "`self / other`, optionally rounded.";
        "divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor" => "div.Scalar_mode" ("self", "other") (rounding_mode) "`self / other`, optionally rounded.";
    }
    for alias in ["subtract.Tensor", "multiply.Tensor", "divide.Tensor", "divide.Tensor_mode", "true_divide.Tensor"] {
        b.at(alias).tags(Tags::NUMBERS_AS_TENSORS);
    }
    b.at("true_divide.Tensor").tags(Tags::POINTWISE);
}
