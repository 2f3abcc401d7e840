//! A place in the visitor's script. Everything that can be explained carries one.

use serde::{Deserialize, Serialize};

/// A range of the visitor's script, or of a file beside it: lines count from 1, columns (in characters) from 0, the end is exclusive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Span {
    /// First line.
    pub line: u32,
    /// First column.
    pub column: u32,
    /// Last line.
    pub end_line: u32,
    /// Column after the last character.
    pub end_column: u32,
    /// The file beside the script that it is a range of, by its name; the script itself has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub file: Option<Box<str>>,
}

impl Span {
    /// Its first line, in words: `line 7` of the script, `layers.py:7` of a file beside it.
    pub fn words(&self) -> String {
        match &self.file {
            Some(file) => format!("{file}:{}", self.line),
            None => format!("line {}", self.line),
        }
    }
}
