//! Joining and arranging: concatenation, repetition, flips and rolls, padding, diagonals, grids.

use super::geometry as geo;
use super::layout::{spec, suggested};
use super::shapes::{common_device, result_type, wrap_dim, wrap_dims};
use super::view_composites::{at_least_all, contiguous, reshape};
use super::views::zeros_of;
use crate::complex::conj;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Batch, Call, CastPolicy, Complex, Grad, Grads, OpBuilder, OpClasses, Rule, Tags, Value};
use shape::{SymInt, numel};
use tensor::{Dtype, Geometry, MemoryFormat, Tensor, TensorSpec};

/// A contiguous result of the tensor's dtype and device.
pub(super) fn like(tensor: &Tensor, sizes: Vec<SymInt>) -> Vec<Option<TensorSpec>> {
    vec![Some(TensorSpec::contiguous(sizes, tensor.dtype(), tensor.device()))]
}

/// A result of the tensor's own shape, keeping the order of its dimensions in memory.
pub(super) fn preserved(tensor: &Tensor) -> Result<Vec<Option<TensorSpec>>> {
    let sizes = tensor.sizes();
    let strides = geo::preserved_strides(&tensor.geometry());
    Ok(vec![Some(TensorSpec::strided(sizes, strides, tensor.dtype(), tensor.device()))])
}

/// Whether PyTorch takes the tensor for a channels-last one.
fn suggests_channels_last(g: &Geometry) -> bool {
    let (Some(sizes), Some(strides)) =
        (g.sizes.iter().map(SymInt::hint).collect::<Option<Vec<i64>>>(), g.strides.iter().map(SymInt::hint).collect::<Option<Vec<i64>>>())
    else {
        return false;
    };
    if sizes.len() != 4 || strides[1] == 0 {
        return false;
    }
    let mut least = 0;
    for d in [1, 3, 2, 0] {
        if sizes[d] == 0 || strides[d] < least || (d == 0 && least == strides[1]) {
            return false;
        }
        least = strides[d] * sizes[d].max(1);
    }
    true
}

fn channels_last_strides(sizes: &[SymInt]) -> Vec<SymInt> {
    let row = &sizes[1] * &sizes[3];
    vec![&row * &sizes[2], SymInt::Int(1), row, sizes[1].clone()]
}

/// An empty one-dimensional tensor, which `cat` skips whatever the others' shape.
fn skipped(sizes: &[SymInt]) -> bool {
    sizes.len() == 1 && sizes[0].statically_eq(0)
}

fn cat(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let tensors = call.tensors("tensors")?;
    if tensors.is_empty() {
        return Err(Error::value("torch.cat(): expected a non-empty list of Tensors"));
    }
    if let Some(i) = tensors.iter().position(|t| t.dim() == 0) {
        return Err(Error::runtime(format!("zero-dimensional tensor (at position {i}) cannot be concatenated")));
    }
    let values: Vec<Value> = tensors.iter().map(Value::from).collect();
    let dtype = result_type(&values.iter().collect::<Vec<_>>())?;
    let device = common_device(&tensors.iter().collect::<Vec<_>>())?;
    let mut sizes: Option<Vec<SymInt>> = None;
    for (i, tensor) in tensors.iter().enumerate() {
        let own = tensor.sizes();
        if skipped(&own) {
            continue;
        }
        let Some(total) = &mut sizes else {
            sizes = Some(own);
            continue;
        };
        if total.len() != own.len() {
            return Err(Error::runtime(format!("Tensors must have same number of dimensions: got {} and {}", total.len(), own.len())));
        }
        let d = wrap_dim(call.int("dim")?, own.len())?;
        for k in 0..own.len() {
            if k == d {
                total[k] = &total[k] + &own[k];
            } else if !total[k].sym_eq(own[k].clone())? {
                if tensor.is_fake() {
                    return Err(Error::runtime(format!(
                        "Sizes of tensors must match except in dimension {d}. Expected {} in dimension {k} but got {} for tensor number {i} in the list",
                        total[k], own[k]
                    )));
                }
                return Err(Error::runtime(format!(
                    "Sizes of tensors must match except in dimension {d}. Expected size {} but got size {} for tensor number {i} in the list.",
                    total[k], own[k]
                )));
            }
        }
    }
    let Some(sizes) = sizes else { return Ok(vec![Some(TensorSpec::contiguous(tensors[0].sizes(), dtype, device))]) };
    wrap_dim(call.int("dim")?, sizes.len())?;
    if tensors.iter().all(|t| suggests_channels_last(&t.geometry())) {
        let strides = channels_last_strides(&sizes);
        return Ok(vec![Some(TensorSpec::strided(sizes, strides, dtype, device))]);
    }
    Ok(vec![Some(TensorSpec::contiguous(sizes, dtype, device))])
}

