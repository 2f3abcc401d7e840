//! One call of a compiled function: what is recorded, and on whose behalf.
//!
//! A call is recorded function by function. It begins with the compiled one; what that calls is part of it, until the graph breaks inside
//! of a called function: then the caller's graph ends at the call, and the called function is traced as a frame of its own, as in PyTorch.
//! When it returns, the caller goes on. A skipped frame is not traced; functions that it calls are.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustpython_vm::builtins::PyCode;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyRef, PyResult, VirtualMachine};

use super::frames::{self, Frame};
use super::inlined::Parts;
use super::recorder::RECORDER;
pub use super::recorder::{break_graph, break_graph_at, capturing, is_called, recorder};
use crate::dispatch::{Key, Modes, Value, is_excluded, modes, set_modes};
use crate::dynamo::bytecode_analysis::decoded::place_of;
use crate::dynamo::cache::compiled_function::{
    CompiledFunction, closure_of, count_frame, function_of, note_recompiled, reached_limit, stance,
};
use crate::dynamo::cache::found_inputs;
use crate::dynamo::convert_frame::flush;
use crate::dynamo::guards::manager::Verdict;
use crate::dynamo::resume_functions::About;
use crate::dynamo::side_effects::outputs::{alive, numbers_left, returned};
use crate::dynamo::symbolic_convert::Resumed;
use crate::dynamo::symbolic_convert::translator::{Activation, Session};
use crate::dynamo::variables::closures;
use crate::dynamo::{GradBlock, Recorder, Unsupported};
use crate::error::{Error, Result};
use crate::python::native::tensor::{raised, wrap};
use crate::python::span::{FrameMark, Standing, codes_above, frame_mark, frames_above, span_below};
use crate::report::Span;
use crate::tensor::Tensor;

thread_local! {
    static CALL: RefCell<Option<Rc<Call>>> = const { RefCell::new(None) };
    /// The frame that called the function whose body is recorded.
    static BODY: Cell<Option<FrameMark>> = const { Cell::new(None) };
}

/// Does something that the call that is recorded has nothing to do with: a compiled function that it calls is recorded by itself.
pub fn outside<R>(f: impl FnOnce() -> R) -> R {
    without_call(|| {
        let layers = crate::dispatch::take_layers(Key::Capture);
        let _seen = crate::dispatch::Exclude::lift(Key::Capture);
        let result = f();
        layers.into_iter().for_each(crate::dispatch::push_layer);
        result
    })
}

/// The same, and layers see what they saw.
pub(super) fn without_call<R>(f: impl FnOnce() -> R) -> R {
    let around = (RECORDER.take(), CALL.take(), BODY.take());
    let result = f();
    RECORDER.set(around.0);
    CALL.set(around.1);
    BODY.set(around.2);
    result
}

/// Forgets a call that was ended from outside.
pub fn reset() {
    RECORDER.set(None);
    CALL.set(None);
    BODY.set(None);
}

/// A block begins that sets the grad mode: what it was before, and what it is inside; without those it ends.
pub fn note_grad_block(id: usize, modes: Option<(bool, bool)>) {
    match modes {
        Some((before, mode)) => {
            // The frame that runs is that of the block's own method.
            let base = CALL.with_borrow(|call| call.as_ref().map(|call| call.base));
            let frame = base.and_then(frames_above).map_or(0, |frames| frames.len().saturating_sub(2));
            recorder().into_iter().for_each(|r| r.begin_grad_block(GradBlock { id, before, mode, frame }));
        }
        None => RECORDER.with_borrow(|r| r.iter().for_each(|r| r.end_grad_block(id))),
    }
}

/// The script changes an attribute of a tensor: a side effect that Dynamo replays after the graph.
pub fn note_side_effect() {
    if let Some(recorder) = recorder() {
        recorder.output().has_side_effect.set(true);
    }
}

/// Whether guards of a cache entry pass in the frame that is recorded: for the values that it began with, or, where those are not
/// known, as far as they need none.
pub fn serves_again(vm: &VirtualMachine) -> bool {
    let Some(top) = CALL.with_borrow(Clone::clone).map(|call| call.top()) else { return false };
    let (place, entries) = (top.at.get(), top.function.cache.borrow().len(top.at.get()));
    match &*top.about.remembered.borrow() {
        Some(began) => (0..entries).any(|i| found_inputs::holds(&top.function, place, i, &began.locals, vm)),
        None => {
            let verdict = top.about.verdict.borrow();
            !verdict.unmet.is_empty() && verdict.unserved().is_empty()
        }
    }
}

