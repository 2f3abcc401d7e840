//! Operators against PyTorch: results, layouts, gradients, and every operator call made below autograd.
//!
//! `tests/recorders/operators/nn/` recorded the expected answers in `tests/data/nn_operators/`.
//! `OPERATORS=softmax cargo test --test library nn_operators` runs the cases whose name contains the word.

use aot_playground::autograd::{self, BackwardOptions, Edge, gradient_edge, meta, run_backward};
use aot_playground::backend::cpu;
use aot_playground::dispatch::{Call, Key, Layer, OpEntry, Type, Value, call, call_below, fill_args, lookup, pop_layer, push_layer};
use aot_playground::error::Result;
use aot_playground::shape::{SymInt, ints};
use aot_playground::tensor::{Device, Dtype, MemoryFormat, Tensor, TensorSpec};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// Sees every call that reaches the backend.
struct Record(Rc<RefCell<Vec<String>>>);

impl Layer for Record {
    fn key(&self) -> Key {
        Key::Trace
    }
    fn wants(&self, _call: &Call) -> bool {
        true
    }
    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        let out = call_below(Key::Trace, entry, args)?;
        if entry.name != "aten.detach.default" {
            // What reshape makes of a view is called so in eager mode only.
            let name = entry.name.replace("_reshape_alias", "view");
            self.0.borrow_mut().push(format!("{name} {}", layout(&out)));
        }
        Ok(out)
    }
}

fn layout(value: &Value) -> String {
    match value {
        Value::Tensor(t) => {
            let g = t.geometry();
            let list = |v: &[SymInt]| v.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(", ");
            format!("{}[{}][{}]", t.dtype().short(), list(&g.sizes), list(&g.strides))
        }
        Value::List(items) => format!("({})", items.iter().map(layout).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().unwrap().iter().map(number).collect()
}

fn number(json: &Json) -> f64 {
    match json {
        Json::Bool(b) => f64::from(u8::from(*b)),
        Json::String(s) => s.parse().unwrap(),
        other => other.as_f64().unwrap(),
    }
}

fn integers(json: &Json) -> Vec<i64> {
    json.as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect()
}

fn dtype(short: &str) -> Dtype {
    *Dtype::ALL.iter().find(|d| d.short() == short).unwrap()
}

/// The storage index of every element, in row-major order.
fn places(sizes: &[i64], strides: &[i64]) -> Vec<usize> {
    let mut places = vec![0usize];
    for (size, stride) in sizes.iter().zip(strides) {
        places = places.iter().flat_map(|p| (0..*size).map(move |i| p + (i * stride) as usize)).collect();
    }
    places
}

macro_rules! each_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            Dtype::Float32 => {
                type $T = f32;
                $body
            }
            Dtype::Float64 => {
                type $T = f64;
                $body
            }
            Dtype::Int64 => {
                type $T = i64;
                $body
            }
            Dtype::Int32 => {
                type $T = i32;
                $body
            }
            Dtype::Int16 => {
                type $T = i16;
                $body
            }
            Dtype::Int8 => {
                type $T = i8;
                $body
            }
            Dtype::UInt8 | Dtype::Bool => {
                type $T = u8;
                $body
            }
            other => panic!("no element type for {other}"),
        }
    };
}

fn make(json: &Json) -> Tensor {
    let (sizes, strides, data) = (integers(&json["size"]), integers(&json["stride"]), numbers(&json["data"]));
    let dtype = dtype(json["tensor"].as_str().unwrap());
    let t = Tensor::zeros(&TensorSpec::strided(ints(&sizes), ints(&strides), dtype, Device::CPU)).unwrap();
    for (place, value) in places(&sizes, &strides).into_iter().zip(data) {
        match dtype {
            Dtype::Float16 => t.with_slice_mut::<half::f16, _>(|s| s[place] = half::f16::from_f64(value)).unwrap(),
            Dtype::BFloat16 => t.with_slice_mut::<half::bf16, _>(|s| s[place] = half::bf16::from_f64(value)).unwrap(),
            d => each_dtype!(d, T => if d == Dtype::Bool || d == Dtype::UInt8 {
                t.with_slice_mut::<u8, _>(|s| s[place] = value as u8).unwrap()
            } else {
                t.with_slice_mut::<T, _>(|s| s[place] = value as T).unwrap()
            }),
        }
    }
    if json["grad"].as_bool().unwrap_or(false) {
        meta::set_requires_grad(&t, true).unwrap();
    }
    t
}