fn cat_grad(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    if !b.needs("tensors") {
        return Ok(grads);
    }
    let (grad, dim) = (b.grad()?, b.call().int("dim")?);
    let d = wrap_dim(dim, grad.dim())?;
    let (mut so_far, mut parts) = (SymInt::Int(0), Vec::new());
    for spec in &b.specs[0] {
        if skipped(&spec.geometry.sizes) {
            parts.push(Some(zeros_of(&grad.spec(), &[SymInt::Int(0)])?));
            continue;
        }
        // The end of a part is computed forward and back again, as where PyTorch narrows.
        let size = &spec.geometry.sizes[d];
        so_far = dispatch::add_sizes(&so_far, size)?;
        let start = dispatch::subtract_sizes(&so_far, size)?;
        let end = dispatch::add_sizes(&start, size)?;
        parts.push(Some(t!("slice.Tensor", grad, d, &start, &end, 1)?));
    }
    grads.0[0] = Grad::List(parts);
    Ok(grads)
}

fn stack(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let tensors = call.tensors("tensors")?;
    let Some(first) = tensors.first() else { return Err(Error::runtime("stack expects a non-empty TensorList")) };
    let mut sizes = first.sizes();
    for (i, t) in tensors.iter().enumerate() {
        if !geo::same_sizes(&sizes, &t.sizes())? {
            return Err(Error::runtime(format!(
                "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {i}",
                geo::list(&sizes),
                geo::list(&t.sizes())
            )));
        }
    }
    let values: Vec<Value> = tensors.iter().map(Value::from).collect();
    let dtype = result_type(&values.iter().collect::<Vec<_>>())?;
    let d = wrap_dim(call.int("dim")?, sizes.len() + 1)?;
    let device = common_device(&tensors.iter().collect::<Vec<_>>())?;
    let format = suggested(first);
    let is_kept = format != MemoryFormat::Contiguous && tensors.iter().all(|t| suggested(t) == format) && d < sizes.len();
    if is_kept {
        // Joined along the dimension before which they are stacked, and that dimension split.
        let mut joined = sizes.clone();
        joined[d] = &joined[d] * tensors.len() as i64;
        let mut strides = super::layout::strides(&joined, format);
        strides.insert(d, &sizes[d] * &strides[d]);
        sizes.insert(d, SymInt::Int(tensors.len() as i64));
        return Ok(vec![Some(TensorSpec::strided(sizes, strides, dtype, device))]);
    }
    sizes.insert(d, SymInt::Int(tensors.len() as i64));
    Ok(vec![Some(TensorSpec::contiguous(sizes, dtype, device))])
}

fn stack_grad(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    if b.needs("tensors") {
        let dim = b.arg("dim");
        let parts = (0..b.specs[0].len()).map(|i| t!("select.int", b.grad()?, dim, i).map(Some)).collect::<Result<_>>()?;
        grads.0[0] = Grad::List(parts);
    }
    Ok(grads)
}

fn hstack(tensors: &[Tensor]) -> Result<Value> {
    if tensors.is_empty() {
        return Err(Error::runtime("hstack expects a non-empty TensorList"));
    }
    let all = at_least_all(tensors, 1)?;
    let dim = i64::from(all[0].dim() != 1);
    t!("cat", all, dim).map(Value::from)
}

fn column_stack(call: &Call) -> Result<Value> {
    let tensors = call.tensors("tensors")?;
    if tensors.is_empty() {
        return Err(Error::runtime("column_stack expects a non-empty TensorList"));
    }
    let columns: Result<Vec<Tensor>> =
        tensors.iter().map(|t| if t.dim() <= 1 { reshape(t, &[t.numel(), SymInt::Int(1)]) } else { Ok(t.clone()) }).collect();
    hstack(&columns?)
}

