//! Kernels that read or write at positions given by index tensors and masks.

use super::arranging::scalar_bytes;
use super::dense::held;
use super::elementwise::{Compute, scatter as write_values, values as read_values};
use super::vectorized::Vectorized;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value};
use operators::advanced::{Plan, set_positions};
use operators::geometry as geo;
use operators::shapes::wrap_dim;
use std::ops::{Add, Div, Mul};
use tensor::strided::{dense_bytes, integers, numbers, write_dense};
use tensor::{Dtype, Number, Tensor};

/// Arithmetic of the types that kernels compute in.
trait Arithmetic: Compute + Add<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    /// Of integers rounding down; division by zero gives zero.
    fn quotient(self, by: Self) -> Self;
    /// A NaN, where the type has one.
    fn is_nan(self) -> bool;
    /// `self * b - c`, of floats rounded once.
    fn times_minus(self, b: Self, c: Self) -> Self;
    /// What is left of it once a tensor of that dtype has held it.
    fn held(self, dtype: Dtype) -> Self;
}
macro_rules! arithmetic {
    ($($t:ty, $fused:expr;)*) => { $(impl Arithmetic for $t {
        fn quotient(self, by: Self) -> Self { self / by }
        fn is_nan(self) -> bool { <$t>::is_nan(self) }
        fn times_minus(self, b: Self, c: Self) -> Self { $fused(self, b, -c) }
        fn held(self, dtype: Dtype) -> Self { held(self, dtype) }
    })* };
}
arithmetic!(f32, Vectorized::fused; f64, Vectorized::fused;);
impl Arithmetic for i64 {
    fn quotient(self, by: Self) -> Self {
        if by == 0 { 0 } else { self.div_euclid(by) }
    }
    fn is_nan(self) -> bool {
        false
    }
    fn times_minus(self, b: Self, c: Self) -> Self {
        self.wrapping_mul(b).wrapping_sub(c)
    }
    fn held(self, _dtype: Dtype) -> Self {
        self
    }
}

/// Runs `$body` with `$c` as the type that elements of the dtype are combined in.
macro_rules! combining {
    ($dtype:expr, $name:expr, $c:ident => $body:expr) => {
        match $dtype {
            Dtype::Float64 => {
                type $c = f64;
                $body
            }
            d if d.is_floating() => {
                type $c = f32;
                $body
            }
            d if d.is_integral() => {
                type $c = i64;
                $body
            }
            d => Err(Error::not_implemented(format!("\"{}\" not implemented for '{}'", $name, d.scalar_type()))),
        }
    };
}

/// How a written value meets the one that is there.
#[derive(Clone, Copy, PartialEq)]
enum Meet {
    Replace,
    Sum,
    Product,
    Largest,
    Smallest,
}

impl Meet {
    fn of<C: Arithmetic>(self, old: C, new: C) -> C {
        match self {
            Meet::Replace => new,
            Meet::Sum => old.plus(new),
            Meet::Product => old.times(new),
            _ if old.is_nan() => old,
            _ if new.is_nan() => new,
            Meet::Largest => {
                if new > old {
                    new
                } else {
                    old
                }
            }
            Meet::Smallest => {
                if new < old {
                    new
                } else {
                    old
                }
            }
        }
    }

    fn named(reduce: &str) -> Meet {
        match reduce {
            "prod" | "multiply" => Meet::Product,
            "amax" | "max" => Meet::Largest,
            "amin" | "min" => Meet::Smallest,
            _ => Meet::Sum,
        }
    }
}

/// Dense strides of sizes.
fn strides_of(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; sizes.len()];
    for d in (0..sizes.len().saturating_sub(1)).rev() {
        strides[d] = strides[d + 1] * sizes[d + 1];
    }
    strides
}