fn decode(json: &Json, leaves: &mut Vec<Tensor>) -> Value {
    match json {
        Json::Null => Value::None,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => Value::from(n.as_i64().unwrap()),
        Json::String(s) => Value::from(s.as_str()),
        Json::Array(items) => Value::List(items.iter().map(|i| decode(i, leaves)).collect()),
        Json::Object(o) if o.contains_key("tensor") => {
            let t = make(json);
            if meta::requires_grad(&t) {
                leaves.push(t.clone());
            }
            Value::Tensor(t)
        }
        Json::Object(o) if o.contains_key("dtype") => Value::Dtype(Dtype::parse(o["dtype"].as_str().unwrap()).unwrap()),
        Json::Object(o) if o.contains_key("float") => Value::Float(number(&o["float"])),
        Json::Object(o) => Value::MemoryFormat(match o["memory_format"].as_str().unwrap() {
            "torch.channels_last" => MemoryFormat::ChannelsLast,
            "torch.channels_last_3d" => MemoryFormat::ChannelsLast3d,
            "torch.preserve_format" => MemoryFormat::Preserve,
            _ => MemoryFormat::Contiguous,
        }),
    }
}

// The cast is one for every dtype but float64 itself.
#[allow(clippy::unnecessary_cast)]
fn values(t: &Tensor) -> Vec<f64> {
    let g = t.concrete().unwrap();
    let (sizes, strides): (Vec<i64>, Vec<i64>) =
        (g.sizes.iter().map(|v| *v as i64).collect(), g.strides.iter().map(|v| *v as i64).collect());
    let places = places(&sizes, &strides).into_iter().map(|p| p + g.offset);
    match t.dtype() {
        Dtype::Float16 => t.with_slice::<half::f16, _>(|s| places.map(|p| s[p].to_f64()).collect()).unwrap(),
        Dtype::BFloat16 => t.with_slice::<half::bf16, _>(|s| places.map(|p| s[p].to_f64()).collect()).unwrap(),
        d => each_dtype!(d, T => t.with_slice::<T, _>(|s| places.map(|p| s[p] as f64).collect()).unwrap()),
    }
}

/// What differs between a value and what PyTorch answered.
fn compare(what: &str, have: &Value, want: &Json, problems: &mut Vec<String>) {
    match (have, want) {
        (Value::List(items), Json::Array(wanted)) if items.len() == wanted.len() => {
            for (i, (h, w)) in items.iter().zip(wanted).enumerate() {
                compare(&format!("{what}[{i}]"), h, w, problems);
            }
        }
        (Value::Tensor(t), Json::Object(_)) => {
            let text = format!("{}[{}][{}]", want["tensor"].as_str().unwrap(), list(&want["size"]), list(&want["stride"]));
            if layout(have) != text {
                problems.push(format!("{what} is {}, not {text}", layout(have)));
                return;
            }
            let tolerance = if t.dtype() == Dtype::BFloat16 {
                8e-3
            } else if t.dtype() == Dtype::Float16 {
                1e-3
            } else {
                2e-5
            };
            let (have, want) = (values(t), numbers(&want["data"]));
            let scale = want.iter().filter(|w| w.is_finite()).fold(0.1f64, |m, w| m.max(w.abs()));
            let close = |h: f64, w: f64| h == w || (h.is_nan() && w.is_nan()) || (h - w).abs() <= tolerance * (w.abs() + 0.05 * scale);
            if !have.iter().zip(&want).all(|(h, w)| close(*h, *w)) {
                problems.push(format!("{what} is {have:?}, not {want:?}"));
            }
        }
        (Value::None, Json::Null) => {}
        _ => problems.push(format!("{what} is {have:?}, not {want}")),
    }
}

