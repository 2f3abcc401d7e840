//! What PyTorch wrote reads: graphs print back as they were written, what was saved is decided here as there, and nothing that anyone pastes
//! ends otherwise than in a report or a sentence.
//!
//! `logs/` holds what PyTorch wrote, shortened; `tests/recorders/logs.py` records it anew.

mod archives;
mod folders;
mod mutated;
mod pasted;
mod recorded;
mod runnable;
mod shared;

use std::path::{Path, PathBuf};
use trace::{Given, Log};

/// The folder of recorded logs.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace/logs")
}

/// A recorded log's text.
fn recorded(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// Opens texts under names.
fn open(files: &[(&str, &str)]) -> Result<Log, String> {
    trace::open(files.iter().map(|(name, text)| Given { name: (*name).to_owned(), bytes: text.as_bytes().to_vec() }).collect())
}
