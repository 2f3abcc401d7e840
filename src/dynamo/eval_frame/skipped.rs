//! Blocks that Dynamo does not trace: the frame that is traced waits until they are over, and functions called in them are traced as frames
//! of their own.

use std::cell::RefCell;

use rustpython_vm::function::FuncArgs;
use rustpython_vm::{Py, PyObjectRef, PyPayload, PyRef, PyResult, VirtualMachine, pyclass};

use super::call::Waiting;
use crate::python::native::tensor::raise;

/// A context manager.
#[pyclass(module = "torch._native_compile", name = "Skipped")]
#[derive(PyPayload)]
pub struct Skipped {
    waiting: RefCell<Option<Waiting>>,
    /// How many of the frames that follow are no part of any graph either.
    frames: usize,
}

impl Skipped {
    /// Not yet begun.
    pub fn new(frames: usize) -> Self {
        Skipped { waiting: RefCell::default(), frames }
    }
}

impl std::fmt::Debug for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Skipped")
    }
}

#[pyclass]
impl Skipped {
    #[pymethod]
    fn __enter__(zelf: PyRef<Self>) -> PyObjectRef {
        zelf.waiting.replace(Waiting::begin(zelf.frames));
        zelf.into()
    }

    #[pymethod]
    fn __exit__(zelf: &Py<Self>, _args: FuncArgs, vm: &VirtualMachine) -> PyResult<()> {
        zelf.waiting.take().map_or(Ok(()), Waiting::end).map_err(|e| raise(e, vm))
    }
}
