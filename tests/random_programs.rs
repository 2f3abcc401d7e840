//! Random programs against PyTorch: what a compiled function prints, and the joint or inference graphs made of it, for the scripts
//! that `tests/random_programs/record.py` wrote down with what PyTorch 2.15 answered.

#![cfg(feature = "python")]

use std::cell::RefCell;
use std::rc::Rc;

use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use aot_playground::report::Report;
use serde::Deserialize;

#[derive(Deserialize)]
struct Recorded {
    seed: u64,
    script: String,
    stdout: String,
    graphs: Vec<Vec<String>>,
}

fn run(interpreter: &Interpreter, script: &str) -> Report {
    let report = Rc::new(RefCell::new(Report::default()));
    let sink = report.clone();
    let options = RunOptions { backend: "aot_eager_default_partitioner".to_owned(), ..RunOptions::default() };
    interpreter.run(script, "random.py", &options, Rc::new(move |event| sink.borrow_mut().fold(event)));
    report.take()
}

/// A printed graph without comments, blank lines and the line of its class.
fn bare(readable: &str) -> Vec<String> {
    let lines = readable.lines().map(str::trim);
    lines.filter(|l| !l.is_empty() && !l.starts_with('#') && !l.starts_with("class ")).map(str::to_owned).collect()
}

/// What differs, in words; nothing where all agrees.
fn difference(recorded: &Recorded, report: &Report) -> Option<String> {
    if let Some(raised) = &report.exception {
        return Some(raised.traceback.clone());
    }
    if report.stdout != recorded.stdout {
        return Some(format!("printed\n{}PyTorch\n{}", report.stdout, recorded.stdout));
    }
    let traced: Vec<Vec<String>> =
        report.compilations.iter().filter_map(|c| c.joint.as_ref().or(c.inference.as_ref())).map(|g| bare(&g.readable)).collect();
    if traced.len() != recorded.graphs.len() {
        return Some(format!("{} graphs, PyTorch {}", traced.len(), recorded.graphs.len()));
    }
    let (ours, theirs) = traced.iter().flatten().zip(recorded.graphs.iter().flatten()).find(|(a, b)| a != b)?;
    Some(format!("{ours}\nPyTorch\n{theirs}"))
}

#[test]
fn random_programs_do_what_they_do_in_pytorch() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/random_programs/recorded.json")).unwrap();
    let mut recorded: Vec<Recorded> = serde_json::from_str(&text).unwrap();
    assert!(recorded.len() >= 200);
    if let Some(seed) = std::env::var("PROGRAM_SEED").ok().and_then(|s| s.parse::<u64>().ok()) {
        recorded.retain(|r: &Recorded| r.seed == seed);
    }
    let wrong = on_large_stack(move || {
        let interpreter = Interpreter::new();
        let differ = recorded.iter().filter_map(|r| difference(r, &run(&interpreter, &r.script)).map(|d| (r, d)));
        differ.map(|(r, d)| format!("PROGRAM_SEED={}\n{}\n{d}", r.seed, r.script)).collect::<Vec<_>>()
    })
    .unwrap();
    wrong.iter().for_each(|w| println!("{w}\n"));
    assert!(wrong.is_empty(), "{} programs differ", wrong.len());
}
