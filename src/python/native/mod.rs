//! Python modules written in Rust.
//!
//! A module is a file here with a `#[pymodule(name = "...")] mod module`, whose `module_def` is listed in [`modules`]; a dotted name
//! (`torch._C`) puts it into a package, whose `__init__.py` is a frozen file. Each is made when it is first imported.

mod playground;

mod anomaly;
pub(crate) mod aot_functions;
pub(crate) mod calls;
pub(crate) mod export;
pub(crate) mod graph_module;
pub(crate) mod make_fx;
mod math;
mod random;
mod sha2;
pub(crate) mod tensor;
mod time;
mod transforms;
mod unicodedata;

use rustpython_vm::builtins::PyModuleDef;
use rustpython_vm::{Context, PyResult, VirtualMachine};

use crate::dynamo::tracing;

/// Every native module of ours.
pub(super) fn modules(ctx: &Context) -> Vec<&'static PyModuleDef> {
    vec![
        playground::module_def(ctx),
        tensor::module_def(ctx),
        tensor::library::module_def(ctx),
        tensor::fake::module_def(ctx),
        tensor::subclass::module_def(ctx),
        tensor::torch_function::module_def(ctx),
        tensor::tape::module_def(ctx),
        aot_functions::module_def(ctx),
        crate::dynamo::bindings::module_def(ctx),
        math::module_def(ctx),
        random::module_def(ctx),
        sha2::module_def(ctx),
        unicodedata::module_def(ctx),
        time::module_def(ctx),
        transforms::module_def(ctx),
    ]
}

/// Adds to `builtins` what comes from elsewhere in CPython (`exit`, `quit`), lets `len` give symbolic sizes, lets `min` and `max` do so too, ends graphs where something is printed
/// or opened, and makes `open` what it is here: the file system
/// is empty but for the script, and read-only.
pub(super) fn extend_builtins(vm: &VirtualMachine) -> PyResult<()> {
    let playground = vm.import("_playground", 0)?;
    let open = playground.get_attr("open", vm)?;
    vm.import("_io", 0)?.set_attr("open", open.clone(), vm)?;
    let open = vm.new_function("open", move |args: rustpython_vm::function::FuncArgs, vm: &VirtualMachine| tracing::open(&open, args, vm));
    vm.builtins.set_attr("open", open, vm)?;
    vm.builtins.set_attr("len", playground.get_attr("len", vm)?, vm)?;
    let print = vm.builtins.get_attr("print", vm)?;
    let print =
        vm.new_function("print", move |args: rustpython_vm::function::FuncArgs, vm: &VirtualMachine| tracing::print(&print, args, vm));
    vm.builtins.set_attr("print", print, vm)?;
    for name in ["all", "any", "sorted"] {
        let plain = vm.builtins.get_attr(name, vm)?;
        let of_elements = vm.new_function(name, move |args: rustpython_vm::function::FuncArgs, vm: &VirtualMachine| {
            tracing::of_elements(name, &plain, args, vm)
        });
        vm.builtins.set_attr(name, of_elements, vm)?;
    }
    for name in ["dir", "globals"] {
        let plain = vm.builtins.get_attr(name, vm)?;
        let function = vm.new_function(name, move |args: rustpython_vm::function::FuncArgs, vm: &VirtualMachine| {
            tracing::untraced_builtin(name, &plain, args, vm)
        });
        vm.builtins.set_attr(name, function, vm)?;
    }
    for name in ["min", "max"] {
        let plain = vm.builtins.get_attr(name, vm)?;
        let extremum = vm.new_function(name, move |args: rustpython_vm::function::FuncArgs, vm: &VirtualMachine| {
            tensor::builtins::extremum(name, &plain, args, vm)
        });
        vm.builtins.set_attr(name, extremum, vm)?;
    }
    let plain = vm.builtins.get_attr("sum", vm)?;
    let sum = vm.new_function("sum", move |args: rustpython_vm::function::FuncArgs, vm: &VirtualMachine| {
        tensor::builtins::summed(&plain, args, vm)
    });
    vm.builtins.set_attr("sum", sum, vm)?;
    for (module, names) in UNKNOWN_TO_DYNAMO {
        // What a module lacks here nobody can call.
        let Ok(owner) = vm.import(*module, 0) else { continue };
        for name in *names {
            let Ok(plain) = owner.get_attr(*name, vm) else { continue };
            let function = vm.new_function(name, move |args: rustpython_vm::function::FuncArgs, vm: &VirtualMachine| {
                tracing::unknown_builtin(module, name, &plain, args, vm)
            });
            owner.set_attr(*name, function, vm)?;
        }
    }
    vm.builtins.set_attr("exit", playground.get_attr("exit", vm)?, vm)?;
    vm.builtins.set_attr("quit", playground.get_attr("exit", vm)?, vm)
}

/// Functions that CPython has in C and Dynamo does not know, by the module that PyTorch's messages name.
const UNKNOWN_TO_DYNAMO: &[(&str, &[&str])] = &[
    ("gc", &["collect", "disable", "enable", "freeze", "get_count", "get_objects", "get_referrers", "get_stats", "isenabled", "unfreeze"]),
    ("sys", &["getsizeof", "getrefcount", "setrecursionlimit", "settrace", "_getframe"]),
];

/// Modules of the interpreter that ours or frozen ones replace, or that have no business in a script.
pub(super) const REPLACED: &[&str] = &["time", "_interpreters", "_interpchannels", "_interpqueues", "_testinternalcapi"];

/// Lets go of what the Python files of `torch` gave native code; importing them gives it anew.
pub(super) fn forget() {
    tensor::forget_classes();
}

/// Puts back what a script may have changed natively: modes, defaults, the generator, counters.
pub(super) fn reset() {
    use crate::dispatch::{Key, Modes, pop_layer, set_modes};
    set_modes(Modes::START);
    crate::transforms::autocast::reset();
    crate::transforms::levels::reset();
    crate::aot::fake_mode::reset();
    crate::aot::functional::reset();
    tensor::subclass::forget();
    tensor::torch_function::reset();
    for key in [Key::Capture, Key::Functionalize, Key::Trace] {
        while pop_layer(key).is_some() {}
    }
    crate::ops::shapes::set_default_dtype(crate::tensor::Dtype::Float32);
    crate::dispatch::set_default_device(crate::tensor::Device::CPU);
    tensor::objects::reset();
    tensor::sdp::reset();
    crate::tensor::print::set_print_options(Default::default());
    crate::tensor::random::default_generator().manual_seed(67_280_421_310_721);
    crate::autograd::set_seq_nr(0);
    crate::autograd::anomaly::set_mode(false, true);
    tracing::reset();
}
