//! The kept list of operators is that of the catalogue. `UPDATE_EXPECT=1 cargo test --test catalogue` writes it anew.

use aot_playground::catalogue::{lines, markdown};
use std::fs;
use std::path::Path;

#[test]
fn the_list_of_operators_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operators.md");
    let text = markdown();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "docs/operators.md is not what the catalogue says: run UPDATE_EXPECT=1 cargo test --test catalogue");
}

#[test]
fn every_operator_runs_eagerly() {
    let absent: Vec<String> = lines().into_iter().filter(|line| line.eager == "no").map(|line| line.signature).collect();
    assert!(absent.is_empty(), "entries without a kernel: {absent:?}");
}
