//! Exceptions that no handler of the script's sees: Dynamo raises them while it traces a frame, and what it traces does not run.
//!
//! `sys.monitoring` has an event for a handler that is about to be entered: its callback raises the exception again, so that the
//! frame is left. Exits of `with` blocks are run, since they put back what they changed; so are handlers of the library. Events are
//! asked for only while such an exception is on its way.

use std::cell::RefCell;

use rustpython_vm::builtins::{PyBaseExceptionRef, PyCode};
use rustpython_vm::bytecode::{Instruction, find_exception_handler};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyResult, VirtualMachine};

use rustpython_vm::vm::thread::with_current_vm;

use super::current::current;
use super::native::tensor::{raise, raised};
use crate::error::Error;

/// The tool that events are asked for as; tools of other numbers have a meaning.
const TOOL: i32 = 4;

thread_local! {
    static ESCAPING: RefCell<Option<PyBaseExceptionRef>> = const { RefCell::new(None) };
}

/// From now on `exception` passes by the script's handlers.
pub fn escape(exception: &PyBaseExceptionRef, vm: &VirtualMachine) {
    // A script that has taken the tool sees its exceptions itself.
    if ESCAPING.replace(Some(exception.clone())).is_none() && watch(true, vm).is_err() {
        ESCAPING.take();
    }
}

/// The same of an error.
pub fn escaping(error: Error) -> Error {
    with_current_vm(|vm| {
        let exception = raise(error, vm);
        escape(&exception, vm);
        raised(exception)
    })
}

/// The compiled call is left with `exception`, or without one: whether it is what escaped.
pub fn arrive(exception: Option<&PyBaseExceptionRef>, vm: &VirtualMachine) -> bool {
    let Some(escaped) = ESCAPING.take() else { return false };
    // What was granted is given back.
    let _ = watch(false, vm);
    exception.is_some_and(|e| e.is(&escaped))
}

/// Asks for the event, or for none.
fn watch(on: bool, vm: &VirtualMachine) -> PyResult<()> {
    let monitoring = vm.sys_module.get_attr("monitoring", vm)?;
    if on {
        let event = monitoring.get_attr("events", vm)?.get_attr("EXCEPTION_HANDLED", vm)?;
        vm.call_method(&monitoring, "use_tool_id", (TOOL, "dynamo"))?;
        let callback = vm.new_function("exception_handled", exception_handled);
        vm.call_method(&monitoring, "register_callback", (TOOL, event.clone(), callback))?;
        vm.call_method(&monitoring, "set_events", (TOOL, event))?;
    } else {
        vm.call_method(&monitoring, "set_events", (TOOL, 0))?;
        vm.call_method(&monitoring, "free_tool_id", (TOOL,))?;
    }
    Ok(())
}

/// `(code, offset, exception)`: a handler is about to be entered.
fn exception_handled(args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    let escaping = ESCAPING.with_borrow(Clone::clone);
    if let ([code, offset, exception], Some(escaping)) = (args.args.as_slice(), escaping)
        && exception.is(&escaping)
        && let Some(code) = code.downcast_ref::<PyCode>()
        && current().is_some_and(|run| run.has(code.source_path()))
        && enters_try(code, offset.try_to_value::<u32>(vm)? / 2)
    {
        return Err(escaping);
    }
    Ok(vm.ctx.none())
}

/// Whether the handler that an exception raised at an instruction enters is the script's: neither the exit of a `with` block, nor what the
/// compiler cleans up by.
fn enters_try(code: &PyCode, at: u32) -> bool {
    let Some(handler) = find_exception_handler(&code.exceptiontable, at) else { return false };
    let at = handler.target as usize;
    let op = |at: usize| (at < code.instructions.len()).then(|| code.instructions.read_op(at).deoptimize());
    match (op(at), op(at + 1)) {
        (Some(Instruction::PushExcInfo), next) => !matches!(next, Some(Instruction::WithExceptStart)),
        (Some(Instruction::Swap { .. } | Instruction::PopTop | Instruction::PopIter), _) => false,
        _ => true,
    }
}
