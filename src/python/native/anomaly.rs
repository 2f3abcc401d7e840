//! Anomaly mode for scripts: the stack that a node keeps, and the warning that shows it.

use std::rc::Rc;

use rustpython_vm::VirtualMachine;
use rustpython_vm::vm::thread::with_current_vm;

use crate::autograd::anomaly::{Witness, set_witness};
use crate::python::span::stack;

/// Looks at the script that runs on this thread.
struct Script;

impl Witness for Script {
    fn stack(&self) -> String {
        let places = stack();
        places.iter().map(|p| entry(p.filename(), p.span.line, p.function, p.code())).collect()
    }

    fn warn(&self, message: &str) {
        let told = with_current_vm(|vm: &VirtualMachine| {
            let module = vm.import("torch.autograd.anomaly_mode", 0)?;
            let module = module.get_attr("autograd", vm)?.get_attr("anomaly_mode", vm)?;
            vm.call_method(&module, "_warn", (message,))
        });
        // A filter may turn the warning into an error; the failure that it speaks of is the one that counts.
        drop(told);
    }
}

/// An entry of a stack as Python prints it.
pub fn entry(file: &str, line: u32, function: &str, code: &str) -> String {
    let code = if code.is_empty() { String::new() } else { format!("    {code}\n") };
    format!("  File \"{file}\", line {line}, in {function}\n{code}")
}

/// From now on nodes of autograd know the lines of the script on this thread.
pub fn install() {
    set_witness(Rc::new(Script));
}
