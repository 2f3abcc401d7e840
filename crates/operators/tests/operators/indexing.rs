//! Square brackets against PyTorch: the calls that reading and writing make, and results, recorded by `data/indexing.py`.

use super::recorded::log::Log;
use super::recorded::{class, compare, value};
use diagnostics::error::Result;
use dispatch::{Key, Value, pop_layer, push_layer};
use operators::indexing::{IndexItem, getitem, setitem};
use serde_json::Value as Json;
use shape::SymInt;
use std::rc::Rc;
use tensor::Tensor;

fn item(v: &Json, tensors: &[Json]) -> IndexItem {
    if let Some(parts) = v.get("slice") {
        let part = |i: usize| parts[i].as_i64().map(SymInt::Int);
        return IndexItem::Slice(part(0), part(1), part(2));
    }
    match value(v, tensors) {
        Value::None => IndexItem::NewAxis,
        Value::Bool(b) => IndexItem::Bool(b),
        Value::Int(i) => IndexItem::Int(i),
        Value::Tensor(t) => IndexItem::Tensor(t),
        _ => IndexItem::Ellipsis,
    }
}

fn run(x: &Tensor, items: &[IndexItem], given: &Json, tensors: &[Json]) -> Result<Tensor> {
    if given.as_str() == Some("get") {
        return getitem(x, items);
    }
    setitem(x, items, &value(given, tensors)).map(|()| x.clone())
}

fn check(case: &Json, tensors: &[Json]) -> Result<(), String> {
    let x = value(&case[0], tensors).into_tensor().map_err(|e| e.message)?;
    let items: Vec<IndexItem> = case[1].as_array().unwrap().iter().map(|v| item(v, tensors)).collect();
    let log = Rc::new(Log::default());
    push_layer(log.clone());
    let answer = run(&x, &items, &case[2], tensors);
    pop_layer(Key::Trace);
    let calls: Vec<&str> = case[3].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    let made = log.0.borrow();
    if made.iter().map(String::as_str).ne(calls.iter().copied()) {
        return Err(format!("calls {made:?}, not {calls:?}; {answer:?}"));
    }
    match (answer, case[4].get("error")) {
        (Ok(got), None) => compare(&Value::Tensor(got), &case[4]),
        (Ok(got), Some(error)) => Err(format!("{got:?}, not {error}")),
        (Err(e), None) => Err(format!("{e:?}")),
        (Err(e), Some(error)) => {
            let same = class(e.kind) == error[0].as_str().unwrap() && e.message.lines().next() == error[1].as_str();
            if same { Ok(()) } else { Err(format!("{e:?}, not {error}")) }
        }
    }
}

#[test]
fn square_brackets_make_pytorchs_calls() {
    cpu::install();
    let data: Json = serde_json::from_str(include_str!("data/indexing.json")).unwrap();
    let tensors = data["tensors"].as_array().unwrap();
    let cases = data["cases"].as_array().unwrap();
    let failed = |case: &Json| check(case, tensors).err().map(|why| format!("{} {} = {}: {why}", case[0], case[1], case[2]));
    let wrong: Vec<String> = cases.iter().filter_map(failed).collect();
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