/// For every element of an index tensor, the dense offset of the element it names in a tensor of the given sizes.
fn named_offsets(sizes: &[usize], index: &Tensor, d: usize) -> Result<Vec<usize>> {
    let (wanted, positions) = (index.concrete()?.sizes, integers(index)?);
    let (strides, own) = (strides_of(sizes), strides_of(&wanted));
    let size = sizes.get(d).copied().unwrap_or(1) as i64;
    let mut offsets = Vec::with_capacity(positions.len());
    for (i, position) in positions.into_iter().enumerate() {
        if position < 0 || position >= size {
            return Err(Error::runtime(format!("index {position} is out of bounds for dimension {d} with size {size}")));
        }
        let mut at = 0;
        for k in 0..sizes.len() {
            let here = if k == d { position as usize } else { i / own[k] % wanted[k].max(1) };
            at += here * strides[k];
        }
        offsets.push(at);
    }
    Ok(offsets)
}

/// For every element of an index tensor, the dense offset of the same place in a tensor that is at least as large.
fn same_place(sizes: &[usize], index: &Tensor) -> Result<Vec<usize>> {
    // A scalar is one place of a vector.
    let wanted = if index.dim() == 0 { vec![1; sizes.len()] } else { index.concrete()?.sizes };
    let (strides, own) = (strides_of(sizes), strides_of(&wanted));
    let count: usize = wanted.iter().product();
    Ok((0..count).map(|i| (0..sizes.len()).map(|k| i / own[k] % wanted[k].max(1) * strides[k]).sum()).collect())
}

fn pick(bytes: &[u8], n: usize, offsets: &[usize]) -> Vec<u8> {
    offsets.iter().flat_map(|o| bytes[o * n..o * n + n].iter().copied()).collect()
}

fn gather(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, index) = (call.tensor("self")?, call.tensor("index")?);
    let d = wrap_dim(call.int("dim")?, tensor.dim())?;
    let offsets = named_offsets(&tensor.concrete()?.sizes, index, d)?;
    write_dense(&outs[0], &pick(&dense_bytes(tensor)?, tensor.dtype().itemsize(), &offsets))
}

/// Writes at positions: `self` with the values of `sources` at `offsets`, met as asked.
fn meet_at(out: &Tensor, tensor: &Tensor, offsets: &[usize], source: &Source, meet: Meet, name: &str) -> Result<()> {
    let (dtype, n) = (out.dtype(), out.dtype().itemsize());
    if meet == Meet::Replace {
        let mut bytes = dense_bytes(tensor)?;
        let given = match source {
            Source::Elements(t, places) => pick(&dense_bytes(t)?, n, places),
            Source::Number(v) => scalar_bytes(v, dtype)?.repeat(offsets.len()),
        };
        for (o, value) in offsets.iter().zip(given.chunks_exact(n)) {
            bytes[o * n..o * n + n].copy_from_slice(value);
        }
        return write_dense(out, &bytes);
    }
    combining!(dtype, name, C => {
        let mut values = read_values::<C>(tensor)?;
        let given: Vec<C> = match source {
            Source::Elements(t, places) => {
                let all = read_values::<C>(t)?;
                places.iter().map(|p| all[*p]).collect()
            }
            Source::Number(v) => vec![super::elementwise::number::<C>(v)?; offsets.len()],
        };
        // `scatter` adds up in single precision, `index_put` and `put` in the tensor itself.
        let in_place = !matches!(name, "scatter_gather_base_kernel_func");
        for (o, value) in offsets.iter().zip(given) {
            let met = meet.of(values[*o], value);
            values[*o] = if in_place { met.held(dtype) } else { met };
        }
        write_values(out, &values)
    })
}

