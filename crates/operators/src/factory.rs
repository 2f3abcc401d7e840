//! Operators that make tensors: from sizes, from numbers, and like another tensor.

use super::common::*;
use super::shapes::{default_dtype, pointwise_strides};
use diagnostics::error::{Error, Result};
use dispatch::{Batch, Call, Complex, OpBuilder, OpClasses, Rule, Tags, Value};
use shape::{Relation, SymInt};
use tensor::{Device, Dtype, Geometry, MemoryFormat, Tensor, TensorSpec};

const OPTIONS: &str = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";
const LONG_OPTIONS: &str = "ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None";

fn device(c: &Call) -> Result<Device> {
    Ok(c.get("device").device()?.unwrap_or(Device::CPU))
}

fn made(c: &Call, sizes: Vec<SymInt>, dtype: Dtype) -> Specs {
    for size in &sizes {
        if size.hint().is_some_and(|n| n < 0) {
            return Err(Error::runtime(match c.entry.base_name() {
                "zeros" => "zeros: Dimension size must be non-negative.".to_owned(),
                "eye" => format!("n must be greater or equal to 0, got {size}"),
                _ => format!("Trying to create tensor with negative dimension {size}: {sizes:?}"),
            }));
        }
    }
    Ok(vec![Some(TensorSpec::contiguous(sizes, c.dtype("dtype")?.unwrap_or(dtype), device(c)?))])
}

/// Of the `size` argument and the default dtype.
pub(super) fn sized(c: &Call) -> Specs {
    made(c, c.sym_ints("size")?, default_dtype())
}

/// The dtype a Python number makes.
pub(super) fn number_dtype(v: &Value) -> Dtype {
    match v {
        Value::Bool(_) => Dtype::Bool,
        Value::Int(_) => Dtype::Int64,
        Value::Complex(..) => default_dtype().to_complex(),
        other if other.condition().is_some() => Dtype::Bool,
        _ => default_dtype(),
    }
}

/// Strides in the order that a memory format asks for.
pub fn format_strides(sizes: &[SymInt], format: MemoryFormat) -> Result<Vec<SymInt>> {
    let order: &[usize] = match (format, sizes.len()) {
        (MemoryFormat::ChannelsLast, 4) => &[1, 3, 2, 0],
        (MemoryFormat::ChannelsLast3d, 5) => &[1, 4, 3, 2, 0],
        (MemoryFormat::ChannelsLast, _) => return Err(Error::runtime("required rank 4 tensor to use channels_last format")),
        (MemoryFormat::ChannelsLast3d, _) => return Err(Error::runtime("required rank 5 tensor to use channels_last_3d format")),
        _ => return Ok(tensor::contiguous_strides(sizes)),
    };
    let mut strides = vec![SymInt::Int(1); sizes.len()];
    let mut next = SymInt::Int(1);
    for d in order {
        strides[*d] = next.clone();
        next = &next * &sizes[*d].max(&SymInt::Int(1));
    }
    Ok(strides)
}

/// Whether elements lie densely in some order of the dimensions.
pub fn is_dense(g: &Geometry) -> Result<bool> {
    if g.is_contiguous()? {
        return Ok(true);
    }
    let mut dims: Vec<usize> = (0..g.sizes.len()).filter(|d| g.sizes[*d].hint() != Some(1)).collect();
    dims.sort_by_key(|d| g.strides[*d].hint());
    let mut expected = SymInt::Int(1);
    for d in dims {
        if !g.strides[d].sym_eq(expected.clone())? {
            return Ok(false);
        }
        expected = &expected * &g.sizes[d];
    }
    Ok(true)
}

/// The geometry of a copy in a memory format; `None` preserves the order of the dimensions.
pub fn copy_strides(x: &Tensor, format: MemoryFormat) -> Result<Vec<SymInt>> {
    let g = x.geometry();
    match format {
        MemoryFormat::Preserve if is_dense(&g)? => Ok(g.strides.clone()),
        MemoryFormat::Preserve => pointwise_strides(&g.sizes, &[x]),
        other => format_strides(&g.sizes, other),
    }
}

/// A memory format argument, or the one given.
pub(super) fn memory_format(c: &Call, or: MemoryFormat) -> MemoryFormat {
    match c.get("memory_format") {
        Value::MemoryFormat(m) => *m,
        _ => or,
    }
}

