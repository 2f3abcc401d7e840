//! Numbers as Python has them, going into tensors and coming out of them.

use super::float8::{F8E4M3FN, F8E5M2};
use super::strided::number_at;
use super::{Dtype, Tensor};
use diagnostics::error::Result;

/// A Python number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A boolean.
    Bool(bool),
    /// An integer.
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
            Number::Bool(b) => f64::from(u8::from(b)),
            Number::Int(i) => i as f64,
            Number::Float(f) | Number::Complex(f, _) => f,
        }
    }

    /// As an integer, truncated.
    pub fn to_i64(self) -> i64 {
        match self {
            Number::Bool(b) => b.into(),
            Number::Int(i) => i,
            Number::Float(f) | Number::Complex(f, _) => f as i64,
        }
    }

    /// Whether it is not zero.
    pub fn truth(self) -> bool {
        match self {
            Number::Complex(re, im) => re != 0.0 || im != 0.0,
            other => other.to_f64() != 0.0,
        }
    }

    /// Whether it is out of a dtype's range, as PyTorch's conversion of scalars sees it: integers may be as far below zero as an
    /// unsigned type reaches above, infinities fit in floats, and NaN fits in no integer.
    pub fn overflows(self, dtype: Dtype) -> bool {
        let (low, high) = match dtype {
            Dtype::Bool => return false,
            Dtype::UInt8 => (0.0, 255.0),
            Dtype::Int8 => (i8::MIN.into(), i8::MAX.into()),
            Dtype::Int16 => (i16::MIN.into(), i16::MAX.into()),
            Dtype::Int32 => (i32::MIN.into(), i32::MAX.into()),
            Dtype::Int64 => (i64::MIN as f64, i64::MAX as f64),
            Dtype::Float8E4m3fn => (-448.0, 448.0),
            Dtype::Float8E5m2 => (-57344.0, 57344.0),
            Dtype::Float16 => (-f64::from(half::f16::MAX), f64::from(half::f16::MAX)),
            Dtype::BFloat16 => (-f64::from(half::bf16::MAX), f64::from(half::bf16::MAX)),
            Dtype::Float32 | Dtype::Complex64 => (f32::MIN.into(), f32::MAX.into()),
            Dtype::Float64 | Dtype::Complex128 => return false,
        };
        let outside = |v: f64| v < low || v > high;
        match self {
            Number::Bool(_) => false,
            Number::Int(_) if dtype == Dtype::Int64 => false,
            Number::Int(v) if dtype == Dtype::UInt8 => v.unsigned_abs() > 255,
            Number::Int(v) => outside(v as f64),
            Number::Float(v) if dtype.is_integral() => v.is_nan() || outside(v),
            Number::Float(v) => v.is_finite() && outside(v),
            Number::Complex(re, im) => [re, im].iter().any(|v| v.is_finite() && outside(*v)),
        }
    }

    /// Its bytes as an element of a dtype; integers wrap.
    pub fn to_bytes(self, dtype: Dtype) -> Vec<u8> {
        match dtype {
            Dtype::Bool => vec![u8::from(self.truth())],
            Dtype::UInt8 => vec![self.to_i64() as u8],
            Dtype::Int8 => vec![self.to_i64() as i8 as u8],
            Dtype::Int16 => (self.to_i64() as i16).to_ne_bytes().to_vec(),
            Dtype::Int32 => (self.to_i64() as i32).to_ne_bytes().to_vec(),
            Dtype::Int64 => self.to_i64().to_ne_bytes().to_vec(),
            Dtype::Float8E4m3fn => vec![F8E4M3FN::from_f64(self.to_f64()).0],
            Dtype::Float8E5m2 => vec![F8E5M2::from_f64(self.to_f64()).0],
            Dtype::Float16 => half::f16::from_f64(self.to_f64()).to_ne_bytes().to_vec(),
            Dtype::BFloat16 => half::bf16::from_f64(self.to_f64()).to_ne_bytes().to_vec(),
            Dtype::Float32 => (self.to_f64() as f32).to_ne_bytes().to_vec(),
            Dtype::Float64 => self.to_f64().to_ne_bytes().to_vec(),
            Dtype::Complex64 | Dtype::Complex128 => {
                let imaginary = if let Number::Complex(_, im) = self { im } else { 0.0 };
                let part = dtype.to_real();
                [Number::Float(self.to_f64()).to_bytes(part), Number::Float(imaginary).to_bytes(part)].concat()
            }
        }
    }

    /// What is left of it once a tensor of a dtype has held it: integers wrap around, floats are rounded.
    pub fn cast(self, dtype: Dtype) -> Number {
        number_at(&self.to_bytes(dtype), 0, dtype)
    }
}

/// A contiguous tensor of Python numbers.
pub fn from_values(values: &[Number], sizes: &[i64], dtype: Dtype) -> Result<Tensor> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_bytes(dtype)).collect();
    Tensor::from_bytes(&bytes, sizes, dtype)
}
