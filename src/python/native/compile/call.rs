//! One call of a compiled function: what is recorded, and on whose behalf.
//!
//! A call is recorded function by function. It begins with the compiled one; what that calls is part of it, until a graph ends
//! inside of a called function: then the caller's graph has ended at the call, and the called function is recorded on its own,
//! as PyTorch's front end compiles it on its own. When it returns, the caller goes on. A function that was given up is not
//! recorded; those that it calls are.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustpython_vm::builtins::{PyCode, PyDict, PyList, PyTuple};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyRef, PyResult, VirtualMachine};

use super::entries::Remembered;
use super::escapes;
use super::frames::{self, Chain, Frame};
use super::reads::Resumed;
use super::session::{About, CompiledFunction, count, dynamo_error, flush, note_break, stance, switch};
use super::sources::Locals;
use super::values::{self, Replaced, Verdict};
use crate::aot::trace::Pushed;
use crate::capture::{CaptureLayer, InputSource, Recorder, Surroundings, Unsupported, from_user_code};
use crate::dispatch::{Key, Value, is_excluded, modes};
use crate::error::{Error, ErrorKind, Result};
use crate::python::current::emit;
use crate::python::native::tensor::{
    TensorBase, float_hint, raise, raised, replace_payload, symbolic, symbolic_float, symbolic_hint, take_unknown, wrap,
};
use crate::python::span::{FrameMark, Standing, codes_above, frame_mark, frames_above, instructions_above};
use crate::report::{Event, GraphBreak};
use crate::shape::SymInt;
use crate::span::Source;
use crate::tensor::Tensor;

thread_local! {
    static RECORDER: RefCell<Option<Rc<Recorder>>> = const { RefCell::new(None) };
    static CALL: RefCell<Option<Rc<Call>>> = const { RefCell::new(None) };
    /// The frame that called the function whose body is recorded.
    static BODY: Cell<Option<FrameMark>> = const { Cell::new(None) };
}

/// Forgets a call that was ended from outside.
pub fn reset() {
    RECORDER.set(None);
    CALL.set(None);
    BODY.set(None);
}

/// Whether a compiled function is being called.
pub fn is_called() -> bool {
    RECORDER.with_borrow(Option::is_some)
}

/// Whether what is called now is recorded, or was until capture was suspended.
pub fn capturing() -> bool {
    let Some(recorder) = RECORDER.with_borrow(Clone::clone) else { return false };
    let _ = recorder.look_around();
    !recorder.is_over()
}

/// Ends the region being recorded, if there is one and it is not suspended: values are needed.
pub fn break_graph(reason: &Unsupported) -> Result<()> {
    match RECORDER.with_borrow(Clone::clone) {
        Some(recorder) => recorder.break_graph(reason),
        None => Ok(()),
    }
}

/// The same, at a call that reads tensors.
pub fn break_graph_at(reason: &Unsupported, read: Vec<Tensor>) -> Result<()> {
    match RECORDER.with_borrow(Clone::clone) {
        Some(recorder) => recorder.break_graph_at(reason, read),
        None => Ok(()),
    }
}

/// The recorder of the compiled function being recorded, where capture is not suspended.
pub fn recorder() -> Option<Rc<Recorder>> {
    let recorder = RECORDER.with_borrow(Clone::clone).filter(|_| !is_excluded(Key::Capture))?;
    // A function whose graph cannot end is found out by the next call.
    let _ = recorder.look_around();
    Some(recorder).filter(|r| !r.is_over())
}

/// The frames of the recorded call, or of the body that is recorded, innermost first: their code, and the instructions that they are at.
pub fn frames() -> Vec<(PyRef<PyCode>, u32)> {
    let base = BODY.get().or_else(|| CALL.with_borrow(|call| call.as_ref().map(|call| call.base)));
    base.map(codes_above).unwrap_or_default()
}

/// Calls a function whose calls are recorded as a body of their own: what it returns is stored nowhere in its caller.
pub fn in_body<R>(call: impl FnOnce() -> R) -> R {
    let before = BODY.replace(Some(frame_mark()));
    let result = call();
    BODY.set(before);
    result
}

