//! Tensors as the files of recorded PyTorch answers hold them.

pub mod log;

use diagnostics::error::ErrorKind;
use dispatch::Value;
use serde_json::Value as Json;
use shape::ints;
use tensor::strided::numbers;
use tensor::{Dtype, Geometry, MemoryFormat, Number, Storage, Tensor};

/// A number; what is not finite is a string, a complex one a pair.
pub fn number(v: &Json) -> Number {
    match v {
        Json::Bool(b) => Number::Bool(*b),
        Json::String(s) => Number::Float(s.parse().unwrap()),
        Json::Array(parts) => Number::Complex(number(&parts[0]).to_f64(), number(&parts[1]).to_f64()),
        v => v.as_i64().map_or_else(|| Number::Float(v.as_f64().unwrap()), Number::Int),
    }
}

/// Integers.
pub fn list(v: &Json) -> Vec<i64> {
    v.as_array().unwrap().iter().map(|x| x.as_i64().unwrap()).collect()
}

/// A tensor, with its strides.
pub fn tensor(v: &Json) -> Tensor {
    let dtype = Dtype::parse(v["t"].as_str().unwrap()).unwrap();
    let bytes: Vec<u8> = v["d"].as_array().unwrap().iter().flat_map(|x| number(x).to_bytes(dtype)).collect();
    if v.get("st").is_none() {
        return Tensor::from_bytes(&bytes, &list(&v["s"]), dtype).unwrap();
    }
    let storage = Storage::zeroed(bytes.len(), tensor::Device::CPU).unwrap();
    storage.bytes_mut().unwrap().copy_from_slice(&bytes);
    let geometry = Geometry { sizes: ints(&list(&v["s"])), strides: ints(&list(&v["st"])), offset: v["o"].as_i64().unwrap().into() };
    Tensor::from_storage(storage, geometry, dtype)
}

/// An argument; tensors are looked up in the file's list.
pub fn value(v: &Json, tensors: &[Json]) -> Value {
    match v {
        Json::Null => Value::None,
        Json::Bool(b) => Value::from(*b),
        Json::String(s) => s.parse::<f64>().map_or_else(|_| Value::from(s.as_str()), Value::from),
        Json::Array(items) => Value::List(items.iter().map(|x| value(x, tensors)).collect()),
        Json::Object(o) => match (o.get("x"), o.get("dtype"), o.get("format")) {
            (Some(n), ..) => tensor(&tensors[n.as_u64().unwrap() as usize]).into(),
            (_, Some(d), _) => Dtype::parse(d.as_str().unwrap()).unwrap().into(),
            (_, _, Some(_)) => Value::MemoryFormat(MemoryFormat::Contiguous),
            _ => Value::Complex(o["re"].as_f64().unwrap(), o["im"].as_f64().unwrap()),
        },
        v => v.as_i64().map_or_else(|| Value::from(v.as_f64().unwrap()), Value::from),
    }
}

fn same_number(a: Number, b: Number, tolerance: f64) -> bool {
    let close = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * (1.0 + a.abs());
    match (a, b) {
        (Number::Complex(ar, ai), Number::Complex(br, bi)) => close(ar, br) && close(ai, bi),
        _ => close(a.to_f64(), b.to_f64()),
    }
}

/// Whether a result is the recorded one: dtype, sizes, strides, values.
pub fn compare(got: &Value, want: &Json) -> Result<(), String> {
    match (got, want) {
        (Value::None, Json::Null) => Ok(()),
        (Value::List(items), Json::Array(wanted)) => {
            if items.len() != wanted.len() {
                return Err(format!("{} results, not {}", items.len(), wanted.len()));
            }
            items.iter().zip(wanted).try_for_each(|(a, b)| compare(a, b))
        }
        (Value::Tensor(t), Json::Object(_)) => {
            let dtype = Dtype::parse(want["t"].as_str().unwrap()).unwrap();
            let g = t.geometry();
            let sizes = list(&want["s"]);
            if t.dtype() != dtype || format!("{:?}", g.sizes) != format!("{sizes:?}") {
                return Err(format!("{t:?}, not {dtype} {sizes:?}"));
            }
            let strides = want.get("st").map(list);
            let strides = strides.map_or_else(|| Geometry::contiguous(ints(&sizes)).strides, |s| ints(&s));
            if format!("{:?}", g.strides) != format!("{strides:?}") {
                return Err(format!("strides {:?}, not {strides:?}", g.strides));
            }
            let tolerance = match dtype {
                Dtype::Float16 | Dtype::BFloat16 => 1e-2,
                Dtype::Float32 | Dtype::Complex64 => 2e-6,
                _ => 1e-12,
            };
            let (have, wanted) = (numbers(t).map_err(|e| e.message)?, want["d"].as_array().unwrap());
            match have.iter().zip(wanted).find(|(a, b)| !same_number(**a, number(b), tolerance)) {
                None if have.len() == wanted.len() => Ok(()),
                _ => Err(format!("{have:?}, not {wanted:?}")),
            }
        }
        (other, want) => {
            let close = other.float().is_ok_and(|f| want.as_f64().or(want.as_bool().map(f64::from)) == Some(f));
            if close { Ok(()) } else { Err(format!("{other:?}, not {want}")) }
        }
    }
}

/// The Python class of an error.
pub fn class(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Runtime => "RuntimeError",
        ErrorKind::Type => "TypeError",
        ErrorKind::Value => "ValueError",
        ErrorKind::Index => "IndexError",
        ErrorKind::NotImplemented => "NotImplementedError",
        _ => "other",
    }
}
