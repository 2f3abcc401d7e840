//! Where the Python that PyTorch's users have prints otherwise than the interpreter, which imitates a newer one.

use rustpython_vm::{
    AsObject, Py, PyObject, PyObjectRef, PyRef, PyResult, VirtualMachine,
    builtins::{PyBaseExceptionRef, PyStr, PyType, PyTypeRef},
    function::{FuncArgs, ItemDoc, PyMethodFlags},
    recursion::ReprGuard,
    types::PyTypeFlags,
};

use std::cell::RefCell;
use std::sync::OnceLock;

/// Adapts the interpreter's own types.
pub(super) fn adapt(vm: &VirtualMachine) -> PyResult<()> {
    let class = vm.import("_collections", 0)?.get_attr("OrderedDict", vm)?;
    if let Ok(class) = class.downcast::<PyType>() {
        class.slots.repr.store(Some(ordered_dict_repr));
    }
    for name in ["odict_keys", "odict_values", "odict_items"] {
        if let Ok(class) = vm.import("_collections", 0)?.get_attr(name, vm)?.downcast::<PyType>() {
            class.slots.repr.store(Some(ordered_view_repr));
        }
    }
    let proxy = vm.ctx.types.mappingproxy_type;
    let name = vm.ctx.intern_str("__str__");
    let method = vm.ctx.new_method_def("__str__", mapping_proxy_str, PyMethodFlags::METHOD, ItemDoc::NONE);
    proxy.set_attr(name, method.build_method(proxy, vm).into());
    let types = &vm.ctx.types;
    let (int, float, object) = (types.int_type, types.float_type, types.object_type);
    let made = [
        (int, &PLAIN_INT, int_new as New),
        (float, &PLAIN_FLOAT, float_new),
        (types.bool_type, &PLAIN_BOOL, bool_new),
        (object, &PLAIN_OBJECT, object_new),
    ];
    for (class, plain, ours) in made {
        // A thread's types outlive an interpreter: another one may have been here. Other threads have types of their own, which are made
        // by the same functions.
        if let Some(new) = class.slots.new.load().filter(|new| !std::ptr::fn_addr_eq(*new, ours)) {
            plain.get_or_init(|| new);
            class.slots.new.store(Some(ours));
        }
    }
    refuse_bytecode(vm)?;
    // It would make floats without asking.
    float.slots.vectorcall.store(None);
    types.bool_type.slots.vectorcall.store(None);
    let class = vm.ctx.exceptions.recursion_error;
    let name = vm.ctx.intern_str("__str__");
    let method = vm.ctx.new_method_def("__str__", recursion_error_str, PyMethodFlags::METHOD, ItemDoc::NONE);
    class.set_attr(name, method.build_method(class, vm).into());
    Ok(())
}

/// What the interpreter runs must be what its compiler made: it trusts the numbers in it. Ways from a script's bytes to code are closed.
fn refuse_bytecode(vm: &VirtualMachine) -> PyResult<()> {
    let class = vm.ctx.types.code_type;
    class.slots.new.store(Some(code_new));
    class.slots.vectorcall.store(None);
    for name in ["replace", "__replace__"] {
        let name = vm.ctx.intern_str(name);
        if PLAIN_REPLACE.with_borrow(Option::is_none) {
            PLAIN_REPLACE.set(class.get_attr(name));
        }
        let method = vm.ctx.new_method_def(name.as_str(), code_replace, PyMethodFlags::METHOD, ItemDoc::NONE);
        class.set_attr(name, method.build_method(class, vm).into());
    }
    let marshal = vm.import("marshal", 0)?;
    for name in ["load", "loads"] {
        marshal.set_attr(name, vm.new_function(name, |_: FuncArgs, vm: &VirtualMachine| -> PyResult { Err(no_bytecode(vm)) }), vm)?;
    }
    Ok(())
}

thread_local! {
    /// `code.replace`, as the interpreter has it.
    static PLAIN_REPLACE: RefCell<Option<PyObjectRef>> = const { RefCell::new(None) };
}

fn no_bytecode(vm: &VirtualMachine) -> PyBaseExceptionRef {
    vm.new_not_implemented_error("the playground runs no bytecode but that of its own compiler")
}

fn code_new(_class: PyTypeRef, _args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    Err(no_bytecode(vm))
}

/// `code.replace()`: names and lines may be others, what is run may not.
fn code_replace(zelf: PyObjectRef, mut args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    const NAMES: &[&str] = &["co_filename", "co_firstlineno", "co_name", "co_qualname"];
    if args.kwargs.keys().any(|name| !name.as_str().is_ok_and(|name| NAMES.contains(&name))) {
        return Err(no_bytecode(vm));
    }
    let Some(plain) = PLAIN_REPLACE.with_borrow(Clone::clone) else { return Err(no_bytecode(vm)) };
    args.prepend_arg(zelf);
    plain.call(args, vm)
}

