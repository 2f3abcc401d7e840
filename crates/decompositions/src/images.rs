//! Pooling, padding and patches.

use super::expr::*;
use super::table::{Decomposed, Table};
use diagnostics::error::Result;
use dispatch::{Call, Value, add_sizes, divide_sizes, multiply, subtract_sizes};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Dtype, MemoryFormat, Tensor};

/// Registers the rules.
pub fn register(table: &mut Table) {
    table.add("aten.max_pool2d_with_indices.default", |c| max_pool(c, 2));
    table.add("aten.max_pool3d_with_indices.default", |c| max_pool(c, 3));
    table.add("aten.adaptive_max_pool2d.default", adaptive_max_pool);
    table.add("aten.max_pool2d_with_indices_backward.default", max_pool_backward);
    for name in ["aten.reflection_pad1d.default", "aten.reflection_pad2d.default", "aten.reflection_pad3d.default"] {
        table.compute(name, |c| {
            pad(c, |places, size| {
                let last = || subtract_sizes(size, &1.into());
                let (outer, inner) = (last()?, last()?);
                sub(outer, abs(&sub(inner, abs(&places)?)?)?)
            })
        });
    }
    for name in
        ["aten.reflection_pad1d_backward.default", "aten.reflection_pad2d_backward.default", "aten.reflection_pad3d_backward.default"]
    {
        table.add(name, reflection_backward);
    }
    for name in ["aten.replication_pad1d.default", "aten.replication_pad2d.default", "aten.replication_pad3d.default"] {
        table.compute(name, |c| pad(c, |places, size| t!("clamp", places, 0, subtract_sizes(size, &1.into())?)));
    }
    for n in 1..=3 {
        let names: [&'static str; 2] = match n {
            1 => ["aten.upsample_nearest1d.default", "aten._upsample_nearest_exact1d.default"],
            2 => ["aten.upsample_nearest2d.default", "aten._upsample_nearest_exact2d.default"],
            _ => ["aten.upsample_nearest3d.default", "aten._upsample_nearest_exact3d.default"],
        };
        table.compute(names[0], |c| upsample_nearest(c, 0.0));
        table.compute(names[1], |c| upsample_nearest(c, 0.5));
    }
    table.add("aten.max_unpool2d.default", |c| max_unpool(c, 2));
    table.add("aten.max_unpool3d.default", |c| max_unpool(c, 3));
    table.add("aten.im2col.default", im2col);
    table.compute("aten.col2im.default", col2im);
}

/// A list with one entry per dimension.
fn each(values: Vec<i64>, n: usize) -> Vec<i64> {
    if values.len() == 1 { vec![values[0]; n] } else { values }
}

/// Where in its window each maximum is fits in a byte, and the index is computed from that.
fn max_pool(c: &Call, n: usize) -> Decomposed {
    let x = c.tensor("self")?;
    let kernel = each(c.ints("kernel_size")?, n);
    let stride = c.ints("stride")?;
    let stride = if stride.is_empty() { kernel.clone() } else { each(stride, n) };
    let (padding, dilation) = (each(c.ints("padding")?, n), each(c.ints("dilation")?, n));
    // Inductor has no such kernel for large windows.
    if kernel.iter().product::<i64>() > i64::from(i8::MAX) || kernel.iter().any(|k| *k <= 0) {
        return Ok(None);
    }
    let (kernel, stride) = (Value::from(kernel), Value::from(stride));
    let (padding, dilation) = (Value::from(padding), Value::from(dilation));
    let both = aten!("prims._low_memory_max_pool_with_offsets", x, &kernel, &stride, &padding, &dilation, c.get("ceil_mode"))?.tensors()?;
    let sizes = x.sizes();
    let input = &sizes[sizes.len() - n..];
    let indices = t!("prims._low_memory_max_pool_offsets_to_indices", &both[1], kernel, input, stride, padding, dilation)?;
    all(vec![(&both[0]).into(), indices.into()])
}

