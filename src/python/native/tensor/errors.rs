//! Between errors and exceptions.

use std::rc::Rc;

use rustpython_vm::builtins::{PyBaseExceptionRef, PyStr};
use rustpython_vm::{AsObject, PyObjectRef, PyResult, VirtualMachine};

use crate::error::{Error, ErrorKind};
use crate::python::native::calls::imported;

/// The exception of an error. One that passed through the compiler comes out as it went in.
pub fn raise(error: Error, vm: &VirtualMachine) -> PyBaseExceptionRef {
    if let Some(exception) = error.foreign.as_ref().and_then(|f| f.downcast_ref::<PyBaseExceptionRef>()) {
        return exception.clone();
    }
    let types = &vm.ctx.exceptions;
    let class = match error.kind {
        ErrorKind::Runtime | ErrorKind::Memory => types.runtime_error,
        ErrorKind::Type => types.type_error,
        ErrorKind::Value => types.value_error,
        ErrorKind::Index => types.index_error,
        ErrorKind::NotImplemented => types.not_implemented_error,
        ErrorKind::Attribute => types.attribute_error,
        ErrorKind::Assertion => types.assertion_error,
        ErrorKind::ZeroDivision => types.zero_division_error,
        ErrorKind::Overflow => types.overflow_error,
        ErrorKind::Unsupported
        | ErrorKind::TorchRuntime
        | ErrorKind::LinAlg
        | ErrorKind::DataDependent
        | ErrorKind::DynamicOutputShape
        | ErrorKind::FakeDeviceMismatch
        | ErrorKind::GuardOnDataDependent
        | ErrorKind::ConstraintViolation => {
            let (module, name) = match error.kind {
                ErrorKind::Unsupported => ("torch._dynamo.exc", "Unsupported"),
                ErrorKind::TorchRuntime => ("torch._dynamo.exc", "TorchRuntimeError"),
                ErrorKind::LinAlg => ("torch._errors", "_LinAlgError"),
                ErrorKind::DataDependent => ("torch._errors", "DataDependentOutputException"),
                ErrorKind::DynamicOutputShape => ("torch._errors", "DynamicOutputShapeException"),
                ErrorKind::FakeDeviceMismatch => ("torch._errors", "FakeTensorDeviceMismatchError"),
                ErrorKind::ConstraintViolation => ("torch.fx.experimental.symbolic_shapes", "ConstraintViolationError"),
                _ => ("torch._errors", "GuardOnDataDependentSymNode"),
            };
            let class = imported(module, vm).and_then(|module| module.get_attr(name, vm));
            let made = class.and_then(|class| class.call((error.message.clone(),), vm));
            if let Ok(Ok(exception)) = made.map(PyObjectRef::downcast) {
                return exception;
            }
            types.runtime_error
        }
    };
    vm.new_exception_msg(class.to_owned(), error.message.into())
}

/// An exception on its way through the compiler.
pub fn raised(exception: PyBaseExceptionRef) -> Error {
    // The message of a plain RuntimeError may be shown on the way.
    let said = rustpython_vm::vm::thread::with_current_vm(|vm| {
        let first = exception.args().as_slice().first().filter(|_| exception.class().is(vm.ctx.exceptions.runtime_error)).cloned();
        first.and_then(|o| Some(o.downcast_ref::<PyStr>()?.to_string_lossy().into_owned()))
    });
    let message = said.unwrap_or_else(|| "an exception of the script".to_owned());
    let kind = match &*exception.class().name() {
        "DataDependentOutputException" => ErrorKind::DataDependent,
        "DynamicOutputShapeException" => ErrorKind::DynamicOutputShape,
        _ => ErrorKind::Runtime,
    };
    Error { kind, message, foreign: Some(Rc::new(exception)) }
}

/// An exception's message.
pub fn said(e: &PyBaseExceptionRef, vm: &VirtualMachine) -> String {
    e.as_object().str(vm).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The first keyword that is none of those a function takes.
pub fn unexpected(args: &rustpython_vm::function::FuncArgs, taken: &[&str]) -> Option<String> {
    args.kwargs.keys().map(|name| name.to_string()).find(|name| !taken.contains(&name.as_str()))
}

/// Refuses arguments of `function`, which takes so many by position and these by name.
pub fn check_taken(
    function: &str,
    args: &rustpython_vm::function::FuncArgs,
    positional: usize,
    taken: &[&str],
    vm: &VirtualMachine,
) -> PyResult<()> {
    let count = args.args.len();
    if count > positional {
        // What has to be given has no range.
        let said = match (positional, taken.contains(&"data")) {
            (1, true) => "1 positional argument".to_owned(),
            (0, _) => "0 positional arguments".to_owned(),
            (n, _) => format!("from 0 to {n} positional arguments"),
        };
        let were = if count == 1 { "was" } else { "were" };
        return Err(vm.new_type_error(format!("{function}() takes {said} but {count} {were} given")));
    }
    match unexpected(args, taken) {
        Some(name) => Err(vm.new_type_error(format!("{function}() got an unexpected keyword argument '{name}'"))),
        None => Ok(()),
    }
}