/// Where written values come from.
enum Source<'a> {
    Elements(&'a Tensor, Vec<usize>),
    Number(&'a Value),
}

fn scatter(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, index) = (call.tensor("self")?, call.tensor("index")?);
    let d = wrap_dim(call.int("dim")?, tensor.dim())?;
    let offsets = named_offsets(&tensor.concrete()?.sizes, index, d)?;
    let source = match call.opt_tensor("src") {
        Some(src) => Source::Elements(src, same_place(&src.concrete()?.sizes, index)?),
        None => Source::Number(call.get("value")),
    };
    let meet = match call.entry.schema.name.as_str() {
        "scatter_add" => Meet::Sum,
        _ if call.get("reduce").is_none() => Meet::Replace,
        _ => Meet::named(call.str("reduce")?),
    };
    meet_at(&outs[0], tensor, &offsets, &source, meet, "scatter_gather_base_kernel_func")
}

/// `scatter_reduce` and `index_reduce`: values meet at positions, the old ones among them or not; means are divided at last.
fn reduce_at(call: &Call, out: &Tensor, offsets: &[usize], source: &Tensor, places: &[usize]) -> Result<()> {
    let (tensor, reduce, include) = (call.tensor("self")?, call.str("reduce")?, call.bool("include_self")?);
    let (meet, dtype) = (Meet::named(reduce), out.dtype());
    let in_place = call.entry.schema.name.starts_with("index_reduce");
    combining!(dtype, "scatter_reduce", C => {
        let (mut values, all) = (read_values::<C>(tensor)?, read_values::<C>(source)?);
        let mut counts = vec![usize::from(include); values.len()];
        for (o, p) in offsets.iter().zip(places) {
            let met = if counts[*o] == 0 { all[*p] } else { meet.of(values[*o], all[*p]) };
            values[*o] = if in_place { met.held(dtype) } else { met };
            counts[*o] += 1;
        }
        if reduce == "mean" {
            for (value, count) in values.iter_mut().zip(&counts) {
                if *count > 1 {
                    *value = value.held(dtype).quotient(C::read(*count as i64));
                }
            }
        }
        write_values(out, &values)
    })
}

fn scatter_reduce(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, index, source) = (call.tensor("self")?, call.tensor("index")?, call.tensor("src")?);
    let d = wrap_dim(call.int("dim")?, tensor.dim())?;
    let offsets = named_offsets(&tensor.concrete()?.sizes, index, d)?;
    reduce_at(call, &outs[0], &offsets, source, &same_place(&source.concrete()?.sizes, index)?)
}

/// Sizes around a dimension: elements before it, along it, after it.
fn around(sizes: &[usize], d: usize) -> (usize, usize, usize) {
    let before = sizes[..d.min(sizes.len())].iter().product();
    let after = if d < sizes.len() { sizes[d + 1..].iter().product() } else { 1 };
    (before, sizes.get(d).copied().unwrap_or(1), after)
}

/// Dense offsets of whole rows at positions along a dimension, in the order of a result with the positions there.
fn row_offsets(sizes: &[usize], d: usize, positions: &[usize]) -> Vec<usize> {
    let (before, along, after) = around(sizes, d);
    let rows = |b: usize| positions.iter().flat_map(move |p| ((b * along + p) * after..(b * along + p + 1) * after).collect::<Vec<_>>());
    (0..before).flat_map(rows).collect()
}

/// Positions along a dimension, within bounds; what is wrong with one that is not, `complaint` says.
fn checked(index: &Tensor, size: usize, negative: bool, complaint: impl Fn(i64) -> Error) -> Result<Vec<usize>> {
    let size = size as i64;
    integers(index)?
        .into_iter()
        .map(|p| {
            let fits = p < size && (p >= 0 || (negative && p >= -size));
            if fits { Ok(p.rem_euclid(size) as usize) } else { Err(complaint(p)) }
        })
        .collect()
}

fn index_select(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, index) = (call.tensor("self")?, call.tensor("index")?);
    let (sizes, d) = (tensor.concrete()?.sizes, wrap_dim(call.int("dim")?, tensor.dim())?);
    let positions = checked(index, around(&sizes, d).1, false, |_| Error::index("index out of range in self"))?;
    write_dense(&outs[0], &pick(&dense_bytes(tensor)?, tensor.dtype().itemsize(), &row_offsets(&sizes, d, &positions)))
}

