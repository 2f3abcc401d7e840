//! What a run did, in the form of what was recorded: items with their texts.

use crate::expected::Items;
use aot_playground::report::{Compilation, GraphView, Report};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A run's items. Those that nothing was recorded of are not compared.
#[derive(Serialize, Deserialize)]
pub struct Observed {
    /// Item by item.
    pub items: Items,
    /// What ended the script, as a traceback: for messages.
    pub traceback: Option<String>,
}

/// A printed graph without comments, blank lines, the lines of its classes, and indentation.
fn bare(graph: &GraphView) -> String {
    let lines = graph.readable.lines().map(str::trim);
    let mut text = String::new();
    for line in lines.filter(|l| !l.is_empty() && !l.starts_with('#') && !l.starts_with("class ")) {
        writeln!(text, "{line}").unwrap();
    }
    text
}

/// The size conditions of the cache entry that a compilation was made for, in the recorder's form.
fn conditions(report: &Report, compilation: &Compilation) -> Option<String> {
    let region = report.regions.iter().find(|region| Some(region.id) == compilation.region)?;
    let entry = region.entry.as_ref()?;
    let bound = |value: Option<i64>| value.map_or("-".to_owned(), |v| v.to_string());
    let mut text = String::new();
    for symbol in &entry.symbols {
        writeln!(text, "symbol {}: {} {} {}", symbol.name, bound(symbol.lower), bound(symbol.upper), bound(symbol.value)).unwrap();
    }
    for condition in &entry.conditions {
        writeln!(text, "guard ({}) {} ({})", condition.left, condition.relation, condition.right).unwrap();
    }
    Some(text)
}

/// A failed guard without the code that it comes from.
fn reason(text: &str) -> &str {
    text.split(" # ").next().unwrap_or_default().trim_end()
}

/// The items of a report. `folder`, where the script lies, is no part of what is printed.
pub fn observed(report: &Report, status: i32, folder: &str) -> Observed {
    let traceback = report.exception.as_ref().map(|exception| exception.traceback.clone());
    let mut items = Items::new();
    let mut put = |item: String, text: String| drop(items.insert(item, text));
    put("stdout".into(), report.stdout.replace(folder, ""));
    put("stderr".into(), (report.stderr.clone() + traceback.as_deref().unwrap_or_default()).replace(folder, ""));
    put("status".into(), format!("{status}\n"));
    if let Some(exception) = &report.exception {
        put("exception".into(), format!("{}\n", exception.kind));
    }
    let groups = report.recompiles.iter().map(|group| group.iter().fold(String::new(), |text, r| text + reason(r) + "\n"));
    put("recompiles".into(), groups.collect::<Vec<_>>().join("\n"));
    // What is discarded and traced again is not partitioned, so that nothing was recorded of it.
    let compilations: Vec<&Compilation> = report.compilations.iter().filter(|c| !c.abandoned).collect();
    put("count".into(), format!("{}\n", compilations.len()));
    for (number, compilation) in compilations.into_iter().enumerate() {
        for (kind, graph) in [
            ("joint", &compilation.joint),
            ("inference", &compilation.inference),
            ("forward", &compilation.forward),
            ("backward", &compilation.backward),
        ] {
            if let Some(graph) = graph {
                put(format!("{kind} {number}"), bare(graph));
            }
        }
        if let Some(saved) = &compilation.saved {
            put(format!("saved {number}"), saved.iter().fold(String::new(), |text, value| text + &value.name + "\n"));
        }
        if let Some(cut) = compilation.partition.as_ref().and_then(|p| p.cut.as_ref()) {
            put(format!("cut {number}"), format!("{:?}\n", cut.value));
        }
        if let Some(conditions) = conditions(report, compilation) {
            put(format!("conditions {number}"), conditions);
        }
    }
    Observed { items, traceback }
}
