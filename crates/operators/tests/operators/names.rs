//! Names of operators in the sources are those of entries. Most are looked up when a call comes by; here all of them are.

use std::fs;
use std::path::{Path, PathBuf};

/// What graphs hold that is no operator of the catalogue.
const BESIDES: &[&str] = &[
    // The tracer's own: checks, sizes, and a seed that the pass that makes it replaces.
    "aten._assert_scalar.default",
    "aten.sym_numel.default",
    "aten.sym_size.int",
    "prims.inductor_seed.default",
    // The partitioner knows PyTorch's graphs, too: it splits those that are read from text.
    "aten._convolution",
    "aten._print.default",
    "aten._scaled_dot_product_cudnn_attention",
    "aten._scaled_dot_product_efficient_attention",
    "aten._scaled_dot_product_flash_attention",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
    // Beginnings of names.
    "aten._assert_",
    "aten._scaled_dot_product",
    "aten.logical_",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// String literals of a source, each with what stands before it.
fn literals(text: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = text.split('"').collect();
    parts
        .windows(2)
        .filter(|pair| pair[1].chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.'))
        .map(|p| (p[0], p[1]))
        .collect()
}

fn is_known(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    dispatch::lookup(name).is_some() || !dispatch::overloads(name).is_empty() || BESIDES.contains(&name)
}

#[test]
fn every_name_has_an_entry() {
    operators::install();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let source = entry.unwrap().path().join("src");
        if source.is_dir() {
            sources(&source, &mut files);
        }
    }
    let (mut unknown, mut called) = (Vec::new(), 0);
    for file in files {
        for (before, literal) in literals(&fs::read_to_string(&file).unwrap()) {
            let before = before.trim_end();
            let is_whole = |rest: &str| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let is_called = ["t!(", "aten!(", "OpRef::new("].iter().any(|call| before.strip_suffix(call).is_some_and(is_whole));
            called += usize::from(is_called);
            let is_full = ["aten.", "prims."].iter().any(|namespace| literal.strip_prefix(namespace).is_some_and(|name| !name.is_empty()));
            if is_called && dispatch::op(literal).is_none() || is_full && !is_known(literal) {
                unknown.push(format!("{}: {literal}", file.strip_prefix(&root).unwrap().display()));
            }
        }
    }
    assert!(called > 2000, "only {called} calls were found");
    assert!(unknown.is_empty(), "no entry has these names:\n{}", unknown.join("\n"));
}
