//! Activations, clamps and thresholds, with the operators their derivatives are written in.

use super::common::*;
use super::complex::conj;
use super::shapes::{pointwise, range_of_integers, result_type};
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, CastPolicy, Grads, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use tensor::pyfloat::{python_float, six_digits};
use tensor::{Dtype, Tensor, TensorSpec};

fn x<'a>(b: &'a Backward) -> Result<&'a Tensor> {
    b.saved("self")
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    register_forward(b);
    register_backward(b);
    register_clamps(b);
    register_composites(b);
}

fn register_forward(b: &mut OpBuilder) {
    let fresh = Rule::Fresh(like_self);
    b.op("gelu(Tensor self, *, str approximate='none') -> Tensor", fresh)
        .refuses("c", "GeluKernelImpl")
        .doc("`x` times the normal distribution function at `x`.")
        .function()
        .auto_element_wise("self")
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("GeluBackward", &["self"], |b| unary_grad(b, |g| t!("gelu_backward", g, x(b)?; approximate = b.arg("approximate")))).inplace();
    b.at("gelu_").function();
    b.op("silu(Tensor self) -> Tensor", fresh).doc("`x * sigmoid(x)`.").function().auto_element_wise("self").tags(Tags::POINTWISE);
    b.grad("SiluBackward", &["self"], silu_backward).inplace();
    b.at("silu_").function();
    b.op("mish(Tensor self) -> Tensor", fresh)
        .refuses("c", "mish_cpu")
        .doc("`x * tanh(softplus(x))`.")
        .function()
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("MishBackward", &["self"], |b| unary_grad(b, |g| t!("mish_backward", g, x(b)?))).inplace();
    b.at("mish_").function();
    b.op("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", fresh)
        .refuses("c", "elu_cpu")
        .doc("`x` where positive, else `alpha * (exp(x) - 1)`.")
        .function()
        .auto_element_wise("self")
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("EluBackward", &["self"], |b| {
        unary_grad(b, |g| t!("elu_backward", g, b.arg("alpha"), b.arg("scale"), b.arg("input_scale"), false, x(b)?))
    });
    b.op("elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)", Rule::Inplace("elu")).function();
    b.grad("EluBackward1", &["result"], |b| {
        unary_grad(b, |g| t!("elu_backward", g, b.arg("alpha"), b.arg("scale"), b.arg("input_scale"), true, b.result(0)?))
    });
    b.op("celu(Tensor self, Scalar alpha=1.0) -> Tensor", fresh)
        .doc("`x` where positive, else `alpha * (exp(x / alpha) - 1)`.")
        .function()
        .auto_element_wise("self")
        .tags(Tags::POINTWISE)
        .grad("CeluBackward", &["self"], |b| {
            let slope = 1.0 / b.arg("alpha").float()?;
            unary_grad(b, |g| t!("elu_backward", g, b.arg("alpha"), 1, slope, false, x(b)?))
        });
    b.op("celu_(Tensor(a!) self, Scalar alpha=1.0) -> Tensor(a!)", Rule::Inplace("celu")).function().grad(
        "CeluBackward1",
        &["result"],
        |b| {
            let slope = 1.0 / b.arg("alpha").float()?;
            unary_grad(b, |g| t!("elu_backward", g, b.arg("alpha"), 1, slope, true, b.result(0)?))
        },
    );
    b.op("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", fresh)
        .refuses("c", "leaky_relu_cpu")
        .doc("`x` where positive, else a fraction of it.")
        .function()
        .auto_element_wise("self")
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("LeakyReluBackward", &["self"], |b| unary_grad(b, |g| t!("leaky_relu_backward", g, x(b)?, b.arg("negative_slope"), false)));
    b.op("leaky_relu_(Tensor(a!) self, Scalar negative_slope=0.01) -> Tensor(a!)", Rule::Inplace("leaky_relu")).function();
    b.grad("LeakyReluBackward1", &["result"], |b| {
        unary_grad(b, |g| t!("leaky_relu_backward", g, b.result(0)?, b.arg("negative_slope"), true))
    });
    b.op("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", fresh)
        .refuses("c", "hardshrink_cpu")
        .doc("Zero near zero, else `x`.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("HardshrinkBackward", &["self"], |b| unary_grad(b, |g| t!("hardshrink_backward", g, x(b)?, b.arg("lambd"))));
    b.op("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", Rule::Fresh(softshrink_spec))
        .doc("Elements shrunk toward zero.")
        .function()
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("SoftshrinkBackward", &["self"], |b| unary_grad(b, |g| t!("softshrink_backward", g, x(b)?, b.arg("lambd"))));
    b.op("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", fresh)
        .refuses("c", "softplus_cpu")
        .doc("`log(1 + exp(x))`.")
        .function()
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("SoftplusBackward", &["self"], |b| unary_grad(b, |g| t!("softplus_backward", g, x(b)?, b.arg("beta"), b.arg("threshold"))));
    b.op("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", fresh)
        .refuses("c", "clamp is not supported for complex types")
        .doc("Elements limited to a range.")
        .function()
        .refuses("b", "Bool inputs not supported for hardtanh")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("HardtanhBackward", &["self"], |b| unary_grad(b, |g| t!("hardtanh_backward", g, x(b)?, b.arg("min_val"), b.arg("max_val"))));
    b.inplace();
    b.at("hardtanh_").function();
    b.op("hardswish(Tensor self) -> Tensor", fresh)
        .refuses("c", "hardswish_cpu")
        .doc("`x` times a piecewise linear sigmoid.")
        .function()
        .auto_element_wise("self")
        .tags(Tags::ELEMENTWISE);
    b.grad("HardswishBackward", &["self"], |b| unary_grad(b, |g| t!("hardswish_backward", g, x(b)?))).inplace();
    b.at("hardswish_").function();
    b.op("hardsigmoid(Tensor self) -> Tensor", fresh)
        .refuses("c", "hardsigmoid_cpu")
        .doc("A piecewise linear sigmoid.")
        .function()
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("HardsigmoidBackward", &["self"], |b| unary_grad(b, |g| t!("hardsigmoid_backward", g, x(b)?))).inplace();
    b.at("hardsigmoid_").function();
    b.op("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", fresh)
        .doc("`x` above a threshold, else a value.")
        .function()
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("ThresholdBackward", &["self"], |b| unary_grad(b, |g| t!("threshold_backward", g, x(b)?, b.arg("threshold")))).inplace();
    b.at("threshold_").function();
    b.op(
        "log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
        Rule::Fresh(|c| {
            // PyTorch's kernel makes contiguous results; what it traces with is elementwise arithmetic, which keeps the strides.
            let x = c.tensor("self")?;
            let spec = if x.is_fake() {
                // The second of these functions may find other strides than the first for a dimension of one element.
                let [Some(first)] = &like_self(c)?[..] else { return Ok(vec![None, None]) };
                pointwise(&[&Value::Tensor(Tensor::fake(first)?)], first.dtype)?
            } else {
                TensorSpec::contiguous(x.sizes(), x.dtype(), x.device())
            };
            Ok(vec![Some(spec.clone()), Some(spec)])
        }),
    )
    .refuses("c", "log_sigmoid_cpu")
    .function();
    b.indices_without_grad(&[1]);
    b.grad("LogSigmoidBackward", &["self", "result1"], |b| unary_grad(b, |g| t!("log_sigmoid_backward", g, x(b)?, b.result(1)?)));
    b.op("_prelu_kernel(Tensor self, Tensor weight) -> Tensor", Rule::Fresh(|c| promoted(c, &["self", "weight"]))).tags(Tags::ELEMENTWISE);
    b.grad("PreluKernelBackward", &["self", "weight"], |b| {
        let both = aten!("_prelu_kernel_backward", b.grad()?, x(b)?, b.saved("weight")?)?.tensors()?;
        let mut grads = Grads::new(b);
        grads.put(b, "self", both.first().cloned())?;
        grads.put(b, "weight", both.get(1).cloned())?;
        Ok(grads)
    });
    b.op("glu(Tensor self, int dim=-1) -> Tensor", Rule::Fresh(glu_spec))
        .refuses("c", "glu_cpu")
        .doc("The first half times the sigmoid of the second.")
        .function();
    b.grad("GluBackward", &["self"], |b| unary_grad(b, |g| t!("glu_backward", g, x(b)?, b.arg("dim"))));
}

fn glu_spec(c: &Call) -> Specs {
    let x = c.tensor("self")?;
    let mut spec = x.spec();
    if spec.geometry.sizes.is_empty() {
        return Err(Error::runtime("glu does not support 0-dimensional tensors"));
    }
    let dim = super::shapes::wrap_dim(c.int("dim")?, spec.geometry.sizes.len())?;
    let size = &spec.geometry.sizes[dim];
    if !size.modulo(&2.into())?.sym_eq(0)? {
        return Err(Error::runtime(format!("Halving dimension must be even, but dimension {dim} is size {size}")));
    }
    spec.geometry.sizes[dim] = size.floor_div(&2.into())?;
    one(&[&x.view_as(spec.geometry).into()], spec.dtype)
}

/// A pointwise result over a gradient and what was saved.
fn over_grad(c: &Call) -> Specs {
    let tensors: Vec<&Value> = c.args.iter().filter(|v| v.as_tensor().is_some()).collect();
    one(&tensors, result_type(&tensors)?)
}

/// The same of one that chooses by the saved operand: its memory layout comes first.
fn over_operand(c: &Call) -> Specs {
    let tensors: Vec<&Value> = c.args.iter().rev().filter(|v| v.as_tensor().is_some()).collect();
    one(&tensors, result_type(&tensors)?)
}

const NEGATIVE_LEAKY_RELU: &str = "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is caused by calling in-place forward function with a negative slope, please call out-of-place version instead. File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward calculation with negative slope";
const NEGATIVE_ELU: &str = "In-place elu backward calculation is triggered with a negative slope which is not supported. This is caused by calling in-place forward function with a negative slope, please call out-of-place version instead.";

/// A result in the place of the input says which side of zero that was on, unless the slope on one side is negative.
fn refuse_negative(c: &Call, is_result: &str, slope: &str, said: &str) -> Result<()> {
    match c.bool(is_result)? && c.float(slope)? < 0.0 {
        true => Err(Error::runtime(said)),
        false => Ok(()),
    }
}

/// The gradient; where it will be differentiated in turn, of operators that can be as often as one likes.
fn silu_backward(b: &Backward) -> Result<Grads> {
    let x = x(b)?;
    unary_grad(b, |g| {
        if !dispatch::modes().grad {
            return t!("silu_backward", g, x);
        }
        let sigmoid = t!("sigmoid", x)?;
        let slope = t!("add.Scalar", t!("mul.Tensor", x, number_minus(1.0, &sigmoid)?)?, 1.0)?;
        t!("mul.Tensor", t!("mul.Tensor", g, sigmoid)?, slope)
    })
}

/// A contiguous result of the saved operand's geometry.
fn register_backward(b: &mut OpBuilder) {
    b.op("tanh_backward(Tensor grad_output, Tensor output) -> Tensor", Rule::Fresh(over_grad))
        .tags(Tags::COMPLEX_GRAD)
        .tags(Tags::POINTWISE);
    b.grad("TanhBackwardBackward", &["grad_output", "output"], tanh_double);
    b.op("sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", Rule::Fresh(over_grad))
        .tags(Tags::COMPLEX_GRAD)
        .tags(Tags::POINTWISE);
    b.grad("SigmoidBackwardBackward", &["grad_output", "output"], sigmoid_double);
    // The result takes the layout of `self` where the two differ.
    b.op(
        "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
        Rule::Fresh(|c| {
            let tensors = [c.get("self"), c.get("grad_output")];
            one(&tensors, result_type(&tensors)?)
        }),
    )
    .tags(Tags::POINTWISE);
    b.grad("ThresholdBackwardBackward", &["self"], |b| {
        let mut grads = Grads::new(b);
        grads.set(b, "grad_output", || t!("threshold_backward", b.grad()?, x(b)?, b.arg("threshold")))?;
        grads.set(b, "self", || t!("zeros_like", b.grad()?))?;
        Ok(grads)
    });
    b.op(
        "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor",
        Rule::Fresh(|c| {
            refuse_negative(c, "self_is_result", "negative_slope", NEGATIVE_LEAKY_RELU)?;
            over_operand(c)
        }),
    );
    b.tags(Tags::ELEMENTWISE).grad("LeakyReluBackwardBackward", &["self"], |b| {
        let mut grads = Grads::new(b);
        grads.set(b, "grad_output", || t!("leaky_relu_backward", b.grad()?, x(b)?, b.arg("negative_slope"), false))?;
        grads.set(b, "self", || t!("zeros_like", b.grad()?))?;
        Ok(grads)
    });
    b.op("hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor", Rule::Fresh(over_operand));
    b.tags(Tags::ELEMENTWISE).grad("HardshrinkBackwardBackward", &["self"], |b| {
        let mut grads = Grads::new(b);
        grads.set(b, "grad_out", || t!("hardshrink_backward", b.grad()?, x(b)?, b.arg("lambd")))?;
        grads.set(b, "self", || t!("zeros_like", b.grad()?))?;
        Ok(grads)
    });
    b.op("softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor", Rule::Fresh(over_operand));
    b.tags(Tags::ELEMENTWISE).grad("SoftshrinkBackwardBackward", &["self"], |b| {
        let mut grads = Grads::new(b);
        grads.set(b, "grad_output", || t!("softshrink_backward", b.grad()?, x(b)?, b.arg("lambd")))?;
        grads.set(b, "self", || t!("zeros_like", b.grad()?))?;
        Ok(grads)
    });
    b.op("hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor", Rule::Fresh(over_operand));
    b.tags(Tags::ELEMENTWISE).grad("HardtanhBackwardBackward", &["self"], |b| {
        let mut grads = Grads::new(b);
        grads.set(b, "grad_output", || t!("hardtanh_backward", b.grad()?, x(b)?, b.arg("min_val"), b.arg("max_val")))?;
        grads.set(b, "self", || t!("zeros_like", b.grad()?))?;
        Ok(grads)
    });
    b.op("gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor", Rule::Fresh(over_grad))
        .tags(Tags::POINTWISE);
    b.op("silu_backward(Tensor grad_output, Tensor self) -> Tensor", Rule::Fresh(over_grad)).tags(Tags::POINTWISE);
    b.op("mish_backward(Tensor grad_output, Tensor self) -> Tensor", Rule::Fresh(over_grad)).tags(Tags::ELEMENTWISE);
    b.op("softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor", Rule::Fresh(over_operand))
        .tags(Tags::ELEMENTWISE);
    b.op(
        "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor",
        Rule::Fresh(|c| {
            refuse_negative(c, "is_result", "alpha", NEGATIVE_ELU)?;
            over_operand(c)
        }),
    )
    .tags(Tags::ELEMENTWISE);
    b.op("hardswish_backward(Tensor grad_output, Tensor self) -> Tensor", Rule::Fresh(over_operand)).tags(Tags::ELEMENTWISE);
    b.op("hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor", Rule::Fresh(over_operand)).tags(Tags::ELEMENTWISE);
    b.op("logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor", Rule::Fresh(over_grad)).tags(Tags::POINTWISE);
    b.op("log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor", Rule::Fresh(over_grad)).tags(Tags::ELEMENTWISE);
    b.op(
        "_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)",
        Rule::Fresh(|c| {
            let spec = over_grad(c)?.pop().flatten();
            Ok(vec![spec.clone(), spec])
        }),
    );
    b.op(
        "glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor",
        Rule::Fresh(|c| {
            let spec = c.tensor("self")?.spec();
            for half in glu_spec(c)?.into_iter().flatten() {
                super::shapes::need_broadcast_to(&half.geometry.sizes, &[c.tensor("grad_output")?])?;
            }
            Ok(vec![Some(TensorSpec::contiguous(spec.geometry.sizes, spec.dtype, spec.device))])
        }),
    );
}

fn tanh_double(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "grad_output", || t!("tanh_backward", b.grad()?, conj(b.saved("output")?)?))?;
    grads.set(b, "output", || {
        let inner = t!("mul.Tensor", t!("mul.Scalar", conj(b.saved("output")?)?, -2)?, b.saved("grad_output")?)?;
        t!("mul.Tensor", conj(b.grad()?)?, inner)
    })?;
    Ok(grads)
}

