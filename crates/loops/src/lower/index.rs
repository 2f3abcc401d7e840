//! Operators that choose elements by position or by index: joins, scatters of slices, gathers, embeddings, sorting.
//!
//! A write to indexed places is turned around: every element of the result looks through the indices for what lands on it.
//! That is deterministic and needs no atomics; where the search would be long, the node runs on the CPU instead. Indices
//! out of range are errors on the CPU and read some element of the tensor here: a device cannot raise.

use super::reduce::ranks;
use super::rule::{Lower, Rule, wrap, wrap_all};
use crate::language::{Combine, Loop, Ty, View, X, coord, int, over, row_major, truth};
use diagnostics::error::{Error, Result};
use dispatch::Value;
use tensor::Dtype;

/// Lowerings by operator name.
pub const RULES: &[(&str, Rule)] = &[
    ("aten.cat.default", cat),
    ("aten.stack.default", stack),
    ("aten.unsafe_split.Tensor", split),
    ("aten.split_with_sizes_copy.default", split),
    ("aten.repeat.default", repeat),
    ("aten.flip.default", flip),
    ("prims.rev.default", flip),
    ("aten.roll.default", roll),
    ("aten.constant_pad_nd.default", pad),
    ("aten._unsafe_view.default", reshaped),
    ("aten.slice_scatter.default", slice_scatter),
    ("aten.slice_backward.default", slice_scatter),
    ("aten.select_scatter.default", select_scatter),
    ("aten.select_backward.default", select_scatter),
    ("aten.as_strided_scatter.default", as_strided_scatter),
    ("aten.diagonal_scatter.default", diagonal_scatter),
    ("aten.diagonal_backward.default", diagonal_scatter),
    ("aten.gather.default", gather),
    ("aten.index_select.default", index_select),
    ("aten.index.Tensor", index),
    ("aten._unsafe_index.Tensor", index),
    ("aten.index_put.default", index_put),
    ("aten._unsafe_index_put.default", index_put),
    ("aten._unsafe_masked_index.default", index),
    ("aten._unsafe_masked_index_put_accumulate.default", index_put),
    ("aten.scatter.src", scatter),
    ("aten.scatter.value", scatter),
    ("aten.scatter_add.default", scatter),
    ("aten.index_add.default", index_add),
    ("aten.embedding.default", embedding),
    ("aten.embedding_dense_backward.default", embedding_backward),
    ("aten.topk.default", topk),
    ("aten.sort.default", topk),
    ("aten.sort.stable", topk),
];

/// Turns of a loop beyond which a search is left to the CPU.
const LONGEST: i64 = 1 << 30;

fn affordable(out: &View, turns: i64) -> Result<()> {
    if out.numel().saturating_mul(turns) > LONGEST { Err(Error::not_implemented("too many indices to search")) } else { Ok(()) }
}

/// The element at the output's coordinates, one of them replaced.
fn along(view: &View, dim: usize, position: X) -> X {
    view.at((0..view.dim()).map(|d| if d == dim { position.clone() } else { coord(d) }).collect())
}

fn zero_like(x: &View) -> X {
    int(0).cast(Ty::of(x.dtype).unwrap_or(Ty::Float))
}

fn cat(l: &mut Lower) -> Result<()> {
    let out = l.out(0)?;
    let dim = wrap(l.call.int("dim")?, out.dim())?;
    let ty = l.ty()?;
    let mut start = 0;
    for tensor in l.call.tensors("tensors")? {
        let x = l.b.view(&tensor)?;
        // An empty vector may stand among tensors of any rank.
        if x.dim() != out.dim() {
            continue;
        }
        l.b.pointwise(&out.narrow(dim, start, x.sizes[dim]), x.here().cast(ty));
        start += x.sizes[dim];
    }
    Ok(())
}

fn stack(l: &mut Lower) -> Result<()> {
    let out = l.out(0)?;
    let dim = wrap(l.call.int("dim")?, out.dim())?;
    let ty = l.ty()?;
    for (i, tensor) in l.call.tensors("tensors")?.iter().enumerate() {
        let x = l.b.view(tensor)?;
        l.b.pointwise(&out.narrow(dim, i as i64, 1).without(|d| d == dim), x.here().cast(ty));
    }
    Ok(())
}

fn split(l: &mut Lower) -> Result<()> {
    let x = l.view("self")?;
    let dim = wrap(l.call.int("dim")?, x.dim())?;
    let (mut i, mut start) = (0, 0);
    while let Some(out) = l.opt_out(i) {
        l.b.pointwise(&out, x.narrow(dim, start, out.sizes[dim]).here());
        start += out.sizes[dim];
        i += 1;
    }
    Ok(())
}

