//! What happens around a script inside the interpreter: streams, `sys`, a fresh `__main__`, and forgetting all of it.

use rustpython_vm::{
    AsObject, PyObjectRef, PyPayload, PyRef, PyResult, VirtualMachine,
    builtins::{PyBaseExceptionRef, PyDictRef, PyInt, PyStr},
    class::PyClassImpl,
    compiler::Mode,
};

use super::absent::AbsentPackages;
use super::current;
use super::stdio::{Stream, TextStream};
use super::traceback::describe;
use crate::report::{Event, Exception};

/// Python's own limit.
const RECURSION_LIMIT: usize = 1000;
/// Modules that keep what a script does to them; the next run imports them anew.
const STATEFUL: &[&str] =
    &["torch", "random", "logging", "warnings", "_py_warnings", "os", "unittest", "decimal", "_pydecimal", "__main__"];

/// The parts of an interpreter that outlive a run.
pub(super) struct Session {
    stdout: PyRef<TextStream>,
    stderr: PyRef<TextStream>,
    /// What `builtins` holds before a script can have changed it.
    builtins: PyDictRef,
    meta_path: Vec<PyObjectRef>,
}

impl Session {
    pub(super) fn new(vm: &VirtualMachine) -> Self {
        drop((TextStream::make_static_type(), AbsentPackages::make_static_type()));
        let mut meta_path =
            vm.sys_module.get_attr("meta_path", vm).and_then(|finders| finders.try_to_value::<Vec<PyObjectRef>>(vm)).unwrap_or_default();
        meta_path.push(AbsentPackages.into_ref(&vm.ctx).into());
        Session {
            stdout: TextStream::new(Stream::Stdout).into_ref(&vm.ctx),
            stderr: TextStream::new(Stream::Stderr).into_ref(&vm.ctx),
            builtins: vm.builtins.dict().copy().into_ref(&vm.ctx),
            meta_path,
        }
    }

    /// Compiles and runs `program`.
    pub(super) fn execute(&self, program: &str, filename: &str, vm: &VirtualMachine) -> PyResult<()> {
        self.prepare(filename, vm)?;
        let scope = vm.new_scope_with_main()?;
        scope.globals.set_item("__file__", vm.ctx.new_str(filename).into(), vm)?;
        let code = vm.compile(program, Mode::Exec, filename).map_err(|error| error.into_pyexception(vm, Some(program)))?;
        vm.run_code_obj(code, scope)?;
        Ok(())
    }

    /// Sets up `sys` and `builtins` as a script finds them.
    fn prepare(&self, filename: &str, vm: &VirtualMachine) -> PyResult<()> {
        vm.recursion_limit.set(RECURSION_LIMIT);
        let builtins = vm.builtins.dict();
        builtins.clear();
        for (name, value) in &self.builtins {
            builtins.set_item(&*name, value, vm)?;
        }
        let list = |items: Vec<PyObjectRef>| PyObjectRef::from(vm.ctx.new_list(items));
        let (stdout, stderr) = (PyObjectRef::from(self.stdout.clone()), PyObjectRef::from(self.stderr.clone()));
        for (name, value) in [
            ("argv", list(vec![vm.ctx.new_str(filename).into()])),
            ("path", list(Vec::new())),
            ("meta_path", list(self.meta_path.clone())),
            ("stdout", stdout.clone()),
            ("stderr", stderr.clone()),
            ("__stdout__", stdout),
            ("__stderr__", stderr),
        ] {
            vm.sys_module.set_attr(name, value, vm)?;
        }
        Ok(())
    }

    /// Turns the outcome of a script into an exception to show and an exit status, and cleans up.
    pub(super) fn conclude(&self, result: PyResult<()>, vm: &VirtualMachine) -> (Option<Exception>, i32) {
        let result = result.and_then(|()| self.run_exit_functions(vm));
        let outcome = match result {
            Ok(()) => (None, 0),
            Err(exception) if exception.fast_isinstance(vm.ctx.exceptions.system_exit) => (None, exit_status(&exception, vm)),
            Err(exception) => {
                let described = current::current().map(|run| describe(&exception, &run, vm));
                (described, 1)
            }
        };
        self.stdout.send();
        self.stderr.send();
        // A failure to forget can only cost memory.
        let _ = self.forget(vm);
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

    /// Drops what the script defined and every module that may remember it.
    fn forget(&self, vm: &VirtualMachine) -> PyResult<()> {
        let modules: PyDictRef = vm.sys_module.get_attr("modules", vm)?.try_into_value(vm)?;
        if let Ok(main) = modules.get_item("__main__", vm)
            && let Some(namespace) = main.dict()
        {
            namespace.clear();
        }
        let names: Vec<PyObjectRef> = (&modules).into_iter().map(|(name, _)| name).collect();
        for name in names {
            let Some(text) = name.downcast_ref::<PyStr>().map(|name| name.to_string_lossy().into_owned()) else { continue };
            let top = text.split('.').next().unwrap_or_default();
            if STATEFUL.contains(&top) {
                modules.del_item(&*name, vm)?;
            }
        }
        let gc = vm.import("gc", 0)?;
        vm.call_method(&gc, "collect", ())?;
        Ok(())
    }
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
