//! A function that is recorded on its own: the frame that it runs in, and the part of its code that is recorded.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustpython_vm::builtins::PyCode;
use rustpython_vm::{Py, PyObjectRef, VirtualMachine};

use super::Resumed;
use crate::dynamo::bytecode_analysis::decoded::{Chain, decoded};
use crate::dynamo::cache::compiled_function::{CompiledFunction, count_frame, note_recompiled};
use crate::dynamo::eval_frame::frames::is_marked;
use crate::dynamo::guards::guard::{Fact, Kind};
use crate::dynamo::guards::manager::{self, Replaced, Verdict};
use crate::dynamo::guards::needs::{Needs, realized};
use crate::dynamo::resume_functions::About;
use crate::dynamo::side_effects::outputs::numbers_left;
use crate::dynamo::source::{Locals, Source};
use crate::dynamo::{CodeId, Recorder};
use crate::python::span::{Standing, is_left_out};
use crate::tensor::Tensor;

/// The running frame of a function that is recorded on its own.
pub struct Activation {
    /// Its position among the frames of the call.
    depth: usize,
    id: usize,
    /// The instruction of the frame below that called it.
    from: u32,
    /// The instruction that it was at when it was last asked for.
    last: Cell<u32>,
}

impl Activation {
    pub fn of(depth: usize, frames: &[Standing]) -> Self {
        Activation { depth, id: frames[depth].id, from: frames[depth - 1].at, last: Cell::new(0) }
    }

    /// The frame below, by its position, and the instruction of it that made the call.
    pub fn called_from(&self) -> (usize, u32) {
        (self.depth - 1, self.from)
    }

    /// Whether it still runs. A frame may have been left and another made in its place, for the next call of the same function: where it does
    /// not go forward, its object is asked.
    pub fn runs(&self, frames: &[Standing]) -> bool {
        let Some(frame) = frames.get(self.depth).filter(|f| f.id == self.id && frames[self.depth - 1].at == self.from) else {
            return false;
        };
        let above = frames[self.depth..].windows(2).filter(|pair| pair[0].id != pair[1].id).count();
        frame.at > self.last.replace(frame.at) || rustpython_vm::vm::thread::with_current_vm(|vm| is_marked(above, vm))
    }
}

/// A function that is recorded on its own.
pub struct Session {
    pub function: Rc<CompiledFunction>,
    pub about: About,
    /// None for the compiled function itself.
    pub frame: Option<Activation>,
    /// The part of its code that is recorded.
    pub at: Cell<usize>,
    /// The position of the instruction at which that begins.
    pub from: Cell<usize>,
    /// Where it goes on after its last graph ended.
    pub pending: RefCell<Option<(Chain, Resumed)>>,
    /// Numbers that are symbols until its next graph ends, and the variables that they are found from.
    pub replaced: RefCell<Vec<(Locals, Replaced)>>,
    /// Whether it is the library's: a module that Dynamo does not trace, because the graph breaks inside of it.
    pub is_library: bool,
    /// The code of the body of the module whose hooks it calls: that body is a function of its own.
    pub body: Option<PyObjectRef>,
    pub skipped: Cell<bool>,
    /// While a block runs that is no part of it: how many frames there were when that began.
    pub waits_above: Cell<Option<usize>>,
    /// The number that ended its last graph: the instruction, and the fact that it is this one.
    pub given: RefCell<Option<(usize, Fact)>>,
    /// The method of a tensor that it was given as an object and calls, and the instruction that does it: that breaks its graph.
    pub calls_method: RefCell<Option<(Rc<str>, u32)>>,
    /// Whether gradients were on where it was called.
    pub called_in: bool,
    /// Whether they are on where its graph begins.
    pub grad: Cell<bool>,
    /// Tensors that it realizes without an operator, and that were not told of yet, by the instructions that do it.
    pub realized: RefCell<Vec<(Rc<[usize]>, Tensor)>>,
}

impl Session {
    /// Counts a frame that no graph was made of, the first time that it ends so: `is_ok` where nothing kept it from being traced.
    pub fn count_without_graph(&self, is_ok: bool) {
        let place = self.at.get();
        if self.skipped.get() || !self.function.passed.borrow_mut().insert(place) {
            return;
        }
        count_frame(is_ok);
    }

    /// The compiled function itself, which is called.
    pub fn of_call(function: Rc<CompiledFunction>, about: About, is_library: bool, grad: bool) -> Self {
        let skipped = Cell::new(function.skipped.borrow().contains(&0));
        Session {
            function,
            about,
            frame: None,
            at: Cell::new(0),
            from: Cell::new(0),
            pending: RefCell::default(),
            replaced: RefCell::default(),
            given: RefCell::default(),
            calls_method: RefCell::default(),
            is_library,
            body: None,
            skipped,
            waits_above: Cell::new(None),
            called_in: grad,
            grad: Cell::new(grad),
            realized: RefCell::default(),
        }
    }

    /// Python goes on where its last graph ended, and which way is known: from now on what is recorded belongs to that place, and
    /// numbers that have varied there are symbols.
    pub fn resume(&self, recorder: &Recorder) {
        self.resume_with(recorder, None);
    }

