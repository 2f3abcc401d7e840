//! Files of Python that `--module-path` gives a script to import: those of a folder, or of a wheel or zip. Nothing but `.py` is read, and no
//! more than a bounded number of bytes, whatever an archive says of itself.

use std::path::Path;

use aot_playground::trace::{self, Given};

/// What the files of one path may hold together: a library of ten thousand lines takes half a megabyte.
const MOST_BYTES: u64 = 64 << 20;
const MOST_SAID: &str = "64 MB of Python files";
/// Folders in folders.
const DEEPEST: usize = 32;

/// Names, below the path, and texts.
///
/// # Errors
///
/// A sentence, where something cannot be read or is too large.
pub fn read(path: &Path) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    if path.is_dir() {
        let mut left = MOST_BYTES;
        folder(path, "", DEEPEST, &mut left, &mut found)?;
    } else {
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !trace::is_zip(&bytes) {
            return Err("it is no folder, wheel or zip".to_owned());
        }
        found = trace::unzipped(&Given { name, bytes }, MOST_BYTES, MOST_SAID, &is_python)?;
    }
    found.into_iter().map(|Given { name, bytes }| text(&name, bytes).map(|text| (name, text))).collect()
}

fn is_python(name: &str) -> bool {
    name.ends_with(".py")
}

fn text(name: &str, bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| format!("'{name}' is not UTF-8"))
}

fn folder(path: &Path, name: &str, deepest: usize, left: &mut u64, found: &mut Vec<Given>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut entries: Vec<_> = std::fs::read_dir(path).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let file = entry.file_name().to_string_lossy().into_owned();
        let below = if name.is_empty() { file.clone() } else { format!("{name}/{file}") };
        // A link may lead out of what was given.
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() && deepest > 0 && !file.starts_with('.') && file != "__pycache__" {
            folder(&entry.path(), &below, deepest - 1, left, found)?;
        } else if kind.is_file() && is_python(&file) {
            let size = entry.metadata().map_err(failed)?.len();
            *left = left.checked_sub(size).ok_or_else(|| format!("it holds more than {MOST_SAID}"))?;
            found.push(Given { bytes: std::fs::read(entry.path()).map_err(failed)?, name: below });
        }
    }
    Ok(())
}
