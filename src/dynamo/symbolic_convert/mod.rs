//! Which Python values a function reads: its bytecode is followed without running it, with the values that its arguments,
//! globals and modules have, into the functions and modules that it calls.
//!
//! Branches on known values are taken one way, others both ways, a loop's body once. What comes out are the facts that Dynamo guards on; a
//! read that is missed costs a guard, never a wrong result: captured graphs are compared.

pub(super) mod asserts;
mod calls;
mod instructions;
mod outer_effects;
pub(super) mod translator;
mod values;

use std::collections::HashMap;
use std::rc::Rc;

use rustpython_vm::builtins::{PyCode, PyDict, PyDictRef, PyFunction, PyTuple};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, VirtualMachine};

use super::bytecode_analysis::decoded::decoded;
use super::eval_frame::resumption::holds_tensor;
use super::guards::explain;
use super::guards::guard::{Fact, Kind};
use super::source::{Locals, Source, own_attribute};
use crate::dispatch::{Exclude, Key};
use crate::python::native::tensor::{symbolic, symbolic_float};
use crate::span;
use instructions::Path;
pub(super) use outer_effects::side_effect;
use values::is_constant;

/// How deep calls are followed, and how many instructions in all.
const DEPTH: usize = 24;
const BUDGET: usize = 40_000;

/// What is known of a value.
#[derive(Clone)]
enum Seen {
    /// Nothing.
    Unknown,
    /// No value: what calls push for a missing `self`.
    Null,
    /// One of these, each with where it was found, if anywhere.
    Known(Vec<(PyObjectRef, Option<Rc<Source>>)>),
    /// A function with its first argument.
    Method(PyObjectRef, Box<Seen>),
    /// A method of a built-in class with its object: an object that is made where it is asked for, and nothing is known of.
    BuiltinMethod,
    /// A tensor of the graph.
    Tensor,
    /// A method of a tensor with that tensor, by name.
    TensorMethod(Rc<str>),
    /// A tuple or list made here.
    Items(Vec<Seen>),
    /// A dictionary made here, with strings as keys: keywords of a call.
    Keywords(Vec<(String, Seen)>),
    /// What a loop goes through.
    Each(Box<Seen>),
    /// A constant computed from others, of which those that are found somewhere are listed: nothing depends on it until it is used.
    Computed(PyObjectRef, Vec<(PyObjectRef, Rc<Source>)>),
}

fn constant(o: PyObjectRef) -> Seen {
    Seen::Known(vec![(o, None)])
}

impl Seen {
    /// Whether nothing is known that could be read.
    fn is_unread(&self) -> bool {
        matches!(self, Seen::Unknown | Seen::BuiltinMethod | Seen::Tensor | Seen::TensorMethod(_))
    }
}

/// Puts two together.
fn join(a: Seen, b: Seen) -> Seen {
    match (a, b) {
        (Seen::Known(mut a), Seen::Known(b)) => {
            a.extend(b);
            Seen::Known(a)
        }
        (Seen::Tensor, Seen::Tensor) => Seen::Tensor,
        (a, b) if a.is_unread() || b.is_unread() => Seen::Unknown,
        (a, _) => a,
    }
}

/// A tensor's source, and the instructions that realize it: that of the function, that of what it calls, and so on.
pub type Realized = (Rc<Source>, Rc<[usize]>);

/// The facts that a call of a function depends on.
pub struct Reader<'a> {
    vm: &'a VirtualMachine,
    globals: Option<PyDictRef>,
    facts: Vec<Fact>,
    /// Facts by what they say.
    known: HashMap<String, usize>,
    place: Option<span::Source>,
    /// The instruction of the function's own that is followed, and whether what it calls is.
    at: Option<(usize, bool)>,
    /// The instructions that are followed, of the function and of what it calls, outermost first.
    way: Vec<usize>,
    /// Tensors that are compared with others by identity, or with None, and the instructions that do it.
    realized: Vec<Realized>,
    budget: usize,
    /// Whether gradients are read: not where a call is still to be made that may give some.
    reads_gradients: bool,
    /// Whether the graph breaks, as far as is known: numbers in variables are handed on then.
    breaks: bool,
    /// Whether guards are told: then modules of Python, and what is built in, are facts, too. They hardly ever change.
    tells: bool,
    /// Where objects were found first. They are kept, so that none is made where another was.
    found: HashMap<usize, (PyObjectRef, Rc<Source>)>,
    /// Where functions were found that are methods of objects.
    methods: HashMap<usize, Rc<Source>>,
    /// What the code has put into attributes on the way that is followed, by object and name: that is read there from then on.
    stored: Stored,
    /// Side effects, where those are asked for.
    effects: Option<outer_effects::OuterEffects>,
    /// What it asks of values is no part of a graph.
    _outside: Exclude,
}

