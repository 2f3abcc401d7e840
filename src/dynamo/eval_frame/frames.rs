//! The frames at a graph break: which run, which of their variables are live, and whether each can be resumed there.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use rustpython_vm::builtins::{PyCode, PyDict, PyDictRef, PyStr, PyTuple};
use rustpython_vm::frame::{FrameObject, current_thread_frame_materialize};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::resumption::{self, Resumption, Scope};
use crate::dispatch::{Exclude, Key, Value};
use crate::dynamo::bytecode_analysis::Code;
use crate::dynamo::bytecode_analysis::decoded::{Chain, decoded, place_of};
use crate::dynamo::bytecode_analysis::instruction::{Operation, Step};
use crate::dynamo::containers::for_each_leaf;
use crate::dynamo::resume_functions::ResumeFunction;
use crate::dynamo::side_effects::escapes;
use crate::dynamo::source::{Locals, own_attribute, set_variable};
use crate::dynamo::symbolic_convert::{Resumed, UnderWay};
use crate::python::native::tensor::{TensorBase, array_memory, condition, float_hint, symbolic, symbolic_float, symbolic_hint, wrap};
use crate::python::span::{FrameMark, LibraryFile, Standing, frames_above};
use crate::tensor::Tensor;

/// A tensor or a symbolic number that a variable holds.
struct Held {
    id: usize,
    number: Option<Value>,
}

/// Where one frame stands.
pub struct Frame {
    /// The frame, the instruction that it is at, and whether Dynamo compiles such functions as frames of their own.
    pub standing: Standing,
    /// Its code.
    pub code: PyObjectRef,
    /// What becomes of the frame if its graph breaks here.
    pub resumption: Resumption,
    /// The position of the instruction in its decoded code.
    pub position: usize,
    /// The frame as Python sees it.
    object: PyObjectRef,
    /// Its globals.
    pub globals: PyDictRef,
    /// What variables hold that are read later on.
    live: Vec<Held>,
    /// Tensors it was given as arguments; of the library's, all that it has.
    given: Vec<usize>,
    /// Tensors in variables which an expression under way holds, too.
    under_way: Vec<usize>,
    /// Tensors in variables that are not.
    dead: Vec<usize>,
    /// Tensors in containers that are not.
    held: Vec<usize>,
    compares: bool,
}

/// Tensors and symbolic sizes in a variable's value, in order.
fn tensors(o: &PyObject, found: &mut Vec<Held>, vm: &VirtualMachine) {
    for_each_leaf(o, |o| {
        if o.downcast_ref::<TensorBase>().is_some() {
            found.push(Held { id: o.get_id(), number: None });
        } else if let Some(size) = symbolic(o, vm) {
            found.push(Held { id: o.get_id(), number: Some(Value::Int(size)) });
        } else if let Some(float) = symbolic_float(o, vm).filter(|f| f.hint().is_none()) {
            found.push(Held { id: o.get_id(), number: Some(Value::SymFloat(float)) });
        } else if let Some(condition) = condition(o, vm).filter(|condition| condition.decided().is_none()) {
            found.push(Held { id: o.get_id(), number: Some(Value::Opaque(Rc::new(condition))) });
        }
    });
}

/// The tensors of a list, tuple or dictionary, or of numpy's array, that nothing else holds than what holds it: they go when it goes. `owners` are the
/// references to it that are known.
fn held_alone(o: &PyObject, owners: usize, depth: usize, found: &mut Vec<usize>) {
    if depth > 0 && o.downcast_ref::<TensorBase>().is_some() {
        found.push(o.get_id());
        return;
    }
    if o.strong_count() > owners || depth > 4 {
        return;
    }
    // The container has an item, and the copy of its items.
    if let Some(dict) = o.downcast_ref::<PyDict>() {
        dict.into_iter().for_each(|(_, v)| held_alone(&v, 2, depth + 1, found));
    } else if let Some(items) = crate::python::native::tensor::items(o) {
        items.iter().for_each(|i| held_alone(i, 2, depth + 1, found));
    } else if let Some(memory) = array_memory(o) {
        held_alone(&memory, 2, depth + 1, found);
    }
}

