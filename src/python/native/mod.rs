//! Python modules written in Rust.
//!
//! A module is a file here with a `#[pymodule(name = "...")] mod module`, whose `module_def` is listed in [`modules`]; a dotted name
//! (`torch._C`) puts it into a package, whose `__init__.py` is a frozen file. Each is made when it is first imported.

mod playground;

mod anomaly;
pub(crate) mod aot_functions;
mod archive;
pub(crate) mod calls;
pub(crate) mod edited_graph;
pub(crate) mod export;
pub(crate) mod graph_module;
pub(crate) mod make_fx;
mod math;
mod numpy;
mod partitioning;
mod random;
mod sha2;
pub(crate) mod tensor;
mod time;
mod traced_calls;
mod transforms;
mod unicodedata;

use rustpython_vm::builtins::PyModuleDef;
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, Context, PyObject, PyResult, VirtualMachine};

use crate::dynamo::tracing;

/// Every native module of ours.
pub(super) fn modules(ctx: &Context) -> Vec<&'static PyModuleDef> {
    vec![
        playground::module_def(ctx),
        archive::module_def(ctx),
        tensor::module_def(ctx),
        tensor::library::module_def(ctx),
        tensor::fake::module_def(ctx),
        tensor::subclass::module_def(ctx),
        tensor::torch_function::module_def(ctx),
        tensor::compiled_autograd::module_def(ctx),
        aot_functions::module_def(ctx),
        crate::dynamo::bindings::module_def(ctx),
        math::module_def(ctx),
        numpy::module_def(ctx),
        partitioning::module_def(ctx),
        random::module_def(ctx),
        sha2::module_def(ctx),
        unicodedata::module_def(ctx),
        time::module_def(ctx),
        traced_calls::module_def(ctx),
        transforms::module_def(ctx),
    ]
}

/// Adds to `builtins` what comes from elsewhere in CPython (`exit`, `quit`), lets `len`, `min` and `max` give symbolic sizes, ends graphs
/// at calls that Dynamo leaves to Python, and makes `open` what it is here: the file system is empty but for the script, and
/// read-only.
pub(super) fn extend_builtins(vm: &VirtualMachine) -> PyResult<()> {
    let playground = vm.import("_playground", 0)?;
    let open = playground.get_attr("open", vm)?;
    vm.import("_io", 0)?.set_attr("open", open.clone(), vm)?;
    vm.builtins.set_attr("open", open, vm)?;
    vm.builtins.set_attr("len", playground.get_attr("len", vm)?, vm)?;
    replace(vm.builtins.as_object(), "print", tracing::print, vm)?;
    for name in ["all", "any", "sorted"] {
        replace(vm.builtins.as_object(), name, move |plain, args, vm| tracing::of_elements(name, plain, args, vm), vm)?;
    }
    for name in ["dir", "globals", "open"] {
        replace(vm.builtins.as_object(), name, move |plain, args, vm| tracing::untraced_builtin(name, plain, args, vm), vm)?;
    }
    for name in ["min", "max"] {
        replace(vm.builtins.as_object(), name, move |plain, args, vm| tensor::builtins::extremum(name, plain, args, vm), vm)?;
    }
    replace(vm.builtins.as_object(), "sum", tensor::builtins::summed, vm)?;
    let math = vm.import("math", 0)?;
    for (kind, names) in NO_FLOATS {
        for name in *names {
            replace(&math, name, move |plain, args, vm| tracing::without_float(name, kind, plain, args, vm), vm)?;
        }
    }
    for (module, names) in UNKNOWN_TO_DYNAMO {
        // What a module lacks here nobody can call.
        let Ok(owner) = vm.import(*module, 0) else { continue };
        for name in *names {
            let call = move |plain: &PyObject, args, vm: &VirtualMachine| tracing::unknown_builtin(module, name, plain, args, vm);
            if owner.get_attr(*name, vm).is_ok() {
                replace(&owner, name, call, vm)?;
            }
        }
    }
    let wrapper = vm.import("_lru_cache", 0)?.get_attr("wrapper", vm)?;
    vm.import("functools", 0)?.set_attr("_lru_cache_wrapper", wrapper, vm)?;
    vm.builtins.set_attr("exit", playground.get_attr("exit", vm)?, vm)?;
    vm.builtins.set_attr("quit", playground.get_attr("exit", vm)?, vm)
}

/// Puts a function in the place of a module's, which it is given together with what it is called with.
fn replace(
    owner: &PyObject,
    name: &'static str,
    call: impl Fn(&PyObject, FuncArgs, &VirtualMachine) -> PyResult + 'static,
    vm: &VirtualMachine,
) -> PyResult<()> {
    let plain = owner.get_attr(name, vm)?;
    owner.set_attr(name, vm.new_function(name, move |args: FuncArgs, vm: &VirtualMachine| call(&plain, args, vm)), vm)
}

/// Functions of `math` that give no float, by the class of what they give.
const NO_FLOATS: &[(&str, &[&str])] =
    &[("bool", &["isclose", "isfinite", "isinf", "isnan"]), ("int", &["comb", "factorial", "isqrt", "perm"])];

/// Functions that CPython has in C and Dynamo does not know, by the module that PyTorch's messages name.
const UNKNOWN_TO_DYNAMO: &[(&str, &[&str])] = &[
    ("gc", &["collect", "disable", "enable", "freeze", "get_count", "get_objects", "get_referrers", "get_stats", "isenabled", "unfreeze"]),
    ("sys", &["getsizeof", "getrefcount", "setrecursionlimit", "settrace", "_getframe"]),
];

/// Modules of the interpreter that ours or frozen ones replace, or that have no business in a script.
pub(super) const REPLACED: &[&str] = &["time", "errno", "_interpreters", "_interpchannels", "_interpqueues", "_testinternalcapi"];

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
    crate::aot::philox::reset();
    crate::aot::context::forget();
    tensor::subclass::forget();
    traced_calls::reset();
    tensor::torch_function::reset();
    for key in [Key::Capture, Key::Subclass, Key::Functionalize, Key::Trace] {
        while pop_layer(key).is_some() {}
    }
    crate::ops::shapes::set_default_dtype(crate::tensor::Dtype::Float32);
    crate::dispatch::set_device_context(None);
    tensor::objects::reset();
    tensor::sdp::reset();
    crate::tensor::print::set_print_options(Default::default());
    crate::tensor::random::default_generator().manual_seed(67_280_421_310_721);
    crate::autograd::set_seq_nr(0);
    crate::autograd::anomaly::set_mode(false, true);
    tracing::reset();
}