fn repeat(l: &mut Lower) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    let first = out.dim() - x.dim();
    let value = x.at((0..x.dim()).map(|d| coord(first + d).rem_by(x.sizes[d])).collect());
    l.b.pointwise(&out, value);
    Ok(())
}

fn flip(l: &mut Lower) -> Result<()> {
    let name = l.call.entry.schema.arguments.first().map_or("self", |a| a.name.as_str()).to_owned();
    let (x, out) = (l.view(&name)?, l.out(0)?);
    let dims = wrap_all(l.call.get("dims"), x.dim())?;
    let index = (0..x.dim()).map(|d| if dims.contains(&d) { int(x.sizes[d] - 1) - coord(d) } else { coord(d) }).collect();
    l.b.pointwise(&out, x.at(index));
    Ok(())
}

fn roll(l: &mut Lower) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    let (shifts, dims) = (l.call.ints("shifts")?, l.call.ints("dims")?);
    if dims.is_empty() {
        return Err(Error::not_implemented("rolling the flattened tensor"));
    }
    let mut by = vec![0; x.dim()];
    for (shift, dim) in shifts.iter().zip(&dims) {
        by[wrap(*dim, x.dim())?] += shift;
    }
    let index = (0..x.dim())
        .map(|d| {
            let size = x.sizes[d].max(1);
            let start = (size - by[d].rem_euclid(size)) % size;
            if start == 0 { coord(d) } else { (coord(d) + int(start)).rem_by(size) }
        })
        .collect();
    l.b.pointwise(&out, x.at(index));
    Ok(())
}

fn pad(l: &mut Lower) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    let value = l.as_out("value")?;
    let pads = l.call.ints("pad")?;
    let (mut inside, mut index) = (truth(true), Vec::new());
    for d in 0..x.dim() {
        let low = pads.get(2 * (x.dim() - 1 - d)).copied().unwrap_or(0);
        let position = coord(d) - int(low);
        if low > 0 {
            inside = inside.and(&position.ge(&int(0)));
        }
        if out.sizes[d] > x.sizes[d] + low {
            inside = inside.and(&position.lt(&int(x.sizes[d])));
        }
        index.push(position);
    }
    l.b.pointwise(&out, X::where_(&inside, &x.at(index), &value));
    Ok(())
}

/// The same elements, in row-major order, under other sizes.
fn reshaped(l: &mut Lower) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    let mut position = int(0);
    for (d, stride) in row_major(&out.sizes).into_iter().enumerate() {
        if out.sizes[d] != 1 {
            position = position + coord(d) * int(stride);
        }
    }
    let strides = row_major(&x.sizes);
    let index = (0..x.dim()).map(|d| if x.sizes[d] == 1 { int(0) } else { position.div_by(strides[d]).rem_by(x.sizes[d]) }).collect();
    l.b.pointwise(&out, x.at(index));
    Ok(())
}

/// `src` where `inside` holds, what was there before elsewhere: `self`, or nothing in a gradient.
fn replaced(l: &mut Lower, inside: X, src: X) -> Result<()> {
    let out = l.out(0)?;
    if l.call.entry.schema.position("src").is_some() && !(out.is_dense() && out.offset == 0) {
        return Err(Error::not_implemented("a scatter into memory with gaps"));
    }
    let before = match l.opt_view("self")? {
        Some(x) => x.here(),
        None => zero_like(&out),
    };
    l.b.pointwise(&out, X::where_(&inside, &src.cast(before.ty()), &before));
    Ok(())
}

fn source(l: &mut Lower) -> Result<View> {
    if l.call.entry.schema.position("src").is_some() { l.view("src") } else { l.view("grad_output") }
}

fn slice_scatter(l: &mut Lower) -> Result<()> {
    let (src, out) = (source(l)?, l.out(0)?);
    let dim = wrap(l.call.int("dim")?, out.dim())?;
    let size = out.sizes[dim];
    let bound = |v: &Value, otherwise: i64| -> Result<i64> {
        let v = if v.is_none() { otherwise } else { v.int()? };
        Ok((if v < 0 { v.saturating_add(size) } else { v }).clamp(0, size))
    };
    let start = bound(l.call.get("start"), 0)?;
    let end = bound(l.call.get("end"), size)?.max(start);
    let step = l.call.int("step")?;
    let moved = coord(dim) - int(start);
    let mut inside = truth(true);
    if start > 0 {
        inside = inside.and(&coord(dim).ge(&int(start)));
    }
    if end < size {
        inside = inside.and(&coord(dim).lt(&int(end)));
    }
    if step > 1 {
        inside = inside.and(&moved.rem_by(step).equals(&int(0)));
    }
    replaced(l, inside, along(&src, dim, moved.div_by(step)))
}

