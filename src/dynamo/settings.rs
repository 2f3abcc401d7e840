//! Settings of the compiler, as `torch._dynamo.config` and its like say them.

use rustpython_vm::vm::thread::{try_with_current_vm, with_current_vm};
use rustpython_vm::{PyObjectRef, VirtualMachine};

/// A setting, where a script has imported its module; otherwise it has its default.
pub fn setting(module: &'static str, name: &'static str, vm: &VirtualMachine) -> Option<PyObjectRef> {
    let modules = vm.sys_module.get_attr("modules", vm).ok()?;
    modules.get_item(module, vm).ok()?.get_attr(name, vm).ok()
}

/// A setting that is something other than `None`.
pub fn value_of(module: &'static str, name: &'static str) -> Option<PyObjectRef> {
    with_current_vm(|vm| setting(module, name, vm).filter(|value| !vm.is_none(value)))
}

/// A switch, where a script has imported its module.
pub fn switch_of(module: &'static str, name: &'static str) -> Option<bool> {
    // What other sizes would do is asked of a report, without an interpreter.
    try_with_current_vm(|vm| setting(module, name, vm).and_then(|value| value.try_to_bool(vm).ok())).flatten()
}

/// A switch of `torch._dynamo.config` that is on by default.
pub fn is_on(name: &'static str) -> bool {
    switch_of("torch._dynamo.config", name).unwrap_or(true)
}

/// A switch of `torch._dynamo.config` that is off by default.
pub fn switch(name: &'static str) -> bool {
    switch_of("torch._dynamo.config", name).unwrap_or(false)
}
