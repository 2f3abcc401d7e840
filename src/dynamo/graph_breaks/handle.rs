//! A graph breaks where the script needs what no graph can give: which frames it ends in, and what it has to return for Python to go on.

use std::rc::Rc;

use rustpython_vm::PyResult;
use rustpython_vm::builtins::PyCode;
use rustpython_vm::vm::thread::with_current_vm;

use crate::dispatch::{Modes, Value, modes, set_modes};
use crate::dynamo::cache::compiled_function::{breaks_are_errors, count, count_frame, dynamo_error, ending_in_break, note_break};
use crate::dynamo::eval_frame::call::Call;
use crate::dynamo::eval_frame::frames::{self, Frame};
use crate::dynamo::eval_frame::resumption::Resumption;
use crate::dynamo::side_effects::outputs::{alive, is_among, is_known};
use crate::dynamo::symbolic_convert::translator::Session;
use crate::dynamo::{Recorder, Retrace, Unsupported, from_user_code};
use crate::error::{Error, ErrorKind, Result};
use crate::python::current::emit;
use crate::python::escape::escaping;
use crate::python::native::tensor::{raised, replace_payload};
use crate::report::{Event, GraphBreak};
use crate::span::Source;
use crate::tensor::Tensor;

/// How what was recorded is shared out among the functions that run, innermost last.
struct Extent {
    /// The first of the frames that belong to the function that is recorded, and the first of those that is its own code.
    start: usize,
    own: usize,
    /// The function that what is behind the call in `own` was recorded for, and that calls recorded for the caller cannot be in.
    inner: Option<usize>,
    /// Whether `inner` is called as it is (a module of PyTorch's, a comprehension), and is recorded as none of the script's.
    as_it_is: Option<usize>,
    /// Where the frames end that belong to the graph that ends.
    end: usize,
    /// What was recorded of `inner`: the graph breaks before it.
    rest: Option<Retrace>,
}

impl Extent {
    fn of(frames: &[Frame], top: &Session, recorder: &Recorder) -> Self {
        let start = top.depth().min(frames.len());
        let first_own = (start..frames.len()).find(|i| frames[*i].standing.is_own);
        let own = first_own.filter(|_| !top.is_library).unwrap_or(start);
        let called = (own + 1..frames.len()).find(|i| frames[*i].standing.is_own);
        // A module of PyTorch's that calls it is no part of a graph, nor is what that has done and will do; what calls a hook is
        // none, but for the body of that module.
        let is_around = |f: &Frame| f.standing.is_module || f.standing.calls_hooks;
        let is_in_module = |called: &usize| !top.is_library && frames[own + 1..*called].iter().any(is_around);
        let around_hook = |called: usize| (own + 1..called).rev().find(|i| is_around(&frames[*i]));
        let hooked = called.filter(|_| top.is_library).and_then(around_hook).filter(|i| frames[*i].standing.calls_hooks);
        let module = called.filter(is_in_module).map(|_| own + 1).or(hooked);
        // Nor is a comprehension or a generator, and what those call is.
        let mut between = own + 1..called.unwrap_or(frames.len()).max(own + 1);
        let generator = between.find(|i| !top.is_library && frames[*i].standing.is_generator);
        // Nor are modules and functions of PyTorch's in which a graph would end by themselves: they are called as they are.
        // An optimizer's step calls others of PyTorch's.
        let is_of_step = frames.get(own).is_some_and(|f| f.standing.is_own && !f.standing.is_script);
        let ends_in = |f: &Frame| is_of_step || f.standing.is_module || f.standing.is_function;
        let library = (called.is_none() && !top.is_library && frames.iter().skip(own + 1).any(ends_in)).then_some(own + 1);
        let as_it_is = module.into_iter().chain(generator).chain(library).min();
        let inner = as_it_is.or(called);
        let rest = inner.and_then(|inner| {
            let places: Vec<u32> = frames[..inner].iter().map(|f| f.standing.at).collect();
            recorder.split(&|stack| stack.len() > inner && stack[..inner] == places[..])
        });
        let end = inner.filter(|_| rest.is_some()).unwrap_or(frames.len());
        Extent { start, own, inner, as_it_is, end, rest }
    }

