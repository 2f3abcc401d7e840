//! Python modules written in Rust.
//!
//! A module is a Rust module under `#[pymodule(name = "...")]` whose `module_def` is listed in [`modules`]; a dotted name
//! (`torch._C`) puts it into a package, whose `__init__.py` is a frozen file. Each is made when it is first imported.

mod torch_c;

mod math;
mod random;
mod sha2;
mod time;

use rustpython_vm::Context;
use rustpython_vm::builtins::PyModuleDef;

/// Every native module of ours.
pub(super) fn modules(ctx: &Context) -> Vec<&'static PyModuleDef> {
    vec![torch_c::module_def(ctx), math::module_def(ctx), random::module_def(ctx), sha2::module_def(ctx), time::module_def(ctx)]
}

/// Modules of the interpreter that ours or frozen ones replace, or that have no business in a script.
pub(super) const REPLACED: &[&str] = &["time", "_interpreters", "_interpchannels", "_interpqueues", "_testinternalcapi"];
