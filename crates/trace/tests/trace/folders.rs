//! Logs of a folder: `LOGS=FOLDER cargo test -p trace folders -- --nocapture` reads every one of them, prints every graph back and says what
//! differs. Without a folder there is nothing to do.

use graph::print_readable;
use std::path::{Path, PathBuf};
use trace::{Given, Log, LoggedGraph, Stage, decision};

/// Files below a folder; a folder of tlparse's counts as one.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() && !path.join("raw.jsonl").exists() {
            true => files(&path, out),
            false => out.push(path),
        }
    }
    out.sort();
}

/// What is at a path, as it would be given.
fn given(root: &Path, path: &Path) -> Vec<Given> {
    let mut all = vec![path.to_owned()];
    if path.is_dir() {
        all.clear();
        files(path, &mut all);
    }
    let name = |path: &Path| path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
    all.iter().map(|path| Given { name: name(path), bytes: std::fs::read(path).unwrap() }).collect()
}

/// A graph's lines that mean something, without comments other than descriptors.
pub fn body<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let kept = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let class = |line: &str| match line.find("class ") {
        Some(at) if line.ends_with("(torch.nn.Module):") => line[at..].to_owned(),
        _ => line.to_owned(),
    };
    lines.map(str::trim).filter(kept).map(class).collect()
}

/// Where two texts first differ.
fn difference(want: &[String], got: &[String]) -> String {
    let at = want.iter().zip(got).position(|(a, b)| a != b).unwrap_or(want.len().min(got.len()));
    format!("\n    want {}\n    got  {}", want.get(at).map_or("", |s| s), got.get(at).map_or("", |s| s))
}

/// Reads a graph and prints it back: what is wrong with it, or nothing.
pub fn check(log: &Log, logged: &LoggedGraph, frame: Option<&trace::Frame>) -> Option<String> {
    let place = log.place(&logged.text);
    let name = logged.stage.name();
    match log.graph(logged, frame) {
        Err(error) => Some(format!("{place} {name}: {error}")),
        Ok(parsed) => {
            let want = body(log.lines(&logged.text).map(|(_, line)| line));
            let want: Vec<String> = if logged.input_types.is_empty() { want } else { return None };
            let printed = print_readable(&parsed.graph, parsed.style).text;
            let mut got = body(printed.lines());
            if !want.first().is_some_and(|line| line.starts_with("class ")) {
                got.remove(0);
            }
            (want != got).then(|| format!("{place} {name}: printed back otherwise{}", difference(&want, &got)))
        }
    }
}

#[test]
fn folders() {
    let Some(folder) = std::env::var_os("LOGS") else { return };
    let mut found = Vec::new();
    files(Path::new(&folder), &mut found);
    operators::install();
    let (mut graphs, mut wrong, mut split, mut same) = (0, 0, 0, 0);
    for path in found {
        let name = path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
        let log = match trace::open(given(Path::new(&folder), &path)) {
            Ok(log) => log,
            Err(error) => {
                println!("{name}: {error}");
                continue;
            }
        };
        let (mut count, mut bad) = (0, Vec::new());
        let mut one = |logged: &LoggedGraph, frame: Option<&trace::Frame>| {
            count += 1;
            bad.extend(check(&log, logged, frame));
        };
        for compilation in &log.compilations {
            compilation.graphs.iter().for_each(|graph| one(graph, log.frame_of(compilation)));
        }
        log.frames.iter().for_each(|frame| frame.graph.iter().for_each(|graph| one(graph, Some(frame))));
        log.compiled_autograd.iter().for_each(|(_, graph)| one(graph, None));
        let stages = |stage: Stage| log.compilations.iter().filter(|c| c.graph(&stage).is_some()).count();
        let counts = [Stage::Joint, Stage::Inference, Stage::Forward, Stage::Backward].map(stages);
        println!(
            "{name}: {} {} compilations (joint, inference, forward, backward: {counts:?}), {} frames, {count} graphs, {} wrong",
            log.forms.join(" "),
            log.compilations.len(),
            log.frames.len(),
            bad.len()
        );
        for compilation in &log.compilations {
            let read = decision::graphs(&log, compilation);
            if compilation.graph(&Stage::Joint).is_none() || read.forward.is_none() {
                continue;
            }
            split += 1;
            match decision::decide(&log, compilation, &read) {
                Ok(decision) if decision.is_same => same += 1,
                Ok(decision) => println!("  partition: {}", decision.differences.join("; ")),
                Err(error) => println!("  partition: {error}"),
            }
        }
        bad.iter().for_each(|line| println!("  {line}"));
        for unknown in &log.unknown {
            println!("  ? {} x{} {}:{}", unknown.kind, unknown.count, unknown.first.0, unknown.first.1);
        }
        graphs += count;
        wrong += bad.len();
    }
    println!("{graphs} graphs, {wrong} wrong; {same} of {split} partitions as logged");
}