fn list(json: &Json) -> String {
    integers(json).iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

fn tensors(value: &Value) -> Vec<Tensor> {
    let mut found = Vec::new();
    value.for_each_tensor(&mut |t| found.push(t.clone()));
    found
}

fn compare_calls(what: &str, have: &[String], want: &Json, problems: &mut Vec<String>) {
    let want: Vec<&str> = want.as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    if have != want {
        let at = have.iter().zip(&want).position(|(h, w)| h != w).unwrap_or(have.len().min(want.len()));
        problems.push(format!("{what} call {at}: {:?}, not {:?}", have.get(at), want.get(at)));
    }
}

fn run(case: &Json, calls: &Rc<RefCell<Vec<String>>>) -> Vec<String> {
    let mut problems = Vec::new();
    let name = case["op"].as_str().unwrap();
    let Some(entry) = lookup(name) else { return vec![format!("the catalogue has no {name}")] };
    let mut leaves = Vec::new();
    let mut positional: Vec<Value> = case["args"].as_array().unwrap().iter().map(|a| decode(a, &mut leaves)).collect();
    let keywords: Vec<(String, Value)> =
        case["kwargs"].as_object().unwrap().iter().map(|(k, v)| (k.clone(), decode(v, &mut leaves))).collect();
    for (value, argument) in positional.iter_mut().zip(&entry.schema.arguments) {
        if let (Value::Int(SymInt::Int(i)), Type::Float) = (&*value, &argument.ty) {
            *value = Value::Float(*i as f64);
        }
    }
    let keywords: Vec<(&str, Value)> = keywords.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
    calls.borrow_mut().clear();
    let out = match fill_args(entry, positional, &keywords).and_then(|args| call(entry, args)) {
        Ok(out) => out,
        Err(e) => return vec![format!("failed: {e}")],
    };
    compare("the result", &out, &case["out"], &mut problems);
    compare_calls("forward", &calls.take(), &case["forward"], &mut problems);
    if case.get("grads").is_none() {
        return problems;
    }
    let tangents = case["tangents"].as_array().unwrap().iter().map(make);
    let roots: Vec<(Edge, Tensor)> = tensors(&out).iter().filter_map(|t| gradient_edge(t).unwrap()).zip(tangents).collect();
    let inputs: Vec<Edge> = leaves.iter().filter_map(|t| gradient_edge(t).unwrap()).collect();
    match run_backward(roots, Some(&inputs), BackwardOptions::default()) {
        Ok(grads) => {
            let grads = Value::List(grads.into_iter().map(Value::from).collect());
            compare("the gradient", &grads, &case["grads"], &mut problems);
            compare_calls("backward", &calls.borrow(), &case["backward"], &mut problems);
        }
        Err(e) => problems.push(format!("backward failed: {e}")),
    }
    problems
}

fn install() {
    cpu::install();
    autograd::install();
}

fn run_file(text: &str) {
    install();
    let calls = Rc::new(RefCell::new(Vec::new()));
    push_layer(Rc::new(Record(calls.clone())));
    let cases: Vec<Json> = serde_json::from_str(text).unwrap();
    let wanted = std::env::var("OPERATORS").unwrap_or_default();
    let (mut failed, mut count) = (Vec::new(), 0);
    for case in cases.iter().filter(|c| c["name"].as_str().unwrap().contains(&wanted)) {
        count += 1;
        // A composite that names an operator the catalogue lacks panics; the other cases still run.
        let problems = catch_unwind(AssertUnwindSafe(|| run(case, &calls)))
            .unwrap_or_else(|e| vec![e.downcast_ref::<String>().cloned().unwrap_or_else(|| "panicked".into())]);
        if !problems.is_empty() {
            failed.push(format!("{}: {}", case["name"].as_str().unwrap(), problems.join("\n    ")));
        }
    }
    pop_layer(Key::Trace);
    assert!(failed.is_empty(), "{} of {count} cases differ:\n{}", failed.len(), failed.join("\n"));
}

macro_rules! families {
    ($($name:ident)*) => { $(
        #[test]
        fn $name() {
            run_file(include_str!(concat!("../data/nn_operators/", stringify!($name), ".json")));
        }
    )* };
}
families!(matrix loss layers pooling sequence images linalg);

/// A tensor of rows.
fn rows(rows: &[&[f64]]) -> Tensor {
    Tensor::from_slice(&rows.concat(), &[rows.len() as i64, rows[0].len() as i64]).unwrap()
}

fn close(what: &str, have: &Tensor, want: &Tensor) {
    let (have, want) = (values(have), values(want));
    assert!(have.iter().zip(&want).all(|(h, w)| (h - w).abs() < 1e-9), "{what}: {have:?}, not {want:?}");
}

/// Signs of singular vectors and eigenvectors are nobody's to say: what counts is that they give the matrix back.
#[test]
fn factors_multiply_back() {
    use aot_playground::{aten, t};
    install();
    let a = rows(&[&[1.0, 2.0, -0.5], &[0.3, -1.0, 4.0]]);
    for full in [false, true] {
        let parts = aten!("linalg_svd", &a, full).unwrap().tensors().unwrap();
        let s = t!("diag_embed", &parts[1]).unwrap();
        let u = t!("narrow", &parts[0], -1, 0, 2).unwrap();
        let v = t!("narrow", &parts[2], -2, 0, 2).unwrap();
        close("u s v", &t!("matmul", t!("matmul", u, s).unwrap(), v).unwrap(), &a);
        let v = &parts[2];
        let n = v.size(0).hint().unwrap();
        let square = t!("matmul", v, t!("t", v).unwrap()).unwrap();
        close("v v'", &square, &t!("eye", n; dtype = Dtype::Float64).unwrap());
    }
    let symmetric = t!("matmul", t!("t", &a).unwrap(), &a).unwrap();
    let parts = aten!("linalg_eigh", &symmetric).unwrap().tensors().unwrap();
    let scaled = t!("mul.Tensor", &parts[1], &parts[0]).unwrap();
    close("v l v'", &t!("matmul", scaled, t!("t", &parts[1]).unwrap()).unwrap(), &symmetric);
    let singular = rows(&[&[1.0, 2.0], &[2.0, 4.0]]);
    let error = t!("linalg_inv", &singular).unwrap_err();
    assert_eq!(
        error.message,
        "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular."
    );
}
