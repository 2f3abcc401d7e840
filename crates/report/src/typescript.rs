//! The page's types are this crate's: this test generates `www/src/generated/` and fails where the committed files differ.
//! `ACCEPT=1 cargo test -p report` rewrites them.
//!
//! Beside the types it writes a sample of events with the report they fold to, so that the page's own fold is held to
//! [`Report::fold`].

use std::fs;
use std::path::{Path, PathBuf};

use ts_rs::TS;

use crate::bundle::{BUNDLE_VERSION, Bundle, Recipe, RunError, RunResult, Training};
use crate::log::{CompilationRow, LogDiff, Overview, RegionRow};
use crate::protocol::{FromExport, FromGpu, FromInterpreter, FromReader, ToExport, ToGpu, ToInterpreter, ToReader};
use crate::sentences::{BreakPlace, Cause, Misses};
use crate::{
    Answer, CapturedGraph, Check, Compilation, Event, Exception, GraphBreak, GraphRun, GraphView, LastCall, NodeView, PYTORCH_VERSION,
    Question, REPORT_VERSION, RecompileLimit, Report, Span, Tape, Trial, WhatIf,
};

fn generated() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../www/src/generated")
}

/// Compares `text` with the committed file, or writes it where `ACCEPT` is set.
fn expect_file(name: &str, text: &str) {
    let path = generated().join(name);
    if std::env::var_os("ACCEPT").is_some() {
        fs::create_dir_all(generated()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "{} differs from the Rust types: run ACCEPT=1 cargo test -p report", path.display());
}

#[test]
fn typescript_types_are_current() {
    let scratch = std::env::temp_dir().join(format!("aot-playground-types-{}", std::process::id()));
    Event::export_all_to(&scratch).unwrap();
    Report::export_all_to(&scratch).unwrap();
    RunResult::export_all_to(&scratch).unwrap();
    RunError::export_all_to(&scratch).unwrap();
    Question::export_all_to(&scratch).unwrap();
    Answer::export_all_to(&scratch).unwrap();
    Recipe::export_all_to(&scratch).unwrap();
    Training::export_all_to(&scratch).unwrap();
    Trial::export_all_to(&scratch).unwrap();
    WhatIf::export_all_to(&scratch).unwrap();
    ToInterpreter::export_all_to(&scratch).unwrap();
    FromInterpreter::export_all_to(&scratch).unwrap();
    ToGpu::export_all_to(&scratch).unwrap();
    FromGpu::export_all_to(&scratch).unwrap();
    ToExport::export_all_to(&scratch).unwrap();
    FromExport::export_all_to(&scratch).unwrap();
    ToReader::export_all_to(&scratch).unwrap();
    FromReader::export_all_to(&scratch).unwrap();
    Overview::export_all_to(&scratch).unwrap();
    CompilationRow::export_all_to(&scratch).unwrap();
    RegionRow::export_all_to(&scratch).unwrap();
    LogDiff::export_all_to(&scratch).unwrap();
    let types = fs::read_to_string(scratch.join("report.ts")).unwrap();
    fs::remove_dir_all(&scratch).unwrap();
    // The generator keeps trailing blanks of empty doc lines and ends without a newline.
    let mut text: String = types.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    text.push_str(&format!(
        "\nexport const REPORT_VERSION = {REPORT_VERSION};\nexport const BUNDLE_VERSION = {BUNDLE_VERSION};\nexport const PYTORCH_VERSION = {PYTORCH_VERSION:?};\n"
    ));
    expect_file("report.ts", &text);
}

#[test]
fn typescript_fold_sample_is_current() {
    let graph = |readable: &str| GraphView {
        readable: readable.to_owned(),
        nodes: vec![NodeView { name: "x".to_owned(), op: "placeholder".to_owned(), ..NodeView::default() }],
        modules: Vec::new(),
    };
    let joint = Compilation { id: 0, region: Some(0), joint: Some(graph("joint")), ..Compilation::default() };
    let both = Compilation { forward: Some(graph("forward")), backward: Some(graph("backward")), ..joint.clone() };
    let events = vec![
        Event::Stdout { text: "one\n".to_owned() },
        Event::Captured { region: CapturedGraph { function: "f".to_owned(), graph: graph("captured"), ..CapturedGraph::default() } },
        Event::Captured { region: CapturedGraph { function: "f".to_owned(), graph: graph("captured again"), ..CapturedGraph::default() } },
        Event::Compiled { compilation: joint },
        Event::Compiled { compilation: both },
        Event::Compiled { compilation: Compilation { id: 1, ..Compilation::default() } },
        Event::Broke {
            graph_break: GraphBreak {
                reason: "print".to_owned(),
                span: Some(Span { line: 3, ..Span::default() }),
                ..GraphBreak::default()
            },
        },
        Event::BreakPlace { place: BreakPlace { count: 1, ..BreakPlace::default() } },
        Event::BreakPlace { place: BreakPlace { count: 2, ..BreakPlace::default() } },
        Event::Misses { misses: Misses { id: 2, ..Misses::default() } },
        Event::Misses { misses: Misses { id: 2, causes: vec![Cause { count: 1, ..Cause::default() }], ..Misses::default() } },
        Event::Recompiled { reasons: vec!["size mismatch".to_owned()] },
        Event::PretendsCuda,
        Event::Called { call: LastCall { frame: 2, region: Some(0), ..LastCall::default() } },
        Event::Limited { limit: RecompileLimit { frame: 2, function: "f".to_owned(), ..RecompileLimit::default() } },
        Event::Uncompiled { frame: 2, span: Some(Span { line: 9, ..Span::default() }) },
        Event::Uncompiled { frame: 2, span: Some(Span { line: 9, ..Span::default() }) },
        Event::CompiledAutograd {
            tape: Tape { name: "CompiledAutograd0".to_owned(), graph: graph("tape"), reasons: vec!["new".to_owned()], ..Tape::default() },
        },
        Event::TapeHit { tape: 0 },
        Event::Ran { run: GraphRun { compilation: 0, part: "forward".to_owned() } },
        Event::Checked { check: Check { compared: [1, 0], ..Check::default() } },
        Event::Checked { check: Check { compared: [1, 1], ..Check::default() } },
        Event::Runnable { bundle: Bundle { version: BUNDLE_VERSION, ..Bundle::default() } },
        Event::Stderr { text: "warning\n".to_owned() },
        Event::Stdout { text: "two\n".to_owned() },
        Event::Finished {
            exception: Some(Exception { kind: "ValueError".to_owned(), message: "no".to_owned(), ..Exception::default() }),
            seconds: 0.5,
        },
    ];
    let mut report = Report::default();
    events.iter().cloned().for_each(|event| report.fold(event));
    let sample = serde_json::json!({ "events": events, "report": report });
    expect_file("fold.sample.json", &format!("{}\n", serde_json::to_string_pretty(&sample).unwrap()));
}