fn repeat(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, repeats) = (call.tensor("self")?, call.sym_ints("repeats")?);
    let Some(lead) = repeats.len().checked_sub(tensor.dim()) else {
        return Err(Error::runtime("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"));
    };
    if repeats.iter().any(|r| r.as_int().is_some_and(|r| r < 0)) {
        return Err(Error::runtime(format!(
            "Trying to create tensor with negative dimension {}: {}",
            repeats.iter().find(|r| r.as_int().is_some_and(|r| r < 0)).map(|r| r.to_string()).unwrap_or_default(),
            geo::list(&repeats)
        )));
    }
    let own = tensor.sizes();
    let sizes = repeats.iter().enumerate().map(|(i, r)| if i < lead { r.clone() } else { r * &own[i - lead] }).collect();
    Ok(like(tensor, sizes))
}

fn repeat_grad(b: &Backward) -> Result<Grads> {
    Grads::one(b, "self", || {
        let (sizes, repeats) = (b.sizes("self")?, b.call().sym_ints("repeats")?);
        let mut grad = b.grad()?.clone();
        for r in &repeats {
            if r.sym_eq(0)? {
                return zeros_of(&grad.spec(), &sizes);
            }
        }
        let lead = repeats.len() - sizes.len();
        for _ in 0..lead {
            grad = t!("sum.dim_IntList", grad, vec![0i64])?;
        }
        let (mut shape, mut dims) = (Vec::new(), Vec::new());
        for (size, repeat) in sizes.iter().zip(&repeats[lead..]) {
            if !repeat.sym_eq(1)? {
                dims.push(shape.len() as i64);
                shape.push(repeat.clone());
            }
            shape.push(size.clone());
        }
        if dims.is_empty() { Ok(grad) } else { t!("sum.dim_IntList", reshape(&grad, &shape)?, dims) }
    })
}

fn tile(call: &Call) -> Result<Value> {
    let (tensor, mut dims) = (call.tensor("self")?, call.sym_ints("dims")?);
    while dims.len() < tensor.dim() {
        dims.insert(0, SymInt::Int(1));
    }
    t!("repeat", tensor, dims).map(Value::from)
}

fn repeat_interleave_int(call: &Call) -> Result<Value> {
    let (tensor, repeats) = (call.tensor("self")?.clone(), call.sym_int("repeats")?);
    let (input, dim) = match call.get("dim") {
        Value::None => (t!("flatten.using_ints", &tensor)?, 0),
        given => (tensor.clone(), wrap_dim(given.int()?, tensor.dim())? as i64),
    };
    if repeats.as_int().is_some_and(|r| r < 0) {
        return Err(Error::runtime("Repeats must be non-negative"));
    }
    let wide = t!("unsqueeze", input, dim + 1)?;
    let mut sizes = wide.sizes();
    sizes[dim as usize + 1] = repeats;
    let copied = t!("clone", t!("expand", wide, sizes)?; memory_format = MemoryFormat::Contiguous)?;
    t!("flatten.using_ints", copied, dim, dim + 1).map(Value::from)
}

fn repeat_interleave_tensor(call: &Call) -> Result<Value> {
    let (tensor, mut repeats) = (call.tensor("self")?.clone(), call.tensor("repeats")?.clone());
    let (input, dim) = match call.get("dim") {
        Value::None => (t!("flatten.using_ints", &tensor)?, 0),
        given => (tensor.clone(), given.int()?),
    };
    let size = input.size(super::shapes::dim_of(&input, dim)?);
    if repeats.dim() == 0 || (repeats.dim() == 1 && repeats.size(0).sym_eq(1)?) {
        repeats = t!("expand", reshape(&repeats, &[SymInt::Int(1)])?, vec![size])?;
    } else if repeats.dim() == 1 {
        if !repeats.size(0).sym_eq(size.clone())? {
            return Err(Error::runtime(format!(
                "repeats must have the same size as input along dim, but got repeats.size(0) = {} and input.size({dim}) = {size}",
                repeats.size(0)
            )));
        }
    } else {
        return Err(Error::runtime("repeats must be 0-dim or 1-dim tensor"));
    }
    let index = t!("repeat_interleave.Tensor", &repeats; output_size = call.get("output_size"))?;
    // Counts may be shorter than what rows are selected by.
    let is_index = matches!(repeats.dtype(), Dtype::Int32 | Dtype::Int64);
    let index = if is_index { index } else { t!("to.dtype", index, Dtype::Int64)? };
    t!("index_select", input, dim, index).map(Value::from)
}

