//! The conformance programs: what PyTorch printed and compiled for each, against what we do.
//!
//! `tests/conformance/status.txt` says, per program and backend, which of these hold: `out` (standard output and exception),
//! `joint`, `forward`, `backward` (every graph of that kind reads the same but for comments), `saved`, `cut`. What holds there
//! must go on holding; `UPDATE_EXPECT=1 cargo test --test programs` writes the file anew.

#![cfg(feature = "python")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

#[path = "support/runs.rs"]
mod runs;
use runs::{compilations, each, fnv, recordings, report};

const BACKENDS: &[&str] = &["aot_eager", "aot_eager_default_partitioner", "inductor"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

/// The lines of a printed graph that mean something: no class line, no comments, no blanks.
fn body(graph: &Value) -> Vec<&str> {
    let text = graph["readable"].as_str().unwrap_or_default();
    text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#') && !l.starts_with("class ")).collect()
}

/// What holds of one program.
fn held(expected: &Value, got: &Value) -> BTreeSet<&'static str> {
    let mut held = BTreeSet::new();
    let kind = |v: &Value| v["exception"]["type"].as_str().map(str::to_owned);
    if got["stdout"] == expected["stdout"] && kind(got) == kind(expected) {
        held.insert("out");
    }
    let none = Vec::new();
    let theirs = expected["compilations"].as_array().unwrap_or(&none);
    let ours = got["compilations"].as_array().unwrap_or(&none);
    if theirs.is_empty() || theirs.len() != ours.len() {
        return held;
    }
    let all = |f: &dyn Fn(&Value, &Value) -> bool| theirs.iter().zip(ours).all(|(a, b)| f(a, b));
    for (name, keys) in [("joint", &["joint", "inference"][..]), ("forward", &["forward"]), ("backward", &["backward"])] {
        if all(&|a, b| keys.iter().all(|k| body(&a[*k]) == body(&b[*k]))) {
            held.insert(name);
        }
    }
    let names = |c: &Value| -> Vec<String> {
        let mut names: Vec<String> = c["saved"]
            .as_array()
            .map(|s| s.iter().map(|v| v["name"].as_str().unwrap_or_default().to_owned()).collect())
            .unwrap_or_default();
        names.sort();
        names
    };
    if all(&|a, b| names(a) == names(b)) {
        held.insert("saved");
    }
    if all(&|a, b| a["partition"]["cut"]["value"] == b["partition"]["cut"]["value"]) {
        held.insert("cut");
    }
    held
}

#[test]
fn what_held_holds() {
    let mut programs: Vec<PathBuf> = std::fs::read_dir(folder().join("programs")).unwrap().map(|e| e.unwrap().path()).collect();
    programs.sort();
    let runs: Vec<(&PathBuf, &str)> = programs.iter().flat_map(|p| BACKENDS.iter().map(move |b| (p, *b))).collect();
    let lines = each(&runs, |(program, backend)| {
        let name = program.file_stem().unwrap().to_str().unwrap();
        let expected = std::fs::read(folder().join("expected").join(format!("{name}.{backend}.json"))).ok()?;
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let held: Vec<&str> = held(&expected, &report(program, backend)).into_iter().collect();
        Some(format!("{name} {backend}: {}\n", held.join(" ")))
    });
    let now: String = lines.into_iter().flatten().collect();
    let file = folder().join("status.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&file, &now).unwrap();
        return;
    }
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    let mut lost = String::new();
    for (was, is) in before.lines().map(|l| l.split_once(": ").unwrap_or((l.trim_end_matches(':'), ""))).map(|(key, was)| {
        let is = now.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':')).unwrap_or("");
        ((key, was), is)
    }) {
        for flag in was.1.split_whitespace().filter(|f| !is.split_whitespace().any(|i| i == *f)) {
            writeln!(lost, "{}: {flag} no longer holds", was.0).unwrap();
        }
    }
    assert!(lost.is_empty(), "{lost}");
}

#[test]
fn a_classifier_trains_to_the_numbers_of_pytorch() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let report = report(&scripts.join("spiral_classifier.py"), "aot_eager");
    assert_eq!(report["stdout"].as_str().unwrap(), std::fs::read_to_string(scripts.join("spiral_classifier.txt")).unwrap());
}

/// Programs of the kinds that people paste: `tests/programs/expected.json` holds what PyTorch prints, and hashes of the graphs it
/// compiles (`record.py` writes it); `tests/programs/status.txt` says for which these agree, and must go on agreeing.
#[test]
fn programs_that_people_paste() {
    agree("tests/programs");
}

/// Programs about what surrounds a graph: breaks, values that vary, sizes (`record.py --folder tests/capture`).
#[test]
fn programs_about_capture() {
    agree("tests/capture");
}

fn agree(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let expected: Value = serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let lines = each(&recordings(&expected), |(name, backend, want)| {
        let got = report(&folder.join(format!("{name}.py")), backend);
        let mut held = Vec::new();
        // Random numbers of Inductor's are others than in eager mode.
        let prints_alike = want["stdout"].is_null() || got["stdout"] == want["stdout"];
        if prints_alike && got["exception"]["type"] == want["exception"] {
            held.push("out");
        }
        let graph = |c: &Value, keys: &[&str]| {
            keys.iter().find(|k| !c[**k].is_null()).map_or(Value::Null, |k| Value::from(fnv(&body(&c[*k]).join("\n"))))
        };
        let kinds = |c: &Value| Value::from(vec![graph(c, &["joint", "inference"]), graph(c, &["forward"]), graph(c, &["backward"])]);
        let ours: Vec<Value> = compilations(&got).into_iter().map(kinds).collect();
        if want["graphs"].as_array() == Some(&ours) {
            held.push("graphs");
        }
        format!("{name} {backend}: {}\n", held.join(" "))
    });
    let now: String = lines.concat();
    let file = folder.join("status.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&file, &now).unwrap();
        return;
    }
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    let lost: Vec<&str> = before
        .lines()
        .filter(|was| {
            let (key, flags) = was.split_once(": ").unwrap_or((was.trim_end_matches(':'), ""));
            let is = now.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':')).unwrap_or("");
            flags.split_whitespace().any(|f| !is.split_whitespace().any(|i| i == f))
        })
        .collect();
    assert!(lost.is_empty(), "no longer:\n{}", lost.join("\n"));
}
