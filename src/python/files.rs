//! Files of Python that are not the library's: the script, files beside it, and packages that are fetched when a script imports them.
//!
//! A [`ModulePath`] is all that a script may import beside the library: texts by path, below the entries that `sys.path` has. The
//! finder looks there and nowhere else, as Python's `PathFinder` looks into folders: for `NAME/__init__.py`, then for
//! `NAME.py`, then for folders that are namespace packages. No file takes the place of a module of the standard library or of PyTorch.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rustpython_vm::{
    Py, PyObject, PyObjectRef, PyPayload, PyResult, VirtualMachine,
    builtins::{PyStr, PyStrInterned, PyStrRef},
    compiler::Mode,
    function::OptionalArg,
    scope::Scope,
};

use super::absent::not_found;
use super::current::current;
use super::packages;

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The script.
    Script,
    /// The visitor's, beside it.
    Beside,
    /// Of a package that came with the program: lines of it are shown where PyTorch shows them; what is meant is the visitor's line.
    Package,
}

/// A file that code comes from.
pub(super) struct SourceFile {
    /// As tracebacks show it.
    pub(super) path: &'static PyStrInterned,
    /// As graphs and the report name it: the report speaks of files, not of where they lie.
    pub(super) name: Rc<str>,
    pub(super) kind: Kind,
    text: String,
    lines: OnceCell<Vec<String>>,
}

impl SourceFile {
    pub(super) fn script(path: &'static PyStrInterned, text: &str) -> Self {
        let name = path.as_str().rsplit('/').next().unwrap_or_default().into();
        SourceFile { path, name, kind: Kind::Script, text: text.to_owned(), lines: OnceCell::new() }
    }

    /// Its lines, without their ends.
    pub(super) fn lines(&self) -> &[String] {
        self.lines.get_or_init(|| self.text.lines().map(str::to_owned).collect())
    }

    /// Line `number` (counted from 1) without surrounding white space; empty where there is none.
    pub(super) fn line(&self, number: usize) -> &str {
        self.raw_line(number).trim()
    }

    /// How many columns of white space line `number` begins with.
    pub(super) fn indent(&self, number: usize) -> u32 {
        self.raw_line(number).chars().take_while(|c| c.is_whitespace()).count() as u32
    }

    /// Column in characters of what the interpreter counts in bytes.
    pub(super) fn column(&self, line: usize, bytes: usize) -> u32 {
        self.raw_line(line).get(..bytes).map_or(bytes, |before| before.chars().count()) as u32
    }

    /// Line `number` as it is, without its end.
    pub(super) fn raw_line(&self, number: usize) -> &str {
        number.checked_sub(1).and_then(|index| self.lines().get(index)).map_or("", String::as_str)
    }

    /// What spans of it name: nothing where it is the script.
    pub(super) fn of_span(&self) -> Option<Box<str>> {
        (self.kind != Kind::Script).then(|| (*self.name).into())
    }
}

/// A file that can be imported.
#[derive(Clone, Debug)]
pub struct ModuleFile {
    /// Its path below the entry that it is found under: `model/layers.py`.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl ModuleFile {
    pub(super) fn into_source(self, path: &str, kind: Kind, vm: &VirtualMachine) -> SourceFile {
        SourceFile { path: vm.ctx.intern_str(path), name: self.name.into(), kind, text: self.text, lines: OnceCell::new() }
    }
}

/// What a script may import beside the library.
#[derive(Clone, Debug, Default)]
pub struct ModulePath {
    entries: Vec<String>,
    files: BTreeMap<String, ModuleFile>,
}

impl ModulePath {
    /// Adds an entry of `sys.path` with the files below it, by their names there. The entry "" is the script's own folder.
    pub fn add(&mut self, entry: &str, files: impl IntoIterator<Item = (String, String)>) {
        let entry = plain(entry);
        for (name, text) in files {
            let name = plain(&name);
            let path = join(&entry, &name);
            self.files.entry(path).or_insert(ModuleFile { name, text });
        }
        if !self.entries.contains(&entry) {
            self.entries.push(entry);
        }
    }

    /// What `sys.path` begins as.
    pub(super) fn entries(&self) -> &[String] {
        &self.entries
    }

    /// The file at a path.
    pub(super) fn get(&self, path: &str) -> Option<&ModuleFile> {
        self.files.get(&plain(path))
    }

