//! Types of logs that no tensor here has: dtypes, devices, classes of tensors, numbers that are no sizes.
//!
//! Such a value stands for one of the same sizes and bytes, so that partitions and memory are right; what it really is, the written type
//! says.

use super::FakeValue;
use super::annotation::{Symbols, sizes};
use super::cursor::{Cursor, device_type};
use tensor::{Device, DeviceType, Dtype, TensorSpec};

/// A type that was read.
pub(super) struct WrittenType {
    /// What stands for it, where its sizes could be read.
    pub(super) value: Option<FakeValue>,
    /// Whether the value prints as it.
    pub(super) is_exact: bool,
}

/// What stands for a type that is none of ours.
pub(super) fn foreign(text: &str, line: usize, symbols: &mut Symbols) -> WrittenType {
    let value = match text.strip_prefix("Sym(") {
        Some(_) => Some(FakeValue::Float(None)),
        // `DTensor(f32[8, 8][8, 1]cuda:0, S(0))`, `TwoTensor(f32[3][1]cpu)`
        None => {
            let is_class = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            let inner = text.trim_start_matches(is_class).strip_prefix('(').unwrap_or(text);
            tensor(inner, line, symbols)
        }
    };
    WrittenType { value, is_exact: false }
}

fn tensor(text: &str, line: usize, symbols: &mut Symbols) -> Option<FakeValue> {
    let mut cursor = Cursor::new(text, line);
    let short = cursor.take_while(|c| c.is_ascii_alphanumeric());
    let dtype = Dtype::ALL.iter().copied().find(|d| d.short() == short).or_else(|| stands_for(short))?;
    let shape = sizes(&mut cursor, symbols).ok()?;
    let strides = if cursor.starts_with("[") { sizes(&mut cursor, symbols).ok() } else { None };
    let device = match cursor.take_while(|c| c.is_alphanumeric() || c == '_') {
        "" => Device::CPU,
        name => Device {
            // Every other device is one that computes elsewhere.
            kind: device_type(name).unwrap_or(DeviceType::Cuda),
            index: if cursor.eat(":") { cursor.integer().and_then(|i| u8::try_from(i).ok()) } else { None },
        },
    };
    Some(FakeValue::Tensor(match strides {
        Some(strides) => TensorSpec::strided(shape, strides, dtype, device),
        None => TensorSpec::contiguous(shape, dtype, device),
    }))
}

/// A dtype of as many bytes as one of a short name has.
fn stands_for(short: &str) -> Option<Dtype> {
    let bits: usize = match short {
        "c32" => 32,
        name => {
            let digits = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            let digits = &digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())];
            digits.parse().ok()?
        }
    };
    match bits {
        1..=8 => Some(Dtype::UInt8),
        9..=16 => Some(Dtype::Int16),
        17..=32 => Some(Dtype::Int32),
        33..=64 => Some(Dtype::Int64),
        _ => None,
    }
}