fn index_write(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, index) = (call.tensor("self")?, call.tensor("index")?);
    let (sizes, d) = (tensor.concrete()?.sizes, wrap_dim(call.int("dim")?, tensor.dim())?);
    let (size, name) = (around(&sizes, d).1, call.entry.schema.name.trim_end_matches('_'));
    if name == "index_fill" && sizes.contains(&0) {
        return Ok(());
    }
    let positions = checked(index, size, name == "index_fill", |p| {
        let text = format!("index {p} is out of bounds for dimension {d} with size {size}");
        match name {
            "index_copy" => Error::index(format!("index_copy_(): {text}")),
            "index_fill" => Error::index(text),
            _ => Error::runtime(text),
        }
    })?;
    let offsets = row_offsets(&sizes, d, &positions);
    if name == "index_fill" {
        return meet_at(&outs[0], tensor, &offsets, &Source::Number(call.get("value")), Meet::Replace, "index_fill");
    }
    let source = call.tensor("source")?;
    let places: Vec<usize> = (0..offsets.len()).collect();
    match name {
        "index_copy" => meet_at(&outs[0], tensor, &offsets, &Source::Elements(source, places), Meet::Replace, "index_copy"),
        "index_reduce" => reduce_at(call, &outs[0], &offsets, source, &places),
        _ => combining!(tensor.dtype(), "index_add", C => {
            let (mut values, given) = (read_values::<C>(tensor)?, read_values::<C>(source)?);
            let alpha = super::elementwise::number::<C>(call.get("alpha"))?;
            // A vector is added to element by element, rows in single precision.
            let in_place = sizes.len() <= 1;
            for (o, value) in offsets.iter().zip(given) {
                let sum = values[*o].plus(value.times(alpha));
                values[*o] = if in_place { sum.held(tensor.dtype()) } else { sum };
            }
            write_values(&outs[0], &values)
        }),
    }
}

/// Positions in the whole tensor, counted row-major.
fn flat_positions(tensor: &Tensor, index: &Tensor) -> Result<Vec<usize>> {
    if index.dtype() != Dtype::Int64 {
        return Err(Error::runtime(format!("take(): Expected a long tensor for index, but got {}", index.dtype().scalar_type())));
    }
    let count = tensor.concrete()?.numel();
    if count == 0 && index.numel().guard_int()? > 0 {
        return Err(Error::index("take(): tried to take from an empty tensor"));
    }
    checked(index, count, true, |p| Error::index(format!("out of range: tried to access index {p} on a tensor of {count} elements.")))
}

fn take(call: &Call, outs: &[Tensor]) -> Result<()> {
    let tensor = call.tensor("self")?;
    let offsets = flat_positions(tensor, call.tensor("index")?)?;
    write_dense(&outs[0], &pick(&dense_bytes(tensor)?, tensor.dtype().itemsize(), &offsets))
}

fn put(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, source) = (call.tensor("self")?, call.tensor("source")?);
    let offsets = flat_positions(tensor, call.tensor("index")?)?;
    let places = (0..offsets.len()).collect();
    let meet = if call.bool("accumulate")? { Meet::Sum } else { Meet::Replace };
    meet_at(&outs[0], tensor, &offsets, &Source::Elements(source, places), meet, "take_put_cpu")
}

fn index(call: &Call, outs: &[Tensor]) -> Result<()> {
    let tensor = call.tensor("self")?;
    let offsets = Plan::new(tensor, call.get("indices").list()?)?.offsets(&tensor.concrete()?.sizes)?;
    write_dense(&outs[0], &pick(&dense_bytes(tensor)?, tensor.dtype().itemsize(), &offsets))
}

