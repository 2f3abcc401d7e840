//! Comparisons, logic, bits, selection by masks, and the operators that read a value out of a tensor.

use super::common::*;
use super::shapes::{broadcast_two, laid_out_by, pointwise, pointwise_strides, result_type};
use super::views::expanded_as_traced;
use diagnostics::error::{Error, Result};
use dispatch::{Batch, Call, Complex, Grads, OpBuilder, OpClasses, Rule, Tags, Value};
use dispatch::{aten, t};
use tensor::{Dtype, Layout, Tensor, TensorSpec};

/// As [`bools`]; traced, what is not bool is compared with zero first.
fn truths(c: &Call) -> Specs {
    let mut specs = bools(c)?;
    let (x, y) = (c.tensor("self")?, c.tensor("other")?);
    if x.is_fake() || y.is_fake() {
        for spec in specs.iter_mut().flatten() {
            let sizes = &spec.geometry.sizes;
            let truth = |t: &Tensor| if t.dtype() == Dtype::Bool { Ok(t.clone()) } else { laid_out_by(sizes, &[t]) };
            spec.geometry.strides = pointwise_strides(sizes, &[&truth(x)?, &truth(y)?])?;
        }
    }
    Ok(specs)
}

fn bools(c: &Call) -> Specs {
    one(&[c.get("self"), c.get("other")], Dtype::Bool)
}

fn bits(c: &Call) -> Specs {
    let specs = promoted(c, &["self", "other"])?;
    match &specs[0] {
        Some(s) if !s.dtype.is_integral() => Err(diagnostics::error::Error::not_implemented(format!(
            "\"{}_cpu\" not implemented for '{}'",
            c.entry.base_name().trim_matches('_'),
            s.dtype.scalar_type()
        ))),
        _ => Ok(specs),
    }
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    for (name, long) in [("eq", ""), ("ne", "not_equal"), ("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")]
    {
        for (overload, ty) in [("Tensor", "Tensor"), ("Scalar", "Scalar")] {
            b.op(&format!("{name}.{overload}(Tensor self, {ty} other) -> Tensor"), Rule::Fresh(bools));
            b.tags(Tags::POINTWISE | Tags::CORE).not_differentiable().inplace();
            if !long.is_empty() {
                b.op(&format!("{long}.{overload}(Tensor self, {ty} other) -> Tensor"), Rule::Composite(long_name));
            }
        }
    }
    b.at("eq.Scalar").doc("Whether elements are equal.");
    b.at("ge.Scalar").doc("`self >= other`.").refuses("+c", "ge_cpu");
    b.at("greater.Scalar").doc("`self > other`.");
    b.at("greater_equal.Scalar").doc("`self >= other`.");
    b.at("gt.Scalar").doc("`self > other`.").refuses("+c", "gt_cpu");
    b.at("le.Scalar").doc("`self <= other`.").refuses("+c", "le_cpu");
    b.at("less.Scalar").doc("`self < other`.");
    b.at("less_equal.Scalar").doc("`self <= other`.");
    b.at("lt.Scalar").doc("`self < other`.").refuses("+c", "lt_cpu");
    b.at("ne.Scalar").doc("Whether elements differ.");
    b.at("not_equal.Scalar").doc("Whether elements differ.");
    for name in ["logical_and", "logical_or", "logical_xor"] {
        b.op(&format!("{name}(Tensor self, Tensor other) -> Tensor"), Rule::Fresh(truths));
        b.tags(Tags::POINTWISE | Tags::CORE).not_differentiable().inplace();
    }
    b.at("logical_and").doc("And.");
    b.at("logical_or").doc("Or.");
    b.at("logical_xor").doc("Exclusive or.");
    for (name, dunder) in [("bitwise_and", "__and__"), ("bitwise_or", "__or__"), ("bitwise_xor", "__xor__")] {
        for (overload, ty) in [("Tensor", "Tensor"), ("Scalar", "Scalar")] {
            b.op(&format!("{name}.{overload}(Tensor self, {ty} other) -> Tensor"), Rule::Fresh(bits));
            b.tags(Tags::POINTWISE | Tags::CORE).not_differentiable().inplace();
            b.op(&format!("{dunder}.{overload}(Tensor self, {ty} other) -> Tensor"), Rule::Composite(long_name));
        }
        b.op(&format!("{name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"), Rule::Fresh(bits))
            .tags(Tags::POINTWISE)
            .not_differentiable();
    }
    b.at("bitwise_and.Scalar").doc("And, bit by bit.");
    b.at("bitwise_or.Scalar").doc("Or, bit by bit.");
    b.at("bitwise_xor.Scalar").doc("Exclusive or, bit by bit.");
    b.at("__and__.Scalar").classes(OpClasses::RECOMPUTABLE);
    b.at("__or__.Scalar").classes(OpClasses::RECOMPUTABLE);
    b.at("__xor__.Tensor").tags(Tags::POINTWISE);
    b.at("__xor__.Scalar").tags(Tags::POINTWISE);
    for (name, dunder) in [("bitwise_left_shift", "__lshift__"), ("bitwise_right_shift", "__rshift__")] {
        for (overload, plain, ty) in [("Tensor", "Tensor", "Tensor"), ("Tensor_Scalar", "Scalar", "Scalar")] {
            b.op(&format!("{name}.{overload}(Tensor self, {ty} other) -> Tensor"), Rule::Fresh(bits));
            b.tags(Tags::POINTWISE).not_differentiable().inplace();
            b.op(&format!("{dunder}.{plain}(Tensor self, {ty} other) -> Tensor"), Rule::Fresh(bits));
            b.tags(Tags::POINTWISE).not_differentiable().inplace();
        }
        b.op(&format!("{name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"), Rule::Fresh(bits))
            .tags(Tags::POINTWISE)
            .not_differentiable();
    }
    b.at("bitwise_left_shift.Scalar_Tensor").doc("Bits moved to the left.").refuses("bh", "lshift_cpu");
    b.at("bitwise_right_shift.Scalar_Tensor").doc("Bits moved to the right.").refuses("bh", "rshift_cpu");
    register_selection(b);
    register_values(b);
}

