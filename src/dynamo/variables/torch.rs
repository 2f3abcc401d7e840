//! Calls of the script's as they are written: the arguments that Python was given, and what becomes of the result.
//!
//! Dynamo shows the function that the script called with the arguments as they stand there, and names the node after
//! the variable that the result is stored in. Which one that is, is read from the bytecode: what the frames do when the call has
//! returned.

use std::rc::Rc;

use rustpython_vm::builtins::{PyCode, PyDict, PyList, PyRange, PySlice, PyTuple};
use rustpython_vm::bytecode::oparg;
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyRef, PyResult, VirtualMachine};

use crate::dispatch::Value;
use crate::dynamo::bytecode_analysis::Code;
use crate::dynamo::bytecode_analysis::decoded::decoded;
use crate::dynamo::bytecode_analysis::instruction::{Operation, Step};
use crate::dynamo::eval_frame::call;
use crate::dynamo::{Fate, Recorder, Variable};
use crate::graph::{Arg, NodeId, Shown, Target, WrittenCall};
use crate::python::native::tensor::{WrittenIn, items, overridden, raise, said, to_tensor, to_value};
use crate::shape::SymInt;
use crate::tensor::Tensor;

/// What is called, as the captured graph shows it.
pub enum Callee {
    /// A function by its dotted name, and what its node is named after.
    Function(String, String),
    /// A method.
    Method(&'static str),
    /// An operator, by Python's symbol for it.
    Operator(&'static str),
}

impl Callee {
    /// The function of a dotted name.
    pub fn function(path: String) -> Self {
        let name = match path.strip_prefix("torch.ops.").map(|p| p.split('.').skip(1).collect::<Vec<_>>()) {
            Some(parts) => parts.join("_"),
            None => path.rsplit('.').next().unwrap_or_default().to_owned(),
        };
        Callee::Function(path, name)
    }

    /// What the node calls, and what it is named after.
    fn target(self, arguments: usize) -> (Target, String) {
        let op: Rc<str> = "".into();
        match self {
            Callee::Function(path, name) => (Target::Torch { op, shown: Shown::Function(path.into()) }, name),
            Callee::Method(name) => (Target::Torch { op, shown: Shown::Method(name.into()) }, name.to_owned()),
            Callee::Operator("[]") => (Target::Getitem, "getitem".to_owned()),
            Callee::Operator("abs") => (Target::operator("abs"), "abs".to_owned()),
            Callee::Operator(symbol) => {
                (Target::Torch { op, shown: Shown::Operator(symbol.into()) }, operator_name(symbol, arguments).to_owned())
            }
        }
    }
}

/// The name in Python's `operator` module.
fn operator_name(symbol: &str, arguments: usize) -> &'static str {
    match (symbol, arguments) {
        ("-", 1) => "neg",
        ("+", 1) => "pos",
        ("+", _) => "add",
        ("-", _) => "sub",
        ("*", _) => "mul",
        ("/", _) => "truediv",
        ("//", _) => "floordiv",
        ("%", _) => "mod",
        ("**", _) => "pow",
        ("@", _) => "matmul",
        ("&", _) => "and_",
        ("|", _) => "or_",
        ("^", _) => "xor",
        ("~", _) => "invert",
        ("<<", _) => "lshift",
        (">>", _) => "rshift",
        ("==", _) => "eq",
        ("!=", _) => "ne",
        ("<", _) => "lt",
        ("<=", _) => "le",
        (">", _) => "gt",
        (">=", _) => "ge",
        ("+=", _) => "iadd",
        ("-=", _) => "isub",
        ("*=", _) => "imul",
        ("/=", _) => "itruediv",
        ("//=", _) => "ifloordiv",
        ("%=", _) => "imod",
        ("**=", _) => "ipow",
        ("&=", _) => "iand",
        ("|=", _) => "ior",
        ("^=", _) => "ixor",
        ("[]=", _) => "setitem",
        _ => "operator",
    }
}

/// Makes a call of the script's: what it records is shown as this call. A call within another one is part of that.
pub fn as_written(callee: impl FnOnce() -> Callee, args: &FuncArgs, vm: &VirtualMachine, make: impl FnOnce() -> PyResult) -> PyResult {
    at_depth(0, callee, args, vm, make)
}

/// The same for a call that so many frames of the library were entered for.
fn at_depth(
    depth: usize,
    callee: impl FnOnce() -> Callee,
    args: &FuncArgs,
    vm: &VirtualMachine,
    make: impl FnOnce() -> PyResult,
) -> PyResult {
    let Some(recorder) = call::recorder().filter(|r| !r.is_in_call()) else { return make() };
    recorder.look_around().map_err(|e| raise(e, vm))?;
    if !recorder.is_over() {
        // In the order in which Dynamo realizes them: what the call is made on, then what its containers hold.
        let mut direct = args.args.iter().chain(args.kwargs.values()).filter_map(|o| to_tensor(o));
        direct.try_for_each(|t| recorder.touch(&t, false)).map_err(|e| raise(e, vm))?;
    }
    let frames = call::frames();
    let operands = frames.get(depth).map(|(code, at)| operands(code, *at, args.args.len(), args.kwargs.len())).unwrap_or_default();
    let mut told = Told { recorder: &recorder, unknown: Vec::new(), read: Vec::new(), vm };
    let variable = |i: usize| operands.get(i).and_then(Option::as_ref);
    let positional: Option<Vec<Arg>> = args.args.iter().enumerate().map(|(i, o)| told.arg(o, variable(i))).collect();
    let by_name = args.kwargs.iter().enumerate().map(|(i, (name, o))| (name, o, variable(args.args.len() + i)));
    let keywords: Option<Vec<(Rc<str>, Arg)>> =
        by_name.map(|(name, o, variable)| Some((Rc::from(&*name.to_string_lossy()), told.arg(o, variable)?))).collect();
    let Told { unknown, read, .. } = told;
    let Some(open) = recorder.open_call() else { return make() };
    let result = match make() {
        Ok(result) => result,
        Err(e) if recorder.is_over() => return Err(e),
        // What an operator says of an operand that is none is not what Python says.
        Err(e) if matches!(callee(), Callee::Operator(_)) && e.class().is(vm.ctx.exceptions.type_error) => return Err(e),
        Err(e) => return Err(recorder.failed(e, || given(args, &recorder, vm), call::is_whole(), vm)),
    };
    let mut results = Vec::new();
    // A list that was written to is no new one.
    if !args.args.first().is_some_and(|list| list.is(&result) && items(list).is_some()) {
        tensors(&result, &mut Vec::new(), &mut results);
    }
    let fate = fate_of(&frames, &results);
    let known: Option<Vec<NodeId>> = unknown.iter().map(|t| recorder.written_node(t, None)).collect();
    let call = match (positional, keywords, known) {
        (Some(args), Some(kwargs), Some(known)) => {
            let (target, name) = callee().target(args.len());
            let mut follow = |id: NodeId| Arg::Node(known.get((u32::MAX - id.0) as usize).copied().unwrap_or(id));
            let args = args.iter().map(|a| a.map_nodes(&mut follow)).collect();
            let kwargs = kwargs.into_iter().map(|(k, a)| (k, a.map_nodes(&mut follow))).collect();
            Some(WrittenCall { target, name: name.into(), args, kwargs, stored: fate.names() })
        }
        _ => None,
    };
    open.close(call, &results, &read, &fate);
    Ok(result)
}

/// Names what a call of the library's gives after the variables that it is stored in.
pub fn name_results(recorder: &Recorder, result: &PyObject) {
    let mut results = Vec::new();
    tensors(result, &mut Vec::new(), &mut results);
    let fate = fate_of(&call::frames(), &results);
    recorder.name_results(&results, &fate.names());
}

/// Arguments as a graph shows them.
struct Told<'a> {
    recorder: &'a Recorder,
    /// Tensors that are no inputs yet. They may become ones while the call is made; until then nodes counted from the last stand for
    /// them.
    unknown: Vec<Tensor>,
    /// Tensors that are read from variables, and what they are.
    read: Vec<(Tensor, Variable, NodeId)>,
    vm: &'a VirtualMachine,
}