fn index_put(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, values) = (call.tensor("self")?, call.tensor("values")?);
    let list = call.get("indices").list()?;
    let unset = |mask: &Tensor| Ok::<_, Error>(mask.dim() == 0 && mask.dtype() == Dtype::Bool && !numbers(mask)?[0].truth());
    if let [Value::Tensor(mask)] = list
        && unset(mask)?
    {
        return write_dense(&outs[0], &dense_bytes(tensor)?);
    }
    let plan = Plan::new(tensor, list)?;
    let offsets = plan.offsets(&tensor.concrete()?.sizes)?;
    // One value under a mask is a fill, whatever its dtype.
    let values = if values.dtype() == tensor.dtype() { values.clone() } else { dispatch::t!("_to_copy", values; dtype = tensor.dtype())? };
    let wide = values.view_as(geo::expand(&values.geometry(), &plan.result_sizes(&tensor.sizes()), "")?);
    let meet = if call.bool("accumulate")? { Meet::Sum } else { Meet::Replace };
    let places = (0..offsets.len()).collect();
    meet_at(&outs[0], tensor, &offsets, &Source::Elements(&wide, places), meet, "index_put")
}

/// Elements of a mask, broadcast to sizes.
fn mask_bytes(mask: &Tensor, like: &Tensor) -> Result<Vec<u8>> {
    dense_bytes(&mask.view_as(geo::expand(&mask.geometry(), &like.sizes(), "")?))
}

fn masked_select(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, mask) = (call.tensor("self")?, call.tensor("mask")?);
    let sizes = operators::shapes::broadcast_two(&tensor.sizes(), &mask.sizes())?;
    let wide = tensor.view_as(geo::expand(&tensor.geometry(), &sizes, "")?);
    let (set, n) = (mask_bytes(mask, &wide)?, tensor.dtype().itemsize());
    let offsets: Vec<usize> = (0..set.len()).filter(|i| set[*i] != 0).collect();
    write_dense(&outs[0], &pick(&dense_bytes(&wide)?, n, &offsets))
}

fn masked_scatter(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, out, n) = (call.tensor("self")?, &outs[0], outs[0].dtype().itemsize());
    let wide = tensor.view_as(geo::expand(&tensor.geometry(), &out.sizes(), "")?);
    let (mut bytes, set, source) = (dense_bytes(&wide)?, mask_bytes(call.tensor("mask")?, out)?, dense_bytes(call.tensor("source")?)?);
    let mut given = source.chunks_exact(n);
    for (element, _) in bytes.chunks_exact_mut(n).zip(&set).filter(|(_, s)| **s != 0) {
        let value = given.next().ok_or_else(|| Error::runtime("Number of elements of source < number of ones in mask"))?;
        element.copy_from_slice(value);
    }
    write_dense(out, &bytes)
}

fn masked_scatter_backward(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (grad, n) = (call.tensor("grad_output")?, outs[0].dtype().itemsize());
    let (bytes, set) = (dense_bytes(grad)?, mask_bytes(call.tensor("mask")?, grad)?);
    let mut out = vec![0; outs[0].concrete()?.numel() * n];
    let chosen = bytes.chunks_exact(n).zip(&set).filter(|(_, s)| **s != 0);
    for (to, (from, _)) in out.chunks_exact_mut(n).zip(chosen) {
        to.copy_from_slice(from);
    }
    write_dense(&outs[0], &out)
}

fn nonzero(call: &Call, outs: &[Tensor]) -> Result<()> {
    let tensor = call.tensor("self")?;
    let rows = set_positions(tensor)?;
    let sizes = outs[0].concrete()?.sizes;
    let fill = if call.get("fill_value").is_none() { 0 } else { call.int("fill_value")? };
    let at = |i: usize| rows.iter().map(move |r| r.get(i).copied().unwrap_or(fill));
    if outs[0].concrete()?.numel() == 0 {
        return Ok(());
    }
    let flat: Vec<u8> = (0..sizes[0]).flat_map(at).flat_map(|p| Number::Int(p).to_bytes(Dtype::Int64)).collect();
    write_dense(&outs[0], &flat)
}