fn select_scatter(l: &mut Lower) -> Result<()> {
    let (src, out) = (source(l)?, l.out(0)?);
    let dim = wrap(l.call.int("dim")?, out.dim())?;
    let index = wrap(l.call.int("index")?, out.sizes[dim] as usize)?;
    let value = src.at((0..out.dim()).filter(|d| *d != dim).map(coord).collect());
    replaced(l, coord(dim).equals(&int(index as i64)), value)
}

fn as_strided_scatter(l: &mut Lower) -> Result<()> {
    let (x, src, out) = (l.view("self")?, l.view("src")?, l.out(0)?);
    if x.storage != out.storage && (x.sizes != out.sizes || x.strides != out.strides || x.offset != 0) {
        return Err(Error::not_implemented("a scatter into a view"));
    }
    let offset = if l.call.get("storage_offset").is_none() { 0 } else { l.call.int("storage_offset")? };
    let region = View { sizes: l.call.ints("size")?, strides: l.call.ints("stride")?, offset, ..out.clone() };
    l.b.pointwise(&out, x.here());
    l.b.pointwise(&region, src.broadcast(region.dim()));
    Ok(())
}

fn diagonal_scatter(l: &mut Lower) -> Result<()> {
    let (src, out) = (source(l)?, l.out(0)?);
    let (offset, rank) = (l.call.int("offset")?, out.dim());
    let (a, b) = (wrap(l.call.int("dim1")?, rank)?, wrap(l.call.int("dim2")?, rank)?);
    let inside = (coord(b) - coord(a)).equals(&int(offset));
    let position = if offset >= 0 { coord(a) } else { coord(b) };
    let mut index: Vec<X> = (0..rank).filter(|d| *d != a && *d != b).map(coord).collect();
    index.push(position);
    replaced(l, inside, src.at(index))
}

/// An index, counted from the end where it is negative.
fn wrapped(position: X, size: i64) -> X {
    X::where_(&position.lt(&int(0)), &(position.clone() + int(size)), &position)
}

fn gather(l: &mut Lower) -> Result<()> {
    let (x, indices, out) = (l.view("self")?, l.view("index")?, l.out(0)?);
    if x.dim() == 0 {
        l.b.pointwise(&out, x.at(Vec::new()));
        return Ok(());
    }
    let dim = wrap(l.call.int("dim")?, x.dim())?;
    let position = wrapped(indices.here().i(), x.sizes[dim]);
    l.b.pointwise(&out, along(&x, dim, position));
    Ok(())
}

fn index_select(l: &mut Lower) -> Result<()> {
    let (x, indices, out) = (l.view("self")?, l.view("index")?, l.out(0)?);
    if x.dim() == 0 {
        return Err(Error::not_implemented("a scalar"));
    }
    let dim = wrap(l.call.int("dim")?, x.dim())?;
    let position = if indices.dim() == 0 { indices.at(Vec::new()) } else { indices.at(vec![coord(dim)]) };
    l.b.pointwise(&out, along(&x, dim, position.i()));
    Ok(())
}

/// Index tensors and the dimensions they index, and how their broadcast shape lies in the result.
struct Indexed {
    tensors: Vec<(usize, View)>,
    shape: Vec<i64>,
    /// Where the indices' dimensions begin among the result's.
    first: usize,
    /// Dimensions of the indexed tensor that stay, in order.
    kept: Vec<usize>,
}

fn indexed(l: &mut Lower, rank: usize) -> Result<Indexed> {
    let mut tensors = Vec::new();
    for (d, value) in l.call.get("indices").list()?.iter().enumerate() {
        if let Value::Tensor(t) = value {
            if t.dtype() == Dtype::Bool || t.dtype() == Dtype::UInt8 {
                return Err(Error::not_implemented("a mask as an index"));
            }
            tensors.push((d, l.b.view(t)?));
        }
    }
    let most = tensors.iter().map(|(_, v)| v.dim()).max().unwrap_or(0);
    let mut shape = vec![1; most];
    for (_, v) in &tensors {
        for (d, size) in v.sizes.iter().enumerate() {
            let at = most - v.dim() + d;
            shape[at] = if shape[at] == 1 { *size } else { shape[at] };
        }
    }
    let dims: Vec<usize> = tensors.iter().map(|(d, _)| *d).collect();
    let adjacent = dims.windows(2).all(|w| w[1] == w[0] + 1);
    let first = if adjacent { dims.first().copied().unwrap_or(0) } else { 0 };
    let kept = (0..rank).filter(|d| !dims.contains(d)).collect();
    Ok(Indexed { tensors, shape, first, kept })
}

