//! What happens around a script inside the interpreter: streams, `sys`, a fresh `__main__`, and forgetting all of it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use rustpython_vm::{
    AsObject, PyObjectRef, PyPayload, PyRef, PyResult, VirtualMachine,
    builtins::{PyBaseExceptionRef, PyDictRef, PyInt, PyStr},
    class::PyClassImpl,
    compiler::Mode,
};

use super::RunOptions;
use super::absent::AbsentPackages;
use super::current;
use super::files::{FileFinder, ModulePath, SourceFileLoader, is_library, is_of_file};
use super::native;
use super::snapshot::Snapshot;
use super::stdio::{Stream, TextStream};
use super::traceback::describe;
use super::{dialect, set_order};
use crate::report::{Event, Exception};

/// Python's own limit.
const RECURSION_LIMIT: usize = 1000;
/// The parts of an interpreter that outlive a run.
pub(super) struct Session {
    stdout: PyRef<TextStream>,
    stderr: PyRef<TextStream>,
    /// `sys.modules`, whatever a script calls so.
    all: PyDictRef,
    /// What `builtins` holds before a script can have changed it.
    builtins: PyDictRef,
    meta_path: Vec<PyObjectRef>,
    /// The modules that outlive a script: those of the interpreter itself; after the first script also what `torch` imports.
    kept: RefCell<Snapshot>,
    is_torch_kept: Cell<bool>,
    /// The modules of `torch` that the last script imported.
    forgotten: RefCell<Vec<String>>,
}

impl Session {
    pub(super) fn new(vm: &VirtualMachine) -> Self {
        drop((TextStream::make_static_type(), AbsentPackages::make_static_type()));
        drop((FileFinder::make_static_type(), SourceFileLoader::make_static_type()));
        let mut meta_path =
            vm.sys_module.get_attr("meta_path", vm).and_then(|finders| finders.try_to_value::<Vec<PyObjectRef>>(vm)).unwrap_or_default();
        // Before what is frozen: a visitor may bring a package of their own that the playground has, too.
        meta_path.insert(0, FileFinder.into_ref(&vm.ctx).into());
        meta_path.push(AbsentPackages.into_ref(&vm.ctx).into());
        // Without it things print in the newer style.
        let _ = dialect::adapt(vm);
        set_order::adapt(vm);
        let _ = native::extend_builtins(vm);
        let kept = modules(vm).and_then(|all| Snapshot::take((&all).into_iter().collect(), &all, vm)).unwrap_or_default();
        Session {
            kept: RefCell::new(kept),
            is_torch_kept: Cell::new(false),
            all: modules(vm).unwrap_or_else(|_| vm.ctx.new_dict()),
            stdout: TextStream::new(Stream::Stdout).into_ref(&vm.ctx),
            stderr: TextStream::new(Stream::Stderr).into_ref(&vm.ctx),
            builtins: vm.builtins.dict().copy().into_ref(&vm.ctx),
            meta_path,
            forgotten: RefCell::default(),
        }
    }

    /// Compiles and runs `program`.
    pub(super) fn execute(&self, program: &str, filename: &str, options: &RunOptions, vm: &VirtualMachine) -> PyResult<()> {
        self.prepare(filename, options.modules.entries(), vm)?;
        self.make_room(&options.modules, vm)?;
        let scope = vm.new_scope_with_main()?;
        scope.globals.set_item("__file__", vm.ctx.new_str(filename).into(), vm)?;
        let code = vm.compile(program, Mode::Exec, filename).map_err(|error| error.into_pyexception(vm, Some(program)))?;
        vm.run_code_obj(code, scope)?;
        Ok(())
    }

    /// Lets files beside the script be imported in the place of packages that were imported before. Those that bear the name of a module of the
    /// library are not imported, which is said.
    fn make_room(&self, modules: &ModulePath, vm: &VirtualMachine) -> PyResult<()> {
        let top: BTreeSet<&str> = modules.top().collect();
        if top.is_empty() {
            return Ok(());
        }
        for name in &top {
            if is_library(name, vm)? {
                let whose = if is_of_torch(name) { "PyTorch" } else { "the standard library" };
                current::emit(Event::Stderr { text: format!("'{name}' is not imported from files: {whose} has a module of this name\n") });
            }
        }
        for (name, _) in (&self.all).into_iter().collect::<Vec<_>>() {
            let text = name.downcast_ref::<PyStr>().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let first = text.split('.').next().unwrap_or_default();
            if top.contains(first) && !is_library(first, vm)? {
                self.all.del_item(&*name, vm)?;
            }
        }
        Ok(())
    }

    /// Sets up `sys` and `builtins` as a script finds them.
    fn prepare(&self, filename: &str, path: &[String], vm: &VirtualMachine) -> PyResult<()> {
        super::native::reset();
        vm.recursion_limit.set(RECURSION_LIMIT);
        let builtins = vm.builtins.dict();
        builtins.clear();
        for (name, value) in &self.builtins {
            builtins.set_item(&*name, value, vm)?;
        }
        let io = vm.import("_io", 0)?;
        let list = |items: Vec<PyObjectRef>| PyObjectRef::from(vm.ctx.new_list(items));
        let (stdout, stderr) = (PyObjectRef::from(self.stdout.clone()), PyObjectRef::from(self.stderr.clone()));
        for (name, value) in [
            ("argv", list(vec![vm.ctx.new_str(filename).into()])),
            ("path", list(path.iter().map(|entry| vm.ctx.new_str(entry.as_str()).into()).collect())),
            ("meta_path", list(self.meta_path.clone())),
            ("stdin", vm.call_method(&io, "StringIO", ())?),
            ("stdout", stdout.clone()),
            ("stderr", stderr.clone()),
            ("__stdout__", stdout),
            ("__stderr__", stderr),
        ] {
            vm.sys_module.set_attr(name, value, vm)?;
        }
        Ok(())
    }