fn sigmoid_double(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "grad_output", || t!("sigmoid_backward", b.grad()?, conj(b.saved("output")?)?))?;
    grads.set(b, "output", || {
        let slope = t!("add.Scalar", t!("mul.Scalar", conj(b.saved("output")?)?, -2)?, 1)?;
        t!("mul.Tensor", t!("mul.Tensor", conj(b.grad()?)?, b.saved("grad_output")?)?, slope)
    })?;
    Ok(grads)
}

/// Bounds that are numbers raise the dtype of an integer tensor, as in PyTorch.
fn clamp_spec(c: &Call) -> Specs {
    let values: Vec<&Value> = ["self", "min", "max"].iter().map(|n| c.get(n)).filter(|v| !v.is_none()).collect();
    if values.len() < 2 {
        return Err(Error::runtime("torch.clamp: At least one of 'min' or 'max' must not be None"));
    }
    if c.tensor("self")?.dtype().is_complex() {
        return Err(Error::not_implemented("clamp is not supported for complex types"));
    }
    let dtype = result_type(&values)?;
    if dtype.is_integral() && dtype != Dtype::Bool {
        let (low, high) = range_of_integers(dtype);
        let check = |name: &str, leaves_none: &dyn Fn(i64) -> bool| match c.get(name) {
            Value::Int(bound) if bound.as_int().is_some_and(leaves_none) => {
                let bound = bound.guard_int()?;
                let (shown, dtype) = in_words(bound as f64, bound.to_string(), dtype);
                Err(Error::runtime(format!("Clamp {name} value {shown} is outside the representable range of {dtype}")))
            }
            _ => Ok(()),
        };
        check("min", &|bound| bound > high)?;
        check("max", &|bound| bound < low)?;
    }
    one(&values, dtype)
}

