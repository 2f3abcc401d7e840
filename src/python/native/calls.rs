//! Calls of Python's, as native modules make and get them.

use rustpython_vm::builtins::{PyDictRef, PyStr, PyTupleRef};
use rustpython_vm::function::{FuncArgs, KwArgs};
use rustpython_vm::{PyResult, VirtualMachine};

/// Arguments of a call as Python's `*args, **kwargs` have them.
pub(crate) fn func_args(args: &PyTupleRef, kwargs: &PyDictRef) -> FuncArgs {
    let keywords: KwArgs =
        kwargs.into_iter().filter_map(|(k, v)| Some((k.downcast_ref::<PyStr>()?.to_string_lossy().into_owned(), v))).collect();
    FuncArgs::new(args.as_slice().to_vec(), keywords)
}

/// The module of a name, imported where it was not yet.
pub(crate) fn imported(name: &'static str, vm: &VirtualMachine) -> PyResult {
    vm.import(name, 0)?;
    vm.sys_module.get_attr("modules", vm)?.get_item(name, vm)
}