/// The largest of everything, or windows of one size; other sizes stay.
fn adaptive_max_pool(c: &Call) -> Decomposed {
    let (x, wanted) = (c.tensor("self")?, c.ints("output_size")?);
    let [height, width] = [x.size(x.dim() - 2), x.size(x.dim() - 1)];
    match wanted[..] {
        [1, 1] => {
            let values = t!("amax", x, vec![-2i64, -1], true)?;
            let places = t!("argmax", t!("flatten.using_ints", x, -2, -1)?, -1)?;
            let places = t!("unsqueeze", t!("unsqueeze", places, -1)?, -1)?;
            all(vec![values.into(), places.into()])
        }
        [h, w] if h > 0 && w > 0 => {
            let divides = |size: &SymInt, n: i64| size.modulo(&n.into())?.sym_eq(0);
            if !divides(&height, h)? || !divides(&width, w)? {
                return Ok(None);
            }
            let kernel = [(height, h), (width, w)].into_iter().map(|(size, n)| divide_sizes(&size, &n.into())?.guard_int());
            Ok(Some(aten!("max_pool2d_with_indices", x, kernel.collect::<Result<Vec<_>>>()?)?))
        }
        _ => Ok(None),
    }
}

/// Gradients are scattered to the places of the maxima.
fn max_pool_backward(c: &Call) -> Decomposed {
    let (mut grad, mut x, mut indices) = (c.tensor("grad_output")?.clone(), c.tensor("self")?.clone(), c.tensor("indices")?.clone());
    let batched = x.dim() == 4;
    if !batched {
        (x, grad, indices) = (t!("unsqueeze", x, 0)?, t!("unsqueeze", grad, 0)?, t!("unsqueeze", indices, 0)?);
    }
    let dtype = super::table::computation_dtype(grad.dtype());
    let rows_of = |t: &Tensor| Ok(vec![multiply(&[x.size(0), x.size(1)])?, multiply(&[t.size(2), t.size(3)])?]);
    let zeros = full(rows_of(&x)?, 0, dtype, grad.device())?;
    let flat_grad = t!("reshape", &grad, rows_of(&grad)?)?;
    let flat_indices = t!("reshape", indices, rows_of(&grad)?)?;
    let flat_grad = cast(&flat_grad, dtype)?;
    let added = t!("scatter_add", zeros, 1, flat_indices, flat_grad)?;
    let made = cast(&t!("reshape", added, x.sizes())?, grad.dtype())?;
    let made = contiguous(&made, suggested_format(&x)?)?;
    if batched { done(made) } else { done(t!("squeeze.dim", made, 0)?) }
}

/// Every padded dimension is read at the places that a rule gives: of places from before the first on, and the dimension's size.
fn pad(c: &Call, rule: fn(Tensor, &SymInt) -> Result<Tensor>) -> Decomposed {
    let (x, padding) = (c.tensor("self")?, c.ints("padding")?);
    let n = padding.len() / 2;
    let lead = x.dim() - n;
    let mut made = x.clone();
    for d in 0..n {
        // The list begins with the last dimension.
        let (before, after) = (padding[2 * (n - 1 - d)], padding[2 * (n - 1 - d) + 1]);
        let size = x.size(lead + d);
        let end = add_sizes(&size, &after.into())?;
        let places = arange(-before, end, x.device())?;
        let mut indices = vec![Value::None; made.dim()];
        indices[lead + d] = rule(places, &size)?.into();
        made = t!("_unsafe_index.Tensor", made, Value::List(indices))?;
    }
    done(contiguous(&made, suggested_format(x)?)?)
}

