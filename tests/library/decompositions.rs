//! Inductor's decompositions: what PyTorch traced of single calls, and that both forms compute the same numbers.
//!
//! `python tests/record.py data/decompositions` records them.

use aot_playground::aot::replay_graph;
use aot_playground::aot::run_graph;
use aot_playground::aot::trace::{Pushed, TraceLayer, Tracer};
use aot_playground::backend::cpu;
use aot_playground::decompositions::inductor;
use aot_playground::dispatch::{Exclude, Key, Modes, Tags, Value, lookup, modes, set_modes};
use aot_playground::error::Result;
use aot_playground::graph::{FakeValue, Graph, parse, readable};
use aot_playground::tensor::{Dtype, Tensor, TensorSpec};
use aot_playground::{aten, t};
use serde::Deserialize;
use std::rc::Rc;

#[derive(Deserialize)]
struct Record {
    op: String,
    call: String,
    decomposed: String,
}

fn recorded() -> Vec<Record> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/decompositions.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn specs(graph: &Graph) -> Vec<TensorSpec> {
    graph
        .placeholders()
        .map(|n| match &n.meta.value {
            Some(FakeValue::Tensor(spec)) => spec.clone(),
            other => panic!("{} is {other:?}", n.name),
        })
        .collect()
}

/// The graph of a call, traced under the table.
fn decompose(call: &Graph) -> Result<Graph> {
    let tracer = Tracer::new("<lambda>");
    tracer.decompose(Some(inductor()));
    let mut inputs = Vec::new();
    for (i, spec) in specs(call).iter().enumerate() {
        let input = Tensor::fake(spec).unwrap();
        tracer.placeholder(&format!("arg{i}_1"), &input)?;
        inputs.push(Value::Tensor(input));
    }
    let before = modes();
    set_modes(Modes { fake: true, ..before });
    let outputs = {
        let _trace = Pushed::new(Rc::new(TraceLayer(tracer.clone())));
        let _below = Exclude::down_to(Key::Functionalize);
        replay_graph(call, &mut inputs)
    };
    set_modes(before);
    tracer.finish(&outputs?)
}

/// The lines that say something, without what the two printers bracket differently.
fn body(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#') && !l.starts_with("class "));
    lines
        .map(|l| match l.strip_prefix("return ") {
            Some(value) => format!("return {}", value.trim_matches(|c| "()[], ".contains(c))),
            None => l.to_owned(),
        })
        .collect()
}

#[test]
fn calls_decompose_as_in_pytorch() {
    cpu::install();
    let mut failures = Vec::new();
    let records = recorded();
    for record in &records {
        let call = parse(&record.call, &|_| None).unwrap().graph;
        let got = match decompose(&call) {
            Ok(graph) => readable(&graph),
            Err(error) => {
                failures.push(format!("{}: {error}", record.op));
                continue;
            }
        };
        let (want, got) = (body(&record.decomposed), body(&got));
        if want != got {
            let at = want.iter().zip(&got).position(|(a, b)| a != b).unwrap_or(want.len().min(got.len()));
            let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
            failures.push(format!("{}\n  of   {}\n  want {}\n  got  {}", record.op, body(&record.call)[1], line(&want), line(&got)));
        }
    }
    assert!(failures.is_empty(), "{} of {} differ\n{}", failures.len(), records.len(), failures.join("\n"));
}

/// Numbers that every operator of the records takes: between zero and one; whole ones, that index three places; both truths.
fn sample(spec: &TensorSpec, turn: usize) -> Tensor {
    let n = spec.geometry.numel().as_int().unwrap();
    let steps = t!("arange", n).unwrap();
    let made = match spec.dtype {
        Dtype::Bool => t!("eq.Scalar", t!("remainder.Scalar", steps, 2).unwrap(), (turn % 2) as i64),
        d if d.is_integral() => t!("to.dtype", t!("remainder.Scalar", steps, 3).unwrap(), d),
        d => {
            let spread = t!("remainder.Scalar", t!("mul.Scalar", steps, 7 + 4 * turn as i64).unwrap(), 31).unwrap();
            let scaled = t!("add.Scalar", t!("div.Scalar", spread, 40).unwrap(), 0.1).unwrap();
            t!("to.dtype", scaled, d)
        }
    };
    let made = t!("view", made.unwrap(), spec.geometry.sizes.clone()).unwrap();
    let strided = t!("empty_strided", spec.geometry.sizes.clone(), spec.geometry.strides.clone(); dtype = spec.dtype).unwrap();
    t!("copy_", strided, made).unwrap()
}

fn is_random(graph: &Graph) -> bool {
    let draws = |op: &str| lookup(op).is_some_and(|e| e.tags.has(Tags::RANDOM)) || op.contains("empty");
    graph.nodes().filter_map(|n| n.op()).any(draws)
}

/// Whether two results agree, in the digits that the shorter dtype has: saved statistics are kept in the input's by one form, in the
/// parameters' by the other.
fn close(a: &Tensor, b: &Tensor) -> bool {
    if format!("{:?}", a.sizes()) != format!("{:?}", b.sizes()) {
        return false;
    }
    let short = [a, b].iter().any(|t| t.dtype().itemsize() < 4 && t.dtype().is_floating());
    let (rtol, atol) = if short { (3e-2, 3e-2) } else { (1e-4, 1e-5) };
    let double = |t: &Tensor| t!("to.dtype", t, Dtype::Float64).unwrap();
    let same = t!("isclose", double(a), double(b), rtol, atol, true).unwrap();
    matches!(aten!("_local_scalar_dense", t!("all", same).unwrap()).unwrap(), Value::Bool(true))
}

#[test]
fn both_forms_compute_the_same() {
    cpu::install();
    let (mut failures, mut compared) = (Vec::new(), 0);
    for record in recorded() {
        let call = parse(&record.call, &|_| None).unwrap().graph;
        let Ok(decomposed) = decompose(&call) else { continue };
        let expanded = specs(&call).iter().any(|s| s.geometry.strides.iter().any(|n| n.as_int() == Some(0)));
        if expanded || is_random(&call) || is_random(&decomposed) {
            continue;
        }
        let inputs: Vec<Value> = specs(&call).iter().enumerate().map(|(i, s)| sample(s, i).into()).collect();
        let run = |graph: &Graph| run_graph(graph, &mut inputs.clone());
        match (run(&call), run(&decomposed)) {
            (Ok(a), Ok(b)) => {
                compared += 1;
                let same = a.iter().zip(&b).all(|(a, b)| match (a, b) {
                    (Value::Tensor(a), Value::Tensor(b)) => close(a, b),
                    (a, b) => a.is_none() && b.is_none(),
                });
                if !same {
                    failures.push(format!("{}: {}", record.op, body(&record.call)[1]));
                }
            }
            (a, b) => failures.push(format!("{}: {:?} {:?}", record.op, a.err(), b.err())),
        }
    }
    assert!(failures.is_empty(), "of {compared} differ\n{}", failures.join("\n"));
    assert!(compared > 200, "{compared} compared");
}
