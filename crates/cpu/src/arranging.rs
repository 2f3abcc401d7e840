//! Kernels that only move elements: joining, repeating, flipping, padding, scattering a part into a whole. They work on the
//! elements' bytes, so that they serve every dtype.

use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value};
use operators::geometry as geo;
use operators::scatters::region;
use operators::shapes::wrap_dim;
use shape::{SymInt, concrete, ints};
use tensor::strided::{dense_bytes, for_each_offset, number_at, write_dense};
use tensor::{Dtype, Geometry, Number, Tensor};

/// Sizes and strides of a geometry in numbers.
fn numbers_of(g: &Geometry) -> Result<(Vec<usize>, Vec<isize>, usize)> {
    let sizes = concrete(&g.sizes)?.into_iter().map(|v| v as usize).collect();
    let strides = concrete(&g.strides)?.into_iter().map(|v| v as isize).collect();
    Ok((sizes, strides, g.offset.guard_int()? as usize))
}

/// Writes dense elements of `n` bytes where a geometry says.
fn place(whole: &mut [u8], g: &Geometry, n: usize, part: &[u8]) -> Result<()> {
    let (sizes, strides, offset) = numbers_of(g)?;
    let (mut chunks, mut inside) = (part.chunks_exact(n), true);
    for_each_offset(&sizes, &strides, offset, &mut |o| {
        let Some(chunk) = chunks.next() else { return };
        let start = o.checked_mul(n).filter(|start| *start < whole.len());
        match start.and_then(|start| whole.get_mut(start..start + n)) {
            Some(to) => to.copy_from_slice(chunk),
            None => inside = false,
        }
    });
    if inside { Ok(()) } else { Err(Error::runtime("a region reaches beyond the tensor that it is part of")) }
}

/// The elements of `n` bytes that a geometry over dense bytes selects, in its order.
fn pick(whole: &[u8], sizes: &[usize], strides: &[isize], offset: usize, n: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(tensor::elements(sizes) * n);
    for_each_offset(sizes, strides, offset, &mut |o| out.extend_from_slice(whole.get(o * n..o * n + n).unwrap_or_default()));
    out
}

/// Dense bytes of a tensor, converted to a dtype.
pub fn dense_as(tensor: &Tensor, dtype: Dtype) -> Result<Vec<u8>> {
    let bytes = dense_bytes(tensor)?;
    if tensor.dtype() == dtype {
        return Ok(bytes);
    }
    let from = tensor.dtype();
    Ok((0..bytes.len() / from.itemsize()).flat_map(|i| number_at(&bytes, i, from).to_bytes(dtype)).collect())
}

/// A Python number (or the value of a one-element tensor) as bytes of a dtype.
pub fn scalar_bytes(value: &Value, dtype: Dtype) -> Result<Vec<u8>> {
    Ok(fitting(value, dtype)?.to_bytes(dtype))
}

/// Refuses a number that elements of a dtype cannot hold, as PyTorch's conversion of scalars does.
pub fn check_fits(value: &Value, dtype: Dtype) -> Result<()> {
    fitting(value, dtype).map(|_| ())
}

/// The dtype that a kernel takes its numbers as: those of short floats compute in single precision.
pub fn computed_in(dtype: Dtype) -> Dtype {
    if matches!(dtype, Dtype::Float16 | Dtype::BFloat16) { Dtype::Float32 } else { dtype }
}

fn fitting(value: &Value, dtype: Dtype) -> Result<Number> {
    let number = match value {
        Value::Bool(b) => Number::Bool(*b),
        Value::Int(i) => Number::Int(i.guard_int()?),
        Value::Float(f) => Number::Float(*f),
        Value::Complex(re, im) => Number::Complex(*re, *im),
        Value::Tensor(t) => {
            let bytes = dense_bytes(t)?;
            if bytes.is_empty() {
                return Err(Error::runtime("a Tensor with 0 elements cannot be converted to Scalar"));
            }
            number_at(&bytes, 0, t.dtype())
        }
        other => return Err(Error::type_error(format!("expected a number, not {}", other.kind()))),
    };
    if matches!(number, Number::Complex(..)) && !dtype.is_complex() || number.overflows(dtype) {
        let name = dtype.c_name().replace("at::", "c10::");
        return Err(Error::runtime(format!("value cannot be converted to type {name} without overflow")));
    }
    Ok(number)
}

