//! The geometry of every view: sizes, strides and offset of the view from those of its base.
//!
//! The functions know nothing of operators, so that they serve shape rules and the replay of views alike. Sizes may be
//! symbolic; comparing them may guard. Dimensions are those of the caller's arguments, negative ones included.

use super::shapes::wrap_dim;
use diagnostics::error::{Error, Result};
use shape::{Relation, SymInt};
use tensor::{Geometry, contiguous_strides};

/// A list of sizes as messages print it: `[2, 3]`.
pub fn list(sizes: &[SymInt]) -> String {
    format!("{sizes:?}")
}

fn at_least(a: &SymInt, b: i64) -> Result<bool> {
    a.compare(Relation::Ge, &SymInt::Int(b))
}

/// The requested sizes with the one `-1` worked out, for a tensor of `count` elements.
pub fn infer_size(requested: &[SymInt], count: &SymInt) -> Result<Vec<SymInt>> {
    let (mut inferred, mut product) = (None, SymInt::Int(1));
    for (i, size) in requested.iter().enumerate() {
        if size.as_int() == Some(-1) {
            if inferred.replace(i).is_some() {
                return Err(Error::runtime("only one dimension can be inferred"));
            }
        } else if size.as_int().is_some_and(|s| s < 0) {
            return Err(Error::runtime(format!("invalid shape dimension {size} at index {i} of shape {}", list(requested))));
        } else {
            product = &product * size;
        }
    }
    let wrong = || Error::runtime(format!("shape '{}' is invalid for input of size {count}", list(requested)));
    let mut sizes = requested.to_vec();
    match inferred {
        None if product.expect_eq(count)? => {}
        None => return Err(wrong()),
        Some(i) => {
            if product.sym_eq(0)? {
                return Err(if count.sym_eq(0)? {
                    Error::runtime(format!(
                        "cannot reshape tensor of 0 elements into shape {} because the unspecified dimension size -1 can be any value and is ambiguous",
                        list(requested)
                    ))
                } else {
                    wrong()
                });
            }
            if !count.modulo(&product)?.expect_eq(&SymInt::Int(0))? {
                return Err(wrong());
            }
            sizes[i] = count.floor_div(&product)?;
        }
    }
    Ok(sizes)
}

/// Strides under which the same elements have other sizes, where there are such strides.
pub fn view_strides(base: &Geometry, sizes: &[SymInt]) -> Result<Option<Vec<SymInt>>> {
    if base.sizes.is_empty() {
        return Ok(Some(vec![SymInt::Int(1); sizes.len()]));
    }
    if base.numel().sym_eq(0)? {
        let same = SymInt::all_statically_eq(&base.sizes, sizes);
        return Ok(Some(if same { base.strides.clone() } else { contiguous_strides(sizes) }));
    }
    let mut strides = vec![SymInt::Int(0); sizes.len()];
    let mut view = sizes.len();
    let mut chunk_stride = base.strides[base.strides.len() - 1].clone();
    let (mut chunk, mut view_count) = (SymInt::Int(1), SymInt::Int(1));
    for d in (0..base.sizes.len()).rev() {
        chunk = &chunk * &base.sizes[d];
        let ends = d == 0 || (!base.sizes[d - 1].sym_eq(1)? && !base.strides[d - 1].sym_eq(&chunk * &chunk_stride)?);
        if !ends {
            continue;
        }
        while view > 0 && (view_count.compare(Relation::Lt, &chunk)? || sizes[view - 1].sym_eq(1)?) {
            strides[view - 1] = &view_count * &chunk_stride;
            view_count = &view_count * &sizes[view - 1];
            view -= 1;
        }
        if !view_count.sym_eq(chunk.clone())? {
            return Ok(None);
        }
        if d > 0 {
            chunk_stride = base.strides[d - 1].clone();
            (chunk, view_count) = (SymInt::Int(1), SymInt::Int(1));
        }
    }
    Ok((view == 0).then_some(strides))
}