fn unfold_backward(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (grad, out) = (call.tensor("grad_in")?, &outs[0]);
    let whole = tensor::Geometry::contiguous(out.sizes());
    let windows = geo::unfold(&whole, call.int("dim")?, call.int("size")?, call.int("step")?)?;
    let (sizes, strides) = (shape::concrete(&windows.sizes)?, shape::concrete(&windows.strides)?);
    let (sizes, strides): (Vec<usize>, Vec<isize>) =
        (sizes.iter().map(|s| *s as usize).collect(), strides.iter().map(|s| *s as isize).collect());
    combining!(out.dtype(), "unfold_backward", C => {
        let mut values = vec![C::default(); out.concrete()?.numel()];
        let mut given = read_values::<C>(grad)?.into_iter();
        tensor::strided::for_each_offset(&sizes, &strides, 0, &mut |o| {
            if let Some(g) = given.next() {
                values[o] = values[o].plus(g);
            }
        });
        write_values(out, &values)
    })
}

fn trace(call: &Call, outs: &[Tensor]) -> Result<()> {
    let tensor = call.tensor("self")?;
    let c = tensor.concrete()?;
    combining!(outs[0].dtype(), "trace", C => {
        let all = read_values::<C>(tensor)?;
        let sum = (0..c.sizes[0].min(c.sizes[1])).fold(C::default(), |s, i| s + all[i * c.sizes[1] + i]);
        write_values(&outs[0], &[sum])
    })
}

fn linalg_cross(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (a, b, out) = (call.tensor("self")?, call.tensor("other")?, &outs[0]);
    let wide = |t: &Tensor| -> Result<Tensor> { Ok(t.view_as(geo::expand(&t.geometry(), &out.sizes(), "")?)) };
    let (_, _, after) = around(&out.concrete()?.sizes, wrap_dim(call.int("dim")?, out.dim())?);
    combining!(out.dtype(), "cross", C => {
        let (a, b) = (read_values::<C>(&wide(a)?)?, read_values::<C>(&wide(b)?)?);
        let result: Vec<C> = (0..a.len())
            .map(|i| {
                let (row, k) = (i - i / after % 3 * after, i / after % 3);
                let (p, q) = (row + (k + 1) % 3 * after, row + (k + 2) % 3 * after);
                // The first product is fused with the difference.
                a[p].times_minus(b[q], a[q].times(b[p]))
            })
            .collect();
        write_values(out, &result)
    })
}

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.gather.default", gather);
    t.fill("aten.scatter.src", scatter);
    t.fill("aten.scatter.value", scatter);
    t.fill("aten.scatter.reduce", scatter);
    t.fill("aten.scatter.value_reduce", scatter);
    t.fill("aten.scatter_add.default", scatter);
    t.fill("aten.scatter_reduce.two", scatter_reduce);
    t.fill("aten.index_select.default", index_select);
    t.fill("aten.index_add.default", index_write);
    t.fill("aten.index_copy.default", index_write);
    t.fill("aten.index_reduce.default", index_write);
    t.fill("aten.index_fill.int_Scalar", index_write);
    t.fill("aten.index_fill.int_Tensor", index_write);
    t.fill("aten.take.default", take);
    t.fill("aten.put.default", put);
    t.fill("aten.index.Tensor", index);
    t.fill("aten._unsafe_index.Tensor", index);
    t.fill("aten.index_put.default", index_put);
    t.fill("aten._unsafe_index_put.default", index_put);
    t.fill("aten.masked_select.default", masked_select);
    t.fill("aten.masked_scatter.default", masked_scatter);
    t.fill("aten.masked_scatter_backward.default", masked_scatter_backward);
    t.fill("aten.nonzero.default", nonzero);
    t.fill("aten.nonzero_static.default", nonzero);
    t.fill("aten.unfold_backward.default", unfold_backward);
    t.fill("aten.trace.default", trace);
    t.fill("aten.linalg_cross.default", linalg_cross);
}