type New = fn(PyTypeRef, FuncArgs, &VirtualMachine) -> PyResult;

static PLAIN_INT: OnceLock<New> = OnceLock::new();
static PLAIN_FLOAT: OnceLock<New> = OnceLock::new();

static PLAIN_BOOL: OnceLock<New> = OnceLock::new();

static PLAIN_OBJECT: OnceLock<New> = OnceLock::new();

/// The only argument of a call of that type itself.
fn alone<'a>(class: &PyTypeRef, of: &Py<PyType>, args: &'a FuncArgs) -> Option<&'a PyObjectRef> {
    match args.args.as_slice() {
        [number] if class.is(of) && args.kwargs.is_empty() => Some(number),
        _ => None,
    }
}

fn plain_new(plain: &OnceLock<New>, class: PyTypeRef, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    match plain.get() {
        Some(new) => new(class, args, vm),
        None => Err(vm.new_runtime_error("the interpreter was not adapted")),
    }
}

/// `int(x)`: a symbolic number stays symbolic while a call is recorded.
fn int_new(class: PyTypeRef, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    if let Some(number) = alone(&class, vm.ctx.types.int_type, &args)
        && let Some(whole) = crate::python::native::tensor::symint::whole_number("trunc", captured(number, vm)?.as_object(), vm)?
    {
        return Ok(whole);
    }
    let of_tensor = of_tensor(&args);
    let number = plain_new(&PLAIN_INT, class, args, vm)?;
    Ok(if of_tensor { crate::dynamo::tracing::given_number(number) } else { number })
}

/// `float(x)`, likewise.
fn float_new(class: PyTypeRef, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    if let Some(number) = alone(&class, vm.ctx.types.float_type, &args)
        && let Some(float) = crate::python::native::tensor::symint::symbolic_to_float(captured(number, vm)?.as_object(), vm)?
    {
        return Ok(float);
    }
    let of_tensor = of_tensor(&args);
    let number = plain_new(&PLAIN_FLOAT, class, args, vm)?;
    Ok(if of_tensor { crate::dynamo::tracing::given_number(number) } else { number })
}

/// `bool(x)`: of a tensor, a call that reads a number.
fn bool_new(class: PyTypeRef, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    if let Some(o) = alone(&class, vm.ctx.types.bool_type, &args)
        && let Some(truth) = crate::python::native::tensor::read_truth(o, vm)?
    {
        return Ok(crate::dynamo::tracing::given_number(vm.ctx.new_bool(truth).into()));
    }
    plain_new(&PLAIN_BOOL, class, args, vm)
}

/// A new object of a class that leaves nothing abstract: what is left is named in the older words.
fn object_new(class: PyTypeRef, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    let left = class.get_attr(vm.ctx.intern_str("__abstractmethods__"));
    if let Some(left) = left.filter(|_| class.slots.flags.has_feature(PyTypeFlags::HEAPTYPE)) {
        let mut names: Vec<String> = vm.extract_elements_with(&left, |name| Ok(name.str(vm)?.to_string_lossy().into_owned()))?;
        names.sort();
        if !names.is_empty() {
            let (plural, names) = (if names.len() > 1 { "s" } else { "" }, names.join(", "));
            let message = format!("Can't instantiate abstract class {} with abstract method{plural} {names}", class.name());
            return Err(vm.new_type_error(message));
        }
    }
    plain_new(&PLAIN_OBJECT, class, args, vm)
}

/// A view of a mapping is printed as the mapping.
fn mapping_proxy_str(zelf: PyObjectRef, vm: &VirtualMachine) -> PyResult<String> {
    let text = zelf.repr(vm)?.to_string_lossy().into_owned();
    let inner = text.strip_prefix("mappingproxy(").and_then(|t| t.strip_suffix(')'));
    Ok(inner.unwrap_or(&text).to_owned())
}

/// What a number is made of: that of a tensor, where the graph that is captured holds it.
fn captured(o: &PyObjectRef, vm: &VirtualMachine) -> PyResult {
    Ok(super::native::tensor::read_scalar(o, vm)?.unwrap_or_else(|| o.clone()))
}

/// Whether a tensor is what a number is made of.
fn of_tensor(args: &FuncArgs) -> bool {
    args.args.first().is_some_and(|o| super::native::tensor::convert::to_tensor(o).is_some())
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

/// `odict_keys([key, ...])`, and likewise values and items.
fn ordered_view_repr(zelf: &PyObject, vm: &VirtualMachine) -> PyResult<PyRef<PyStr>> {
    let name = zelf.class().name().to_string();
    let Some(_guard) = ReprGuard::enter(vm, zelf) else {
        return Ok(vm.ctx.new_str("..."));
    };
    let items: Vec<PyObjectRef> = vm.extract_elements_with(zelf, Ok)?;
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
