//! Tensors as Python sees them: the class, the conversion of arguments, and how a call finds its overload.
//!
//! Every operator of the catalogue is a function, a method and an entry of `torch.ops` without being listed here; what is
//! written by hand is Python's own protocol (indexing, operators, `tolist`) and what has no operator.

mod bind;
pub(in crate::python) mod builtins;
mod captured_calls;
mod class;
pub(super) mod compiled_autograd;
pub(in crate::python) mod convert;
mod errors;
pub(super) mod fake;
mod from_python;
mod functions;
mod hooks;
pub(super) mod library;
mod methods;
pub(super) mod objects;
mod operators;
mod overloads;
mod packet;
mod payload;
mod reading;
mod saved_hooks;
pub mod sdp;
mod size;
pub(super) mod subclass;
mod subclass_calls;
mod subscript;
pub(in crate::python) mod symint;
pub(super) mod tape;
pub(super) mod torch_function;

pub(crate) use class::symbolic_length;
pub(crate) use convert::{array_memory, from_value, items, numpy_input, to_tensor, to_value};
pub(crate) use errors::{raise, raised, said};
pub(crate) use fake::{environment_of, symbols_object};
pub(super) use functions::module_def;
pub(crate) use hooks::{call_from_engine, grad_hook};
pub(crate) use overloads::{bound, overload, overload_entry};
pub(crate) use payload::{TensorBase, fake_object, held_by_python, replace_payload, wrap};
pub(crate) use reading::{read_scalar, read_truth};
pub(crate) use subclass::has_mode;
pub(crate) use symint::{
    condition, float_hint, float_object, function_of_number, guarded_number, made, note_made, object as size_object, symbolic,
    symbolic_float, symbolic_hint, take_made, take_unknown,
};
pub(crate) use torch_function::{WrittenIn, overridden};

/// Lets go of what `torch`'s Python files defined, before it is collected.
pub(crate) fn forget_classes() {
    library::forget();
    subclass::forget();
    subclass_calls::forget();
    torch_function::forget();
    compiled_autograd::forget();
    payload::forget();
    size::forget();
}