impl Frame {
    /// Whether its instruction takes so many values, none of them a tuple made for it, and expressions under way hold no others.
    pub fn takes_all(&self, count: usize) -> bool {
        let Some(code) = self.code.downcast_ref::<PyCode>() else { return false };
        let decoded = decoded(code);
        let makes_tuple = |step: &Step| matches!(step.op, Operation::BuildSequence(_));
        let is_made = self.position.checked_sub(1).and_then(|before| decoded.steps.get(before)).is_some_and(makes_tuple);
        decoded.height(self.position) == Some((count, count)) && !is_made
    }

    /// Whether the frame would be skipped if its graph broke there, or further on.
    pub fn may_skip_frame(&self) -> bool {
        let ahead = |code: &Py<PyCode>| {
            let decoded = decoded(code);
            let ahead = decoded.position(self.standing.since).map_or(&[] as &[Step], |position| &decoded.steps[position..]);
            let goes_back = |step: &Step| step.target.is_some_and(|target| target < step.at);
            ahead.iter().any(|step| goes_back(step) || resumption::in_try(code, &decoded, step.at))
        };
        self.resumption == Resumption::Never
            || self.standing.is_script && self.code.clone().downcast::<PyCode>().is_ok_and(|code| ahead(&code))
    }
}

/// Looks at the frames above a marked one, outermost first.
pub fn standing(base: FrameMark, vm: &VirtualMachine) -> PyResult<Vec<Frame>> {
    let Some(places) = frames_above(base) else { return Ok(Vec::new()) };
    let mut objects = Vec::new();
    let mut frame: Option<PyObjectRef> = current_thread_frame_materialize(vm).map(Into::into);
    // A comprehension runs in the frame of its function.
    let shares_frame = |i: usize| i > 0 && places[i - 1].id == places[i].id;
    let count = (0..places.len()).filter(|i| !shares_frame(*i)).count();
    while let Some(object) = frame.take().filter(|_| objects.len() < count) {
        let back = object.get_attr("f_back", vm)?;
        objects.push(object);
        frame = (!vm.is_none(&back)).then_some(back);
    }
    objects.reverse();
    let innermost = places.len().saturating_sub(1);
    let mut frames = Vec::with_capacity(places.len());
    let mut objects = objects.into_iter();
    let mut object: Option<PyObjectRef> = None;
    for (i, standing) in places.iter().copied().enumerate() {
        let is_comprehension = shares_frame(i);
        if !is_comprehension {
            object = objects.next();
        }
        let Some(object) = &object else { continue };
        let Some(frame) = object.downcast_ref::<FrameObject>() else { continue };
        let code: PyObjectRef = frame.iframe().code().to_owned().into();
        let Some(plain) = code.downcast_ref::<PyCode>() else { continue };
        let decoded = decoded(plain);
        let (Some(position), Some(since)) = (decoded.position(standing.at), decoded.position(standing.since)) else { continue };
        // A comprehension's variables are its own.
        let puts_aside = |s: &&Step| matches!(s.op, Operation::LoadFastAndClear(_));
        let since = since + decoded.steps[since..].iter().take_while(puts_aside).count();
        // The library's own frames are not what PyTorch's would be, but for containers, whose loops are.
        let is_script = standing.is_script;
        let loops = is_script || LibraryFile::of(frame.iframe()) == LibraryFile::Containers;
        // Nor can it go on where a generator is under way.
        let is_consumed = places.get(i + 1).is_some_and(|inner| inner.is_generator && inner.id != standing.id);
        let variables = frame.locals(vm)?;
        let globals = frame.iframe().globals().to_owned();
        // A comprehension is a call in older bytecode.
        let is_called = standing.since != standing.at || is_comprehension;
        let resumes = || is_called || decoded.resumes(position);
        let scope = Scope { locals: variables.obj(), globals: &globals, vm };
        let leaves = is_script && (!resumes() || resumption::is_in_block(plain, &decoded, since, &scope));
        let resumption = match () {
            () if is_script && is_consumed => Resumption::Never,
            () if leaves => Resumption::Before(resumption::statement(plain, &decoded, since)),
            () if loops && decoded.is_in_loop(since) => Resumption::Never,
            () => Resumption::Here,
        };
        let compares = i == innermost && matches!(decoded.steps[position].op, Operation::CompareOp(_));
        let (mut live, mut dead, mut held, mut given) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut under_way = Vec::new();
        let operands = decoded.operands(position);
        let arguments = if is_script { plain.arg_count as usize } else { plain.varnames.len() };
        if let Some(values) = variables.obj().downcast_ref::<PyDict>().filter(|_| !is_comprehension) {
            for (slot, name) in plain.varnames.iter().enumerate() {
                let Some(value) = values.get_item_opt(name.as_str(), vm)? else { continue };
                let mut found = Vec::new();
                tensors(&value, &mut found, vm);
                if slot < arguments {
                    given.extend(found.iter().map(|h| h.id));
                }
                if operands.contains(&(slot as u32)) {
                    under_way.extend(found.iter().map(|h| h.id));
                }
                if decoded.is_live(since, slot) {
                    live.append(&mut found);
                } else if operands.contains(&(slot as u32)) {
                    // What the expression holds is kept by it.
                } else if value.downcast_ref::<TensorBase>().is_some() {
                    dead.push(value.get_id());
                } else {
                    // The variable has it, the dictionary of variables, and `value`.
                    held_alone(&value, 3, 0, &mut dead);
                    held.extend(found.into_iter().map(|h| h.id));
                }
            }
        }
        frames.push(Frame {
            standing,
            code,
            resumption,
            position,
            object: object.clone(),
            globals,
            live,
            dead,
            held,
            given,
            under_way,
            compares,
        });
    }
    Ok(frames)
}