/// Python goes one of two ways: what follows is code of its own.
pub fn branched(truth: bool) {
    let Some(call) = CALL.with_borrow(Clone::clone) else { return };
    let top = call.top();
    if let Some((chain, resumed)) = top.pending.borrow_mut().as_mut() {
        chain.push((usize::from(truth), u32::MAX));
        resumed.truth = Some(truth);
    }
    if let Some(recorder) = RECORDER.with_borrow(Clone::clone) {
        top.resume(&recorder);
    }
}

/// The running frame of a function that is recorded on its own.
struct Activation {
    /// Its position among the frames of the call.
    depth: usize,
    id: usize,
    /// The instruction of the frame below that called it.
    from: u32,
}

impl Activation {
    fn of(depth: usize, frames: &[Standing]) -> Self {
        Activation { depth, id: frames[depth].id, from: frames[depth - 1].at }
    }

    fn runs(&self, frames: &[Standing]) -> bool {
        frames.get(self.depth).is_some_and(|f| f.id == self.id) && frames[self.depth - 1].at == self.from
    }
}

/// A function that is recorded on its own.
struct Session {
    function: Rc<CompiledFunction>,
    about: About,
    /// None for the compiled function itself.
    frame: Option<Activation>,
    /// The part of its code that is recorded.
    at: Cell<usize>,
    /// Where it goes on after its last graph ended.
    pending: RefCell<Option<(Chain, Resumed)>>,
    /// Numbers that are symbols until its next graph ends, and the variables that they are found from.
    replaced: RefCell<Vec<(Locals, Replaced)>>,
    given_up: Cell<bool>,
    /// Whether gradients were on where it was called.
    grad: bool,
}

impl Session {
    /// Python goes on where its last graph ended, and which way is known: from now on what is recorded belongs to that place, and
    /// numbers that have varied there are symbols.
    fn resume(&self, recorder: &Recorder) {
        let Some((chain, resumed)) = self.pending.take() else { return };
        self.at.set(self.function.place(chain));
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            let verdict = self.function.values.at_break(self.at.get(), &resumed, self.function.dynamic(), vm);
            self.set_numbers(resumed, &verdict, recorder, vm);
            *self.about.verdict.borrow_mut() = verdict;
        });
    }

    fn set_numbers(&self, mut resumed: Resumed, verdict: &Verdict, recorder: &Recorder, vm: &VirtualMachine) {
        let replaced = values::replace_in_frame(&mut resumed, &verdict.needs, recorder, vm);
        self.replaced.borrow_mut().push((resumed.locals, replaced));
    }

    /// Its graph has ended: what was a symbol is a number again.
    fn restore_numbers(&self, vm: &VirtualMachine) {
        for (mut locals, replaced) in self.replaced.take() {
            replaced.restore(&mut locals, vm);
        }
    }

    fn depth(&self) -> usize {
        self.frame.as_ref().map_or(0, |f| f.depth)
    }
}

/// A call of a compiled function.
struct Call {
    base: FrameMark,
    outer: Rc<CompiledFunction>,
    /// The functions that are recorded on their own, innermost last.
    sessions: RefCell<Vec<Rc<Session>>>,
    /// What variables held that numbers took the place of: expressions under way may hold it still.
    kept: RefCell<Vec<PyObjectRef>>,
    busy: Cell<bool>,
}

/// Lazy tensors that Python knows, or that the call that ends the region reads.
fn alive(recorder: &Recorder) -> Vec<Tensor> {
    recorder.alive().into_iter().filter(|t| known_to_python(t) || recorder.needs(t).is_some()).collect()
}

impl Call {
    fn top(&self) -> Rc<Session> {
        let sessions = self.sessions.borrow();
        sessions.last().cloned().unwrap_or_else(|| unreachable!("a call has the session of its function"))
    }

    fn go_on(&self, recorder: &Recorder) {
        let top = self.top();
        recorder.go_on(!top.given_up.get(), top.grad);
    }