/// What attributes of objects hold.
type Stored = HashMap<(usize, String), Seen>;

impl<'a> Reader<'a> {
    fn new(globals: Option<PyDictRef>, vm: &'a VirtualMachine) -> Self {
        Reader {
            vm,
            globals,
            facts: Vec::new(),
            known: HashMap::new(),
            place: None,
            at: None,
            way: Vec::new(),
            realized: Vec::new(),
            budget: BUDGET,
            reads_gradients: true,
            breaks: false,
            tells: explain::is_asked(),
            found: HashMap::new(),
            methods: HashMap::new(),
            stored: Stored::new(),
            effects: None,
            _outside: Exclude::only(Key::Capture),
        }
    }
}

/// Where a function goes on after a graph break.
pub struct Resumed {
    /// Its code.
    pub code: PyObjectRef,
    /// Its globals.
    pub globals: Option<PyDictRef>,
    /// Its variables, but for tensors.
    pub locals: Locals,
    /// Names of those that are tensors.
    pub tensors: Vec<Rc<str>>,
    /// The instruction that broke the graph; none at the function's beginning.
    pub position: Option<usize>,
    /// Which way Python goes, where that was the question.
    pub truth: Option<bool>,
    /// The number that what broke the graph gave, by the name that it has among values of expressions under way.
    pub given: Option<(Rc<str>, PyObjectRef)>,
    /// Its frame.
    pub frame: PyObjectRef,
    /// What expressions under way hold.
    pub stack: UnderWay,
    /// Whether Dynamo looks into what goes on from there.
    pub has_tensor: bool,
}

/// Values of expressions under way, first those that lie lowest.
#[derive(Default)]
pub struct UnderWay(Vec<Seen>);

impl UnderWay {
    /// Whether a tensor or a module may be among them.
    pub fn may_hold_tensor(&self, vm: &VirtualMachine) -> bool {
        fn may(seen: &Seen, vm: &VirtualMachine) -> bool {
            match seen {
                Seen::Unknown | Seen::Tensor => true,
                Seen::Known(all) => all.iter().any(|(o, _)| holds_tensor(o, 0, vm)),
                Seen::Items(items) => items.iter().any(|item| may(item, vm)),
                Seen::Keywords(named) => named.iter().any(|(_, value)| may(value, vm)),
                Seen::Null | Seen::Method(..) | Seen::BuiltinMethod | Seen::TensorMethod(_) | Seen::Each(_) | Seen::Computed(..) => false,
            }
        }
        self.0.iter().any(|seen| may(seen, vm))
    }
}

/// A constant that an expression under way holds, with its name there.
fn constant_at(value: PyObjectRef, number: usize, locals: &mut Locals) -> Seen {
    let name: Rc<str> = format!("___stack{number}").into();
    locals.push((name.clone(), value.clone()));
    Seen::Known(vec![(value, Some(Rc::new(Source::Local(name))))])
}

impl Resumed {
    /// Finds out what expressions under way hold at the instruction that broke the graph. Constants have names there.
    pub fn hold(&mut self, vm: &VirtualMachine) {
        let Some((mut stack, taken, _)) = self.under_way(|_| false, vm) else { return };
        stack.truncate(stack.len() - taken);
        let mut number = 0;
        for seen in stack {
            let held = match seen {
                Seen::Null => Seen::Null,
                Seen::Known(all) => match all.as_slice() {
                    [(value, _)] if is_constant(value, vm) => constant_at(value.clone(), number, &mut self.locals),
                    [(value, _)] if symbolic(value, vm).is_some() || symbolic_float(value, vm).is_some() => Seen::Unknown,
                    _ => Seen::Known(all.into_iter().map(|(value, _)| (value, None)).collect()),
                },
                Seen::Computed(value, _) if is_constant(&value, vm) => constant_at(value, number, &mut self.locals),
                other => other,
            };
            number += usize::from(!matches!(held, Seen::Null));
            self.stack.0.push(held);
        }
    }

