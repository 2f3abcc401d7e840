//! Higher-order operators against PyTorch: custom functions, checkpoints, hooks and `torch.cond` in compiled functions. The
//! scripts of `tests/higher_order` beside what PyTorch 2.15 printed for them.

#![cfg(feature = "python")]

use std::path::Path;
use std::process::Command;

#[test]
fn as_pytorch() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/higher_order");
    let mut scripts: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    scripts.sort();
    assert!(scripts.len() > 3);
    for path in scripts {
        let expected = std::fs::read_to_string(path.with_extension("stdout")).unwrap();
        let out = Command::new(env!("CARGO_BIN_EXE_aot-playground")).arg("run").arg(&path).output().unwrap();
        let errors = String::from_utf8_lossy(&out.stderr);
        assert_eq!(String::from_utf8_lossy(&out.stdout), expected, "{}: {errors}", path.display());
    }
}
