//! What shape rules share: dimensions, broadcasting, result strides, type promotion.

use diagnostics::error::{Error, Result};
use dispatch::Value;
use shape::{Relation, SymInt};
use std::cell::Cell;
use tensor::{Category, Device, Dtype, MemoryFormat, Tensor, TensorSpec, check_promotion, promote};

thread_local! {
    static DEFAULT_DTYPE: Cell<Dtype> = const { Cell::new(Dtype::Float32) };
}

/// `torch.get_default_dtype()`.
pub fn default_dtype() -> Dtype {
    DEFAULT_DTYPE.get()
}

/// `torch.set_default_dtype(dtype)`.
pub fn set_default_dtype(dtype: Dtype) {
    DEFAULT_DTYPE.set(dtype);
}

/// A dimension counted from either end, as an index; a scalar has one dimension for this purpose.
pub fn wrap_dim(dim: i64, ndim: usize) -> Result<usize> {
    let n = ndim.max(1) as i64;
    if dim < -n || dim >= n {
        return Err(Error::index(format!("Dimension out of range (expected to be in range of [{}, {}], but got {dim})", -n, n - 1)));
    }
    Ok(if dim < 0 { dim + n } else { dim } as usize)
}

/// Several dimensions as sorted-free indices, each at most once; an empty list means all of them.
pub fn wrap_dims(dims: &[i64], ndim: usize) -> Result<Vec<usize>> {
    if dims.is_empty() {
        return Ok((0..ndim).collect());
    }
    let mut seen = vec![false; ndim.max(1)];
    dims.iter()
        .map(|d| {
            let i = wrap_dim(*d, ndim)?;
            if std::mem::replace(&mut seen[i], true) {
                return Err(Error::runtime(format!("dim {i} appears multiple times in the list of dims")));
            }
            Ok(i)
        })
        .collect()
}

/// The shape two shapes broadcast to. May guard.
pub fn broadcast_two(a: &[SymInt], b: &[SymInt]) -> Result<Vec<SymInt>> {
    let n = a.len().max(b.len());
    let mut out = Vec::with_capacity(n);
    // The last dimension is compared first.
    for i in (0..n).rev() {
        let (from_a, from_b) = ((i + a.len()).checked_sub(n).map(|j| &a[j]), (i + b.len()).checked_sub(n).map(|j| &b[j]));
        out.push(match (from_a, from_b) {
            (Some(x), Some(y)) => {
                if y.sym_eq(1)? {
                    x.clone()
                } else if x.sym_eq(1)? {
                    y.clone()
                } else if x.sym_eq(y.clone())? {
                    x.clone()
                } else {
                    return Err(Error::runtime(format!(
                        "The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {i}"
                    )));
                }
            }
            (Some(x), None) | (None, Some(x)) => x.clone(),
            (None, None) => unreachable!("one of the two has n dimensions"),
        });
    }
    out.reverse();
    Ok(out)
}

/// The shape several shapes broadcast to.
pub fn broadcast(shapes: &[Vec<SymInt>]) -> Result<Vec<SymInt>> {
    let mut shapes = shapes.iter();
    let first = shapes.next().cloned().unwrap_or_default();
    shapes.try_fold(first, |acc, s| broadcast_two(&acc, s))
}

/// The smallest and the largest element of an integral dtype.
pub fn range_of_integers(dtype: Dtype) -> (i64, i64) {
    let bits = 8 * dtype.itemsize() as u32;
    match dtype {
        Dtype::UInt8 => (0, 255),
        _ => (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)),
    }
}

/// `torch.result_type`: promotion among tensors with dimensions, zero-dimensional tensors and Python numbers, each class
/// giving way to the one before it unless its category is higher.
pub fn result_type(values: &[&Value]) -> Result<Dtype> {
    let (mut dim, mut zero, mut number): (Option<Dtype>, Option<Dtype>, Option<Dtype>) = (None, None, None);
    let join = |slot: &mut Option<Dtype>, d: Dtype| *slot = Some(slot.map_or(d, |have| promote(have, d)));
    let join_tensors = |slot: &mut Option<Dtype>, d: Dtype| {
        slot.map_or(Ok(()), |have| check_promotion(have, d))?;
        join(slot, d);
        Ok::<_, Error>(())
    };
    for value in values {
        match value {
            Value::Tensor(t) if t.dim() == 0 => join_tensors(&mut zero, t.dtype())?,
            Value::Tensor(t) => join_tensors(&mut dim, t.dtype())?,
            Value::Bool(_) => join(&mut number, Dtype::Bool),
            Value::Int(_) => join(&mut number, Dtype::Int64),
            Value::Float(_) | Value::SymFloat(_) => join(&mut number, default_dtype()),
            Value::Complex(..) => join(&mut number, default_dtype().to_complex()),
            other if other.condition().is_some() => join(&mut number, Dtype::Bool),
            _ => {}
        }
    }
    let combine = |higher: Option<Dtype>, lower: Option<Dtype>| match (higher, lower) {
        (Some(h), Some(l)) if h.category() >= l.category() => Some(h),
        (Some(h), Some(l)) if l.category() == Category::Complex => {
            Some(if h.is_floating() { promote(h, Dtype::Complex64).max(h.to_complex()) } else { l })
        }
        (_, Some(l)) => Some(l),
        (h, None) => h,
    };
    combine(dim, combine(zero, number)).ok_or_else(|| Error::runtime("no values to promote"))
}