    /// The frame whose own code the graph ends in, where that has gone on since it was recorded from.
    fn went_on<'f>(&self, frames: &'f [Frame], top: &Session) -> Option<&'f Frame> {
        frames.get(self.own).filter(|f| !top.is_library && f.position > top.from.get())
    }

    /// What becomes of the frame that the graph ends in.
    fn resumption(&self, frames: &[Frame], top: &Session, reason: &Unsupported) -> Resumption {
        if top.is_library {
            let skips = frames[self.start..self.end].iter().any(|f| f.resumption != Resumption::Here);
            return if skips { Resumption::Never } else { Resumption::Here };
        }
        match frames.get(self.own) {
            // What the instruction reads first is no part of what Dynamo resumes behind.
            Some(frame) if self.inner.is_none() && (reason.precedes_instruction() || reason.begins_block()) => frame.before(),
            // A method of the script's that is asked for a truth.
            Some(frame) if self.inner.is_some() && frame.decides() => frame.before(),
            Some(frame) if reason.is_own() && frame.resumption != Resumption::Never => Resumption::Here,
            Some(frame) => frame.resumption,
            None => Resumption::Here,
        }
    }

    /// The graph ends before a statement of its own code: what has been recorded since goes on as it is. None where what came before is
    /// not worth a graph.
    fn cut(
        &self,
        frames: &[Frame],
        statement: Option<usize>,
        reason: &Unsupported,
        (from, recorder): (usize, &Recorder),
    ) -> Option<Extent> {
        let (frame, statement) = (&frames[self.own], statement.filter(|s| *s > from)?);
        let ran = frame.since_statement(statement)?;
        let places: Vec<u32> = frames[..self.own].iter().map(|f| f.standing.at).collect();
        let own = self.own;
        let is_since = |stack: &[u32]| stack.len() > own && stack[..own] == places[..] && ran.contains(&stack[own]);
        let part = recorder.since(&is_since);
        if recorder.count_calls_before(&part) < if reason.begins_block() { 1 } else { 2 } {
            return None;
        }
        let rest = recorder.split_at(&part)?;
        Some(Extent { start: self.start, own, inner: None, as_it_is: None, end: own + 1, rest: Some(rest) })
    }

    /// What the graph that ends returns: what Python goes on with, what the calls behind it read, numbers that are needed.
    fn outputs(&self, frames: &[Frame], recorder: &Recorder) -> Result<Vec<Value>> {
        let mut read = self.rest.as_ref().map_or_else(Vec::new, Retrace::reads);
        read.retain(|t| recorder.is_traced(t));
        // What a module of PyTorch's is called with are values of an expression under way.
        let is_in_module = (self.own + 1..self.end).any(|i| frames[i].standing.is_module);
        let looked = if is_in_module { self.own + 1 } else { self.end };
        let wanted = with_current_vm(|vm| {
            let mut alive = alive(recorder);
            // What nobody but a leaf has, as its gradient, is a side effect: those come last.
            let is_read = |t: &Tensor| frames::are_reading(&frames[self.start..looked], t, vm).unwrap_or(true);
            alive.retain(|t| !recorder.is_gradient(t) || recorder.needs(t).is_some() || is_read(t));
            let operands = alive.last().map_or_else(Vec::new, |t| recorder.operands(t));
            // What the call reads that ends a graph in a comprehension or a generator, is not read here.
            let ends_here = self.as_it_is.is_none_or(|m| !frames[m].standing.is_generator);
            let needs = |t: &Tensor| recorder.needs(t).filter(|_| ends_here);
            frames::wanted(&frames[self.start..looked], frames.get(self.end), alive, (&operands, &read), &needs, vm)
        });
        let wanted = wanted.map_err(raised)?;
        // Python may have let go of what the function reads.
        read.retain(|t| !is_among(t, &wanted));
        let mut outputs: Vec<Value> = read.into_iter().map(Value::Tensor).collect();
        // A called function that is recorded on its own reads them itself.
        let needed = if self.rest.is_none() { recorder.needed_numbers() } else { Vec::new() };
        for value in needed.into_iter().chain(wanted) {
            match &value {
                Value::Tensor(t) if is_among(t, &outputs) => {}
                Value::Int(size) if !recorder.has_size(size) || recorder.is_number(size) || is_known(&value, &outputs) => {}
                Value::SymFloat(float) if !recorder.has_float(float) || is_known(&value, &outputs) => {}
                Value::Opaque(_) if !recorder.has_condition(&value) || is_known(&value, &outputs) => {}
                _ => outputs.push(value),
            }
        }
        outputs.extend(recorder.stored_back().into_iter().map(|(fake_tensor, _)| Value::Tensor(fake_tensor)));
        // What is a leaf's gradient now is no variable's.
        outputs.extend(
            recorder
                .alive()
                .into_iter()
                .filter(|t| recorder.is_gradient(t) && !is_among(t, &outputs))
                .map(Value::Tensor)
                .collect::<Vec<_>>(),
        );
        recorder.in_order_of_leaves(&mut outputs);
        Ok(outputs)
    }
}