fn cat(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (out, tensors) = (&outs[0], call.tensors("tensors")?);
    let whole = Geometry::contiguous(out.sizes());
    let n = out.dtype().itemsize();
    let mut bytes = vec![0; whole.numel().guard_int()? as usize * n];
    let d = wrap_dim(call.int("dim")?, out.dim())?;
    let mut start = SymInt::Int(0);
    for tensor in &tensors {
        let sizes = tensor.sizes();
        if sizes.len() == 1 && sizes[0].statically_eq(0) {
            continue;
        }
        place(&mut bytes, &geo::narrow(&whole, d, &start, &sizes[d]), n, &dense_as(tensor, out.dtype())?)?;
        start = &start + &sizes[d];
    }
    write_dense(out, &bytes)
}

fn stack(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (out, dim) = (&outs[0], call.int("dim")?);
    let whole = Geometry::contiguous(out.sizes());
    let n = out.dtype().itemsize();
    let mut bytes = vec![0; whole.numel().guard_int()? as usize * n];
    for (i, tensor) in call.tensors("tensors")?.iter().enumerate() {
        place(&mut bytes, &geo::select(&whole, dim, &SymInt::Int(i as i64))?, n, &dense_as(tensor, out.dtype())?)?;
    }
    write_dense(out, &bytes)
}

fn repeat(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, out) = (call.tensor("self")?, &outs[0]);
    let n = out.dtype().itemsize();
    let (sizes, bytes) = (concrete(&out.sizes())?, dense_bytes(tensor)?);
    let lead = sizes.len() - tensor.dim();
    let own = tensor.concrete()?.sizes;
    let mut strides = vec![0usize; sizes.len()];
    let mut step = 1;
    for d in (0..own.len()).rev() {
        strides[lead + d] = step;
        step *= own[d];
    }
    let total = out.numel().guard_int()?;
    let mut result = Vec::with_capacity(total as usize * n);
    let mut index = vec![0i64; sizes.len()];
    for _ in 0..total {
        let mut at = 0;
        for d in lead..sizes.len() {
            at += index[d] as usize % own[d - lead] * strides[d];
        }
        result.extend_from_slice(&bytes[at * n..at * n + n]);
        for d in (0..sizes.len()).rev() {
            index[d] += 1;
            if index[d] < sizes[d] {
                break;
            }
            index[d] = 0;
        }
    }
    write_dense(out, &result)
}

/// Dense sizes, strides and offset of a tensor's elements, to be rearranged.
fn dense_geometry(tensor: &Tensor) -> Result<(Vec<usize>, Vec<isize>, usize)> {
    numbers_of(&Geometry::contiguous(ints(&concrete(&tensor.sizes())?)))
}

fn flipped(strides: &mut [isize], offset: &mut usize, sizes: &[usize], dims: &[i64]) -> Result<()> {
    for dim in dims {
        let d = wrap_dim(*dim, sizes.len())?;
        if let Some(stride) = strides.get_mut(d) {
            *offset = (*offset as isize + (sizes[d].max(1) as isize - 1) * *stride) as usize;
            *stride = -*stride;
        }
    }
    Ok(())
}

fn flip(call: &Call, outs: &[Tensor]) -> Result<()> {
    let tensor = call.tensor("self")?;
    let (sizes, mut strides, mut offset) = dense_geometry(tensor)?;
    flipped(&mut strides, &mut offset, &sizes, &call.ints("dims")?)?;
    write_dense(&outs[0], &pick(&dense_bytes(tensor)?, &sizes, &strides, offset, tensor.dtype().itemsize()))
}

fn rot90(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, k, dims) = (call.tensor("self")?, call.int("k")?.rem_euclid(4), call.ints("dims")?);
    let (mut sizes, mut strides, mut offset) = dense_geometry(tensor)?;
    match k {
        1 => flipped(&mut strides, &mut offset, &sizes, &dims[1..])?,
        2 => flipped(&mut strides, &mut offset, &sizes, &dims)?,
        3 => flipped(&mut strides, &mut offset, &sizes, &dims[..1])?,
        _ => {}
    }
    if k % 2 == 1 {
        let (a, b) = (wrap_dim(dims[0], sizes.len())?, wrap_dim(dims[1], sizes.len())?);
        sizes.swap(a, b);
        strides.swap(a, b);
    }
    write_dense(&outs[0], &pick(&dense_bytes(tensor)?, &sizes, &strides, offset, tensor.dtype().itemsize()))
}

