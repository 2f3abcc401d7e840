//! `torch._native_archive`: archives as `torch.save` and `torch.export.save` write them (zip files whose records are not compressed), and
//! tensors of their bytes.

pub(super) use module::module_def;

/// Where the bytes of a record begin: PyTorch maps records into memory.
const ALIGNMENT: usize = 64;
const LOCAL: [u8; 4] = *b"PK\x03\x04";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const END: [u8; 4] = *b"PK\x05\x06";
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;

/// The checksum of zip files.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let (mut value, mut bit) = (i as u32, 0);
            while bit < 8 {
                value = if value & 1 == 1 { 0xedb8_8320 ^ (value >> 1) } else { value >> 1 };
                bit += 1;
            }
            table[i] = value;
            i += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc, byte| TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8))
}

/// An archive of some records. It has no room for four gigabytes.
fn written(records: &[(String, Vec<u8>)]) -> Option<Vec<u8>> {
    let mut out: Vec<u8> = Vec::new();
    let mut directory: Vec<u8> = Vec::new();
    for (name, bytes) in records {
        let (at, size) = (u32::try_from(out.len()).ok()?, u32::try_from(bytes.len()).ok()?);
        let mut common = Vec::new();
        for field in [0, FLAGS, 0, 0, 0] {
            common.extend(field.to_le_bytes());
        }
        for field in [crc32(bytes), size, size] {
            common.extend(field.to_le_bytes());
        }
        common.extend(u16::try_from(name.len()).ok()?.to_le_bytes());
        out.extend(LOCAL);
        out.extend(&common);
        // Filled up by a field that no reader knows: two bytes of a mark, two of its length.
        let begins = out.len() + 2 + name.len() + 4;
        let padding = begins.next_multiple_of(ALIGNMENT) - begins;
        out.extend((padding as u16 + 4).to_le_bytes());
        out.extend(name.as_bytes());
        out.extend(b"FB");
        out.extend((padding as u16).to_le_bytes());
        out.resize(out.len() + padding, b'Z');
        out.extend(bytes);
        directory.extend(CENTRAL);
        directory.extend(0u16.to_le_bytes());
        directory.extend(&common);
        // No field, no comment, the first disk, no attributes.
        directory.extend([0; 12]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (at, size, count) = (u32::try_from(out.len()).ok()?, u32::try_from(directory.len()).ok()?, u16::try_from(records.len()).ok()?);
    out.extend(&directory);
    out.extend(END);
    for field in [0, 0, count, count] {
        out.extend(u16::to_le_bytes(field));
    }
    out.extend(size.to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0; 2]);
    u32::try_from(out.len()).ok().map(|_| out)
}

/// Little-endian numbers at places of a text, which may be too short for them.
#[derive(Clone, Copy)]
struct Numbers<'a>(&'a [u8]);

impl<'a> Numbers<'a> {
    fn short(self, at: usize) -> Option<usize> {
        Some(usize::from(u16::from_le_bytes(self.0.get(at..at.checked_add(2)?)?.try_into().ok()?)))
    }

    fn long(self, at: usize) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.0.get(at..at.checked_add(4)?)?.try_into().ok()?)).ok()
    }

    fn slice(self, at: usize, size: usize) -> Option<&'a [u8]> {
        self.0.get(at..at.checked_add(size)?)
    }
}

/// Why an archive is not read.
#[derive(Debug, PartialEq, Eq)]
enum Refused {
    /// It has no directory, or one that leads nowhere.
    NoDirectory,
    /// A record is not what its checksum says.
    Damaged(String),
    /// A record is compressed, which PyTorch's are not.
    Compressed(String),
    /// Records overlap, so that they are larger than the file together.
    Overlapping,
}