/// Whether what runs now is compiled: not where the function that is recorded misses its cache and is compiled no more, because of the
/// stance or of the limit of recompilations.
pub fn is_compiled(vm: &VirtualMachine) -> bool {
    let Some(top) = CALL.with_borrow(Clone::clone).map(|call| call.top()) else { return true };
    let place = top.at.get();
    let entries = top.function.cache.borrow().len(place);
    let is_ended = top.function.ended.borrow().contains(&place) || entries > 0 && reached_limit(entries).is_some();
    (stance() != "eager_on_recompile" && !is_ended) || serves_again(vm)
}

/// The function that is recorded, and what a constant result of a call is kept under: the place, the entry of its cache whose guards
/// pass or that is being made, and the call itself. Says whether there is such an entry.
fn constant_key(call: &str, vm: &VirtualMachine) -> Option<(Rc<Session>, (usize, usize, String), bool)> {
    let top = CALL.with_borrow(Clone::clone).map(|call| call.top())?;
    let place = top.at.get();
    let asked = top.function.cache.borrow().asked(place);
    let serving = {
        let began = top.about.remembered.borrow();
        let serves = |i: &usize| began.as_ref().is_some_and(|began| found_inputs::holds(&top.function, place, *i, &began.locals, vm));
        asked.iter().copied().find(serves)
    };
    Some((top, (place, serving.unwrap_or(asked.len()), call.to_owned()), serving.is_some()))
}

/// The constant result of a call, where an entry of the cache has it.
pub fn constant_result(call: &str, vm: &VirtualMachine) -> Option<PyObjectRef> {
    let (top, key, _) = constant_key(call, vm).filter(|(_, _, serves)| *serves)?;
    top.function.constants.borrow().get(&key).cloned()
}

/// Keeps the constant result of a call for the entry of the cache.
pub fn keep_constant_result(call: &str, result: PyObjectRef, vm: &VirtualMachine) {
    if let Some((top, key, _)) = constant_key(call, vm) {
        top.function.constants.borrow_mut().insert(key, result);
    }
}

/// Whether a compiled function is being called that is to be one graph.
pub fn is_whole() -> bool {
    CALL.with_borrow(|call| call.as_ref().is_some_and(|call| call.fullgraph))
}

/// The place in the script that the compiled function is called from.
pub fn called_from() -> Option<Span> {
    let base = CALL.with_borrow(|call| call.as_ref().map(|call| call.base))?;
    span_below(base)
}

