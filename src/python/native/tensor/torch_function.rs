//! The `__torch_function__` protocol: a class of tensors, an object that stands for a tensor, or a mode (`TorchFunctionMode`) is given
//! every call of PyTorch's that it has to do with, and says what comes of it.
//!
//! Functions, operators and what reads a tensor's attributes ask here before they do anything. A class that says nothing has
//! `Tensor.__torch_function__`, which keeps results in the class.

use std::cell::{Cell, RefCell};

use rustpython_vm::builtins::{PyFunction, PyList, PyStr, PyTuple, PyType};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::types::{Callable, PyTypeFlags};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyPayload, PyResult, VirtualMachine};

use super::convert::to_tensor;
use super::errors::raise;
use super::packet::PyPacket;
use super::payload::TensorBase;
use super::payload::tensor_class;
use crate::python::native::calls::imported;

const HANDLER: &str = "__torch_function__";

/// Who is not asked at the moment.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Disabled {
    Nobody,
    Classes,
    ModesToo,
}

thread_local! {
    static MODES: RefCell<Vec<PyObjectRef>> = const { RefCell::new(Vec::new()) };
    static DISABLED: Cell<Disabled> = const { Cell::new(Disabled::Nobody) };
    /// The handler of classes that want to be treated as plain tensors.
    static PLAIN: RefCell<Option<PyObjectRef>> = const { RefCell::new(None) };
}

/// No mode is in force, and everyone is asked.
pub fn reset() {
    MODES.take();
    DISABLED.set(Disabled::Nobody);
}

/// Lets go of what `torch`'s Python files defined.
pub fn forget() {
    reset();
    PLAIN.take();
}

/// Where PyTorch implements a function, which decides whose types a handler is told of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WrittenIn {
    /// Plain tensors are left out,
    Cpp,
    /// are not.
    Python,
}

/// Whether objects of a class say what functions do with them; plain tensors and parameters do not, nor classes that answer operators.
fn handles(class: &Py<PyType>, vm: &VirtualMachine) -> bool {
    if !class.slots.flags.has_feature(PyTypeFlags::HEAPTYPE) || class.is(&tensor_class(vm)) {
        return false;
    }
    let name = vm.ctx.intern_str(HANDLER);
    let Some(found) = class.get_attr(name) else { return false };
    if PLAIN.with_borrow(|plain| plain.as_ref().is_some_and(|plain| plain.is(&found))) {
        return false;
    }
    // A class that answers operators and says nothing of functions wants to be asked about operators alone.
    let is_default = tensor_class(vm).get_attr(name).is_some_and(|default| default.is(&found));
    !(is_default && super::payload::answers(class, vm))
}

/// The arguments that are asked, one of each class, subclasses before the classes that they are of.
fn asked(args: &FuncArgs, counts: impl Fn(&Py<PyType>) -> bool) -> Vec<PyObjectRef> {
    let mut found: Vec<PyObjectRef> = Vec::new();
    let mut note = |o: &PyObjectRef| {
        let class = o.class();
        if !counts(class) || found.iter().any(|f| f.class().is(class)) {
            return;
        }
        let at = found.iter().position(|f| class.fast_issubclass(f.class())).unwrap_or(found.len());
        found.insert(at, o.clone());
    };
    for o in args.args.iter().chain(args.kwargs.values()) {
        if let Some(list) = o.downcast_ref::<PyList>() {
            list.borrow_vec().iter().for_each(&mut note);
        } else if let Some(tuple) = o.downcast_ref::<PyTuple>() {
            tuple.as_slice().iter().for_each(&mut note);
        } else {
            note(o);
        }
    }
    found
}

/// What those who are asked make of a call; none where nobody has to do with it. `function` is what they are told was called.
pub fn overridden(
    function: impl FnOnce() -> PyResult,
    args: &FuncArgs,
    written_in: WrittenIn,
    vm: &VirtualMachine,
) -> PyResult<Option<PyObjectRef>> {
    overridden_by(args, function, args, written_in, vm)
}

