//! Where the Python that PyTorch's users have prints otherwise than the interpreter, which imitates a newer one.

use rustpython_vm::{
    AsObject, PyObject, PyObjectRef, PyRef, PyResult, VirtualMachine,
    builtins::{PyBaseExceptionRef, PyStr, PyType},
    function::{ItemDoc, PyMethodFlags},
    recursion::ReprGuard,
};

/// Adapts the interpreter's own types.
pub(super) fn adapt(vm: &VirtualMachine) -> PyResult<()> {
    let class = vm.import("_collections", 0)?.get_attr("OrderedDict", vm)?;
    if let Ok(class) = class.downcast::<PyType>() {
        class.slots.repr.store(Some(ordered_dict_repr));
    }
    let class = vm.ctx.exceptions.recursion_error;
    let name = vm.ctx.intern_str("__str__");
    let method = vm.ctx.new_method_def("__str__", recursion_error_str, PyMethodFlags::METHOD, ItemDoc::NONE);
    class.set_attr(name, method.build_method(class, vm).into());
    Ok(())
}

/// `OrderedDict([(key, value), ...])`, as state dicts are printed.
fn ordered_dict_repr(zelf: &PyObject, vm: &VirtualMachine) -> PyResult<PyRef<PyStr>> {
    let name = zelf.class().name().to_string();
    let Some(_guard) = ReprGuard::enter(vm, zelf) else {
        return Ok(vm.ctx.new_str("..."));
    };
    let items = vm.call_method(zelf, "items", ())?;
    let items: Vec<PyObjectRef> = vm.extract_elements_with(&items, Ok)?;
    if items.is_empty() {
        return Ok(vm.ctx.new_str(format!("{name}()")));
    }
    let items = PyObjectRef::from(vm.ctx.new_list(items)).repr(vm)?;
    Ok(vm.ctx.new_str(format!("{name}({})", items.to_string_lossy())))
}

/// A `RecursionError`'s message, without the place that the interpreter leaves empty.
fn recursion_error_str(zelf: PyBaseExceptionRef, vm: &VirtualMachine) -> PyResult<String> {
    let arguments = zelf.args();
    let text = match arguments.as_slice() {
        [] => return Ok(String::new()),
        [message] => message.str(vm)?,
        _ => arguments.as_object().repr(vm)?,
    };
    // Where the native stack is what ended, the interpreter says nothing at all.
    let text = text.to_string_lossy();
    Ok(if text.is_empty() { "maximum recursion depth exceeded".to_owned() } else { text.trim_end().to_owned() })
}
