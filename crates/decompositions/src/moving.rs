//! Operators that move elements: joining, rotating, triangles.

use super::expr::*;
use super::table::{Decomposed, Table};
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Call, Value, compare_sizes, remainder_sizes, subtract_sizes};
use operators::shapes::{result_type, wrap_dim, wrap_dims};
use shape::{Relation, SymInt};
use tensor::{Dtype, MemoryFormat, Tensor};

/// Registers the rules.
pub fn register(table: &mut Table) {
    table.add("aten.cat.default", cat);
    table.add("aten.stack.default", stack);
    table.add("aten.flip.default", |c| {
        let x = c.tensor("self")?;
        if x.dim() == 0 {
            return done(t!("clone", x)?);
        }
        let along = c.ints("dims")?;
        let along = if along.is_empty() { Vec::new() } else { wrap_dims(&along, x.dim())? };
        done(t!("prims.rev", x, dims(&along))?)
    });
    table.add("aten.block_diag.default", block_diag);
    table.add("aten.linalg_cross.default", cross);
    table.add("aten.roll.default", roll);
    table.add("aten.rot90.default", rot90);
    table.add("aten.tril.default", |c| triangle(c, |d, k| le(d, k)));
    table.add("aten.triu.default", |c| triangle(c, |d, k| ge(d, k)));
    table.add("aten.diag_embed.default", diag_embed);
    table.add("aten.pixel_shuffle.default", |c| shuffled(c, true));
    table.add("aten.pixel_unshuffle.default", |c| shuffled(c, false));
    table.add("aten.channel_shuffle.default", |c| {
        let (x, groups) = (c.tensor("self")?, c.int("groups")?);
        let mut sizes = x.sizes();
        let each = sizes[1].guard_int()? / groups;
        sizes.splice(1..2, [groups.into(), each.into()]);
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.swap(1, 2);
        let moved = t!("permute", t!("reshape", x, sizes)?, dims(&order))?;
        done(t!("reshape", moved, x.sizes())?)
    });
}

/// One tensor is copied, empty ones are left out, the same one several times is expanded.
fn cat(c: &Call) -> Decomposed {
    let (tensors, dim) = (c.tensors("tensors")?, c.int("dim")?);
    let is_nothing = |size: &SymInt| -> Result<bool> {
        compare_sizes(size, Relation::Eq, &0.into())?;
        Ok(size.as_int() == Some(0))
    };
    let mut kept = Vec::new();
    for t in &tensors {
        let at = wrap_dim(dim, t.dim()).ok();
        if !(t.dim() == 1 && is_nothing(&t.size(0))?) && !at.map_or(Ok(false), |d| is_nothing(&t.size(d)))? {
            kept.push(t.clone());
        }
    }
    if let [only] = &kept[..] {
        let values: Vec<Value> = tensors.iter().map(Value::from).collect();
        let dtype = result_type(&values.iter().collect::<Vec<_>>())?;
        return if dtype == only.dtype() { done(t!("clone", only)?) } else { done(t!("_to_copy", only; dtype = dtype)?) };
    }
    if kept.len() > 1 && kept.len() < tensors.len() {
        return done(t!("cat", kept, dim)?);
    }
    if kept.len() > 1 && kept.iter().all(|t| t.is(&kept[0])) {
        let x = &kept[0];
        let at = wrap_dim(dim, x.dim())?;
        let mut sizes = x.sizes();
        sizes.insert(at, (kept.len() as i64).into());
        let wide = t!("expand", t!("unsqueeze", x, at)?, sizes)?;
        return done(t!("clone", t!("flatten.using_ints", wide, at, at + 1)?)?);
    }
    Ok(None)
}