/// The frames of the function that is recorded, or of the body that is recorded, innermost first: their code, and the instructions that they are at.
pub fn frames() -> Vec<(PyRef<PyCode>, u32)> {
    if let Some(body) = BODY.get() {
        return codes_above(body);
    }
    let Some(call) = CALL.with_borrow(Clone::clone) else { return Vec::new() };
    let mut frames = codes_above(call.base);
    // What called the function that is recorded is no part of that.
    frames.truncate(frames.len().saturating_sub(call.top().depth()));
    frames
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

/// A call of a compiled function.
pub(in crate::dynamo) struct Call {
    pub(in crate::dynamo) base: FrameMark,
    /// Whether a break is an error.
    pub(in crate::dynamo) fullgraph: bool,
    /// Compiled functions that were called meanwhile, by their code, and whether a break is an error in each.
    nested: RefCell<Vec<(PyObjectRef, Rc<CompiledFunction>, bool)>>,
    /// The functions that are recorded on their own, innermost last.
    pub(in crate::dynamo) sessions: RefCell<Vec<Rc<Session>>>,
    /// What variables held that numbers took the place of: expressions under way may hold it still.
    pub(in crate::dynamo) kept: RefCell<Vec<PyObjectRef>>,
    /// Calls, by frame and function, whose closures were realized.
    closures: RefCell<closures::Known>,
    /// Functions that the one that is recorded has called, and may have to be recorded without.
    pub(in crate::dynamo) parts: RefCell<Parts>,
    pub(in crate::dynamo) busy: Cell<bool>,
    /// Whether a break was an error: nothing is compiled then.
    pub(in crate::dynamo) is_refused: Cell<bool>,
}

impl Call {
    /// A call that begins with the compiled function itself.
    pub(in crate::dynamo) fn new(base: FrameMark, fullgraph: bool, first: Rc<Session>) -> Self {
        Call {
            base,
            fullgraph,
            nested: RefCell::default(),
            sessions: RefCell::new(vec![first]),
            kept: RefCell::default(),
            closures: RefCell::default(),
            parts: RefCell::default(),
            busy: Cell::new(false),
            is_refused: Cell::new(false),
        }
    }

    /// A compiled function, by its code, is called meanwhile.
    pub(in crate::dynamo) fn nest(&self, code: PyObjectRef, function: Rc<CompiledFunction>, fullgraph: bool) {
        self.nested.borrow_mut().push((code, function, fullgraph));
    }

    /// Whether a compiled function that is to be one graph is among those that run.
    pub(in crate::dynamo) fn runs_whole(&self, frames: &[Frame]) -> bool {
        let nested = self.nested.borrow();
        nested.iter().any(|(code, _, fullgraph)| *fullgraph && frames.iter().any(|frame| frame.code.is(code)))
    }

    /// Whether a break was an error.
    pub(in crate::dynamo) fn is_refused(&self) -> bool {
        self.is_refused.get()
    }

    pub(in crate::dynamo) fn top(&self) -> Rc<Session> {
        let sessions = self.sessions.borrow();
        sessions.last().cloned().unwrap_or_else(|| unreachable!("a call has the session of its function"))
    }

    pub(in crate::dynamo) fn go_on(&self, recorder: &Recorder) {
        let top = self.top();
        recorder.go_on(!top.skipped.get(), top.grad.get());
    }

    /// Finds out which function is recorded now.
    pub(in crate::dynamo) fn look_around(&self, recorder: &Recorder) -> Result<()> {
        let is_alone = self.sessions.borrow().len() == 1;
        if self.busy.get() || is_excluded(Key::Capture) {
            return Ok(());
        }
        // What a number was asked for by goes on without it.
        self.top().resume(recorder);
        if is_alone && !self.top().skipped.get() {
            return self.note_part(recorder);
        }
        let Some(frames) = frames_above(self.base) else { return Ok(()) };
        while self.top().frame.as_ref().is_some_and(|f| !f.runs(&frames)) {
            self.leave(recorder, true)?;
        }
        let top = self.top();
        if !top.skipped.get() {
            return self.note_part(recorder);
        }
        let own = frames.iter().skip(top.depth()).position(|f| f.is_own || top.is_library).map(|i| i + top.depth());
        let from = top.waits_above.get().or(own.map(|own| own + 1));
        let called = from.and_then(|from| (from..frames.len()).find(|i| frames[*i].is_own));
        if let Some(depth) = called {
            rustpython_vm::vm::thread::with_current_vm(|vm| {
                let frames = frames::standing(self.base, vm)?;
                if frames.len() > depth { self.enter(&frames, depth, false, modes().grad, Some(recorder), vm) } else { Ok(()) }
            })
            .map_err(raised)?;
            self.go_on(recorder);
        }
        Ok(())
    }

    /// Why the call that the recorded function makes now breaks its graph: it is of a tensor's method that it was given as an object.
    pub(in crate::dynamo) fn breaks_call(&self) -> Option<Unsupported> {
        let top = self.top();
        let (method, at) = top.calls_method.borrow().clone()?;
        let frames = frames_above(self.base)?;
        let own = (top.depth()..frames.len()).find(|i| frames[*i].is_own)?;
        let is_called = frames[own].at == at && !frames[own + 1..].iter().any(|f| f.is_own || f.is_generator);
        is_called.then(|| {
            top.calls_method.take();
            Unsupported::unknown_builtin(&format!("Tensor.{method}"), "<unknown module>")
        })
    }

    /// Tensors that were realized before the instructions that run.
    pub(in crate::dynamo) fn realized(&self) -> Vec<Tensor> {
        let mut found = self.realized_alone();
        let mut known = self.closures.borrow_mut();
        found.extend(rustpython_vm::vm::thread::with_current_vm(|vm| closures::realized(self.base, &mut known, vm)));
        found
    }

    /// Those that are realized without an operator.
    fn realized_alone(&self) -> Vec<Tensor> {
        let top = self.top();
        if top.realized.borrow().is_empty() {
            return Vec::new();
        }
        let frames = rustpython_vm::vm::thread::with_current_vm(|vm| frames::standing(self.base, vm));
        let stands = |f: &&Frame| f.standing.is_own || f.standing.is_generator;
        let way: Vec<usize> = frames.unwrap_or_default().iter().skip(top.depth()).filter(stands).map(Frame::since).collect();
        let mut left = top.realized.borrow_mut();
        let before = left.partition_point(|(at, _)| **at < *way);
        left.drain(..before).map(|(_, t)| t).collect()
    }

    /// A function is recorded on its own from now on; where it has only just begun, its numbers can become symbols of what the
    /// `recorder` records.
    pub(in crate::dynamo) fn enter(
        &self,
        frames: &[Frame],
        depth: usize,
        is_library: bool,
        grad: bool,
        recorder: Option<&Recorder>,
        vm: &VirtualMachine,
    ) -> PyResult<()> {
        let (session, resumed, verdict) = self.session(frames, depth, (is_library, grad, recorder.is_some()), vm)?;
        if let Some(recorder) = recorder.filter(|_| !session.skipped.get()) {
            session.set_numbers(resumed, &verdict, recorder, vm);
        }
        self.sessions.borrow_mut().push(session);
        Ok(())
    }

    /// A function that can be recorded on its own, with the values that it begins with and what they mean. Its numbers can become
    /// symbols where it `begins`.
    pub(in crate::dynamo) fn session(
        &self,
        frames: &[Frame],
        depth: usize,
        (is_library, grad, begins): (bool, bool, bool),
        vm: &VirtualMachine,
    ) -> PyResult<(Rc<Session>, Resumed, Verdict)> {
        let frame = &frames[depth];
        frames::mark(frame, vm)?;
        let body = frame.hooked_body(vm);
        let asked = self.top().function.asked.clone();
        // A comprehension's code is its function's, and its frame is skipped in any case.
        let code = body.as_ref().unwrap_or(&frame.code);
        let nested = self.nested.borrow().iter().rfind(|(c, ..)| c.is(code)).map(|(_, function, _)| function.clone());
        let is_asked_for = nested.is_some();
        let function = match frame.standing.is_generator {
            true => Rc::new(CompiledFunction::new(asked.clone(), None)),
            false => nested.unwrap_or_else(|| function_of(code, &asked, vm)),
        };
        let (name, namer) = frame.names(vm)?;
        let resumed = frame.resumed(true, vm);
        let dynamic = if begins { function.dynamic() } else { Some(false) };
        let closure = closure_of(&resumed.code, &resumed.locals, vm);
        let verdict = if frame.standing.is_generator {
            Verdict::default()
        } else {
            function.values.at_entry(&resumed, closure, (&function, dynamic), vm)
        };
        let realized = crate::dynamo::guards::needs::realized(&verdict.needs, &resumed.locals, vm);
        let standing: Vec<Standing> = frames.iter().map(|f| f.standing).collect();
        let skipped = is_library || !(is_asked_for || resumed.has_tensor) || function.skipped.borrow().contains(&0);
        let about = About { verdict: RefCell::new(verdict.clone()), closure, ..About::new(name, namer, Some(frame.globals.clone())) };
        let session = Session {
            frame: Some(Activation::of(depth, &standing)),
            body,
            skipped: Cell::new(skipped),
            realized: RefCell::new(realized),
            ..Session::of_call(function, about, is_library, grad)
        };
        Ok((Rc::new(session), resumed, verdict))
    }

    /// The innermost function has returned: its graph ends. Where an exception ended it, nothing is compiled.
    fn leave(&self, recorder: &Recorder, returned: bool) -> Result<()> {
        let top = self.top();
        top.returns(recorder, returned);
        // They hold values of the graph that ends.
        drop(self.parts.take());
        let mut outputs = alive(recorder);
        let first = recorder.first_outputs.take();
        let stored = if first.is_empty() && outputs.len() > 1 { self.stored_result(&top)? } else { Vec::new() };
        let position = |t: &Tensor| match stored.is_empty() {
            true => first.iter().position(|id| *id == t.id()),
            false => {
                let object = rustpython_vm::vm::thread::with_current_vm(|vm| wrap(t, vm)).ok()?.get_id();
                stored.iter().position(|id| *id == object)
            }
        };
        outputs.sort_by_key(|t| position(t).unwrap_or(usize::MAX));
        let mut outputs: Vec<Value> = outputs.into_iter().map(Value::Tensor).collect();
        outputs.extend(rustpython_vm::vm::thread::with_current_vm(|vm| numbers_left(recorder, vm)));
        let flushed = self.flush(&top, recorder, &outputs, returned && !top.skipped.get());
        self.sessions.borrow_mut().pop();
        rustpython_vm::vm::thread::with_current_vm(|vm| top.restore_numbers(vm));
        // The mode that a function set stays when it has returned, but where a block of its caller's is around the call: that is entered
        // again.
        let caller = self.top();
        match recorder.mode_of_blocks(&(caller.depth()..usize::MAX)) {
            _ if modes().grad == top.called_in => {}
            Some(mode) => drop(set_modes(Modes { grad: mode, ..modes() })),
            None => caller.grad.set(modes().grad),
        }
        self.go_on(recorder);
        if caller.grad.get() != modes().grad && recorder.mode_of_blocks(&(caller.depth()..usize::MAX)).is_some() {
            recorder.record_grad_mode(modes().grad);
        }
        flushed.map(|_| ())
    }

    /// The compiled function has returned: graphs of the functions that it called end.
    pub(in crate::dynamo) fn leave_called(&self, recorder: &Recorder, returned: bool) -> Result<()> {
        self.parts.take();
        let mut left = Ok(());
        while self.sessions.borrow().len() > 1 && left.is_ok() {
            left = self.leave(recorder, returned);
        }
        self.sessions.borrow_mut().truncate(1);
        left
    }

    /// What a function that has returned gave its caller, as far as that has stored it.
    fn stored_result(&self, session: &Session) -> Result<Vec<usize>> {
        let Some((depth, call)) = session.frame.as_ref().map(|f| f.called_from()) else { return Ok(Vec::new()) };
        rustpython_vm::vm::thread::with_current_vm(|vm| match frames::standing(self.base, vm)?.get(depth) {
            Some(frame) => frames::stored_result(frame, call, vm),
            None => Ok(Vec::new()),
        })
        .map_err(raised)
    }

    /// What is recorded of a place computes nothing until it ends at a break: it depends on values all the same.
    pub(in crate::dynamo) fn note_idle(&self, session: &Session, place: usize) {
        let verdict = session.about.verdict.borrow().clone();
        let reasons = match session.function.values.idle(place, &verdict) {
            Some(reasons) if session.function.cache.borrow().len(place) == 0 => reasons,
            _ => return,
        };
        count_frame(true);
        let frame = session.function.frame(place);
        note_recompiled(frame, &reasons);
    }

    pub(in crate::dynamo) fn flush(&self, session: &Session, recorder: &Recorder, outputs: &[Value], compiles: bool) -> Result<bool> {
        session.resume(recorder);
        let place = session.at.get();
        self.busy.set(true);
        let flushed = flush(&session.function, recorder, place, outputs, &session.about, compiles);
        self.busy.set(false);
        flushed
    }
}

/// A call that is recorded inside of a skipped frame, and may be recorded again: a compiled function has a cache of its own.
pub(in crate::dynamo) struct Around(Option<Rc<Recorder>>, Option<Rc<Call>>);

impl Around {
    /// From now on this call is recorded.
    pub(in crate::dynamo) fn enter(recorder: &Rc<Recorder>, call: &Rc<Call>) -> Self {
        let around = Around(RECORDER.replace(Some(recorder.clone())), CALL.replace(Some(call.clone())));
        around.1.iter().for_each(|outer| outer.busy.set(true));
        around
    }

    /// It is over.
    pub(in crate::dynamo) fn leave(self) {
        self.1.iter().for_each(|outer| outer.busy.set(false));
        RECORDER.set(self.0);
        CALL.set(self.1);
    }
}

/// The call that is recorded.
pub(in crate::dynamo) fn current() -> Option<Rc<Call>> {
    CALL.with_borrow(Clone::clone)
}

/// A function that is recorded, while a block runs that is no part of it.
pub struct Waiting {
    call: Rc<Call>,
    recorder: Rc<Recorder>,
    session: Rc<Session>,
    /// Whether it was not recorded before either, and why.
    before: (bool, Option<usize>),
}

impl Waiting {
    /// Makes the function that is recorded now wait. So many of the frames that follow are recorded neither.
    pub fn begin(skipped: usize) -> Option<Self> {
        let call = CALL.with_borrow(Clone::clone).filter(|_| !is_excluded(Key::Capture))?;
        let recorder = RECORDER.with_borrow(Clone::clone)?;
        let session = call.top();
        let above = frames_above(call.base).map(|frames| frames.len() + skipped);
        let before = (session.skipped.replace(true), session.waits_above.replace(above));
        call.go_on(&recorder);
        Some(Waiting { call, recorder, session, before })
    }

    /// Makes a call while the function that is recorded waits, if one is. What the call raised comes before what ending it did.
    pub fn during<R, E>(call: impl FnOnce() -> std::result::Result<R, E>, raised: impl FnOnce(Error) -> E) -> std::result::Result<R, E> {
        let waiting = Waiting::begin(0);
        let result = call();
        let ended = waiting.map_or(Ok(()), Waiting::end);
        let result = result?;
        ended.map_err(raised)?;
        Ok(result)
    }

    /// The block is over: so are the functions that were called in it.
    pub fn end(self) -> Result<()> {
        let mut ended = Ok(());
        while ended.is_ok() && !Rc::ptr_eq(&self.call.top(), &self.session) && self.call.sessions.borrow().len() > 1 {
            ended = self.call.leave(&self.recorder, true);
        }
        self.session.skipped.set(self.before.0);
        self.session.waits_above.set(self.before.1);
        self.call.go_on(&self.recorder);
        ended
    }
}

/// A tensor's number was asked for. Where that has ended a graph, what follows depends on it, and has a symbol for it if it varied.
pub fn given_number(number: PyObjectRef) -> PyObjectRef {
    let (Some(call), Some(recorder)) = (CALL.with_borrow(Clone::clone), RECORDER.with_borrow(Clone::clone)) else { return number };
    let top = call.top();
    // What the library asks for its own ends is no value of the script's.
    if !crate::python::span::caller(0).is_some_and(|(code, at)| place_of(&code, at).is_some()) {
        top.resume(&recorder);
        return number;
    }
    top.resume_with(&recorder, Some(&number)).unwrap_or(number)
}

/// The value of an unbacked symbol is needed: the graph breaks, and it is known.
pub fn need_number(number: &Value, reason: &Unsupported) -> Result<()> {
    match recorder() {
        Some(recorder) => recorder.need_number(number, reason),
        None => Ok(()),
    }
}

/// What the call that ended a graph returned: its tensors are inputs of the next one.
pub fn note_returned(result: &PyObject, vm: &VirtualMachine) {
    if let Some(call) = CALL.with_borrow(Clone::clone)
        && let Some(rest) = &*call.top().about.resumed.borrow()
    {
        rest.note_returned(result, vm);
    }
}

/// A called function has returned this: if it was recorded on its own, its graph returns it in this order.
pub fn note_result(result: &PyObject, vm: &VirtualMachine) -> Result<()> {
    let Some(call) = CALL.with_borrow(Clone::clone) else { return Ok(()) };
    let Some(recorder) = RECORDER.with_borrow(Clone::clone).filter(|r| !r.is_over()) else { return Ok(()) };
    let mut found = Vec::new();
    call.parts.borrow_mut().note_returned(&mut || {
        returned(result, &recorder, &mut found, vm);
        found.iter().filter_map(|v| recorder.known_node(v.as_tensor()?)).collect()
    });
    if call.sessions.borrow().len() == 1 {
        return Ok(());
    }
    found.clear();
    returned(result, &recorder, &mut found, vm);
    let ids = |v: &Value| if let Value::Tensor(t) = v { Some(t.id()) } else { None };
    let before = recorder.first_outputs.replace(found.iter().filter_map(ids).collect());
    let count = call.sessions.borrow().len();
    let looked = call.look_around(&recorder);
    if call.sessions.borrow().len() == count {
        // That function was part of its caller's graph.
        recorder.first_outputs.replace(before);
    }
    looked
}

/// Tells the recorder that a tensor of the caller's was read.
pub fn touch(t: &Tensor, is_static: bool) -> Result<()> {
    match recorder() {
        Some(recorder) => recorder.touch(t, is_static),
        None => Ok(()),
    }
}

/// Tells the recorder that a tensor of the caller's was read by what surrounds the `forward` of a module.
pub fn touch_around(t: &Tensor) -> Result<()> {
    match recorder() {
        Some(recorder) => recorder.touch_around(t),
        None => Ok(()),
    }
}

/// What stands for a tensor of the caller's while it is recorded: its sizes may be symbolic.
pub fn fake_tensor(t: &Tensor) -> Option<Tensor> {
    RECORDER.with_borrow(|r| r.as_ref().and_then(|r| r.fake_tensor(t)))
}

/// The tensor of the caller's that a fake one stands for, where it is an input of what is recorded.
pub fn given_tensor(fake: &Tensor) -> Option<Tensor> {
    RECORDER.with_borrow(|r| r.as_ref().and_then(|r| r.real_tensor(fake)))
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