fn repeat_interleave(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let repeats = call.tensor("repeats")?;
    if repeats.dim() != 1 {
        return Err(Error::runtime("repeat_interleave only accept 1D vector as repeat"));
    }
    if !repeats.dtype().is_integral() || repeats.dtype() == Dtype::Bool {
        let dtype = repeats.dtype().scalar_type();
        return Err(Error::not_implemented(format!("\"repeat_interleave_cpu\" not implemented for '{dtype}'")));
    }
    let size = match call.get("output_size") {
        Value::None if repeats.is_fake() => dispatch::size_of_values(None)?,
        Value::None => {
            let all = tensor::strided::integers(repeats)?.into_iter().try_fold(0i64, i64::checked_add);
            SymInt::Int(all.ok_or_else(|| Error::runtime("repeat_interleave: the sum of repeats overflows"))?)
        }
        given => given.sym_int()?,
    };
    Ok(like(repeats, vec![size]))
}

fn rot90(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, k, dims) = (call.tensor("self")?, call.int("k")?, call.ints("dims")?);
    if dims.len() != 2 {
        return Err(Error::runtime(format!("expected total rotation dims == 2, but got dims = {}", dims.len())));
    }
    if tensor.dim() < 2 {
        return Err(Error::runtime(format!("expected total dims >= 2, but got total dims = {}", tensor.dim())));
    }
    let (a, b) = (wrap_dim(dims[0], tensor.dim())?, wrap_dim(dims[1], tensor.dim())?);
    if a == b {
        return Err(Error::runtime(format!("expected rotation dims to be different, but got dim0 = {} and dim1 = {}", dims[0], dims[1])));
    }
    if k.rem_euclid(4) == 0 {
        return Ok(like(tensor, tensor.sizes()));
    }
    let mut specs = preserved(tensor)?;
    if k % 2 != 0
        && let Some(spec) = &mut specs[0]
    {
        spec.geometry.sizes.swap(a, b);
        spec.geometry.strides.swap(a, b);
    }
    Ok(specs)
}

fn roll(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, shifts, dims) = (call.tensor("self")?, call.sym_ints("shifts")?, call.ints("dims")?);
    if shifts.is_empty() {
        return Err(Error::runtime("`shifts` required"));
    }
    if shifts.len() != dims.len() && !(dims.is_empty() && shifts.len() == 1) {
        return Err(Error::runtime(format!("shifts and dimensions must align. shifts: {}, dims:{}", shifts.len(), dims.len())));
    }
    for d in dims.iter().copied() {
        wrap_dim(d, tensor.dim())?;
    }
    // What is computed is joined of two parts, dimension by dimension; what stands for it is said to be contiguous.
    if !tensor.is_fake() && !dims.is_empty() {
        if tensor.numel().as_int() == Some(0) {
            let strides = super::factory::copy_strides(tensor, tensor::MemoryFormat::Preserve)?;
            return Ok(vec![Some(TensorSpec::strided(tensor.sizes(), strides, tensor.dtype(), tensor.device()))]);
        }
        if suggests_channels_last(&tensor.geometry()) {
            let (sizes, strides) = (tensor.sizes(), channels_last_strides(&tensor.sizes()));
            return Ok(vec![Some(TensorSpec::strided(sizes, strides, tensor.dtype(), tensor.device()))]);
        }
    }
    Ok(like(tensor, tensor.sizes()))
}

fn roll_grad(b: &Backward) -> Result<Grads> {
    let (shifts, dims) = (b.call().sym_ints("shifts")?, b.call().ints("dims")?);
    let shifts: Vec<SymInt> = shifts.iter().rev().map(|s| s * -1).collect();
    let dims: Vec<i64> = dims.into_iter().rev().collect();
    Grads::one(b, "self", || t!("roll", b.grad()?, shifts, dims))
}

