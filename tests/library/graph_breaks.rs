//! Python code of the library names only kinds of graph breaks that there are, and every one of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn scripts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            scripts(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "py") {
            found.push(path);
        }
    }
}

#[test]
fn kinds_of_graph_breaks_are_those_that_python_names() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let table = fs::read_to_string(source.join("dynamo/graph_breaks/kinds.rs")).unwrap();
    let table = table.split("const KINDS").nth(1).unwrap().split("\n];").next().unwrap();
    let kinds: BTreeSet<&str> = table.lines().filter_map(|line| line.strip_prefix("    (\"")?.split('"').next()).collect();
    let (mut files, mut named, mut wrong) = (Vec::new(), BTreeSet::new(), Vec::new());
    scripts(&source.join("python"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for call in ["._graph_break(", "._leave("].iter().flat_map(|name| text.split(name).skip(1)) {
            let argument = call.split([',', ')']).next().unwrap_or_default().trim();
            match argument.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
                Some(kind) if kinds.contains(kind) => drop(named.insert(kind.to_owned())),
                _ => wrong.push(format!("{}: {argument}", file.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "kinds of graph breaks that there are not:\n{}", wrong.join("\n"));
    let unused: Vec<&&str> = kinds.iter().filter(|kind| !named.contains(**kind)).collect();
    assert!(unused.is_empty(), "kinds that nobody names: {unused:?}");
}