    /// The method of a tensor that an expression under way is going to call, and the instruction that calls it. The resume function is given
    /// it as an object, which PyTorch does not trace.
    pub fn tensor_method(&self) -> Option<(Rc<str>, u32)> {
        let held = self.stack.0.iter().enumerate().rev();
        let (slot, name) =
            held.filter_map(|(slot, seen)| if let Seen::TensorMethod(name) = seen { Some((slot, name)) } else { None }).next()?;
        let decoded = decoded(self.code.downcast_ref::<PyCode>()?);
        let takes = |position: &usize| decoded.height(*position).is_some_and(|(height, taken)| height.saturating_sub(taken) <= slot);
        let call = (self.position? + 1..decoded.steps.len()).find(takes)?;
        Some((name.clone(), decoded.steps[call].at))
    }

    /// Bound methods of built-in classes among what expressions under way hold: PyTorch guards on the object, which lives for this call alone.
    fn temporaries(&self) -> impl Iterator<Item = Fact> {
        let held = self.stack.0.iter().filter(|seen| !matches!(seen, Seen::Null)).enumerate();
        let is_builtin = |seen: &Seen| match seen {
            Seen::Method(function, _) => function.downcast_ref::<PyFunction>().is_none(),
            seen => matches!(seen, Seen::BuiltinMethod),
        };
        held.filter(move |(_, seen)| is_builtin(seen)).map(|(number, _)| {
            let source = Rc::new(Source::Local(format!("___stack{number}").into()));
            Fact { source, kind: Kind::Temporary, place: None, hint: None, read: None }
        })
    }

    /// Constants and containers among what expressions under way hold, and what is called is given, as facts: Dynamo keeps them as values
    /// of the resume function. Variables that the function has set since the graph began, at an instruction, are its own.
    pub fn holds(&self, began: usize, vm: &VirtualMachine) -> Vec<Fact> {
        let Some(code) = self.code.downcast_ref::<PyCode>() else { return Vec::new() };
        let decoded = decoded(code);
        let last = self.position.unwrap_or(0);
        let set: Vec<u32> = decoded.steps.get(began..last).unwrap_or_default().iter().flat_map(|s| s.op.writes()).collect();
        let computed = self.computed_variables(began, vm);
        let Some((stack, taken, mut reader)) = self.under_way(|slot| set.contains(&slot), vm) else { return computed };
        reader.facts.clear();
        reader.known.clear();
        // What the statement held when the graph began has a name there, and was read.
        let is_new = (began + 1..=last).any(|i| decoded.height(i).is_some_and(|(height, _)| height == 0));
        let before = decoded.height(began).map_or(0, |(height, taken)| if began == 0 || is_new { 0 } else { height.saturating_sub(taken) });
        let given = stack.len() - taken;
        stack.iter().take(given).skip(before).for_each(|seen| reader.realize_all(seen));
        let types = &vm.ctx.types;
        let is_lazy = |class: &PyObject| class.is(types.bool_type) || class.is(types.str_type);
        for seen in stack.iter().skip(before.max(given)) {
            match seen {
                // Truths and strings that are handed on as they are stay lazy: their types are all that is known of them.
                Seen::Known(all)
                    if let [(o, Some(source))] = all.as_slice()
                        && is_lazy(o.class().as_object()) =>
                {
                    reader.note(source, Kind::Type(o.class().to_owned().into()), None);
                }
                seen => reader.realize(seen),
            }
        }
        let is_container = |class: &PyObjectRef| class.is(types.tuple_type) || class.is(types.list_type) || class.is(types.dict_type);
        reader.facts.retain(|fact| match &fact.kind {
            Kind::Type(class) => is_container(class) || is_lazy(class),
            kind => matches!(kind, Kind::Equals(_) | Kind::Length(_)),
        });
        reader.facts.extend(computed);
        reader.facts
    }

