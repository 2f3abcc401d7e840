//! The cases: `tests/cases/topics.toml` names the topics, a folder each, and what is compared of their scripts.

use crate::expected::Expected;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What `topics.toml` says of a topic.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Topic {
    /// The folder of the scripts, where they are not beside their expected texts.
    scripts: Option<String>,
    /// Backends that a plain `torch.compile` stands for. Without any, a script is run once and no graph is compared.
    backends: Vec<String>,
    /// The recorder's: a script that names a backend is recorded with every one all the same.
    every_backend: bool,
    /// The recorder's: which guard failed is recorded.
    recompiles: bool,
    /// The recorder's: what partitioners got and made is recorded (`tests/compilations`).
    partitions: bool,
    /// CPython printed the expected texts: standard error and the exit status are compared as well.
    pub python: bool,
    /// Run with a CUDA device that is pretended; PyTorch, which has none, traced for one in `FakeTensorMode`.
    pub pretend_cuda: bool,
    /// Standard error is compared with `NAME.accepted`, which is ours alone.
    pub stderr: bool,
}

/// A script with what was recorded of it.
pub struct Case {
    /// `TOPIC/NAME`
    pub name: String,
    /// What is compared.
    pub topic: Topic,
    /// The script's file.
    pub script: PathBuf,
    /// What was recorded.
    pub expected: Expected,
}

impl Case {
    /// The backends that it is run with; `None` where it is run without a choice.
    pub fn backends(&self) -> Vec<Option<String>> {
        let backends = self.expected.backends();
        if backends.is_empty() { vec![None] } else { backends.iter().cloned().map(Some).collect() }
    }

    /// `TOPIC/NAME BACKEND`; the backend is `-` where there is none.
    pub fn run_name(&self, backend: Option<&str>) -> String {
        format!("{} {}", self.name, backend.unwrap_or("-"))
    }

    /// The folder of what it imports beside the library, `NAME.modules`, where there is one.
    pub fn modules(&self) -> Option<PathBuf> {
        Some(self.script.with_extension("modules")).filter(|folder| folder.is_dir())
    }

    /// A package that it imports and that this build was made without.
    pub fn lacks(&self) -> Option<String> {
        let list = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/python/packages.txt")).ok()?;
        let source = std::fs::read_to_string(&self.script).ok()?;
        let mut names = list.lines().filter_map(|line| Some(line.split_once("==")?.0.to_owned()));
        let imports = |name: &str| {
            source.lines().any(|line| line.starts_with(&format!("import {name}")) || line.starts_with(&format!("from {name}")))
        };
        names.find(|name| imports(name) && !aot_playground::python::has_package(name))
    }

    /// Beside its expected texts: what is ours alone.
    pub fn accepted(&self) -> PathBuf {
        folder().join(format!("{}.accepted", self.name))
    }
}

/// `tests/cases`
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

/// All cases, by name.
///
/// # Panics
///
/// Where a script has no recording, or a file cannot be read.
pub fn cases() -> Vec<Arc<Case>> {
    let text = std::fs::read_to_string(folder().join("topics.toml")).unwrap();
    let topics: BTreeMap<String, Topic> = toml::from_str(&text).unwrap();
    let mut cases = Vec::new();
    for (name, topic) in topics {
        let scripts = folder().join(topic.scripts.as_ref().unwrap_or(&name));
        let mut files: Vec<PathBuf> = std::fs::read_dir(&scripts).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|ending| ending == "py"));
        files.sort();
        assert!(!files.is_empty(), "{} has no scripts", scripts.display());
        for script in files {
            let name = format!("{name}/{}", script.file_stem().unwrap_or_default().to_string_lossy());
            let recording = folder().join(format!("{name}.expected"));
            let text = std::fs::read_to_string(&recording).unwrap_or_else(|e| panic!("{}: {e}", recording.display()));
            let expected = Expected::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", recording.display()));
            cases.push(Arc::new(Case { name, topic: topic.clone(), script, expected }));
        }
    }
    cases
}
