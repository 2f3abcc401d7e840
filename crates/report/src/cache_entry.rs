//! What a cache entry wants of a call, as plain data: enough to say, later and elsewhere, whether other sizes would hit it.

use super::Span;
use serde::{Deserialize, Serialize};

/// A cache entry's inputs, symbols and conditions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct CacheEntryView {
    /// The frame id, as in `TORCH_LOGS=recompiles`; entries of one frame share a cache.
    pub frame: u32,
    /// `torch.compile(dynamic=...)`
    pub dynamic: Option<bool>,
    /// Tensors it depends on.
    pub inputs: Vec<CacheEntryInput>,
    /// Its symbolic sizes.
    pub symbols: Vec<CacheEntrySymbol>,
    /// Conditions on them.
    pub conditions: Vec<CacheEntryCondition>,
    /// What must hold of Python values.
    #[serde(default)]
    pub facts: Vec<CacheEntryFact>,
    /// How many entries the frame may have, by `torch._dynamo.config` when this one was made.
    #[serde(default)]
    pub limit: u32,
}

/// A guard on a Python value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct CacheEntryFact {
    /// Where the value is found: `L['self'].step`.
    pub source: String,
    /// The guard: `L['self'].step == 3`.
    pub text: String,
    /// The constant that the value must equal, as Python writes it; none of other guards.
    pub value: Option<String>,
    /// The line that read the value.
    pub span: Option<Span>,
}

/// The last call of a frame: what is asked of guards afterwards is asked of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct LastCall {
    /// The frame id.
    pub frame: u32,
    /// The captured graph that ran; none where the call ran uncompiled.
    pub region: Option<u32>,
    /// Its tensors' sizes.
    pub inputs: Vec<LastInput>,
    /// Its numbers and strings that guards ask for.
    pub values: Vec<LastValue>,
    /// Per captured graph, which guards on Python values did not hold.
    pub unmet: Vec<LastUnmet>,
}

/// A tensor of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct LastInput {
    /// Which: `L['x']`.
    pub source: String,
    /// Its sizes.
    #[cfg_attr(test, ts(type = "Array<number>"))]
    pub sizes: Vec<i64>,
}

/// A Python value of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct LastValue {
    /// Which: `L['self'].step`.
    pub source: String,
    /// As Python writes it.
    pub value: String,
}

/// What a call did not meet of an entry's guards on Python values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct LastUnmet {
    /// The captured graph that the entry was made for.
    pub region: u32,
    /// Positions of guards that did not hold.
    pub failed: Vec<u32>,
    /// Positions of guards on values that the call did not read: whether they hold is not known.
    pub unknown: Vec<u32>,
}

/// A tensor that an entry depends on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct CacheEntryInput {
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
    pub marks: Vec<CacheEntryMark>,
}

/// `mark_dynamic` and its relatives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct CacheEntryMark {
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
pub struct CacheEntrySymbol {
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
pub struct CacheEntryCondition {
    /// Left side, in symbols.
    pub left: String,
    /// `==`, `!=`, `<`, `<=`, `>` or `>=`.
    pub relation: String,
    /// Right side.
    pub right: String,
    /// The condition in symbols as it is written, where that is no relation of two sides: `not (s0 == 3 and s1 == 4)`.
    #[serde(default)]
    pub written: Option<String>,
    /// The line that asked.
    pub span: Option<Span>,
}

/// Sizes to try for an input, or a value to try.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Trial {
    /// Which input: `L['x']`.
    pub source: String,
    /// Its sizes.
    #[cfg_attr(test, ts(type = "Array<number>"))]
    pub sizes: Vec<i64>,
    /// What is no tensor has this value, as Python writes it.
    #[serde(default)]
    pub value: Option<String>,
}

/// What would become of a call with other sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct WhatIf {
    /// Per cache entry of the frame, in the order in which they were made.
    pub entries: Vec<Verdict>,
    /// What a recompile would make, where there is no hit.
    pub recompile: Option<Recompile>,
}

/// Whether a cache entry would be hit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Verdict {
    /// The captured graph it was made for.
    pub region: u32,
    /// The guard that fails, in the words of `TORCH_LOGS=recompiles`; `None` where all pass.
    pub failed: Option<String>,
    /// The line that made the guard.
    pub span: Option<Span>,
    /// Guards on values that nobody knows: where all others pass, these decide.
    #[serde(default)]
    pub unknown: Vec<String>,
}

/// What would be compiled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Recompile {
    /// Its inputs, with the sizes that would be symbols.
    pub inputs: Vec<CacheEntryInput>,
    /// Its symbols, before the code asks anything of them.
    pub symbols: Vec<CacheEntrySymbol>,
    /// Whether there are as many entries as PyTorch allows, so that the call would run without being compiled.
    pub limit: bool,
}