    /// What numbers in live variables were computed from that nothing has used yet, since the graph began: Dynamo hands the numbers to the
    /// resume function. Nothing where the code branches on the way.
    fn computed_variables(&self, began: usize, vm: &VirtualMachine) -> Vec<Fact> {
        let (Some(code), Some(last)) = (self.code.downcast_ref::<PyCode>(), self.position) else { return Vec::new() };
        let decoded = decoded(code);
        let steps = decoded.steps.get(began..last).unwrap_or_default();
        if steps.iter().any(|step| step.target.is_some()) {
            return Vec::new();
        }
        let mut reader = Reader::new(self.globals.clone(), vm);
        let mut path = Path { position: began, stack: Vec::new(), slots: slots_of(code, &self.locals) };
        for (position, step) in (began..last).zip(steps) {
            path.position = position;
            reader.at = Some((position, false));
            reader.step(code, step, &mut path, self.globals.as_ref(), 0);
        }
        reader.facts.clear();
        reader.known.clear();
        let is_live = |(slot, seen): &(usize, &Seen)| matches!(seen, Seen::Computed(..)) && decoded.is_live(last, *slot);
        path.slots.iter().enumerate().filter(is_live).for_each(|(_, seen)| reader.realize_number(seen));
        reader.facts
    }

    /// Follows the statement up to the instruction that broke the graph: the values then, how many of them that takes, and the reader. None
    /// where it branches.
    fn under_way<'a>(&self, is_own: impl Fn(u32) -> bool, vm: &'a VirtualMachine) -> Option<(Vec<Seen>, usize, Reader<'a>)> {
        let code = self.code.downcast_ref::<PyCode>()?;
        let decoded = decoded(code);
        let last = self.position?;
        let (height, taken) = decoded.height(last)?;
        let start = (0..=last).rev().find(|i| decoded.height(*i).is_some_and(|(height, _)| height == 0))?;
        if decoded.steps[start..last].iter().any(|s| s.target.is_some()) {
            return None;
        }
        let mut reader = Reader::new(self.globals.clone(), vm);
        let mut slots = slots_of(code, &self.locals);
        for (slot, name) in slots.iter_mut().zip(slot_names(code)) {
            if self.tensors.iter().any(|tensor| **tensor == *name) {
                *slot = Seen::Tensor;
            }
        }
        for (_, seen) in slots.iter_mut().enumerate().filter(|(slot, _)| is_own(*slot as u32)) {
            if let Seen::Known(all) = seen {
                all.iter_mut().for_each(|(_, source)| *source = None);
            }
        }
        let mut path = Path { position: start, stack: Vec::new(), slots };
        for position in start..last {
            path.position = position;
            reader.at = Some((position, false));
            reader.step(code, &decoded.steps[position], &mut path, self.globals.as_ref(), 0);
        }
        (path.stack.len() == height && taken <= height).then_some((path.stack, taken, reader))
    }
}

fn slots_of(code: &Py<PyCode>, locals: &Locals) -> Vec<Seen> {
    let slot = |name: String| match locals.iter().find(|(n, _)| **n == *name) {
        Some((n, v)) => Seen::Known(vec![(v.clone(), Some(Rc::new(Source::Local(n.clone()))))]),
        None => Seen::Unknown,
    };
    slot_names(code).map(slot).collect()
}

/// Facts that a call of a function depends on, and tensors that it realizes without an operator. `locals` are its arguments by name,
/// and what it closes over; its graph `breaks`, as far as is known.
pub fn facts(function: &Py<PyFunction>, locals: &Locals, breaks: bool, vm: &VirtualMachine) -> (Vec<Fact>, Vec<Realized>) {
    let globals = function.as_object().get_attr("__globals__", vm).ok().and_then(|g| g.downcast::<PyDict>().ok());
    let mut reader = Reader { breaks, ..Reader::new(globals.clone(), vm) };
    if let Ok(code) = function.as_object().get_attr("__code__", vm)
        && let Some(code) = code.downcast_ref::<PyCode>()
    {
        reader.run(code, Path { position: 0, stack: Vec::new(), slots: slots_of(code, locals) }, globals, 0);
    }
    (reader.facts, reader.realized)
}