/// Whether all are channels last. A dimension of one element then has the format's stride, whatever it had before.
fn is_channels_last(inputs: &[&Tensor]) -> Result<bool> {
    for t in inputs {
        if t.dim() != 4 || !super::copy::has_format(t, MemoryFormat::ChannelsLast)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether contiguous inputs are channels last as well (one channel, or one place): traced, their strides decide.
fn is_ambiguous(inputs: &[&Tensor]) -> Result<bool> {
    if !dispatch::modes().fake {
        return Ok(false);
    }
    for t in inputs {
        let is_of_numbers = t.dim() == 4 && t.sizes().iter().all(|s| s.as_int().is_some());
        if !is_of_numbers || !super::copy::has_format(t, MemoryFormat::ChannelsLast)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Strides of a pointwise result, as PyTorch's TensorIterator chooses them: the permutation of the inputs' strides is kept,
/// so that e.g. two channels-last inputs give a channels-last result.
pub fn pointwise_strides(sizes: &[SymInt], inputs: &[&Tensor]) -> Result<Vec<SymInt>> {
    let ndim = sizes.len();
    let same_shape = |t: &&Tensor| -> Result<bool> {
        let own = t.sizes();
        if own.len() != ndim {
            return Ok(false);
        }
        for (a, b) in own.iter().zip(sizes) {
            if !a.statically_eq(b.clone()) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    // The fast way: everything contiguous. Where sizes are symbols, inputs that are broadcast may be so beside one that is not.
    let full = inputs.iter().filter(|t| same_shape(t).unwrap_or(false)).count();
    let symbolic = sizes.iter().any(|s| s.as_int().is_none());
    if full > 0 && (symbolic || full == inputs.len()) {
        let mut contiguous = true;
        for t in inputs {
            contiguous = contiguous && t.is_contiguous()?;
        }
        if contiguous && !is_ambiguous(inputs)? {
            return Ok(tensor::contiguous_strides(sizes));
        }
        if !contiguous && !symbolic && is_channels_last(inputs)? {
            return super::factory::format_strides(sizes, MemoryFormat::ChannelsLast);
        }
    }
    // Per input, strides in the result's dimensions; broadcast ones are zero.
    let (zero, one) = (SymInt::Int(0), SymInt::Int(1));
    let mut expanded: Vec<Vec<SymInt>> = Vec::new();
    for t in inputs {
        let g = t.geometry();
        let lead = ndim - g.sizes.len();
        let mut strides = vec![zero.clone(); ndim];
        for (i, (size, stride)) in g.sizes.iter().zip(&g.strides).enumerate() {
            let broadcast = size.hint() == Some(1) && sizes[lead + i].hint() != Some(1);
            if !broadcast {
                strides[lead + i] = stride.clone();
            }
        }
        expanded.push(strides);
    }
    // Insertion sort from the innermost dimension, comparing strides input by input; ambiguous pairs keep their order. Which of two
    // symbolic strides is larger is a condition of the graph.
    let mut perm: Vec<usize> = (0..ndim).rev().collect();
    let should_swap = |d0: usize, d1: usize| -> Result<i32> {
        for strides in &expanded {
            let (s0, s1) = (&strides[d0], &strides[d1]);
            if holds(s0, Relation::Eq, &zero)? || holds(s1, Relation::Eq, &zero)? {
                continue;
            }
            if holds(s0, Relation::Eq, s1)? {
                if sizes[d0].hint() > sizes[d1].hint() {
                    return Ok(1);
                }
            } else if holds(s1, Relation::Ge, s0)? {
                return Ok(-1);
            } else {
                return Ok(1);
            }
        }
        Ok(0)
    };
    for i in 1..ndim {
        let mut dim1 = i;
        for dim0 in (0..i).rev() {
            match should_swap(perm[dim0], perm[dim1])? {
                c if c > 0 => {
                    perm.swap(dim0, dim1);
                    dim1 = dim0;
                }
                c if c < 0 => break,
                _ => {}
            }
        }
    }
    // A result that is computed has strides of zero beyond a dimension of no elements, unless it is laid out as if it were contiguous; what
    // stands for one has none.
    let is_in_order = perm.iter().rev().copied().eq(0..ndim);
    let least = if is_in_order || inputs.iter().any(|t| t.is_fake()) { one.clone() } else { zero };
    let mut strides = vec![one.clone(); ndim];
    let mut next = one;
    for d in perm {
        strides[d] = next.clone();
        next = &next * &sizes[d].max(&least);
    }
    Ok(strides)
}

/// Strides of a pointwise result that is traced as several calls: each operand is laid out anew, by itself, before they meet.
pub fn traced_strides(sizes: &[SymInt], operands: &[&Tensor]) -> Result<Vec<SymInt>> {
    let computed: Vec<Tensor> = operands.iter().map(|t| laid_out_by(sizes, &[t])).collect::<Result<_>>()?;
    pointwise_strides(sizes, &computed.iter().collect::<Vec<_>>())
}

/// What a pointwise call of the given sizes gives, as far as its strides go.
pub fn laid_out_by(sizes: &[SymInt], operands: &[&Tensor]) -> Result<Tensor> {
    let strides = pointwise_strides(sizes, operands)?;
    Tensor::fake(&TensorSpec::strided(sizes.to_vec(), strides, Dtype::Bool, Device::CPU))
}

/// Whether a relation holds: what is neither known nor has a value to look at does not.
fn holds(a: &SymInt, relation: Relation, b: &SymInt) -> Result<bool> {
    if a.hint().is_none() || b.hint().is_none() {
        return Ok(a.decide(relation, b).unwrap_or(false));
    }
    a.compare(relation, b)
}

/// The spec of a pointwise result over all tensors among `values`, of the given dtype.
pub fn pointwise(values: &[&Value], dtype: Dtype) -> Result<TensorSpec> {
    let tensors: Vec<&Tensor> = values.iter().filter_map(|v| v.as_tensor()).collect();
    let sizes = if tensors.iter().any(|t| t.is_fake()) {
        super::mismatch::broadcast_traced(&tensors)?
    } else {
        broadcast(&tensors.iter().map(|t| t.sizes()).collect::<Vec<_>>())?
    };
    let strides = pointwise_strides(&sizes, &tensors)?;
    Ok(TensorSpec::strided(sizes, strides, dtype, common_device(&tensors)?))
}

/// The device of all tensors; zero-dimensional CPU tensors go along with any.
pub fn common_device(tensors: &[&Tensor]) -> Result<Device> {
    let mut found: Option<Device> = None;
    for t in tensors {
        let d = t.device();
        match found {
            Some(f) if f != d && t.dim() > 0 && d != Device::CPU && f != Device::CPU => {
                return Err(Error::runtime(format!(
                    "Expected all tensors to be on the same device, but found at least two devices, {f} and {d}!"
                )));
            }
            Some(f) if f != Device::CPU => {}
            _ => found = Some(d),
        }
    }
    Ok(found.unwrap_or(Device::CPU))
}

/// Refuses a tensor of fewer dimensions than an operator reads.
pub fn need_dims(operator: &str, argument: &str, t: &Tensor, at_least: usize) -> Result<()> {
    if t.dim() < at_least {
        return Err(Error::runtime(format!(
            "{operator}(): expected {argument} to have at least {at_least} dimension(s), but got {}",
            t.dim()
        )));
    }
    Ok(())
}

/// Whether two shapes are one as far as numbers tell: what a symbol is, is not asked.
pub fn may_be_same(a: &[SymInt], b: &[SymInt]) -> bool {
    let may_be = |(a, b): (&SymInt, &SymInt)| a.as_int().zip(b.as_int()).is_none_or(|(a, b)| a == b);
    a.len() == b.len() && a.iter().zip(b).all(may_be)
}

/// Refuses a tensor of other sizes than an operator's kernel reads.
pub fn need_sizes(operator: &str, argument: &str, t: &Tensor, sizes: &[SymInt]) -> Result<()> {
    if may_be_same(&t.sizes(), sizes) {
        return Ok(());
    }
    Err(Error::runtime(format!("{operator}(): expected {argument} to have sizes {sizes:?}, but got {:?}", t.sizes())))
}

/// Refuses a tensor of another number of elements than an operator's kernel reads.
pub fn need_elements(operator: &str, argument: &str, t: &Tensor, count: &SymInt) -> Result<()> {
    if may_be_same(&[t.numel()], std::slice::from_ref(count)) {
        return Ok(());
    }
    Err(Error::runtime(format!("{operator}(): expected {argument} to have {count} element(s), but got {}", t.numel())))
}

/// A dimension of a tensor that has some.
pub fn dim_of(t: &Tensor, dim: i64) -> Result<usize> {
    if t.dim() == 0 {
        return Err(Error::index(format!("Dimension specified as {dim} but tensor has no dimensions")));
    }
    wrap_dim(dim, t.dim())
}

/// Refuses operands whose broadcast shape is not the result's. Of symbols nothing is asked.
pub fn need_broadcast_to(sizes: &[SymInt], operands: &[&Tensor]) -> Result<()> {
    let mut shapes = vec![sizes.to_vec()];
    shapes.extend(operands.iter().map(|t| t.sizes()));
    if shapes.iter().flatten().any(|size| size.as_int().is_none()) {
        return Ok(());
    }
    let all = broadcast(&shapes)?;
    if may_be_same(&all, sizes) {
        return Ok(());
    }
    Err(Error::runtime(format!("output with shape {sizes:?} doesn't match the broadcast shape {all:?}")))
}
