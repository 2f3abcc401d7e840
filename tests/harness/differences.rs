//! The differences that are known: `tests/cases/known_differences.toml`, each with its reason.

use crate::compare::Differences;
use crate::topics::folder;
use libtest_mimic::Failed;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    difference: Vec<Difference>,
}

/// Runs that differ for one reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    /// Why.
    reason: String,
    /// `TOPIC/NAME BACKEND: ITEM, ITEM` each.
    cases: Vec<String>,
}

/// Items that are known to differ, by the name of the run.
pub struct KnownDifferences(BTreeMap<String, BTreeSet<String>>);

impl KnownDifferences {
    /// Reads the file.
    ///
    /// # Panics
    ///
    /// Where it is not written as it must be.
    pub fn read() -> Self {
        let file = folder().join("known_differences.toml");
        let file: File = toml::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for difference in file.difference {
            assert!(!difference.reason.trim().is_empty(), "a difference without a reason: {:?}", difference.cases);
            for case in difference.cases {
                let (run, items) = case.split_once(": ").unwrap_or_else(|| panic!("no items in `{case}`"));
                known.entry(run.to_owned()).or_default().extend(items.split(", ").map(str::to_owned));
            }
        }
        KnownDifferences(known)
    }

    /// Whether all are of runs that there are.
    pub fn check_names(&self, runs: &BTreeSet<String>) -> Result<(), Failed> {
        let gone: Vec<&String> = self.0.keys().filter(|name| !runs.contains(*name)).collect();
        if gone.is_empty() { Ok(()) } else { Err(format!("no such runs: {gone:?}").into()) }
    }

    /// What differs of a run and is not known to, and what is known to differ and does not.
    pub fn judge(&self, run: &str, found: &Differences) -> Result<(), String> {
        let none = BTreeSet::new();
        let known = self.0.get(run).unwrap_or(&none);
        let mut message = String::new();
        for (item, how) in found.iter().filter(|(item, _)| !known.contains(*item)) {
            writeln!(message, "=== {run}: {item}\n{how}").unwrap();
        }
        for item in known.iter().filter(|item| !found.contains_key(*item)) {
            writeln!(message, "=== {run}: {item} is no longer different; take it out of known_differences.toml").unwrap();
        }
        if message.is_empty() {
            return Ok(());
        }
        let items: Vec<&str> = found.keys().map(String::as_str).collect();
        writeln!(message, "DIFFERS {run}: {}", items.join(", ")).unwrap();
        Err(message)
    }
}