/// Tensors of the caller's that the instruction takes which breaks the graph, the last first, where nothing was computed and expressions
/// under way hold nothing else: the graph gives them back, as all that they hold.
fn inputs_on_stack(frames: &[Frame], recorder: &Recorder) -> Result<Vec<Value>> {
    let [frame] = frames else { return Ok(Vec::new()) };
    let read = recorder.needed.borrow().clone();
    let are_distinct = read.iter().enumerate().all(|(i, t)| !t.is_fake() && !read[..i].iter().any(|other| other.is(t)));
    if read.is_empty() || !are_distinct || !recorder.has_no_calls() || !frame.takes_all(read.len()) {
        return Ok(Vec::new());
    }
    read.iter().try_for_each(|t| recorder.touch(t, false))?;
    Ok(read.iter().rev().filter_map(|t| recorder.fake_tensor(t)).map(Value::Tensor).collect())
}

/// Whether a result of the graph that has a history is read after a break.
fn severs_history(recorder: &Recorder, frames: &[Frame]) -> Result<bool> {
    with_current_vm(|vm| {
        let mut differentiable = alive(recorder).into_iter().filter(crate::autograd::meta::requires_grad);
        differentiable.try_fold(false, |found, t| Ok(found || frames::are_reading(frames, &t, vm)?))
    })
    .map_err(raised)
}

/// Says in the report and the counters where and why a graph breaks.
fn report(reason: &Unsupported, source: Option<&Source>, in_loop: bool) {
    let title = if in_loop { "graph break in loop" } else { reason.title() };
    let told = if reason.is_branch() { "generic_jump TensorVariable()".to_owned() } else { reason.text() };
    note_break(told, source.cloned());
    let span = source.map(|s| s.span.clone());
    let (explanation, hints, url) = (reason.explanation().to_owned(), reason.hints().to_vec(), reason.url());
    emit(Event::Broke { graph_break: GraphBreak { reason: title.to_owned(), span, explanation, hints, url } });
}

impl Call {
    fn frames(&self) -> Result<Vec<Frame>> {
        with_current_vm(|vm| frames::standing(self.base, vm)).map_err(raised)
    }

    /// Where a break is an error: that error.
    fn refuse(&self, reason: &Unsupported, source: Option<&Source>, frames: &[Frame]) -> Result<()> {
        // A graph that was compiled before, when breaks were no errors, is used again.
        let top = self.top();
        let unmet = &top.about.verdict.borrow().unmet.clone();
        let is_cached = top.function.passed.borrow().contains(&top.at.get()) && (unmet.is_empty() || unmet.iter().any(Vec::is_empty));
        let is_error = breaks_are_errors().unwrap_or(self.fullgraph && !is_cached || self.runs_whole(frames));
        if !is_error {
            return Ok(());
        }
        self.is_refused.set(true);
        Err(escaping(match reason.user_error(source) {
            Some(said) => dynamo_error("UserError", &said),
            None => Error::new(ErrorKind::Unsupported, format!("{}{}", reason.text(), from_user_code(source))),
        }))
    }

