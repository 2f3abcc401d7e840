//! What a run came to, in sentences: they are composed here, whoever shows them. The page makes links of their parts, the command
//! line prints their text.
//!
//! A sentence is computed from what the report says and from nothing else. A figure in it is one of the report's, or a sum of such.

mod breaks;
mod memory;
mod recompiles;
mod told;
mod validation;

use serde::{Deserialize, Serialize};

use crate::Span;

pub use breaks::BreakPlace;
pub use memory::{donated, kept, peak};
pub use recompiles::{Cause, Misses};
pub use told::{Told, lines};

/// A sentence whose parts may be links to what they name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Sentence {
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

/// A part of a sentence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Part {
    /// What it says.
    pub text: String,
    /// What it names.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub link: Option<Link>,
}

/// What a part of a sentence names: a line of the script, values of the graphs, or both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Link {
    /// The line.
    pub span: Option<Span>,
    /// The values.
    pub names: Vec<String>,
}

impl Sentence {
    /// Adds words.
    fn say(&mut self, text: impl Into<String>) -> &mut Self {
        self.parts.push(Part { text: text.into(), link: None });
        self
    }

    /// Adds the number of a line, and its file where that is not the script.
    fn line(&mut self, span: &Span, file: Option<&String>) -> &mut Self {
        match file {
            Some(file) => self.say(format!("{file}:{}", span.line)),
            None => self.made_at(span, Vec::new()),
        }
    }

    /// The same, with the values that the line makes.
    fn made_at(&mut self, span: &Span, names: Vec<String>) -> &mut Self {
        let link = Some(Link { span: Some(span.clone()), names });
        self.parts.push(Part { text: span.words(), link });
        self
    }

    /// Adds words for values.
    fn values(&mut self, text: impl Into<String>, names: Vec<String>) -> &mut Self {
        self.parts.push(Part { text: text.into(), link: Some(Link { span: None, names }) });
        self
    }

    /// The whole of it.
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}

/// Bytes for people: `34.2 MiB`.
pub fn bytes(count: u64) -> String {
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut units = ["KiB", "MiB", "GiB", "TiB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for next in units {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    if value >= 100.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// `1 call`, `2 calls`
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The setting that a hint of PyTorch's names, as a line of Python: `torch._dynamo.config.capture_scalar_outputs = True`.
fn setting(hint: &str) -> Option<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    hint.match_indices(".config.").find_map(|(at, dot)| {
        let before = hint[..at].rfind(|c: char| !is_word(c) && c != '.').map_or(0, |i| i + 1);
        let rest = &hint[at + dot.len()..];
        let (name, value) = rest.split_at(rest.find(|c| !is_word(c))?);
        let value = value.strip_prefix(" = ").or_else(|| value.strip_prefix('='))?;
        let value = &value[..value.find(|c| !is_word(c)).unwrap_or(value.len())];
        let is_module = hint[before..at].starts_with("torch.");
        (is_module && !value.is_empty()).then(|| format!("{}{dot}{name} = {value}", &hint[before..at]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_said_as_on_the_page() {
        let all = [0, 1023, 1024, 1536, 102_400, 1_048_575, 35_861_299, 1 << 30, u64::MAX];
        let said: Vec<String> = all.into_iter().map(bytes).collect();
        assert_eq!(said.join(", "), "0 B, 1023 B, 1.0 KiB, 1.5 KiB, 100 KiB, 1024 KiB, 34.2 MiB, 1.0 GiB, 16777216 TiB");
    }

    #[test]
    fn a_hint_names_a_setting() {
        let cases = [
            (
                "Set `torch._dynamo.config.capture_scalar_outputs = True` or `export X=1`",
                Some("torch._dynamo.config.capture_scalar_outputs = True"),
            ),
            (
                "consider torch._dynamo.config.force_parameter_static_shapes = False.",
                Some("torch._dynamo.config.force_parameter_static_shapes = False"),
            ),
            ("with config.capture_scalar_outputs=False", None),
            ("see torch._dynamo.config.verbose", None),
            ("nothing", None),
        ];
        for (hint, expected) in cases {
            assert_eq!(setting(hint).as_deref(), expected, "{hint}");
        }
    }
}