fn roll(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, shifts, dims) = (call.tensor("self")?, call.ints("shifts")?, call.ints("dims")?);
    let (mut bytes, n) = (dense_bytes(tensor)?, tensor.dtype().itemsize());
    let sizes = tensor.concrete()?.sizes;
    if bytes.is_empty() {
        return Ok(());
    }
    if let Some(dim) = dims.first().filter(|_| sizes.is_empty()) {
        return Err(Error::index(format!("Dimension specified as {dim} but tensor has no dimensions")));
    }
    // Rolling a dimension rolls every block of it by whole inner rows.
    let mut turn = |block: usize, amount: usize| bytes.chunks_exact_mut(block).for_each(|c| c.rotate_right(amount));
    if dims.is_empty() {
        let total: usize = sizes.iter().product();
        turn(total * n, shifts[0].rem_euclid(total as i64) as usize * n);
    }
    for (shift, dim) in shifts.iter().zip(&dims) {
        let d = wrap_dim(*dim, sizes.len())?;
        let inner: usize = sizes[d + 1..].iter().product::<usize>() * n;
        turn(sizes[d] * inner, shift.rem_euclid(sizes[d] as i64) as usize * inner);
    }
    write_dense(&outs[0], &bytes)
}

fn constant_pad(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, out, pad) = (call.tensor("self")?, &outs[0], call.ints("pad")?);
    let (n, dtype) = (out.dtype().itemsize(), out.dtype());
    let mut whole = Geometry::contiguous(out.sizes());
    let mut bytes = scalar_bytes(call.get("value"), dtype)?.repeat(whole.numel().guard_int()? as usize);
    // What of the source survives negative padding, and where it goes.
    let mut source = Geometry::contiguous(tensor.sizes());
    let dims = tensor.dim();
    for (i, pair) in pad.chunks(2).enumerate() {
        let d = dims - 1 - i;
        let kept = &(&source.sizes[d] + pair[0].min(0)) + pair[1].min(0);
        source = geo::narrow(&source, d, &SymInt::Int((-pair[0]).max(0)), &kept);
        whole = geo::narrow(&whole, d, &SymInt::Int(pair[0].max(0)), &kept);
    }
    let (sizes, strides, offset) = numbers_of(&source)?;
    place(&mut bytes, &whole, n, &pick(&dense_bytes(tensor)?, &sizes, &strides, offset, n))?;
    write_dense(out, &bytes)
}

/// A part written into a copy of the whole, and of all memory that the whole lies in: other views read what lies between its elements.
fn scatter(call: &Call, outs: &[Tensor]) -> Result<()> {
    let (tensor, source, out) = (call.tensor("self")?, call.tensor("src")?, &outs[0]);
    let (from, to) = (tensor.geometry(), out.geometry());
    let is_laid_out_alike = numbers_of(&from)? == numbers_of(&to)?;
    if is_laid_out_alike {
        out.storage().resize(tensor.storage().nbytes())?;
        out.storage().bytes_mut()?.copy_from_slice(&tensor.storage().bytes()?);
    } else {
        write_dense(out, &dense_bytes(tensor)?)?;
    }
    let n = out.dtype().itemsize();
    let mut part = if call.entry.schema.name == "as_strided_scatter" { region(call, &from)? } else { region(call, &to)? };
    if !is_laid_out_alike && call.entry.schema.name == "as_strided_scatter" {
        part.offset = &part.offset - &from.offset;
    }
    let bytes = dense_as(source, out.dtype())?;
    let storage = out.storage();
    let mut whole = storage.bytes_mut()?;
    place(&mut whole, &part, n, &bytes)
}

/// A part written into zeros.
fn into_zeros(call: &Call, outs: &[Tensor]) -> Result<()> {
    let out = &outs[0];
    let source = match call.get("grad_output") {
        Value::Tensor(t) => t,
        _ => call.tensor("self")?,
    };
    let g = region(call, &out.geometry())?;
    let bytes = dense_bytes(source)?;
    let storage = out.storage();
    let mut whole = storage.bytes_mut()?;
    place(&mut whole, &g, out.dtype().itemsize(), &bytes)
}

fn diagonal_copy(call: &Call, outs: &[Tensor]) -> Result<()> {
    let tensor = call.tensor("self")?;
    let whole = Geometry::contiguous(tensor.sizes());
    let g = geo::diagonal(&whole, call.int("offset")?, call.int("dim1")?, call.int("dim2")?)?;
    let (sizes, strides, offset) = numbers_of(&g)?;
    write_dense(&outs[0], &pick(&dense_bytes(tensor)?, &sizes, &strides, offset, tensor.dtype().itemsize()))
}