/// `not_equal`, `__and__` and their like: the operator of the short name.
fn long_name(c: &Call) -> Result<Value> {
    let short = match c.entry.base_name() {
        "not_equal" => "ne",
        "less" => "lt",
        "less_equal" => "le",
        "greater" => "gt",
        "greater_equal" => "ge",
        "__and__" => "bitwise_and",
        "__or__" => "bitwise_or",
        _ => "bitwise_xor",
    };
    let target = dispatch::op(&format!("{short}.{}", c.entry.schema.overload));
    let target = target.ok_or_else(|| Error::not_implemented(format!("{} has no {short}", c.entry.name)))?;
    dispatch::call(target, c.args.to_vec())
}

fn where_spec(c: &Call) -> Specs {
    let condition = c.tensor("condition")?;
    if !matches!(condition.dtype(), Dtype::Bool | Dtype::UInt8) {
        return Err(Error::runtime(format!(
            "where expected condition to be a boolean tensor, but got a tensor with dtype {}",
            condition.dtype().scalar_type()
        )));
    }
    let dtype = result_type(&[c.get("self"), c.get("other")])?;
    let operands = [c.get("condition"), c.get("self"), c.get("other")];
    let spec = pointwise(&operands, dtype)?;
    let sizes = &spec.geometry.sizes;
    let gains_ones = |t: &Tensor| t.is_fake() && sizes[..sizes.len() - t.dim()].iter().any(|s| s.statically_eq(1));
    if !operands.iter().any(|v| v.as_tensor().is_some_and(gains_ones)) {
        return Ok(vec![Some(spec)]);
    }
    // Tracing expands what it selects from first: dimensions of size one have a place among the others then.
    let expand = |v: &&Value| v.as_tensor().map_or(Ok((*v).clone()), |t| expanded_as_traced(t, sizes).map(Value::Tensor));
    let expanded = operands.iter().map(expand).collect::<Result<Vec<_>>>()?;
    Ok(vec![Some(pointwise(&expanded.iter().collect::<Vec<_>>(), dtype)?)])
}