impl Told<'_> {
    /// None for what no graph shows.
    fn arg(&mut self, o: &PyObject, variable: Option<&Variable>) -> Option<Arg> {
        let vm = self.vm;
        if let Some(t) = to_tensor(o) {
            let node = self.recorder.written_node(&t, variable);
            if let (Some(node), Some(variable)) = (node, variable) {
                self.read.push((t.clone(), variable.clone(), node));
            }
            return Some(Arg::Node(node.unwrap_or_else(|| {
                self.unknown.push(t);
                NodeId(u32::MAX - (self.unknown.len() - 1) as u32)
            })));
        }
        if let Some(list) = items(o) {
            let args = list.iter().map(|o| self.arg(o, None)).collect::<Option<Vec<_>>>()?;
            return Some(if o.fast_isinstance(vm.ctx.types.tuple_type) { Arg::Tuple(args) } else { Arg::List(args) });
        }
        if let Some(slice) = o.downcast_ref::<PySlice>() {
            let or_none = |part: &Option<PyObjectRef>| part.clone().unwrap_or_else(|| vm.ctx.none());
            return Some(Arg::Slice(Box::new([
                self.arg(&or_none(&slice.start), None)?,
                self.arg(&slice.stop, None)?,
                self.arg(&or_none(&slice.step), None)?,
            ])));
        }
        if o.is(&vm.ctx.ellipsis) {
            return Some(Arg::Ellipsis);
        }
        if o.downcast_ref::<PyDict>().is_some() || o.downcast_ref::<PyRange>().is_some() {
            return None;
        }
        let value = to_value(o, vm)?;
        // A number that varies becomes an input where it is first read: after the tensors that are read before it.
        if matches!(value, Value::SymFloat(_) | Value::Int(SymInt::Sym(..))) {
            self.unknown.iter().try_for_each(|t| self.recorder.touch(t, false)).ok()?;
        }
        self.recorder.argument(&value).ok()
    }
}