fn constant_pad(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, pad) = (call.tensor("self")?, call.sym_ints("pad")?);
    if pad.len() % 2 != 0 {
        return Err(Error::runtime(format!("Length of pad must be even but instead it equals {}", pad.len())));
    }
    let mut sizes = tensor.sizes();
    let n = sizes.len();
    if pad.len() / 2 > n {
        return Err(Error::runtime(format!(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is {}while the input has {n}dimensions.",
            pad.len()
        )));
    }
    let mut kept = (*tensor.geometry()).clone();
    let negative = |p: &SymInt| p.min(&SymInt::Int(0));
    for (i, pair) in pad.chunks(2).enumerate() {
        let d = n - 1 - i;
        kept.sizes[d] = &(&sizes[d] + &negative(&pair[0])) + &negative(&pair[1]);
        if kept.sizes[d].as_int().is_some_and(|s| s < 0) {
            return Err(Error::runtime("narrow(): length must be non-negative."));
        }
    }
    if pad.iter().all(|p| p.as_int().is_some_and(|p| p <= 0)) {
        let strides = geo::preserved_strides(&kept);
        return Ok(vec![Some(TensorSpec::strided(kept.sizes, strides, tensor.dtype(), tensor.device()))]);
    }
    for (i, pair) in pad.chunks(2).enumerate() {
        let d = n - 1 - i;
        let size = &(&sizes[d] + &pair[0]) + &pair[1];
        if size.as_int().is_some_and(|s| s < 0) {
            return Err(Error::runtime(format!(
                "The input size {}, plus negative padding {} and {} resulted in a negative output size, which is invalid. Check dimension {d} of your input.",
                sizes[d], pair[0], pair[1]
            )));
        }
        sizes[d] = size;
    }
    Ok(vec![Some(spec(sizes, suggested(tensor), tensor))])
}

fn constant_pad_grad(b: &Backward) -> Result<Grads> {
    let pad: Vec<SymInt> = b.call().sym_ints("pad")?.iter().map(|p| p * -1).collect();
    Grads::one(b, "self", || t!("constant_pad_nd", b.grad()?, pad, 0))
}

fn diag(call: &Call) -> Result<Value> {
    let (tensor, offset) = (call.tensor("self")?, call.int("diagonal")?);
    match tensor.dim() {
        1 => t!("diag_embed", tensor, offset).map(Value::from),
        2 => t!("diagonal_copy", tensor, offset).map(Value::from),
        n => Err(Error::runtime(format!("diag(): Supports 1D or 2D tensors. Got {n}D"))),
    }
}

fn diag_embed(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, offset) = (call.tensor("self")?, call.int("offset")?);
    let n = tensor.dim() + 1;
    let (dim1, dim2) = (call.int("dim1")?, call.int("dim2")?);
    let (a, b) = (wrap_dim(dim1, n)?, wrap_dim(dim2, n)?);
    if a == b {
        return Err(Error::runtime(format!("diagonal dimensions cannot be identical {dim1}, {dim2}")));
    }
    let mut sizes = tensor.sizes();
    let last = sizes.pop().ok_or_else(|| Error::index("Dimension out of range (expected to be in range of [-1, 0], but got -2)"))?;
    let side = &last + offset.saturating_abs();
    for d in [a.min(b), a.max(b)] {
        sizes.insert(d, side.clone());
    }
    Ok(like(tensor, sizes))
}

fn trace(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let tensor = call.tensor("self")?;
    if tensor.dim() != 2 {
        return Err(Error::runtime(format!("trace: expected a matrix, but got tensor with dim {}", tensor.dim())));
    }
    let dtype = if tensor.dtype().is_integral() { Dtype::Int64 } else { tensor.dtype() };
    Ok(vec![Some(TensorSpec::contiguous(vec![], dtype, tensor.device()))])
}

fn trace_grad(b: &Backward) -> Result<Grads> {
    Grads::one(b, "self", || {
        let (sizes, grad) = (b.sizes("self")?, b.grad()?);
        let spec = grad.spec();
        let flat = zeros_of(&spec, &[numel(&sizes)])?;
        let step = &sizes[1] + 1;
        let end = &sizes[0].min(&sizes[1]) * &step;
        let layout = Value::Layout(tensor::Layout::Strided);
        let places = t!("arange.start_step", 0, end, step; dtype = Dtype::Int64, layout = layout, device = spec.device)?;
        t!("view", t!("index_fill.int_Tensor", flat, 0, places, grad)?, sizes)
    })
}

fn linalg_cross(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (a, b) = (call.tensor("self")?, call.tensor("other")?);
    if a.dim() != b.dim() {
        return Err(Error::runtime("linalg.cross: inputs must have the same number of dimensions."));
    }
    crate::shapes::need_dims("linalg.cross", "inputs", a, 1)?;
    let dim = call.int("dim")?;
    let d = wrap_dim(dim, a.dim())?;
    if !a.size(d).sym_eq(3)? || !b.size(d).sym_eq(3)? {
        return Err(Error::runtime(format!(
            "linalg.cross: inputs dimension {dim} must have length 3. Got {} and {}",
            a.size(d),
            b.size(d)
        )));
    }
    let sizes = super::shapes::broadcast_two(&a.sizes(), &b.sizes())?;
    Ok(like(a, sizes))
}

