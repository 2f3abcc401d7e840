//! Reading and writing tensors element by element, whatever their strides, as dense row-major bytes or as numbers.

use super::{Concrete, Dtype, Number, Tensor};
use diagnostics::error::{Error, Result};

/// Calls `f` with the storage offset of every element, in row-major order.
pub fn for_each_offset(sizes: &[usize], strides: &[isize], offset: usize, f: &mut dyn FnMut(usize)) {
    if sizes.contains(&0) {
        return;
    }
    let Some((inner, outer)) = sizes.split_last() else {
        f(offset);
        return;
    };
    let step = strides[outer.len()];
    let mut index = vec![0usize; outer.len()];
    let mut at = offset as isize;
    loop {
        for i in 0..*inner as isize {
            f((at + i * step) as usize);
        }
        let mut d = outer.len();
        loop {
            if d == 0 {
                return;
            }
            d -= 1;
            index[d] += 1;
            if index[d] < outer[d] {
                at += strides[d];
                break;
            }
            at -= strides[d] * (outer[d] as isize - 1);
            index[d] = 0;
        }
    }
}

fn out_of_bounds() -> Error {
    Error::runtime("a view reaches beyond its storage")
}

fn check(c: &Concrete, itemsize: usize, len: usize) -> Result<()> {
    if c.numel() == 0 {
        return Ok(());
    }
    let (mut low, mut high) = (c.offset as isize, c.offset as isize);
    for (size, stride) in c.sizes.iter().zip(&c.strides) {
        let reach = (*size as isize - 1).checked_mul(*stride).ok_or_else(out_of_bounds)?;
        if reach < 0 { low = low.saturating_add(reach) } else { high = high.saturating_add(reach) }
    }
    if low < 0 || (high as usize).saturating_add(1).saturating_mul(itemsize) > len { Err(out_of_bounds()) } else { Ok(()) }
}

fn copy_elements<const N: usize>(c: &Concrete, from: &[u8], into: &mut Vec<u8>) {
    for_each_offset(&c.sizes, &c.strides, c.offset, &mut |o| into.extend_from_slice(&from[o * N..o * N + N]));
}

/// The elements as dense row-major bytes.
pub fn dense_bytes(tensor: &Tensor) -> Result<Vec<u8>> {
    let (c, n) = (tensor.concrete()?, tensor.dtype().itemsize());
    let storage = tensor.storage();
    let bytes = storage.bytes()?;
    check(&c, n, bytes.len())?;
    let count = c.numel();
    super::storage::check_room(count as u64, n)?;
    if c.is_contiguous() {
        let start = if count == 0 { 0 } else { c.offset * n };
        return Ok(bytes[start..start + count * n].to_vec());
    }
    let mut out = Vec::with_capacity(count * n);
    match n {
        1 => copy_elements::<1>(&c, &bytes, &mut out),
        2 => copy_elements::<2>(&c, &bytes, &mut out),
        4 => copy_elements::<4>(&c, &bytes, &mut out),
        8 => copy_elements::<8>(&c, &bytes, &mut out),
        _ => copy_elements::<16>(&c, &bytes, &mut out),
    }
    Ok(out)
}

/// Writes dense row-major bytes into the elements.
pub fn write_dense(tensor: &Tensor, values: &[u8]) -> Result<()> {
    let (c, n) = (tensor.concrete()?, tensor.dtype().itemsize());
    let storage = tensor.storage();
    let mut bytes = storage.bytes_mut()?;
    check(&c, n, bytes.len())?;
    let count = c.numel();
    if values.len() != count * n {
        return Err(Error::runtime(format!("{} bytes for {count} elements of {n} bytes", values.len())));
    }
    if c.is_contiguous() {
        let start = if count == 0 { 0 } else { c.offset * n };
        bytes[start..start + values.len()].copy_from_slice(values);
        return Ok(());
    }
    let mut at = 0;
    for_each_offset(&c.sizes, &c.strides, c.offset, &mut |o| {
        bytes[o * n..o * n + n].copy_from_slice(&values[at..at + n]);
        at += n;
    });
    Ok(())
}

/// One element of dense bytes.
pub fn number_at(bytes: &[u8], index: usize, dtype: Dtype) -> Number {
    macro_rules! read {
        ($t:ty) => {
            bytemuck::pod_read_unaligned::<$t>(&bytes[index * size_of::<$t>()..(index + 1) * size_of::<$t>()])
        };
    }
    match dtype {
        Dtype::Bool => Number::Bool(bytes[index] != 0),
        Dtype::UInt8 => Number::Int(bytes[index].into()),
        Dtype::Int8 => Number::Int((bytes[index] as i8).into()),
        Dtype::Int16 => Number::Int(read!(i16).into()),
        Dtype::Int32 => Number::Int(read!(i32).into()),
        Dtype::Int64 => Number::Int(read!(i64)),
        Dtype::Float8E4m3fn => Number::Float(read!(crate::float8::F8E4M3FN).to_f64()),
        Dtype::Float8E5m2 => Number::Float(read!(crate::float8::F8E5M2).to_f64()),
        Dtype::Float16 => Number::Float(read!(half::f16).to_f64()),
        Dtype::BFloat16 => Number::Float(read!(half::bf16).to_f64()),
        Dtype::Float32 => Number::Float(read!(f32).into()),
        Dtype::Float64 => Number::Float(read!(f64)),
        Dtype::Complex64 => {
            let [re, im] = read!([f32; 2]);
            Number::Complex(re.into(), im.into())
        }
        Dtype::Complex128 => {
            let [re, im] = read!([f64; 2]);
            Number::Complex(re, im)
        }
    }
}

/// The elements as numbers, row-major.
pub fn numbers(tensor: &Tensor) -> Result<Vec<Number>> {
    let (bytes, dtype) = (dense_bytes(tensor)?, tensor.dtype());
    Ok((0..bytes.len() / dtype.itemsize()).map(|i| number_at(&bytes, i, dtype)).collect())
}

/// The elements as integers, row-major.
pub fn integers(tensor: &Tensor) -> Result<Vec<i64>> {
    Ok(numbers(tensor)?.into_iter().map(Number::to_i64).collect())
}
