//! `_playground`: what the library's Python files need to know of the run.

pub(super) use module::module_def;

#[pymodule(name = "_playground")]
mod module {
    use rustpython_vm::{
        AsObject, FromArgs, PyObjectRef, PyResult, VirtualMachine,
        builtins::{PyBaseExceptionRef, PyInt, PyStrRef},
        function::OptionalArg,
    };

    use crate::python::{current, traceback};

    /// `len(o)`: of a tensor while it is recorded, its first size, which may be symbolic.
    #[pyfunction]
    fn len(o: rustpython_vm::PyObjectRef, vm: &VirtualMachine) -> rustpython_vm::PyResult {
        match super::super::tensor::symbolic_length(&o, vm)? {
            Some(size) => Ok(size),
            None => Ok(vm.ctx.new_int(o.length(vm)?).into()),
        }
    }

    /// Runs the code of the module whose stub has this namespace: the page fetches it when it is first imported.
    #[cfg(target_arch = "wasm32")]
    #[pyfunction]
    fn run_later(namespace: rustpython_vm::builtins::PyDictRef, vm: &VirtualMachine) -> PyResult<()> {
        let name = namespace.get_item("__name__", vm)?.str(vm)?;
        let found = crate::python::frozen::fetched(&name.to_string_lossy());
        let found = found.map_err(|why| vm.new_import_error(format!("the rest of the library could not be fetched: {why}"), name))?;
        let code = rustpython_vm::builtins::PyCode::new_ref_from_frozen(vm, found.code);
        vm.run_code_obj(code, rustpython_vm::scope::Scope::with_builtins(None, namespace, vm)).map(drop)
    }

    /// The lines, with their ends, of the script or of a file beside it; None for any other.
    #[pyfunction]
    fn lines(path: PyStrRef, vm: &VirtualMachine) -> Option<Vec<PyObjectRef>> {
        let file = current::current()?.named(&path.to_string_lossy(), vm)?;
        Some(file.lines().iter().map(|line| vm.ctx.new_str(format!("{line}\n")).into()).collect())
    }

    /// Whether the script, or a file that it imported, has this name: what is not the library's.
    #[pyfunction]
    fn is_script(path: PyStrRef, vm: &VirtualMachine) -> bool {
        current::current().is_some_and(|run| run.has(vm.ctx.intern_str(&*path.to_string_lossy())))
    }

    /// Whether Dynamo captures a graph.
    #[pyfunction]
    fn is_capturing() -> bool {
        crate::dynamo::tracing::capturing()
    }

    /// Whether there is a CUDA device, pretended.
    #[pyfunction]
    fn pretends_cuda() -> bool {
        crate::tensor::pretends_cuda()
    }

    /// Ends the script.
    #[pyfunction]
    fn exit(code: OptionalArg<PyObjectRef>, vm: &VirtualMachine) -> PyResult<()> {
        let code = code.into_option().into_iter().collect();
        Err(vm.new_exception(vm.ctx.exceptions.system_exit.to_owned(), code))
    }

    #[derive(FromArgs)]
    struct OpenArgs {
        #[pyarg(any)]
        file: PyObjectRef,
        #[pyarg(any, optional)]
        mode: OptionalArg<String>,
        #[pyarg(any, optional)]
        _buffering: OptionalArg<PyObjectRef>,
        #[pyarg(any, optional)]
        encoding: OptionalArg<PyObjectRef>,
        #[pyarg(any, optional)]
        errors: OptionalArg<PyObjectRef>,
        #[pyarg(any, optional)]
        newline: OptionalArg<PyObjectRef>,
        #[pyarg(any, optional)]
        _closefd: OptionalArg<PyObjectRef>,
        #[pyarg(any, optional)]
        _opener: OptionalArg<PyObjectRef>,
    }

    /// Opens a file: the script or one beside it, to be read, or one in memory (`_files`).
    #[pyfunction]
    fn open(args: OpenArgs, vm: &VirtualMachine) -> PyResult {
        let error = |number: i32, text: &str| {
            let class = vm.ctx.exceptions.os_error.as_object();
            class
                .call((number, text, args.file.clone()), vm)?
                .downcast::<rustpython_vm::builtins::PyBaseException>()
                .map_err(|_| vm.new_type_error("OSError is no exception"))
        };
        if args.file.downcast_ref::<PyInt>().is_some() {
            return Err(error(9, "Bad file descriptor")?);
        }
        let mode = args.mode.into_option().unwrap_or_else(|| "r".to_owned());
        let path = match vm.get_attribute_opt(&args.file, "__fspath__")? {
            Some(method) => method.call((), vm)?,
            None => args.file.clone(),
        };
        let path = path.str(vm)?.to_string_lossy().into_owned();
        let reads = !mode.contains(['w', 'a', 'x', '+']);
        let Some(file) = current::current().filter(|_| reads).and_then(|run| run.named(&path, vm)) else {
            let files = vm.import("_files", 0)?;
            let mut call = rustpython_vm::function::FuncArgs::from(vec![vm.ctx.new_str(path).into(), vm.ctx.new_str(mode).into()]);
            for (name, value) in [("encoding", args.encoding), ("errors", args.errors), ("newline", args.newline)] {
                if let OptionalArg::Present(value) = value {
                    call.kwargs.insert(name.into(), value);
                }
            }
            return files.get_attr("open", vm)?.call(call, vm);
        };
        let text: String = file.lines().iter().flat_map(|line| [line, "\n"]).collect();
        let io = vm.import("_io", 0)?;
        if mode.contains('b') {
            vm.call_method(&io, "BytesIO", (vm.ctx.new_bytes(text.into_bytes()),))
        } else {
            vm.call_method(&io, "StringIO", (text,))
        }
    }

    /// The text of an exception with its traceback and what led to it.
    #[pyfunction]
    fn format_exception(exception: PyBaseExceptionRef, vm: &VirtualMachine) -> String {
        current::current().map(|run| traceback::text(&exception, &run, vm)).unwrap_or_default()
    }

    /// Its last lines alone.
    #[pyfunction]
    fn format_exception_only(exception: PyBaseExceptionRef, vm: &VirtualMachine) -> String {
        let mut out = String::new();
        if let Some(run) = current::current() {
            traceback::write_exception(&mut out, &exception, &run, vm);
        }
        out
    }
}
