//! Two logs beside each other: `aot-playground diff A B`.
//!
//! Compilations are paired in order, by what they compute; values by what computes them. Names differ between versions and runs, and say
//! nothing.

use super::model::Log;
use super::summary::{SavedRow, Summary, summary};
use report::log::{ChangedValue, Line, LogDiff, OneValue, PairDiff};
use report::sentences::bytes;
use std::collections::HashMap;
use std::fmt::Write;

fn type_of(row: &SavedRow) -> String {
    match (&row.saved.dtype, &row.saved.shape, &row.saved.sym) {
        (Some(dtype), Some(shape), _) => format!("{dtype}[{}]", shape.join(", ")),
        (_, _, Some(sym)) => format!("size {sym}"),
        _ => String::new(),
    }
}

fn one(row: &SavedRow) -> OneValue {
    OneValue { name: row.saved.name.clone(), bytes: row.saved.bytes, kind: type_of(row), line: row.line.clone() }
}

/// Pairs the items of two lists, in order, so that most that are alike are paired.
fn pairs(a: &[Summary], b: &[Summary]) -> Vec<(Option<usize>, Option<usize>)> {
    let alike = |x: &Summary, y: &Summary| {
        let common: usize = x.operators.iter().map(|(op, n)| n.min(y.operators.get(op).unwrap_or(&0))).sum();
        let total: usize = x.operators.values().sum::<usize>() + y.operators.values().sum::<usize>();
        let same_id = if x.key == y.key && x.key.1.is_some() { 0.5 } else { 0.0 };
        0.01 + same_id + 2.0 * common as f64 / total.max(1) as f64
    };
    // As long as the table stays small, the best pairing is found; beyond that, by place.
    if a.len().saturating_mul(b.len()) > 1_000_000 {
        let longest = a.len().max(b.len());
        return (0..longest).map(|i| ((i < a.len()).then_some(i), (i < b.len()).then_some(i))).collect();
    }
    let mut best = vec![vec![0.0f64; b.len() + 1]; a.len() + 1];
    for i in 0..a.len() {
        for j in 0..b.len() {
            best[i + 1][j + 1] = best[i][j + 1].max(best[i + 1][j]).max(best[i][j] + alike(&a[i], &b[j]));
        }
    }
    let (mut i, mut j, mut out) = (a.len(), b.len(), Vec::new());
    while i > 0 || j > 0 {
        if i > 0 && best[i][j] == best[i - 1][j] {
            i -= 1;
            out.push((Some(i), None));
        } else if j > 0 && best[i][j] == best[i][j - 1] {
            j -= 1;
            out.push((None, Some(j)));
        } else if i > 0 && j > 0 {
            (i, j) = (i - 1, j - 1);
            out.push((Some(i), Some(j)));
        } else {
            break;
        }
    }
    out.reverse();
    out
}

