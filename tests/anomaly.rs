//! Anomaly mode: what a failing or NaN backward says of the forward line that made it, in eager mode and in compiled functions.
//! `tests/anomaly/script.py` beside what PyTorch 2.15 prints for it; its warnings end in places of PyTorch's own files, ours do
//! not, and inside a compiled function ours go on to the line of the script.

#![cfg(feature = "python")]

use std::path::Path;
use std::process::Command;

#[test]
fn a_failing_backward_names_its_forward_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/anomaly");
    let out = Command::new(env!("CARGO_BIN_EXE_aot-playground")).arg("run").arg("script.py").current_dir(&folder).output().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout), read("script.stdout"));
    let folder = format!("{}/", folder.display());
    assert_eq!(String::from_utf8_lossy(&out.stderr).replace(&folder, ""), read("script.stderr"));
}
