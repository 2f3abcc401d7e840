//! Elements between their own dtypes and the four bytes they take on the device.

use diagnostics::error::{Error, Result};
use tensor::Dtype;

/// Bytes of a dtype as the device stores them. An int64 that 32 bits do not hold is an error: nothing is cut off in silence.
pub fn to_device(dtype: Dtype, bytes: &[u8]) -> Result<Vec<u8>> {
    fn each<const N: usize>(bytes: &[u8], f: impl Fn([u8; N]) -> [u8; 4]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() / N * 4);
        let (chunks, _) = bytes.as_chunks::<N>();
        chunks.iter().for_each(|c| out.extend_from_slice(&f(*c)));
        out
    }
    Ok(match dtype {
        Dtype::Float32 | Dtype::Int32 => bytes.to_vec(),
        Dtype::Float64 => each(bytes, |b: [u8; 8]| (f64::from_le_bytes(b) as f32).to_le_bytes()),
        Dtype::Float16 => each(bytes, |b: [u8; 2]| half::f16::from_le_bytes(b).to_f32().to_le_bytes()),
        Dtype::BFloat16 => each(bytes, |b: [u8; 2]| half::bf16::from_le_bytes(b).to_f32().to_le_bytes()),
        Dtype::Bool => each(bytes, |b: [u8; 1]| u32::from(b[0] != 0).to_le_bytes()),
        Dtype::UInt8 => each(bytes, |b: [u8; 1]| i32::from(b[0]).to_le_bytes()),
        Dtype::Int8 => each(bytes, |b: [u8; 1]| i32::from(b[0] as i8).to_le_bytes()),
        Dtype::Int16 => each(bytes, |b: [u8; 2]| i32::from(i16::from_le_bytes(b)).to_le_bytes()),
        Dtype::Int64 => {
            let (chunks, _) = bytes.as_chunks::<8>();
            let mut out = Vec::with_capacity(chunks.len() * 4);
            for chunk in chunks {
                let value = i64::from_le_bytes(*chunk);
                let narrow = i32::try_from(value).map_err(|_| {
                    Error::runtime(format!("the int64 value {value} does not fit in the 32 bits that WebGPU's integers have"))
                })?;
                out.extend_from_slice(&narrow.to_le_bytes());
            }
            out
        }
        Dtype::Complex64 | Dtype::Complex128 => return Err(Error::not_implemented("complex numbers on the GPU")),
        Dtype::Float8E4m3fn | Dtype::Float8E5m2 => return Err(Error::not_implemented("floats of 8 bits on the GPU")),
    })
}

/// The device's bytes as a dtype's own.
pub fn from_device(dtype: Dtype, words: &[u8]) -> Result<Vec<u8>> {
    let (words_of, _) = words.as_chunks::<4>();
    let each = |f: &dyn Fn([u8; 4], &mut Vec<u8>)| {
        let mut out = Vec::with_capacity(words_of.len() * dtype.itemsize());
        words_of.iter().for_each(|w| f(*w, &mut out));
        out
    };
    let float = f32::from_le_bytes;
    let integer = i32::from_le_bytes;
    Ok(match dtype {
        Dtype::Float32 | Dtype::Int32 => words.to_vec(),
        Dtype::Float64 => each(&|w, out| out.extend_from_slice(&f64::from(float(w)).to_le_bytes())),
        Dtype::Float16 => each(&|w, out| out.extend_from_slice(&half::f16::from_f32(float(w)).to_le_bytes())),
        Dtype::BFloat16 => each(&|w, out| out.extend_from_slice(&half::bf16::from_f32(float(w)).to_le_bytes())),
        Dtype::Bool => each(&|w, out| out.push(u8::from(integer(w) != 0))),
        Dtype::UInt8 | Dtype::Int8 => each(&|w, out| out.push(integer(w) as u8)),
        Dtype::Int16 => each(&|w, out| out.extend_from_slice(&(integer(w) as i16).to_le_bytes())),
        Dtype::Int64 => each(&|w, out| out.extend_from_slice(&i64::from(integer(w)).to_le_bytes())),
        Dtype::Complex64 | Dtype::Complex128 => return Err(Error::not_implemented("complex numbers on the GPU")),
        Dtype::Float8E4m3fn | Dtype::Float8E5m2 => return Err(Error::not_implemented("floats of 8 bits on the GPU")),
    })
}
