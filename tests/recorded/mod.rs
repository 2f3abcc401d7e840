//! Tensors as the files of recorded PyTorch answers hold them.

use aot_playground::shape::ints;
use aot_playground::tensor::{Dtype, Geometry, Number, Storage, Tensor};
use serde_json::Value as Json;

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
    let storage = Storage::zeroed(bytes.len()).unwrap();
    storage.bytes_mut().unwrap().copy_from_slice(&bytes);
    let geometry = Geometry { sizes: ints(&list(&v["s"])), strides: ints(&list(&v["st"])), offset: v["o"].as_i64().unwrap().into() };
    Tensor::from_storage(storage, geometry, dtype)
}