/// Tensors in a call's result, with the ways to them.
fn tensors(o: &PyObject, way: &mut Vec<u32>, found: &mut Vec<(Vec<u32>, Tensor)>) {
    if let Some(t) = to_tensor(o) {
        found.push((way.clone(), t));
    } else if let Some(items) = items(o) {
        for (i, item) in items.iter().enumerate() {
            way.push(i as u32);
            tensors(item, way, found);
            way.pop();
        }
    }
}

/// What a place on the interpreter's stack holds, as far as it is the result of the call.
#[derive(Clone, Debug)]
enum Slot {
    Other,
    /// A small number.
    Int(u32),
    /// An item of the result, or all of it.
    Result(Vec<u32>),
    Items(Vec<Slot>),
}

impl Slot {
    fn is_other(&self) -> bool {
        match self {
            Slot::Other | Slot::Int(_) => true,
            Slot::Result(_) => false,
            Slot::Items(items) => items.iter().all(Slot::is_other),
        }
    }
}

/// The way to every item of a result.
const EACH: [u32; 1] = [u32::MAX];

/// A value is stored.
fn store(fate: &mut Fate, slot: Slot, variable: Option<Variable>) {
    if let (Slot::Result(way), Some(variable)) = (slot, variable) {
        fate.stored.push((way, variable));
    }
}

/// What becomes of the result of the call that is being made: followed through the frames that it is returned from. A sequence may be
/// subscripted on the way, or walked through by a loop.
fn fate_of(frames: &[(PyRef<PyCode>, u32)], results: &[(Vec<u32>, Tensor)]) -> Fate {
    let mut fate = Fate::default();
    let is_sequence = !results.iter().any(|(way, _)| way.is_empty());
    let mut result = Slot::Result(Vec::new());
    for (code, at) in frames {
        let decoded = decoded(code);
        let Some(position) = decoded.position(*at) else { break };
        match follow(code, &decoded, position, (result, is_sequence), &mut fate) {
            Some(returned) => result = returned,
            None => break,
        }
    }
    // A loop's variable is stored once per item.
    if let Some(at) = fate.stored.iter().position(|(way, _)| *way == EACH) {
        let (_, variable) = fate.stored.remove(at);
        let items = results.iter().filter(|(way, _)| way.len() == 1);
        fate.stored.extend(items.map(|(way, _)| (way.clone(), variable.clone())));
    }
    fate
}

/// The variables that the first operands of the instruction at a place are read from, where they are.
fn operands(code: &Py<PyCode>, at: u32, count: usize, keywords: usize) -> Vec<Option<Variable>> {
    let decoded = decoded(code);
    let mut found = vec![None; count + keywords];
    let Some(position) = decoded.position(at) else { return found };
    let step = &decoded.steps[position];
    // What is looked for on the stack, the top last.
    let mut stack: Vec<Option<usize>> = match step.op {
        Operation::StoreSubscr if count == 3 => vec![Some(2), Some(0), Some(1)],
        // Above the arguments are those by keyword, and their names.
        Operation::CallKw(_) => (0..count + keywords).map(Some).chain([None]).collect(),
        Operation::Call(_) | Operation::BinaryOp(_) | Operation::CompareOp(_) | Operation::UnaryArithmetic => {
            (0..count).map(Some).collect()
        }
        _ => return found,
    };
    const LONG: usize = 100;
    for step in decoded.steps[..position].iter().rev().take(LONG) {
        if step.target.is_some() || stack.iter().all(Option::is_none) {
            break;
        }
        let mut pop = || stack.pop().flatten();
        let mut note = |operand: Option<usize>, slot: u32| {
            if let Some(operand) = operand {
                found[operand] = variable(code, slot);
            }
        };
        match step.op {
            Operation::LoadFast(slot) | Operation::LoadDeref(slot) => note(pop(), slot),
            Operation::LoadFastPair(first, second) => {
                note(pop(), second);
                note(pop(), first);
            }
            // Pushes the method and below it, or above, the object.
            Operation::LoadAttr { is_called: true, .. } => {
                let (one, other) = (pop(), pop());
                stack.push(one.or(other));
            }
            Operation::Copy(_) | Operation::Swap(_) => break,
            _ => {
                for _ in 0..step.pushed {
                    pop();
                }
                stack.extend((0..step.popped).map(|_| None));
            }
        }
    }
    found
}

