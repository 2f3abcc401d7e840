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

/// A [`Span`] with what PyTorch prints of it above a node: `File: a.py:7 in f, code: return x + 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where.
    pub span: Span,
    /// Name of the script's file.
    pub file: std::rc::Rc<str>,
    /// Name of the Python function.
    pub function: std::rc::Rc<str>,
    /// The line of code, stripped.
    pub code: std::rc::Rc<str>,
}

/// How the script wrote the call that is being made; the captured graph shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// `torch.nn.functional.relu(x)`: what stands before the name, and the name.
    Function(&'static str, &'static str),
    /// `x.view(-1)`
    Method(&'static str),
    /// `x + y`
    Operator(&'static str),
}

thread_local! {
    static WRITTEN: std::cell::Cell<Option<Written>> = const { std::cell::Cell::new(None) };
    static PROVIDER: std::cell::Cell<Option<fn() -> Option<Source>>> = const { std::cell::Cell::new(None) };
}

/// Restores what was written before, when dropped.
pub struct WrittenGuard(Option<Written>);

impl Written {
    /// Until the guard is dropped, calls are written this way.
    pub fn enter(self) -> WrittenGuard {
        WrittenGuard(WRITTEN.replace(Some(self)))
    }

    /// How the call under way is written.
    pub fn current() -> Option<Written> {
        WRITTEN.get()
    }
}

impl Drop for WrittenGuard {
    fn drop(&mut self) {
        WRITTEN.set(self.0);
    }
}

/// Says who knows where the script is.
pub fn set_source_provider(provider: fn() -> Option<Source>) {
    PROVIDER.set(Some(provider));
}

/// Where the script is.
pub fn current_source() -> Option<Source> {
    PROVIDER.get().and_then(|p| p())
}