/// A view with symbolic sizes, by merging and splitting dimensions from the left: so PyTorch finds its sizes and strides, and so
/// it guards. `None` where the dimensions to be merged do not lie next to each other.
pub fn symbolic_view(base: &Geometry, wanted: &[SymInt]) -> Result<Option<Geometry>> {
    let (mut sizes, mut strides) = (base.sizes.clone(), base.strides.clone());
    for (i, length) in wanted.iter().enumerate() {
        if i >= sizes.len() {
            if !length.sym_eq(1)? {
                return Ok(None);
            }
            let stride = strides.last().cloned().unwrap_or(SymInt::Int(1));
            sizes.push(SymInt::Int(1));
            strides.push(stride);
            continue;
        }
        if length.sym_eq(sizes[i].clone())? {
            continue;
        }
        if length.as_int() == Some(0) {
            return Ok(None);
        }
        let (mut end, mut whole) = (i, sizes[i].clone());
        while !whole.modulo(length)?.sym_eq(0)? {
            end += 1;
            if end == sizes.len() {
                return Ok(None);
            }
            whole = &whole * &sizes[end];
        }
        for d in i..end {
            if !strides[d].sym_eq(&sizes[d + 1] * &strides[d + 1])? {
                return Ok(None);
            }
        }
        let stride = strides[end].clone();
        sizes.splice(i..=end, [if whole.expr() == length.expr() { length.clone() } else { whole.clone() }]);
        strides.splice(i..=end, [stride.clone()]);
        if !whole.sym_eq(length.clone())? {
            let inner = whole.floor_div(length)?;
            sizes.splice(i..=i, [length.clone(), inner.clone()]);
            strides.splice(i..=i, [&inner * &stride, stride]);
        }
    }
    for d in (wanted.len()..sizes.len()).rev() {
        if !sizes[d].sym_eq(1)? {
            return Ok(None);
        }
        sizes.remove(d);
        strides.remove(d);
    }
    Ok(Some(Geometry { sizes, strides, offset: base.offset.clone() }))
}

/// `view(size)`
pub fn view(base: &Geometry, size: &[SymInt]) -> Result<Geometry> {
    let sizes = infer_size(size, &base.numel())?;
    let symbolic = base.sizes.iter().chain(&sizes).any(|s| s.as_int().is_none());
    if symbolic && base.sizes.iter().zip(&base.strides).zip(contiguous_strides(&base.sizes)).all(|((_, a), b)| a.statically_eq(b)) {
        // From and to one dimension the sizes are taken as they are wanted.
        match (base.sizes.len(), sizes.as_slice()) {
            (2.., [_]) => return Ok(Geometry { sizes: vec![base.numel()], strides: vec![SymInt::Int(1)], offset: base.offset.clone() }),
            (1, [_, inner]) => {
                let strides = vec![inner.clone(), SymInt::Int(1)];
                return Ok(Geometry { sizes, strides, offset: base.offset.clone() });
            }
            _ => {}
        }
    }
    if symbolic
        && !base.sizes.is_empty()
        && let Some(view) = symbolic_view(base, &sizes)?
    {
        return Ok(view);
    }
    let strides = view_strides(base, &sizes)?.ok_or_else(|| {
        Error::runtime(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). \
             Use .reshape(...) instead.",
        )
    })?;
    Ok(Geometry { sizes, strides, offset: base.offset.clone() })
}