fn variable(code: &Py<PyCode>, slot: u32) -> Option<Variable> {
    let slot = slot as usize;
    let name = code.varnames.get(slot).or_else(|| code.cellvars.get(slot.checked_sub(code.varnames.len())?))?;
    let parameters = (code.arg_count + code.kwonlyarg_count) as usize;
    let is_parameter = slot < parameters || slot >= code.varnames.len();
    Some(Variable { code: std::ptr::from_ref(code) as usize, name: name.as_str().into(), is_parameter })
}

/// Runs what comes after an instruction, as far as it is sure to run, with the result on top of the stack; gives what is returned, if
/// the result, or something with it, is.
fn follow(code: &Py<PyCode>, decoded: &Code, position: usize, (result, is_sequence): (Slot, bool), fate: &mut Fate) -> Option<Slot> {
    const LONG: usize = 200;
    let mut stack = vec![result];
    let mut at = position + 1;
    for _ in 0..LONG {
        let step: &Step = decoded.steps.get(at)?;
        at += 1;
        if matches!(step.op, Operation::GetIter) && is_sequence && matches!(stack.last(), Some(Slot::Result(way)) if way.is_empty()) {
            let next = (decoded.steps.get(at)?, decoded.steps.get(at + 1)?);
            if let (Operation::ForIter, Operation::StoreFast(slot)) = (next.0.op, next.1.op) {
                store(fate, Slot::Result(EACH.to_vec()), variable(code, slot));
            }
            return None;
        }
        let mut pop = || stack.pop().unwrap_or(Slot::Other);
        match step.op {
            Operation::StoreFast(slot) | Operation::StoreDeref(slot) => store(fate, pop(), variable(code, slot)),
            Operation::StoreFastPair(first, second) => {
                store(fate, pop(), variable(code, first));
                store(fate, pop(), variable(code, second));
            }
            Operation::StoreFastLoadFast(stored, _) => {
                store(fate, pop(), variable(code, stored));
                stack.push(Slot::Other);
            }
            Operation::PopTop => {
                if matches!(pop(), Slot::Result(way) if way.is_empty()) && fate.stored.is_empty() {
                    fate.is_dropped = true;
                }
            }
            Operation::Copy(n) => {
                let copied = stack.len().checked_sub(n as usize).map_or(Slot::Other, |i| stack[i].clone());
                stack.push(copied);
            }
            Operation::Swap(n) => {
                while stack.len() < n as usize {
                    stack.insert(0, Slot::Other);
                }
                let last = stack.len() - 1;
                stack.swap(last, last + 1 - n as usize);
            }
            Operation::LoadSmallInt(number) => stack.push(Slot::Int(number)),
            Operation::BinaryOp(oparg::BinaryOperator::Subscr) => {
                let (index, whole) = (pop(), pop());
                let item = match (index, whole) {
                    (Slot::Int(i), Slot::Result(way)) if is_sequence => Slot::Result(way.into_iter().chain([i]).collect()),
                    (Slot::Int(i), Slot::Items(items)) => items.get(i as usize).cloned().unwrap_or(Slot::Other),
                    _ => Slot::Other,
                };
                stack.push(item);
            }
            Operation::BuildSequence(count) => {
                let mut items: Vec<Slot> = (0..count).map(|_| pop()).collect();
                items.reverse();
                stack.push(Slot::Items(items));
            }
            Operation::UnpackSequence(count) => {
                let whole = pop();
                let item = |i: u32| match &whole {
                    Slot::Result(way) => Slot::Result(way.iter().copied().chain([i]).collect()),
                    Slot::Items(items) => items.get(i as usize).cloned().unwrap_or(Slot::Other),
                    Slot::Other | Slot::Int(_) => Slot::Other,
                };
                stack.extend((0..count).rev().map(item));
            }
            // A module's call hands its result on as it is.
            Operation::Call(1) if code.names.iter().any(|name| name.as_str() == "_gives") => {}
            Operation::ReturnValue => return Some(pop()).filter(|s| !s.is_other()),
            Operation::JumpForward => at = decoded.position(step.target?)?,
            _ if step.target.is_some() => return None,
            _ => {
                (0..step.popped).for_each(|_| drop(pop()));
                stack.extend((0..step.pushed).map(|_| Slot::Other));
            }
        }
        if stack.iter().all(Slot::is_other) {
            return None;
        }
    }
    None
}

