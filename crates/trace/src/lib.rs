//! Reading what PyTorch writes of its compilations: `TORCH_TRACE` logs, tlparse's folders, `TORCH_LOGS` text, files of
//! `torch_compile_debug` and of the minifier, graphs alone; of any version, by themselves or in archives.
//!
//! [`open`] finds what is there and copies nothing; [`Log::graph`] reads one graph when it is asked for. What is not understood is counted in
//! [`Log::unknown`], never dropped. Invariants: any bytes give a [`Log`] or an error that says what is wrong and where; nothing runs, nothing
//! is fetched.

mod assemble;
pub mod decision;
pub mod diff;
mod envelope;
mod events;
pub mod explain;
mod files;
mod folder;
pub mod metadata;
mod model;
mod prefix;
pub mod report;
pub mod repr;
pub mod runnable;
pub mod share;
pub mod summary;
mod text;
mod unpack;
pub mod write;

pub use model::{
    Artifact, Compilation, CompileId, File, Frame, Key, Lead, Line, Log, LoggedGraph, Place, ShapeGuard, Stage, Symbol, Text, Times,
    Unknown,
};
pub use unpack::{Given, MOST_BYTES, is_zip, unzipped};

use diagnostics::error::Result;
use graph::Parsed;
use std::rc::Rc;

/// Opens files: one log, those of several ranks, a folder, an archive.
///
/// # Errors
/// A sentence that says which file is no log of PyTorch's, or which archive is refused and why.
pub fn open(given: Vec<Given>) -> std::result::Result<Log, String> {
    let mut log = Log::default();
    for Given { name, bytes } in unpack::unpack(given)? {
        log.files.push(File { name, text: Rc::new(decoded(bytes)) });
    }
    let mut used = vec![false; log.files.len()];
    let mut lists: Vec<usize> = (0..used.len()).filter(|i| folder::is_list(&log.files[*i].name, &log.files[*i].text)).collect();
    lists.sort_by(|a, b| natural(&log.files[*a].name).cmp(&natural(&log.files[*b].name)));
    for list in lists {
        used[list] = true;
        for file in folder::read(&mut log, list) {
            used[file] = true;
        }
    }
    if !used.iter().any(|used| *used) {
        for file in folder::read_files(&mut log) {
            used[file] = true;
        }
    }
    let mut rest: Vec<usize> = (0..used.len()).filter(|i| !used[*i]).collect();
    rest.sort_by(|a, b| natural(&log.files[*a].name).cmp(&natural(&log.files[*b].name)));
    let mut unread = Vec::new();
    for file in rest {
        if !read_one(&mut log, file) {
            unread.push(file);
        }
    }
    let nothing = log.forms.is_empty();
    match unread.first() {
        Some(file) if nothing => Err(refusal(&log.files[*file])),
        None if nothing => Err("there is no file to read".to_owned()),
        _ => {
            for file in unread {
                let name = log.files[file].name.clone();
                log.note_unknown(&format!("{name}, a file that is no log of PyTorch's"), file, 1);
            }
            Ok(log)
        }
    }
}

/// Reads a file by itself; whether it is something that PyTorch writes.
fn read_one(log: &mut Log, file: usize) -> bool {
    let File { name, text } = &log.files[file];
    let (name, text) = (name.clone(), text.clone());
    let trimmed = text.trim_start();
    if let Some(kind) = files::stage_of_file(&name) {
        match text::is_log(&text) && kind == "fx_graph_transformed" {
            true => text::read(log, file, Some(files::stage(kind))),
            false => files::read_artifact(log, file, kind),
        }
    } else if envelope::is_trace(&text) {
        envelope::read(log, file);
    } else if trimmed.starts_with('{')
        && let Some(kind) = files::json_artifact(&text)
    {
        files::read_artifact(log, file, kind);
    } else if text.contains("\ndef load_args(reader)") && text.contains("class Repro(torch.nn.Module):\n") {
        files::read_runnable(log, file);
    } else if text::is_log(&text) {
        let before = found(log);
        text::read(log, file, None);
        if found(log) == before && log.forms.last().is_some_and(|form| form == "TORCH_LOGS") {
            log.forms.pop();
            return false;
        }
    } else if files::is_debug_calls(&text) {
        log.note_form("DebugMode");
        log.debug_calls = Some(folder::whole(log, file));
    } else {
        return false;
    }
    true
}

/// How much was found.
fn found(log: &Log) -> usize {
    log.compilations.len() + log.frames.len() + log.compiled_autograd.len()
}

fn refusal(file: &File) -> String {
    let first = file.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let shown: String = first.chars().take(60).collect();
    match shown.is_empty() {
        true => format!("{}: the file is empty", file.name),
        false => format!(
            "{}:1: this is no log, trace or graph that PyTorch writes; it begins with `{}`",
            file.name,
            shown.replace(|c: char| c.is_control(), " ")
        ),
    }
}

/// Bytes as text. Terminals' colours, HTML's entities and a mark of UTF-16 are undone.
fn decoded(bytes: Vec<u8>) -> String {
    let text = match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    };
    let text = if text.contains('\u{1b}') { without_colours(&text) } else { text };
    let is_html =
        text.contains("&lt;") || text.contains("&quot;") || text.contains("&#39;") || text.contains("&#x27;") || text.contains("-&gt;");
    if is_html { without_entities(&text) } else { text }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16_lossy(&units)
}

fn without_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split("\u{1b}[");
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        out.push_str(&part[end..]);
    }
    out
}

fn without_entities(text: &str) -> String {
    let known = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    let mut out = text.to_owned();
    for (entity, plain) in known {
        if out.contains(entity) {
            out = out.replace(entity, plain);
        }
    }
    out
}

/// A name whose numbers compare as numbers: `rank_2` before `rank_10`.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut out = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (head, tail) = rest.split_at(letters);
        let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, after) = tail.split_at(digits);
        out.push((head.to_owned(), number.parse().unwrap_or(0)));
        rest = after;
    }
    out
}

impl Log {
    /// Reads a graph, with what the frame's symbols stood for.
    ///
    /// # Errors
    /// `ValueError`, naming the line and what was expected there.
    pub fn graph(&self, logged: &LoggedGraph, frame: Option<&Frame>) -> Result<Parsed> {
        let hint = |name: &str| self.sizes.get(name).copied().or_else(|| frame.and_then(|frame| frame.hint(name)));
        let mut parsed = graph::read(self.lines(&logged.text), &hint)?;
        if !logged.input_types.is_empty() {
            for (name, written) in &logged.input_types {
                let Some(id) = parsed.graph.find(name).map(|node| node.id) else { continue };
                parsed.graph.node_mut(id).meta.value = graph::parse_type(written, &hint).ok();
            }
        }
        Ok(parsed)
    }

    /// The attempts of Dynamo under a compile id, up to one of them.
    pub fn attempts<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = &'a Frame> {
        let is_of = |frame: &&Frame| frame.key.id == key.id && frame.key.rank == key.rank && frame.key.attempt <= key.attempt;
        self.frames.iter().filter(move |frame| key.id.is_some() && is_of(frame))
    }

    /// The attempt of Dynamo that a compilation is of.
    pub fn frame_of(&self, compilation: &Compilation) -> Option<&Frame> {
        self.frames.get(compilation.frame?)
    }
}