    /// The same, where what broke the graph gave a number; gives the symbol that it is, if it has varied.
    pub fn resume_with(&self, recorder: &Recorder, number: Option<&PyObjectRef>) -> Option<PyObjectRef> {
        let (chain, mut resumed) = self.pending.take()?;
        if let (Some(number), Some(position)) = (number, resumed.position)
            && let Some(code) = resumed.code.downcast_ref::<PyCode>()
        {
            let name: Rc<str> = format!("___stack{}", decoded(code).below(position)).into();
            resumed.locals.push((name.clone(), number.clone()));
            let source = Rc::new(Source::Local(name.clone()));
            let is_list = number.downcast_ref::<rustpython_vm::builtins::PyList>().is_some();
            let kind = if is_list { Kind::Type(number.class().to_owned().into()) } else { Kind::Equals(number.clone()) };
            let fact = Fact { source, kind, place: None, hint: None, read: None };
            self.given.replace(Some((position, fact)));
            resumed.given = Some((name, number.clone()));
        } else {
            self.given.take();
        }
        self.calls_method.replace(resumed.tensor_method());
        self.at.set(self.function.place(chain));
        self.from.set(resumed.position.unwrap_or(0));
        if !resumed.has_tensor || self.function.skipped.borrow().contains(&self.at.get()) {
            self.skipped.set(true);
            recorder.go_on(false, self.grad.get());
            resumed.given = None;
        }
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            let verdict = self.function.values.at_break(self.code_id(), &resumed, &self.function, vm);
            self.realizes(&verdict.needs, &resumed.locals, vm);
            let given = self.set_numbers(resumed, &verdict, recorder, vm);
            *self.about.verdict.borrow_mut() = verdict;
            given.map(|(_, number)| number)
        })
    }

    /// It realizes some tensors without an operator from here on.
    pub fn realizes(&self, needs: &Needs, locals: &Locals, vm: &VirtualMachine) {
        self.realized.replace(realized(needs, locals, vm));
    }

    /// Where its sizes and numbers are remembered.
    pub fn code_id(&self) -> CodeId {
        CodeId { place: self.at.get(), closure: self.about.closure }
    }

    /// A graph ends at an instruction: a number that an expression under way or a variable holds there has to be what it was.
    pub fn holds_number(&self, code: &Py<PyCode>, position: usize) {
        let Some((from, fact)) = self.given.take() else { return };
        let known = self.about.verdict.borrow().needs.clone();
        let is_noted = known.facts.iter().any(|f| f.source.root() == fact.source.root());
        let decoded = decoded(code);
        if (decoded.holds(from, position) || decoded.keeps(from, position)) && !is_noted {
            // One that varied is a symbol.
            let function = (&*self.function, self.function.dynamic());
            let more = rustpython_vm::vm::thread::with_current_vm(|vm| {
                self.function.values.needs(self.code_id(), &Locals::new(), vec![fact], function, vm)
            });
            self.about.verdict.borrow_mut().needs = Rc::new(known.and(more));
        }
    }

    /// A graph ends: constants that expressions under way hold there have to be what they were.
    pub fn holds_constants(&self, resumed: &Resumed, vm: &VirtualMachine) {
        let facts = resumed.holds(self.from.get(), vm);
        let known = self.about.verdict.borrow().needs.clone();
        let is_known = |fact: &Fact| known.facts.iter().any(|f| f.source.text(vm) == fact.source.text(vm));
        let facts: Vec<Fact> = facts.into_iter().filter(|fact| !is_known(fact)).collect();
        if !facts.is_empty() {
            let more = self.function.values.needs(self.code_id(), &resumed.locals, facts, (&self.function, self.function.dynamic()), vm);
            self.about.verdict.borrow_mut().needs = Rc::new(known.and(more));
        }
    }

    /// It returns, or (not `returned`) an exception ends it. What returned without a single call is not traced again.
    pub fn returns(&self, recorder: &Recorder, returned: bool) {
        self.resume(recorder);
        let gives_numbers = || !rustpython_vm::vm::thread::with_current_vm(|vm| numbers_left(recorder, vm)).is_empty();
        if returned && !self.skipped.get() && recorder.has_no_calls() && !gives_numbers() {
            let (frame, place) = (self.function.frame(self.at.get()), self.at.get());
            let reasons = self.about.verdict.borrow().unserved();
            if self.function.cache.borrow().len(place) > 0 {
                note_recompiled(frame, &reasons);
            }
            self.function.skipped.borrow_mut().insert(place);
        }
    }

    /// Puts symbols where numbers have varied; gives the number that broke the graph before, which may be one.
    pub fn set_numbers(
        &self,
        mut resumed: Resumed,
        verdict: &Verdict,
        recorder: &Recorder,
        vm: &VirtualMachine,
    ) -> Option<(Rc<str>, PyObjectRef)> {
        let replaced = manager::replace_in_frame(&mut resumed, &verdict.needs, recorder, vm);
        self.replaced.borrow_mut().push((resumed.locals, replaced));
        resumed.given
    }

    /// Its graph has ended: what was a symbol is a number again.
    pub fn restore_numbers(&self, vm: &VirtualMachine) {
        for (mut locals, replaced) in self.replaced.take() {
            replaced.restore(&mut locals, vm);
        }
    }

    /// Whether what it has recorded is a body that Dynamo compiles as a frame of its own.
    pub fn has_body(&self) -> bool {
        self.body.as_ref().and_then(|body| body.downcast_ref::<PyCode>()).is_some_and(|body| !is_left_out(body))
    }

    pub fn depth(&self) -> usize {
        self.frame.as_ref().map_or(0, |f| f.depth)
    }
}