fn stack(c: &Call) -> Decomposed {
    let tensors = c.tensors("tensors")?;
    let Some(first) = tensors.first() else { return Ok(None) };
    let dim = wrap_dim(c.int("dim")?, first.dim() + 1)?;
    if dim < first.dim() {
        let mut sizes = first.sizes();
        sizes.insert(dim, (tensors.len() as i64).into());
        let joined = t!("cat", tensors, dim)?;
        return done(t!("view", joined, sizes)?);
    }
    let wide = tensors.iter().map(|t| t!("unsqueeze", t, dim)).collect::<Result<Vec<_>>>()?;
    done(t!("cat", wide, c.get("dim"))?)
}

/// Each block between zeros, one above the other.
fn block_diag(c: &Call) -> Decomposed {
    let mut blocks = Vec::new();
    for x in c.tensors("tensors")? {
        blocks.push(if x.dim() <= 1 { t!("view", x, vec![1i64, -1])? } else { x.clone() });
    }
    let mut columns = 0;
    for x in &blocks {
        columns += x.size(1).guard_int()?;
    }
    let (mut rows, mut start) = (Vec::new(), 0);
    for x in &blocks {
        let (height, width) = (x.size(0).guard_int()?, x.size(1).guard_int()?);
        let left = full(vec![height, start], 0, x.dtype(), x.device())?;
        let right = full(vec![height, columns - start - width], 0, x.dtype(), x.device())?;
        rows.push(t!("cat", vec![left, x.clone(), right], 1)?);
        start += width;
    }
    done(t!("cat", rows)?)
}

fn roll(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    if x.numel().as_int() == Some(0) {
        return done(t!("clone", x)?);
    }
    let (shifts, along) = (c.ints("shifts")?, c.ints("dims")?);
    if along.is_empty() && shifts.len() == 1 {
        let flat = t!("flatten.using_ints", x)?;
        return done(t!("view", t!("roll", flat, shifts, vec![0i64])?, x.sizes())?);
    }
    if shifts.len() != along.len() || shifts.is_empty() || x.dim() == 0 {
        return Ok(None);
    }
    if shifts.len() > 1 {
        let first = t!("roll", x, vec![shifts[0]], vec![along[0]])?;
        return done(t!("roll", first, &shifts[1..], &along[1..])?);
    }
    let dim = wrap_dim(along[0], x.dim())?;
    let size = x.size(dim);
    let start = remainder_sizes(&subtract_sizes(&size, &shifts[0].into())?, &size)?;
    let places = arange(0, size.clone(), x.device())?;
    let places = t!("fmod.Scalar", add(places, start)?, size)?;
    done(t!("index_select", x, dim, places)?)
}

fn cross(c: &Call) -> Decomposed {
    let (a, b, dim) = (c.tensor("self")?, c.tensor("other")?, c.get("dim"));
    if a.dim() != b.dim() || format!("{:?}", a.sizes()) != format!("{:?}", b.sizes()) {
        return Ok(None);
    }
    let places = iota(3, 0, 1, Dtype::Int64, a.device())?;
    let turned = |x: &Tensor, by: i64| t!("index_select", x, dim, t!("remainder.Scalar", add(&places, by)?, 3)?);
    let forth = mul(turned(a, 1)?, turned(b, 2)?)?;
    let back = mul(turned(a, 2)?, turned(b, 1)?)?;
    done(sub(forth, back)?)
}

fn rot90(c: &Call) -> Decomposed {
    let (x, along) = (c.tensor("self")?, wrap_dims(&c.ints("dims")?, c.tensor("self")?.dim())?);
    let [a, b] = along[..] else { return Ok(None) };
    done(match c.int("k")?.rem_euclid(4) {
        1 => t!("transpose.int", t!("flip", x, dims(&[b]))?, a, b)?,
        2 => t!("flip", x, dims(&[a, b]))?,
        3 => t!("transpose.int", t!("flip", x, dims(&[a]))?, a, b)?,
        _ => t!("clone", x; memory_format = MemoryFormat::Contiguous)?,
    })
}

