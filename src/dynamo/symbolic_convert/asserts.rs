//! `assert tensor`: a check that is part of the graph, where other decisions on a tensor break it.
//!
//! Dynamo recognizes an assertion by the instructions behind the jump: they raise `AssertionError`, with a message that is a
//! literal, or without one. Where the message is computed, the assertion is a branch like any other.

use rustpython_vm::builtins::{PyCode, PyStr};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{Py, PyResult, VirtualMachine};

use crate::dynamo::bytecode_analysis::Code;
use crate::dynamo::bytecode_analysis::decoded::decoded;
use crate::dynamo::bytecode_analysis::instruction::Operation;
use crate::dynamo::eval_frame::call;
use crate::dynamo::settings::is_on;
use crate::dynamo::variables::torch::{Callee, as_written};
use crate::python::native::tensor::{raise, wrap};
use crate::tensor::Tensor;

/// What an assertion without a message says.
const NO_MESSAGE: &str = "assertion error";

/// The message of the assertion whose condition the instruction at a position tests, where it is one.
fn message(code: &Py<PyCode>, decoded: &Code, position: usize) -> Option<String> {
    let mut after = decoded.steps.get(position..)?.iter().filter(|step| !matches!(step.op, Operation::Nop));
    let [test, jump, error] = [after.next()?, after.next()?, after.next()?];
    let raises = matches!(error.op, Operation::LoadAssertionError);
    let tests = matches!(test.op, Operation::ToBool | Operation::CompareOp(_));
    if !raises || !tests || !matches!(jump.op, Operation::PopJumpIf(true)) {
        return None;
    }
    let is_raise = |op: Operation| matches!(op, Operation::Raise { is_plain: true });
    let next = after.next()?;
    if is_raise(next.op) {
        return Some(NO_MESSAGE.to_owned());
    }
    let [call, raised] = [after.next()?, after.next()?];
    let (Operation::LoadConst(message), Operation::Call(_), true) = (next.op, call.op, is_raise(raised.op)) else { return None };
    let constant: rustpython_vm::PyObjectRef = code.constants.get(message as usize)?.clone().into();
    constant.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned())
}

/// Records the check of `assert t` where Python asks for the truth of a tensor on behalf of one. Says whether it did: then Python goes on
/// as if the assertion held.
pub fn record(t: &Tensor, vm: &VirtualMachine) -> PyResult<bool> {
    if call::recorder().is_none() || !is_on("rewrite_assert_with_torch_assert") {
        return Ok(false);
    }
    let frames = call::frames();
    let Some((code, at)) = frames.first() else { return Ok(false) };
    let decoded = decoded(code);
    let Some(message) = decoded.position(*at).and_then(|position| message(code, &decoded, position)) else { return Ok(false) };
    let args = FuncArgs::from(vec![wrap(t, vm)?, vm.ctx.new_str(message.as_str()).into()]);
    let check = || {
        crate::aten!("_assert_async.msg", t, message.as_str()).map_err(|e| raise(e, vm))?;
        Ok(vm.ctx.none())
    };
    as_written(|| Callee::function("torch._assert_async".to_owned()), &args, vm, check)?;
    Ok(true)
}