/// What of each list the other does not have, counted.
fn only(a: &[String], b: &[String]) -> (Vec<String>, Vec<String>) {
    let missing = |from: &[String], of: &[String]| {
        let mut left: HashMap<&str, usize> = HashMap::new();
        of.iter().for_each(|text| *left.entry(text).or_insert(0) += 1);
        let is_new = |text: &&String| match left.get_mut(text.as_str()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
        from.iter().filter(is_new).cloned().collect::<Vec<_>>()
    };
    (missing(a, b), missing(b, a))
}

/// A guard without what differs from run to run: addresses of objects.
fn lasting(guard: &str) -> String {
    let mut out = String::with_capacity(guard.len());
    let mut digits = String::new();
    for c in guard.chars().chain([' ']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        match digits.len() {
            // Nothing that a program counts has so many digits.
            10.. => out.push_str("ID"),
            _ => out.push_str(&digits),
        }
        digits.clear();
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out
}

fn peak(of: &Summary) -> Option<u64> {
    of.memory.as_ref().map(|memory| memory.peak_bytes)
}

fn compare(a: &Summary, b: &Summary) -> PairDiff {
    let mut out = PairDiff {
        names: (Some(a.name.clone()), Some(b.name.clone())),
        saved_bytes: (a.saved_bytes, b.saved_bytes),
        peak_bytes: (peak(a), peak(b)),
        ..PairDiff::default()
    };
    let (first, second) = (a.saved.as_deref().unwrap_or_default(), b.saved.as_deref().unwrap_or_default());
    let mut by_structure: HashMap<u64, Vec<&SavedRow>> = HashMap::new();
    for row in second.iter().rev() {
        by_structure.entry(row.structure).or_default().push(row);
    }
    let mut unmatched = Vec::new();
    for row in first {
        match by_structure.get_mut(&row.structure).and_then(Vec::pop) {
            Some(other) if type_of(row) != type_of(other) => out.changed.push(ChangedValue {
                names: (row.saved.name.clone(), other.saved.name.clone()),
                bytes: (row.saved.bytes, other.saved.bytes),
                types: (type_of(row), type_of(other)),
                line: row.line.clone(),
            }),
            Some(_) => {}
            None => unmatched.push((row, one(row))),
        }
    }
    // What is computed otherwise, but of one type at one line, is one value.
    let place = |row: &SavedRow| row.line.as_ref().map(|line| (line.file.clone(), line.line, type_of(row)));
    let mut kept = Vec::new();
    for (row, value) in unmatched {
        let mut others =
            by_structure.values_mut().filter(|rows| rows.iter().any(|other| place(other).is_some() && place(other) == place(row)));
        match others.next() {
            Some(rows) => rows.retain({
                let mut left = 1;
                move |other| {
                    let is_it = left > 0 && place(other) == place(row);
                    left -= usize::from(is_it);
                    !is_it
                }
            }),
            None => kept.push(value),
        }
    }
    out.only_first = kept;
    let left: std::collections::HashSet<*const SavedRow> = by_structure.values().flatten().map(|row| std::ptr::from_ref(*row)).collect();
    out.only_second = second.iter().filter(|row| left.contains(&std::ptr::from_ref(*row))).map(one).collect();
    for op in a.operators.keys().chain(b.operators.keys()) {
        let counts = (a.operators.get(op).copied().unwrap_or(0), b.operators.get(op).copied().unwrap_or(0));
        if counts.0 != counts.1 {
            out.operators.insert(op.clone(), counts);
        }
    }
    if a.rows != b.rows {
        let at = a.rows.iter().zip(&b.rows).position(|(x, y)| x != y).unwrap_or(a.rows.len().min(b.rows.len()));
        let row = |rows: &[String]| rows.get(at).cloned().unwrap_or_else(|| "the end".to_owned());
        out.first_row = Some((row(&a.rows), row(&b.rows)));
    }
    out.recompiles = only(&a.recompiles, &b.recompiles);
    out.breaks = only(&a.breaks, &b.breaks);
    let lasting = |guards: &[String]| guards.iter().map(|guard| lasting(guard)).collect::<Vec<_>>();
    out.guards = only(&lasting(&a.guards), &lasting(&b.guards));
    // Releases have settings of their own, and a log may hold a few: what one does not name is not known to differ.
    for (name, value) in &a.settings {
        if let Some(other) = b.settings.get(name).filter(|other| *other != value) {
            out.settings.insert(name.clone(), (Some(value.clone()), Some(other.clone())));
        }
    }
    let nothing = |pair: &(Vec<String>, Vec<String>)| pair.0.is_empty() && pair.1.is_empty();
    out.same = out.only_first.is_empty()
        && out.only_second.is_empty()
        && out.changed.is_empty()
        && out.operators.is_empty()
        && out.first_row.is_none()
        && nothing(&out.recompiles)
        && nothing(&out.breaks)
        && nothing(&out.guards)
        && out.settings.is_empty();
    out
}

/// Compares two compilations, of one log or of two.
pub fn diff_of_two((a, i): (&Log, usize), (b, j): (&Log, usize)) -> PairDiff {
    compare(&summary(a, i), &summary(b, j))
}

/// Compares two logs.
pub fn diff(a: &Log, b: &Log) -> LogDiff {
    diff_ranks((a, None), (b, None))
}

/// Compares two logs, of each one process or all.
pub fn diff_ranks((a, first): (&Log, Option<u32>), (b, second): (&Log, Option<u32>)) -> LogDiff {
    let all = |log: &Log, rank: Option<u32>| {
        let is_of = |i: &usize| rank.is_none() || log.compilations[*i].key.rank == rank;
        (0..log.compilations.len()).filter(is_of).map(|i| summary(log, i)).collect::<Vec<_>>()
    };
    let (first, second) = (all(a, first), all(b, second));
    let one = |(i, j): (Option<usize>, Option<usize>)| match (i, j) {
        (Some(i), Some(j)) => compare(&first[i], &second[j]),
        (i, j) => PairDiff {
            names: (i.map(|i| first[i].name.clone()), j.map(|j| second[j].name.clone())),
            saved_bytes: (i.and_then(|i| first[i].saved_bytes), j.and_then(|j| second[j].saved_bytes)),
            ..PairDiff::default()
        },
    };
    let compilations: Vec<PairDiff> = pairs(&first, &second).into_iter().map(one).collect();
    LogDiff {
        format: super::report::FORMAT,
        same: compilations.iter().all(|pair| pair.same),
        pytorch: (a.pytorch.clone(), b.pytorch.clone()),
        compilations,
    }
}

/// What differs, for a person: what is saved comes first.
pub fn words(of: &LogDiff) -> String {
    let mut out = String::new();
    if of.pytorch.0 != of.pytorch.1 {
        let name = |version: &Option<String>| version.clone().unwrap_or_else(|| "not named".to_owned());
        let _ = writeln!(out, "PyTorch: {} and {}", name(&of.pytorch.0), name(&of.pytorch.1));
    }
    for pair in &of.compilations {
        let _ = match &pair.names {
            (Some(a), Some(b)) if a == b => writeln!(out, "{a}: {}", if pair.same { "same" } else { "differs" }),
            (Some(a), Some(b)) => writeln!(out, "{a} and {b}: {}", if pair.same { "same" } else { "differs" }),
            (Some(a), None) => writeln!(out, "{a}: only in the first"),
            (None, Some(b)) => writeln!(out, "{b}: only in the second"),
            (None, None) => Ok(()),
        };
        say(pair, &mut out);
    }
    out
}
fn say(of: &PairDiff, out: &mut String) {
    if of.names.0.is_none() || of.names.1.is_none() {
        return;
    }
    let size = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), bytes);
    if of.saved_bytes.0 != of.saved_bytes.1 {
        let _ = writeln!(out, "  saved for backward: {} and {}", size(of.saved_bytes.0), size(of.saved_bytes.1));
    }
    let place = |line: &Option<Line>| line.as_ref().map(|l| format!("  {}:{}", l.file, l.line)).unwrap_or_default();
    for (sign, values) in [("-", &of.only_first), ("+", &of.only_second)] {
        for value in values {
            let _ = writeln!(out, "  {sign} saved {}: {} {}{}", value.name, value.kind, size(value.bytes), place(&value.line));
        }
    }
    for value in &of.changed {
        let (a, b) = &value.names;
        let name = if a == b { a.clone() } else { format!("{a}, {b}") };
        let (from, to) = (&value.types.0, &value.types.1);
        let _ = writeln!(out, "  ~ saved {name}: {from} {} and {to} {}{}", size(value.bytes.0), size(value.bytes.1), place(&value.line));
    }
    if of.peak_bytes.0 != of.peak_bytes.1 {
        let _ = writeln!(out, "  peak: {} and {}", size(of.peak_bytes.0), size(of.peak_bytes.1));
    }
    for (op, (a, b)) in &of.operators {
        let _ = writeln!(out, "  {op}: {a} and {b} calls");
    }
    if let Some((a, b)) = &of.first_row
        && of.operators.is_empty()
    {
        let _ = writeln!(out, "  the graphs differ first at {a} and {b}");
    }
    for (what, (a, b)) in [("recompiled", &of.recompiles), ("graph break", &of.breaks), ("guard", &of.guards)] {
        for text in a {
            let _ = writeln!(out, "  - {what}: {text}");
        }
        for text in b {
            let _ = writeln!(out, "  + {what}: {text}");
        }
    }
    for (name, (a, b)) in &of.settings {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "not there".to_owned());
        let _ = writeln!(out, "  setting {name}: {} and {}", text(a), text(b));
    }
}