/// A number and a dtype in an error message: of a kernel's written in C++, or of a fake tensor's in Python.
fn in_words(number: f64, in_python: String, dtype: Dtype) -> (String, String) {
    match dispatch::modes().fake {
        true => (in_python, format!("torch.{}", dtype.name())),
        false => (six_digits(number), dtype.scalar_type().to_owned()),
    }
}

/// Shrinks by a number that elements can hold.
fn softshrink_spec(c: &Call) -> Specs {
    let dtype = c.tensor("self")?.dtype();
    let most = match dtype {
        Dtype::Float16 => 65504.0,
        Dtype::BFloat16 => 3.3895313892515355e38,
        Dtype::Float32 => f32::MAX.into(),
        _ => f64::MAX,
    };
    if dtype.is_floating()
        && let Ok(lambd) = c.get("lambd").float()
        && !(0.0..=most).contains(&lambd)
    {
        let (most, name) = in_words(most, python_float(most), dtype);
        let (found, _) = in_words(lambd, python_float(lambd), dtype);
        return Err(Error::runtime(format!("lambda must be in range [0, {most}] for input dtype {name}, but found {found}")));
    }
    like_self(c)
}

/// The gradient where the operand lies strictly inside a bound, zero elsewhere.
fn inside(b: &Backward, bound: &str, compare: fn(&Tensor, &Value) -> Result<Tensor>) -> Result<Grads> {
    unary_grad(b, |g| {
        let zero = scalar_like(0.0, g)?;
        t!("where.self", compare(x(b)?, b.arg(bound))?, g, zero)
    })
}

