//! Archives: zip and gzip, unpacked within bounds.

use super::share;
use std::io::Read;

/// What archives may unpack to, together.
pub const MOST_BYTES: u64 = 1 << 30;
/// Files that archives may hold, together.
const MOST_FILES: usize = 100_000;

/// A file as it was given.
#[derive(Clone, Debug)]
pub struct Given {
    /// Its name, folders before it.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Whether bytes are a zip archive, as wheels are, too.
pub fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// The files, those of archives in the place of the archives.
pub(crate) fn unpack(given: Vec<Given>) -> Result<Vec<Given>, String> {
    let mut left = Bound { bytes: MOST_BYTES, said: "1 GB: unpack it and open the files that matter" };
    let mut out = Vec::new();
    for file in given {
        if is_gzip(&file.bytes) {
            let name = file.name.strip_suffix(".gz").or_else(|| file.name.strip_suffix(".tgz")).unwrap_or(&file.name).to_owned();
            let bytes = bounded(flate2::read::MultiGzDecoder::new(file.bytes.as_slice()), &mut left, &file.name)?;
            refuse_nested(&file.name, &bytes)?;
            match share::unpacked(&file.name, &bytes)? {
                Some(files) => out.extend(files),
                None => out.push(Given { name, bytes }),
            }
        } else if is_zip(&file.bytes) {
            for inner in unzip(&file, &mut left, &|_| true)? {
                let name = format!("{}/{}", file.name, inner.name);
                refuse_nested(&name, &inner.bytes)?;
                out.push(Given { name, ..inner });
            }
        } else {
            out.push(file);
        }
    }
    Ok(out)
}

/// How many bytes may still be unpacked, and the end of the sentence where there are more.
struct Bound {
    bytes: u64,
    said: &'static str,
}

fn bounded(from: impl Read, left: &mut Bound, name: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    // One more than may be, to see that there is more.
    let read = from
        .take(left.bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{name}: the archive is damaged: {error}"))?;
    let rest = left.bytes.checked_sub(read as u64);
    left.bytes = rest.ok_or_else(|| format!("{name} unpacks to more than {}", left.said))?;
    Ok(bytes)
}

/// The files of a zip archive that are wanted, by their names in it, where they hold no more than so many bytes together; `said` is that
/// number in words.
///
/// # Errors
///
/// A sentence, where it is damaged or holds more.
pub fn unzipped(file: &Given, bytes: u64, said: &'static str, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Given>, String> {
    unzip(file, &mut Bound { bytes, said }, is_wanted)
}

fn refuse_nested(name: &str, bytes: &[u8]) -> Result<(), String> {
    if is_gzip(bytes) || is_zip(bytes) {
        return Err(format!("{name} holds an archive in an archive: unpack the outer one first"));
    }
    Ok(())
}

fn unzip(file: &Given, left: &mut Bound, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Given>, String> {
    let damaged = |error: zip::result::ZipError| format!("{}: the archive is damaged: {error}", file.name);
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(file.bytes.as_slice())).map_err(damaged)?;
    if archive.len() > MOST_FILES {
        return Err(format!("{} holds more than {MOST_FILES} files", file.name));
    }
    let mut out = Vec::new();
    for i in 0..archive.len() {
        let entry = archive.by_index(i).map_err(damaged)?;
        let name = entry.name().map_err(damaged)?.to_string();
        if entry.is_file() && is_wanted(&name) {
            out.push(Given { name, bytes: bounded(entry, left, &file.name)? });
        }
    }
    Ok(out)
}
