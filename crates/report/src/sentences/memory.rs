//! Where the peak of memory is, and of what.
//!
//! What is alive at the peak is shared out: parameters, other inputs, and the rest by the line that made it. The two largest shares
//! are named, and what is left is one figure, so that the figures add up to the peak.

use std::collections::{BTreeMap, BTreeSet};

use super::{Sentence, bytes, counted};
use crate::{MemoryProfile, MemoryValue, Saved, Span};

/// Shares that are named.
const MOST_SHARES: usize = 2;
/// Values of a share that its link holds.
const MOST_NAMES: usize = 32;

/// A share of what is alive.
struct Share<'a> {
    of: Of,
    bytes: u64,
    values: Vec<&'a MemoryValue>,
}

/// Whose a share is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    Parameters,
    Inputs,
    Line(String, u32),
    Tangents,
    Others,
}

fn whose(value: &MemoryValue, names_files: bool) -> Of {
    match (value.kind.as_str(), &value.span) {
        ("input", _) if value.is_parameter => Of::Parameters,
        ("input", _) => Of::Inputs,
        ("tangent", _) => Of::Tangents,
        (_, Some(span)) if names_files => Of::Line(value.file.clone(), span.line),
        (_, Some(span)) => Of::Line(span.file.as_deref().unwrap_or_default().to_owned(), span.line),
        (_, None) => Of::Others,
    }
}

/// Repeated modules that values are of: distinct beginnings of their paths up to the first number (`blocks.3`), where all have one
/// and it stands in the same place.
fn layers(values: &[&MemoryValue]) -> Option<usize> {
    let mut found = BTreeSet::new();
    let mut stems = BTreeSet::new();
    for value in values {
        let parts: Vec<&str> = value.module_path.split('.').collect();
        let at = parts.iter().position(|part| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit()))?;
        stems.insert(parts[..at].join("."));
        found.insert(parts[..=at].join("."));
    }
    (stems.len() == 1 && found.len() > 1).then_some(found.len())
}

fn say(share: &Share, names_files: bool, out: &mut Sentence) {
    let names = || share.values.iter().take(MOST_NAMES).map(|value| value.name.clone()).collect();
    let size = bytes(share.bytes);
    match &share.of {
        Of::Parameters => out.say(format!("{size} ")).values("parameters", names()),
        Of::Inputs => out.say(format!("{size} ")).values("other inputs", names()),
        Of::Tangents => out.say(format!("{size} ")).values("tangents", names()),
        Of::Others => out.say(format!("{size} ")).values("without a line", names()),
        Of::Line(file, line) => {
            let span = share.values.iter().find_map(|value| value.span.clone());
            let span = span.unwrap_or(Span { line: *line, end_line: *line, ..Span::default() });
            out.say(format!("{size} from "));
            if names_files {
                out.line(&span, Some(file))
            } else {
                out.made_at(&span, names())
            };
            match layers(&share.values) {
                Some(count) => out.say(format!(" ({count} layers)")),
                None => out,
            }
        }
    };
}

/// Where the peak of a profile is and of what; beside it the peak under another memory budget. A log's lines are of several files.
pub fn peak(profile: &MemoryProfile, other: Option<(f64, u64)>, names_files: bool) -> Sentence {
    let at = profile.peak_step;
    let mut shares: BTreeMap<Of, Share> = BTreeMap::new();
    for value in profile.values.iter().filter(|value| value.born <= at && value.dies >= at) {
        let of = whose(value, names_files);
        let share = shares.entry(of.clone()).or_insert(Share { of, bytes: 0, values: Vec::new() });
        share.bytes = share.bytes.saturating_add(value.bytes);
        share.values.push(value);
    }
    let mut shares: Vec<Share> = shares.into_values().filter(|share| share.bytes > 0).collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.bytes));
    let named = if shares.len() == MOST_SHARES + 1 { shares.len() } else { shares.len().min(MOST_SHARES) };
    let mut out = Sentence::default();
    out.say(format!("Peak {}", bytes(profile.peak_bytes)));
    if let Some(step) = profile.steps.get(at as usize) {
        out.say(" at ").values(step.name.clone(), vec![step.name.clone()]);
    }
    for (i, share) in shares[..named].iter().enumerate() {
        out.say(if i == 0 { ": " } else { ", " });
        say(share, names_files, &mut out);
    }
    let rest = shares[named..].iter().fold(0u64, |sum, share| sum.saturating_add(share.bytes));
    if rest > 0 {
        out.say(format!(", {} from {}", bytes(rest), counted(shares.len() - named, "other place", "other places")));
    }
    if let Some((budget, bytes_then)) = other {
        out.say(format!("; budget {budget}: {}", bytes(bytes_then)));
    }
    out.say(".");
    out
}

/// What it means that saved values are donated; nothing where none is.
pub fn donated(saved: &[Saved]) -> Option<Sentence> {
    let names: Vec<String> = saved.iter().filter(|value| value.donated).map(|value| value.name.clone()).collect();
    let mut out = Sentence::default();
    let (which, own) = match names.len() {
        0 => return None,
        1 => ("1 saved value is donated".to_owned(), "overwrite it"),
        count => (format!("{count} saved values are donated"), "overwrite them"),
    };
    out.values(which, names.into_iter().take(MOST_NAMES).collect());
    out.say(format!(
        ": the backward may {own}, so backward(retain_graph=True) raises an error unless the first backward had it, too; torch._functorch.config.donated_buffer = False allows it."
    ));
    Some(out)
}