/// The records of an archive. Together they are not larger than it.
fn records(bytes: &[u8]) -> Result<Vec<(String, &[u8])>, Refused> {
    use Refused::NoDirectory;
    let all = Numbers(bytes);
    // The end of the directory is followed by a comment of at most so many bytes.
    let least = bytes.len().saturating_sub(22 + 0xffff);
    let end = (least..bytes.len().saturating_sub(21)).rev().find(|at| bytes[*at..].starts_with(&END)).ok_or(NoDirectory)?;
    let count = all.short(end + 10).ok_or(NoDirectory)?;
    let mut at = all.long(end + 16).ok_or(NoDirectory)?;
    let (mut found, mut total) = (Vec::new(), 0);
    for _ in 0..count {
        let header = all.slice(at, 46).filter(|header| header.starts_with(&CENTRAL)).ok_or(NoDirectory)?;
        let header = Numbers(header);
        let field = |place| header.short(place).ok_or(NoDirectory);
        let number = |place| header.long(place).ok_or(NoDirectory);
        let (method, names, extra, comment) = (field(10)?, field(28)?, field(30)?, field(32)?);
        let (crc, size, local) = (number(16)?, number(20)?, number(42)?);
        let name = String::from_utf8_lossy(all.slice(at + 46, names).ok_or(NoDirectory)?).into_owned();
        at += 46 + names + extra + comment;
        if method != 0 || number(24)? != size {
            return Err(Refused::Compressed(name));
        }
        let head = all.slice(local, 30).filter(|head| head.starts_with(&LOCAL)).map(Numbers).ok_or(NoDirectory)?;
        let (names, extra) = (head.short(26).ok_or(NoDirectory)?, head.short(28).ok_or(NoDirectory)?);
        let data = all.slice(local + 30 + names + extra, size).ok_or(NoDirectory)?;
        total += size;
        if total > bytes.len() {
            return Err(Refused::Overlapping);
        }
        if u32::try_from(crc).ok() != Some(crc32(data)) {
            return Err(Refused::Damaged(name));
        }
        found.push((name, data));
    }
    Ok(found)
}

#[pymodule(name = "torch._native_archive")]
mod module {
    use super::{Refused, records, written};
    use crate::dispatch::Value;
    use crate::python::native::tensor::{raise, to_tensor, to_value, wrap};
    use crate::tensor::{Dtype, Tensor};
    use rustpython_vm::builtins::{PyDictRef, PyStrRef};
    use rustpython_vm::function::ArgBytesLike;
    use rustpython_vm::{PyObjectRef, PyResult, VirtualMachine};

    /// `write(names, contents)`: an archive.
    #[pyfunction]
    fn write(names: Vec<PyStrRef>, contents: Vec<ArgBytesLike>, vm: &VirtualMachine) -> PyResult {
        let bytes = contents.iter().map(|data| data.borrow_buf().to_vec());
        let given: Vec<(String, Vec<u8>)> = names.iter().map(|name| name.to_string_lossy().into_owned()).zip(bytes).collect();
        let out = written(&given);
        let out = out.ok_or_else(|| vm.new_not_implemented_error("archives of four gigabytes are not available in the playground"))?;
        Ok(vm.ctx.new_bytes(out).into())
    }

    /// `read(bytes)`: the records of an archive by name.
    #[pyfunction]
    fn read(data: ArgBytesLike, vm: &VirtualMachine) -> PyResult<PyDictRef> {
        let data = data.borrow_buf();
        let found = records(&data).map_err(|refused| match refused {
            Refused::NoDirectory => vm.new_runtime_error(
                "PytorchStreamReader failed reading zip archive: failed finding central directory. This is an internal miniz error. If you are \
                 seeing this error, there is a high likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was \
                 not saved properly, was transferred incorrectly, or the file was modified after saving.",
            ),
            Refused::Damaged(name) => vm.new_runtime_error(format!(
                "PytorchStreamReader failed reading file {name}: CRC-32 check failed. This is an internal miniz error. If you are seeing this \
                 error, there is a high likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was not saved \
                 properly, was transferred incorrectly, or the file was modified after saving."
            )),
            Refused::Compressed(name) => {
                vm.new_not_implemented_error(format!("the record {name} is compressed, which is not available in the playground"))
            }
            Refused::Overlapping => vm.new_runtime_error("the records of the archive overlap"),
        })?;
        let by_name = vm.ctx.new_dict();
        for (name, data) in found {
            by_name.set_item(&*name, vm.ctx.new_bytes(data.to_vec()).into(), vm)?;
        }
        Ok(by_name)
    }

