//! What a cache entry wants of a call, as plain data: enough to say, later and elsewhere, whether other sizes would be served.

use super::Span;
use serde::{Deserialize, Serialize};

/// A cache entry's inputs, symbols and conditions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct EntryView {
    /// Number of the piece of code it is an entry of, as in `TORCH_LOGS=recompiles`; entries of one piece share a cache.
    pub frame: u32,
    /// `torch.compile(dynamic=...)`
    pub dynamic: Option<bool>,
    /// Tensors it depends on.
    pub inputs: Vec<EntryInput>,
    /// Its symbolic sizes.
    pub symbols: Vec<EntrySymbol>,
    /// Conditions on them.
    pub conditions: Vec<EntryCondition>,
}

/// A tensor that an entry depends on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct EntryInput {
    /// Where the function finds it: `L['x']`.
    pub source: String,
    /// Its dtype: `float32`.
    pub dtype: String,
    /// Whether it requires grad.
    pub requires_grad: bool,
    /// Whether its sizes never become symbols: a parameter, or a tensor of a module.
    pub is_static: bool,
    /// Its sizes, each a number or a symbolic expression.
    pub sizes: Vec<String>,
    /// Its strides.
    pub strides: Vec<String>,
    /// The sizes it had when the entry was made.
    #[cfg_attr(test, ts(type = "Array<number>"))]
    pub real_sizes: Vec<i64>,
    /// The strides it had.
    #[cfg_attr(test, ts(type = "Array<number>"))]
    pub real_strides: Vec<i64>,
    /// PyTorch's number for a symbol of each dimension.
    pub numbers: Vec<u32>,
    /// What the script said of dimensions.
    pub marks: Vec<EntryMark>,
}

/// `mark_dynamic` and its relatives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct EntryMark {
    /// The dimension.
    pub dim: u32,
    /// `dynamic`, `maybe` or `static`.
    pub kind: String,
    /// `mark_dynamic(min=...)`
    #[cfg_attr(test, ts(type = "number | null"))]
    pub min: Option<i64>,
    /// `mark_dynamic(max=...)`
    #[cfg_attr(test, ts(type = "number | null"))]
    pub max: Option<i64>,
}

/// A symbolic size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct EntrySymbol {
    /// Its name: `s77`.
    pub name: String,
    /// Where it is read: `L['x'].size()[0]`.
    pub source: String,
    /// Its value when the entry was made.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub value: Option<i64>,
    /// Smallest value, where there is a bound.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub lower: Option<i64>,
    /// Largest value, where there is a bound.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub upper: Option<i64>,
}

/// A condition on symbolic sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct EntryCondition {
    /// Left side, in symbols.
    pub left: String,
    /// `==`, `!=`, `<`, `<=`, `>` or `>=`.
    pub relation: String,
    /// Right side.
    pub right: String,
    /// The line that asked.
    pub span: Option<Span>,
}

/// Sizes to try for an input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Trial {
    /// Which input: `L['x']`.
    pub source: String,
    /// Its sizes.
    #[cfg_attr(test, ts(type = "Array<number>"))]
    pub sizes: Vec<i64>,
}

/// What would become of a call with other sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct WhatIf {
    /// Per entry of the piece of code, in the order in which they were made.
    pub entries: Vec<Verdict>,
    /// What a recompile would make, where no entry serves.
    pub recompile: Option<Recompile>,
}

/// Whether an entry would serve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Verdict {
    /// The region it was made for.
    pub region: u32,
    /// The guard that fails, in the words of `TORCH_LOGS=recompiles`; `None` where it serves.
    pub failed: Option<String>,
    /// The line that made the guard.
    pub span: Option<Span>,
}

/// What would be compiled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Recompile {
    /// Its inputs, with the sizes that would be symbols.
    pub inputs: Vec<EntryInput>,
    /// Its symbols, before the code asks anything of them.
    pub symbols: Vec<EntrySymbol>,
    /// Whether there are as many entries as PyTorch allows, so that the call would run without being compiled.
    pub limit: bool,
}
