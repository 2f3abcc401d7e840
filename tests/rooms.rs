//! A room imports only rooms below it. Of rooms that are crates, Cargo sees to that; here are those of the root crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms, lowest first. Rooms in one row do not know each other. The first row are crates, under the names that `lib.rs` gives them.
const ROWS: &[&[&str]] = &[
    &[
        "autograd",
        "bundle",
        "decompositions",
        "dispatch",
        "error",
        "graph",
        "ops",
        "partition",
        "report",
        "shape",
        "span",
        "tensor",
        "transforms",
    ],
    &["graph_view", "export"],
    // Crates, too; what is compiled knows no backend.
    &["backend", "aot"],
    &["describe", "catalogue"],
    &["dynamo"],
    &["python"],
    &["web"],
];
/// Dynamo evaluates the frames that the interpreter runs: it reads them, and they ask it.
const PEERS: (&str, &str) = ("dynamo", "python");
/// What is no room: where rooms are put together, and macros.
const OUTSIDE: &[&str] = &["aten", "t", "lib", "main"];

fn row(room: &str) -> Option<usize> {
    ROWS.iter().position(|rooms| rooms.contains(&room))
}

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

/// Names that follow `crate::` in a source file.
fn imports(text: &str) -> BTreeSet<String> {
    text.match_indices("crate::")
        .filter(|(at, _)| !text[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        .map(|(at, found)| text[at + found.len()..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>())
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn imports_go_down() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&source, &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&source).unwrap();
        let room = relative.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned();
        if OUTSIDE.contains(&room.as_str()) {
            continue;
        }
        let own = row(&room).unwrap_or_else(|| panic!("{room} is in no row"));
        for used in imports(&fs::read_to_string(&file).unwrap()) {
            if used == room || OUTSIDE.contains(&used.as_str()) || (room.as_str(), used.as_str()) == PEERS {
                continue;
            }
            // A room's dependants and neighbours are not its business.
            if row(&used).is_none_or(|r| r >= own) {
                wrong.push(format!("{} imports {used}", relative.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A crate whose manifest says `test = false` has its tests in `tests/`: one that stood in its `src/` would never run.
#[test]
fn no_test_stands_where_none_runs() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let mut untested = 0;
    for folder in fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap().path();
        if !fs::read_to_string(folder.join("Cargo.toml")).unwrap().contains("\ntest = false\n") {
            continue;
        }
        untested += 1;
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        for file in files {
            assert!(!fs::read_to_string(&file).unwrap().contains("#[test]"), "{}: its crate's tests stand in tests/", file.display());
        }
    }
    assert!(untested > 0);
}
