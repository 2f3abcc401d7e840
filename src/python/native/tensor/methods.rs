//! Operators as methods of tensors: those whose entries say so.

use rustpython_vm::builtins::PyType;
use rustpython_vm::{Py, PyPayload, PyRef, VirtualMachine};

use super::packet::{PyPacket, Style, base_name};
use crate::dispatch::all;

/// Gives the class its methods.
pub fn add_methods(class: &'static Py<PyType>, vm: &VirtualMachine) {
    let mut done = std::collections::HashSet::new();
    for entry in all() {
        let Some(end) = entry.name.rfind('.') else { continue };
        let name = &entry.name[..end];
        let short = base_name(name);
        if !name.starts_with("aten.") || !entry.is_method() || !done.insert(name) {
            continue;
        }
        let key = vm.ctx.intern_str(short);
        if class.get_direct_attr(key).is_none() {
            let method: PyRef<PyPacket> = PyPacket { packet: name, style: Style::Method }.into_ref(&vm.ctx);
            class.set_attr(key, method.into());
        }
    }
}