impl Indexed {
    /// An index tensor's element, the broadcast shape's coordinates given.
    fn element(&self, view: &View, at: &dyn Fn(usize) -> X) -> X {
        let skip = self.shape.len() - view.dim();
        view.at((0..view.dim()).map(|d| if view.sizes[d] == 1 { int(0) } else { at(skip + d) }).collect()).i()
    }
    /// The result's coordinates: those of the indices' shape, and those of the dimensions that stay.
    fn result(&self, at: &dyn Fn(usize) -> X, kept: &dyn Fn(usize) -> X) -> Vec<X> {
        let mut coords: Vec<X> = (0..self.first).map(kept).collect();
        coords.extend((0..self.shape.len()).map(at));
        coords.extend((self.first..self.kept.len()).map(kept));
        coords
    }
}

fn index(l: &mut Lower) -> Result<()> {
    let (x, out) = (l.view("self")?, l.out(0)?);
    let how = indexed(l, x.dim())?;
    let first = how.first;
    let mut at = vec![int(0); x.dim()];
    for (k, d) in how.kept.iter().enumerate() {
        at[*d] = coord(if k < first { k } else { k + how.shape.len() });
    }
    for (d, view) in &how.tensors {
        at[*d] = wrapped(how.element(view, &|s| coord(first + s)), x.sizes[*d]);
    }
    let mut value = x.at(at);
    if let Some(mask) = l.opt_view("mask")? {
        let fill = l.as_out("fill")?;
        value = X::where_(&mask.broadcast(out.dim()).b(), &value, &fill);
    }
    l.b.pointwise(&out, value);
    Ok(())
}

fn index_put(l: &mut Lower) -> Result<()> {
    let (x, values, out) = (l.view("self")?, l.view("values")?, l.out(0)?);
    let masked = l.call.entry.base_name() == "_unsafe_masked_index_put_accumulate";
    let accumulate = masked || l.call.bool("accumulate")?;
    let how = indexed(l, x.dim())?;
    let turns: i64 = how.shape.iter().product();
    affordable(&out, turns)?;
    let mut lands = truth(true);
    for (d, view) in &how.tensors {
        lands = lands.and(&wrapped(how.element(view, &over), x.sizes[*d]).equals(&coord(*d)));
    }
    let kept = how.kept.clone();
    let ranked = how.shape.len() + kept.len();
    let element = |view: &View, at: &dyn Fn(usize) -> X| {
        let coords = how.result(at, &|k| coord(kept[k]));
        let skip = ranked - view.dim().min(ranked);
        view.at((0..view.dim()).map(|d| if view.sizes[d] == 1 { int(0) } else { coords[skip + d].clone() }).collect())
    };
    if masked && let Some(mask) = l.opt_view("mask")? {
        lands = lands.and(&element(&mask, &over).b());
    }
    landing(l, &x, &out, how.shape.clone(), lands, accumulate, &|at| element(&values, at))
}

/// What a turn brings, the turn's coordinates given.
type Landing<'a> = dyn Fn(&dyn Fn(usize) -> X) -> X + 'a;

/// What lands on every element: the sum of `value` over the turns for which `lands` holds, or the last one.
fn landing(l: &mut Lower, before: &View, out: &View, turns: Vec<i64>, lands: X, accumulate: bool, value: &Landing) -> Result<()> {
    let ty = Ty::of(out.dtype).unwrap_or(Ty::Float);
    if accumulate {
        if ty == Ty::Bool {
            return Err(Error::not_implemented("accumulating bools"));
        }
        let sum = l.b.temp(&out.sizes, if ty == Ty::Float { Dtype::Float32 } else { Dtype::Int64 });
        let body = value(&over).cast(ty);
        l.b.emit(&sum, Loop::Reduce { over: turns, combine: Combine::Sum, body, mask: Some(lands) });
        l.b.pointwise(out, before.here() + sum.here());
        return Ok(());
    }
    let last = l.b.temp(&out.sizes, Dtype::Int32);
    let strides = row_major(&turns);
    let mut position = int(0);
    for (d, stride) in strides.iter().enumerate() {
        position = position + over(d) * int(*stride);
    }
    l.b.emit(&last, Loop::Reduce { over: turns.clone(), combine: Combine::Max, body: position, mask: Some(lands) });
    let found = last.here();
    let taken = value(&|d| found.div_by(strides[d]).rem_by(turns[d]));
    l.b.pointwise(out, X::where_(&found.ge(&int(0)), &taken.cast(ty), &before.here()));
    Ok(())
}