/// `expand(size)`. `name` is how the tensor is named in messages.
pub fn expand(base: &Geometry, size: &[SymInt], name: &str) -> Result<Geometry> {
    if size.len() < base.sizes.len() {
        return Err(Error::runtime(format!(
            "expand({name}{{{}}}, size={}): the number of sizes provided ({}) must be greater or equal to the number of dimensions in the tensor ({})",
            list(&base.sizes),
            list(size),
            size.len(),
            base.sizes.len()
        )));
    }
    let lead = size.len() - base.sizes.len();
    if base.sizes.is_empty() {
        if size.iter().any(|s| s.as_int() == Some(-1)) {
            return Err(Error::runtime("numel: integer multiplication overflow"));
        }
        return Ok(Geometry { sizes: size.to_vec(), strides: vec![SymInt::Int(0); size.len()], offset: base.offset.clone() });
    }
    let (mut sizes, mut strides) = (size.to_vec(), vec![SymInt::Int(0); size.len()]);
    for i in (0..size.len()).rev() {
        let (have, mut stride) = match i.checked_sub(lead) {
            Some(d) => (base.sizes[d].clone(), base.strides[d].clone()),
            None if i + 1 < size.len() => (SymInt::Int(1), &sizes[i + 1] * &strides[i + 1]),
            None => (SymInt::Int(1), SymInt::Int(1)),
        };
        if size[i].as_int() == Some(-1) {
            if i < lead {
                return Err(Error::runtime(format!(
                    "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
                )));
            }
            sizes[i] = have;
        } else if !have.sym_eq(size[i].clone())? {
            if !have.sym_eq(1)? {
                return Err(Error::runtime(format!(
                    "The expanded size of the tensor ({}) must match the existing size ({have}) at non-singleton dimension {i}.  Target sizes: {}.  Tensor sizes: {}",
                    size[i],
                    list(size),
                    list(&base.sizes)
                )));
            }
            stride = SymInt::Int(0);
        } else {
            sizes[i] = have;
        }
        strides[i] = stride;
    }
    Ok(Geometry { sizes, strides, offset: base.offset.clone() })
}

/// `permute(dims)`
pub fn permute(base: &Geometry, dims: &[i64]) -> Result<Geometry> {
    let n = base.sizes.len();
    if dims.len() != n {
        return Err(Error::runtime(format!(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. input.dim() = {n} is not equal to len(dims) = {}",
            dims.len()
        )));
    }
    let mut seen = vec![false; n];
    let mut out = Geometry { sizes: Vec::with_capacity(n), strides: Vec::with_capacity(n), offset: base.offset.clone() };
    for dim in dims {
        let d = wrap_dim(*dim, n)?;
        if std::mem::replace(&mut seen[d], true) {
            return Err(Error::runtime("permute(): duplicate dims are not allowed."));
        }
        out.sizes.push(base.sizes[d].clone());
        out.strides.push(base.strides[d].clone());
    }
    Ok(out)
}

/// `transpose(dim0, dim1)`
pub fn transpose(base: &Geometry, dim0: i64, dim1: i64) -> Result<Geometry> {
    let n = base.sizes.len();
    let (a, b) = (wrap_dim(dim0, n)?, wrap_dim(dim1, n)?);
    let mut out = base.clone();
    if a != b {
        out.sizes.swap(a, b);
        out.strides.swap(a, b);
    }
    Ok(out)
}

/// `t()`
pub fn t(base: &Geometry) -> Result<Geometry> {
    match base.sizes.len() {
        0 | 1 => Ok(base.clone()),
        2 => transpose(base, 0, 1),
        n => Err(Error::runtime(format!("t() expects a tensor with <= 2 dimensions, but self is {n}D"))),
    }
}

/// `squeeze(dims)`; `None` means every dimension.
pub fn squeeze(base: &Geometry, dims: Option<&[i64]>) -> Result<Geometry> {
    let n = base.sizes.len();
    let mut chosen = vec![dims.is_none(); n.max(1)];
    for dim in dims.unwrap_or_default() {
        let d = wrap_dim(*dim, n)?;
        if std::mem::replace(&mut chosen[d], true) {
            return Err(Error::runtime(format!("dim {d} appears multiple times in the list of dims")));
        }
    }
    let mut out = Geometry { sizes: Vec::new(), strides: Vec::new(), offset: base.offset.clone() };
    for d in 0..n {
        if !(chosen[d] && base.sizes[d].sym_eq(1)?) {
            out.sizes.push(base.sizes[d].clone());
            out.strides.push(base.strides[d].clone());
        }
    }
    Ok(out)
}

/// `unsqueeze(dim)`
pub fn unsqueeze(base: &Geometry, dim: i64) -> Result<Geometry> {
    let d = wrap_dim(dim, base.sizes.len() + 1)?;
    let stride = match base.sizes.get(d) {
        Some(size) => size * &base.strides[d],
        None => SymInt::Int(1),
    };
    let mut out = base.clone();
    out.sizes.insert(d, SymInt::Int(1));
    out.strides.insert(d, stride);
    Ok(out)
}

