//! What the bindings of tensors, numbers and builtins ask and tell while a function is traced.

use rustpython_vm::function::FuncArgs;
use rustpython_vm::{PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::bytecode_analysis::decoded::{self, place_of};
use super::bytecode_analysis::instruction::Operation;
use super::cache::compiled_function;
use super::eval_frame::{self, call, frames};
use super::graph_breaks::unsupported::Unsupported;
use super::guards::manager;
use super::variables::{higher_order_ops, nn_module};

pub(crate) use super::backends::studies::{ask, known as studied, reset as forget_studies};
pub(crate) use super::bytecode_analysis::decoded::{comprehension, is_checked};
pub(crate) use super::cache::compiled_function::branch_reason;
pub(crate) use super::eval_frame::call::{
    Waiting, branched, break_graph, break_graph_at, capturing, fake_tensor, given_number, given_tensor, in_body, is_called, need_number,
    note_returned, note_side_effect, record_autocast, record_grad_mode, recorder, touch,
};
pub(crate) use super::eval_frame::frames::compares_for_later;
pub(crate) use super::guards::manager::touch_numbers;
pub(crate) use super::resume_functions::{symbol_number, symbol_numbers};
pub(crate) use super::symbolic_convert::asserts::record as record_assert;
pub(crate) use super::variables::autograd_function::context_of;
pub(crate) use super::variables::flex_attention::indexes_by_position;
pub(crate) use super::variables::torch::{Callee, as_written};

/// A hook on a value of the captured graph: whether it is part of the graph now. Where it cannot be, the graph breaks,
/// and the value is a tensor of the script's.
pub(crate) fn capture_hook(
    t: &crate::tensor::Tensor,
    hook: &rustpython_vm::PyObject,
    vm: &rustpython_vm::VirtualMachine,
) -> rustpython_vm::PyResult<bool> {
    let Some(recorder) = recorder().filter(|r| r.is_traced(t)) else { return Ok(false) };
    // No code makes the handle of a hook of the graph: where the script keeps it, the frame is skipped.
    let reason = if frames::keeps_result() {
        Unsupported::not_reconstructed("RemovableHandleVariable()")
    } else if higher_order_ops::hook(&recorder, t, hook, vm)? {
        return Ok(true);
    } else {
        Unsupported::other("HOP: Unsafe side effect")
    };
    break_graph(&reason).map_err(|e| crate::python::native::tensor::raise(e, vm))?;
    Ok(false)
}

/// Breaks the graph that computes a tensor, where one does.
pub(crate) fn graph_break_of(t: &crate::tensor::Tensor, reason: &Unsupported) -> crate::error::Result<()> {
    match recorder() {
        Some(recorder) if recorder.is_traced(t) => break_graph(reason),
        _ => Ok(()),
    }
}

/// Breaks the graph, if one is captured, as Dynamo does there.
pub(crate) fn graph_break(reason: &Unsupported) -> crate::error::Result<()> {
    if recorder().is_some() { break_graph(reason) } else { Ok(()) }
}

/// A tensor comes to require grad, or no longer does. That is a graph break; of a value of the graph Dynamo finds it out at the end, when
/// the graph would return what is computed from it, unless gradients are asked for first: then the frame is skipped.
pub(crate) fn graph_break_on_requires_grad(t: &crate::tensor::Tensor, requires: bool, what: &str) -> crate::error::Result<()> {
    let is_asked = recorder().is_some_and(|r| requires && r.is_traced(t)) && frames::asks_for_gradients(&call::frames());
    graph_break(&if is_asked { Unsupported::grad(true) } else { Unsupported::other(what) })
}

/// Ends the graph, if one is captured, before a tensor's values are read: the tensor that has them.
pub(crate) fn before_reading(
    t: &crate::tensor::Tensor,
    reason: impl FnOnce() -> Unsupported,
) -> crate::error::Result<crate::tensor::Tensor> {
    let Some(recorder) = recorder() else { return Ok(t.clone()) };
    call::break_graph_at(&reason(), vec![crate::dispatch::Value::Tensor(t.clone())])?;
    Ok(recorder.current(t))
}

/// Makes a call outside of the graph, which ends before it: `make` is given what replaces a tensor of the graph. Gives nothing where no
/// graph is captured.
pub(crate) fn outside(
    reason: impl FnOnce() -> Unsupported,
    args: &FuncArgs,
    make: &mut dyn FnMut(&mut dyn FnMut(&crate::tensor::Tensor) -> crate::tensor::Tensor) -> PyResult,
    vm: &VirtualMachine,
) -> PyResult<Option<PyObjectRef>> {
    let Some(recorder) = recorder() else { return Ok(None) };
    let read = args.args.iter().chain(args.kwargs.values()).flat_map(|o| manager::held(o, vm)).collect();
    call::break_graph_at(&reason(), read).map_err(|e| crate::python::native::tensor::raise(e, vm))?;
    let made = {
        let _outside = crate::dispatch::Exclude::only(crate::dispatch::Key::Capture);
        make(&mut |t| recorder.current(t))?
    };
    call::note_returned(&made, vm);
    Ok(Some(made))
}

/// Why a graph ends before a call that makes a tensor that is to require grad.
pub(crate) fn leaf(function: &str, args: &FuncArgs, vm: &VirtualMachine) -> Unsupported {
    let shown = |o: &PyObjectRef| compiled_function::variable(o, vm);
    let given: Vec<String> = args.args.iter().map(shown).collect();
    let named: Vec<String> = args.kwargs.iter().map(|(name, o)| format!("'{}': {}", name.to_string_lossy(), shown(o))).collect();
    Unsupported::leaf(function, &given.join(", "), &named.join(", "))
}

/// Why a graph ends before `tensor.random_()`.
pub(crate) fn random(args: &FuncArgs, vm: &VirtualMachine) -> Unsupported {
    let shown = |o: &PyObjectRef| compiled_function::variable(o, vm);
    let given: Vec<String> = args.args.iter().skip(1).map(shown).collect();
    let named: Vec<String> = args.kwargs.iter().map(|(name, o)| format!("'{}': {}", name.to_string_lossy(), shown(o))).collect();
    let comma = if given.len() == 1 { "," } else { "" };
    Unsupported::random(&format!("{}{comma}", given.join(", ")), &named.join(", "))
}

/// Why a graph ends before a call with an argument that no graph holds.
pub(crate) fn proxy(args: &FuncArgs, vm: &VirtualMachine) -> Unsupported {
    let all = args.args.iter().chain(args.kwargs.values()).map(|o| compiled_function::variable(o, vm));
    Unsupported::proxy(&all.collect::<Vec<_>>().join(" "))
}

/// `print`: what is printed while a function is captured ends its graph.
pub(crate) fn print(plain: &PyObject, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    if recorder().is_some() {
        let read = args.args.iter().flat_map(|o| manager::held(o, vm)).collect();
        call::break_graph_at(&compiled_function::builtin_reason("print", &args), read)
            .map_err(|e| crate::python::native::tensor::raise(e, vm))?;
    }
    plain.call(args, vm)
}

/// A graph is captured, and the frame so many calls above the running one is the script's own.
pub(crate) fn is_called_by_script(depth: usize) -> bool {
    recorder().is_some() && is_script(depth)
}

/// Ends the graph before a native function that Dynamo does not trace, where the script calls it.
pub(crate) fn leave(reason: impl FnOnce() -> Unsupported, vm: &VirtualMachine) -> PyResult<()> {
    if !is_called_by_script(0) {
        return Ok(());
    }
    break_graph(&reason()).map_err(|e| crate::python::native::tensor::raise(e, vm))
}

/// Ends the graph before a method, which gives no tensor, of a tensor that the graph computes, where the script calls it from so many
/// frames above. What an input says is known.
pub(crate) fn leave_value(t: &crate::tensor::Tensor, depth: usize, kind: &str, method: &str, vm: &VirtualMachine) -> PyResult<()> {
    let is_value = recorder().is_some_and(|recorder| recorder.is_traced(t));
    if !is_value || !is_called_by_script(depth) {
        return Ok(());
    }
    break_graph(&Unsupported::non_tensor_method(kind, method)).map_err(|e| crate::python::native::tensor::raise(e, vm))
}

/// Ends the graph where the script enters a context manager that Dynamo does not know.
pub(crate) fn leave_at_block(manager: &PyObject, vm: &VirtualMachine) -> PyResult<()> {
    let shown = || compiled_function::variable(&manager.to_owned(), vm);
    leave(|| Unsupported::entered_context_manager(&manager.class().name(), &shown()), vm)
}

/// A builtin that Dynamo does not trace, whatever it is given: the graph ends before the call.
pub(crate) fn untraced_builtin(name: &str, plain: &PyObject, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    leave(|| compiled_function::builtin_reason(name, &args), vm)?;
    plain.call(args, vm)
}

/// A function of Python's in C that Dynamo does not know: the graph ends before the call.
pub(crate) fn unknown_builtin(module: &str, name: &str, plain: &PyObject, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    leave(|| Unsupported::unknown_builtin(name, module), vm)?;
    plain.call(args, vm)
}

/// A function of `math` that gives no float: given symbolic numbers it is a call of the graph, whose result no graph has.
pub(crate) fn without_float(name: &str, kind: &str, plain: &PyObject, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    use crate::python::native::tensor::{symbolic, symbolic_float};
    if args.args.iter().any(|o| symbolic(o, vm).is_some() || symbolic_float(o, vm).is_some()) {
        leave(|| Unsupported::non_tensor(kind, name), vm)?;
    }
    plain.call(args, vm)
}

/// The instruction that the script's innermost frame is at.
fn instruction() -> Option<Operation> {
    let (code, at) = crate::python::span::script_caller()?;
    let decoded = decoded::decoded(&code);
    decoded.position(at).map(|position| decoded.steps[position].op)
}

/// Why a graph ends where an index is read off a tensor.
pub(crate) fn index_reason() -> Unsupported {
    match instruction() {
        Some(Operation::BinarySlice) => Unsupported::item().before_instruction(),
        _ => Unsupported::item(),
    }
}

/// Whether the frame so many calls above the running one is the script's own.
fn is_script(depth: usize) -> bool {
    crate::python::span::caller(depth).is_some_and(|(code, at)| place_of(&code, at).is_some())
}

/// The script compares numbers.
pub(crate) fn compared(sizes: &[&crate::shape::SymInt]) -> crate::error::Result<()> {
    // What runs is the number's method.
    match recorder().filter(|_| is_script(1)) {
        Some(recorder) => sizes.iter().try_for_each(|size| recorder.compared(size)),
        None => Ok(()),
    }
}

/// A builtin that asks the elements of its argument one by one: of a tensor, the graph ends before the call, which is Python's.
pub(crate) fn of_elements(name: &str, plain: &PyObject, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    let tensor = args.args.first().and_then(|o| crate::python::native::tensor::to_tensor(o)).filter(|t| t.dim() > 0);
    let outside = match tensor {
        Some(_) => outside(|| compiled_function::builtin_reason(name, &args), &args, &mut |_| plain.call(args.clone(), vm), vm)?,
        None => None,
    };
    outside.map_or_else(|| plain.call(args, vm), Ok)
}

/// Forgets what an earlier run compiled.
pub(crate) fn reset() {
    eval_frame::reset();
    higher_order_ops::reset();
    decoded::reset();
    super::backends::bundle::reset();
    nn_module::reset();
}

/// A call that Python made failed.
pub fn note_failed_call(error: &crate::error::Error) {
    if let Some(recorder) = recorder() {
        recorder.note_failed_call(error);
    }
}