/// Of `self`'s sizes and order, with dtype and device unless given.
pub(super) fn like(c: &Call) -> Specs {
    let x = c.tensor("self")?;
    match memory_format(c, MemoryFormat::Preserve) {
        // Of a dimension of one element a fake tensor does not keep the stride.
        MemoryFormat::Preserve if x.is_fake() => with_strides(c, x, pointwise_strides(&x.sizes(), &[x])?),
        _ => converted(c, x),
    }
}

/// What a conversion of `x` gives: its sizes and strides, with dtype and device unless given.
pub(super) fn converted(c: &Call, x: &Tensor) -> Specs {
    with_strides(c, x, copy_strides(x, memory_format(c, MemoryFormat::Preserve))?)
}

fn with_strides(c: &Call, x: &Tensor, strides: Vec<SymInt>) -> Specs {
    let dtype = c.dtype("dtype")?.unwrap_or(x.dtype());
    Ok(vec![Some(TensorSpec::strided(x.sizes(), strides, dtype, c.get("device").device()?.unwrap_or(x.device())))])
}

/// Of the `size` argument, with `self`'s dtype and device unless given.
fn new(c: &Call) -> Specs {
    let x = c.tensor("self")?;
    let dtype = c.dtype("dtype")?.unwrap_or(x.dtype());
    Ok(vec![Some(TensorSpec::contiguous(c.sym_ints("size")?, dtype, c.get("device").device()?.unwrap_or(x.device())))])
}

fn strided(c: &Call) -> Specs {
    let (dtype, place) = match c.opt_tensor("self") {
        Some(x) => (x.dtype(), c.get("device").device()?.unwrap_or(x.device())),
        None => (default_dtype(), device(c)?),
    };
    let dtype = c.dtype("dtype")?.unwrap_or(dtype);
    let (sizes, strides) = (c.sym_ints("size")?, c.sym_ints("stride")?);
    if sizes.len() != strides.len() {
        return Err(Error::runtime(format!(
            "dimensionality of sizes ({}) must match dimensionality of strides ({})",
            sizes.len(),
            strides.len()
        )));
    }
    if strides.iter().any(|s| s.as_int().is_some_and(|s| s < 0)) && !sizes.iter().any(|s| s.as_int() == Some(0)) {
        return Err(Error::runtime(format!("Storage size calculation overflowed with sizes={sizes:?} and strides={strides:?}")));
    }
    Ok(vec![Some(TensorSpec::strided(sizes, strides, dtype, place))])
}

fn arange(c: &Call) -> Specs {
    let zero = Value::from(0);
    let one = Value::from(1);
    let or = |name: &str, default: Value| if c.get(name).is_none() { default } else { c.get(name).clone() };
    let (start, end, step) = (or("start", zero), c.get("end").clone(), or("step", one));
    let integral = [&start, &end, &step].iter().all(|v| matches!(v, Value::Int(_) | Value::Bool(_)));
    let dtype = c.dtype("dtype")?.unwrap_or(if integral { Dtype::Int64 } else { default_dtype() });
    if integral && matches!((&start, &step), (Value::Int(s), Value::Int(k)) if s.as_int() == Some(0) && k.as_int() == Some(1)) {
        return made(c, vec![end.sym_int()?], dtype);
    }
    if let (true, Value::Int(start), Value::Int(end), Value::Int(step)) = (integral, &start, &end, &step)
        && (start.as_int().is_none() || end.as_int().is_none())
        && let Some(step) = step.as_int().filter(|step| *step != 0)
        && end.compare(if step > 0 { Relation::Ge } else { Relation::Le }, start)?
    {
        return made(c, vec![(&(end - start) + (step - step.signum())).floor_div(&step.into())?], dtype);
    }
    let (start, end, step) = (start.float()?, end.float()?, step.float()?);
    if step == 0.0 {
        return Err(Error::runtime("step must be nonzero"));
    }
    if (step > 0.0) != (end >= start) && end != start {
        return Err(Error::runtime("upper bound and lower bound inconsistent with step sign"));
    }
    if !start.is_finite() || !end.is_finite() {
        return Err(Error::runtime(format!("unsupported range: {start} -> {end}")));
    }
    made(c, vec![SymInt::Int(((end - start) / step).ceil() as i64)], dtype)
}