/// The same where only the classes of some objects are asked.
fn overridden_by(
    relevant: &FuncArgs,
    function: impl FnOnce() -> PyResult,
    args: &FuncArgs,
    written_in: WrittenIn,
    vm: &VirtualMachine,
) -> PyResult<Option<PyObjectRef>> {
    let disabled = DISABLED.get();
    if disabled == Disabled::ModesToo {
        return Ok(None);
    }
    let mode = MODES.with_borrow(|modes| modes.last().cloned());
    let classes = |counts: &dyn Fn(&Py<PyType>) -> bool| if disabled == Disabled::Nobody { asked(relevant, counts) } else { Vec::new() };
    let mut found = classes(&|class| handles(class, vm));
    if found.is_empty() && mode.is_none() {
        return Ok(None);
    }
    if written_in == WrittenIn::Python {
        let plain = tensor_class(vm);
        found = classes(&|class| handles(class, vm) || class.is(&plain));
    }
    let function = function()?;
    let types: Vec<PyObjectRef> = found.iter().map(|o| o.class().to_owned().into()).collect();
    let kwargs = vm.ctx.new_dict();
    for (name, value) in &args.kwargs {
        kwargs.set_item(&*name.to_string_lossy(), value.clone(), vm)?;
    }
    let given = (function.clone(), vm.ctx.new_tuple(types.clone()), vm.ctx.new_tuple(args.args.clone()), kwargs);
    if let Some(mode) = mode {
        // What a mode does is not its own business again, but that of the modes around it.
        MODES.with_borrow_mut(Vec::pop);
        let result = mode.get_attr(HANDLER, vm).and_then(|handler| handler.call(given.clone(), vm));
        MODES.with_borrow_mut(|modes| modes.push(mode));
        let result = result?;
        if !result.is(&vm.ctx.not_implemented) {
            return Ok(Some(result));
        }
    }
    // Dynamo realizes what a function is called with before it looks for who is to be asked.
    if let Some(recorder) = crate::dynamo::tracing::recorder().filter(|_| !found.is_empty()) {
        args.args.iter().filter_map(|o| to_tensor(o)).try_for_each(|t| recorder.touch(&t, false)).map_err(|e| raise(e, vm))?;
    }
    for object in &found {
        let handler = object.get_attr(HANDLER, vm)?;
        // To Dynamo what a class does in its handler is not the class's business again.
        let before = crate::dynamo::tracing::recorder().map(|_| DISABLED.replace(Disabled::Classes));
        let result = handler.call(given.clone(), vm);
        if let Some(before) = before {
            DISABLED.set(before);
        }
        let result = result?;
        if !result.is(&vm.ctx.not_implemented) {
            return Ok(Some(result));
        }
    }
    let refused = imported("torch.overrides", vm)?.get_attr("_not_implemented", vm)?;
    refused.call((function, vm.ctx.new_list(types)), vm)?;
    Ok(None)
}

/// The same for one of Python's operators on tensors: a method of `torch.Tensor` that takes `args`.
pub fn overridden_method(name: &'static str, args: &[&PyObject], vm: &VirtualMachine) -> PyResult<Option<PyObjectRef>> {
    // Nearly every operator of every program: nothing is put together where nobody is there to be asked.
    let may_hold = |o: &PyObject| o.downcast_ref::<PyList>().is_some() || o.downcast_ref::<PyTuple>().is_some();
    if MODES.with_borrow(Vec::is_empty) && !args.iter().any(|o| may_hold(o) || handles(o.class(), vm)) {
        return Ok(None);
    }
    let args = FuncArgs::from(args.iter().map(|o| (*o).to_owned()).collect::<Vec<_>>());
    overridden(|| tensor_class(vm).as_object().get_attr(name, vm), &args, WrittenIn::Cpp, vm)
}

/// A method of tensors that is asked about when it is called on an object whose class handles calls.
#[rustpython_vm::pyclass(module = false, name = "method_descriptor")]
#[derive(Debug, PyPayload)]
struct Asking(PyObjectRef);

impl Callable for Asking {
    type Args = FuncArgs;
    fn call(zelf: &Py<Self>, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let written_in = if zelf.0.downcast_ref::<PyFunction>().is_some() { WrittenIn::Python } else { WrittenIn::Cpp };
        match overridden(|| Ok(zelf.0.clone()), &args, written_in, vm)? {
            Some(result) => Ok(result),
            None => zelf.0.call(args, vm),
        }
    }
}

#[rustpython_vm::pyclass(with(Callable))]
impl Asking {}

