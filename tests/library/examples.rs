//! The page's examples: what the first imports, and that their graphs run as files of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("www/src/gallery/examples");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn run(script: &Path, arguments: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_aot-playground")).arg("run").arg(script).args(arguments).output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// What a visitor sees first comes without another fetch.
#[test]
fn the_first_example_imports_nothing_that_is_fetched_later() {
    let later: Vec<&str> =
        include_str!("../../src/python/later.txt").lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    let example = examples().into_iter().find(|path| path.file_stem().unwrap() == "mlp").unwrap();
    let script = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mlp_modules.py");
    let source = std::fs::read_to_string(example).unwrap();
    std::fs::write(&script, format!("{source}\nimport sys\nprint('modules', *sys.modules)\n")).unwrap();
    let (printed, error) = run(&script, &[]);
    let modules = printed.lines().last().and_then(|line| line.strip_prefix("modules ")).unwrap_or_else(|| panic!("{error}"));
    let is_later = |m: &&str| later.iter().any(|l| m.strip_prefix(l).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')));
    assert_eq!(modules.split(' ').filter(is_later).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn graphs_of_examples_run_as_files_of_their_own() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, graphs) in [
        ("attention", &["forward", "backward", "joint"][..]),
        ("cross_entropy", &["forward", "backward"]),
        ("checkpoint", &["joint"]),
        ("dynamic", &["forward"]),
    ] {
        let script = examples().into_iter().find(|path| path.file_stem().unwrap() == name).unwrap();
        let compilation = if name == "dynamic" { "1" } else { "0" };
        for graph in graphs {
            let (python, stderr) = run(&script, &["--emit", "python", "--graph", graph, "--compilation", compilation]);
            let file = folder.join(format!("{name}_{graph}.py"));
            std::fs::write(&file, &python).unwrap();
            let (printed, error) = run(&file, &[]);
            assert_eq!(error, "", "{name}, {graph}: {stderr}\n{python}");
            assert!(printed.contains("tensor("), "{name}, {graph}: {printed}");
        }
    }
}

#[test]
fn a_file_holds_what_indices_and_sizes_were() {
    let all = examples();
    let script = |name: &str| all.iter().find(|path| path.file_stem().unwrap() == name).unwrap().clone();
    let (python, _) = run(&script("cross_entropy"), &["--emit", "python", "--graph", "forward"]);
    assert!(python.contains("tensor([5], [1], torch.int64, [0, 2, 1, 1, 0]),  # primals_2"), "{python}");
    let (python, _) = run(&script("dynamic"), &["--emit", "python", "--graph", "forward", "--compilation", "1"]);
    assert!(python.contains("        7,  # primals_1\n        tensor([7, 2], [2, 1], torch.float32),  # primals_2\n"), "{python}");
}