/// What a partition keeps for the backward beside what eager mode does, the upper bound that saving everything autograd asks for sets.
pub fn kept(partition: u64, eager: u64) -> Sentence {
    let mut out = Sentence::default();
    out.say(format!("Activations kept for the backward: {}; eager mode keeps {}", bytes(partition), bytes(eager)));
    out.say(match partition.checked_sub(eager) {
        Some(0) => ", the same.".to_owned(),
        Some(more) => format!(": this partition keeps {} more.", bytes(more)),
        None => format!(", {} more.", bytes(eager - partition)),
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStep;

    fn value(name: &str, kind: &str, bytes: u64, (born, dies): (u32, u32), line: u32, module: &str) -> MemoryValue {
        let span = (line > 0).then_some(Span { line, column: 0, end_line: line, end_column: 1, file: None });
        MemoryValue {
            name: name.to_owned(),
            kind: kind.to_owned(),
            bytes,
            born,
            dies,
            span,
            module_path: module.to_owned(),
            file: "a.py".to_owned(),
            is_parameter: name.starts_with('w'),
        }
    }

    fn profile(values: Vec<MemoryValue>) -> MemoryProfile {
        let step = |name: &str| MemoryStep { name: name.to_owned(), ..MemoryStep::default() };
        let peak_bytes = values.iter().filter(|value| value.born <= 1 && value.dies >= 1).map(|value| value.bytes).sum();
        MemoryProfile { steps: ["mm", "gelu", "sum"].map(step).into(), values, peak_step: 1, peak_bytes, ..MemoryProfile::default() }
    }

    #[test]
    fn what_is_alive_at_the_peak_is_shared_out() {
        let values = vec![
            value("w1", "input", 3 << 20, (0, 2), 0, ""),
            value("x", "input", 1 << 10, (0, 2), 0, ""),
            value("mm", "saved", 4 << 20, (0, 2), 28, "blocks.0.mlp"),
            value("mm_1", "saved", 4 << 20, (1, 2), 28, "blocks.1.mlp"),
            value("add", "temporary", 2 << 20, (1, 1), 30, ""),
            value("late", "temporary", 9 << 20, (2, 2), 31, ""),
        ];
        let said = peak(&profile(values), Some((0.5, 7 << 20)), false).text();
        assert_eq!(
            said,
            "Peak 13.0 MiB at gelu: 8.0 MiB from line 28 (2 layers), 3.0 MiB parameters, 2.0 MiB from 2 other places; budget 0.5: 7.0 MiB."
        );
    }

    #[test]
    fn lines_of_a_log_have_their_files() {
        let of = |file: &str, value| MemoryValue { file: file.to_owned(), ..value };
        let values = vec![of("a.py", value("mm", "saved", 64, (0, 2), 7, "")), of("b.py", value("add", "saved", 32, (0, 2), 7, ""))];
        assert_eq!(peak(&profile(values), None, true).text(), "Peak 96 B at gelu: 64 B from a.py:7, 32 B from b.py:7.");
    }

    #[test]
    fn three_shares_are_all_named() {
        let values = vec![
            value("x", "input", 100, (0, 2), 0, ""),
            value("tangents_1", "tangent", 4, (1, 2), 0, ""),
            value("mm", "output", 8, (0, 2), 5, "lin"),
        ];
        assert_eq!(peak(&profile(values), None, false).text(), "Peak 112 B at gelu: 100 B other inputs, 8 B from line 5, 4 B tangents.");
    }

    #[test]
    fn donated_values_are_counted() {
        let value = |name: &str, donated| Saved { name: name.to_owned(), donated, ..Saved::default() };
        let said = donated(&[value("a", true), value("b", false)]).map(|sentence| sentence.text());
        let want = "1 saved value is donated: the backward may overwrite it, so backward(retain_graph=True) raises an error unless the first backward had it, too; torch._functorch.config.donated_buffer = False allows it.";
        assert_eq!(said.as_deref(), Some(want));
        assert_eq!(donated(&[value("b", false)]), None);
    }

    #[test]
    fn what_is_kept_is_held_against_eager_mode() {
        let said: Vec<String> = [(10, 30), (30, 30), (2048, 1024)].into_iter().map(|(ours, eager)| kept(ours, eager).text()).collect();
        assert_eq!(
            said.join("\n"),
            "Activations kept for the backward: 10 B; eager mode keeps 30 B, 20 B more.\n\
             Activations kept for the backward: 30 B; eager mode keeps 30 B, the same.\n\
             Activations kept for the backward: 2.0 KiB; eager mode keeps 1.0 KiB: this partition keeps 1.0 KiB more."
        );
    }

    #[test]
    fn nothing_alive_is_nothing_said() {
        assert_eq!(peak(&MemoryProfile::default(), None, false).text(), "Peak 0 B.");
    }
}