fn above(x: &Tensor, bound: &Value) -> Result<Tensor> {
    t!("gt.Scalar", x, bound)
}

fn below(x: &Tensor, bound: &Value) -> Result<Tensor> {
    t!("lt.Scalar", x, bound)
}

fn clamp_backward(b: &Backward) -> Result<Grads> {
    match (b.arg("min").is_none(), b.arg("max").is_none()) {
        (false, true) => inside(b, "min", above),
        (true, false) => inside(b, "max", below),
        _ => unary_grad(b, |g| {
            let zero = scalar_like(0.0, g)?;
            let low = above(x(b)?, b.arg("min"))?;
            let high = below(x(b)?, b.arg("max"))?;
            t!("where.self", t!("logical_and_", low, high)?, g, zero)
        }),
    }
}

/// `masked_fill(where(self == other, grad / 2, grad), mask, 0)`: ties share the gradient.
pub(super) fn tied(grad: &Tensor, a: &Tensor, b: &Tensor, mask: Tensor) -> Result<Tensor> {
    let half = t!("div.Scalar", grad, 2)?;
    let shared = t!("where.self", t!("eq.Tensor", a, b)?, half, grad)?;
    zero_where(&shared, &mask)
}

fn register_clamps(b: &mut OpBuilder) {
    b.op("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", Rule::Fresh(clamp_spec))
        .doc("Elements limited to a range.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("ClampBackward1", &["self"], clamp_backward).inplace();
    b.op("clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", Rule::Fresh(clamp_spec)).tags(Tags::POINTWISE);
    b.grad("ClampBackward", &["self", "min", "max"], super::clamp_tensor::backward).inplace();
    b.op("clamp_min(Tensor self, Scalar min) -> Tensor", Rule::Fresh(clamp_spec))
        .doc("Elements limited from below.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("ClampMinBackward", &["self"], |b| inside(b, "min", above)).inplace();
    b.op("clamp_max(Tensor self, Scalar max) -> Tensor", Rule::Fresh(clamp_spec))
        .doc("Elements limited from above.")
        .auto_element_wise("self")
        .tags(Tags::POINTWISE);
    b.grad("ClampMaxBackward", &["self"], |b| inside(b, "max", below)).inplace();
    b.op("clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", Rule::Fresh(clamp_spec)).tags(Tags::POINTWISE);
    b.grad("ClampMinBackward1", &["self", "min"], |b| {
        let (x, m) = (x(b)?, b.saved("min")?);
        let mut grads = Grads::new(b);
        grads.set(b, "min", || tied_after(b.grad()?, x, m, || t!("gt.Tensor", x, m)))?;
        grads.set(b, "self", || tied_after(b.grad()?, x, m, || t!("lt.Tensor", x, m)))?;
        Ok(grads)
    });
    b.inplace();
    b.op("clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", Rule::Fresh(clamp_spec)).tags(Tags::POINTWISE);
    b.grad("ClampMaxBackward1", &["self", "max"], |b| {
        let (x, m) = (x(b)?, b.saved("max")?);
        let mut grads = Grads::new(b);
        grads.set(b, "max", || tied_after(b.grad()?, x, m, || t!("lt.Tensor", x, m)))?;
        grads.set(b, "self", || tied_after(b.grad()?, x, m, || t!("gt.Tensor", x, m)))?;
        Ok(grads)
    });
    b.inplace();
}

/// As [`tied`], with the mask computed first, as PyTorch's argument order has it.
pub(super) fn tied_after(grad: &Tensor, a: &Tensor, b: &Tensor, mask: impl FnOnce() -> Result<Tensor>) -> Result<Tensor> {
    let mask = mask()?;
    tied(grad, a, b, mask)
}

fn register_composites(b: &mut OpBuilder) {
    b.op("relu6(Tensor self) -> Tensor", Rule::Composite(|c| t!("hardtanh", c.get("self"), 0, 6).map(Value::from)))
        .doc("`x` limited to [0, 6].")
        .function()
        .refuses("b", "Bool inputs not supported for hardtanh")
        .tags(Tags::POINTWISE);
    b.op("relu6_(Tensor(a!) self) -> Tensor(a!)", Rule::Composite(|c| t!("hardtanh_", c.get("self"), 0, 6).map(Value::from))).function();
    // Of selu. Source: Klambauer and others.
    const ALPHA: f64 = 1.673_263_242_354_377_2;
    const SCALE: f64 = 1.050_700_987_355_480_5;
    b.op("selu(Tensor self) -> Tensor", Rule::Composite(|c| t!("elu", c.get("self"), ALPHA, SCALE).map(Value::from)))
        .doc("The scaled exponential linear unit.")
        .function()
        .tags(Tags::POINTWISE);
    b.op("selu_(Tensor(a!) self) -> Tensor(a!)", Rule::Composite(|c| t!("elu_", c.get("self"), ALPHA, SCALE).map(Value::from))).function();
    b.op(
        "log_sigmoid(Tensor self) -> Tensor",
        Rule::Composite(|c| Ok(aten!("log_sigmoid_forward", c.get("self"))?.list()?.first().cloned().unwrap_or_default())),
    )
    .doc("The logarithm of the sigmoid.")
    .function();
    b.op(
        "clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
        Rule::Composite(|c| aten!("clamp", c.get("self"), c.get("min"), c.get("max"))),
    )
    .doc("Elements limited to a range.")
    .tags(Tags::POINTWISE);
    b.op(
        "clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
        Rule::Composite(|c| aten!("clamp.Tensor", c.get("self"), c.get("min"), c.get("max"))),
    )
    .tags(Tags::POINTWISE);
    b.op(
        "clip_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)",
        Rule::Composite(|c| aten!("clamp_", c.get("self"), c.get("min"), c.get("max"))),
    );
    b.op("prelu(Tensor self, Tensor weight) -> Tensor", Rule::Composite(prelu))
        .doc("`x` where positive, else a learned fraction of it.")
        .autocast(CastPolicy::LowerPrecisionFp);
}

/// The weight of each channel, laid along dimension 1.
fn prelu(c: &Call) -> Result<Value> {
    let (x, weight) = (c.tensor("self")?, c.tensor("weight")?);
    if x.dtype() != weight.dtype() {
        return Err(Error::runtime(format!("prelu: Type promoting not supported. Got {} and {}", x.dtype().name(), weight.dtype().name())));
    }
    if weight.numel().sym_eq(1)? && weight.dim() == 0 {
        return aten!("_prelu_kernel", x, weight);
    }
    let n = x.dim();
    if !weight.numel().sym_eq(1)? {
        let channels = if n > 1 { x.size(1) } else { 1.into() };
        if n == 0 || !channels.sym_eq(weight.numel())? {
            return Err(Error::runtime(format!(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = {} and channel size = {channels}.",
                weight.numel()
            )));
        }
    }
    if weight.dim() == n {
        return aten!("_prelu_kernel", x, weight);
    }
    let mut sizes = vec![shape::SymInt::Int(1); n];
    if n > 1 {
        sizes[1] = weight.numel();
    }
    let dtype: Dtype = weight.dtype();
    debug_assert_eq!(dtype, x.dtype());
    aten!("_prelu_kernel", x, t!("view", weight, sizes)?)
}
