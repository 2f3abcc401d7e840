//! Whether a frame can go on where its graph breaks.
//!
//! Dynamo makes a resume function behind a call, a subscript, a comparison, the store of an attribute or an item, the formatting of a
//! value and a branch. It makes none behind any other instruction, in a `try`, nor in a block of a context manager that is none of
//! PyTorch's: there the graph ends before the last statement that begins outside of all that, and the rest of the frame is skipped.

use rustpython_vm::builtins::{PyCode, PyDict, PyDictRef, PyType};
use rustpython_vm::bytecode::find_exception_handler;
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, VirtualMachine};

use crate::dynamo::bytecode_analysis::Code;
use crate::dynamo::bytecode_analysis::instruction::{Operation, Step};
use crate::dynamo::settings::switch;
use crate::dynamo::source::own_attribute;
use crate::python::native::tensor::TensorBase;

/// What becomes of a frame whose graph breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// It goes on in a resume function.
    Here,
    /// It is skipped: Dynamo does not resume inside of a loop.
    Never,
    /// The graph ends before the statement that begins at a position, and the rest of the frame is skipped. Without such a statement all
    /// of it is.
    Before(Option<usize>),
}

/// What an exception handler is for.
enum Handler {
    Try,
    With,
    /// Cleaning up behind a handler.
    Handling,
    /// Cleaning up, of the compiler's own.
    Own,
}

fn handler(decoded: &Code, position: usize) -> Handler {
    let after: Vec<_> = decoded.steps.iter().skip(position).take(2).map(|s| s.op).collect();
    match after.as_slice() {
        [Operation::PushExcInfo, Operation::WithExceptStart] => Handler::With,
        [Operation::Copy(_), ..] => Handler::Handling,
        [Operation::Swap(_) | Operation::PopTop | Operation::PopIter, ..] => Handler::Own,
        _ => Handler::Try,
    }
}

/// The handlers of the blocks around an instruction, by their positions, innermost first.
fn handlers(code: &Py<PyCode>, decoded: &Code, at: u32) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = at;
    while let Some(handler) = find_exception_handler(&code.exceptiontable, at) {
        let Some(position) = decoded.position(handler.target).filter(|p| !found.contains(p)) else { break };
        found.push(position);
        at = handler.target;
    }
    found
}

/// Whether an exception raised at an instruction would be caught by a `try` of the function.
pub fn in_try(code: &Py<PyCode>, decoded: &Code, at: u32) -> bool {
    handlers(code, decoded, at).into_iter().any(|position| matches!(handler(decoded, position), Handler::Try))
}

/// Whether an exception raised at an instruction would run a handler of the function's: of a `try`, or the exit of a `with`.
pub fn is_handled(code: &Py<PyCode>, decoded: &Code, at: u32) -> bool {
    handlers(code, decoded, at).into_iter().any(|position| matches!(handler(decoded, position), Handler::Try | Handler::With))
}

/// Whether an instruction stands in a block that no resume function begins in: a `try`, a handler, or that of a context manager that is none of
/// PyTorch's.
pub fn is_in_block(code: &Py<PyCode>, decoded: &Code, position: usize, scope: &Scope) -> bool {
    let mut is_handlers_own = false;
    handlers(code, decoded, decoded.steps[position].at).into_iter().any(|position| match handler(decoded, position) {
        Handler::Try => true,
        Handler::With => {
            is_handlers_own = true;
            scope.manager(code, decoded, position).is_some_and(|manager| !scope.is_restored(&manager))
        }
        // Behind a handler comes its own: the instruction stands in none.
        Handler::Handling => !std::mem::take(&mut is_handlers_own),
        Handler::Own => false,
    })
}

/// The last statement that begins at or before an instruction, and in no `try`.
pub fn statement(code: &Py<PyCode>, decoded: &Code, position: usize) -> Option<usize> {
    // One instruction may store what a statement gave, and load the first value of the next.
    let is_joined = |i: usize| i > 0 && matches!(decoded.steps[i - 1].op, Operation::StoreFastLoadFast(..));
    let begins = |i: &usize| decoded.height(*i).is_some_and(|(height, _)| height == usize::from(is_joined(*i)));
    let is_outside = |i: &usize| !in_try(code, decoded, decoded.steps[*i].at) && decoded.leads_to(*i, position);
    (0..=position).rev().filter(begins).find(is_outside)
}

/// What the names of a frame mean.
pub struct Scope<'a> {
    /// Its variables.
    pub locals: &'a PyObject,
    /// Its globals.
    pub globals: &'a PyDictRef,
    /// The interpreter.
    pub vm: &'a VirtualMachine,
}