fn scatter(l: &mut Lower) -> Result<()> {
    let (x, indices, out) = (l.view("self")?, l.view("index")?, l.out(0)?);
    if x.dim() == 0 || indices.dim() == 0 {
        return Err(Error::not_implemented("a scalar"));
    }
    let dim = wrap(l.call.int("dim")?, x.dim())?;
    let turns = indices.sizes[dim];
    affordable(&out, turns)?;
    let mut lands = truth(true);
    for d in (0..x.dim()).filter(|d| *d != dim) {
        if indices.sizes[d] < x.sizes[d] {
            lands = lands.and(&coord(d).lt(&int(indices.sizes[d])));
        }
    }
    lands = lands.and(&along(&indices, dim, over(0)).i().equals(&coord(dim)));
    let accumulate = l.call.entry.base_name() == "scatter_add";
    let constant = if l.call.entry.schema.position("value").is_some() { Some(l.as_out("value")?) } else { None };
    let src = l.opt_view("src")?;
    landing(l, &x, &out, vec![turns], lands, accumulate, &|at| match (&src, &constant) {
        (Some(src), _) => along(src, dim, at(0)),
        (None, Some(value)) => value.clone(),
        (None, None) => zero_like(&out),
    })
}

fn index_add(l: &mut Lower) -> Result<()> {
    let (x, indices, src, out) = (l.view("self")?, l.view("index")?, l.view("source")?, l.out(0)?);
    if x.dim() == 0 || indices.dim() != 1 {
        return Err(Error::not_implemented("a scalar"));
    }
    let dim = wrap(l.call.int("dim")?, x.dim())?;
    affordable(&out, indices.sizes[0])?;
    let alpha = l.as_out("alpha")?;
    let lands = indices.at(vec![over(0)]).i().equals(&coord(dim));
    landing(l, &x, &out, vec![indices.sizes[0]], lands, true, &|at| along(&src, dim, at(0)).cast(alpha.ty()) * alpha.clone())
}

fn embedding(l: &mut Lower) -> Result<()> {
    let (weight, indices, out) = (l.view("weight")?, l.view("indices")?, l.out(0)?);
    let row = indices.at((0..indices.dim()).map(coord).collect()).i();
    l.b.pointwise(&out, weight.at(vec![row, coord(indices.dim())]));
    Ok(())
}

fn embedding_backward(l: &mut Lower) -> Result<()> {
    let (g, indices, out) = (l.view("grad_output")?, l.view("indices")?, l.out(0)?);
    if l.call.bool("scale_grad_by_freq")? {
        return Err(Error::not_implemented("scaling by frequency"));
    }
    let turns: i64 = indices.sizes.iter().product();
    affordable(&out, turns)?;
    let padding = l.call.int("padding_idx")?;
    let mut at: Vec<X> = (0..indices.dim()).map(over).collect();
    let mut lands = indices.at(at.clone()).i().equals(&coord(0));
    if padding >= 0 {
        lands = lands.and(&coord(0).differs(&int(padding)));
    }
    at.push(coord(1));
    let sizes = indices.sizes.clone();
    l.b.emit(&out, Loop::Reduce { over: sizes, combine: Combine::Sum, body: g.at(at).f(), mask: Some(lands) });
    Ok(())
}

fn topk(l: &mut Lower) -> Result<()> {
    let (x, values, indices) = (l.view("self")?, l.out(0)?, l.out(1)?);
    if x.dim() == 0 {
        return Err(Error::not_implemented("a scalar"));
    }
    let dim = wrap(l.call.int("dim")?, x.dim())?;
    affordable(&x, x.sizes[dim])?;
    let descending = if l.call.entry.base_name() == "topk" { l.call.bool("largest")? } else { l.call.bool("descending")? };
    let ranks = ranks(l, &x, dim, descending);
    let lands = along(&ranks, dim, over(0)).equals(&coord(dim));
    let turns = vec![x.sizes[dim]];
    l.b.emit(&indices, Loop::Reduce { over: turns, combine: Combine::Sum, body: over(0), mask: Some(lands) });
    l.b.pointwise(&values, along(&x, dim, indices.here()));
    Ok(())
}
