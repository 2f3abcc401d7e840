//! Tensors as Python sees them: the class, the conversion of arguments, and how a call finds its overload.
//!
//! Every operator of the catalogue is a function, a method and an entry of `torch.ops` without being listed here; what is
//! written by hand is Python's own protocol (indexing, operators, `tolist`) and what has no operator.

mod bind;
mod class;
mod convert;
pub(super) mod fake;
mod from_python;
mod functions;
mod hooks;
pub(super) mod library;
mod methods;
pub(super) mod objects;
mod operators;
mod packet;
mod reading;
mod saved_hooks;
pub mod sdp;
pub(super) mod subclass;
mod subscript;
mod symint;
pub(super) mod tape;
pub(super) mod torch_function;

pub(in crate::python) use symint::{symbolic_to_float, whole_number};

pub(crate) use class::{TensorBase, replace_payload, symbolic_length, wrap};
pub(crate) use convert::{from_value, items, raise, raised, to_tensor, to_value};
pub(crate) use fake::environment_of;
pub(super) use functions::module_def;
pub(crate) use symint::{
    extremum, float_hint, float_object, function_of_number, guarded_number, note_made, object as size_object, summed, symbolic,
    symbolic_float, symbolic_hint, take_made, take_unknown,
};
pub(crate) use torch_function::{WrittenIn, overridden};

/// Lets go of what `torch`'s Python files defined, before it is collected.
pub(crate) fn forget_classes() {
    library::forget();
    subclass::forget();
    torch_function::forget();
    tape::forget();
    fake::forget();
    class::forget_tensor_class();
    functions::forget_size_class();
}

/// The entry of an overload that Python holds.
pub(crate) fn overload_entry(object: &rustpython_vm::PyObject) -> Option<&'static crate::dispatch::OpEntry> {
    object.downcast_ref::<packet::PyOverload>().map(|overload| overload.0)
}

/// All arguments of a call of an overload.
pub(crate) fn bound(
    entry: &'static crate::dispatch::OpEntry,
    args: &rustpython_vm::function::FuncArgs,
    vm: &rustpython_vm::VirtualMachine,
) -> rustpython_vm::PyResult<Vec<crate::dispatch::Value>> {
    bind::bind(entry.name, &[entry], args, false, vm).map(|bound| bound.args).map_err(|e| raise(e, vm))
}

/// An overload as a Python object.
pub(crate) fn overload(entry: &'static crate::dispatch::OpEntry, vm: &rustpython_vm::VirtualMachine) -> rustpython_vm::PyObjectRef {
    use rustpython_vm::{PyObjectRef, PyPayload};
    thread_local! {
        static KNOWN: std::cell::RefCell<std::collections::HashMap<usize, PyObjectRef>> = std::cell::RefCell::default();
    }
    // One object each: scripts compare targets by identity.
    KNOWN.with_borrow_mut(|known| known.entry(entry.id).or_insert_with(|| packet::PyOverload(entry).into_pyobject(vm)).clone())
}