    /// The bytes of all of a tensor's memory.
    #[pyfunction]
    fn bytes_of(tensor: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let t = to_tensor(&tensor).ok_or_else(|| vm.new_type_error("expected a Tensor"))?;
        let storage = t.storage().clone();
        let bytes = storage.bytes().map_err(|e| raise(e, vm))?;
        Ok(vm.ctx.new_bytes(bytes.to_vec()).into())
    }

    /// `tensor_of(bytes, dtype)`: a tensor with these elements.
    #[pyfunction]
    fn tensor_of(data: ArgBytesLike, dtype: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let Some(Value::Dtype(dtype)) = to_value(&dtype, vm) else { return Err(vm.new_type_error("expected a torch.dtype")) };
        let mut data = data.borrow_buf().to_vec();
        let (size, item) = (data.len(), dtype.itemsize());
        if size % item != 0 {
            return Err(
                vm.new_value_error(format!("{size} bytes are not a multiple of {item}, the size of an element of {}", dtype.name()))
            );
        }
        if dtype == Dtype::Bool {
            data.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        let t = Tensor::from_bytes(&data, &[(size / item) as i64], dtype).map_err(|e| raise(e, vm))?;
        wrap(&t, vm)
    }
}

#[cfg(test)]
mod tests {
    use super::{ALIGNMENT, Refused, crc32, records, written};

    fn some() -> Vec<(String, Vec<u8>)> {
        vec![("archive/data.pkl".into(), b"abc".to_vec()), ("archive/data/0".into(), vec![7; 100]), ("archive/empty".into(), vec![])]
    }

    #[test]
    fn the_checksum_is_that_of_zip_files() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn what_is_written_is_read_and_aligned() {
        let (given, file) = (some(), written(&some()).unwrap());
        let found = records(&file).unwrap();
        assert!(found.iter().zip(&given).all(|((a, data), (b, bytes))| a == b && data == bytes) && found.len() == given.len());
        let start = file.as_ptr() as usize;
        assert!(found.iter().all(|(_, data)| (data.as_ptr() as usize - start).is_multiple_of(ALIGNMENT)));
    }

    #[test]
    fn a_file_that_was_cut_or_changed_is_refused_or_read() {
        let file = written(&some()).unwrap();
        for n in 0..file.len() {
            assert_eq!(records(&file[..n]), Err(Refused::NoDirectory), "cut at {n}");
            for byte in [0, 0xff, file[n] ^ 1] {
                let mut changed = file.clone();
                changed[n] = byte;
                if let Ok(found) = records(&changed) {
                    assert!(found.iter().map(|(_, data)| data.len()).sum::<usize>() <= file.len());
                }
            }
        }
    }

    #[test]
    fn records_that_overlap_are_refused() {
        let names = ["a", "b", "c"];
        let mut file = written(&names.map(|name| (name.to_owned(), vec![7; 2000]))).unwrap();
        let first = file.windows(4).position(|w| w == super::CENTRAL).unwrap();
        let place = file[first + 42..first + 46].to_vec();
        assert_eq!(records(&file).unwrap().len(), 3);
        for n in 1..names.len() {
            let at = first + n * (46 + 1) + 42;
            file[at..at + 4].copy_from_slice(&place);
        }
        // Each is the first: without what lies between, they are more than the file.
        let second = file[..first].windows(4).skip(1).position(|w| w == super::LOCAL).unwrap() + 1;
        let directory = (second as u32).to_le_bytes();
        file.drain(second..first);
        let end = file.windows(4).position(|w| w == super::END).unwrap();
        file[end + 16..end + 20].copy_from_slice(&directory);
        assert_eq!(records(&file), Err(Refused::Overlapping));
    }
}