    /// Turns the outcome of a script into an exception to show and an exit status.
    pub(super) fn conclude(&self, result: PyResult<()>, vm: &VirtualMachine) -> (Option<Exception>, i32) {
        let outcome = match result {
            Ok(()) => (None, 0),
            Err(exception) if exception.fast_isinstance(vm.ctx.exceptions.system_exit) => (None, exit_status(&exception, vm)),
            Err(exception) => {
                let described = current::current().map(|run| describe(&exception, &run, vm));
                (described, 1)
            }
        };
        // What fails on the way out does not change the outcome; CPython ignores it too.
        let _ = self.run_exit_functions(vm);
        self.stdout.send();
        self.stderr.send();
        outcome
    }

    fn run_exit_functions(&self, vm: &VirtualMachine) -> PyResult<()> {
        let modules = vm.sys_module.get_attr("modules", vm)?;
        if let Ok(atexit) = modules.get_item("atexit", vm) {
            vm.call_method(&atexit, "_run_exitfuncs", ())?;
            vm.call_method(&atexit, "_clear", ())?;
        }
        Ok(())
    }

    /// Imports anew what was forgotten of `torch`.
    pub(super) fn warm_up(&self, vm: &VirtualMachine) -> PyResult<()> {
        let importlib = vm.import("importlib", 0)?;
        for name in self.forgotten.take() {
            vm.call_method(&importlib, "import_module", (name,))?;
        }
        Ok(())
    }

    /// Drops what the script defined, and undoes what it changed.
    pub(super) fn forget(&self, vm: &VirtualMachine) -> PyResult<()> {
        let all = self.all.clone();
        let mut dropped = Vec::new();
        let mut forgotten = Vec::new();
        // The library's modules that are met for the first time: the script had them in its hands as they were imported.
        let mut met = Vec::new();
        for (name, module) in (&all).into_iter().collect::<Vec<_>>() {
            if self.kept.borrow().has(&name, &module, vm) {
                continue;
            }
            all.del_item(&*name, vm)?;
            let text = name.downcast_ref::<PyStr>().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            met.extend(Some(text.clone()).filter(|text| !is_of_torch(text) && !is_of_file(&module, vm)));
            // What is not written in Python may be the interpreter's own, whatever its name here.
            if vm.state.module_defs.contains_key(text.as_str()) && !is_of_torch(&text) {
                continue;
            }
            dropped.push(module);
            forgotten.extend(Some(text).filter(|text| is_of_torch(text) && text != "__main__"));
        }
        // A module's functions hold its namespace and the other way round, at times through objects that the collector
        // does not look into: emptied, it holds nothing.
        for module in dropped {
            if let Some(namespace) = module.dict() {
                namespace.clear();
            }
        }
        self.forgotten.replace(forgotten);
        self.kept.borrow().restore(&all, vm)?;
        vm.sys_module.set_attr("modules", all.clone(), vm)?;
        self.prepare("", &[], vm)?;
        let forget = vm.import("_forget", 0)?;
        vm.call_method(&forget, "forget", ())?;
        super::native::forget();
        let gc = vm.import("gc", 0)?;
        vm.call_method(&gc, "collect", ())?;
        let is_first = !self.is_torch_kept.replace(true);
        if is_first || !met.is_empty() {
            // Imported with no script about, they can be kept. A module that is not the library's was the script's own.
            let importlib = vm.import("importlib", 0)?;
            for name in met {
                let _ = vm.call_method(&importlib, "import_module", (name,));
            }
            vm.import("torch", 0)?;
            let modules = (&all)
                .into_iter()
                .filter(|(name, _)| name.downcast_ref::<PyStr>().is_some_and(|name| !is_of_torch(&name.to_string_lossy())));
            self.kept.replace(Snapshot::take(modules.collect(), &all, vm)?);
        }
        // What is left is the library's: the collector need not look at it again.
        vm.call_method(&gc, "freeze", ())?;
        Ok(())
    }
}

/// The interpreter's modules, by name.
fn modules(vm: &VirtualMachine) -> PyResult<PyDictRef> {
    vm.sys_module.get_attr("modules", vm)?.try_into_value(vm)
}

/// Whether a module goes with the script: `torch` has state of its own in most of them, and `numpy` is made of it.
fn is_of_torch(name: &str) -> bool {
    ["__main__", "torch", "functorch", "numpy"].contains(&name.split('.').next().unwrap_or_default())
}

/// The exit status of a process that `SystemExit` ends, as Python has it.
fn exit_status(exception: &PyBaseExceptionRef, vm: &VirtualMachine) -> i32 {
    let code = exception.as_object().get_attr("code", vm).unwrap_or_else(|_| vm.ctx.none());
    if vm.is_none(&code) {
        return 0;
    }
    match code.downcast_ref::<PyInt>() {
        // A process has eight bits of status; what does not fit at all counts as -1.
        Some(number) => number.try_to_primitive::<i64>(vm).map_or(255, |number| (number & 0xff) as i32),
        None => {
            let mut text = code.str(vm).map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned());
            text.push('\n');
            current::emit(Event::Stderr { text });
            1
        }
    }
}