    fn has_folder(&self, path: &str) -> bool {
        let below = format!("{path}/");
        self.files.range(below.clone()..).next().is_some_and(|(name, _)| name.starts_with(&below))
    }

    /// The modules and packages that it has at the top, by name.
    pub(super) fn top(&self) -> impl Iterator<Item = &str> {
        self.files.values().map(|file| file.name.split('/').next().unwrap_or_default().trim_end_matches(".py"))
    }
}

/// A path without `.`, `..` and doubled separators.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(['/', std::path::MAIN_SEPARATOR]).filter(|part| !part.is_empty() && *part != ".") {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{}/{name}", folder.trim_end_matches('/')) }
}

/// What a search came to.
enum Found {
    Package {
        path: String,
        folder: String,
    },
    Module {
        path: String,
    },
    /// Folders without a file of their own.
    Namespace(Vec<String>),
}

/// Looks for a module in folders, the first first.
fn search(modules: &ModulePath, script: &str, folders: &[String], name: &str) -> Option<Found> {
    let mut namespace = Vec::new();
    for folder in folders {
        let base = join(&plain(folder), name);
        let (package, module) = (format!("{base}/__init__.py"), format!("{base}.py"));
        if modules.get(&package).is_some() {
            return Some(Found::Package { path: package, folder: base });
        }
        if modules.get(&module).is_some() || module == script {
            return Some(Found::Module { path: module });
        }
        if modules.has_folder(&base) {
            namespace.push(base);
        }
    }
    (!namespace.is_empty()).then_some(Found::Namespace(namespace))
}

/// Whether the library has a module of this name, which no file takes the place of.
pub(super) fn is_library(name: &str, vm: &VirtualMachine) -> PyResult<bool> {
    if ["torch", "functorch"].contains(&name) || vm.state.module_defs.contains_key(name) {
        return Ok(true);
    }
    let names = vm.sys_module.get_attr("stdlib_module_names", vm)?;
    vm.call_method(&names, "__contains__", (name,))?.try_to_bool(vm)
}

/// Whether a module was made of a file that is none of the library's.
pub(super) fn is_of_file(module: &PyObject, vm: &VirtualMachine) -> bool {
    let loader = module.dict().and_then(|namespace| namespace.get_item_opt("__loader__", vm).ok().flatten());
    loader.is_some_and(|loader| loader.downcast_ref::<SourceFileLoader>().is_some())
}

/// The finder of `sys.meta_path`.
#[pyclass(module = "importlib.machinery", name = "PathFinder")]
#[derive(Debug, PyPayload)]
pub(super) struct FileFinder;

#[pyclass]
impl FileFinder {
    #[pymethod]
    fn find_spec(
        _zelf: &Py<Self>,
        name: PyStrRef,
        path: OptionalArg<PyObjectRef>,
        _target: OptionalArg<PyObjectRef>,
        vm: &VirtualMachine,
    ) -> PyResult {
        let Some(run) = current() else { return Ok(vm.ctx.none()) };
        let full = name.to_string_lossy().into_owned();
        let tail = full.rsplit('.').next().unwrap_or_default();
        let path = path.into_option().filter(|path| !vm.is_none(path));
        let is_top = path.is_none();
        let folders = match path {
            Some(path) => path,
            None if is_library(&full, vm)? => return Ok(vm.ctx.none()),
            None => vm.sys_module.get_attr("path", vm)?,
        };
        let folders =
            vm.extract_elements_with(&folders, |entry| Ok(entry.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned())))?;
        let folders: Vec<String> = folders.into_iter().flatten().collect();
        if let Some(found) = search(&run.options.modules, run.script.path.as_str(), &folders, tail) {
            return spec_of(name, found, Kind::Beside, vm);
        }
        match packages::of_module(&full) {
            Some(Ok(package)) => {
                let folders = if is_top { vec![packages::FOLDER.to_owned()] } else { folders };
                search(&package, "", &folders, tail).map_or_else(|| Ok(vm.ctx.none()), |found| spec_of(name, found, Kind::Package, vm))
            }
            Some(Err(why)) => Err(not_found(format!("No module named '{full}' ({why})"), name, vm)?),
            None => Ok(vm.ctx.none()),
        }
    }
}