impl Frame {
    /// Where the code that has run since a statement began last stands: the places of its first and of its last instruction.
    pub fn since_statement(&self, statement: usize) -> Option<std::ops::RangeInclusive<u32>> {
        let decoded = decoded(self.code.downcast_ref::<PyCode>()?);
        Some(decoded.steps.get(statement)?.at..=decoded.end_since(statement, self.position))
    }

    /// Whether it asks for a truth there.
    pub fn decides(&self) -> bool {
        self.code.downcast_ref::<PyCode>().is_some_and(|code| self.standing.is_script && decoded(code).decides(self.position))
    }

    /// What becomes of it where nothing goes on behind the instruction.
    pub fn before(&self) -> Resumption {
        let statement = |code: &Py<PyCode>| resumption::statement(code, &decoded(code), self.position);
        Resumption::Before(self.code.downcast_ref::<PyCode>().and_then(statement))
    }

    /// The code and the instruction: what goes on from here is code of its own.
    pub fn place(&self) -> Chain {
        let code = self.code.downcast_ref::<PyCode>();
        // The interpreter's shortcuts leave the frame at other words of one instruction.
        let at = code.and_then(|c| decoded(c).steps.get(self.position).map(|s| s.at)).unwrap_or(self.standing.at);
        vec![(code.map_or(0, |c| std::ptr::from_ref(c) as usize), at)]
    }

    /// Its variables now. Whoever keeps them keeps alive what they hold.
    fn variables(&self, vm: &VirtualMachine) -> PyResult {
        match self.object.downcast_ref::<FrameObject>() {
            Some(frame) => Ok(frame.locals(vm)?.obj().to_owned()),
            None => Ok(vm.ctx.new_dict().into()),
        }
    }

