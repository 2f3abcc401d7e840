//! Derivatives against PyTorch: the calls each formula makes, in order, and the gradients, recorded by `data/derivatives.py`.

use super::recorded::log::Log;
use super::recorded::{compare, value};
use autograd::{BackwardOptions, gradient_edge, meta, run_backward};
use diagnostics::error::Result;
use dispatch::{Key, Value, call, fill_args, lookup, pop_layer, push_layer};
use serde_json::Value as Json;
use std::rc::Rc;
use tensor::{Dtype, Tensor};

fn leaves(v: &Value, found: &mut Vec<Tensor>) {
    v.for_each_tensor(&mut |t| {
        if t.dtype() == Dtype::Float64 {
            found.push(t.clone());
        }
    });
}

fn check(case: &Json, tensors: &[Json]) -> Result<(), String> {
    let said = |e: diagnostics::error::Error| format!("{e:?}");
    let entry = lookup(case[0].as_str().unwrap()).ok_or("there is no such operator")?;
    let args: Vec<Value> = case[1].as_array().unwrap().iter().map(|v| value(v, tensors)).collect();
    let keywords: Vec<(&str, Value)> = case[2].as_object().unwrap().iter().map(|(k, v)| (k.as_str(), value(v, tensors))).collect();
    let mut wanted = Vec::new();
    args.iter().for_each(|v| leaves(v, &mut wanted));
    wanted.iter().try_for_each(|t| meta::set_requires_grad(t, true)).map_err(said)?;
    let out = fill_args(entry, args, &keywords).and_then(|args| call(entry, args)).map_err(said)?;
    let first = match &out {
        Value::List(items) => items[0].clone(),
        other => other.clone(),
    };
    let root = gradient_edge(first.tensor().map_err(said)?).map_err(said)?.ok_or("the result has no history")?;
    let grad = value(&case[3][0], tensors).into_tensor().map_err(said)?;
    let inputs: Vec<_> = wanted.iter().map(|t| gradient_edge(t).map(|e| e.unwrap())).collect::<Result<_>>().map_err(said)?;
    let log = Rc::new(Log::default());
    push_layer(log.clone());
    let grads = run_backward(vec![(root, grad)], Some(&inputs), BackwardOptions::default());
    pop_layer(Key::Trace);
    let grads: Vec<Value> = grads.map_err(said)?.into_iter().map(Value::from).collect();
    let calls: Vec<&str> = case[4].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    let made = log.0.borrow();
    if made.iter().map(String::as_str).ne(calls.iter().copied()) {
        return Err(format!("calls\n  {}\nnot\n  {}", made.join("\n  "), calls.join("\n  ")));
    }
    compare(&Value::List(grads), &case[5])
}

#[test]
fn derivatives_make_pytorchs_calls_and_gradients() {
    every(include_str!("data/derivatives.json"));
}

#[test]
fn pointwise_derivatives_and_reductions_make_pytorchs_calls_and_gradients() {
    every(include_str!("data/derivatives_pointwise.json"));
}

fn every(data: &str) {
    cpu::install();
    autograd::install();
    let data: Json = serde_json::from_str(data).unwrap();
    let tensors = data["tensors"].as_array().unwrap();
    let cases = data["cases"].as_array().unwrap();
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let verdict = std::panic::catch_unwind(|| check(case, tensors)).unwrap_or_else(|_| Err("a panic".to_owned()));
            verdict.err().map(|why| format!("{}{}: {why}", case[0], case[1]))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