fn spaced(c: &Call) -> Specs {
    let steps = c.int("steps")?;
    if steps < 0 {
        return Err(Error::runtime("number of steps must be non-negative"));
    }
    let complex = |name: &str| matches!(c.get(name), Value::Complex(..));
    let dtype = if complex("start") || complex("end") { default_dtype().to_complex() } else { default_dtype() };
    made(c, vec![steps.into()], dtype)
}

fn eye(c: &Call) -> Specs {
    let n = c.sym_int("n")?;
    let m = if c.get("m").is_none() { n.clone() } else { c.sym_int("m")? };
    made(c, vec![n, m], default_dtype())
}

/// How many entries lie on or below a diagonal.
pub fn tril_count(rows: i64, cols: i64, offset: i64) -> i128 {
    let (rows, cols, offset) = (i128::from(rows), i128::from(cols), i128::from(offset));
    // Rows before the first that has any, those that grow by one element each, and those that have all.
    let first = (-offset).clamp(0, rows);
    let full = (cols - offset - 1).clamp(first, rows);
    let growing = full - first;
    growing * (first + offset + 1) + growing * (growing - 1) / 2 + (rows - full) * cols
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    register_sized(b);
    register_like(b);
    register_ranges(b);
    b.op("_assert_async(Tensor self) -> ()", Rule::Fresh(|_| Ok(vec![])));
    b.op("_assert_async.msg(Tensor self, str assert_msg) -> ()", Rule::Fresh(|_| Ok(vec![])));
    b.op(
        "_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
        Rule::Fresh(|c| check_metadata(c).map(|()| vec![])),
    );
}

/// Whether a tensor looks as it is said to.
///
/// # Errors
///
/// Where it does not.
pub fn check_metadata(c: &Call) -> Result<()> {
    let t = c.tensor("a")?;
    for (name, own) in [("size", t.sizes()), ("stride", t.geometry().strides.clone())] {
        if c.get(name).is_none() {
            continue;
        }
        let wanted = c.sym_ints(name)?;
        if wanted.len() != own.len()
            || !wanted.iter().zip(&own).map(|(a, b)| a.sym_eq(b.clone())).collect::<Result<Vec<_>>>()?.into_iter().all(|b| b)
        {
            let listed = |sizes: &[SymInt]| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(Error::runtime(format!("Tensor {name}s mismatch! Expected: [{}], Got: [{}]", listed(&wanted), listed(&own))));
        }
    }
    if let Some(dtype) = c.dtype("dtype")?.filter(|dtype| *dtype != t.dtype()) {
        return Err(Error::runtime(format!("Tensor dtype mismatch! Expected: {}, Got: {}", scalar_type(dtype), type_in_c(t.dtype()))));
    }
    match c.get("device") {
        Value::Device(device) if device.kind != t.device().kind => {
            Err(Error::runtime(format!("Tensor device mismatch! Expected: {device}, Got: {}", t.device())))
        }
        _ => Ok(()),
    }
}

/// What PyTorch's C++ calls a dtype.
fn scalar_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Float32 => "Float",
        Dtype::Float64 => "Double",
        Dtype::Float16 => "Half",
        Dtype::BFloat16 => "BFloat16",
        Dtype::Int64 => "Long",
        Dtype::Int32 => "Int",
        Dtype::Int16 => "Short",
        Dtype::Int8 => "Char",
        Dtype::UInt8 => "Byte",
        Dtype::Bool => "Bool",
        other => other.name(),
    }
}

/// What C++ calls the elements.
fn type_in_c(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Float32 => "float",
        Dtype::Float64 => "double",
        Dtype::Float16 => "c10::Half",
        Dtype::BFloat16 => "c10::BFloat16",
        Dtype::Int64 => "long int",
        Dtype::Int32 => "int",
        Dtype::Int16 => "short int",
        Dtype::Int8 => "signed char",
        Dtype::UInt8 => "unsigned char",
        Dtype::Bool => "bool",
        other => other.name(),
    }
}