/// `_call_overridable(public, implementation, args, kwargs)`: a call of a function that PyTorch writes in Python, which counts as
/// one, and which classes and modes are asked about.
pub fn call_overridable(public: &PyObject, implementation: &PyObject, args: &FuncArgs, vm: &VirtualMachine) -> PyResult {
    match overridden(|| Ok(public.to_owned()), args, WrittenIn::Python, vm)? {
        Some(result) => Ok(result),
        None => call_as_one(public, implementation, args, vm),
    }
}

/// A call that counts as one. Methods of tensors go by their names alone.
pub fn call_as_one(public: &PyObject, implementation: &PyObject, args: &FuncArgs, vm: &VirtualMachine) -> PyResult {
    let text = |name: &'static str| {
        let found = public.get_attr(name, vm).and_then(|o| o.str(vm));
        found.map_or_else(|_| String::new(), |s| s.to_string_lossy().into_owned())
    };
    let callee = || {
        let name = text("__qualname__");
        match name.strip_prefix("Tensor.") {
            Some(method) => Callee::Method(vm.ctx.intern_str(method).as_str()),
            None => Callee::function(format!("{}.{name}", text("__module__"))),
        }
    };
    at_depth(1, callee, args, vm, || {
        let result = implementation.call(args.clone(), vm);
        if let (Err(e), Some(recorder)) = (&result, call::recorder()) {
            recorder.note_raised(|| called(public, vm), &e.class().name(), &said(e, vm));
        }
        result
    })
}

/// A call of numpy's: one of the wrapper that Dynamo calls it through.
pub fn call_of_numpy(name: &str, implementation: &PyObject, args: &FuncArgs, vm: &VirtualMachine) -> PyResult {
    let callee = || Callee::Function(format!("torch__dynamo_utils_{name}"), name.to_owned());
    // Operands are no variables' values: those are arrays.
    at_depth(usize::MAX, callee, args, vm, || implementation.call(args.clone(), vm))
}

/// A function of the library's, as PyTorch says which call of a graph failed.
fn called(function: &PyObject, vm: &VirtualMachine) -> String {
    format!("call_function {}", shown(function, vm))
}

/// The arguments of a call, likewise.
fn given(args: &FuncArgs, recorder: &Recorder, vm: &VirtualMachine) -> String {
    let positional: Vec<String> = args.args.iter().map(|o| argument(o, recorder, vm)).collect();
    let comma = if positional.len() == 1 { "," } else { "" };
    let named = |(name, o): (&_, &PyObjectRef)| format!("'{name}': {}", argument(o, recorder, vm));
    let keywords: Vec<String> = args.kwargs.iter().map(|(name, o)| named((&name.to_string_lossy(), o))).collect();
    format!("(*({}{comma}), **{{{}}})", positional.join(", "), keywords.join(", "))
}

fn argument(o: &PyObjectRef, recorder: &Recorder, vm: &VirtualMachine) -> String {
    let all = |items: &[PyObjectRef]| items.iter().map(|o| argument(o, recorder, vm)).collect::<Vec<_>>();
    match to_tensor(o) {
        Some(t) if o.class().name().ends_with("Parameter") => format!("Parameter({})", recorder.shown_in_error(&t)),
        Some(t) => recorder.shown_in_error(&t),
        None => match (o.downcast_ref::<PyList>(), o.downcast_ref::<PyTuple>()) {
            (Some(list), _) => format!("[{}]", all(&list.borrow_vec()).join(", ")),
            (_, Some(tuple)) => format!("({}{})", all(tuple).join(", "), if tuple.len() == 1 { "," } else { "" }),
            _ => shown(o, vm),
        },
    }
}

fn shown(o: &PyObject, vm: &VirtualMachine) -> String {
    o.repr(vm).map_or_else(|_| String::new(), |s| s.to_string_lossy().into_owned())
}