    /// Symbolic numbers in its variables become the numbers that they are: the graph that they were symbols of has ended. Gives
    /// what was there, which expressions under way may still hold.
    pub fn settle(&self, vm: &VirtualMachine) -> PyResult<Vec<PyObjectRef>> {
        let mut before = Vec::new();
        let variables = self.variables(vm)?;
        let Some(variables) = variables.downcast_ref::<PyDict>() else { return Ok(before) };
        for (name, value) in variables {
            let number: PyObjectRef = match (symbolic_hint(&value, vm), float_hint(&value, vm)) {
                (Some(n), _) => vm.ctx.new_int(n).into(),
                (_, Some(f)) => vm.ctx.new_float(f).into(),
                _ => continue,
            };
            if let Some(name) = name.downcast_ref::<PyStr>() {
                set_variable(&self.object, &name.to_string_lossy(), number, vm)?;
                before.push(value);
            }
        }
        Ok(before)
    }

    /// The code of the body of the module whose hooks it calls.
    pub fn hooked_body(&self, vm: &VirtualMachine) -> Option<PyObjectRef> {
        let variables = self.standing.calls_hooks.then(|| self.variables(vm).ok()).flatten()?;
        let module = variables.get_item("self", vm).ok()?;
        crate::dynamo::variables::nn_module::body(&module, vm)
    }

    /// The variables that the body of the module whose hooks it calls begins with.
    fn given_to_body(&self, body: &Py<PyCode>, vm: &VirtualMachine) -> PyResult<PyDictRef> {
        let (variables, given) = (self.variables(vm)?, vm.ctx.new_dict());
        let names = body.varnames.iter().take(body.arg_count as usize);
        let args = variables.get_item("args", vm)?;
        let values =
            [variables.get_item("self", vm)?].into_iter().chain(args.downcast_ref::<PyTuple>().into_iter().flat_map(|t| t.to_vec()));
        for (name, value) in names.zip(values) {
            given.set_item(name.as_str(), value, vm)?;
        }
        if let Some(kwargs) = variables.get_item("kwargs", vm)?.downcast_ref::<PyDict>() {
            for (name, value) in kwargs {
                given.set_item(&*name, value, vm)?;
            }
        }
        Ok(given)
    }

    /// The position of the instruction that it is at: of a comprehension, that of its beginning.
    pub fn since(&self) -> usize {
        let code = self.code.downcast_ref::<PyCode>();
        code.and_then(|code| decoded(code).position(self.standing.since)).unwrap_or(self.position)
    }

    /// Where the function goes on, or (`at_entry`) where it begins.
    pub fn resumed(&self, at_entry: bool, vm: &VirtualMachine) -> Resumed {
        let variable = |(k, v): (PyObjectRef, PyObjectRef)| Some((k.downcast_ref::<PyStr>()?.to_string_lossy().as_ref().into(), v));
        let body = self.hooked_body(vm).filter(|_| at_entry);
        let values = match body.as_ref().and_then(|b| b.downcast_ref::<PyCode>()) {
            Some(body) => self.given_to_body(body, vm).map(Into::into).ok(),
            None => self.variables(vm).ok(),
        };
        let locals = values
            .as_ref()
            .and_then(|v| v.downcast_ref::<PyDict>())
            .map(|d| d.into_iter().filter_map(variable).filter(|(_, v)| v.downcast_ref::<TensorBase>().is_none()).collect());
        let name = |(k, v): (PyObjectRef, PyObjectRef)| {
            v.downcast_ref::<TensorBase>()?;
            Some(k.downcast_ref::<PyStr>()?.to_string_lossy().as_ref().into())
        };
        let tensors = values.as_ref().and_then(|v| v.downcast_ref::<PyDict>()).map(|d| d.into_iter().filter_map(name).collect());
        let mut resumed = Resumed {
            code: body.unwrap_or_else(|| self.code.clone()),
            globals: Some(self.globals.clone()),
            locals: locals.unwrap_or_default(),
            tensors: tensors.unwrap_or_default(),
            position: (!at_entry).then_some(self.position),
            truth: None,
            given: None,
            frame: self.object.clone(),
            stack: UnderWay::default(),
            has_tensor: true,
        };
        if !at_entry {
            resumed.hold(vm);
        }
        let code = resumed.code.downcast_ref::<PyCode>();
        if let (Some(code), Some(values)) = (code, values.as_ref().and_then(|v| v.downcast_ref::<PyDict>())) {
            let is_live = |name: &PyObject| {
                let name = name.downcast_ref::<PyStr>().map(|n| n.to_string_lossy().into_owned());
                let slot = code.varnames.iter().position(|n| Some(n.as_str()) == name.as_deref());
                at_entry || slot.is_none_or(|slot| decoded(code).is_live(self.position + 1, slot))
            };
            let values = values.into_iter().filter(|(name, _)| is_live(name)).map(|(_, value)| value);
            resumed.has_tensor = resumed.stack.may_hold_tensor(vm) || resumption::has_tensor(code, &self.globals, values, vm);
        }
        resumed
    }

