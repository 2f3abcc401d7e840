//! Code and documents use PyTorch's words (`docs/glossary.md`): words that once stood for them are found nowhere, in prose or in names;
//! and files that documents name are there.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that are not used, each in parts so that this list is not found itself; what PyTorch and the glossary say instead.
const WORDS: &[(&str, &str, &str)] = &[
    ("front", "end", "Dynamo"),
    ("looked", "at", "read, checked, traced: whatever is done"),
    ("lazy", "tensor", "fake tensor"),
    ("given", "up", "skipped (a frame), discarded (a trace)"),
    ("put", "off", "the conjugate bit, the negative bit, a zero tensor"),
    ("compiled", "anew", "recompiled"),
];
/// The same of words that are two words of prose in another sense: with a hyphen or an underscore only.
const JOINED: &[(&str, &str, &str)] = &[("stand", "in", "fake tensor")];
/// Lines that may say them, with the reason: PyTorch's own text, and sentences of the page that tests wait for.
const ALLOWED: &[(&str, &str, &str)] = &[];
/// What is read.
const PLACES: &[&str] = &["src", "crates", "tests", "docs", "benches", "scripts", "build.rs", "README.md", "ARCHITECTURE.md"];
const ENDINGS: &[&str] = &["rs", "py", "md", "toml", "txt", "mjs", "sh"];
/// Folders of scripts and recorded texts, of which names are checked, and of files that are made.
const RECORDED: &[&str] = &["tests/cases", "tests/data", "tests/e2e/recorded"];
const MADE: &[&str] = &["target", "node_modules", "pkg", "__pycache__"];
/// Where files are that documents name by their path.
const ROOTS: &[&str] = &["src/", "crates/", "tests/", "docs/", "www/", "scripts/", "benches/"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files below a path, in order.
fn files(path: &Path, found: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        return found.push(path.to_owned());
    }
    let mut entries: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if !MADE.contains(&&*name) {
            files(&entry, found);
        }
    }
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/")
}

/// A line's text without what makes it a comment.
fn uncommented(line: &str) -> &str {
    line.trim_start().trim_start_matches(['/', '!', '#', '*', ' '])
}

/// Where a text says a word: its parts with one of `between` between them, and no letters around (but an `s`).
fn says(text: &str, first: &str, second: &str, between: &[char]) -> Option<usize> {
    text.match_indices(first).map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back();
        let Some(rest) = text[at + first.len()..].strip_prefix(between).and_then(|rest| rest.strip_prefix(second)) else { return false };
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        !before.is_some_and(char::is_alphanumeric) && !rest.starts_with(char::is_alphanumeric)
    })
}

/// The words that a line says, or that begin in it and end in the next, with what to say instead.
fn words_of(line: &str, next: &str) -> Vec<String> {
    let camel = |part: &str| part[..1].to_uppercase() + &part[1..];
    let text = format!("{} {}", line.trim_end(), uncommented(next)).to_lowercase();
    let length = line.trim_end().to_lowercase().len();
    let mut found = Vec::new();
    for (words, between) in [(WORDS, &[' ', '-', '_'][..]), (JOINED, &['-', '_'][..])] {
        for (first, second, instead) in words {
            let is_name = line.contains(&(camel(first) + &camel(second)));
            if is_name || says(&text, first, second, between).is_some_and(|at| at < length) {
                found.push(format!("'{first} {second}'; say {instead}"));
            }
        }
    }
    found
}

#[test]
fn other_words_than_pytorchs_are_not_used() {
    let mut all = Vec::new();
    PLACES.iter().for_each(|place| files(&root().join(place), &mut all));
    let mut wrong = Vec::new();
    let mut allowed = vec![false; ALLOWED.len()];
    for file in all {
        let path = relative(&file);
        wrong.extend(words_of(&path, "").into_iter().map(|word| format!("{path}: its name says {word}")));
        let is_recorded = RECORDED.iter().any(|folder| path.starts_with(folder)) && !path.ends_with(".toml");
        if is_recorded || !ENDINGS.iter().any(|ending| path.ends_with(&format!(".{ending}"))) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{path}: {e}"));
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let words = words_of(line, lines.get(i + 1).copied().unwrap_or_default());
            if words.is_empty() {
                continue;
            }
            match ALLOWED.iter().position(|(of, text, _)| *of == path && *text == line.trim()) {
                Some(entry) => allowed[entry] = true,
                None => wrong.extend(words.into_iter().map(|word| format!("{path}:{}: {word}", i + 1))),
            }
        }
    }
    wrong.extend(
        ALLOWED.iter().zip(allowed).filter(|(_, found)| !found).map(|((path, text, _), _)| format!("{path} does not say `{text}`")),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Paths in code spans of a document: `crates/graph/src/print.rs`, `tests/cases/partitioner/`.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.filter(|span| ROOTS.iter().any(|root| span.starts_with(root)) && !span.contains(['*', '<', ' ']) && !span.contains("NAME"))
}

/// Targets of a document's links to other files.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(|target| target.split('#').next().unwrap_or_default()).filter(|target| !target.is_empty() && !target.contains("://"))
}

#[test]
fn files_that_documents_name_are_there() {
    let mut documents = vec![root().join("README.md"), root().join("ARCHITECTURE.md")];
    files(&root().join("docs"), &mut documents);
    // What is built is there only after it was built.
    let ignored = fs::read_to_string(root().join(".gitignore")).unwrap();
    let built = |path: &str| ignored.lines().any(|line| line.strip_prefix('/') == Some(path));
    let mut wrong = Vec::new();
    for file in documents.iter().filter(|file| file.extension().is_some_and(|ending| ending == "md")) {
        let text = fs::read_to_string(file).unwrap();
        let document = relative(file);
        // Blocks of code hold commands.
        let prose: String = text.split("```").step_by(2).collect();
        wrong.extend(paths(&prose).filter(|path| !built(path) && !root().join(path).exists()).map(|path| format!("{document}: {path}")));
        let folder = file.parent().unwrap_or(root());
        wrong.extend(links(&prose).filter(|path| !folder.join(path).exists()).map(|path| format!("{document}: {path}")));
    }
    assert!(wrong.is_empty(), "documents name files that are not there:\n{}", wrong.join("\n"));
}

#[test]
fn words_are_found_in_names_and_across_lines() {
    let two = |first: &str, between: &str, second: &str| format!("{first}{between}{second}");
    let found = |line: &str, next: &str| words_of(line, next).len();
    assert_eq!(found(&format!("    // the {} sees", two("front", " ", "end")), ""), 1);
    assert_eq!(found(&format!("let {} = 1;", two("given", "_", "up")), ""), 1);
    assert_eq!(found(&two("Looked", "", "At"), ""), 1);
    assert_eq!(found("/// values are put", "/// off"), 1);
    assert_eq!(found("tensors that stand in a list", ""), 0);
    assert_eq!(found("let output_offset = output off;", "set"), 0);
    assert_eq!(found("", &two("put", " ", "off")), 0);
}
