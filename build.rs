//! Freezes Python files into the binary: compiles the hand-picked standard library and our `torch` package to bytecode,
//! each into one archive that `src/python/frozen.rs` embeds. Nothing is done without the feature `python`.

#[cfg(feature = "python")]
mod freeze {
    use std::collections::BTreeMap;
    use std::hash::{DefaultHasher, Hash, Hasher};
    use std::path::{Path, PathBuf};

    use rustpython_compiler::{CodeObject, CompileOpts, Mode, compile};
    use rustpython_compiler_core::frozen::{FrozenCodeObject, FrozenLib, FrozenModule};
    use rustpython_compiler_core::marshal;

    type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

    /// A Python file that becomes a module.
    struct Source {
        /// What tracebacks show as its file.
        shown_as: String,
        text: String,
        package: bool,
    }

    type Sources = BTreeMap<String, Source>;

    /// Freezes everything; `manifest` is the crate's folder.
    pub fn run(manifest: &Path, out: &Path) -> Result<()> {
        let room = manifest.join("src/python");
        for watched in ["torch", "functorch", "stdlib", "stdlib.txt"] {
            println!("cargo:rerun-if-changed={}", room.join(watched).display());
        }

        // The standard library: files of RustPython's own copy, named in stdlib.txt, then ours, which take precedence.
        let mut stdlib = Sources::new();
        let library = Path::new(rustpython_pylib::LIB_PATH);
        for line in std::fs::read_to_string(room.join("stdlib.txt"))?.lines() {
            let entry = line.split('#').next().unwrap_or_default().trim();
            if !entry.is_empty() {
                add_file(&mut stdlib, library, Path::new(entry))?;
            }
        }
        add_folder(&mut stdlib, &room.join("stdlib"), Path::new(""))?;
        // Columns of what is not the visitor's serve nobody, nor do docstrings of the library: a third of the size.
        let options = CompileOpts { debug_ranges: false, ..CompileOpts::default() };
        write(&stdlib, &out.join("stdlib.frozen"), &CompileOpts { optimize: 2, ..options.clone() })?;

        let mut torch = Sources::new();
        for package in ["torch", "functorch"] {
            if room.join(package).is_dir() {
                add_folder(&mut torch, &room, Path::new(package))?;
            }
        }
        torch.values_mut().for_each(|source| source.text = without_private_docs(&source.text));
        write(&torch, &out.join("torch.frozen"), &options)
    }

    /// Docstrings of files, and of what scripts have no name for (`def _name`), serve nobody; `pass` in their place keeps the lines.
    fn without_private_docs(text: &str) -> String {
        const QUOTES: &str = "\"\"\"";
        let (mut is_private, mut in_doc) = (true, false);
        let mut kept = String::with_capacity(text.len());
        for line in text.lines() {
            let code = line.trim_start();
            let is_doc = is_private && code.starts_with(QUOTES);
            if in_doc {
                in_doc = !code.ends_with(QUOTES);
            } else if is_doc {
                in_doc = code.len() < 2 * QUOTES.len() || !code.ends_with(QUOTES);
                kept.push_str(&line[..line.len() - code.len()]);
                kept.push_str("pass");
            } else {
                kept.push_str(line);
            }
            kept.push('\n');
            let names = |word: &str| code.strip_prefix(word).is_some_and(|name| name.starts_with('_') && !name.starts_with("__"));
            is_private = (names("def ") || names("class ")) && code.ends_with(':');
        }
        kept
    }

    fn add_folder(sources: &mut Sources, base: &Path, folder: &Path) -> Result<()> {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(base.join(folder))?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
        entries.sort();
        for path in entries {
            let relative = path.strip_prefix(base)?.to_owned();
            if path.is_dir() {
                if !relative.ends_with("__pycache__") {
                    add_folder(sources, base, &relative)?;
                }
            } else if path.extension().is_some_and(|extension| extension == "py") {
                add_file(sources, base, &relative)?;
            }
        }
        Ok(())
    }

    fn add_file(sources: &mut Sources, base: &Path, relative: &Path) -> Result<()> {
        let path = base.join(relative);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut parts: Vec<&str> = relative.iter().filter_map(|part| part.to_str()).collect();
        let package = parts.last() == Some(&"__init__.py");
        let last = parts.pop().unwrap_or_default();
        if !package {
            parts.push(last.trim_end_matches(".py"));
        }
        let shown_as = relative.to_string_lossy().replace('\\', "/");
        sources.insert(parts.join("."), Source { shown_as, text, package });
        Ok(())
    }

    /// A code object in the form that the interpreter decompresses, LZ4, without compressing it: the page is served under a
    /// better compression, which does a third better on what has not been compressed before.
    fn stored(code: &CodeObject) -> Vec<u8> {
        let mut data = Vec::new();
        marshal::serialize_code(&mut data, code);
        // One sequence of literals: its length, as a nibble of 15 and then bytes that add up, and the data.
        let mut bytes = (data.len() as u32).to_le_bytes().to_vec();
        match data.len().checked_sub(15) {
            None => bytes.push((data.len() as u8) << 4),
            Some(rest) => {
                bytes.push(0xf0);
                bytes.extend(std::iter::repeat_n(255, rest / 255));
                bytes.push((rest % 255) as u8);
            }
        }
        bytes.extend(data);
        bytes
    }

    /// Compiles `sources` into an archive at `target`, unless it is there already, made from the same texts.
    fn write(sources: &Sources, target: &Path, options: &CompileOpts) -> Result<()> {
        let mut hasher = DefaultHasher::new();
        for (name, source) in sources {
            (name, &source.shown_as, &source.text, source.package).hash(&mut hasher);
        }
        (options.optimize, options.debug_ranges, include_str!("build.rs"), env!("CARGO_PKG_VERSION")).hash(&mut hasher);
        let stamp = hasher.finish().to_string();
        let stamp_path = target.with_extension("stamp");
        if target.exists() && std::fs::read_to_string(&stamp_path).is_ok_and(|found| found == stamp) {
            return Ok(());
        }
        let mut modules = Vec::with_capacity(sources.len());
        for (name, source) in sources {
            let code = compile(&source.text, Mode::Exec, &source.shown_as, options.clone())
                .map_err(|error| format!("{}: {error}", source.shown_as))?;
            modules.push((name.as_str(), FrozenModule { code: FrozenCodeObject { bytes: stored(&code) }, package: source.package }));
        }
        std::fs::write(target, FrozenLib::encode(modules).bytes)?;
        std::fs::write(stamp_path, stamp)?;
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "python")]
    {
        let folder = |variable| std::env::var_os(variable).map(std::path::PathBuf::from).ok_or(format!("no {variable}"));
        freeze::run(&folder("CARGO_MANIFEST_DIR")?, &folder("OUT_DIR")?)?;
    }
    Ok(())
}