    /// Finds out which function is recorded now.
    fn look_around(&self, recorder: &Recorder) -> Result<()> {
        let is_alone = self.sessions.borrow().len() == 1;
        if self.busy.get() || is_excluded(Key::Capture) || is_alone && !self.top().given_up.get() {
            return Ok(());
        }
        let Some(frames) = frames_above(self.base) else { return Ok(()) };
        while self.top().frame.as_ref().is_some_and(|f| !f.runs(&frames)) {
            self.leave(recorder)?;
        }
        let top = self.top();
        if !top.given_up.get() {
            return Ok(());
        }
        let own = frames.iter().skip(top.depth()).position(|f| f.is_own).map(|i| i + top.depth());
        let called = own.and_then(|own| (own + 1..frames.len()).find(|i| frames[*i].is_own));
        if let Some(depth) = called {
            rustpython_vm::vm::thread::with_current_vm(|vm| {
                let frames = frames::standing(self.base, vm)?;
                if frames.len() > depth { self.enter(&frames, depth, modes().grad, Some(recorder), vm) } else { Ok(()) }
            })
            .map_err(raised)?;
            self.go_on(recorder);
        }
        Ok(())
    }

    /// A function is recorded on its own from now on; where it has only just begun, its numbers can become symbols of what the
    /// `recorder` records.
    fn enter(&self, frames: &[Frame], depth: usize, grad: bool, recorder: Option<&Recorder>, vm: &VirtualMachine) -> PyResult<()> {
        let frame = &frames[depth];
        let function = self.outer.inner(&frame.code);
        let (name, namer) = frame.names(vm)?;
        let resumed = frame.resumed(true, vm);
        let dynamic = if recorder.is_some() { function.dynamic() } else { Some(false) };
        let verdict = function.values.at_entry(&resumed, dynamic, vm);
        let standing: Vec<Standing> = frames.iter().map(|f| f.standing).collect();
        let given_up = function.given_up.borrow().contains(&0);
        let session = Rc::new(Session {
            function,
            about: About {
                name,
                namer: RefCell::new(namer),
                verdict: RefCell::new(verdict.clone()),
                globals: Some(frame.globals.clone()),
                remembered: RefCell::default(),
                resumed: RefCell::default(),
            },
            frame: Some(Activation::of(depth, &standing)),
            at: Cell::new(0),
            pending: RefCell::default(),
            replaced: RefCell::default(),
            given_up: Cell::new(given_up),
            grad,
        });
        if let Some(recorder) = recorder.filter(|_| !given_up) {
            session.set_numbers(resumed, &verdict, recorder, vm);
        }
        self.sessions.borrow_mut().push(session);
        Ok(())
    }

    /// The innermost function has returned: its graph ends.
    fn leave(&self, recorder: &Recorder) -> Result<()> {
        let top = self.top();
        let flushed = self.flush(&top, recorder, &alive(recorder).into_iter().map(Value::Tensor).collect::<Vec<_>>(), !top.given_up.get());
        self.sessions.borrow_mut().pop();
        rustpython_vm::vm::thread::with_current_vm(|vm| top.restore_numbers(vm));
        self.go_on(recorder);
        flushed
    }

    fn flush(&self, session: &Session, recorder: &Recorder, outputs: &[Value], compiles: bool) -> Result<()> {
        session.resume(recorder);
        let place = session.at.get();
        self.busy.set(true);
        let flushed = flush(&session.function, recorder, place, outputs, &session.about, compiles);
        self.busy.set(false);
        flushed
    }