/// Facts that a call of one of PyTorch's modules, or of an object, depends on: it is `fn`, called with `args` and `kwargs`.
pub fn facts_of_call(callee: &PyObjectRef, locals: &Locals, vm: &VirtualMachine) -> Vec<Fact> {
    let mut reader = Reader::new(None, vm);
    let given = |name: &str| locals.iter().find(|(n, _)| **n == *name).map(|(_, v)| v);
    let args = given("args").and_then(|v| v.downcast_ref::<PyTuple>().map(|t| t.as_slice().to_vec())).unwrap_or_default();
    let source = Rc::new(Source::Local("args".into()));
    let seen = |value: PyObjectRef, source: Source| Seen::Known(vec![(value, Some(Rc::new(source)))]);
    let mut args: Vec<Seen> = args.into_iter().enumerate().map(|(i, v)| seen(v, Source::Index(source.clone(), i))).collect();
    let source = Rc::new(Source::Local("kwargs".into()));
    let mut names = Vec::new();
    if let Some(kwargs) = given("kwargs") {
        reader.written_to(&seen(kwargs.clone(), Source::Local("kwargs".into())));
    }
    for (key, value) in given("kwargs").and_then(|v| v.downcast_ref::<PyDict>()).into_iter().flat_map(|d| d.into_iter()) {
        names.extend(values::string(Some(&key)));
        args.push(seen(value, Source::Key(source.clone(), key)));
    }
    reader.call(&seen(callee.clone(), Source::Local("fn".into())), args, names, 0);
    reader.facts
}

/// Facts that a step of an optimizer depends on: the options of its groups.
fn facts_of_step(resumed: &Resumed, vm: &VirtualMachine) -> Option<Vec<Fact>> {
    let is_step = resumed.code.downcast_ref::<PyCode>().is_some_and(|c| c.obj_name.as_str() == "step");
    let (_, optimizer) = resumed.locals.iter().find(|(name, _)| is_step && &**name == "self")?;
    let groups = own_attribute(optimizer, "param_groups", vm)?;
    own_attribute(optimizer, "state", vm)?;
    let source = Rc::new(Source::Attr(Rc::new(Source::Local("self".into())), "param_groups".into()));
    let mut facts = Vec::new();
    for (i, group) in crate::python::native::tensor::items(&groups)?.iter().enumerate() {
        let of_group = Rc::new(Source::Index(source.clone(), i));
        let constant = |o: &PyObjectRef| is_constant(o, vm);
        for (key, value) in group.downcast_ref::<PyDict>()?.into_iter().filter(|(_, value)| constant(value)) {
            let source = Rc::new(Source::Key(of_group.clone(), key));
            facts.push(Fact { source, kind: Kind::Equals(value), place: None, hint: None, read: None });
        }
    }
    Some(facts)
}

/// Facts that a resume function depends on, or a called one whose graph `breaks`, and tensors that it realizes without an operator.
pub fn facts_from(resumed: &Resumed, breaks: bool, vm: &VirtualMachine) -> (Vec<Fact>, Vec<Realized>) {
    if resumed.position.is_none()
        && let Some(facts) = facts_of_step(resumed, vm)
    {
        return (facts, Vec::new());
    }
    let mut reader = Reader::new(resumed.globals.clone(), vm);
    reader.reads_gradients = resumed.position.is_none();
    reader.breaks = breaks || resumed.position.is_some();
    let Some(code) = resumed.code.downcast_ref::<PyCode>() else { return (Vec::new(), Vec::new()) };
    let slots = slots_of(code, &resumed.locals);
    let decoded = decoded(code);
    let Some(last) = resumed.position else {
        reader.run(code, Path { position: 0, stack: Vec::new(), slots }, resumed.globals.clone(), 0);
        return (reader.facts, reader.realized);
    };
    let jumps = decoded.steps.get(last).is_some_and(|s| s.target.is_some());
    let top = match (&resumed.given, resumed.truth) {
        (Some((name, number)), _) => Seen::Known(vec![(number.clone(), Some(Rc::new(Source::Local(name.clone()))))]),
        (None, Some(truth)) => constant(vm.ctx.new_bool(truth).into()),
        (None, None) => Seen::Unknown,
    };
    let position = if jumps { last } else { last + 1 };
    reader.facts.extend(resumed.temporaries());
    if position < decoded.steps.len() {
        let stack = resumed.stack.0.iter().cloned().chain([top]).collect();
        reader.run(code, Path { position, stack, slots }, resumed.globals.clone(), 0);
    }
    (reader.facts, reader.realized)
}

/// Names of a code's slots, in order.
fn slot_names(code: &Py<PyCode>) -> impl Iterator<Item = String> {
    let names: Vec<String> = code.varnames.iter().map(|n| n.as_str().to_owned()).collect();
    let cells: Vec<String> = code.cellvars.iter().map(|n| n.as_str().to_owned()).filter(|n| !names.contains(n)).collect();
    let free: Vec<String> = code.freevars.iter().map(|n| n.as_str().to_owned()).collect();
    names.into_iter().chain(cells).chain(free)
}