    /// Recording has to stop. What was recorded is shared out among the functions that run: the outermost gets what was recorded
    /// before it called the next, which is recorded on its own from its beginning, and so on.
    pub(in crate::dynamo) fn on_break(&self, recorder: &Recorder, reason: &Unsupported, source: Option<Source>) -> Result<()> {
        let mut frames = self.frames()?;
        self.refuse(reason, source.as_ref(), &frames)?;
        let mut parts = self.parts.take();
        let (mut reported, mut went_ahead) = (false, false);
        loop {
            let top = self.top();
            let extent = Extent::of(&frames, &top, recorder);
            // What is called and is no function of its own is part of it: a graph that ends there ends at the call.
            let gives_up = reason.skips_frame() && !(reason.spares_callers() && extent.inner.is_some());
            let severs = reason.asks_for_gradients() && severs_history(recorder, &frames[extent.start..])?;
            let resumption = extent.resumption(&frames, &top, reason);
            top.resume(recorder);
            let here = top.at.get();
            let was_skipped = top.skipped.get();
            let is_skipped = was_skipped || top.function.skipped.borrow().contains(&here);
            if let Resumption::Before(statement) = resumption
                && !(gives_up || severs || is_skipped)
                && let Some(cut) = extent.cut(&frames, statement, reason, (top.from.get(), recorder))
            {
                if !std::mem::replace(&mut reported, true) {
                    crate::dynamo::variables::nn_module::end_graph(false);
                    report(reason, source.as_ref(), false);
                }
                drop(std::mem::take(&mut parts));
                self.end_before(&frames, &top, recorder, (cut, reason))?;
                went_ahead = true;
                continue;
            }
            let stops = gives_up || severs || resumption != Resumption::Here;
            let skips_frame = stops || is_skipped;
            if !std::mem::replace(&mut reported, true) {
                crate::dynamo::variables::nn_module::end_graph(stops);
                report(reason, source.as_ref(), stops && !severs && !(gives_up || reason.begins_block()));
            }
            if skips_frame && !top.skipped.get() && !top.is_library {
                // A frame that is traced for the first time gets a number, whatever comes of it.
                top.function.frame(here);
                let parts = std::mem::take(&mut parts);
                if extent.inner.is_none() || extent.rest.is_some() {
                    self.compile_parts(parts, recorder, extent.rest.as_ref())?;
                }
            } else if !parts.is_empty() {
                // They hold values whose references are counted now.
                drop(std::mem::take(&mut parts));
                frames = self.frames()?;
            }
            let mut outputs = extent.outputs(&frames, recorder)?;
            if !stops && extent.inner.is_none() && !top.is_library && outputs.is_empty() {
                outputs.extend(inputs_on_stack(&frames[extent.own..], recorder)?);
            }
            let grad = recorder.grad_mode();
            recorder.ends_at_call(extent.rest.is_some());
            let frames_left = extent.start..extent.end;
            recorder.leave_grad_blocks(&frames_left);
            if let Some(mode) = recorder.mode_of_blocks(&frames_left).filter(|_| !skips_frame && extent.rest.is_none()) {
                // What was set in a block since it began is forgotten: the block is entered again.
                set_modes(Modes { grad: mode, ..modes() });
            }
            // Where a loop went back, everything behind its beginning was read.
            if let Some(frame) = extent.went_on(&frames, &top) {
                let needs = Rc::new(top.about.verdict.borrow().needs.until(frame.position));
                top.about.verdict.borrow_mut().needs = needs;
            }
            let compiles = if top.is_library { top.has_body() } else { !skips_frame };
            if let Some(frame) = extent.went_on(&frames, &top)
                && let Some(code) = frame.code.downcast_ref::<PyCode>()
            {
                top.holds_number(code, frame.position);
                with_current_vm(|vm| top.holds_constants(&frame.resumed(false, vm), vm));
            }
            let entries = || top.function.cache.borrow().len(here);
            let (before, is_new) = (entries(), !top.function.passed.borrow().contains(&here));
            let computes = ending_in_break(|| self.flush(&top, recorder, &outputs, compiles))?;
            // What is in the cache was counted when it was compiled.
            if !is_skipped && !top.is_library && (is_new || entries() > before) {
                let resumes = !skips_frame && !(reason.is_branch() && extent.inner.is_none());
                count(if resumes { "graph_break" } else { "unimplemented" }, &reason.text(), 1);
            }
            if !computes && compiles {
                self.note_idle(&top, here);
            }
            top.function.passed.borrow_mut().insert(here);
            top.grad.set(recorder.mode_around());
            // That no derivative can be had of it shows when it is compiled.
            let skips_frame = skips_frame || top.function.is_skipped(here);
            if !top.is_library && !top.skipped.get() {
                top.function.frame(here);
            }
            if skips_frame || top.is_library {
                // The frame that calls a module's hooks is skipped, the module's body is not.
                // Where only what follows a statement is skipped, what comes before is a graph on every call.
                if top.body.is_none() && (!was_skipped || top.is_library) {
                    let is_new = top.function.skipped.borrow_mut().insert(here);
                    // What comes before a statement was a frame of its own, and what follows is none.
                    if is_new && !top.is_library && !went_ahead {
                        count_frame(false);
                    }
                }
                top.skipped.set(true);
            }
            self.settle(&frames[extent.start..extent.end], &top)?;
            if let Some(frame) = frames.get(extent.own) {
                let (names, mut resumed) = with_current_vm(|vm| (frame.names(vm), frame.resumed(false, vm)));
                // What the call gives may be a tensor.
                resumed.has_tensor |= extent.inner.is_some() || !reason.gives_no_tensor();
                top.about.namer.replace(names.map_err(raised)?.1);
                top.about.remembered.take();
                top.about.resumed.replace(frame.resume_function());
                top.pending.replace(Some((frame.place(), resumed)));
                // Which way Python goes is not known yet where that was the question, nor is a number that was asked for.
                if !((reason.is_branch() || reason.gives_number()) && extent.inner.is_none()) && !skips_frame {
                    top.resume(recorder);
                }
            }
            let is_library = extent.as_it_is.is_some();
            let (Some(inner), Some(rest)) = (extent.inner, extent.rest) else {
                self.go_on(recorder);
                return Ok(());
            };
            with_current_vm(|vm| self.enter(&frames, inner, is_library, grad, None, vm)).map_err(raised)?;
            self.go_on(recorder);
            // Nothing is called meanwhile.
            self.busy.set(true);
            let recorded = recorder.record_again(&rest, &mut [], &replace_payload);
            self.busy.set(false);
            recorded?;
        }
    }

