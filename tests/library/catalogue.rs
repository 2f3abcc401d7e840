//! The kept list of operators is that of the catalogue, and the editor's list of names that of the playground:
//! `ACCEPT=1 cargo test --test library catalogue` writes both.

use crate::script;
use aot_playground::catalogue::{lines, markdown, names};
use similar::TextDiff;
use std::fs;
use std::path::Path;

/// Compares a text with a kept file, or writes it with `ACCEPT` set.
fn expect_file(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("ACCEPT").is_some() {
        fs::write(&path, text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = || TextDiff::from_lines(kept.as_str(), text).unified_diff().header(name, "now").to_string();
    assert!(kept == text, "run ACCEPT=1 cargo test --test library catalogue\n{}", differs());
}

#[test]
fn the_list_of_operators_is_current() {
    expect_file("docs/operators.md", &markdown());
}

/// What the editor completes and explains is what the playground has.
#[test]
fn the_names_that_the_editor_knows_are_current() {
    let run = script::run(include_str!("names.py"));
    assert_eq!(run.stderr(), "");
    let text = names(&run.report.stdout);
    assert!(text.contains("torch.Tensor.add\t(Tensor self, "), "operators are missing");
    expect_file("www/src/generated/names.txt", &text);
}

#[test]
fn every_operator_runs_eagerly() {
    let absent: Vec<String> = lines().into_iter().filter(|line| line.eager == "no").map(|line| line.signature).collect();
    assert!(absent.is_empty(), "entries without a kernel: {absent:?}");
}
