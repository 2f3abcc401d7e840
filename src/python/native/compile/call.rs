//! One call of a compiled function: what is recorded, and on whose behalf.
//!
//! A call is recorded function by function. It begins with the compiled one; what that calls is part of it, until a graph ends
//! inside of a called function: then the caller's graph has ended at the call, and the called function is recorded on its own,
//! as PyTorch's front end compiles it on its own. When it returns, the caller goes on. A function that was given up is not
//! recorded; those that it calls are.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustpython_vm::builtins::PyCode;
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyRef, PyResult, VirtualMachine};

use super::about::About;
use super::activation::{Activation, Session};
use super::closures;
use super::entries::Remembered;
use super::frames::{self, Frame};
use super::parts::Parts;
use super::reads::Resumed;
use super::results::{add_escaped, alive, is_among, is_known, lone_input, numbers_for_sizes, returned};
use super::run::flush;
use super::session::{CompiledFunction, breaks_are_errors, count, dynamo_error, function_of, note_break, note_recompiled, stance, switch};
use super::values::{self, Verdict};
use crate::aot::trace::Pushed;
use crate::capture::{CaptureLayer, InputSource, Recorder, Rest, Surroundings, Unsupported, from_user_code};
use crate::dispatch::{Key, Value, is_excluded, modes};
use crate::error::{Error, ErrorKind, Result};
use crate::python::current::emit;
use crate::python::native::tensor::{raise, raised, replace_payload, take_unknown, wrap};
use crate::python::span::{FrameMark, Standing, codes_above, frame_mark, frames_above, instructions_above};
use crate::report::{Event, GraphBreak};
use crate::span::Source;
use crate::tensor::{Geometry, Tensor};

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

/// A block begins that changes the grad mode, which was `before`; without that it ends.
pub fn note_grad_block(block: usize, before: Option<bool>) {
    match before {
        Some(before) => {
            // The frame that runs is that of the block's own method.
            let base = CALL.with_borrow(|call| call.as_ref().map(|call| call.base));
            let frame = base.and_then(frames_above).map_or(0, |frames| frames.len().saturating_sub(2));
            recorder().into_iter().for_each(|r| r.begin_grad_block(block, before, frame));
        }
        None => RECORDER.with_borrow(|r| r.iter().for_each(|r| r.end_grad_block(block))),
    }
}

/// The script changes an attribute of a tensor: the front end has more to do after the graph than to return.
pub fn note_side_effect() {
    if let Some(recorder) = recorder() {
        recorder.has_side_effect.set(true);
    }
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

/// Whether a compiled function is being called that is to be one graph.
pub fn is_whole() -> bool {
    CALL.with_borrow(|call| call.as_ref().is_some_and(|call| call.fullgraph))
}

/// Ends the region being recorded, if there is one and it is not suspended: values are needed.
pub fn break_graph(reason: &Unsupported) -> Result<()> {
    match RECORDER.with_borrow(Clone::clone) {
        Some(recorder) => recorder.break_graph(reason),
        None => Ok(()),
    }
}

/// The same, at a call that reads tensors and numbers.
pub fn break_graph_at(reason: &Unsupported, read: Vec<Value>) -> Result<()> {
    match RECORDER.with_borrow(Clone::clone) {
        Some(recorder) => recorder.break_graph_at(reason, read),
        None => Ok(()),
    }
}

/// Whether a result of the graph that has a history is read after a break.
fn severs_history(recorder: &Recorder, frames: &[Frame]) -> Result<bool> {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let mut differentiable = alive(recorder).into_iter().filter(crate::autograd::meta::requires_grad);
        differentiable.try_fold(false, |found, t| Ok(found || frames::are_reading(frames, &t, vm)?))
    })
    .map_err(raised)
}

