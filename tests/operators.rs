//! Operators against PyTorch: calls recorded by `data/operators.py`, with results, strides and messages.

use aot_playground::dispatch::{Value, call, fill_args, lookup};
use aot_playground::error::ErrorKind;
use aot_playground::shape::ints;
use aot_playground::tensor::strided::numbers;
use aot_playground::tensor::{Dtype, Geometry, MemoryFormat, Number};
use recorded::{list, number, tensor};
use serde_json::Value as Json;

mod recorded;

fn value(v: &Json, tensors: &[Json]) -> Value {
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

fn compare(got: &Value, want: &Json) -> Result<(), String> {
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

fn class(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Runtime => "RuntimeError",
        ErrorKind::Type => "TypeError",
        ErrorKind::Value => "ValueError",
        ErrorKind::Index => "IndexError",
        ErrorKind::NotImplemented => "NotImplementedError",
        _ => "other",
    }
}

fn check(file: &str) {
    let data: Json = serde_json::from_str(file).unwrap();
    let tensors = data["tensors"].as_array().unwrap();
    let mut wrong = Vec::new();
    let cases = data["cases"].as_array().unwrap();
    for case in cases {
        let name = case[0].as_str().unwrap();
        let args: Vec<Value> = case[1].as_array().unwrap().iter().map(|v| value(v, tensors)).collect();
        let keywords: Vec<(&str, Value)> = case[2].as_object().unwrap().iter().map(|(k, v)| (k.as_str(), value(v, tensors))).collect();
        let Some(entry) = lookup(name) else {
            wrong.push(format!("{name}: there is no such operator"));
            continue;
        };
        let shown = format!("{args:?}");
        let run = || fill_args(entry, args, &keywords).and_then(|args| call(entry, args));
        let Ok(answer) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) else {
            wrong.push(format!("{name}{shown}: a panic"));
            continue;
        };
        let verdict = match (answer, case[3].get("error")) {
            (Ok(got), None) => compare(&got, &case[3]),
            (Ok(got), Some(error)) => Err(format!("{got:?}, not {error}")),
            (Err(e), None) => Err(format!("{e:?}")),
            (Err(e), Some(error)) => {
                let same = class(e.kind) == error[0].as_str().unwrap() && e.message.lines().next() == error[1].as_str();
                if same { Ok(()) } else { Err(format!("{e:?}, not {error}")) }
            }
        };
        if let Err(why) = verdict {
            wrong.push(format!("{name}{shown} {:?}: {why}", keywords));
        }
    }
    let shown = wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {} differ:\n{shown}", wrong.len(), cases.len());
}

macro_rules! families {
    ($($name:ident)*) => { $(
        #[test]
        fn $name() {
            check(include_str!(concat!("data/operators_", stringify!($name), ".json")));
        }
    )* };
}
families! { views scatters joining gathering advanced sorting }