/// A number as a tensor of the dtype that both branches promote to, on the other branch's device.
fn branch(number: &Value, like: &Tensor, dtype: Dtype) -> Result<Tensor> {
    t!("scalar_tensor", number; dtype = dtype, layout = Value::Layout(Layout::Strided), device = like.device())
}

/// The selected elements of the gradient, zero elsewhere.
fn masked_spec(c: &Call) -> Specs {
    let mask = c.tensor("mask")?;
    if mask.dtype() != Dtype::Bool {
        return Err(Error::runtime(format!(
            "masked_fill_ only supports boolean masks, but got mask with dtype {}",
            super::matrix::cpp_name(mask.dtype())
        )));
    }
    if let Value::Tensor(value) = c.get("value")
        && value.dim() != 0
    {
        return Err(Error::runtime(format!(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
            value.dim()
        )));
    }
    let x = c.tensor("self")?;
    let value = c.get("value");
    let fits = match value {
        Value::Complex(_, im) => x.dtype().is_complex() || *im == 0.0,
        Value::Float(f) if x.dtype().is_integral() && x.dtype() != Dtype::Bool => {
            let end = 2f64.powi(8 * x.dtype().itemsize() as i32 - i32::from(x.dtype() != Dtype::UInt8));
            f.abs() < end
        }
        _ => true,
    };
    if !fits {
        return Err(Error::runtime(format!("value cannot be converted to type {} without overflow", x.dtype().c_name())));
    }
    let sizes = broadcast_two(&x.sizes(), &mask.sizes())?;
    Ok(vec![Some(TensorSpec::contiguous(sizes, x.dtype(), x.device()))])
}

fn register_selection(b: &mut OpBuilder) {
    b.op("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", Rule::Fresh(where_spec))
        .complex(Complex::ByParts)
        .tags(Tags::POINTWISE | Tags::CORE);
    b.grad("WhereBackward", &["condition"], |b| {
        let condition = b.saved("condition")?;
        let mut grads = Grads::new(b);
        grads.set(b, "other", || t!("where.ScalarSelf", condition, 0, b.grad()?))?;
        grads.set(b, "self", || t!("where.ScalarOther", condition, b.grad()?, 0))?;
        Ok(grads)
    });
    b.op(
        "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
        Rule::Composite(|c| {
            let other = c.tensor("other")?;
            let number = branch(c.get("self"), other, result_type(&[c.get("self"), c.get("other")])?)?;
            aten!("where.self", c.get("condition"), number, other)
        }),
    );
    b.op(
        "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
        Rule::Composite(|c| {
            let x = c.tensor("self")?;
            let number = branch(c.get("other"), x, result_type(&[c.get("self"), c.get("other")])?)?;
            aten!("where.self", c.get("condition"), x, number)
        }),
    );
    b.op(
        "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
        Rule::Composite(|c| {
            let condition = c.tensor("condition")?;
            let dtype = result_type(&[c.get("self"), c.get("other")])?;
            let other = branch(c.get("other"), condition, dtype)?;
            let x = branch(c.get("self"), condition, dtype)?;
            aten!("where.self", condition, x, other)
        }),
    );
    b.op("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", Rule::Fresh(masked_spec))
        .doc("Elements replaced where a mask is true.")
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD | Tags::POINTWISE);
    b.grad("MaskedFillBackward", &["mask"], |b| unary_grad(b, |g| t!("masked_fill.Scalar", g, b.saved("mask")?, 0))).inplace();
    b.op("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", Rule::Fresh(masked_spec))
        .tags(Tags::COMPLEX_GRAD)
        .batch(Batch::Rule(super::batch_rules::masked_fill))
        .complex(Complex::ByParts)
        .tags(Tags::ELEMENTWISE);
    b.grad("MaskedFillBackward1", &["mask"], |b| {
        let mask = b.saved("mask")?;
        let mut grads = Grads::new(b);
        grads.set(b, "self", || t!("masked_fill.Scalar", b.grad()?, mask, 0))?;
        grads.set(b, "value", || t!("sum", t!("where.ScalarOther", mask, b.grad()?, 0)?))?;
        Ok(grads)
    });
    b.inplace();
    b.at("masked_fill_.Tensor").batch(Batch::Rule(super::batch_rules::masked_fill));
}