impl Scope<'_> {
    /// What a variable holds, or a global, or a builtin.
    fn variable(&self, name: &str) -> Option<PyObjectRef> {
        let local = self.locals.get_item(name, self.vm).ok();
        let found = local.or_else(|| self.globals.get_item_opt(name, self.vm).ok().flatten());
        found.or_else(|| self.vm.builtins.get_attr(self.vm.ctx.intern_str(name), self.vm).ok())
    }

    /// The class or the function that made the context manager of a block, as far as the code tells; the block by the position of its
    /// handler.
    fn manager(&self, code: &Py<PyCode>, decoded: &Code, handler: usize) -> Option<PyObjectRef> {
        // Behind the manager come its copy, the two methods that the block begins and ends with, and the call of the first.
        const ENTRY: usize = 6;
        let target = decoded.steps[handler].at;
        let is_inside = |s: &Step| find_exception_handler(&code.exceptiontable, s.at).is_some_and(|h| h.target == target);
        let first = decoded.steps.iter().position(is_inside)?;
        let made = (0..first).rfind(|i| decoded.enters_block(*i))?.checked_sub(ENTRY)?;
        let is_call = matches!(decoded.steps[made].op, Operation::Call(_) | Operation::CallKw(_) | Operation::CallFunctionEx);
        let below = match is_call {
            true => decoded.height(made).and_then(|(height, taken)| height.checked_sub(taken))?,
            false => decoded.height(made + 1)?.0.checked_sub(1)?,
        };
        let first = (0..=made).rev().find(|i| decoded.height(*i).is_some_and(|(height, _)| height == below))?;
        let mut found = match decoded.steps[first].op {
            Operation::LoadGlobal { name, .. } | Operation::LoadName(name) => self.variable(code.names.get(name as usize)?.as_str())?,
            Operation::LoadFast(slot) | Operation::LoadDeref(slot) => self.variable(code.varnames.get(slot as usize)?.as_str())?,
            _ => return None,
        };
        for step in &decoded.steps[first + 1..=made] {
            let Operation::LoadAttr { name, .. } = step.op else { break };
            let name = code.names.get(name as usize)?;
            let class = found.clone().downcast::<PyType>().unwrap_or_else(|found| found.class().to_owned());
            found = own_attribute(&found, name.as_str(), self.vm).or_else(|| class.get_attr(name))?;
        }
        Some(if is_call { found } else { found.class().to_owned().into() })
    }

    /// Whether Dynamo leaves the block of such a context manager at a break, and enters it again behind it.
    fn is_restored(&self, manager: &PyObject) -> bool {
        let text = |name: &'static str| {
            let found = manager.get_attr(name, self.vm).and_then(|o| o.str(self.vm));
            found.map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
        };
        match text("__module__").as_str() {
            "contextlib" => text("__name__") == "nullcontext",
            module => module.starts_with("torch") && module != "torch.random",
        }
    }
}

/// Whether Dynamo looks into a frame that it was not told to compile: it has a tensor or a module, in its `values` or in containers
/// there, or its code names a module of PyTorch's.
pub fn has_tensor(code: &Py<PyCode>, globals: &PyDictRef, values: impl IntoIterator<Item = PyObjectRef>, vm: &VirtualMachine) -> bool {
    values.into_iter().any(|value| holds_tensor(&value, 0, vm)) || names_torch(code, globals, vm)
}

fn names_torch(code: &Py<PyCode>, globals: &PyDictRef, vm: &VirtualMachine) -> bool {
    let is_torch = |o: PyObjectRef| {
        o.class().is(vm.ctx.types.module_type)
            && own_attribute(&o, "__name__", vm).and_then(|n| n.str(vm).ok()).is_some_and(|n| {
                let name = n.to_string_lossy();
                name == "torch" || name.starts_with("torch.")
            })
    };
    code.names.iter().any(|name| globals.get_item_opt(name.as_str(), vm).ok().flatten().is_some_and(is_torch))
}

/// Whether a value is a tensor or a module, or a list, a tuple or a dictionary that holds one.
pub fn holds_tensor(o: &PyObject, depth: usize, vm: &VirtualMachine) -> bool {
    const DEPTH: usize = 8;
    let is_of_numpy = || o.class().has_attr(vm.ctx.intern_str("__torch_input__")) && switch("trace_numpy");
    if o.downcast_ref::<TensorBase>().is_some() || is_of_numpy() || own_attribute(o, "_modules", vm).is_some() {
        return true;
    }
    if let Some(class) = o.downcast_ref::<PyType>() {
        return class.get_attr(vm.ctx.intern_str("_call_impl")).is_some();
    }
    if depth > DEPTH {
        return false;
    }
    if o.class().is(vm.ctx.types.dict_type) {
        let values = o.downcast_ref::<PyDict>().map(|d| d.into_iter().map(|(_, v)| v).collect::<Vec<_>>());
        return values.unwrap_or_default().iter().any(|v| holds_tensor(v, depth + 1, vm));
    }
    let is_sequence = o.class().is(vm.ctx.types.list_type) || o.class().is(vm.ctx.types.tuple_type);
    let is_named = || o.class().get_attr(vm.ctx.intern_str("_fields")).is_some();
    (is_sequence || is_named())
        && crate::python::native::tensor::items(o).unwrap_or_default().iter().any(|item| holds_tensor(item, depth + 1, vm))
}