/// What a class or mode makes of reading an attribute that `torch.Tensor` defines; none where the attribute is read as usual.
pub fn attribute(zelf: &Py<TensorBase>, name: &Py<PyStr>, vm: &VirtualMachine) -> PyResult<Option<PyObjectRef>> {
    let class = zelf.class();
    let is_asked = match DISABLED.get() {
        Disabled::ModesToo => false,
        disabled => MODES.with_borrow(|modes| !modes.is_empty()) || disabled == Disabled::Nobody && handles(class, vm),
    };
    let text = name.to_string_lossy();
    if !is_asked || text.starts_with('_') || text == "as_subclass" {
        return Ok(None);
    }
    let name = vm.ctx.intern_str(&*text);
    let (Some(found), Some(plain)) = (class.get_attr(name), tensor_class(vm).get_attr(name)) else { return Ok(None) };
    // What the class defines itself is its own business; an operator asks when it is called.
    if !found.is(&plain) || found.downcast_ref::<PyPacket>().is_some() {
        return Ok(None);
    }
    let object = zelf.as_object().to_owned();
    if found.class().slots.descr_set.load().is_some() {
        return overridden(|| found.get_attr("__get__", vm), &FuncArgs::from(vec![object]), WrittenIn::Python, vm);
    }
    if found.class().slots.call.load().is_none() {
        return Ok(None);
    }
    let asking: PyObjectRef = Asking(found).into_pyobject(vm);
    Ok(Some(rustpython_vm::builtins::PyBoundMethod::new(object, asking).into_pyobject(vm)))
}

pub(in crate::python::native) use module::module_def;

#[pymodule(name = "torch._native_torch_function")]
mod module {
    use super::*;
    use crate::python::native::calls::func_args;
    use rustpython_vm::builtins::{PyDictRef, PyTupleRef};

    #[pyattr(name = "method_descriptor")]
    fn class_method_descriptor(_vm: &VirtualMachine) -> rustpython_vm::builtins::PyTypeRef {
        use rustpython_vm::class::PyClassImpl;
        Asking::make_static_type()
    }

    /// The handler that says of a class: as plain tensors.
    #[pyfunction]
    fn set_plain(handler: PyObjectRef) {
        PLAIN.set(Some(handler));
    }

    /// A mode is asked first from here on.
    #[pyfunction]
    fn push_mode(mode: PyObjectRef) {
        MODES.with_borrow_mut(|modes| modes.push(mode));
    }

    #[pyfunction]
    fn pop_mode(vm: &VirtualMachine) -> PyObjectRef {
        MODES.with_borrow_mut(Vec::pop).unwrap_or_else(|| vm.ctx.none())
    }

    /// The modes in force, the innermost last.
    #[pyfunction]
    fn modes_in_force() -> Vec<PyObjectRef> {
        MODES.with_borrow(Clone::clone)
    }

    /// Who is not asked: 0 nobody, 1 classes, 2 neither classes nor modes. Gives what it was; the stricter holds.
    #[pyfunction]
    fn disable(level: u8) -> u8 {
        let before = DISABLED.get();
        let level = [Disabled::Nobody, Disabled::Classes, Disabled::ModesToo][usize::from(level.min(2))];
        DISABLED.set(if level > before { level } else { before });
        before as u8
    }

    /// Puts back what `disable` gave.
    #[pyfunction]
    fn restore(level: u8) {
        DISABLED.set([Disabled::Nobody, Disabled::Classes, Disabled::ModesToo][usize::from(level.min(2))]);
    }

    /// Who is not asked, as a number.
    #[pyfunction]
    fn disabled() -> u8 {
        DISABLED.get() as u8
    }

    /// Whether one of the objects handles calls itself.
    #[pyfunction]
    fn any_handles(objects: PyObjectRef, vm: &VirtualMachine) -> PyResult<bool> {
        let objects: Vec<PyObjectRef> = objects.try_to_value(vm)?;
        let classes = DISABLED.get() == Disabled::Nobody && objects.iter().any(|o| handles(o.class(), vm));
        Ok(classes || DISABLED.get() != Disabled::ModesToo && MODES.with_borrow(|modes| !modes.is_empty()))
    }

    fn answer(result: Option<PyObjectRef>, vm: &VirtualMachine) -> PyObjectRef {
        let handled = vm.ctx.new_bool(result.is_some()).into();
        vm.ctx.new_tuple(vec![handled, result.unwrap_or_else(|| vm.ctx.none())]).into()
    }

    /// `(handled, result)`: what those make of a call of a Python function who are asked about it.
    #[pyfunction]
    fn ask(function: PyObjectRef, args: PyTupleRef, kwargs: PyDictRef, vm: &VirtualMachine) -> PyResult {
        Ok(answer(overridden(|| Ok(function), &func_args(&args, &kwargs), WrittenIn::Python, vm)?, vm))
    }

    /// The same where only the classes of `relevant` are asked.
    #[pyfunction]
    fn ask_of(function: PyObjectRef, relevant: PyTupleRef, args: PyTupleRef, kwargs: PyDictRef, vm: &VirtualMachine) -> PyResult {
        let relevant = FuncArgs::from(relevant.as_slice().to_vec());
        Ok(answer(overridden_by(&relevant, || Ok(function), &func_args(&args, &kwargs), WrittenIn::Python, vm)?, vm))
    }
}