/// A place's gradient: that of its own in the middle, and of the places that reflect it before and after.
fn reflection_backward(c: &Call) -> Decomposed {
    let (grad, x, padding) = (c.tensor("grad_output")?, c.tensor("self")?, c.ints("padding")?);
    let n = padding.len() / 2;
    let lead = x.dim() - n;
    let mut places = Vec::new();
    for d in 0..x.dim() {
        let mut shape = vec![1i64; x.dim()];
        shape[d] = -1;
        places.push(t!("view", arange(0, x.size(d), x.device())?, shape)?);
    }
    // The list begins with the last dimension.
    let around = |d: usize| (padding[2 * (n - 1 - d)], padding[2 * (n - 1 - d) + 1]);
    let last = (0..n).map(|d| subtract_sizes(&x.size(lead + d), &1.into())).collect::<Result<Vec<SymInt>>>()?;
    let each = |f: &dyn Fn(usize, &Tensor) -> Result<Tensor>| (0..n).map(|d| f(d, &places[lead + d])).collect::<Result<Vec<_>>>();
    let center = each(&|d, i| add(i, around(d).0))?;
    let before = each(&|d, i| sub(around(d).0, i))?;
    let after = each(&|d, i| sub(add_sizes(&multiply(&[2.into(), last[d].clone()])?, &around(d).0.into())?, i))?;
    let read = |at: &[&Tensor], within: &[(&Tensor, SymInt, SymInt)]| -> Result<Tensor> {
        let conditions = within.iter().map(|(i, low, high)| t!("logical_and", ge(*i, low)?, le(*i, high)?));
        let mut valid: Option<Tensor> = None;
        for condition in conditions.collect::<Result<Vec<_>>>()? {
            valid = Some(match valid {
                Some(valid) => t!("logical_and", valid, condition)?,
                None => condition,
            });
        }
        let indices: Vec<Value> = places[..lead].iter().chain(at.iter().copied()).map(Value::from).collect();
        t!("_unsafe_masked_index", grad, valid, Value::List(indices), 0.0)
    };
    let all_of = |d: usize| add_sizes(&add_sizes(&last[d], &around(d).0.into())?, &around(d).1.into());
    let middle = (0..n).map(|d| Ok((&center[d], 0.into(), all_of(d)?))).collect::<Result<Vec<(&Tensor, SymInt, SymInt)>>>()?;
    let mut sum = read(&center.iter().collect::<Vec<_>>(), &middle)?;
    for area in 0..3usize.pow(n as u32) {
        let side: Vec<usize> = (0..n).map(|d| area / 3usize.pow((n - 1 - d) as u32) % 3).collect();
        if side.iter().all(|s| *s == 1) {
            continue;
        }
        let (mut at, mut within) = (Vec::new(), Vec::new());
        for (d, side) in side.iter().enumerate() {
            let i = &places[lead + d];
            let (place, bounds) = match side {
                0 => (&before[d], (i, 1.into(), around(d).0.into())),
                1 => (&center[d], middle[d].clone()),
                _ => {
                    let from = subtract_sizes(&last[d], &around(d).1.into())?;
                    (&after[d], (i, from, subtract_sizes(&last[d], &1.into())?))
                }
            };
            at.push(place);
            within.push(bounds);
        }
        // Where a bound is symbolic, nothing is left out.
        if within.iter().all(|(_, low, high)| low.as_int().zip(high.as_int()).is_none_or(|(low, high)| low <= high)) {
            sum = add(sum, read(&at, &within)?)?;
        }
    }
    done(sum)
}

/// Every place reads the one below it, counted from an offset.
fn upsample_nearest(c: &Call, offset: f64) -> Decomposed {
    let (x, sizes) = (c.tensor("self")?, c.ints("output_size")?);
    let n = sizes.len();
    let names: &[&str] = match n {
        1 => &["scales"],
        2 => &["scales_h", "scales_w"],
        _ => &["scales_d", "scales_h", "scales_w"],
    };
    let mut indices = vec![Value::None; 2];
    for (d, size) in sizes.iter().enumerate() {
        let scale = match c.get(names[d]) {
            Value::Float(given) => Value::Float(1.0 / given),
            _ => calculate("truediv", x.size(2 + d), *size)?,
        };
        let places = t!("arange", *size; dtype = Dtype::Float32, device = x.device(), pin_memory = false)?;
        let places = convert(&mul(add(places, offset)?, scale)?, Dtype::Int64)?;
        indices.push(unsqueeze_to(&places, n - d)?.into());
    }
    let picked = t!("_unsafe_index.Tensor", x, Value::List(indices))?;
    done(contiguous(&picked, suggested_format(x)?)?)
}

/// Values put where they were found: all planes are one row.
fn max_unpool(c: &Call, n: usize) -> Decomposed {
    let (x, indices, output) = (c.tensor("self")?, c.tensor("indices")?, c.sym_ints("output_size")?);
    let mut sizes = x.sizes();
    let outer = sizes.len() - n;
    let volume = |sizes: &[SymInt]| sizes.iter().fold(SymInt::Int(1), |product, s| &product * s);
    let (planes, plane) = (volume(&sizes[..outer]), volume(&output));
    let mut per_plane = vec![SymInt::Int(1); sizes.len()];
    per_plane[..outer].clone_from_slice(&sizes[..outer]);
    sizes.splice(outer.., output);
    let format = if n == 2 { suggested_format(x)? } else { MemoryFormat::Contiguous };
    if sizes.iter().any(|s| s.as_int() == Some(0)) {
        return done(contiguous(&new_full(x, sizes, 0)?, format)?);
    }
    let first = mul(t!("view", iota(planes, 0, 1, Dtype::Int64, x.device())?, per_plane)?, plane)?;
    let places = t!("reshape", add(indices, first)?, vec![-1i64])?;
    let flat = t!("reshape", new_full(x, sizes.clone(), 0)?, vec![-1i64])?;
    let values = t!("reshape", x, vec![-1i64])?;
    let put = t!("_unsafe_index_put", flat, Value::List(vec![places.into()]), values, false)?;
    done(contiguous(&t!("view", put, sizes)?, format)?)
}