fn register_sized(b: &mut OpBuilder) {
    b.op(
        &format!("empty.memory_format(SymInt[] size, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor"),
        Rule::Fresh(|c| {
            let mut specs = sized(c)?;
            if let Some(spec) = &mut specs[0] {
                spec.geometry.strides = format_strides(&spec.geometry.sizes, memory_format(c, MemoryFormat::Contiguous))?;
            }
            Ok(specs)
        }),
    )
    .doc("A tensor whose elements are not set.")
    .classes(OpClasses::RECOMPUTABLE | OpClasses::NEVER_MERGED)
    .complex(Complex::ByParts);
    b.tags(Tags::FACTORY | Tags::CORE);
    for name in ["zeros", "ones", "_efficientzerotensor"] {
        b.op(&format!("{name}(SymInt[] size, *, {OPTIONS}) -> Tensor"), Rule::Fresh(sized)).tags(Tags::FACTORY);
    }
    b.at("ones").doc("Ones.").classes(OpClasses::RECOMPUTABLE).complex(Complex::RealPart);
    b.at("zeros").doc("Zeros.").classes(OpClasses::RECOMPUTABLE).complex(Complex::ByParts);
    b.at("_efficientzerotensor").complex(Complex::ByParts);
    b.op(
        &format!("full(SymInt[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor"),
        Rule::Fresh(|c| made(c, c.sym_ints("size")?, number_dtype(c.get("fill_value")))),
    )
    .doc("A tensor of one value.")
    .classes(OpClasses::RECOMPUTABLE)
    .complex(Complex::ByParts);
    b.tags(Tags::FACTORY | Tags::CORE);
    b.op(&format!("scalar_tensor(Scalar s, *, {OPTIONS}) -> Tensor"), Rule::Fresh(|c| made(c, vec![], default_dtype())))
        .doc("A tensor of one number.")
        .classes(OpClasses::RECOMPUTABLE)
        .complex(Complex::ByParts);
    b.tags(Tags::FACTORY | Tags::CORE);
    b.op(&format!("empty_strided(SymInt[] size, SymInt[] stride, *, {OPTIONS}) -> Tensor"), Rule::Fresh(strided))
        .doc("A tensor of given strides, whose elements are not set.")
        .complex(Complex::ByParts)
        .tags(Tags::FACTORY);
    b.op(&format!("eye(SymInt n, *, {OPTIONS}) -> Tensor"), Rule::Fresh(eye))
        .doc("The identity matrix.")
        .complex(Complex::RealPart)
        .tags(Tags::FACTORY);
    b.op(&format!("eye.m(SymInt n, SymInt m, *, {OPTIONS}) -> Tensor"), Rule::Fresh(eye)).complex(Complex::RealPart).tags(Tags::FACTORY);
}

fn register_like(b: &mut OpBuilder) {
    for name in ["empty_like", "zeros_like", "ones_like"] {
        b.op(&format!("{name}(Tensor self, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor"), Rule::Fresh(like))
            .function()
            .batch(Batch::Elementwise)
            .not_differentiable();
    }
    b.at("empty_like")
        .doc("A tensor like another, whose elements are not set.")
        .classes(OpClasses::RECOMPUTABLE)
        .complex(Complex::ByParts)
        .tags(Tags::CONJ_FALLTHROUGH | Tags::NEG_FALLTHROUGH | Tags::ZERO_FALLTHROUGH);
    b.at("ones_like").doc("Ones like another tensor.").complex(Complex::RealPart);
    b.at("zeros_like")
        .doc("Zeros like another tensor.")
        .classes(OpClasses::RECOMPUTABLE)
        .complex(Complex::ByParts)
        .tags(Tags::ZERO_FALLTHROUGH);
    b.op(
        &format!("full_like(Tensor self, Scalar fill_value, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor"),
        Rule::Fresh(like),
    )
    .doc("A tensor like another, of one value.")
    .function()
    .classes(OpClasses::RECOMPUTABLE)
    .batch(Batch::Elementwise)
    .complex(Complex::ByParts)
    .tags(Tags::CONJ_FALLTHROUGH | Tags::NEG_FALLTHROUGH | Tags::ZERO_FALLTHROUGH);
    b.not_differentiable();
    b.op(
        "_new_zeros_with_same_feature_meta(Tensor self, Tensor other, *, int self_num_batch_dims=0) -> Tensor",
        Rule::Fresh(|c| {
            // It lies in memory as the other does, with dimensions of its own in front.
            let (x, other, batch) = (c.tensor("self")?, c.tensor("other")?, c.int("self_num_batch_dims")?);
            let Some(batch) = usize::try_from(batch).ok().filter(|batch| *batch <= x.dim()) else {
                return Err(Error::runtime(format!(
                    "_new_zeros_with_same_feature_meta(): self has {} dimension(s), of which {batch} cannot be of a batch",
                    x.dim()
                )));
            };
            let g = other.geometry();
            let whole = other.storage().nbytes().floor_div(&SymInt::from(other.dtype().itemsize() as i64))?;
            let (mut sizes, mut strides) = (x.sizes()[..batch].to_vec(), Vec::new());
            let mut step = whole;
            for size in sizes.iter().rev() {
                strides.insert(0, step.clone());
                step = &step * size;
            }
            sizes.extend(g.sizes.iter().cloned());
            strides.extend(g.strides.iter().cloned());
            let mut spec = TensorSpec::strided(sizes, strides, x.dtype(), x.device());
            spec.geometry.offset = g.offset.clone();
            Ok(vec![Some(spec)])
        }),
    )
    .batch(Batch::Rule(super::batch_rules::zeros_like_another))
    .complex(Complex::ByParts)
    .tags(Tags::CONJ_FALLTHROUGH | Tags::NEG_FALLTHROUGH);
    b.not_differentiable();
    for name in ["new_empty", "new_zeros", "new_ones"] {
        b.op(&format!("{name}(Tensor self, SymInt[] size, *, {OPTIONS}) -> Tensor"), Rule::Fresh(new))
            .batch(Batch::Shifted)
            .not_differentiable();
    }
    b.at("new_empty").doc("A tensor of this dtype and device, not set.").complex(Complex::ByParts);
    b.at("new_ones").doc("Ones of this dtype and device.").complex(Complex::RealPart);
    b.at("new_zeros").doc("Zeros of this dtype and device.").classes(OpClasses::RECOMPUTABLE).complex(Complex::ByParts);
    b.op(&format!("new_full(Tensor self, SymInt[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor"), Rule::Fresh(new))
        .doc("A tensor of this dtype and device, of one value.")
        .batch(Batch::Shifted)
        .complex(Complex::ByParts)
        .not_differentiable();
    b.op(&format!("new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, {OPTIONS}) -> Tensor"), Rule::Fresh(strided))
        .complex(Complex::ByParts);
    b.not_differentiable();
}