/// Elements whose column less their row is on one side of a diagonal.
fn triangle(c: &Call, side: fn(&Tensor, &Value) -> Result<Tensor>) -> Decomposed {
    let x = c.tensor("self")?;
    if x.dim() < 2 {
        return Ok(None);
    }
    let (rows, columns) = (x.size(x.dim() - 2), x.size(x.dim() - 1));
    let columns = t!("unsqueeze", arange(0, columns, x.device())?, -2)?;
    let rows = t!("unsqueeze", arange(0, rows, x.device())?, -1)?;
    let kept = side(&sub(columns, rows)?, c.get("diagonal"))?;
    let made = if x.dtype() == Dtype::Bool { t!("logical_and", kept, x)? } else { choose(&kept, x, 0)? };
    done(contiguous(&made, MemoryFormat::Contiguous)?)
}

fn diag_embed(c: &Call) -> Decomposed {
    let (x, mut offset) = (c.tensor("self")?, c.int("offset")?);
    let rank = x.dim() + 1;
    let (mut a, mut b) = (wrap_dim(c.int("dim1")?, rank)?, wrap_dim(c.int("dim2")?, rank)?);
    if a > b {
        (a, b) = (b, a);
        offset = -offset;
    }
    let (mut made, mut length) = (x.clone(), x.size(x.dim() - 1));
    if offset != 0 {
        let mut sizes = x.sizes();
        let end = sizes.len() - 1;
        sizes[end] = offset.abs().into();
        let zeros = new_full(x, sizes, 0)?;
        made = t!("cat", if offset > 0 { vec![zeros, made] } else { vec![made, zeros] }, -1)?;
        length = &length + offset.abs();
    }
    // The diagonal as one of the two dimensions, broadcast along the other.
    let mut order: Vec<usize> = (0..rank - 1).collect();
    order.insert(b, rank - 1);
    let moved = t!("permute", t!("unsqueeze", made, a)?, dims(&order))?;
    let across = iota(&length, 0, 1, Dtype::Int64, x.device())?;
    let down = t!("unsqueeze", iota(&length, offset, 1, Dtype::Int64, x.device())?, -1)?;
    let hit = t!("eq.Tensor", across, down)?;
    let mut shape = vec![Value::from(1); rank];
    (shape[a], shape[b]) = (Value::Int(length.clone()), Value::Int(length));
    done(contiguous(&choose(&t!("reshape", hit, Value::List(shape))?, moved, 0)?, MemoryFormat::Contiguous)?)
}

/// Channels to pixels, or pixels to channels.
fn shuffled(c: &Call, up: bool) -> Decomposed {
    let x = c.tensor("self")?;
    let factor = if up { c.int("upscale_factor")? } else { c.int("downscale_factor")? };
    let sizes = x.sizes();
    let lead = sizes.len() - 3;
    let [channels, height, width] = [sizes[lead].guard_int()?, sizes[lead + 1].guard_int()?, sizes[lead + 2].guard_int()?];
    let (split, order, made) = if up {
        let c = channels / (factor * factor);
        ([c, factor, factor, height, width, 0], [0, 3, 1, 4, 2], [c, height * factor, width * factor])
    } else {
        let (h, w) = (height / factor, width / factor);
        ([channels, h, factor, w, factor, 0], [0, 2, 4, 1, 3], [channels * factor * factor, h, w])
    };
    let with_lead = |rest: &[i64]| -> Value {
        Value::List(sizes[..lead].iter().map(Value::from).chain(rest.iter().map(|n| Value::from(*n))).collect())
    };
    let order: Vec<usize> = (0..lead).chain(order.iter().map(|d| d + lead)).collect();
    let moved = t!("permute", t!("view", x, with_lead(&split[..5]))?, dims(&order))?;
    let made = t!("reshape", moved, with_lead(&made))?;
    done(t!("clone", made; memory_format = suggested_format(x)?)?)
}