fn spec_of(name: PyStrRef, found: Found, kind: Kind, vm: &VirtualMachine) -> PyResult {
    let (path, folders) = match found {
        Found::Package { path, folder } => (Some(path), Some(vec![folder])),
        Found::Module { path } => (Some(path), None),
        Found::Namespace(folders) => (None, Some(folders)),
    };
    let machinery = vm.import("_frozen_importlib", 0)?;
    let loader = SourceFileLoader { name: name.to_string_lossy().into_owned(), path: path.clone(), kind }.into_ref(&vm.ctx);
    let spec = machinery.get_attr("ModuleSpec", vm)?.call((name, PyObjectRef::from(loader)), vm)?;
    if let Some(path) = path {
        spec.set_attr("origin", vm.ctx.new_str(path.as_str()), vm)?;
        spec.set_attr("_set_fileattr", vm.ctx.new_bool(true), vm)?;
        spec.set_attr("_cached", vm.ctx.new_str(cached(&path)), vm)?;
    }
    if let Some(folders) = folders {
        let folders = folders.into_iter().map(|folder| vm.ctx.new_str(folder).into()).collect();
        spec.set_attr("submodule_search_locations", vm.ctx.new_list(folders), vm)?;
    }
    Ok(spec)
}

/// Where Python would keep the bytecode of a file.
fn cached(path: &str) -> String {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    join(folder, &format!("__pycache__/{}.cpython-311.pyc", file.trim_end_matches(".py")))
}

/// Runs the code of a file; of a namespace package there is none.
#[pyclass(module = "importlib.machinery", name = "SourceFileLoader")]
#[derive(Debug, PyPayload)]
pub(super) struct SourceFileLoader {
    name: String,
    path: Option<String>,
    kind: Kind,
}

impl SourceFileLoader {
    fn text(&self, vm: &VirtualMachine) -> PyResult<SourceFile> {
        let path = self.path.as_deref().unwrap_or_default();
        let gone = || vm.new_import_error(format!("the file of '{}' is of an earlier run", self.name), vm.ctx.new_str(self.name.as_str()));
        let run = current().ok_or_else(gone)?;
        if path == run.script.path.as_str() {
            return Ok(SourceFile::script(run.script.path, &run.script.text));
        }
        let file = match self.kind {
            Kind::Package => packages::of_module(&self.name).and_then(Result::ok).and_then(|package| package.get(path).cloned()),
            _ => run.options.modules.get(path).cloned(),
        };
        Ok(file.ok_or_else(gone)?.into_source(path, self.kind, vm))
    }
}

#[pyclass]
impl SourceFileLoader {
    #[pymethod]
    fn create_module(_zelf: &Py<Self>, _spec: PyObjectRef, vm: &VirtualMachine) -> PyObjectRef {
        vm.ctx.none()
    }

    #[pymethod]
    fn exec_module(zelf: &Py<Self>, module: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        if zelf.path.is_none() {
            return Ok(());
        }
        let file = zelf.text(vm)?;
        let code = vm.compile(&file.text, Mode::Exec, file.path.as_str()).map_err(|error| error.into_pyexception(vm, Some(&file.text)))?;
        if let Some(run) = current().filter(|run| !run.has(file.path)) {
            run.import(file);
        }
        let Some(namespace) = module.dict() else { return Err(vm.new_type_error("a module without a namespace")) };
        vm.run_code_obj(code, Scope::with_builtins(None, namespace, vm)).map(drop)
    }

    #[pymethod]
    fn get_source(zelf: &Py<Self>, _name: OptionalArg<PyObjectRef>, vm: &VirtualMachine) -> PyResult<PyObjectRef> {
        if zelf.path.is_none() {
            return Ok(vm.ctx.new_str("").into());
        }
        Ok(vm.ctx.new_str(zelf.text(vm)?.text).into())
    }

    #[pymethod]
    fn get_filename(zelf: &Py<Self>, _name: OptionalArg<PyObjectRef>) -> Option<String> {
        zelf.path.clone()
    }

    #[pymethod]
    fn is_package(zelf: &Py<Self>, _name: OptionalArg<PyObjectRef>) -> bool {
        zelf.path.as_ref().is_none_or(|path| path.ends_with("/__init__.py"))
    }

    #[pygetset]
    fn name(zelf: &Py<Self>) -> String {
        zelf.name.clone()
    }

    #[pygetset]
    fn path(zelf: &Py<Self>) -> Option<String> {
        zelf.path.clone()
    }
}
