//! tlparse's folder: `raw.jsonl`, a record a line, payloads in files of their own; or those files alone.

use serde_json::Value;
use std::collections::HashMap;

use super::assemble::Assembler;
use super::events::{self, PAYLOADS, Strings};
use super::model::{Lead, Log, Text};

/// Whether a file is the list of records of such a folder.
pub(crate) fn is_list(name: &str, text: &str) -> bool {
    name.ends_with("raw.jsonl") || text.starts_with("{\"string_table\"")
}

/// Where a file stands, with a slash at the end.
fn folder_of(name: &str) -> &str {
    name.rfind('/').map_or("", |at| &name[..=at])
}

/// The whole of a file.
pub(crate) fn whole(log: &Log, file: usize) -> Text {
    Text::Whole { file, first: 1, start: 0, end: log.files[file].text.len(), lead: Lead::Nothing }
}

/// Reads a list of records, whose payloads are among the files; gives the files that it used.
pub(crate) fn read(log: &mut Log, file: usize) -> Vec<usize> {
    log.note_form("tlparse");
    let folder = folder_of(&log.files[file].name).to_owned();
    let by_name: HashMap<String, usize> = log.files.iter().enumerate().map(|(i, f)| (f.name.clone(), i)).collect();
    let text = log.files[file].text.clone();
    let mut strings = Strings::default();
    let (mut used, mut missing) = (Vec::new(), Vec::new());
    let mut to = Assembler::new(log, Some(file));
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = i as u32 + 1;
        let Ok(record) = serde_json::from_str::<Value>(line) else {
            to.log.note_unknown("records that are no JSON", file, number);
            continue;
        };
        if let Some(table) = record.get("string_table").and_then(Value::as_array) {
            for (i, text) in table.iter().enumerate() {
                strings.set(i as u64, text.as_str().unwrap_or_default());
            }
            continue;
        }
        let named = record.get("payload_filename").and_then(Value::as_str);
        let payload = match (named, record.get("payload").and_then(Value::as_str)) {
            (Some(name), _) => match by_name.get(&format!("{folder}{name}")) {
                Some(payload) => {
                    used.push(*payload);
                    Some(whole(to.log, *payload))
                }
                None => {
                    missing.push((name.to_owned(), number));
                    None
                }
            },
            (None, Some(text)) => Some(Text::Made { file, first: number, text: text.to_owned() }),
            (None, None) => None,
        };
        events::record(&mut to, &mut strings, &record, payload, file, number);
    }
    for (name, line) in missing {
        log.note_unknown(&format!("{name}, a payload that is not among the files"), file, line);
    }
    // Other files of the folder are for people: its index, records' payloads under other names.
    used.extend(log.files.iter().enumerate().filter(|(i, f)| *i != file && f.name.starts_with(&folder)).map(|(i, _)| i));
    used
}

/// What a file's name says of it: `-_0_1_0/aot_joint_graph_31.txt`.
fn artifact_name(name: &str) -> Option<(Value, String, u32)> {
    let mut parts = name.rsplitn(3, '/');
    let (file, folder) = (parts.next()?, parts.next()?);
    let ids: Vec<&str> = folder.split('_').collect();
    let [tape, frame, compile, attempt] = ids.as_slice() else { return None };
    let (stem, _) = file.rsplit_once('.')?;
    let (kind, number) = stem.rsplit_once('_')?;
    let mut record = serde_json::Map::new();
    for (field, text) in [("compiled_autograd_id", tape), ("frame_id", frame), ("frame_compile_id", compile), ("attempt", attempt)] {
        match text.parse::<u32>() {
            Ok(number) => drop(record.insert(field.to_owned(), number.into())),
            Err(_) if *text == "-" => {}
            Err(_) => return None,
        }
    }
    record.insert("has_payload".to_owned(), "".into());
    Some((Value::Object(record), kind.to_owned(), number.parse().ok()?))
}

/// Reads what is there of a folder whose list of records is not; gives the files that it used.
pub(crate) fn read_files(log: &mut Log) -> Vec<usize> {
    let mut found: Vec<(u32, usize, Value)> = Vec::new();
    for (i, file) in log.files.iter().enumerate() {
        let Some((mut record, kind, number)) = artifact_name(&file.name) else { continue };
        let Some(fields) = record.as_object_mut() else { continue };
        let kind = PAYLOADS
            .iter()
            .find(|known| kind.starts_with(**known) && !kind.starts_with("aot_forward_graph_fw"))
            .copied()
            .map(str::to_owned)
            .unwrap_or(kind);
        if kind.ends_with("compilation_metrics") || file.name.ends_with(".html") && kind != "inductor_output_code" {
            continue;
        }
        match PAYLOADS.contains(&kind.as_str()) {
            true => drop(fields.insert(kind, Value::Object(serde_json::Map::new()))),
            false => drop(fields.insert("artifact".to_owned(), serde_json::json!({ "name": kind, "encoding": "string" }))),
        }
        found.push((number, i, record));
    }
    if found.is_empty() {
        return Vec::new();
    }
    log.note_form("tlparse");
    found.sort_by_key(|(number, i, _)| (*number, *i));
    let mut to = Assembler::new(log, None);
    let mut strings = Strings::default();
    for (_, file, record) in &found {
        let payload = whole(to.log, *file);
        events::record(&mut to, &mut strings, record, Some(payload), *file, 1);
    }
    found.into_iter().map(|(_, file, _)| file).collect()
}
