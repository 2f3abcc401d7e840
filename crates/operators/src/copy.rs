//! Copies, fills and conversions; views that only autograd tells from their base.

use super::common::*;
use super::factory::{converted, copy_strides, memory_format, number_dtype};
use diagnostics::error::{Error, Result};
use dispatch::{Batch, Call, Complex, Grads, OpBuilder, OpClasses, Rule, Tags, Value};
use dispatch::{aten, t};
use tensor::{Device, Layout, MemoryFormat, TensorSpec};

fn cloned(c: &Call) -> Specs {
    let x = c.tensor("self")?;
    let strides = copy_strides(x, memory_format(c, MemoryFormat::Preserve))?;
    Ok(vec![Some(TensorSpec::strided(x.sizes(), strides, x.dtype(), x.device()))])
}

/// As `cloned`; the source must broadcast to it.
fn copied(c: &Call) -> Specs {
    let (x, src) = (c.tensor("self")?, c.tensor("src")?);
    let sizes = super::shapes::broadcast_two(&x.sizes(), &src.sizes())?;
    let mut fits = sizes.len() == x.dim();
    for (a, b) in sizes.iter().zip(&x.sizes()) {
        fits = fits && a.sym_eq(b.clone())?;
    }
    if !fits {
        return Err(Error::runtime(format!("output with shape {:?} doesn't match the broadcast shape {sizes:?}", x.sizes())));
    }
    // The memory of `self`, as far as its elements do not overlap.
    let g = x.geometry();
    if g.strides.iter().zip(&g.sizes).any(|(stride, size)| stride.statically_eq(0) && !size.statically_eq(1)) {
        return cloned(c);
    }
    Ok(vec![Some(TensorSpec::strided(g.sizes.clone(), g.strides.clone(), x.dtype(), x.device()))])
}

fn filled(c: &Call) -> Specs {
    if let Value::Tensor(value) = c.get("value")
        && value.dim() != 0
    {
        return Err(Error::runtime(format!(
            "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
            value.dim()
        )));
    }
    // Like any pointwise result: strides of single elements are not those of the tensor.
    super::common::one(&[c.get("self")], c.tensor("self")?.dtype())
}

fn same_geometry(c: &Call) -> Result<Vec<tensor::Geometry>> {
    Ok(vec![(*c.tensor("self")?.geometry()).clone()])
}

/// `fill` under vmap, with an element per example.
fn fill_batched(c: &Call) -> Result<Value> {
    t!("copy", c.tensor("self")?, c.tensor("value")?).map(Value::from)
}

