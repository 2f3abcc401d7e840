//! The kept list of operators is that of the catalogue, and the editor's list of names that of the playground. `UPDATE_EXPECT=1 cargo test --test catalogue` writes it anew.

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

/// What the editor completes and explains is what the playground has.
#[cfg(feature = "python")]
#[test]
fn the_names_that_the_editor_knows_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = folder.join("tests/library/names.py");
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_aot-playground")).arg("run").arg(script).output().unwrap();
    assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = aot_playground::catalogue::names(&String::from_utf8(out.stdout).unwrap());
    assert!(text.contains("torch.Tensor.add\t(Tensor self, "), "operators are missing");
    let path = folder.join("www/src/generated/names.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "www/src/generated/names.txt is not what the playground has: run UPDATE_EXPECT=1 cargo test --test catalogue");
}

#[test]
fn every_operator_runs_eagerly() {
    let absent: Vec<String> = lines().into_iter().filter(|line| line.eager == "no").map(|line| line.signature).collect();
    assert!(absent.is_empty(), "entries without a kernel: {absent:?}");
}
