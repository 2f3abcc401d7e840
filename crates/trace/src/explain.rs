//! What a maintainer wants to know first of a log: `aot-playground explain FILE`.

use super::model::Log;
use super::report::{frames_alone, reasons};
use super::summary::{SavedRow, Summary, broke, summary};
use report::sentences::{self, bytes};
use std::fmt::Write;

/// How many saved values are named, the largest first.
const MOST_SAVED: usize = 8;

/// A saved value on one line.
pub fn value(row: &SavedRow) -> String {
    let saved = &row.saved;
    let what = match (&saved.dtype, &saved.shape, &saved.sym) {
        (Some(dtype), Some(shape), _) => format!("{dtype}[{}]", shape.join(", ")),
        (_, _, Some(sym)) => format!("size {sym}"),
        _ => "unknown type".to_owned(),
    };
    let size = match (saved.of_input, saved.bytes, saved.dtype.is_some()) {
        (true, Some(count), _) => format!(", {} of an input, in memory anyway", bytes(count)),
        (_, Some(count), _) => format!(", {}", bytes(count)),
        (_, None, true) => ", bytes unknown".to_owned(),
        (_, None, false) => String::new(),
    };
    let line = row.line.as_ref().map(|line| format!("  {}:{} {}", line.file, line.line, line.code.trim())).unwrap_or_default();
    let why = row.why.as_ref().map(|why| format!("\n        {why}")).unwrap_or_default();
    format!("{}: {what}{size}{line}{why}", saved.name)
}

/// What was found: each compilation on a line.
pub fn overview(log: &Log) -> String {
    let mut out = head(log);
    for (index, compilation) in log.compilations.iter().enumerate() {
        let frame = log.frame_of(compilation);
        let function = frame.and_then(|frame| frame.function.as_deref()).unwrap_or_default();
        let stages: Vec<&str> = compilation.graphs.iter().map(|graph| graph.stage.name()).collect();
        let _ = writeln!(out, "{:>4}  {:<16} {function:<24} {}", index, super::summary::name_of(compilation, index), stages.join(", "));
    }
    for frame in frames_alone(log) {
        let name = super::summary::key_name(&frame.key).unwrap_or_default();
        let what = match (&frame.graph, &frame.failure) {
            (_, Some((kind, _))) => format!("failed: {kind}"),
            (Some(_), None) => "dynamo".to_owned(),
            (None, None) => "no graph".to_owned(),
        };
        let _ = writeln!(out, "      {name:<16} {:<24} {what}", frame.function.as_deref().unwrap_or_default());
    }
    for (_, tape) in &log.compiled_autograd {
        let _ = writeln!(out, "      compiled autograd: a tape at {}", log.place(&tape.text));
    }
    not_understood(log, &mut out);
    out
}

fn head(log: &Log) -> String {
    let version = log.pytorch.as_deref().map_or_else(|| "a version that the log does not name".to_owned(), str::to_owned);
    format!("{}, PyTorch {version}: {}\n", log.forms.join(", "), counted(log.compilations.len(), "compilation"))
}

fn not_understood(log: &Log, out: &mut String) {
    if !log.unknown.is_empty() {
        out.push_str("\nNot understood:\n");
    }
    for unknown in &log.unknown {
        let times = counted(unknown.count as usize, "time");
        let _ = writeln!(out, "  {} ({times}, first at {}:{})", unknown.kind, unknown.first.0, unknown.first.1);
    }
}

/// What a maintainer wants first of every compilation.
pub fn explain(log: &Log) -> String {
    let mut out = head(log);
    for (rank, misses, places) in super::report::sentences(log) {
        for line in sentences::lines(&misses, &places) {
            let _ = writeln!(out, "{}{line}", rank.map(|rank| format!("rank {rank}: ")).unwrap_or_default());
        }
    }
    for index in 0..log.compilations.len() {
        of_one(&summary(log, index), &mut out);
    }
    let alone: Vec<_> = frames_alone(log).collect();
    if !alone.is_empty() {
        let _ = writeln!(out, "\nDynamo alone: {}", counted(alone.len(), "attempt"));
    }
    for frame in alone {
        let name = super::summary::key_name(&frame.key).unwrap_or_else(|| "without a compile id:".to_owned());
        let _ = writeln!(out, "  {name} {}", frame.function.as_deref().unwrap_or_default());
        for text in &frame.breaks {
            let _ = writeln!(out, "    graph break: {}", broke(log, text));
        }
        for reason in frame.recompiles.iter().flat_map(|text| reasons(log, text)) {
            let _ = writeln!(out, "    recompiled: {reason}");
        }
        if let Some((kind, message)) = &frame.failure {
            let _ = writeln!(out, "    failed: {kind}: {}", message.lines().next().unwrap_or_default());
        }
    }
    not_understood(log, &mut out);
    out
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn of_one(of: &Summary, out: &mut String) {
    let calls: Vec<String> = of.calls.iter().map(|(stage, count)| format!("{stage} {count}")).collect();
    let _ = writeln!(out, "\n{}: calls: {}", of.name, calls.join(", "));
    if let Some(saved) = &of.saved {
        let total = of.saved_bytes.map_or_else(|| "bytes unknown: the log does not say what symbols stood for".to_owned(), bytes);
        let _ = writeln!(out, "  saved for backward: {}, {total}", counted(saved.len(), "value"));
        let mut largest: Vec<&SavedRow> = saved.iter().collect();
        largest.sort_by_key(|row| std::cmp::Reverse(row.saved.bytes.unwrap_or(0)));
        for row in largest.iter().take(MOST_SAVED) {
            let _ = writeln!(out, "    {}", value(row));
        }
        if largest.len() > MOST_SAVED {
            let _ = writeln!(out, "    and {} more", largest.len() - MOST_SAVED);
        }
    }
    if let Some(memory) = &of.memory {
        let _ = writeln!(out, "  {}", sentences::peak(memory, None, true).text());
    }
    match &of.decision {
        Some((true, _)) => out.push_str("  partition: the partitioner here decides the same\n"),
        Some((false, _)) => {
            let _ = writeln!(out, "  partition: decided otherwise here: {}", of.differences.join("; "));
        }
        None => {}
    }
    for assumed in of.decision.iter().flat_map(|(_, assumed)| assumed) {
        let _ = writeln!(out, "    {assumed}");
    }
    for line in &of.breaks {
        let _ = writeln!(out, "  graph break: {line}");
    }
    for reason in &of.recompiles {
        let _ = writeln!(out, "  recompiled: {reason}");
    }
    for problem in &of.problems {
        let _ = writeln!(out, "  {problem}");
    }
}
