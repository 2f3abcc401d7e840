//! Scripts against PyTorch: mistakes, complex numbers, random views, indices and printed tensors, graphs as Python objects
//! (`tests/eager`), captured graphs as a backend of the script's gets and prints them (`tests/captured`), and programs that `torch.export`
//! makes (`tests/exported`), beside what PyTorch 2.15 printed; `tests/eager/record.py` records it anew.

#![cfg(feature = "python")]

use std::path::Path;
use std::process::Command;

#[test]
fn as_pytorch() {
    prints_what_pytorch_prints("tests/eager");
}

#[test]
fn captured_graphs_are_as_written() {
    prints_what_pytorch_prints("tests/captured");
}

#[test]
fn exported_programs_are_as_pytorch_prints_them() {
    prints_what_pytorch_prints("tests/exported");
}

fn prints_what_pytorch_prints(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut scripts: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.retain(|path| path.extension().is_some_and(|extension| extension == "py") && !path.ends_with("record.py"));
    scripts.sort();
    assert!(scripts.len() > 1);
    let mut wrong = Vec::new();
    for path in scripts {
        let expected = std::fs::read_to_string(path.with_extension("stdout")).unwrap();
        let out = Command::new(env!("CARGO_BIN_EXE_aot-playground")).arg("run").arg(&path).output().unwrap();
        let have = String::from_utf8_lossy(&out.stdout);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        for (number, pair) in have.lines().zip(expected.lines()).enumerate() {
            if pair.0 != pair.1 {
                wrong.push(format!("{name}, line {}: {}\n    instead of {}", number + 1, pair.0, pair.1));
            }
        }
        if have.lines().count() != expected.lines().count() {
            wrong.push(format!("{name} ends early: {}", String::from_utf8_lossy(&out.stderr)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