/// The places that windows read along one dimension: a row per place in the window.
fn window_places(size: i64, kernel: i64, dilation: i64, padding: i64, stride: i64, x: &Tensor) -> Result<Tensor> {
    let blocks = (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
    let starts = iota(blocks, 0, stride, Dtype::Int64, x.device())?;
    let starts = t!("unsqueeze", starts, 0)?;
    let inside = iota(kernel, 0, dilation, Dtype::Int64, x.device())?;
    add(starts, t!("unsqueeze", inside, -1)?)
}

struct Patches {
    kernel: Vec<i64>,
    dilation: Vec<i64>,
    padding: Vec<i64>,
    stride: Vec<i64>,
}

impl Patches {
    fn of(c: &Call) -> Result<Patches> {
        let get = |name: &str| c.ints(name).map(|v| each(v, 2));
        Ok(Patches { kernel: get("kernel_size")?, dilation: get("dilation")?, padding: get("padding")?, stride: get("stride")? })
    }

    fn places(&self, d: usize, size: i64, x: &Tensor) -> Result<Tensor> {
        window_places(size, self.kernel[d], self.dilation[d], self.padding[d], self.stride[d], x)
    }

    fn borders(&self, sign: i64) -> Vec<i64> {
        [1, 1, 0, 0].iter().map(|d| sign * self.padding[*d]).collect()
    }
}

fn im2col(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    if x.dim() != 4 {
        return Ok(None);
    }
    let p = Patches::of(c)?;
    let rows = p.places(0, x.size(2).guard_int()?, x)?;
    let columns = p.places(1, x.size(3).guard_int()?, x)?;
    let padded = t!("constant_pad_nd", x, p.borders(1), 0.0)?;
    let rows = unsqueeze_to(&rows, 4)?;
    let picked = t!("index.Tensor", padded, Value::List(vec![Value::None, Value::None, rows.into(), columns.into()]))?;
    let moved = t!("permute", &picked, vec![0i64, 1, 2, 4, 3, 5])?;
    let s = picked.sizes();
    done(t!("reshape", moved, vec![s[0].clone(), &(&s[1] * &s[2]) * &s[4], &s[3] * &s[5]])?)
}

fn col2im(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    if x.dim() != 3 {
        return Ok(None);
    }
    let (p, size) = (Patches::of(c)?, each(c.ints("output_size")?, 2));
    let channels = x.size(1).guard_int()? / p.kernel.iter().product::<i64>();
    let blocks: Vec<i64> = (0..2).map(|d| (size[d] + 2 * p.padding[d] - p.dilation[d] * (p.kernel[d] - 1) - 1) / p.stride[d] + 1).collect();
    let shape: Vec<Value> = [x.size(0), channels.into(), p.kernel[0].into(), p.kernel[1].into(), blocks[0].into(), blocks[1].into()]
        .into_iter()
        .map(Value::Int)
        .collect();
    let moved = t!("permute", t!("reshape", x, Value::List(shape))?, vec![0i64, 1, 2, 4, 3, 5])?;
    let rows = unsqueeze_to(&p.places(0, size[0], x)?, 4)?;
    let columns = p.places(1, size[1], x)?;
    let padded: Vec<Value> =
        vec![x.size(0).into(), channels.into(), (size[0] + 2 * p.padding[0]).into(), (size[1] + 2 * p.padding[1]).into()];
    let zeros = new_full(x, Value::List(padded), 0)?;
    let indices = Value::List(vec![Value::None, Value::None, rows.into(), columns.into()]);
    let put = t!("index_put", zeros, indices, moved, true)?;
    done(t!("constant_pad_nd", put, p.borders(-1), 0.0)?)
}
