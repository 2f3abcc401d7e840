//! Graphs under the default backend: what is traced of the scripts of `tests/inductor`, and forwards and backwards after the passes on
//! joint graphs, are PyTorch's, names included.

#![cfg(feature = "python")]

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use aot_playground::report::{GraphView, Report};
use serde::Deserialize;

#[derive(Deserialize)]
struct Recorded {
    name: String,
    stdout: String,
    /// Joint and inference graphs, in order.
    graphs: Vec<Vec<String>>,
    /// Forward and, where it ran, backward of each joint graph.
    parts: Vec<Vec<Vec<String>>>,
}

/// A printed graph without comments, blank lines and the line of its class.
fn bare(graph: &GraphView) -> Vec<String> {
    let lines = graph.readable.lines().map(str::trim);
    lines.filter(|l| !l.is_empty() && !l.starts_with('#') && !l.starts_with("class ")).map(str::to_owned).collect()
}

fn differences(recorded: &Recorded, report: &Report) -> Vec<String> {
    if let Some(raised) = &report.exception {
        return vec![raised.traceback.clone()];
    }
    let mut found = Vec::new();
    if report.stdout != recorded.stdout {
        found.push(format!("printed\n{}PyTorch\n{}", report.stdout, recorded.stdout));
    }
    let all = &report.compilations;
    let traced: Vec<_> = all.iter().filter_map(|c| c.joint.as_ref().or(c.inference.as_ref())).map(bare).collect();
    let parts: Vec<_> = all.iter().filter_map(|c| Some([bare(c.forward.as_ref()?), bare(c.backward.as_ref()?)])).collect();
    if traced.len() != recorded.graphs.len() || parts.len() != recorded.parts.len() {
        found.push(format!("{} graphs, PyTorch {}", traced.len(), recorded.graphs.len()));
    }
    let mut compare = |what: &str, i: usize, ours: &[String], theirs: &[String]| {
        if let Some((a, b)) = ours.iter().zip(theirs).find(|(a, b)| a != b) {
            found.push(format!("{what} {i}\n{a}\nPyTorch\n{b}"));
        } else if ours.len() != theirs.len() {
            found.push(format!("{what} {i}: {} lines, PyTorch {}", ours.len(), theirs.len()));
        }
    };
    for (i, (ours, theirs)) in traced.iter().zip(&recorded.graphs).enumerate() {
        compare("traced", i, ours, theirs);
    }
    for (i, (ours, theirs)) in parts.iter().zip(&recorded.parts).enumerate() {
        for (part, (ours, theirs)) in ["forward", "backward"].iter().zip(ours.iter().zip(theirs)) {
            compare(part, i, ours, theirs);
        }
    }
    found
}

#[test]
fn graphs_are_those_of_pytorch() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inductor");
    let recorded: Vec<Recorded> = serde_json::from_str(&std::fs::read_to_string(folder.join("recorded.json")).unwrap()).unwrap();
    assert!(recorded.len() >= 2);
    let wrong = on_large_stack(move || {
        let interpreter = Interpreter::new();
        let run = |recorded: &Recorded| {
            let script = std::fs::read_to_string(folder.join(format!("{}.py", recorded.name))).unwrap();
            let report = Rc::new(RefCell::new(Report::default()));
            let sink = report.clone();
            let options = RunOptions { backend: "inductor".to_owned(), ..RunOptions::default() };
            interpreter.run(&script, "script.py", &options, Rc::new(move |event| sink.borrow_mut().fold(event)));
            report.take()
        };
        let differ = recorded.iter().flat_map(|r| differences(r, &run(r)).into_iter().map(|d| format!("{}: {d}", r.name)));
        differ.collect::<Vec<_>>()
    })
    .unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
