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

fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// The files, those of archives in the place of the archives.
pub(crate) fn unpack(given: Vec<Given>) -> Result<Vec<Given>, String> {
    let mut left = MOST_BYTES;
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
            unzip(&file, &mut left, &mut out)?;
        } else {
            out.push(file);
        }
    }
    Ok(out)
}

fn bounded(from: impl Read, left: &mut u64, name: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    // One more than may be, to see that there is more.
    let read = from.take(*left + 1).read_to_end(&mut bytes).map_err(|error| format!("{name}: the archive is damaged: {error}"))?;
    if read as u64 > *left {
        return Err(format!("{name} unpacks to more than 1 GB: unpack it and open the files that matter"));
    }
    *left -= read as u64;
    Ok(bytes)
}

fn refuse_nested(name: &str, bytes: &[u8]) -> Result<(), String> {
    if is_gzip(bytes) || is_zip(bytes) {
        return Err(format!("{name} holds an archive in an archive: unpack the outer one first"));
    }
    Ok(())
}

fn unzip(file: &Given, left: &mut u64, out: &mut Vec<Given>) -> Result<(), String> {
    let damaged = |error: zip::result::ZipError| format!("{}: the archive is damaged: {error}", file.name);
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(file.bytes.as_slice())).map_err(damaged)?;
    if archive.len() > MOST_FILES {
        return Err(format!("{} holds more than {MOST_FILES} files", file.name));
    }
    for i in 0..archive.len() {
        let entry = archive.by_index(i).map_err(damaged)?;
        if !entry.is_file() {
            continue;
        }
        let name = format!("{}/{}", file.name, entry.name().map_err(damaged)?);
        let bytes = bounded(entry, left, &file.name)?;
        refuse_nested(&name, &bytes)?;
        out.push(Given { name, bytes });
    }
    Ok(())
}
