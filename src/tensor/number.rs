//! Numbers going into tensors: Python's integers, floats and complex numbers, converted to a dtype.

use super::{Dtype, Tensor};
use crate::error::Result;

/// A Python number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer or boolean.
    Int(i64),
    /// A float.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
}

impl Number {
    /// As a float; the real part of a complex number.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Int(i) => i as f64,
            Number::Float(f) | Number::Complex(f, _) => f,
        }
    }

    /// As an integer, truncated.
    pub fn to_i64(self) -> i64 {
        match self {
            Number::Int(i) => i,
            Number::Float(f) | Number::Complex(f, _) => f as i64,
        }
    }
}

/// A contiguous tensor of Python numbers.
pub fn from_values(values: &[Number], sizes: &[i64], dtype: Dtype) -> Result<Tensor> {
    macro_rules! with {
        ($ty:ty, $convert:expr) => {{
            let converted: Vec<$ty> = values.iter().map($convert).collect();
            Tensor::from_bytes(bytemuck::cast_slice(&converted), sizes, dtype)
        }};
    }
    match dtype {
        Dtype::Bool => with!(u8, |v| u8::from(match v {
            Number::Complex(re, im) => *re != 0.0 || *im != 0.0,
            other => other.to_f64() != 0.0,
        })),
        Dtype::UInt8 => with!(u8, |v| v.to_i64() as u8),
        Dtype::Int8 => with!(i8, |v| v.to_i64() as i8),
        Dtype::Int16 => with!(i16, |v| v.to_i64() as i16),
        Dtype::Int32 => with!(i32, |v| v.to_i64() as i32),
        Dtype::Int64 => with!(i64, |v| v.to_i64()),
        Dtype::Float16 => with!(half::f16, |v| half::f16::from_f64(v.to_f64())),
        Dtype::BFloat16 => with!(half::bf16, |v| half::bf16::from_f64(v.to_f64())),
        Dtype::Float32 => with!(f32, |v| v.to_f64() as f32),
        Dtype::Float64 => with!(f64, |v| v.to_f64()),
        Dtype::Complex64 => with!([f32; 2], |v| [v.to_f64() as f32, imaginary(*v) as f32]),
        Dtype::Complex128 => with!([f64; 2], |v| [v.to_f64(), imaginary(*v)]),
    }
}

fn imaginary(v: Number) -> f64 {
    match v {
        Number::Complex(_, im) => im,
        _ => 0.0,
    }
}