    /// The tensors that are variables of it.
    pub fn tensors(&self, vm: &VirtualMachine) -> Vec<PyObjectRef> {
        let variables = self.variables(vm).ok();
        let variables = variables.as_ref().and_then(|v| v.downcast_ref::<PyDict>());
        let values = variables.into_iter().flat_map(|d| d.into_iter().map(|(_, value)| value));
        values.filter(|value| value.downcast_ref::<TensorBase>().is_some()).collect()
    }

    /// Its resume function, where it is the script's.
    pub fn resume_function(&self) -> Option<ResumeFunction> {
        let code = self.code.downcast_ref::<PyCode>()?;
        Some(ResumeFunction::new(code.obj_name.as_str(), place_of(code, self.standing.at)?.span.line))
    }

    /// Names its tensors, and its function.
    pub fn names(&self, vm: &VirtualMachine) -> PyResult<(String, PyObjectRef)> {
        let module = crate::python::native::calls::imported("torch._dynamo.eval_frame", vm)?;
        let _outside = Exclude::only(Key::Capture);
        let body = self.hooked_body(vm);
        let variables = match body.as_ref().and_then(|b| b.downcast_ref::<PyCode>()) {
            Some(body) => self.given_to_body(body, vm)?.into(),
            None => self.variables(vm)?,
        };
        let code = body.unwrap_or_else(|| self.code.clone());
        let name = code.downcast_ref::<PyCode>().map_or_else(String::new, |c| c.obj_name.as_str().to_owned());
        let namer = module.get_attr("_FrameNames", vm)?.call((code, variables, self.globals.clone()), vm)?;
        Ok((name, namer))
    }
}

/// Marks a frame as one whose function is recorded on its own. The mark is a switch of its tracing, which nobody uses: a new frame has it on.
pub fn mark(frame: &Frame, vm: &VirtualMachine) -> PyResult<()> {
    frame.object.set_attr("f_trace_lines", vm.ctx.new_bool(false), vm)
}

/// Whether the frame so many calls below the running one is marked.
pub fn is_marked(depth: usize, vm: &VirtualMachine) -> bool {
    let mut frame: Option<PyObjectRef> = current_thread_frame_materialize(vm).map(Into::into);
    for _ in 0..depth {
        frame = frame.and_then(|f| f.get_attr("f_back", vm).ok());
    }
    frame.and_then(|f| f.get_attr("f_trace_lines", vm).ok()).is_some_and(|on| on.is(&vm.ctx.false_value))
}

/// The tensors in the variables that a frame stores the result of a call in, in order: what the call returned, as it was taken apart.
pub fn stored_result(frame: &Frame, call: u32, vm: &VirtualMachine) -> PyResult<Vec<usize>> {
    let mut found = Vec::new();
    let Some(code) = frame.code.downcast_ref::<PyCode>() else { return Ok(Vec::new()) };
    let decoded = decoded(code);
    let after = decoded.position(call).map_or(decoded.steps.len(), |position| position + 1);
    let variables = frame.variables(vm)?;
    let Some(variables) = variables.downcast_ref::<PyDict>() else { return Ok(Vec::new()) };
    for step in &decoded.steps[after..] {
        let (read, stored) = (step.op.reads(), step.op.writes());
        if !read.is_empty() || stored.is_empty() && !matches!(step.op, Operation::UnpackSequence(_)) {
            break;
        }
        for name in stored.iter().filter_map(|slot| code.varnames.get(*slot as usize)) {
            if let Some(value) = variables.get_item_opt(name.as_str(), vm)? {
                tensors(&value, &mut found, vm);
            }
        }
    }
    Ok(found.into_iter().map(|held| held.id).collect())
}

