//! What the sections of ARCHITECTURE.md on AOTAutograd say, script by script: the scripts of `tests/aot` print what they print under
//! PyTorch, and their joint or inference graphs, forwards and backwards are PyTorch's, names included.

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
    /// Forward and backward of each joint graph.
    parts: Vec<[Vec<String>; 2]>,
}

/// A printed graph without comments, blank lines and the line of its class.
fn bare(graph: &GraphView) -> Vec<String> {
    let lines = graph.readable.lines().map(str::trim);
    lines.filter(|l| !l.is_empty() && !l.starts_with('#') && !l.starts_with("class ")).map(str::to_owned).collect()
}

fn difference(recorded: &Recorded, report: &Report) -> Option<String> {
    if let Some(raised) = &report.exception {
        return Some(raised.traceback.clone());
    }
    if report.stdout != recorded.stdout {
        return Some(format!("printed\n{}PyTorch\n{}", report.stdout, recorded.stdout));
    }
    let all = &report.compilations;
    let traced: Vec<_> = all.iter().filter_map(|c| c.joint.as_ref().or(c.inference.as_ref())).map(bare).collect();
    let parts: Vec<_> = all.iter().filter_map(|c| Some([bare(c.forward.as_ref()?), bare(c.backward.as_ref()?)])).collect();
    if traced.len() != recorded.graphs.len() || parts.len() != recorded.parts.len() {
        return Some(format!("{} graphs, PyTorch {}", traced.len(), recorded.graphs.len()));
    }
    let ours = traced.iter().chain(parts.iter().flatten()).flatten();
    let theirs = recorded.graphs.iter().chain(recorded.parts.iter().flatten()).flatten();
    let (ours, theirs) = ours.zip(theirs).find(|(a, b)| a != b)?;
    Some(format!("{ours}\nPyTorch\n{theirs}"))
}

#[test]
fn sections_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/aot");
    let recorded: Vec<Recorded> = serde_json::from_str(&std::fs::read_to_string(folder.join("recorded.json")).unwrap()).unwrap();
    assert!(recorded.len() >= 20);
    let wrong = on_large_stack(move || {
        let interpreter = Interpreter::new();
        let run = |recorded: &Recorded| {
            let script = std::fs::read_to_string(folder.join(format!("{}.py", recorded.name))).unwrap();
            let report = Rc::new(RefCell::new(Report::default()));
            let sink = report.clone();
            let options = RunOptions { backend: "aot_eager_default_partitioner".to_owned(), ..RunOptions::default() };
            interpreter.run(&script, "script.py", &options, Rc::new(move |event| sink.borrow_mut().fold(event)));
            report.take()
        };
        let differ = recorded.iter().filter_map(|r| difference(r, &run(r)).map(|d| format!("{}: {d}", r.name)));
        differ.collect::<Vec<_>>()
    })
    .unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
