//! Graph breaks: each place once, with what PyTorch says of it.

use serde::{Deserialize, Serialize};

use super::{Sentence, setting};
use crate::{GraphBreak, Span};

/// A place where graphs break.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct BreakPlace {
    /// Counts from 0 in the order in which they were met.
    pub id: u32,
    /// `line 12: Unsupported Tensor.item() call, 3 times`
    pub sentence: Sentence,
    /// How often a graph broke there.
    pub count: u32,
    /// PyTorch's explanation.
    pub explanation: String,
    /// PyTorch's hints.
    pub hints: Vec<String>,
    /// Its page about breaks of this kind.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub url: Option<String>,
    /// The setting that a hint names, as a line of Python.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub setting: Option<String>,
}

/// What makes a place: the line, and what breaks the graph there.
pub(super) type Key = (Option<Span>, Option<String>, String);

pub(super) fn key(of: &GraphBreak, file: Option<&str>) -> Key {
    (of.span.clone(), file.map(str::to_owned), of.reason.clone())
}

/// A place where a graph broke so often.
pub(super) fn place(id: u32, count: u32, (of, file): (&GraphBreak, Option<&String>)) -> BreakPlace {
    let mut sentence = Sentence::default();
    match &of.span {
        Some(span) => sentence.line(span, file).say(": "),
        None => sentence.say("at no line of the script: "),
    };
    sentence.say(of.reason.trim_end_matches('.'));
    match count {
        0 | 1 => {}
        2 => drop(sentence.say(", twice")),
        _ => drop(sentence.say(format!(", {count} times"))),
    }
    BreakPlace {
        id,
        sentence,
        count,
        explanation: of.explanation.clone(),
        hints: of.hints.clone(),
        url: of.url.clone(),
        setting: of.hints.iter().find_map(|hint| setting(hint)),
    }
}
