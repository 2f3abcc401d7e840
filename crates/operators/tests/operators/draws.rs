//! Random numbers are PyTorch's, bit for bit: sequences of calls from draws.json (written by draws.py with PyTorch 2.15).

use dispatch::t;
use dispatch::{Value, call, fill_args, lookup, op};
use serde_json::Value as Json;
use tensor::random::{Generator, default_generator};
use tensor::{Dtype, Geometry, Storage, Tensor};

fn longs(v: &Json) -> Vec<i64> {
    v.as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect()
}

fn flat(v: &Json, out: &mut Vec<f64>) {
    match v {
        Json::Array(items) => items.iter().for_each(|i| flat(i, out)),
        v => out.push(v.as_f64().unwrap()),
    }
}

fn value(v: &Json) -> Value {
    match v {
        Json::Null => Value::None,
        Json::Bool(b) => (*b).into(),
        Json::Number(n) => n.as_i64().map_or_else(|| n.as_f64().unwrap().into(), Value::from),
        Json::Array(_) => longs(v).into(),
        Json::Object(map) if map.contains_key("empty") => {
            let (dtype, sizes, strides) =
                (Dtype::parse(v["empty"][0].as_str().unwrap()).unwrap(), longs(&v["empty"][1]), longs(&v["empty"][2]));
            let n = sizes.iter().zip(&strides).map(|(n, s)| (n - 1) * s).sum::<i64>() + 1;
            let ints = |v: &[i64]| v.iter().map(|n| (*n).into()).collect::<Vec<_>>();
            let geometry = Geometry { sizes: ints(&sizes), strides: ints(&strides), offset: 0.into() };
            Tensor::from_storage(Storage::zeroed(n as usize * dtype.itemsize(), tensor::Device::CPU).unwrap(), geometry, dtype).into()
        }
        _ => {
            let (mut all, mut sizes, mut level) = (Vec::new(), Vec::new(), &v["values"]);
            flat(level, &mut all);
            while let Json::Array(items) = level {
                sizes.push(items.len() as i64);
                level = &items[0];
            }
            let wide = Tensor::from_slice(&all, &sizes).unwrap();
            let dtype = v.get("dtype").map_or(Dtype::Float32, |d| Dtype::parse(d.as_str().unwrap()).unwrap());
            t!("to.dtype", wide, dtype).unwrap().into()
        }
    }
}

fn doubles(t: &Tensor) -> Vec<f64> {
    let wide = t!("contiguous", t!("to.dtype", t, Dtype::Float64).unwrap()).unwrap();
    let n = wide.numel().hint().unwrap() as usize;
    wide.with_slice::<f64, _>(|v| v[..n].to_vec()).unwrap()
}

#[test]
fn draws_are_those_of_pytorch() {
    cpu::install();
    let sequences: Vec<Json> = serde_json::from_str(include_str!("data/draws.json")).unwrap();
    let mut wrong = Vec::new();
    for sequence in &sequences {
        default_generator().manual_seed(sequence[0].as_u64().unwrap());
        let mut results = Vec::new();
        for step in sequence[1].as_array().unwrap() {
            let step = step.as_array().unwrap();
            let name = step[0].as_str().unwrap();
            let entry = op(name).or_else(|| lookup(&format!("aten.{name}"))).unwrap_or_else(|| panic!("no operator {name}"));
            let (mut args, mut keywords) = (Vec::new(), Vec::new());
            for arg in &step[1..] {
                match arg.get("kw") {
                    Some(kw) => keywords.push(("dtype", Value::from(Dtype::parse(kw["dtype"].as_str().unwrap()).unwrap()))),
                    None => args.push(value(arg)),
                }
            }
            match fill_args(entry, args, &keywords).and_then(|args| call(entry, args)) {
                Ok(Value::List(items)) => results.extend(items),
                Ok(one) => results.push(one),
                Err(e) => wrong.push(format!("{name}: {e}")),
            }
        }
        for (got, want) in results.iter().zip(sequence[2].as_array().unwrap()) {
            let got = got.tensor().unwrap();
            let mut expected = Vec::new();
            flat(&want[1], &mut expected);
            // Transcendental functions in double precision may differ in their last bit from one C library to the next.
            let near = |a: f64, b: f64| a as f32 == b as f32 && (got.dtype() != Dtype::Float64 || a == b || ((a - b) / b).abs() < 1e-14);
            let have = doubles(got);
            if got.dtype().name() != want[0].as_str().unwrap()
                || !have.iter().zip(&expected).all(|(a, b)| near(*a, *b))
                || have.len() != expected.len()
            {
                wrong.push(format!("{}: {} {have:?} instead of {expected:?}", sequence[1], got.dtype()));
            }
        }
        let state: u64 = default_generator().state_bytes().iter().map(|b| u64::from(*b)).sum();
        if state != sequence[3].as_u64().unwrap() {
            wrong.push(format!("{}: the generator is elsewhere", sequence[1]));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_saved_state_resumes() {
    let g = Generator::new(3);
    g.normal64();
    let saved = g.get_state().unwrap();
    let first = (g.normal64(), g.random(), g.uniform32());
    assert!(g.restore(&g.state_bytes()[1..]).is_err());
    g.set_state(&saved).unwrap();
    assert_eq!(first, (g.normal64(), g.random(), g.uniform32()));
    assert_eq!(g.initial_seed(), 3);
}