fn block_diag(call: &Call, outs: &[Tensor]) -> Result<()> {
    let out = &outs[0];
    let n = out.dtype().itemsize();
    let whole = out.geometry();
    let (mut row, mut column) = (SymInt::Int(0), SymInt::Int(0));
    for tensor in call.tensors("tensors")? {
        let sizes = tensor.sizes();
        let (r, c) = match sizes.len() {
            0 => (SymInt::Int(1), SymInt::Int(1)),
            1 => (SymInt::Int(1), sizes[0].clone()),
            _ => (sizes[0].clone(), sizes[1].clone()),
        };
        let bytes = dense_as(&tensor, out.dtype())?;
        let storage = out.storage();
        let mut all = storage.bytes_mut()?;
        place(&mut all, &geo::narrow(&geo::narrow(&whole, 0, &row, &r), 1, &column, &c), n, &bytes)?;
        (row, column) = (&row + &r, &column + &c);
    }
    Ok(())
}

fn triangle(call: &Call, outs: &[Tensor], keep: fn(i64, i64, i64) -> bool) -> Result<()> {
    let (tensor, k) = (call.tensor("self")?, call.int("diagonal")?);
    let (mut bytes, n) = (dense_bytes(tensor)?, tensor.dtype().itemsize());
    let sizes = tensor.concrete()?.sizes;
    let (rows, columns) = (sizes[sizes.len() - 2], sizes[sizes.len() - 1]);
    for (i, element) in bytes.chunks_exact_mut(n).enumerate() {
        if !keep((i / columns % rows) as i64, (i % columns) as i64, k) {
            element.fill(0);
        }
    }
    write_dense(&outs[0], &bytes)
}

fn repeat_interleave(call: &Call, outs: &[Tensor]) -> Result<()> {
    let repeats = tensor::strided::integers(call.tensor("repeats")?)?;
    if repeats.iter().any(|r| *r < 0) {
        return Err(Error::runtime("repeats can not be negative"));
    }
    let (out, total) = (&outs[0], repeats.iter().try_fold(0i64, |all, r| all.checked_add(*r)));
    if total != Some(out.numel().guard_int()?) {
        return Err(Error::runtime("allocated size does not match required size"));
    }
    let dtype = out.dtype();
    let bytes: Vec<u8> = repeats.iter().enumerate().flat_map(|(i, r)| Number::Int(i as i64).to_bytes(dtype).repeat(*r as usize)).collect();
    write_dense(out, &bytes)
}

fn unsafe_split(call: &Call, outs: &[Tensor]) -> Result<()> {
    let tensor = call.tensor("self")?;
    let d = wrap_dim(call.int("dim")?, tensor.dim())?;
    let (whole, bytes, n) = (Geometry::contiguous(tensor.sizes()), dense_bytes(tensor)?, tensor.dtype().itemsize());
    let mut start = SymInt::Int(0);
    for out in outs {
        let (sizes, strides, offset) = numbers_of(&geo::narrow(&whole, d, &start, &out.size(d)))?;
        write_dense(out, &pick(&bytes, &sizes, &strides, offset, n))?;
        start = &start + &out.size(d);
    }
    Ok(())
}

/// Other sizes on the same memory. Versions are counted apart: for autograd the result is a new tensor.
fn unsafe_view(call: &Call) -> Result<Value> {
    let tensor = call.tensor("self")?;
    let geometry = geo::view(&tensor.geometry(), &call.sym_ints("size")?)?;
    Ok(Tensor::from_storage(tensor.storage().clone(), geometry, tensor.dtype()).into())
}

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.make("aten._unsafe_view.default", unsafe_view);
    t.fill("aten.unsafe_split.Tensor", unsafe_split);
    t.fill("aten.unsafe_split_with_sizes.default", unsafe_split);
    t.fill("aten.diagonal_copy.default", diagonal_copy);
    t.fill("aten.cat.default", cat);
    t.fill("aten.stack.default", stack);
    t.fill("aten.repeat.default", repeat);
    t.fill("aten.repeat_interleave.Tensor", repeat_interleave);
    t.fill("aten.flip.default", flip);
    t.fill("aten.rot90.default", rot90);
    t.fill("aten.roll.default", roll);
    t.fill("aten.constant_pad_nd.default", constant_pad);
    t.fill("aten.slice_scatter.default", scatter);
    t.fill("aten.select_scatter.default", scatter);
    t.fill("aten.diagonal_scatter.default", scatter);
    t.fill("aten.as_strided_scatter.default", scatter);
    t.fill("aten.slice_backward.default", into_zeros);
    t.fill("aten.select_backward.default", into_zeros);
    t.fill("aten.diagonal_backward.default", into_zeros);
    t.fill("aten.diag_embed.default", into_zeros);
    t.fill("aten.block_diag.default", block_diag);
    t.fill("aten.tril.default", |c, o| triangle(c, o, |row, column, k| column - row <= k));
    t.fill("aten.triu.default", |c, o| triangle(c, o, |row, column, k| column - row >= k));
}
