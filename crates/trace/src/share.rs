//! A log made ready to be handed on (`.aotz`: this as JSON, compressed by gzip): records that nothing reads are left out, and, where that is
//! wanted, paths and lines of source, too.
//!
//! What is cut: folders of paths; code in comments of graphs, in guards and in stacks; texts that are neither graphs nor what is read of
//! them, such as files that run a graph or kernels. Names of functions, of files and of what the program calls its values stay.

use super::envelope;
use super::events::SKIPPED;
use super::model::Log;
use super::unpack::Given;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the shape.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Packed {
    aotz: u32,
    name: String,
    files: Vec<PackedFile>,
}

#[derive(Serialize, Deserialize)]
struct PackedFile {
    name: String,
    text: String,
}

/// The log as JSON. `cut`: without paths and source.
///
/// # Errors
/// What the serializer says.
pub fn packed(log: &Log, name: &str, cut: bool) -> Result<String, String> {
    let file = |file: &super::model::File| PackedFile {
        name: if cut { cut_paths(&file.name) } else { file.name.clone() },
        text: if envelope::is_trace(&file.text) { records(&file.text, cut) } else { lines(&file.text, cut) },
    };
    let name = if cut { cut_paths(name) } else { name.to_owned() };
    let packed = Packed { aotz: VERSION, name, files: log.files.iter().map(file).collect() };
    serde_json::to_string(&packed).map_err(|error| error.to_string())
}

/// The files of a packed log, if the bytes are one.
///
/// # Errors
/// A sentence where it is damaged, or of a later version.
pub(crate) fn unpacked(name: &str, bytes: &[u8]) -> Result<Option<Vec<Given>>, String> {
    if !bytes.starts_with(b"{\"aotz\":") {
        return Ok(None);
    }
    let packed: Packed = serde_json::from_slice(bytes).map_err(|error| format!("{name} is damaged: {error}"))?;
    if packed.aotz > VERSION {
        return Err(format!("{name} was made by a newer version, of form {}; this one reads up to form {VERSION}", packed.aotz));
    }
    Ok(Some(packed.files.into_iter().map(|file| Given { name: file.name, bytes: file.text.into_bytes() }).collect()))
}

fn lines(text: &str, cut: bool) -> String {
    if !cut {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut cutter = Cutter::default();
    for line in text.split('\n') {
        out.push_str(&cutter.line(line));
        out.push('\n');
    }
    out.pop();
    out
}

/// Artifacts that are kept without source.
fn is_read(name: &str) -> bool {
    let known = ["torch_version", "recompile_reasons", "torch._functorch.config", "aot_forward_graph_fw_metadata", "min_cut_information"];
    known.contains(&name) || name.ends_with("_grad_graph") || name.ends_with("_joint_graph") || name == "dynamo_graph_break_reason"
}

/// A trace without the records that nothing reads.
fn records(text: &str, cut: bool) -> String {
    let mut out = String::with_capacity(text.len() / 2);
    let mut is_kept = false;
    let mut cutter = Cutter::default();
    for line in text.split_inclusive('\n') {
        let line = line.trim_end_matches(['\n', '\r']);
        let Some(at) = envelope::envelope(line.as_bytes()) else {
            if is_kept {
                let text = line.strip_prefix('\t').unwrap_or(line);
                out.push_str(&line[..line.len() - text.len()]);
                out.push_str(&if cut { cutter.line(text) } else { text.to_owned() });
                out.push('\n');
            }
            continue;
        };
        let (head, json) = line.split_at(at);
        let kind = envelope::first_name(json);
        is_kept = !SKIPPED.contains(&kind);
        cutter = Cutter::default();
        if is_kept && cut {
            let Ok(mut record) = serde_json::from_str::<Value>(json) else {
                is_kept = false;
                continue;
            };
            let name = record.get("artifact").and_then(|artifact| artifact.get("name")).and_then(Value::as_str);
            is_kept = kind != "inductor_output_code" && name.is_none_or(is_read);
            if is_kept {
                cut_value(&mut record);
                out.push_str(&format!("{head}{record}\n"));
            }
        } else if is_kept {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// Cuts the texts of a record. Of what is cut no sum is right any more.
fn cut_value(value: &mut Value) {
    match value {
        Value::String(text) if text.starts_with('/') || text.get(1..3) == Some(":\\") => *text = base(text).to_owned(),
        Value::String(text) => *text = lines(text, true),
        Value::Array(items) => items.iter_mut().for_each(cut_value),
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "loc" => *value = Value::String(String::new()),
                    "has_payload" => *value = Value::String("cut".to_owned()),
                    _ => cut_value(value),
                }
            }
        }
        _ => {}
    }
}

/// The last part of a path.
fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Cuts lines that follow each other: below the place of a stack stands its code.
#[derive(Default)]
struct Cutter {
    is_code: bool,
    /// Within the stacks that metadata holds as strings.
    is_stacks: bool,
}

/// What begins such stacks.
const STACKS: &str = "stack_traces=[";

impl Cutter {
    fn line(&mut self, line: &str) -> String {
        let after_strings = |text: &str| text.rsplit(['\'', '"']).next().unwrap_or_default().to_owned();
        let stacks = line.find(STACKS).map(|at| at + STACKS.len()).filter(|at| !line[*at..].starts_with(']'));
        if self.is_stacks || stacks.is_some() {
            let (head, rest) = line.split_at(stacks.unwrap_or(0));
            let end = after_strings(rest);
            self.is_stacks = !end.contains(']');
            return if self.is_stacks { head.to_owned() } else { format!("{head}{end}") };
        }
        let is_code = std::mem::take(&mut self.is_code);
        let quoted = line.find("File \"").map(|at| at + "File \"".len());
        if let Some((start, end)) = quoted.and_then(|start| Some((start, start + line[start..].find('"')?)))
            && line[end..].starts_with("\", line ")
        {
            self.is_code = true;
            return format!("{}{}{}", &line[..start], base(&line[start..end]), &line[end..]);
        }
        if is_code && line.starts_with("    ") {
            return line[..line.len() - line.trim_start().len()].to_owned();
        }
        if let Some(at) = line.find("File: ")
            && let Some(code) = line.find(", code: ")
            && let Some((path, place)) = line.get(at + "File: ".len()..code).and_then(|place| place.rsplit_once(" in "))
            && let Some((path, number)) = path.rsplit_once(':')
        {
            return format!("{}File: {}:{number} in {place}, code: ", &line[..at], base(path));
        }
        // `check  # code  # file.py:5 in f`
        let parts: Vec<&str> = line.split("  # ").collect();
        match parts.as_slice() {
            [check, .., place] if parts.len() > 2 => cut_paths(&format!("{check}  # {}", base(place))),
            _ => cut_paths(line),
        }
    }
}

/// A text in which paths have no folders.
fn cut_paths(text: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || "\"'()[]{}<>,:;|`".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '\\']) {
        let before = &rest[..at];
        let last = out.chars().chain(before.chars()).next_back();
        // A drive's letter is a part of its path.
        let starts = match last {
            None => true,
            Some(':') => rest[at..].starts_with('\\'),
            Some(c) => is_end(c) || c == '=',
        };
        let end = rest[at..].find(is_end).map_or(rest.len(), |n| at + n);
        let path = &rest[at..end];
        let is_path = starts && path[1..].contains(['/', '\\']) && !path.starts_with("//");
        out.push_str(before);
        out.push_str(if is_path { base(path) } else { path });
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}
