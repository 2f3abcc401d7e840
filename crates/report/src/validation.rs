//! Translation validation: whether the guards of a cache entry imply what tracing asked for, and what they leave of each symbol.

use super::Guard;
use super::sentences::Sentence;
use serde::{Deserialize, Serialize};

/// What validation came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(rename_all = "snake_case")]
pub enum ValidationVerdict {
    /// Every condition that was asked for follows from the guards.
    Proved,
    /// Some sizes pass the guards, and not a condition that was asked for.
    Counterexample,
    /// Neither was found.
    #[default]
    NotDecided,
}

/// The validation of one cache entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Validation {
    /// What it came to.
    pub verdict: ValidationVerdict,
    /// `proved: what tracing asked for (3 conditions) follows from the guards`
    pub sentence: Sentence,
    /// How many conditions tracing asked for.
    pub asked: u32,
    /// Of a counterexample: the sizes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<ValidationSize>>"))]
    pub sizes: Vec<ValidationSize>,
    /// Of a counterexample: the condition that does not hold of them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub condition: Option<Guard>,
    /// Symbols that guards speak of.
    pub symbols: Vec<NarrowedSymbol>,
}

/// A size of a counterexample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct ValidationSize {
    /// The symbol: `s77`.
    pub name: String,
    /// Its value; as text, since it may be larger than any size.
    pub value: String,
}

/// What guards leave of a symbol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct NarrowedSymbol {
    /// Its name: `s77`.
    pub name: String,
    /// Where it is read: `L['x'].size()[0]`.
    pub source: String,
    /// `2 <= s77 <= 5, by the guards of line 4 and line 5`
    pub sentence: Sentence,
    /// The smallest value that is left, where there is one.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub lower: Option<i64>,
    /// The largest.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub upper: Option<i64>,
    /// Guards that speak of it.
    pub guards: Vec<Guard>,
    /// The only value that is left.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional, type = "number"))]
    pub only: Option<i64>,
    /// The fewest guards that leave it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<Guard>>"))]
    pub leave_one: Vec<Guard>,
}
