//! Numbers as Python has them, going into tensors and coming out of them.

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

    /// Its bytes as an element of a dtype; integers wrap.
    pub fn to_bytes(self, dtype: Dtype) -> Vec<u8> {
        match dtype {
            Dtype::Bool => vec![u8::from(self.truth())],
            Dtype::UInt8 => vec![self.to_i64() as u8],
            Dtype::Int8 => vec![self.to_i64() as i8 as u8],
            Dtype::Int16 => (self.to_i64() as i16).to_ne_bytes().to_vec(),
            Dtype::Int32 => (self.to_i64() as i32).to_ne_bytes().to_vec(),
            Dtype::Int64 => self.to_i64().to_ne_bytes().to_vec(),
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
}

/// A contiguous tensor of Python numbers.
pub fn from_values(values: &[Number], sizes: &[i64], dtype: Dtype) -> Result<Tensor> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_bytes(dtype)).collect();
    Tensor::from_bytes(&bytes, sizes, dtype)
}
