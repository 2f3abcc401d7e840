//! What differs between a run and its recording, item by item, each difference as a unified diff.

use crate::conditions::{self, Relation};
use crate::numbers::alike;
use crate::observed::Observed;
use crate::topics::Case;
use libtest_mimic::Failed;
use similar::TextDiff;
use std::collections::BTreeMap;

/// Items that differ, with how: an item's name is that of the recording, with ` (stricter)` behind conditions that hold wherever
/// PyTorch's do not fail, but not the other way round.
pub type Differences = BTreeMap<String, String>;

fn diff(want: &str, got: &str) -> String {
    TextDiff::from_lines(want, got).unified_diff().header("PyTorch", "ours").to_string()
}

/// Compares a run with what was recorded of it; with `ACCEPT` set, writes what is ours alone.
///
/// # Errors
///
/// Where size conditions cannot be evaluated, or a file not be written.
pub fn compare(case: &Case, backend: Option<&str>, observed: &Observed) -> Result<Differences, Failed> {
    let expected = case.expected.items(backend);
    let mut found = Differences::new();
    for (item, want) in expected {
        let got = observed.items.get(item).map_or("", String::as_str);
        let differs = match item.split(' ').next().unwrap_or_default() {
            "stdout" => !alike(got, want),
            "conditions" => match conditions::relation(want, got)? {
                Relation::Equivalent => false,
                Relation::Stricter(example) => {
                    found.insert(format!("{item} (stricter)"), format!("{example}\n{}", diff(want, got)));
                    false
                }
                Relation::Other(example) => {
                    found.insert(item.clone(), format!("{example}\n{}", diff(want, got)));
                    false
                }
            },
            _ => got != want,
        };
        if differs {
            found.insert(item.clone(), diff(want, got));
        }
    }
    // What nothing was recorded of may yet be wrong: a graph of ours that PyTorch does not make, an exception.
    let is_graph = |item: &str| ["joint ", "inference ", "forward ", "backward "].iter().any(|kind| item.starts_with(kind));
    for (item, got) in &observed.items {
        let compared = item == "exception" && !case.topic.python
            || backend.is_some() && is_graph(item)
            || case.topic.python && ["stderr", "status"].contains(&item.as_str()) && !["", "0\n"].contains(&got.as_str());
        if compared && !expected.contains_key(item) {
            found.insert(item.clone(), diff("", got));
        }
    }
    if case.topic.stderr {
        let file = case.accepted();
        let got = observed.items.get("stderr").map_or("", String::as_str);
        if std::env::var_os("ACCEPT").is_some() {
            std::fs::write(&file, got)?;
        }
        let want = std::fs::read_to_string(&file)?;
        if got != want {
            found.insert("stderr".to_owned(), diff(&want, got));
        }
    }
    if !found.is_empty()
        && let Some(traceback) = &observed.traceback
    {
        found.entry("exception".to_owned()).and_modify(|text| *text += traceback);
    }
    Ok(found)
}