fn register_values(b: &mut OpBuilder) {
    b.op(
        "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
        Rule::Composite(isclose),
    )
    .doc("Whether elements are equal up to tolerances.");
    b.op("allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool", Rule::Data)
        .doc("Whether two tensors are equal up to tolerances.");
    b.tags(Tags::DATA_DEPENDENT);
    b.op("equal(Tensor self, Tensor other) -> bool", Rule::Data)
        .doc("Whether two tensors have the same sizes and elements.")
        .tags(Tags::POINTWISE | Tags::DATA_DEPENDENT);
    b.op("_local_scalar_dense(Tensor self) -> Scalar", Rule::Data).tags(Tags::DATA_DEPENDENT);
    b.op(
        "item(Tensor self) -> Scalar",
        Rule::Composite(|c| {
            let x = c.tensor("self")?;
            if !x.numel().sym_eq(1)? {
                return Err(Error::runtime(format!("a Tensor with {} elements cannot be converted to Scalar", x.numel())));
            }
            aten!("_local_scalar_dense", x)
        }),
    )
    .doc("The one element as a Python number.");
    b.tags(Tags::DATA_DEPENDENT);
    b.op(
        "is_nonzero(Tensor self) -> bool",
        Rule::Composite(|c| {
            let x = c.tensor("self")?;
            if x.numel().sym_eq(0)? {
                return Err(Error::runtime("Boolean value of Tensor with no values is ambiguous"));
            }
            if !x.numel().sym_eq(1)? {
                return Err(Error::runtime("Boolean value of Tensor with more than one value is ambiguous"));
            }
            Ok(Value::Bool(match aten!("item", x)? {
                Value::Bool(v) => v,
                Value::Int(v) => v.guard_int()? != 0,
                other => other.float()? != 0.0,
            }))
        }),
    )
    .doc("Whether the one element is not zero.");
}

/// Near in the sense of `|a - b| <= atol + rtol * |b|`, written as PyTorch writes it.
fn isclose(c: &Call) -> Result<Value> {
    let (x, y) = (c.tensor("self")?, c.tensor("other")?);
    if x.dtype() != y.dtype() {
        return Err(Error::runtime(format!("{} did not match {}", x.dtype().scalar_type(), y.dtype().scalar_type())));
    }
    let (rtol, atol) = (c.float("rtol")?, c.float("atol")?);
    if rtol < 0.0 {
        return Err(Error::runtime(format!("rtol must be greater than or equal to zero, but got {rtol}")));
    }
    if atol < 0.0 {
        return Err(Error::runtime(format!("atol must be greater than or equal to zero, but got {atol}")));
    }
    let mut close = t!("eq.Tensor", x, y)?;
    if x.dtype().is_floating() && c.bool("equal_nan")? {
        let nan = t!("isnan", x)?;
        let both = t!("bitwise_and.Tensor", nan, t!("isnan", y)?)?;
        close = t!("bitwise_or_.Tensor", close, both)?;
    }
    if rtol == 0.0 && atol == 0.0 {
        return Ok(close.into());
    }
    let (x, y) = if x.dtype().is_integral() {
        let default = super::shapes::default_dtype();
        (t!("to.dtype", x, default)?, t!("to.dtype", y, default)?)
    } else {
        (x.clone(), y.clone())
    };
    let allowed = t!("add.Scalar", t!("abs", t!("mul.Scalar", &y, rtol)?)?, atol)?;
    let error = t!("abs", t!("sub.Tensor", x, y)?)?;
    let finite = t!("isfinite", &error)?;
    let near = t!("bitwise_and_.Tensor", finite, t!("le.Tensor", error, allowed)?)?;
    aten!("bitwise_or_.Tensor", close, near)
}