/// `fill_` under vmap, with an element per example.
fn fill_inplace_batched(c: &Call) -> Result<Value> {
    t!("copy_", c.tensor("self")?, c.tensor("value")?).map(Value::from)
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    let pass: fn(&dispatch::Backward) -> Result<Grads> = |b| Grads::one(b, "self", || b.grad().cloned());
    b.op("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", Rule::Fresh(cloned))
        .doc("A copy with a gradient back to the original.")
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD | Tags::CONJ_FALLTHROUGH | Tags::NEG_FALLTHROUGH | Tags::ZERO_FALLTHROUGH | Tags::POINTWISE | Tags::CORE);
    b.grad("CloneBackward", &[], pass);
    b.op("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", Rule::Fresh(copied))
        .doc("Elements of another tensor written into this one.")
        .function()
        .batch(Batch::Elementwise)
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD | Tags::CORE);
    b.grad("CopyBackwards", &[], copy_backward).inplace();
    b.at("copy_")
        .batch(Batch::Elementwise)
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD | Tags::CONJ_FALLTHROUGH | Tags::NEG_FALLTHROUGH);
    // What `out=` does with a result. Where writes are functional, the target's value is the result from now on.
    b.op("_copy_result_(Tensor(a!) self, Tensor result) -> Tensor(a!)", Rule::Inplace("copy"))
        .batch(Batch::ByItem)
        .complex(Complex::ByParts)
        .not_differentiable();
    // `input.data = source`: values, geometry and memory of the source, without a history.
    b.op("shallow_copy_data_(Tensor(a!) input, Tensor source) -> Tensor(a!)", Rule::Inplace("copy"))
        .batch(Batch::ByItem)
        .tags(Tags::CONJ_FALLTHROUGH | Tags::NEG_FALLTHROUGH)
        .not_differentiable();
    // What a leaf without a gradient gets in a backward that is compiled.
    b.op(
        "_first_gradient(Tensor variable, Tensor new_grad) -> Tensor",
        Rule::Composite(|c| autograd::in_layout_of(c.get("variable").tensor()?, c.get("new_grad").tensor()?).map(Value::from)),
    );
    b.op("fill.Scalar(Tensor self, Scalar value) -> Tensor", Rule::Fresh(filled))
        .doc("Every element set to a value.")
        .function()
        .batch(Batch::Elementwise)
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD | Tags::CORE)
        .grad("FillBackward", &[], zero_grad)
        .inplace();
    b.at("fill_.Scalar").complex(Complex::ByParts).grad("FillBackward2", &[], zero_grad);
    b.op("fill.Tensor(Tensor self, Tensor value) -> Tensor", Rule::Fresh(filled))
        .tags(Tags::COMPLEX_GRAD)
        .batch(Batch::Composed(fill_batched))
        .complex(Complex::ByParts)
        .grad("FillBackward1", &[], |b| {
            let mut grads = Grads::new(b);
            grads.set(b, "self", || t!("zeros_like", b.grad()?))?;
            grads.set(b, "value", || t!("sum", b.grad()?))?;
            Ok(grads)
        });
    b.inplace();
    b.at("fill_.Tensor").complex(Complex::ByParts).batch(Batch::Composed(fill_inplace_batched));
    b.op("zero(Tensor self) -> Tensor", Rule::Fresh(cloned))
        .doc("Every element set to zero.")
        .function()
        .batch(Batch::Elementwise)
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .grad("ZeroBackward", &[], zero_grad)
        .inplace();
    b.at("zero_").complex(Complex::ByParts);
    b.op("lift_fresh_copy(Tensor self) -> Tensor", Rule::Fresh(cloned))
        .tags(Tags::COMPLEX_GRAD)
        .classes(OpClasses::RECOMPUTABLE)
        .complex(Complex::ByParts)
        .grad("LiftFreshCopyBackward", &[], pass);
    b.op("lift(Tensor self) -> Tensor", Rule::Fresh(cloned))
        .tags(Tags::COMPLEX_GRAD)
        .function()
        .batch(Batch::Elementwise)
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .grad("LiftBackward", &[], pass);
    b.op("detach(Tensor(a) self) -> Tensor(a)", Rule::View(same_geometry))
        .doc("The tensor without history; it shares memory.")
        .batch(Batch::Elementwise)
        .tags(Tags::COMPLEX_GRAD)
        .not_differentiable();
    b.op("detach_(Tensor(a!) self) -> Tensor(a!)", Rule::InplaceView(|c| Ok((*c.tensor("self")?.geometry()).clone())))
        .batch(Batch::Elementwise)
        .not_differentiable();
    b.op("alias(Tensor(a) self) -> Tensor(a)", Rule::View(same_geometry))
        .function()
        .classes(OpClasses::VIEW)
        .batch(Batch::Elementwise)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD | Tags::CORE)
        .grad("AliasBackward", &[], pass);
    b.op("lift_fresh(Tensor(a) self) -> Tensor(a)", Rule::View(same_geometry))
        .function()
        .batch(Batch::Elementwise)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("LiftFreshBackward", &[], pass);
    b.op("detach_copy(Tensor self) -> Tensor", Rule::Fresh(cloned)).complex(Complex::ByParts).not_differentiable();
    b.op("alias_copy(Tensor self) -> Tensor", Rule::Fresh(cloned)).complex(Complex::ByParts).grad("AliasBackward0_copy", &[], pass);
    register_conversions(b);
}

fn copy_backward(b: &dispatch::Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "self", || t!("zeros_like", b.grad()?; memory_format = MemoryFormat::Contiguous))?;
    grads.set(b, "src", || {
        let (g, spec) = (b.grad()?, b.spec("src")?);
        t!("to.dtype_layout", g; dtype = spec.dtype, layout = Value::Layout(Layout::Strided), device = spec.device)
    })?;
    Ok(grads)
}

