//! Freezes Python files: compiles the hand-picked standard library and our `torch` package to bytecode, into archives that
//! `src/python/frozen.rs` embeds. Nothing is done without the feature `python`.
//!
//! `carried.frozen` is in every module from the start; `later.frozen` holds what `src/python/later.txt` names, which the page
//! fetches when a script first imports some of it; `stubs.frozen` has its names, each with code that asks for the other.
//!
//! `packages.rs` names the packages of `src/python/packages.txt`, and has those of them that `scripts/packages.py` has fetched.

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
        for watched in ["torch", "functorch", "stdlib", "stdlib.txt", "later.txt"] {
            println!("cargo:rerun-if-changed={}", room.join(watched).display());
        }

        // The standard library: files of RustPython's own copy, named in stdlib.txt, then ours, which take precedence.
        let mut stdlib = Sources::new();
        let library = Path::new(rustpython_pylib::LIB_PATH);
        for entry in entries(&room.join("stdlib.txt"))? {
            add_file(&mut stdlib, library, Path::new(&entry))?;
        }
        add_folder(&mut stdlib, &room.join("stdlib"), Path::new(""))?;
        let mut torch = Sources::new();
        for package in ["torch", "functorch"] {
            if room.join(package).is_dir() {
                add_folder(&mut torch, &room, Path::new(package))?;
            }
        }
        torch.values_mut().for_each(|source| source.text = without_private_docs(&source.text));

        // Columns of what is not the visitor's serve nobody, nor do docstrings of the library: a third of the size.
        let options = CompileOpts { debug_ranges: false, ..CompileOpts::default() };
        let without_docs = CompileOpts { optimize: 2, ..options.clone() };
        let later = entries(&room.join("later.txt"))?;
        let below = |name: &str, entry: &str| name.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let is_later = |name: &str| later.iter().any(|entry| below(name, entry));
        if let Some(entry) = later.iter().find(|entry| !stdlib.keys().chain(torch.keys()).any(|name| below(name, entry))) {
            return Err(format!("later.txt: there is no module {entry}").into());
        }
        let mut archives = [Vec::new(), Vec::new(), Vec::new()];
        for (sources, options) in [(stdlib, without_docs), (torch, options)] {
            for (name, source) in sources {
                if is_later(&name) {
                    let stub = Source { shown_as: "<frozen importlib.later>".to_owned(), text: STUB.to_owned(), ..source };
                    archives[2].push((name.clone(), stub, options.clone()));
                    archives[1].push((name, source, options.clone()));
                } else {
                    archives[0].push((name, source, options.clone()));
                }
            }
        }
        for (modules, name) in archives.iter().zip(["carried", "later", "stubs"]) {
            write(modules, &out.join(name).with_extension("frozen"))?;
        }
        packages(manifest, &room, out)
    }

    /// Names the packages that there may be, and those that were fetched.
    fn packages(manifest: &Path, room: &Path, out: &Path) -> Result<()> {
        let list = room.join("packages.txt");
        println!("cargo:rerun-if-changed={}", list.display());
        let fetched = manifest.join("target/packages");
        // A folder that is not there would be looked for in every build.
        std::fs::create_dir_all(&fetched)?;
        println!("cargo:rerun-if-changed={}", fetched.display());
        let lines = entries(&list)?;
        let names: Vec<&str> = lines.iter().filter_map(|line| Some(line.split_once("==")?.0)).collect();
        let mut texts = String::new();
        for name in &names {
            let file = fetched.join(format!("{name}.json"));
            let text = std::fs::read_to_string(&file).ok();
            // Of another version it is fetched anew by the build that wants it.
            let is_listed = |text: &str| lines.iter().any(|line| text.contains(&format!("\"{line}\"")));
            if text.is_some_and(|text| is_listed(&text)) {
                texts += &format!("({name:?}, include_str!({:?})), ", file.display().to_string());
            }
        }
        let code = format!(
            "/// Packages that a script may import.\npub(super) const NAMES: &[&str] = &{names:?};\n\n/// Those that this program holds.\n\
             #[cfg(not(target_arch = \"wasm32\"))]\npub(super) const TEXTS: &[(&str, &str)] = &[{texts}];\n"
        );
        std::fs::write(out.join("packages.rs"), code)?;
        Ok(())
    }

    /// The code of a module that is fetched: it runs the module's own in its own namespace.
    const STUB: &str = "__import__('_playground').run_later(globals())";

    /// The lines of a list, without what follows `#`.
    fn entries(list: &Path) -> Result<Vec<String>> {
        let text = std::fs::read_to_string(list)?;
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        Ok(lines.filter(|line| !line.is_empty()).map(str::to_owned).collect())
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

    /// Compiles modules into an archive at `target`, unless it is there already, made from the same texts.
    fn write(modules: &[(String, Source, CompileOpts)], target: &Path) -> Result<()> {
        let mut hasher = DefaultHasher::new();
        for (name, source, options) in modules {
            (name, &source.shown_as, &source.text, source.package, options.optimize, options.debug_ranges).hash(&mut hasher);
        }
        (include_str!("build.rs"), env!("CARGO_PKG_VERSION")).hash(&mut hasher);
        let stamp = hasher.finish().to_string();
        let stamp_path = target.with_extension("stamp");
        if target.exists() && std::fs::read_to_string(&stamp_path).is_ok_and(|found| found == stamp) {
            return Ok(());
        }
        let mut frozen = Vec::with_capacity(modules.len());
        for (name, source, options) in modules {
            let code = compile(&source.text, Mode::Exec, &source.shown_as, options.clone())
                .map_err(|error| format!("{}: {error}", source.shown_as))?;
            frozen.push((name.as_str(), FrozenModule { code: FrozenCodeObject { bytes: stored(&code) }, package: source.package }));
        }
        std::fs::write(target, FrozenLib::encode(frozen).bytes)?;
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
