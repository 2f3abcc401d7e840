//! Operators answer what PyTorch answers: values, sizes, strides and dtypes, for the calls of answers.json (written by
//! answers.py with PyTorch 2.15).

use dispatch::{Value, call, fill_args, lookup, op};
use serde_json::Value as Json;
use tensor::{Device, Dtype, Geometry, MemoryFormat, Storage, Tensor};

fn floats(values: &[Json]) -> Vec<f64> {
    values.iter().map(|v| v.as_f64().unwrap_or_else(|| v.as_str().unwrap().parse().unwrap())).collect()
}

fn longs(v: &Json) -> Vec<i64> {
    v.as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect()
}

/// A tensor of the given strides, its values given in row-major order.
fn tensor(v: &Json) -> Tensor {
    let dtype = Dtype::parse(v[0].as_str().unwrap()).unwrap();
    let (sizes, strides) = (longs(&v[1]), longs(&v[2]));
    let n = sizes.iter().zip(&strides).map(|(n, s)| (n - 1) * s).sum::<i64>() + 1;
    let n = if sizes.contains(&0) { 0 } else { n };
    let storage = Storage::zeroed(n as usize * dtype.itemsize(), tensor::Device::CPU).unwrap();
    // Values go to the memory itself: elements may share a place, which is refused to a write.
    let mut places = vec![0.0; n as usize];
    for (i, value) in floats(v[3].as_array().unwrap()).into_iter().enumerate() {
        let (mut rest, mut place) = (i as i64, 0);
        for (size, stride) in sizes.iter().zip(&strides).rev() {
            place += rest % size * stride;
            rest /= size;
        }
        places[place as usize] = value;
    }
    let over = |sizes: &[i64], strides: &[i64]| {
        let ints = |v: &[i64]| v.iter().map(|n| (*n).into()).collect::<Vec<_>>();
        let geometry = Geometry { sizes: ints(sizes), strides: ints(strides), offset: 0.into() };
        Tensor::from_storage(storage.clone(), geometry, dtype)
    };
    let memory = over(&[n], &[1]);
    dispatch::t!("copy_", &memory, Tensor::from_slice(&places, &[n]).unwrap()).unwrap();
    over(&sizes, &strides)
}

fn value(v: &Json) -> Value {
    match v {
        Json::Null => Value::None,
        Json::Bool(b) => (*b).into(),
        Json::Number(n) => n.as_i64().unwrap().into(),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(map) => {
            let (kind, v) = map.iter().next().unwrap();
            match kind.as_str() {
                "tensor" => tensor(v).into(),
                "float" => v.as_f64().unwrap_or_else(|| v.as_str().unwrap().parse().unwrap()).into(),
                "str" => v.as_str().unwrap().into(),
                "dtype" => Dtype::parse(v.as_str().unwrap()).unwrap().into(),
                "format" => match v.as_str().unwrap() {
                    "torch.contiguous_format" => MemoryFormat::Contiguous,
                    "torch.channels_last" => MemoryFormat::ChannelsLast,
                    _ => MemoryFormat::Preserve,
                }
                .into(),
                other => panic!("what is {other}"),
            }
        }
        Json::String(s) => panic!("a bare string {s}"),
    }
}

fn doubles(t: &Tensor) -> Vec<f64> {
    let g = t.sizes();
    let sizes = shape::concrete(&g).unwrap();
    let out = Tensor::zeros(&tensor::TensorSpec::contiguous(g, Dtype::Float64, Device::CPU)).unwrap();
    let _ = sizes;
    let out = dispatch::t!("copy_", out, t).unwrap();
    out.with_slice::<f64, _>(|v| v.to_vec()).unwrap()
}

fn tolerance(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Float64 => 1e-9,
        Dtype::Float32 => 4e-6,
        Dtype::Float16 => 2e-3,
        Dtype::BFloat16 => 1e-2,
        _ => 0.0,
    }
}

fn compare(got: &Value, want: &Json) -> Result<(), String> {
    match want {
        Json::Array(items) => {
            let got = got.list().map_err(|e| e.message)?;
            if got.len() != items.len() {
                return Err(format!("{} results, not {}", got.len(), items.len()));
            }
            got.iter().zip(items).try_for_each(|(g, w)| compare(g, w))
        }
        Json::Object(map) if map.contains_key("tensor") => {
            let got = got.tensor().map_err(|e| e.message)?;
            let (want, g) = (&map["tensor"], got.geometry());
            let dtype = Dtype::parse(want[0].as_str().unwrap()).unwrap();
            let annotation = (shape::concrete(&g.sizes).unwrap(), shape::concrete(&g.strides).unwrap());
            if got.dtype() != dtype || annotation.0 != longs(&want[1]) || annotation.1 != longs(&want[2]) {
                return Err(format!("{} instead of {dtype} {} {}", got.spec().annotation(), want[1], want[2]));
            }
            let (have, want) = (doubles(got), floats(want[3].as_array().unwrap()));
            let close = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance(dtype) * b.abs().max(1.0);
            if have.iter().zip(&want).all(|(a, b)| close(*a, *b)) { Ok(()) } else { Err(format!("{have:?} instead of {want:?}")) }
        }
        _ => {
            let (have, want) = (format!("{got:?}"), format!("{:?}", value(want)));
            if have == want { Ok(()) } else { Err(format!("{have} instead of {want}")) }
        }
    }
}

#[test]
fn operators_answer_as_pytorch() {
    cpu::install();
    let cases: Vec<Json> = serde_json::from_str(include_str!("data/answers.json")).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case[0].as_str().unwrap();
        let args: Vec<Value> = case[1].as_array().unwrap().iter().map(value).collect();
        let keywords: Vec<(String, Value)> = case[2].as_object().unwrap().iter().map(|(k, v)| (k.clone(), value(v))).collect();
        let keywords: Vec<(&str, Value)> = keywords.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
        let Some(entry) = op(name).or_else(|| lookup(&format!("aten.{name}"))) else {
            wrong.push(format!("{name}: no such operator"));
            continue;
        };
        let answer = fill_args(entry, args.clone(), &keywords).and_then(|args| call(entry, args));
        let problem = match &answer {
            Ok(got) => compare(got, &case[3]).err(),
            Err(e) => Some(e.message.clone()),
        };
        if let Some(problem) = problem {
            wrong.push(format!("{name}{args:?}{keywords:?}: {problem}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
