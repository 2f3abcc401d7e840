//! A place in the visitor's script. Everything that can be explained carries one.

use serde::{Deserialize, Serialize};

/// A range of the visitor's script: lines count from 1, columns (in characters) from 0, the end is exclusive.
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
}
