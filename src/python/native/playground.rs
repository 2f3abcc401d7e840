//! `_playground`: what the library's Python files need to know of the run.

pub(super) use module::module_def;

#[pymodule(name = "_playground")]
mod module {
    use rustpython_vm::{
        AsObject, FromArgs, PyObjectRef, PyResult, VirtualMachine,
        builtins::{PyBaseExceptionRef, PyInt, PyTupleRef},
        function::{KwArgs, OptionalArg},
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

    /// The script's name and its lines, with their ends.
    #[pyfunction]
    fn script(vm: &VirtualMachine) -> PyTupleRef {
        let (name, lines) = match current::current() {
            Some(run) => {
                let lines = run.lines.iter().map(|line| vm.ctx.new_str(format!("{line}\n")).into());
                (run.filename.as_str(), lines.collect::<Vec<PyObjectRef>>())
            }
            None => ("", Vec::new()),
        };
        vm.ctx.new_tuple(vec![vm.ctx.new_str(name).into(), vm.ctx.new_list(lines).into()])
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
        _encoding: OptionalArg<PyObjectRef>,
    }

    /// Opens a file. The script itself can be read; there is no other, and nothing can be written.
    #[pyfunction]
    fn open(args: OpenArgs, _rest: KwArgs, vm: &VirtualMachine) -> PyResult {
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
        if mode.contains(['w', 'a', 'x', '+']) {
            return Err(error(30, "Read-only file system")?);
        }
        let path = match vm.get_attribute_opt(&args.file, "__fspath__")? {
            Some(method) => method.call((), vm)?,
            None => args.file.clone(),
        };
        let path = path.str(vm)?.to_string_lossy().into_owned();
        let Some(run) = current::current().filter(|run| run.filename.as_str() == path) else {
            return Err(error(2, "No such file or directory")?);
        };
        let text: String = run.lines.iter().flat_map(|line| [line, "\n"]).collect();
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