/// The live tensors and sizes, in the order in which Dynamo returns them: those of the operand stack (the last of them what the breaking
/// call is made on), those of variables, those that are kept elsewhere. `inner` is a function called by them that is not read for its own
/// sake. `operands` are what the last call was made on; what the call that breaks the graph `needs` is wanted whether it is live or not, as
/// is what the function called `reads`, which it was given.
pub fn wanted(
    frames: &[Frame],
    inner: Option<&Frame>,
    known: Vec<Tensor>,
    (operands, reads): (&[Tensor], &[Tensor]),
    needs: &dyn Fn(&Tensor) -> Option<usize>,
    vm: &VirtualMachine,
) -> PyResult<Vec<Value>> {
    let mut wanted = Vec::new();
    let mut ranks: HashMap<usize, usize> = HashMap::new();
    // What the functions have that the script's innermost one called, it was given.
    let called = frames.iter().rposition(|f| f.standing.is_script).map_or(frames.len(), |i| i + 1);
    let given: Vec<usize> = frames[called..].iter().chain(inner).flat_map(|f| f.given.iter().copied()).collect();
    for held in frames.iter().flat_map(|f| &f.live) {
        let next = ranks.len();
        let rank = *ranks.entry(held.id).or_insert(next);
        if let Some(number) = held.number.as_ref().filter(|_| rank == next) {
            wanted.push(((2, rank), number.clone()));
        }
    }
    let compares = frames.iter().any(|f| f.compares);
    let mut in_modules = None;
    for (i, t) in known.iter().enumerate() {
        let object = wrap(t, vm)?;
        let id = object.get_id();
        let dead = frames.iter().flat_map(|f| &f.dead).filter(|d| **d == id).count()
            + usize::from(compares && !ranks.contains_key(&id) && operands.iter().any(|o| o.is(t)));
        let needed = needs(t);
        let argument = needed.or_else(|| given.iter().position(|g| *g == id));
        let read = reads.iter().position(|r| r.is(t));
        let is_read = needed.is_some() || read.is_some() || inner.is_some() && argument.is_some();
        let argument = argument.or(read.map(|r| given.len() + r));
        if dead > 0 && object.strong_count() - 1 <= dead && !is_read {
            continue;
        }
        let key = match (argument, ranks.get(&id)) {
            (Some(position), _) => (1, position),
            (None, Some(_)) if frames.iter().any(|f| f.under_way.contains(&id)) => (0, i),
            (None, Some(rank)) => (2, *rank),
            (None, None) if frames.iter().any(|f| f.held.contains(&id)) => (3, i),
            (None, None) => {
                let in_modules = match &in_modules {
                    Some(found) => found,
                    None => in_modules.insert(held_by_modules(frames, &known, vm)?),
                };
                (if in_modules.contains(&id) { 3 } else { 0 }, i)
            }
        };
        wanted.push((key, Value::Tensor(t.clone())));
    }
    wanted.sort_by_key(|(key, _)| *key);
    Ok(wanted.into_iter().map(|(_, v)| v).collect())
}

