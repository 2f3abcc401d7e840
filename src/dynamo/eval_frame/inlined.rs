//! Functions called by a frame that may be skipped, because its graph may break in one of its loops. Then each of those calls is compiled
//! as a frame of its own, and the code between them runs in Python.
//!
//! A called function is noted when it records its first call, with what it began with; what it recorded is known by where it begins
//! in the recording. Where the caller's frame is skipped, the recording is cut there: a part is run, and what follows is recorded again.

use std::rc::Rc;

use rustpython_vm::PyObjectRef;

use super::call::Call;
use super::frames;
use crate::dispatch::{Value, modes};
use crate::dynamo::side_effects::outputs::alive;
use crate::dynamo::source::Locals;
use crate::dynamo::symbolic_convert::translator::Session;
use crate::dynamo::{Recorder, Retrace, Section};
use crate::error::Result;
use crate::graph::NodeId;
use crate::python::native::tensor::{raised, replace_payload};
use crate::python::span::frames_above;
use crate::tensor::Tensor;

/// A function that was called, and the variables that it began with.
struct Called {
    session: Rc<Session>,
    locals: Locals,
    /// The tensors among them: they keep their names when the variables have other values.
    _tensors: Vec<PyObjectRef>,
    /// How many entries it had then.
    entries: usize,
}

/// What was recorded since a graph began, in parts: those of called functions, and what lies between them.
#[derive(Default)]
pub struct Parts {
    begins: Vec<Section>,
    called: Vec<Option<Called>>,
    /// The frame that was called last, and from which instruction.
    last: Option<(usize, u32)>,
}

impl Parts {
    /// Whether nothing was called.
    pub fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// What was called last has returned.
    pub fn note_returned(&mut self, nodes: &mut dyn FnMut() -> Vec<NodeId>) {
        if let (Some(part), Some(Some(_))) = (self.begins.last_mut(), self.called.last()) {
            part.returned = nodes();
        }
    }
}

impl Call {
    /// Notes whether another function runs than did before, where the one that is recorded is compiled for the first time.
    pub fn note_part(&self, recorder: &Recorder) -> Result<()> {
        let top = self.top();
        if top.is_library || self.fullgraph || top.function.cache.borrow().len(top.at.get()) > 0 {
            return Ok(());
        }
        let Some(standing) = frames_above(self.base) else { return Ok(()) };
        let Some(own) = (top.depth()..standing.len()).find(|i| standing[*i].is_own) else { return Ok(()) };
        let called = (own + 1..standing.len()).find(|i| standing[*i].is_own);
        let key = called.map(|depth| (standing[depth].id, standing[own].at));
        {
            let mut parts = self.parts.borrow_mut();
            if parts.begins.last().is_some_and(|part| !recorder.has_section(part)) {
                *parts = Parts::default();
            }
            let last = parts.called.last().and_then(Option::as_ref);
            let goes_on = match (called, last.and_then(|called| called.session.frame.as_ref())) {
                (Some(_), Some(frame)) => frame.runs(&standing),
                (Some(_), None) => parts.last == key,
                (None, frame) => frame.is_none(),
            };
            parts.last = key;
            if goes_on {
                return Ok(());
            }
        }
        self.busy.set(true);
        let noted = rustpython_vm::vm::thread::with_current_vm(|vm| {
            let frames = frames::standing(self.base, vm)?;
            // A module of PyTorch's that calls it is no part of a graph either.
            let is_direct = |depth: &usize| !frames[own + 1..*depth].iter().any(|f| f.standing.is_module || f.standing.is_generator);
            let Some(depth) = called.filter(|d| *d < frames.len() && frames[own].may_skip_frame()).filter(is_direct) else {
                return Ok(None);
            };
            let (session, resumed, _) = self.session(&frames, depth, (false, modes().grad, false), vm)?;
            let entries = session.function.values.count();
            Ok(Some(Called { session, locals: resumed.locals, _tensors: frames[depth].tensors(vm), entries }))
        });
        self.busy.set(false);
        let noted = noted.map_err(raised)?;
        let mut parts = self.parts.borrow_mut();
        if noted.is_some() || parts.called.last().is_some_and(Option::is_some) {
            parts.begins.push(recorder.section());
            parts.called.push(noted);
        }
        Ok(())
    }

    /// The frame that is traced is skipped: what it has called is compiled, the rest runs as it is. `rest` is what is recorded of the
    /// function that runs.
    pub fn compile_parts(&self, parts: Parts, recorder: &Recorder, rest: Option<&Retrace>) -> Result<()> {
        let Parts { mut begins, called: functions, .. } = parts;
        let is_current = begins.last().is_some_and(|part| recorder.has_section(part));
        if !is_current || functions.iter().all(Option::is_none) || !recorder.stored_back().is_empty() {
            return Ok(());
        }
        let top = self.top();
        for i in 0..=begins.len() {
            let follows = match begins.get(i) {
                Some(part) => match recorder.split_at(part) {
                    Some(follows) => Some(follows),
                    // It cannot be recorded again: all of it runs as it is.
                    None => return Ok(()),
                },
                None => None,
            };
            let part = i.checked_sub(1);
            let called = part.and_then(|i| functions[i].as_ref());
            let mut outputs = alive(recorder);
            let read = follows.iter().chain(rest).flat_map(Retrace::reads);
            for t in read.filter(|t| recorder.is_traced(t)) {
                if !outputs.iter().any(|known| known.is(&t)) {
                    outputs.push(t);
                }
            }
            let returned = part.map_or(&[] as &[NodeId], |i| &begins[i].returned);
            let rank = |t: &Tensor| recorder.known_node(t).and_then(|id| returned.iter().position(|r| *r == id)).unwrap_or(returned.len());
            outputs.sort_by_key(rank);
            let outputs: Vec<Value> = outputs.into_iter().map(Value::Tensor).collect();
            recorder.ends_at_call(true);
            match called {
                Some(called) => {
                    let session = &called.session;
                    let values = &session.function.values;
                    let verdict = session.about.verdict.borrow().clone();
                    let verdict =
                        rustpython_vm::vm::thread::with_current_vm(|vm| values.catch_up(&verdict, called.entries, &called.locals, vm));
                    session.about.verdict.replace(verdict);
                    self.flush(session, recorder, &outputs, !session.skipped.get())?;
                    self.sessions.borrow_mut().pop();
                }
                None => drop(self.flush(&top, recorder, &outputs, false)?),
            }
            let Some(follows) = follows else { break };
            if let Some(Some(next)) = functions.get(i) {
                self.sessions.borrow_mut().push(next.session.clone());
            }
            self.busy.set(true);
            let recorded = recorder.record_again(&follows, &mut begins[i..], &replace_payload);
            self.busy.set(false);
            recorded?;
        }
        Ok(())
    }
}