    /// The graph ends before the statement that broke it, and the rest of the frame is skipped.
    fn end_before(&self, frames: &[Frame], top: &Session, recorder: &Recorder, (cut, reason): (Extent, &Unsupported)) -> Result<()> {
        let here = top.at.get();
        let outputs = cut.outputs(frames, recorder)?;
        recorder.leave_grad_blocks(&(cut.start..cut.end));
        let is_new = top.function.passed.borrow_mut().insert(here);
        let entries = || top.function.cache.borrow().len(here);
        let before = entries();
        ending_in_break(|| self.flush(top, recorder, &outputs, true))?;
        if is_new || entries() > before {
            count("unimplemented", &reason.text(), 1);
        }
        top.grad.set(recorder.mode_around());
        top.function.frame(here);
        top.skipped.set(true);
        self.settle(&frames[cut.start..cut.end], top)?;
        // Nothing of what is recorded again is compiled.
        self.busy.set(true);
        let recorded = cut.rest.map_or(Ok(()), |rest| recorder.record_again(&rest, &mut [], &replace_payload));
        self.busy.set(false);
        recorded
    }

    /// The variables of the functions that a graph has ended in hold its results. What they held is kept: expressions under way
    /// may hold it still.
    fn settle(&self, frames: &[Frame], top: &Session) -> Result<()> {
        let settled = with_current_vm(|vm| {
            top.restore_numbers(vm);
            frames.iter().filter(|f| f.standing.is_script).map(|f| f.settle(vm)).collect::<PyResult<Vec<_>>>()
        });
        self.kept.borrow_mut().extend(settled.map_err(raised)?.into_iter().flatten());
        Ok(())
    }
}