/// `select(dim, index)`
pub fn select(base: &Geometry, dim: i64, index: &SymInt) -> Result<Geometry> {
    let n = base.sizes.len();
    if n == 0 {
        return Err(Error::index("select() cannot be applied to a 0-dim tensor."));
    }
    let d = wrap_dim(dim, n)?;
    let size = &base.sizes[d];
    let negative = index.compare(Relation::Lt, &SymInt::Int(0))?;
    let place = if negative { index + size } else { index.clone() };
    // What only the run knows is found out there.
    if !at_least(&place, 0)? || !place.holds_or(Relation::Lt, size, true)? {
        return Err(Error::index(format!(
            "select(): index {index} out of range for tensor of size {} at dimension {d}",
            list(&base.sizes)
        )));
    }
    let mut out = base.clone();
    out.sizes.remove(d);
    let stride = out.strides.remove(d);
    out.offset = &out.offset + &(&place * &stride);
    Ok(out)
}

/// Where an index of a slice leads in a dimension, where one of the two is known only when the program runs; none where that leaves too
/// much open.
fn unbacked_place(size: &SymInt, index: &SymInt) -> Result<Option<SymInt>> {
    let zero = SymInt::Int(0);
    let holds = |a: &SymInt, relation: Relation, b: &SymInt| a.holds_or(relation, b, false);
    let from_end = index + size;
    Ok(if holds(index, Relation::Ge, &zero)? && holds(index, Relation::Le, size)? {
        Some(index.clone())
    } else if holds(index, Relation::Lt, &zero)? && holds(&from_end, Relation::Ge, &zero)? {
        Some(from_end)
    } else if holds(&from_end, Relation::Lt, &zero)? {
        Some(zero)
    } else if holds(index, Relation::Gt, size)? {
        Some(size.clone())
    } else if holds(index, Relation::Ge, &zero)? {
        Some(index.min(size))
    } else if holds(index, Relation::Lt, &zero)? {
        Some(from_end.max(&zero))
    } else {
        None
    })
}

/// Start and length of `slice(dim, start, end, step)` in a dimension of the given size, clamped to it.
pub fn slice_range(size: &SymInt, start: Option<&SymInt>, end: Option<&SymInt>, step: &SymInt) -> Result<(SymInt, SymInt)> {
    if !at_least(step, 1)? {
        return Err(Error::runtime("slice step must be positive"));
    }
    let clamp = |given: &SymInt| -> Result<SymInt> {
        if given.as_int() == Some(i64::MAX) || given.statically_eq(size.clone()) {
            return Ok(size.clone());
        }
        if (given.hint().is_none() || size.hint().is_none())
            && let Some(place) = unbacked_place(size, given)?
        {
            return Ok(place);
        }
        let mut place = given.clone();
        if place.compare(Relation::Lt, &SymInt::Int(0))? {
            place = &place + size;
            if place.compare(Relation::Lt, &SymInt::Int(0))? {
                place = SymInt::Int(0);
            }
        }
        Ok(if place.compare(Relation::Gt, size)? { size.clone() } else { place })
    };
    let first = start.map_or(Ok(SymInt::Int(0)), clamp)?;
    let mut last = end.map_or(Ok(size.clone()), clamp)?;
    if last.hint().is_none() || first.hint().is_none() {
        let is_ordered = last.holds_or(Relation::Ge, &first, false)?;
        if !is_ordered && first.holds_or(Relation::Ge, &last, false)? {
            last = first.clone();
        } else if !is_ordered {
            last = &first + &(&last - &first).max(&SymInt::Int(0));
        }
    } else if last.as_int().is_none_or(|l| first.as_int() != Some(0) || l < 0) && last.compare(Relation::Lt, &first)? {
        last = first.clone();
    }
    let length = (&(&last - &first) + &(step - 1)).floor_div(step)?;
    Ok((first, length))
}

/// `slice(dim, start, end, step)`
pub fn slice(base: &Geometry, dim: i64, start: Option<&SymInt>, end: Option<&SymInt>, step: &SymInt) -> Result<Geometry> {
    if base.sizes.is_empty() {
        return Err(Error::index("slice() cannot be applied to a 0-dim tensor."));
    }
    let d = wrap_dim(dim, base.sizes.len())?;
    let (first, length) = slice_range(&base.sizes[d], start, end, step)?;
    let mut out = base.clone();
    out.offset = &out.offset + &(&first * &out.strides[d]);
    out.sizes[d] = length;
    out.strides[d] = &out.strides[d] * step;
    Ok(out)
}