fn register_ranges(b: &mut OpBuilder) {
    b.op(&format!("arange(Scalar end, *, {OPTIONS}) -> Tensor"), Rule::Fresh(arange))
        .doc("Numbers from `start` to before `end`, by `step`.")
        .classes(OpClasses::RECOMPUTABLE)
        .tags(Tags::FACTORY);
    b.op(&format!("arange.start(Scalar start, Scalar end, *, {OPTIONS}) -> Tensor"), Rule::Fresh(arange)).tags(Tags::FACTORY);
    b.op(&format!("arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {OPTIONS}) -> Tensor"), Rule::Fresh(arange));
    b.tags(Tags::FACTORY | Tags::CORE);
    b.op(&format!("linspace(Scalar start, Scalar end, int steps, *, {OPTIONS}) -> Tensor"), Rule::Fresh(spaced))
        .doc("So many numbers from start to end.")
        .tags(Tags::FACTORY);
    b.op(&format!("logspace(Scalar start, Scalar end, int steps, float base=10.0, *, {OPTIONS}) -> Tensor"), Rule::Fresh(spaced))
        .doc("So many powers of a base.");
    b.tags(Tags::FACTORY);
    for name in ["tril_indices", "triu_indices"] {
        b.op(
            &format!("{name}(int row, int col, int offset=0, *, {LONG_OPTIONS}) -> Tensor"),
            Rule::Fresh(|c| {
                let (rows, cols, offset) = (c.int("row")?, c.int("col")?, c.int("offset")?);
                if rows < 0 || cols < 0 {
                    let (what, n) = if rows < 0 { ("row", rows) } else { ("col", cols) };
                    return Err(Error::runtime(format!("{what} must be non-negative, got{n}")));
                }
                let count = match c.entry.base_name() {
                    "tril_indices" => tril_count(rows, cols, offset),
                    _ => i128::from(rows) * i128::from(cols) - tril_count(rows, cols, offset.saturating_sub(1)),
                };
                // What is too large for a size has no memory either.
                made(c, vec![2.into(), i64::try_from(count).unwrap_or(i64::MAX).into()], Dtype::Int64)
            }),
        );
        b.tags(Tags::FACTORY);
    }
    b.at("tril_indices").doc("The indices of the lower triangle.");
    b.at("triu_indices").doc("The indices of the upper triangle.");
}