fn register_conversions(b: &mut OpBuilder) {
    b.op(
        "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
        Rule::Fresh(|c| match c.get("self") {
            Value::Tensor(x) => converted(c, x),
            // A number that is made a tensor of another dtype.
            number => {
                let dtype = c.dtype("dtype")?.unwrap_or(number_dtype(number));
                Ok(vec![Some(TensorSpec::contiguous(Vec::new(), dtype, Device::CPU))])
            }
        }),
    ).classes(OpClasses::RECOMPUTABLE).batch(Batch::Elementwise).complex(Complex::ByParts).auto_linear(&["self"]).tags(Tags::COMPLEX_GRAD);
    b.tags(Tags::CORE).grad("ToCopyBackward", &[], |b| {
        Grads::one(b, "self", || {
            let (spec, grad) = (b.spec("self")?, b.grad()?);
            let is_wider = grad.dtype().is_complex() && !spec.dtype.is_complex();
            let grad = if is_wider { t!("real", grad)? } else { grad.clone() };
            t!("to.dtype_layout", grad; dtype = spec.dtype, layout = Value::Layout(Layout::Strided), device = spec.device)
        })
    });
    b.op(
        "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
        Rule::Composite(|c| {
            if !c.get("dtype").is_none() {
                return convert(c, c.get("dtype"), c.get("layout"), c.get("device"));
            }
            // Python's `to()` without a dtype says all that the tensor has, and the device where one is given.
            let x = c.tensor("self")?;
            let device = if c.get("device").is_none() { x.device().into() } else { c.get("device").clone() };
            convert(c, &x.dtype().into(), &Value::Layout(Layout::Strided), &device)
        }),
    );
    b.op(
        "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
        Rule::Composite(|c| convert(c, c.get("dtype"), &Value::None, c.get("device"))),
    ).doc("The tensor with another dtype or device.").classes(OpClasses::RECOMPUTABLE);
    b.op(
        "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
        Rule::Composite(|c| convert(c, c.get("dtype"), &Value::None, &Value::None)),
    );
    b.op(
        "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
        Rule::Composite(|c| {
            let other = c.tensor("other")?;
            convert(c, &other.dtype().into(), &Value::None, &other.device().into())
        }),
    );
    b.op(
        "type_as(Tensor self, Tensor other) -> Tensor",
        Rule::Composite(|c| {
            let other = c.tensor("other")?;
            aten!("to.dtype_layout", c.get("self"); dtype = other.dtype(), layout = Value::Layout(Layout::Strided), device = other.device())
        }),
    )
    .doc("The tensor in another one's dtype.")
    .classes(OpClasses::RECOMPUTABLE);
    b.op(
        "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
        Rule::Composite(|c| {
            let x = c.tensor("self")?;
            let format = memory_format(c, MemoryFormat::Contiguous);
            if format == MemoryFormat::Preserve {
                return Err(Error::runtime("preserve memory format is unsupported by the contiguous operator"));
            }
            if format == MemoryFormat::Contiguous {
                dispatch::ask_contiguity(x)?;
            }
            if has_format(x, format)? { Ok(x.into()) } else { aten!("clone", x; memory_format = format) }
        }),
    )
    .doc("The same elements, lying in order.")
    .batch(Batch::Elementwise);
}

/// Whether a tensor already lies in a memory format.
pub fn has_format(x: &tensor::Tensor, format: MemoryFormat) -> Result<bool> {
    let g = x.geometry();
    let order = match format {
        MemoryFormat::Preserve => return Ok(true),
        MemoryFormat::Contiguous => return g.is_contiguous(),
        MemoryFormat::ChannelsLast | MemoryFormat::ChannelsLast3d => {
            let rank = if format == MemoryFormat::ChannelsLast { 4 } else { 5 };
            if g.sizes.len() != rank {
                return Ok(false);
            }
            super::factory::format_strides(&g.sizes, format)?
        }
    };
    for ((size, have), want) in g.sizes.iter().zip(&g.strides).zip(order) {
        if !size.sym_eq(1)? && !have.sym_eq(want)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The tensor itself where nothing would change, a copy otherwise.
fn convert(c: &Call, dtype: &Value, layout: &Value, device: &Value) -> Result<Value> {
    let x = c.tensor("self")?;
    let format = memory_format(c, MemoryFormat::Preserve);
    let same_dtype = dtype.dtype()?.is_none_or(|d| d == x.dtype());
    let same_device = device.device()?.is_none_or(|d| d.kind == x.device().kind && (d.index.is_none() || d.index == x.device().index));
    let same_format = format == MemoryFormat::Preserve || super::layout::suggested(x) == format;
    if same_dtype && same_device && !c.get("copy").bool().unwrap_or(false) && same_format {
        return Ok(x.into());
    }
    aten!(
        "_to_copy", x;
        dtype = dtype, layout = layout, device = device, non_blocking = c.get("non_blocking"), memory_format = c.get("memory_format")
    )
}