fn cross(call: &Call) -> Result<Value> {
    let (a, b) = (call.tensor("self")?, call.tensor("other")?);
    let dim = match call.get("dim") {
        Value::None => {
            let mut found = None;
            for d in 0..a.dim() {
                if found.is_none() && a.size(d).sym_eq(3)? {
                    found = Some(d as i64);
                }
            }
            found.ok_or_else(|| Error::runtime("no dimension of size 3 in input"))?
        }
        given => wrap_dim(given.int()?, a.dim())? as i64,
    };
    t!("linalg_cross", a, b; dim = dim).map(Value::from)
}

fn triangle(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let tensor = call.tensor("self")?;
    if tensor.dim() < 2 {
        return Err(Error::runtime(format!("{}: input tensor must have at least 2 dimensions", call.entry.schema.name)));
    }
    Ok(like(tensor, tensor.sizes()))
}

/// Registers joining and arranging.
pub fn register(b: &mut OpBuilder) {
    b.op("cat(Tensor[] tensors, int dim=0) -> Tensor", Rule::Fresh(cat))
        .doc("Tensors joined along a dimension.")
        .autocast(CastPolicy::Promote)
        .batch(Batch::Shifted)
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .grad("CatBackward", &[], cat_grad);
    for name in ["concat", "concatenate"] {
        b.op(
            &format!("{name}(Tensor[] tensors, int dim=0) -> Tensor"),
            Rule::Composite(|c| dispatch::aten!("cat", c.get("tensors"), c.get("dim"))),
        )
        .doc("Tensors joined along a dimension.");
    }
    b.op("stack(Tensor[] tensors, int dim=0) -> Tensor", Rule::Fresh(stack))
        .doc("Tensors joined along a new dimension.")
        .autocast(CastPolicy::Promote)
        .batch(Batch::Rule(super::batch_rules::stack))
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .grad("StackBackward", &[], stack_grad);
    b.op("hstack(Tensor[] tensors) -> Tensor", Rule::Composite(|c| hstack(&c.tensors("tensors")?))).doc("Tensors side by side.");
    for name in ["vstack", "row_stack"] {
        b.op(
            &format!("{name}(Tensor[] tensors) -> Tensor"),
            Rule::Composite(|c| t!("cat", at_least_all(&c.tensors("tensors")?, 2)?, 0).map(Value::from)),
        );
    }
    b.at("row_stack").doc("Tensors stacked as rows.");
    b.at("vstack").doc("Tensors below each other.");
    b.op(
        "dstack(Tensor[] tensors) -> Tensor",
        Rule::Composite(|c| t!("cat", at_least_all(&c.tensors("tensors")?, 3)?, 2).map(Value::from)),
    )
    .doc("Tensors stacked along a third dimension.");
    b.op("column_stack(Tensor[] tensors) -> Tensor", Rule::Composite(column_stack)).doc("Tensors as columns side by side.");
    b.op("repeat(Tensor self, SymInt[] repeats) -> Tensor", Rule::Fresh(repeat))
        .doc("The tensor repeated along dimensions.")
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("RepeatBackward", &[], repeat_grad);
    b.op("tile(Tensor self, SymInt[] dims) -> Tensor", Rule::Composite(tile)).doc("The tensor repeated.");
    b.op("repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", Rule::Fresh(repeat_interleave))
        .doc("Every element repeated.")
        .tags(Tags::CONJ_FALLTHROUGH | Tags::NEG_FALLTHROUGH | dispatch::Tags::DYNAMIC_SHAPE)
        .not_differentiable();
    b.op(
        "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
        Rule::Composite(repeat_interleave_tensor),
    );
    b.op(
        "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
        Rule::Composite(repeat_interleave_int),
    );
    b.op(
        "flip(Tensor self, int[] dims) -> Tensor",
        Rule::Fresh(|c| {
            let tensor = c.tensor("self")?;
            let dims = c.ints("dims")?;
            if !dims.is_empty() {
                wrap_dims(&dims, tensor.dim())?;
            }
            preserved(tensor)
        }),
    )
    .doc("Reversed along dimensions.")
    .batch(Batch::Shifted)
    .complex(Complex::ByParts)
    .auto_linear(&["self"])
    .tags(Tags::COMPLEX_GRAD)
    .grad("FlipBackward", &[], |b| Grads::one(b, "self", || t!("flip", b.grad()?, b.arg("dims"))));
    b.op(
        "fliplr(Tensor self) -> Tensor",
        Rule::Composite(|c| {
            let tensor = c.tensor("self")?;
            if tensor.dim() < 2 {
                return Err(Error::runtime("Input must be >= 2-d."));
            }
            t!("flip", tensor, vec![1i64]).map(Value::from)
        }),
    )
    .doc("Columns reversed.");
    b.op(
        "flipud(Tensor self) -> Tensor",
        Rule::Composite(|c| {
            let tensor = c.tensor("self")?;
            if tensor.dim() < 1 {
                return Err(Error::runtime("Input must be >= 1-d."));
            }
            t!("flip", tensor, vec![0i64]).map(Value::from)
        }),
    )
    .doc("Rows reversed.");
    b.op("roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", Rule::Fresh(roll))
        .doc("Elements moved around along dimensions.")
        .batch(Batch::Rule(super::batch_rules::roll))
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("RollBackward", &[], roll_grad);
    b.op("rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor", Rule::Fresh(rot90))
        .doc("Turned by a right angle.")
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("Rot90Backward0", &[], |b| {
            let k = b.call().int("k")?.wrapping_neg();
            Grads::one(b, "self", || t!("rot90", b.grad()?, k, b.arg("dims")))
        });
    b.op("constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", Rule::Fresh(constant_pad))
        .doc("Borders of a constant.")
        .function()
        .batch(Batch::Rule(super::batch_rules::constant_pad_nd))
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .grad("ConstantPadNdBackward", &[], constant_pad_grad);
    b.op("diag(Tensor self, int diagonal=0) -> Tensor", Rule::Composite(diag)).doc("The diagonal of a matrix, or a matrix of a diagonal.");
    b.op("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", Rule::Fresh(diag_embed))
        .doc("Matrices of diagonals.")
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("DiagEmbedBackward", &[], |b| {
            Grads::one(b, "self", || t!("diagonal", b.grad()?, b.arg("offset"), b.arg("dim1"), b.arg("dim2")))
        });
    b.op(
        "diagflat(Tensor self, int offset=0) -> Tensor",
        Rule::Composite(|c| {
            let flat = t!("view", contiguous(c.tensor("self")?)?, vec![-1i64])?;
            t!("diag", flat, c.get("offset")).map(Value::from)
        }),
    )
    .doc("A matrix whose diagonal the elements are.");
    b.op("trace(Tensor self) -> Tensor", Rule::Fresh(trace))
        .doc("The sum of the diagonal.")
        .autocast(CastPolicy::Fp32)
        .refuses("b", "trace")
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("TraceBackward", &[], trace_grad);
    b.op("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", Rule::Fresh(linalg_cross))
        .complex(Complex::Product(&["self", "other"]))
        .tags(Tags::COMPLEX_GRAD)
        .doc("The cross product of vectors of three.")
        .refuses("*b", "cross")
        .refuses("!", "R:expected scalar type {} but found {2}")
        .grad("LinalgCrossBackward", &["self", "other"], |b| {
            let mut grads = Grads::new(b);
            grads.set(b, "other", || t!("linalg_cross", b.grad()?, conj(b.saved("self")?)?; dim = b.arg("dim")))?;
            grads.set(b, "self", || t!("linalg_cross", conj(b.saved("other")?)?, b.grad()?; dim = b.arg("dim")))?;
            Ok(grads)
        });
    b.op("cross(Tensor self, Tensor other, int? dim=None) -> Tensor", Rule::Composite(cross)).doc("The cross product of vectors of three.");
    b.op("tril(Tensor self, SymInt diagonal=0) -> Tensor", Rule::Fresh(triangle))
        .doc("The lower triangle.")
        .batch(Batch::Shifted)
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("TrilBackward", &[], |b| Grads::one(b, "self", || t!("tril", b.grad()?, b.arg("diagonal"))))
        .inplace();
    b.op("triu(Tensor self, SymInt diagonal=0) -> Tensor", Rule::Fresh(triangle))
        .doc("The upper triangle.")
        .classes(OpClasses::RECOMPUTABLE)
        .batch(Batch::Shifted)
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("TriuBackward", &[], |b| Grads::one(b, "self", || t!("triu", b.grad()?, b.arg("diagonal"))))
        .inplace();
}