/// Those of some tensors, by their objects, that modules hold which are variables of these functions.
fn held_by_modules(frames: &[Frame], tensors: &[Tensor], vm: &VirtualMachine) -> PyResult<HashSet<usize>> {
    let mut modules = Locals::new();
    for frame in frames {
        let variables = frame.variables(vm)?;
        let Some(variables) = variables.downcast_ref::<PyDict>() else { continue };
        let is_module = |o: &PyObjectRef| own_attribute(o, "_modules", vm).is_some();
        modules.extend(variables.into_iter().filter(|(_, o)| is_module(o)).map(|(_, o)| ("".into(), o)));
    }
    let ids = tensors.iter().map(|t| Ok(wrap(t, vm)?.get_id())).collect::<PyResult<Vec<_>>>()?;
    let roots = escapes::Roots { result: None, locals: &modules, cells: &[], globals: None, code: None };
    let ranks = escapes::find(&ids, &roots, &HashMap::new(), false, vm).ranks;
    Ok(ids.into_iter().zip(ranks).filter(|(_, rank)| rank.is_some()).map(|(id, _)| id).collect())
}

/// Whether a variable of the script's that is read later on holds a tensor, or an expression under way does.
pub fn are_reading(frames: &[Frame], t: &Tensor, vm: &VirtualMachine) -> PyResult<bool> {
    let id = wrap(t, vm)?.get_id();
    let reads = |f: &Frame| f.live.iter().any(|held| held.id == id) || f.under_way.contains(&id);
    Ok(frames.iter().filter(|f| f.standing.is_script).any(reads))
}

/// How many values a frame so many calls above the running one is unpacking into: 3 in `b, t, c = x.shape`.
pub fn unpacked_count(depth: usize) -> Option<u32> {
    let (code, at) = crate::python::span::caller(depth)?;
    let decoded = decoded(&code);
    let step = decoded.steps.get(decoded.position(at)?)?;
    match step.op {
        Operation::UnpackSequence(count) => Some(count),
        _ => None,
    }
}

/// Whether what the functions under way go on with asks for gradients.
pub fn asks_for_gradients(frames: &[(rustpython_vm::PyRef<PyCode>, u32)]) -> bool {
    frames.iter().any(|(code, at)| {
        let decoded = decoded(code);
        decoded.position(*at).is_some_and(|position| decoded.asks_for_gradients(position, code))
    }) || rustpython_vm::vm::thread::with_current_vm(|vm| names_grad(frames, vm)).unwrap_or_default()
}

/// Whether one of the functions under way goes on with a global that is `torch.autograd.grad`, under whatever name.
fn names_grad(frames: &[(rustpython_vm::PyRef<PyCode>, u32)], vm: &VirtualMachine) -> PyResult<bool> {
    let grad = crate::python::native::calls::imported("torch.autograd", vm)?.get_attr("grad", vm)?;
    let mut frame: Option<PyObjectRef> = current_thread_frame_materialize(vm).map(Into::into);
    while let Some(object) = frame.take() {
        let code = object.get_attr("f_code", vm)?;
        if let Some((code, at)) = frames.iter().find(|(known, _)| known.as_object().is(&code)) {
            let decoded = decoded(code);
            let names = decoded.position(*at).map_or_else(Vec::new, |position| decoded.globals_after(position, code));
            let globals = object.get_attr("f_globals", vm)?;
            if names.into_iter().any(|name| globals.get_item(name, vm).is_ok_and(|value| value.is(&grad))) {
                return Ok(true);
            }
        }
        let back = object.get_attr("f_back", vm)?;
        frame = (!vm.is_none(&back)).then_some(back);
    }
    Ok(false)
}

/// Whether the script stores the result of the operator that it evaluates in an object, a container, a global or an outer
/// function's variable.
pub fn stores_result() -> bool {
    at_instruction(Code::stores_result)
}

/// Whether something may read the result of what the script calls.
pub fn keeps_result() -> bool {
    at_instruction(Code::keeps_result)
}

/// Whether what runs is a comparison of the script's whose result nothing decides by at once.
pub fn compares_for_later() -> bool {
    at_instruction(Code::compares_for_later)
}

fn at_instruction(is_so: fn(&Code, usize) -> bool) -> bool {
    let Some((code, at)) = crate::python::span::script_caller() else { return false };
    let decoded = decoded(&code);
    decoded.position(at).is_some_and(|position| is_so(&decoded, position))
}