/// `narrow(dim, start, length)` without checks of its own.
pub fn narrow(base: &Geometry, dim: usize, start: &SymInt, length: &SymInt) -> Geometry {
    let mut out = base.clone();
    out.offset = &out.offset + &(start * &out.strides[dim]);
    out.sizes[dim] = length.clone();
    out
}

/// `diagonal(offset, dim1, dim2)`
pub fn diagonal(base: &Geometry, offset: i64, dim1: i64, dim2: i64) -> Result<Geometry> {
    let n = base.sizes.len();
    let (a, b) = (wrap_dim(dim1, n)?, wrap_dim(dim2, n)?);
    if a == b {
        return Err(Error::runtime(format!("diagonal dimensions cannot be identical {dim1}, {dim2}")));
    }
    let zero = SymInt::Int(0);
    let (rows, columns) = (&base.sizes[a], &base.sizes[b]);
    let length = if offset >= 0 { rows.min(&(columns - offset)).max(&zero) } else { (rows + offset).min(columns).max(&zero) };
    let mut out = base.clone();
    if !length.statically_eq(0) {
        let shift = if offset >= 0 { &base.strides[b] * offset } else { &base.strides[a] * -offset };
        out.offset = &out.offset + &shift;
    }
    let stride = &base.strides[a] + &base.strides[b];
    for d in [a.max(b), a.min(b)] {
        out.sizes.remove(d);
        out.strides.remove(d);
    }
    out.sizes.push(length);
    out.strides.push(stride);
    Ok(out)
}

/// `unfold(dim, size, step)`
pub fn unfold(base: &Geometry, dim: i64, size: i64, step: i64) -> Result<Geometry> {
    let d = wrap_dim(dim, base.sizes.len())?;
    let most = base.sizes.get(d).cloned().unwrap_or(SymInt::Int(1));
    if size < 0 {
        return Err(Error::runtime(format!("size is {size} but must be >= 0")));
    }
    if SymInt::Int(size).compare(Relation::Gt, &most)? {
        return Err(Error::runtime(format!("maximum size for tensor at dimension {d} is {most} but size is {size}")));
    }
    if step <= 0 {
        return Err(Error::runtime(format!("step is {step} but must be > 0")));
    }
    let mut out = base.clone();
    out.sizes.push(SymInt::Int(size));
    out.strides.push(base.strides.get(d).cloned().unwrap_or(SymInt::Int(1)));
    if d < base.sizes.len() {
        out.sizes[d] = &(&most - size).floor_div(&SymInt::Int(step))? + 1;
        let stride = &base.strides[d];
        if stride.as_int().is_some_and(|stride| stride.checked_mul(step).is_none()) {
            return Err(Error::runtime(format!("unfold: a step of {step} over a stride of {stride} overflows")));
        }
        out.strides[d] = stride * step;
    }
    Ok(out)
}

/// `as_strided(size, stride, storage_offset)`
pub fn as_strided(base: &Geometry, size: &[SymInt], stride: &[SymInt], offset: Option<&SymInt>) -> Result<Geometry> {
    if size.len() != stride.len() {
        return Err(Error::runtime("mismatch in length of strides and shape"));
    }
    if stride.iter().any(|s| s.as_int().is_some_and(|s| s < 0)) {
        return Err(Error::runtime(format!("as_strided: Negative strides are not supported at the moment, got strides: {}", list(stride))));
    }
    let offset = offset.unwrap_or(&base.offset);
    if offset.as_int().is_some_and(|offset| offset < 0) {
        return Err(Error::runtime(format!("Tensor: invalid storage offset {offset}")));
    }
    let reach = |(size, stride): (&SymInt, &SymInt)| {
        size.as_int().zip(stride.as_int()).map_or(Some(0), |(size, stride)| size.saturating_sub(1).checked_mul(stride))
    };
    let is_empty = size.iter().any(|size| size.as_int() == Some(0));
    if !is_empty && size.iter().zip(stride).map(reach).try_fold(0i64, |all, one| all.checked_add(one?)).is_none() {
        return Err(Error::runtime(format!("Storage size calculation overflowed with sizes={} and strides={}", list(size), list(stride))));
    }
    Ok(Geometry { sizes: size.to_vec(), strides: stride.to_vec(), offset: offset.clone() })
}

