//! `sys.stdout` and `sys.stderr`: what is written goes to the run's sink, a line at a time.

use std::cell::RefCell;

use rustpython_vm::{Py, PyObjectRef, PyPayload, PyResult, VirtualMachine, builtins::PyStrRef, function::ArgIterable};

use super::current::emit;
use crate::report::Event;

/// Text held back until its line ends is never longer than this.
const HELD_BACK: usize = 8192;

/// Which of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// `sys.stdout`
    Stdout,
    /// `sys.stderr`
    Stderr,
}

/// A text stream that scripts write to.
#[pyclass(module = "io", name = "TextIOWrapper")]
#[derive(Debug, PyPayload)]
pub(super) struct TextStream {
    stream: Stream,
    pending: RefCell<String>,
}

impl TextStream {
    pub(super) fn new(stream: Stream) -> Self {
        TextStream { stream, pending: RefCell::default() }
    }

    /// Sends what is held back.
    pub(super) fn send(&self) {
        let text = self.pending.take();
        if !text.is_empty() {
            emit(match self.stream {
                Stream::Stdout => Event::Stdout { text },
                Stream::Stderr => Event::Stderr { text },
            });
        }
    }
}

#[pyclass]
impl TextStream {
    #[pymethod]
    fn write(zelf: &Py<Self>, text: PyStrRef) -> usize {
        let text = text.to_string_lossy();
        let send = {
            let mut pending = zelf.pending.borrow_mut();
            pending.push_str(&text);
            text.contains('\n') || pending.len() > HELD_BACK
        };
        if send {
            zelf.send();
        }
        text.chars().count()
    }

    #[pymethod]
    fn writelines(zelf: &Py<Self>, lines: ArgIterable<PyStrRef>, vm: &VirtualMachine) -> PyResult<()> {
        for line in lines.iter(vm)? {
            Self::write(zelf, line?);
        }
        Ok(())
    }

    #[pymethod]
    fn flush(zelf: &Py<Self>) {
        zelf.send();
    }

    #[pymethod]
    fn close(zelf: &Py<Self>) {
        zelf.send();
    }

    #[pymethod]
    fn isatty(_zelf: &Py<Self>) -> bool {
        false
    }

    #[pymethod]
    fn readable(_zelf: &Py<Self>) -> bool {
        false
    }

    #[pymethod]
    fn writable(_zelf: &Py<Self>) -> bool {
        true
    }

    #[pymethod]
    fn seekable(_zelf: &Py<Self>) -> bool {
        false
    }

    #[pymethod]
    fn fileno(_zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<i32> {
        let io = vm.import("io", 0)?;
        let unsupported = io.get_attr("UnsupportedOperation", vm)?;
        let exception = unsupported.call(("fileno",), vm)?;
        Err(exception.downcast().map_err(|_| vm.new_type_error("UnsupportedOperation is no exception"))?)
    }

    #[pymethod]
    fn reconfigure(_zelf: &Py<Self>, _args: rustpython_vm::function::FuncArgs) {}

    #[pymethod]
    fn __enter__(zelf: rustpython_vm::PyRef<Self>) -> PyObjectRef {
        zelf.into()
    }

    #[pymethod]
    fn __exit__(zelf: &Py<Self>, _args: rustpython_vm::function::FuncArgs) {
        zelf.send();
    }

    #[pygetset]
    fn encoding(_zelf: &Py<Self>) -> &'static str {
        "utf-8"
    }

    #[pygetset]
    fn errors(zelf: &Py<Self>) -> &'static str {
        if zelf.stream == Stream::Stderr { "backslashreplace" } else { "strict" }
    }

    #[pygetset]
    fn name(zelf: &Py<Self>) -> &'static str {
        if zelf.stream == Stream::Stderr { "<stderr>" } else { "<stdout>" }
    }

    #[pygetset]
    fn mode(_zelf: &Py<Self>) -> &'static str {
        "w"
    }

    #[pygetset]
    fn closed(_zelf: &Py<Self>) -> bool {
        false
    }

    #[pygetset]
    fn line_buffering(_zelf: &Py<Self>) -> bool {
        true
    }

    #[pygetset]
    fn newlines(_zelf: &Py<Self>) -> Option<String> {
        None
    }
}
