//! A `TORCH_TRACE` log: lines `V1125 21:58:31.488000 11393 torch/.../graph_compile.py:1861] {JSON}`, each followed by its payload behind
//! TABs.

use serde_json::Value;

use super::assemble::Assembler;
use super::events::{self, SKIPPED, Strings};
use super::model::{Lead, Log, Text};

/// Where the JSON of a record begins, if a line is one.
pub(crate) fn envelope(line: &[u8]) -> Option<usize> {
    let level = line.first().is_some_and(|b| b"VDIWEC".contains(b));
    if !level || line.len() < 8 || !line[1..5].iter().all(u8::is_ascii_digit) {
        return None;
    }
    // Prefixes are short.
    let head = &line[..line.len().min(512)];
    memchr::memmem::find(head, b"] {").map(|at| at + 2)
}

/// Whether a text is such a log: one of its first lines is a record.
pub(crate) fn is_trace(text: &str) -> bool {
    let is_record = |line: &str| envelope(line.as_bytes()).is_some_and(|at| line[at..].starts_with("{\"") && line.ends_with('}'));
    text.lines().filter(|line| !line.is_empty()).take(64).any(is_record)
}

/// The name that a record begins with: what it is, as PyTorch writes it.
pub(crate) fn first_name(json: &str) -> &str {
    json.strip_prefix("{\"").and_then(|rest| rest.split('"').next()).unwrap_or_default()
}

/// Reads a log.
pub(crate) fn read(log: &mut Log, file: usize) {
    log.note_form("TORCH_TRACE");
    let text = log.files[file].text.clone();
    let bytes = text.as_bytes();
    let (mut at, mut line_number) = (0, 0u32);
    let mut strings = Strings::default();
    let mut to = Assembler::new(log, Some(file));
    let line_end = |from: usize| memchr::memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |n| from + n);
    while at < bytes.len() {
        let end = line_end(at);
        line_number += 1;
        let line = text[at..end].trim_end_matches('\r');
        let Some(json_at) = envelope(line.as_bytes()) else {
            if !line.trim().is_empty() {
                to.log.note_unknown("lines between records", file, line_number);
            }
            at = end + 1;
            continue;
        };
        let json = &line[json_at..];
        let (payload_at, payload_line) = (end + 1, line_number + 1);
        let mut payload_end = payload_at.min(bytes.len());
        // Where a log was pasted, TABs may have become blanks or nothing.
        let has_tabs = bytes.get(payload_at) == Some(&b'\t');
        let is_payload = |from: usize| match has_tabs {
            true => bytes[from] == b'\t',
            false => envelope(&bytes[from..line_end(from)]).is_none(),
        };
        while (has_tabs || json.contains("\"has_payload\"")) && payload_end < bytes.len() && is_payload(payload_end) {
            payload_end = line_end(payload_end) + 1;
            line_number += 1;
        }
        let payload_end = payload_end.min(bytes.len());
        at = payload_end.max(end + 1);
        if SKIPPED.contains(&first_name(json)) {
            continue;
        }
        let Ok(record) = serde_json::from_str::<Value>(json) else {
            to.log.note_unknown("records that are no JSON", file, payload_line - 1);
            continue;
        };
        let lead = if has_tabs { Lead::Tab } else { Lead::Nothing };
        let has_payload = record.get("has_payload").is_some() && payload_at < payload_end;
        let payload = has_payload.then_some(Text::Whole { file, first: payload_line, start: payload_at, end: payload_end, lead });
        events::record(&mut to, &mut strings, &record, payload, file, payload_line - 1);
    }
}