    /// Recording has to stop.
    fn on_break(&self, recorder: &Recorder, reason: &Unsupported, source: Option<Source>) -> Result<()> {
        if let Some(said) = reason.user_error(source.as_ref()).filter(|_| self.outer.fullgraph) {
            return Err(dynamo_error("UserError", &said));
        }
        if self.outer.fullgraph {
            let message = format!("{}{}", reason.text(), from_user_code(source.as_ref()));
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let frames = rustpython_vm::vm::thread::with_current_vm(|vm| frames::standing(self.base, vm)).map_err(raised)?;
        let mut reported = false;
        loop {
            let top = self.top();
            let start = top.depth().min(frames.len());
            let own = (start..frames.len()).find(|i| frames[*i].standing.is_own).unwrap_or(start);
            let inner = (own + 1..frames.len()).find(|i| frames[*i].standing.is_own);
            let rest = inner.and_then(|inner| {
                let places: Vec<u32> = frames[..inner].iter().map(|f| f.standing.at).collect();
                recorder.split(&|stack| stack.len() > inner && stack[..inner] == places[..])
            });
            let end = match (inner, &rest) {
                (Some(inner), Some(_)) => inner,
                _ => frames.len(),
            };
            let stops = reason.gives_function_up() || frames[start..end].iter().any(|f| f.gives_up);
            top.resume(recorder);
            let here = top.at.get();
            let gives_up = stops || top.given_up.get() || top.function.given_up.borrow().contains(&here);
            if !reported {
                let in_loop = stops && !reason.gives_function_up();
                let title = if in_loop { "graph break in loop" } else { reason.title() };
                let told = if reason.is_branch() { "generic_jump TensorVariable()".to_owned() } else { reason.text() };
                note_break(told, source.clone());
                count("graph_break", &reason.text(), 1);
                emit(Event::Broke { graph_break: GraphBreak { reason: title.to_owned(), span: source.as_ref().map(|s| s.span.clone()) } });
                reported = true;
            }
            let mut outputs = rest.as_ref().map_or_else(Vec::new, |r| r.reads().into_iter().map(Value::Tensor).collect());
            let wanted = rustpython_vm::vm::thread::with_current_vm(|vm| {
                let alive = alive(recorder);
                let operands = alive.last().map_or_else(Vec::new, |t| recorder.operands(t));
                frames::wanted(&frames[start..end], frames.get(end), alive, &operands, &|t| recorder.needs(t), vm)
            });
            for value in recorder.needed_numbers().into_iter().chain(wanted.map_err(raised)?) {
                match &value {
                    Value::Tensor(t) if is_among(t, &outputs) => {}
                    Value::Int(size) if !recorder.has_size(size) || recorder.is_number(size) || is_known(&value, &outputs) => {}
                    Value::SymFloat(float) if !recorder.has_float(float) || is_known(&value, &outputs) => {}
                    _ => outputs.push(value),
                }
            }
            outputs.extend(recorder.stored_back().into_iter().map(|(twin, _)| Value::Tensor(twin)));
            let grad = recorder.grad_mode();
            self.flush(&top, recorder, &outputs, !gives_up)?;
            if gives_up {
                top.function.given_up.borrow_mut().insert(here);
                top.given_up.set(true);
            }
            let settled = rustpython_vm::vm::thread::with_current_vm(|vm| {
                top.restore_numbers(vm);
                let scripts = frames[start..end].iter().filter(|f| f.is_script);
                scripts.map(|f| f.settle(vm)).collect::<PyResult<Vec<_>>>()
            });
            self.kept.borrow_mut().extend(settled.map_err(raised)?.into_iter().flatten());
            if let Some(frame) = frames.get(own) {
                let (names, resumed) = rustpython_vm::vm::thread::with_current_vm(|vm| (frame.names(vm), frame.resumed(false, vm)));
                top.about.namer.replace(names.map_err(raised)?.1);
                top.about.remembered.take();
                top.about.resumed.replace(frame.rest());
                top.pending.replace(Some((frame.place(), resumed)));
                // Which way Python goes is not known yet where that was the question.
                if !(reason.is_branch() && inner.is_none()) && !gives_up {
                    top.resume(recorder);
                }
            }
            let (Some(inner), Some(rest)) = (inner, rest) else {
                self.go_on(recorder);
                return Ok(());
            };
            rustpython_vm::vm::thread::with_current_vm(|vm| self.enter(&frames, inner, grad, None, vm)).map_err(raised)?;
            self.go_on(recorder);
            recorder.record_again(&rest, &replace_payload)?;
        }
    }
}

/// Lazy tensors and symbolic sizes in a returned structure, in order, each once.
fn returned(o: &PyObject, recorder: &Recorder, found: &mut Vec<Value>, vm: &VirtualMachine) {
    if let Some(t) = o.downcast_ref::<TensorBase>() {
        let t = t.tensor();
        if recorder.is_lazy(&t) && !is_among(&t, found) {
            found.push(Value::Tensor(t));
        }
    } else if let Some(size) = symbolic(o, vm) {
        let is_new = recorder.has_size(&size) && !recorder.is_number(&size) && !is_known(&Value::Int(size.clone()), found);
        found.extend(is_new.then_some(Value::Int(size)));
    } else if let Some(float) = symbolic_float(o, vm).filter(|f| f.hint().is_none()) {
        let is_new = recorder.has_float(&float) && !is_known(&Value::SymFloat(float.clone()), found);
        found.extend(is_new.then_some(Value::SymFloat(float)));
    } else if let Some(items) = o.downcast_ref::<PyTuple>() {
        items.as_slice().iter().for_each(|i| returned(i, recorder, found, vm));
    } else if let Some(items) = o.downcast_ref::<PyList>() {
        let items = items.borrow_vec().to_vec();
        items.iter().for_each(|i| returned(i, recorder, found, vm));
    } else if let Some(dict) = o.downcast_ref::<PyDict>() {
        dict.into_iter().for_each(|(_, v)| returned(&v, recorder, found, vm));
    }
}

/// A returned structure with symbolic sizes as the numbers they are in this call.
fn numbers_for_sizes(o: PyObjectRef, depth: usize, vm: &VirtualMachine) -> PyResult {
    if let Some(number) = symbolic_hint(&o, vm) {
        return Ok(vm.ctx.new_int(number).into());
    }
    if let Some(number) = float_hint(&o, vm) {
        return Ok(vm.ctx.new_float(number).into());
    }
    if depth > 4 {
        return Ok(o);
    }
    if o.class().is(vm.ctx.types.tuple_type) {
        let Some(items) = o.downcast_ref::<PyTuple>() else { return Ok(o) };
        let new = items.as_slice().iter().map(|i| numbers_for_sizes(i.clone(), depth + 1, vm)).collect::<PyResult<Vec<_>>>()?;
        let is_same = new.iter().zip(items.as_slice()).all(|(a, b)| a.is(b));
        return Ok(if is_same { o } else { vm.ctx.new_tuple(new).into() });
    }
    if let Some(list) = o.downcast_ref::<PyList>() {
        let items = list.borrow_vec().to_vec();
        for (i, item) in items.into_iter().enumerate() {
            let new = numbers_for_sizes(item, depth + 1, vm)?;
            if let Some(slot) = list.borrow_vec_mut().get_mut(i) {
                *slot = new;
            }
        }
    }
    if let Some(dict) = o.downcast_ref::<PyDict>() {
        for (key, value) in dict {
            let new = numbers_for_sizes(value.clone(), depth + 1, vm)?;
            if !new.is(&value) {
                dict.set_item(&*key, new, vm)?;
            }
        }
    }
    Ok(o)
}

/// A tensor of the caller's that is all that a function returns: PyTorch's front end returns it from the graph, which does more.
fn lone_input(result: &PyObject, recorder: &Recorder) -> Option<Value> {
    let t = recorder.current(&result.downcast_ref::<TensorBase>()?.tensor());
    recorder.touch(&t, false).ok()?;
    recorder.twin(&t).map(Value::Tensor)
}

/// Adds what escaped otherwise, to a global, an attribute, a list: it is wanted too.
fn add_escaped(
    outputs: &mut Vec<Value>,
    recorder: &Recorder,
    result: Option<&PyObjectRef>,
    bound: Option<&values::Bound>,
    vm: &VirtualMachine,
) {
    let mut escaped: Vec<(Tensor, Tensor)> =
        alive(recorder).into_iter().filter(|t| !is_among(t, outputs)).map(|t| (t.clone(), t)).collect();
    escaped.extend(recorder.stored_back());
    if escaped.len() < 2 && result.is_none_or(|r| r.dict().is_none()) {
        outputs.extend(escaped.into_iter().map(|(t, _)| Value::Tensor(t)));
        return;
    }
    let objects: Vec<usize> = escaped.iter().map(|(_, known)| wrap(known, vm).map_or(0, |o| o.get_id())).collect();
    let none = Locals::new();
    let (globals, code) = (bound.and_then(|b| b.globals(vm)), bound.and_then(|b| b.code(vm)));
    let locals = bound.map_or(&none, |b| &b.locals);
    let roots = escapes::Roots { result, locals, globals: globals.as_ref(), code: code.as_deref() };
    let mut ranked: Vec<_> = escapes::ranks(&objects, &roots, vm).into_iter().zip(escaped).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let first = ranked.iter().filter(|(rank, _)| rank.is_first()).count();
    let mut values: Vec<Value> = ranked.into_iter().map(|(_, (t, _))| Value::Tensor(t)).collect();
    outputs.extend(values.split_off(first));
    outputs.splice(0..0, values);
}

/// Whether a symbolic number is among values.
fn is_known(number: &Value, values: &[Value]) -> bool {
    values.iter().any(|v| match (v, number) {
        (Value::Int(a), Value::Int(b)) => a.expr() == b.expr(),
        (Value::SymFloat(a), Value::SymFloat(b)) => a.expr == b.expr,
        _ => false,
    })
}

fn is_among(t: &Tensor, values: &[Value]) -> bool {
    values.iter().any(|v| matches!(v, Value::Tensor(o) if o.is(t)))
}

fn known_to_python(t: &Tensor) -> bool {
    t.imp().python.borrow().is_some()
}

/// Calls a compiled function.
pub fn call(
    function: &Rc<CompiledFunction>,
    callee: &PyObject,
    name: String,
    namer: PyObjectRef,
    args: FuncArgs,
    vm: &VirtualMachine,
) -> PyResult {
    if capturing() {
        // A compiled function called while another is recorded is part of that one.
        return callee.call(args, vm);
    }
    if stance() == "force_eager" {
        return callee.call(args, vm);
    }
    let base = frame_mark();
    let mut bound = values::bind(callee, &args, vm);
    let first = Rc::new(Session {
        function: function.clone(),
        about: About {
            name,
            namer: RefCell::new(namer),
            verdict: RefCell::default(),
            globals: bound.as_ref().and_then(|b| b.globals(vm)),
            remembered: RefCell::default(),
            resumed: RefCell::default(),
        },
        frame: None,
        at: Cell::new(0),
        pending: RefCell::default(),
        replaced: RefCell::default(),
        given_up: Cell::new(function.given_up.borrow().contains(&0)),
        grad: modes().grad,
    });
    let call = Rc::new(Call {
        base,
        outer: function.clone(),
        sessions: RefCell::new(vec![first.clone()]),
        kept: RefCell::default(),
        busy: Cell::new(false),
    });
    let surroundings = {
        let (looks, breaks) = (call.clone(), call.clone());
        Surroundings {
            places: Rc::new(move || instructions_above(base)),
            look_around: Rc::new(move |recorder| looks.look_around(recorder)),
            on_break: Rc::new(move |recorder, reason, source| breaks.on_break(recorder, reason, source)),
            stores_result: Rc::new(frames::stores_result),
            wants_sizes: Rc::new(|| switch("capture_dynamic_output_shape_ops")),
            wants_scalars: {
                let whole = function.fullgraph;
                Rc::new(move || whole || switch("capture_scalar_outputs"))
            },
        }
    };
    let input_name = {
        let call = call.clone();
        Rc::new(move |t: &Tensor, index: usize| call.top().about.source(t, index))
    };
    let plan = {
        let call = call.clone();
        Rc::new(move |input: &InputSource, sizes: &[SymInt]| {
            let top = call.top();
            let place = top.at.get();
            top.function.seen.borrow().plan(place, input, sizes, top.function.dynamic())
        })
    };
    let recorder = Recorder::new(input_name, plan, surroundings);
    call.go_on(&recorder);
    if let Some(bound) = &bound {
        *first.about.verdict.borrow_mut() = function.values.at_start(bound, function.dynamic(), vm);
    }
    let needs = first.about.verdict.borrow().needs.clone();
    let mut args = args;
    let replaced = match bound.as_mut().filter(|_| !first.given_up.get()) {
        Some(bound) => values::replace(bound, &needs, &recorder, &mut args, vm),
        None => values::Replaced::default(),
    };
    let latest = function.cache.borrow().latest(0).and_then(|i| function.values.entry(0, i));
    if let (Some(bound), Some((_, inputs))) = (&bound, latest) {
        first.about.remembered.replace(Some(Remembered { locals: bound.locals.clone(), inputs }));
    }
    // A function that was given up may call a compiled one, which has a cache of its own.
    let around = (RECORDER.replace(Some(recorder.clone())), CALL.replace(Some(call.clone())));
    if let Some(outer) = &around.1 {
        outer.busy.set(true);
    }
    let layer = Pushed::new(Rc::new(CaptureLayer(recorder.clone())));
    super::modules::enter_root(callee, vm);
    let result = callee.call(args, vm);
    super::modules::reset();
    let mut flushed = Ok(());
    while call.sessions.borrow().len() > 1 && flushed.is_ok() {
        flushed = call.leave(&recorder);
    }
    call.sessions.borrow_mut().truncate(1);
    let mut outputs = Vec::new();
    if let Ok(value) = &result {
        returned(value, &recorder, &mut outputs, vm);
    }
    add_escaped(&mut outputs, &recorder, result.as_ref().ok(), bound.as_ref(), vm);
    if let (true, Ok(value)) = (outputs.is_empty() && !recorder.is_empty(), &result) {
        outputs.extend(lone_input(value, &recorder));
    }
    for number in take_unknown(vm) {
        let belongs = match &number {
            Value::Int(size) => recorder.has_size(size),
            Value::SymFloat(float) => recorder.has_float(float),
            _ => false,
        };
        if belongs && !is_known(&number, &outputs) {
            outputs.push(number);
        }
    }
    let uncaught = match &result {
        Err(e) if e.class().is(vm.ctx.exceptions.runtime_error) => {
            let said = e.as_object().str(vm).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            // What was compiled for a tensor that is no leaf also serves a leaf: it runs, and what refuses the write is its copy.
            let runs = said.contains("a leaf Variable that requires grad") && !function.frames.borrow().is_empty();
            recorder.uncaught(&said).filter(|_| !runs)
        }
        _ => None,
    };
    if result.is_err() && (outputs.is_empty() || uncaught.is_some()) {
        // An error ends the region; nobody asks for what it computed, and where a call could not be captured, nothing is compiled.
        flushed = flushed.and_then(|()| recorder.end(&[]).map(|region| region.env.settle()));
    } else if flushed.is_ok() {
        flushed = call.flush(&first, &recorder, &outputs, !first.given_up.get());
    }
    drop(layer);
    if let Some(outer) = &around.1 {
        outer.busy.set(false);
    }
    RECORDER.set(around.0);
    CALL.set(around.1);
    if let Some(bound) = &mut bound {
        replaced.restore(&mut bound.locals, vm);
    }
    match (result, flushed) {
        (Err(e), _) if e.class().is(vm.ctx.exceptions.runtime_error) => Err(uncaught.map_or(e, |error| raise(error, vm))),
        (Err(e), _) if function.fullgraph && e.class().is(vm.ctx.exceptions.type_error) => {
            // A call that takes no symbol is none that the front end captures.
            let said = e.as_object().str(vm).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            let message = format!("TypeError when making fake tensor call\n  Explanation: {said}");
            Err(if said.contains("SymFloat") { raise(Error::new(ErrorKind::Unsupported, message), vm) } else { e })
        }
        (Err(e), _) => Err(e),
        (Ok(_), Err(e)) => Err(raise(e, vm)),
        (Ok(value), Ok(())) => numbers_for_sizes(value, 0, vm),
    }
}

/// A number that only the run knows is needed: the graph ends, and it is known.
pub fn need_number(number: &Value, reason: &Unsupported) -> Result<()> {
    match recorder() {
        Some(recorder) => recorder.need_number(number, reason),
        None => Ok(()),
    }
}

/// Tells the recorder that a tensor of the caller's was read.
pub fn touch(t: &Tensor, is_static: bool) -> Result<()> {
    match recorder() {
        Some(recorder) => recorder.touch(t, is_static),
        None => Ok(()),
    }
}

/// What stands for a tensor of the caller's while it is recorded: its sizes may be symbolic.
pub fn twin(t: &Tensor) -> Option<Tensor> {
    RECORDER.with_borrow(|r| r.as_ref().and_then(|r| r.twin(t)))
}

/// Tells the recorder of a change of the grad mode.
pub fn record_grad_mode(enabled: bool) {
    if let Some(recorder) = recorder() {
        recorder.record_grad_mode(enabled);
    }
}

/// Tells the recorder that a block of autocast begins (with a dtype, on or off, and whether the script says the dtype) or ends.
pub fn record_autocast(begins: Option<(crate::tensor::Dtype, bool, bool)>) {
    match (recorder(), begins) {
        (Some(r), Some((dtype, enabled, is_said))) => r.record_autocast(dtype, enabled, is_said),
        (Some(r), None) => r.record_autocast_end(modes().autocast),
        (None, _) => {}
    }
}