/// `split_with_sizes(sizes, dim)`
pub fn split_with_sizes(base: &Geometry, sizes: &[SymInt], dim: i64) -> Result<Vec<Geometry>> {
    if base.sizes.is_empty() {
        return Err(Error::runtime("split expects at least a 1-dimensional tensor"));
    }
    let d = wrap_dim(dim, base.sizes.len())?;
    if sizes.iter().any(|s| s.as_int().is_some_and(|s| s < 0)) {
        return Err(Error::runtime(format!(
            "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={}",
            list(sizes)
        )));
    }
    let total = sizes.iter().fold(SymInt::Int(0), |n, s| &n + s);
    if !total.sym_eq(base.sizes[d].clone())? {
        return Err(Error::runtime(format!(
            "split_with_sizes expects split_sizes to sum exactly to {} (input tensor's size at dimension {dim}), but got split_sizes={}",
            base.sizes[d],
            list(sizes)
        )));
    }
    let mut start = SymInt::Int(0);
    Ok(sizes
        .iter()
        .map(|size| {
            let part = narrow(base, d, &start, size);
            start = &start + size;
            part
        })
        .collect())
}

/// The sizes of the parts of `split(split_size, dim)`.
pub fn split_sizes(base: &Geometry, split_size: &SymInt, dim: i64) -> Result<Vec<SymInt>> {
    if base.sizes.is_empty() {
        return Err(Error::runtime("split expects at least a 1-dimensional tensor"));
    }
    if split_size.as_int().is_some_and(|s| s < 0) {
        return Err(Error::runtime(format!("split expects split_size be non-negative, but got split_size={split_size}")));
    }
    let total = &base.sizes[wrap_dim(dim, base.sizes.len())?];
    if split_size.sym_eq(0)? {
        if !total.sym_eq(0)? {
            return Err(Error::runtime(format!("split_size can only be 0 if dimension size is 0, but got dimension size of {total}")));
        }
        return Ok(vec![SymInt::Int(0)]);
    }
    let count = (&(total + split_size) - 1).floor_div(split_size)?.guard_int()?.max(1);
    tensor::check_count(count)?;
    let mut sizes = vec![split_size.clone(); count as usize];
    sizes[count as usize - 1] = total - &(split_size * (count - 1));
    Ok(sizes)
}

/// `unbind(dim)`
pub fn unbind(base: &Geometry, dim: i64) -> Result<Vec<Geometry>> {
    let d = wrap_dim(dim, base.sizes.len())?;
    if base.sizes.is_empty() {
        return Err(Error::index("Dimension specified as 0 but tensor has no dimensions"));
    }
    let count = base.sizes[d].guard_int()?;
    tensor::check_count(count)?;
    (0..count).map(|i| select(base, dim, &SymInt::Int(i))).collect()
}

