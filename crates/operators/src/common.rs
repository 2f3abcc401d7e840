//! What families share: specs of pointwise results and the pieces derivative formulas are written from.

use super::shapes::{default_dtype, pointwise, result_type};
use diagnostics::error::{Error, ErrorKind, Result};
use dispatch::t;
use dispatch::{Backward, Call, Grads, Value};
use tensor::{Dtype, Layout, MemoryFormat, Tensor, TensorSpec};

/// What a shape rule returns.
pub type Specs = Result<Vec<Option<TensorSpec>>>;

/// One pointwise result over the given values.
pub fn one(values: &[&Value], dtype: Dtype) -> Specs {
    Ok(vec![Some(pointwise(values, dtype)?)])
}

/// One pointwise result over all arguments, of `self`'s dtype.
pub fn like_self(c: &Call) -> Specs {
    one(&[c.get("self")], c.tensor("self")?.dtype())
}

/// Integers become the default dtype; floats stay.
pub fn to_float(dtype: Dtype) -> Dtype {
    if dtype.is_integral() { default_dtype() } else { dtype }
}

/// One pointwise float result over `self`.
pub fn float_self(c: &Call) -> Specs {
    one(&[c.get("self")], to_float(c.tensor("self")?.dtype()))
}

/// One pointwise bool result over `self`.
pub fn bool_self(c: &Call) -> Specs {
    one(&[c.get("self")], Dtype::Bool)
}

/// One result over the named arguments, of their promoted dtype.
pub fn promoted(c: &Call, names: &[&str]) -> Specs {
    let values: Vec<&Value> = names.iter().map(|n| c.get(n)).collect();
    one(&values, result_type(&values)?).map_err(|error| unfit(c, &values, error))
}

/// Specs of a pointwise operator that is traced as several calls, which meet the named operands in this order. Its kernel goes over all
/// operands at once, in the order of the arguments.
pub fn traced_in_order(c: &Call, mut specs: Vec<Option<TensorSpec>>, names: &[&str]) -> Specs {
    let tensors: Vec<&Tensor> = names.iter().filter_map(|n| c.get(n).as_tensor()).collect();
    if tensors.iter().any(|t| t.is_fake()) {
        for spec in specs.iter_mut().flatten() {
            spec.geometry.strides = super::shapes::traced_strides(&spec.geometry.sizes, &tensors)?;
        }
    }
    Ok(specs)
}

/// What is said where operands do not fit.
fn unfit(c: &Call, values: &[&Value], error: Error) -> Error {
    let tensors: Vec<&Tensor> = values.iter().filter_map(|v| v.as_tensor()).collect();
    if error.kind == ErrorKind::Runtime && tensors.iter().any(|t| t.is_fake()) {
        super::mismatch::of_two(c.entry, &tensors, error)
    } else {
        error
    }
}

/// One float result over the named arguments.
pub fn promoted_float(c: &Call, names: &[&str]) -> Specs {
    let values: Vec<&Value> = names.iter().map(|n| c.get(n)).collect();
    one(&values, to_float(result_type(&values)?)).map_err(|error| unfit(c, &values, error))
}

/// The one gradient of an operator of one input.
pub fn unary_grad(b: &Backward, formula: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Grads> {
    Grads::one(b, "self", || formula(b.grad()?))
}

/// `zeros_like(grad)`
pub fn zero_grad(b: &Backward) -> Result<Grads> {
    unary_grad(b, |g| t!("zeros_like", g))
}

/// `scalar_tensor(value, grad.options())`
pub fn scalar_like(value: impl Into<Value>, like: &Tensor) -> Result<Tensor> {
    let value: Value = value.into();
    t!("scalar_tensor", value; dtype = like.dtype(), layout = Value::Layout(Layout::Strided), device = like.device())
}

/// `number - tensor` as C++ writes it: a tensor of the number, from which the other is subtracted.
pub fn number_minus(number: impl Into<Value>, tensor: &Tensor) -> Result<Tensor> {
    let number: Value = number.into();
    let full = t!("fill_.Scalar", t!("empty_like", tensor; memory_format = MemoryFormat::Preserve)?, number)?;
    t!("sub_.Tensor", full, tensor)
}

/// `number / tensor` as C++ writes it.
pub fn number_over(number: impl Into<Value>, tensor: &Tensor) -> Result<Tensor> {
    let number: Value = number.into();
    let full = t!("fill_.Scalar", t!("empty_like", tensor; memory_format = MemoryFormat::Preserve)?, number)?;
    t!("div_.Tensor", full, tensor)
}

/// A number's conjugate, as a number.
pub fn conjugate_number(number: &Value) -> Value {
    match number {
        Value::Complex(re, im) => Value::Complex(*re, -im),
        other => other.clone(),
    }
}

/// A gradient of what was multiplied by a number: times its conjugate.
pub fn multiply_back(gradient: Tensor, number: &Value) -> Result<Tensor> {
    maybe_multiply(gradient, &conjugate_number(number))
}

/// `tensor * number`, left out where the number is one.
pub fn maybe_multiply(tensor: Tensor, number: &Value) -> Result<Tensor> {
    let one = match number {
        Value::Int(i) => i.as_int() == Some(1),
        Value::Float(f) => *f == 1.0,
        _ => false,
    };
    if one { Ok(tensor) } else { t!("mul.Scalar", tensor, number) }
}

/// The tensor with elements replaced by zero where the mask is true.
pub fn zero_where(tensor: &Tensor, mask: &Tensor) -> Result<Tensor> {
    t!("masked_fill.Scalar", tensor, mask, 0)
}

/// The dtype of sums: integers are summed in int64.
pub fn sum_dtype(dtype: Dtype) -> Dtype {
    if dtype.is_integral() { Dtype::Int64 } else { dtype }
}

/// What PyTorch says of a kernel that complex numbers have none of.
pub fn not_for_complex(kernel: &str, given: &Tensor) -> Error {
    Error::not_implemented(format!("\"{kernel}\" not implemented for '{}'", given.dtype().scalar_type()))
}