/// The recorder of the compiled function being recorded, where capture is not suspended.
pub fn recorder() -> Option<Rc<Recorder>> {
    let recorder = RECORDER.with_borrow(Clone::clone).filter(|_| !is_excluded(Key::Capture))?;
    // A function whose graph cannot end is found out by the next call.
    let _ = recorder.look_around();
    Some(recorder).filter(|r| !r.is_over())
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
pub(super) struct Call {
    pub(super) base: FrameMark,
    /// Whether a break is an error.
    pub(super) fullgraph: bool,
    /// Compiled functions that were called meanwhile, by their code.
    nested: RefCell<Vec<(PyObjectRef, Rc<CompiledFunction>)>>,
    /// The functions that are recorded on their own, innermost last.
    pub(super) sessions: RefCell<Vec<Rc<Session>>>,
    /// What variables held that numbers took the place of: expressions under way may hold it still.
    kept: RefCell<Vec<PyObjectRef>>,
    /// Tensors that the compiled function looks at without an operator, and that were not told of yet, by the instructions that do it.
    looked_at: RefCell<Vec<(Rc<[usize]>, Tensor)>>,
    /// Calls, by frame and function, whose functions were looked at for what they close over.
    closures: RefCell<closures::Known>,
    /// Functions that the one that is recorded has called, and may have to be recorded without.
    pub(super) parts: RefCell<Parts>,
    pub(super) busy: Cell<bool>,
    /// Whether a break was an error: nothing is compiled then.
    is_refused: Cell<bool>,
}

impl Call {
    pub(super) fn top(&self) -> Rc<Session> {
        let sessions = self.sessions.borrow();
        sessions.last().cloned().unwrap_or_else(|| unreachable!("a call has the session of its function"))
    }

    fn go_on(&self, recorder: &Recorder) {
        let top = self.top();
        recorder.go_on(!top.given_up.get(), top.grad.get());
    }

    /// Finds out which function is recorded now.
    fn look_around(&self, recorder: &Recorder) -> Result<()> {
        let is_alone = self.sessions.borrow().len() == 1;
        if self.busy.get() || is_excluded(Key::Capture) {
            return Ok(());
        }
        // What a number was asked for by goes on without it.
        self.top().resume(recorder);
        if is_alone && !self.top().given_up.get() {
            return self.note_part(recorder);
        }
        let Some(frames) = frames_above(self.base) else { return Ok(()) };
        while self.top().frame.as_ref().is_some_and(|f| !f.runs(&frames)) {
            self.leave(recorder, true)?;
        }
        let top = self.top();
        if !top.given_up.get() {
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

    /// Tensors that were looked at before the instructions that run.
    fn looked_at(&self) -> Vec<Tensor> {
        let mut found = self.looked_at_alone();
        let mut known = self.closures.borrow_mut();
        found.extend(rustpython_vm::vm::thread::with_current_vm(|vm| closures::looked_at(self.base, &mut known, vm)));
        found
    }

    /// Those that are looked at without an operator.
    fn looked_at_alone(&self) -> Vec<Tensor> {
        if self.looked_at.borrow().is_empty() || self.sessions.borrow().len() > 1 || self.top().at.get() > 0 {
            return Vec::new();
        }
        let frames = rustpython_vm::vm::thread::with_current_vm(|vm| frames::standing(self.base, vm));
        let stands = |f: &&Frame| f.standing.is_own || f.standing.is_generator;
        let way: Vec<usize> = frames.unwrap_or_default().iter().filter(stands).map(Frame::since).collect();
        let mut left = self.looked_at.borrow_mut();
        let before = left.partition_point(|(at, _)| **at < *way);
        left.drain(..before).map(|(_, t)| t).collect()
    }

    /// A function is recorded on its own from now on; where it has only just begun, its numbers can become symbols of what the
    /// `recorder` records.
    fn enter(
        &self,
        frames: &[Frame],
        depth: usize,
        is_library: bool,
        grad: bool,
        recorder: Option<&Recorder>,
        vm: &VirtualMachine,
    ) -> PyResult<()> {
        let (session, resumed, verdict) = self.session(frames, depth, (is_library, grad, recorder.is_some()), vm)?;
        if let Some(recorder) = recorder.filter(|_| !session.given_up.get()) {
            session.set_numbers(resumed, &verdict, recorder, vm);
        }
        self.sessions.borrow_mut().push(session);
        Ok(())
    }

    /// A function that can be recorded on its own, with the values that it begins with and what they mean. Its numbers can become
    /// symbols where it `begins`.
    pub(super) fn session(
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
        // A comprehension's code is its function's, and it is given up in any case.
        let function = match frame.standing.is_generator {
            true => Rc::new(CompiledFunction::new(asked.clone())),
            false => {
                let code = body.as_ref().unwrap_or(&frame.code);
                let nested = self.nested.borrow().iter().rfind(|(c, _)| c.is(code)).map(|(_, function)| function.clone());
                nested.unwrap_or_else(|| function_of(code, &asked, vm))
            }
        };
        let (name, namer) = frame.names(vm)?;
        let resumed = frame.resumed(true, vm);
        let dynamic = if begins { function.dynamic() } else { Some(false) };
        let verdict =
            if frame.standing.is_generator { Verdict::default() } else { function.values.at_entry(&resumed, (&function, dynamic), vm) };
        let standing: Vec<Standing> = frames.iter().map(|f| f.standing).collect();
        let given_up = is_library || function.given_up.borrow().contains(&0);
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
            from: Cell::new(0),
            pending: RefCell::default(),
            replaced: RefCell::default(),
            given: RefCell::default(),
            is_library,
            body,
            given_up: Cell::new(given_up),
            waits_above: Cell::new(None),
            grad: Cell::new(grad),
        });
        Ok((session, resumed, verdict))
    }

    /// The innermost function has returned: its graph ends. Where an exception ended it, nothing is compiled.
    fn leave(&self, recorder: &Recorder, returned: bool) -> Result<()> {
        let top = self.top();
        top.returns(recorder, returned);
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
        let outputs: Vec<Value> = outputs.into_iter().map(Value::Tensor).collect();
        let flushed = self.flush(&top, recorder, &outputs, returned && !top.given_up.get());
        self.sessions.borrow_mut().pop();
        rustpython_vm::vm::thread::with_current_vm(|vm| top.restore_numbers(vm));
        self.go_on(recorder);
        flushed.map(|_| ())
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
    fn note_idle(&self, session: &Session, place: usize) {
        let verdict = session.about.verdict.borrow().clone();
        let reasons = match session.function.values.idle(place, &verdict) {
            Some(reasons) if session.function.cache.borrow().len(place) == 0 => reasons,
            _ => return,
        };
        let frame = session.function.frame(place);
        note_recompiled(frame, &reasons);
    }

    pub(super) fn flush(&self, session: &Session, recorder: &Recorder, outputs: &[Value], compiles: bool) -> Result<bool> {
        session.resume(recorder);
        let place = session.at.get();
        self.busy.set(true);
        let flushed = flush(&session.function, recorder, place, outputs, &session.about, compiles);
        self.busy.set(false);
        flushed
    }

    /// Recording has to stop.
    fn on_break(&self, recorder: &Recorder, reason: &Unsupported, source: Option<Source>) -> Result<()> {
        // What was compiled before, when breaks were none, serves again.
        let top = self.top();
        let unmet = &top.about.verdict.borrow().unmet.clone();
        let is_cached = top.function.passed.borrow().contains(&top.at.get()) && (unmet.is_empty() || unmet.iter().any(Vec::is_empty));
        let is_error = breaks_are_errors().unwrap_or(self.fullgraph && !is_cached);
        self.is_refused.set(self.is_refused.get() || is_error);
        if let Some(said) = reason.user_error(source.as_ref()).filter(|_| is_error) {
            return Err(dynamo_error("UserError", &said));
        }
        if is_error {
            let message = format!("{}{}", reason.text(), from_user_code(source.as_ref()));
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let mut frames = rustpython_vm::vm::thread::with_current_vm(|vm| frames::standing(self.base, vm)).map_err(raised)?;
        let mut parts = self.parts.take();
        let (mut reported, mut counted) = (false, false);
        loop {
            let top = self.top();
            let start = top.depth().min(frames.len());
            let first_own = (start..frames.len()).find(|i| frames[*i].standing.is_own);
            let own = first_own.filter(|_| !top.is_library).unwrap_or(start);
            let inner = (own + 1..frames.len()).find(|i| frames[*i].standing.is_own);
            // A module of PyTorch's that calls it is no part of a graph, nor is what that has done and will do; what calls a hook is
            // none, but for the body of that module.
            let is_around = |f: &Frame| f.standing.is_module || f.standing.calls_hooks;
            let is_in_module = |inner: &usize| !top.is_library && frames[own + 1..*inner].iter().any(is_around);
            let around_hook = |inner: usize| (own + 1..inner).rev().find(|i| is_around(&frames[*i]));
            let hooked = inner.filter(|_| top.is_library).and_then(around_hook).filter(|i| frames[*i].standing.calls_hooks);
            let module = inner.filter(is_in_module).map(|_| own + 1).or(hooked);
            // Nor is a comprehension or a generator, and what those call is.
            let around = own + 1..inner.unwrap_or(frames.len()).max(own + 1);
            let generator = around.clone().find(|i| !top.is_library && frames[*i].standing.is_generator);
            // Nor are modules and functions of PyTorch's in which a graph would end by themselves: they are called as they are.
            let ends_in = |f: &Frame| f.standing.is_module || f.standing.is_function;
            let library = (inner.is_none() && !top.is_library && frames.iter().skip(own + 1).any(ends_in)).then_some(own + 1);
            let module = module.into_iter().chain(generator).chain(library).min();
            let inner = module.or(inner);
            let rest = inner.and_then(|inner| {
                let places: Vec<u32> = frames[..inner].iter().map(|f| f.standing.at).collect();
                recorder.split(&|stack| stack.len() > inner && stack[..inner] == places[..])
            });
            let end = match (inner, &rest) {
                (Some(inner), Some(_)) => inner,
                _ => frames.len(),
            };
            // What is called and is no function of its own is part of it: a graph that ends there ends at the call.
            let severs = reason.asks_for_gradients() && severs_history(recorder, &frames[start..])?;
            // PyTorch's front end makes no graph of a single call there.
            let leaves_rest = reason.leaves_rest() && inner.is_none() && recorder.count_calls() > 1;
            let stops = reason.gives_function_up() && !leaves_rest
                || severs
                || if top.is_library { frames[start..end].iter().any(|f| f.gives_up) } else { frames.get(own).is_some_and(|f| f.gives_up) };
            top.resume(recorder);
            let here = top.at.get();
            let gives_up = stops || top.given_up.get() || top.function.given_up.borrow().contains(&here);
            if !reported {
                super::modules::end_graph(stops);
                let in_loop = stops && !severs && !reason.gives_function_up();
                let title = if in_loop { "graph break in loop" } else { reason.title() };
                let told = if reason.is_branch() { "generic_jump TensorVariable()".to_owned() } else { reason.text() };
                note_break(told, source.clone());
                emit(Event::Broke { graph_break: GraphBreak { reason: title.to_owned(), span: source.as_ref().map(|s| s.span.clone()) } });
                reported = true;
            }
            if gives_up && !top.given_up.get() && !top.is_library {
                // What is looked at for the first time has a number, whatever comes of it.
                top.function.frame(here);
                let parts = std::mem::take(&mut parts);
                if inner.is_none() || rest.is_some() {
                    self.compile_parts(parts, recorder, rest.as_ref())?;
                }
            } else if !parts.is_empty() {
                // They hold values that are looked at now for who holds them.
                drop(std::mem::take(&mut parts));
                frames = rustpython_vm::vm::thread::with_current_vm(|vm| frames::standing(self.base, vm)).map_err(raised)?;
            }
            let mut read = rest.as_ref().map_or_else(Vec::new, Rest::reads);
            read.retain(|t| recorder.is_lazy(t));
            // What a module of PyTorch's is called with are values of an expression under way.
            let looked = if (own + 1..end).any(|i| frames[i].standing.is_module) { own + 1 } else { end };
            let wanted = rustpython_vm::vm::thread::with_current_vm(|vm| {
                let alive = alive(recorder);
                let operands = alive.last().map_or_else(Vec::new, |t| recorder.operands(t));
                // What the call reads that ends a graph in a comprehension or a generator, is not read here.
                let ends_here = module.is_none_or(|m| !frames[m].standing.is_generator);
                let needs = |t: &Tensor| recorder.needs(t).filter(|_| ends_here);
                frames::wanted(&frames[start..looked], frames.get(end), alive, (&operands, &read), &needs, vm)
            });
            let wanted = wanted.map_err(raised)?;
            // Python may have let go of what the function reads.
            read.retain(|t| !is_among(t, &wanted));
            let mut outputs: Vec<Value> = read.into_iter().map(Value::Tensor).collect();
            for value in recorder.needed_numbers().into_iter().chain(wanted) {
                match &value {
                    Value::Tensor(t) if is_among(t, &outputs) => {}
                    Value::Int(size) if !recorder.has_size(size) || recorder.is_number(size) || is_known(&value, &outputs) => {}
                    Value::SymFloat(float) if !recorder.has_float(float) || is_known(&value, &outputs) => {}
                    _ => outputs.push(value),
                }
            }
            outputs.extend(recorder.stored_back().into_iter().map(|(twin, _)| Value::Tensor(twin)));
            let grad = recorder.grad_mode();
            recorder.ends_at_call(inner.is_some() && rest.is_some());
            recorder.leave_grad_blocks(start..end);
            // Where a loop went back, everything behind its beginning was read.
            if let Some(frame) = frames.get(own).filter(|f| !top.is_library && f.position > top.from.get()) {
                let needs = Rc::new(top.about.verdict.borrow().needs.until(frame.position));
                top.about.verdict.borrow_mut().needs = needs;
            }
            let compiles = if top.is_library { top.has_body() } else { !gives_up };
            if let Some(frame) = frames.get(own).filter(|f| !top.is_library && f.position > top.from.get())
                && let Some(code) = frame.code.downcast_ref::<PyCode>()
            {
                top.holds_number(code, frame.position);
                rustpython_vm::vm::thread::with_current_vm(|vm| top.holds_constants(&frame.resumed(false, vm), vm));
            }
            let entries = || top.function.cache.borrow().len(here);
            let (before, is_new) = (entries(), !top.function.passed.borrow().contains(&here));
            let computes = super::session::ending_in_break(|| self.flush(&top, recorder, &outputs, compiles))?;
            // What is in the cache was counted when it was compiled.
            if !counted && (is_new || entries() > before) {
                count("graph_break", &reason.text(), 1);
            }
            counted = true;
            if !computes && compiles && here > 0 {
                self.note_idle(&top, here);
            }
            top.function.passed.borrow_mut().insert(here);
            top.grad.set(recorder.mode_around());
            // That no derivative can be had of it shows when it is compiled.
            let gives_up = gives_up || top.function.is_given_up(here);
            if !top.is_library && !top.given_up.get() {
                top.function.frame(here);
            }
            if gives_up || top.is_library {
                // What calls the hooks of a module is given up, its body is not.
                if top.body.is_none() {
                    top.function.given_up.borrow_mut().insert(here);
                }
                top.given_up.set(true);
            } else if leaves_rest {
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
                // Which way Python goes is not known yet where that was the question, nor is a number that was asked for.
                if !((reason.is_branch() || reason.gives_number()) && inner.is_none()) && !gives_up {
                    top.resume(recorder);
                }
            }
            let (Some(inner), Some(rest)) = (inner, rest) else {
                self.go_on(recorder);
                return Ok(());
            };
            rustpython_vm::vm::thread::with_current_vm(|vm| self.enter(&frames, inner, module.is_some(), grad, None, vm))
                .map_err(raised)?;
            self.go_on(recorder);
            // Nothing is called meanwhile.
            self.busy.set(true);
            let recorded = recorder.record_again(&rest, &mut [], &replace_payload);
            self.busy.set(false);
            recorded?;
        }
    }
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
        let before = (session.given_up.replace(true), session.waits_above.replace(above));
        call.go_on(&recorder);
        Some(Waiting { call, recorder, session, before })
    }

    /// The block is over: so are the functions that were called in it.
    pub fn end(self) -> Result<()> {
        let mut ended = Ok(());
        while ended.is_ok() && !Rc::ptr_eq(&self.call.top(), &self.session) && self.call.sessions.borrow().len() > 1 {
            ended = self.call.leave(&self.recorder, true);
        }
        self.session.given_up.set(self.before.0);
        self.session.waits_above.set(self.before.1);
        self.call.go_on(&self.recorder);
        ended
    }
}

/// Calls a compiled function.
pub fn call(
    function: &Rc<CompiledFunction>,
    fullgraph: bool,
    callee: &PyObject,
    name: String,
    namer: PyObjectRef,
    args: FuncArgs,
    vm: &VirtualMachine,
) -> PyResult {
    if capturing() {
        // A compiled function called while another is recorded is part of that one, until a graph ends in it.
        if let (Some(call), Some(code)) = (CALL.with_borrow(Clone::clone), values::code_of(callee, vm)) {
            call.nested.borrow_mut().push((code, function.clone()));
        }
        return callee.call(args, vm);
    }
    // What is called inside of a transform is not compiled.
    if stance() == "force_eager" || crate::transforms::levels::current().is_some() {
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
        from: Cell::new(0),
        pending: RefCell::default(),
        replaced: RefCell::default(),
        given: RefCell::default(),
        is_library: bound.as_ref().is_some_and(|b| b.is_of_module(vm)),
        body: None,
        given_up: Cell::new(function.given_up.borrow().contains(&0)),
        waits_above: Cell::new(None),
        grad: Cell::new(modes().grad),
    });
    let call = Rc::new(Call {
        base,
        fullgraph,
        nested: RefCell::default(),
        sessions: RefCell::new(vec![first.clone()]),
        kept: RefCell::default(),
        looked_at: RefCell::default(),
        closures: RefCell::default(),
        parts: RefCell::default(),
        busy: Cell::new(false),
        is_refused: Cell::new(false),
    });
    let surroundings = {
        let (looks, asked, breaks) = (call.clone(), call.clone(), call.clone());
        Surroundings {
            places: Rc::new(move || instructions_above(base)),
            look_around: Rc::new(move |recorder| looks.look_around(recorder)),
            looked_at: Rc::new(move || asked.looked_at()),
            on_break: Rc::new(move |recorder, reason, source| breaks.on_break(recorder, reason, source)),
            stores_result: Rc::new(frames::stores_result),
            wants_sizes: Rc::new(|| switch("capture_dynamic_output_shape_ops")),
            wants_scalars: Rc::new(move || fullgraph || switch("capture_scalar_outputs")),
        }
    };
    let input_name = {
        let call = call.clone();
        Rc::new(move |t: &Tensor, index: usize| call.top().about.source(t, index))
    };
    let plan = {
        let call = call.clone();
        Rc::new(move |input: &InputSource, geometry: &Geometry| {
            let top = call.top();
            let place = top.at.get();
            let was_number = top.function.values.was_number(place, &input.source);
            top.function.seen.borrow().plan(place, input, geometry, top.function.dynamic(), was_number)
        })
    };
    let recorder = Recorder::new(input_name, plan, surroundings);
    call.go_on(&recorder);
    if let Some(bound) = &bound {
        *first.about.verdict.borrow_mut() = function.values.at_start(bound, function, vm);
    }
    let needs = first.about.verdict.borrow().needs.clone();
    if let Some(bound) = &bound {
        call.looked_at.replace(values::looked_at(&needs, &bound.locals, vm));
    }
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
    call.parts.take();
    let mut flushed = Ok(());
    while call.sessions.borrow().len() > 1 && flushed.is_ok() {
        flushed = call.leave(&recorder, result.is_ok());
    }
    call.sessions.borrow_mut().truncate(1);
    if !fullgraph {
        first.returns(&recorder, result.is_ok());
    }
    let mut outputs = Vec::new();
    if let Ok(value) = &result {
        returned(value, &recorder, &mut outputs, vm);
    }
    let left = add_escaped(&mut outputs, &recorder, result.as_ref().ok(), (bound.as_ref(), &needs), vm);
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
    if result.is_err() && (outputs.is_empty() || uncaught.is_some() || call.is_refused.get()) {
        // An error ends the region; nobody asks for what it computed, and where a call could not be captured, nothing is compiled.
        flushed = flushed.and_then(|()| {
            let region = recorder.end(&[])?;
            let place = first.at.get();
            let unmet = first.about.verdict.borrow().unmet.clone();
            let reasons = function.cache.borrow().missed(place, &region, &unmet);
            if !reasons.is_empty() && !first.given_up.get() {
                note_recompiled(function.frame(place), &reasons);
            }
            region.env.settle();
            Ok(())
        });
    } else if flushed.is_ok() {
        flushed = call.flush(&first, &recorder, &outputs, result.is_ok() && !first.given_up.get()).map(|_| ());
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
    left.settle(vm)?;
    match (result, flushed) {
        (Err(e), _) if e.class().is(vm.ctx.exceptions.runtime_error) => Err(uncaught.map_or(e, |error| raise(error, vm))),
        (Err(e), _) if fullgraph && e.class().is(vm.ctx.exceptions.type_error) => {
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

/// A tensor's number was asked for. Where that has ended a graph, what follows depends on it, and has a symbol for it if it varied.
pub fn given_number(number: PyObjectRef) -> PyObjectRef {
    let (Some(call), Some(recorder)) = (CALL.with_borrow(Clone::clone), RECORDER.with_borrow(Clone::clone)) else { return number };
    let top = call.top();
    // What the library asks for its own ends is no value of the script's.
    if !crate::python::span::caller(0).is_some_and(|(code, at)| frames::place_of(&code, at).is_some()) {
        top.resume(&recorder);
        return number;
    }
    top.resume_with(&recorder, Some(&number)).unwrap_or(number)
}

/// A number that only the run knows is needed: the graph ends, and it is known.
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