/// The geometry of a base read as elements of another size (`view.dtype`).
pub fn reinterpret(base: &Geometry, from: usize, to: usize, names: (&str, &str)) -> Result<Geometry> {
    let mut out = base.clone();
    let Some(last) = out.sizes.len().checked_sub(1) else {
        if from == to {
            return Ok(out);
        }
        return Err(Error::runtime(format!("self.dim() cannot be 0 to view {} as {} (different element sizes)", names.0, names.1)));
    };
    if from == to {
        return Ok(out);
    }
    let dense_rows = |out: &Geometry| -> Result<()> {
        if out.strides[last].sym_eq(1)? {
            return Ok(());
        }
        Err(Error::runtime(format!(
            "self.stride(-1) must be 1 to view {} as {} (different element sizes), but got {}",
            names.0, names.1, out.strides[last]
        )))
    };
    if from > to {
        dense_rows(&out)?;
        let ratio = (from / to) as i64;
        for s in &mut out.strides[..last] {
            *s = &*s * ratio;
        }
        out.offset = &out.offset * ratio;
        out.sizes[last] = &out.sizes[last] * ratio;
        return Ok(out);
    }
    let ratio = SymInt::Int((to / from) as i64);
    if !out.sizes[last].modulo(&ratio)?.sym_eq(0)? {
        return Err(Error::runtime(format!(
            "self.size(-1) must be divisible by {ratio} to view {} as {} (different element sizes), but got {}",
            names.0, names.1, out.sizes[last]
        )));
    }
    if !out.offset.modulo(&ratio)?.sym_eq(0)? {
        return Err(Error::runtime(format!(
            "self.storage_offset() must be divisible by {ratio} to view {} as {} (different element sizes), but got {}",
            names.0, names.1, out.offset
        )));
    }
    dense_rows(&out)?;
    for (i, s) in out.strides[..last].iter_mut().enumerate() {
        if !s.modulo(&ratio)?.sym_eq(0)? {
            return Err(Error::runtime(format!(
                "self.stride({i}) must be divisible by {ratio} to view {} as {} (different element sizes), but got {s}",
                names.0, names.1
            )));
        }
        *s = s.floor_div(&ratio)?;
    }
    out.sizes[last] = out.sizes[last].floor_div(&ratio)?;
    out.offset = out.offset.floor_div(&ratio)?;
    Ok(out)
}

/// Strides of a tensor of the same sizes that lies densely, with dimensions in the same order in memory
/// (`torch.preserve_format`): the same strides where they are dense and do not overlap already.
pub fn preserved_strides(g: &Geometry) -> Vec<SymInt> {
    let n = g.sizes.len();
    let (size, stride) = (|d: usize| g.sizes[d].hint().unwrap_or(2), |d: usize| g.strides[d].hint().unwrap_or(1));
    let mut order: Vec<usize> = (0..n).filter(|d| size(*d) != 1).collect();
    order.sort_by_key(|d| stride(*d));
    let mut expected = 1;
    let dense = order.iter().all(|d| {
        let fits = stride(*d) == expected;
        expected *= size(*d);
        fits
    });
    if dense && g.numel().hint() != Some(0) {
        return g.strides.clone();
    }
    dense_strides(&g.sizes, &[g.strides.iter().map(|s| s.hint().unwrap_or(1)).collect()])
}

/// Dense strides with dimensions in the order in memory that operands of these strides suggest; the first that has an
/// opinion (no stride of zero) decides, and dimensions nobody has one about keep their place.
pub fn dense_strides(sizes: &[SymInt], operands: &[Vec<i64>]) -> Vec<SymInt> {
    let n = sizes.len();
    let out_of_order = |inner: usize, outer: usize| -> Option<bool> {
        for strides in operands {
            let (a, b) = (strides[inner], strides[outer]);
            if a == 0 || b == 0 {
                continue;
            }
            if a != b {
                return Some(a > b);
            }
            if sizes[inner].hint() > sizes[outer].hint() {
                return Some(true);
            }
        }
        None
    };
    let mut order: Vec<usize> = (0..n).rev().collect();
    for i in 1..n {
        let mut at = i;
        for before in (0..i).rev() {
            match out_of_order(order[before], order[at]) {
                Some(true) => {
                    order.swap(before, at);
                    at = before;
                }
                Some(false) => break,
                None => {}
            }
        }
    }
    // In row-major order an empty dimension counts as one; in any other order strides are products of sizes as they are.
    let row_major = order.iter().rev().copied().eq(0..n);
    let mut strides = vec![SymInt::Int(1); n];
    let mut next = SymInt::Int(1);
    for d in order {
        strides[d] = next.clone();
        next = if row_major { &next * &sizes[d].max(&SymInt::Int(1)) } else { &next * &sizes[d] };
    }
    strides
}

/// Whether two lists of sizes are equal. May guard.
pub fn same_sizes(a: &[SymInt], b: &[SymInt]) -> Result<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (x, y) in a.iter().zip(b) {
        if !x.sym_eq(y.clone())? {
            return Ok(false);
        }
    }
    Ok(true)
}
