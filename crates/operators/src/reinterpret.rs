//! Views that read the same bytes as another dtype: `view.dtype`, and complex numbers as pairs.

use super::geometry as geo;
use super::view_composites::contiguous;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Batch, Call, CastPolicy, Grads, OpBuilder, Rule, Tags, Value};
use shape::SymInt;
use tensor::{Dtype, Geometry};

fn wanted(call: &Call) -> Result<Dtype> {
    call.dtype("dtype")?.ok_or_else(|| Error::type_error("view(): argument 'dtype' must be torch.dtype, not None"))
}

fn as_dtype(call: &Call) -> Result<Vec<Geometry>> {
    let (tensor, to) = (call.tensor("self")?, wanted(call)?);
    let from = tensor.dtype();
    Ok(vec![geo::reinterpret(&tensor.geometry(), from.itemsize(), to.itemsize(), (from.scalar_type(), to.scalar_type()))?])
}

fn as_real(call: &Call) -> Result<Vec<Geometry>> {
    let tensor = call.tensor("self")?;
    if !tensor.dtype().is_complex() {
        return Err(Error::type_error("view_as_real is only supported for complex tensors"));
    }
    let mut g = (*tensor.geometry()).clone();
    g.strides.iter_mut().for_each(|s| *s = &*s * 2);
    g.offset = &g.offset * 2;
    g.sizes.push(SymInt::Int(2));
    g.strides.push(SymInt::Int(1));
    Ok(vec![g])
}

fn as_complex(call: &Call) -> Result<Vec<Geometry>> {
    let tensor = call.tensor("self")?;
    if !matches!(tensor.dtype(), Dtype::Float32 | Dtype::Float64) {
        return Err(Error::not_implemented(format!(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: {}",
            tensor.dtype().scalar_type()
        )));
    }
    let mut g = (*tensor.geometry()).clone();
    let (Some(size), Some(stride)) = (g.sizes.pop(), g.strides.pop()) else {
        return Err(Error::runtime("Input tensor must have one or more dimensions"));
    };
    if !size.sym_eq(2)? {
        return Err(Error::runtime("Tensor must have a last dimension of size 2"));
    }
    if !stride.sym_eq(1)? {
        return Err(Error::runtime("Tensor must have a last dimension with stride 1"));
    }
    let two = SymInt::Int(2);
    for s in &mut g.strides {
        if !s.modulo(&two)?.sym_eq(0)? {
            return Err(Error::runtime("Tensor must have a stride divisible by 2 for all but last dimension"));
        }
        *s = s.floor_div(&two)?;
    }
    if !g.offset.modulo(&two)?.sym_eq(0)? {
        return Err(Error::runtime("Tensor must have a storage_offset divisible by 2"));
    }
    g.offset = g.offset.floor_div(&two)?;
    Ok(vec![g])
}

/// One part of complex numbers. Of a conjugate, it is a part of what is conjugated, the imaginary one negated.
fn part(call: &Call, index: i64) -> Result<Value> {
    let x = call.tensor("self")?;
    let mut parts = if x.math_bits().conj { t!("view_as_real", t!("_conj", x)?)? } else { t!("view_as_real", x)? };
    if x.math_bits().conj && index == 1 {
        parts = t!("_neg_view", parts)?;
    }
    t!("select.int", parts, x.dim(), index).map(Value::from)
}

/// Registers views as other dtypes.
pub fn register(b: &mut OpBuilder) {
    b.op("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", Rule::View(as_dtype))
        .batch(Batch::Shifted)
        .reads_as(wanted)
        .not_differentiable();
    b.op("view_as_real(Tensor(a) self) -> Tensor(a)", Rule::View(as_real))
        .doc("Complex numbers as pairs of numbers.")
        .function()
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .reads_as(|c| Ok(c.tensor("self")?.dtype().to_real()))
        .grad("ViewAsRealBackward", &[], |b| Grads::one(b, "self", || t!("view_as_complex", contiguous(b.grad()?)?)));
    b.op("view_as_complex(Tensor(a) self) -> Tensor(a)", Rule::View(as_complex))
        .doc("Pairs of numbers as complex numbers.")
        .function()
        .autocast(CastPolicy::Fp32)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .reads_as(|c| Ok(c.tensor("self")?.dtype().to_complex()))
        .grad("ViewAsComplexBackward", &[], |b| Grads::one(b, "self", || t!("view_as_real", t!("resolve_conj", contiguous(b.grad()?)?)?)));
    b.op(
        "conj(Tensor(a) self) -> Tensor(a)",
        Rule::Composite(|c| {
            let x = c.tensor("self")?;
            if x.dtype().is_complex() {
                return t!("_conj", x).map(Value::from);
            }
            Ok(c.get("self").clone())
        }),
    )
    .doc("The complex conjugate.");
    b.op(
        "real(Tensor(a) self) -> Tensor(a)",
        Rule::Composite(|c| if c.tensor("self")?.dtype().is_complex() { part(c, 0) } else { Ok(c.get("self").clone()) }),
    )
    .doc("The real part.");
    b.op(
        "imag(Tensor(a) self) -> Tensor(a)",
        Rule::Composite(|c| {
            if !c.tensor("self")?.dtype().is_complex() {
                return Err(Error::type_error("imag is not implemented for tensors with non-complex dtypes."));
            }
            part(c, 1)
        }),
    )
    .doc("The imaginary part.");
}
