//! The Python values of a compiled function's calls: which facts its entries depend on, which integers have varied and are
//! symbols from then on, and the symbols' way into a call and out of it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use rustpython_vm::builtins::{PyCode, PyDict, PyDictRef, PyFloat, PyFunction, PyInt, PySlice, PyStr, PyTuple, PyType};
use rustpython_vm::class::StaticType;
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::guard::{Fact, Kind, differing, unmet};
use super::needs::Needs;
use crate::dispatch::Value;
use crate::dynamo::bytecode_analysis::rest_variables;
use crate::dynamo::cache::compiled_function::{CompiledFunction, ends_in_break};
use crate::dynamo::cache::found_inputs::{Found, holds};
use crate::dynamo::resume_functions::symbol_number;
use crate::dynamo::settings::switch;
use crate::dynamo::source::{Locals, Source, cell, cells, own_attribute, set_variable};
use crate::dynamo::symbolic_convert::{self, Realized, Resumed};
use crate::dynamo::{CodeId, Recorder, Unmet};
use crate::python::native::calls::imported;
use crate::python::native::tensor::{
    TensorBase, float_hint, float_object, items, note_made, raise, size_object, symbolic, symbolic_float, symbolic_hint, to_tensor,
};
use crate::shape::{FloatExpr, SymFloat};

/// What the values of a call mean for the entries of a place.
#[derive(Clone, Default)]
pub struct Verdict {
    /// Per entry, the facts that do not hold.
    pub unmet: Vec<Vec<Unmet>>,
    /// What a cache entry made now is guarded on.
    pub needs: Rc<Needs>,
    /// The same as `unmet` of what was traced before the first entry, and computed nothing.
    pub idle: Vec<Vec<Unmet>>,
    /// Variables that are no tensors where a function goes on, with their classes as Python shows them.
    pub others: HashMap<String, String>,
}

impl Verdict {
    /// Per cache entry the guard that failed, newest first, counted from the first that computed nothing.
    pub fn counted(&self, reasons: Vec<String>) -> Vec<String> {
        let count = self.idle.len();
        let number = |reason: &String| reason.split_once(": ").and_then(|(i, text)| Some((i.parse::<usize>().ok()?, text.to_owned())));
        let of_entries = reasons.iter().map(|reason| number(reason).map_or(reason.clone(), |(i, text)| format!("{}: {text}", i + count)));
        let of_idle = self.idle.iter().enumerate().rev().filter_map(|(i, unmet)| Some(format!("{i}: {}", first_of(unmet)?)));
        of_entries.chain(of_idle).collect()
    }

    /// Per cache entry the guard that failed, newest first; nothing where those of one may pass.
    pub fn unserved(&self) -> Vec<String> {
        let first = |(i, unmet): (usize, &Vec<Unmet>)| Some(format!("{i}: {}", first_of(unmet)?));
        let all: Option<Vec<String>> = self.unmet.iter().enumerate().rev().map(first).collect();
        all.unwrap_or_default()
    }
}

/// The classes of variables that are no tensors, by where guards find them.
fn classes(resumed: &Resumed, vm: &VirtualMachine) -> HashMap<String, String> {
    let class = |o: &PyObject| o.class().as_object().repr(vm).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    resumed.locals.iter().map(|(name, value)| (format!("L['{name}']"), class(value))).collect()
}

/// The fact that is checked first.
fn first_of(unmet: &[Unmet]) -> Option<&str> {
    unmet.iter().min_by_key(|u| (u.root.clone(), u.source.clone())).map(|u| &*u.text)
}

/// A tensor that was read before, under another name, is read as that one.
fn as_others(facts: Vec<Fact>, locals: &Locals, vm: &VirtualMachine) -> Vec<Fact> {
    // The object of a gradient is made when it is asked for: as long as it lives, no other one has its address.
    let mut known: HashMap<usize, (PyObjectRef, Rc<Source>)> = HashMap::new();
    let named = |fact: Fact| {
        let Kind::Type(class) = &fact.kind else { return fact };
        if !class.downcast_ref::<PyType>().is_some_and(|c| c.fast_issubclass(TensorBase::static_type())) {
            return fact;
        }
        let Some(value) = fact.source.value(locals, vm) else { return fact };
        match known.get(&value.get_id()) {
            Some((_, other)) => Fact { kind: Kind::Same(other.clone()), ..fact },
            None => {
                known.insert(value.get_id(), (value, fact.source.clone()));
                fact
            }
        }
    };
    facts.into_iter().map(named).collect()
}

fn read_from(resumed: &Resumed, function: &CompiledFunction, vm: &VirtualMachine) -> (Vec<Fact>, Vec<Realized>) {
    let (facts, realized) = symbolic_convert::facts_from(resumed, !function.passed.borrow().is_empty(), vm);
    (as_others(facts, &resumed.locals, vm), realized)
}

/// What is known of the values of a function's calls.
#[derive(Default)]
pub struct Values {
    entries: RefCell<HashMap<usize, Vec<(Rc<Needs>, Rc<[Found]>)>>>,
    /// What places depend on that compute nothing.
    idle: RefCell<HashMap<usize, Vec<Rc<Needs>>>>,
    /// Numbers that calls had when something was compiled; none where they varied.
    seen: Rc<RefCell<HashMap<(CodeId, String), Option<PyObjectRef>>>>,
    /// Floats whose numbers were needed: they are no symbols again.
    numbers: RefCell<HashSet<String>>,
}

/// A call's function and the values it starts from.
pub struct Bound {
    callee: PyObjectRef,
    /// The function that runs, where it is the script's; otherwise one of PyTorch's modules is called, or an object with a `__call__`.
    function: Option<PyObjectRef>,
    /// Arguments by name, and what the function closes over.
    pub locals: Locals,
    /// Names of arguments, in order of position.
    names: Vec<Rc<str>>,
    /// The names of `*args` and of `**kwargs`, where it has them, and the position at which the first begins.
    rest: [Option<Rc<str>>; 2],
    rest_at: usize,
    /// How many of the names are parameters of their own.
    parameters: usize,
    bound_self: bool,
}

/// A call of what has no code of its own, one of PyTorch's modules or an object with a `__call__`: to Dynamo, a function that calls `fn`
/// with its `*args` and `**kwargs`.
fn called_as_it_is(callee: &PyObject, args: &FuncArgs, vm: &VirtualMachine) -> Option<Bound> {
    let kwargs = vm.ctx.new_dict();
    for (k, v) in &args.kwargs {
        kwargs.set_item(&*k.to_string_lossy(), v.clone(), vm).ok()?;
    }
    let locals = vec![
        ("fn".into(), callee.to_owned()),
        ("args".into(), vm.ctx.new_tuple(args.args.clone()).into()),
        ("kwargs".into(), kwargs.into()),
    ];
    Some(Bound {
        callee: callee.to_owned(),
        function: None,
        locals,
        names: Vec::new(),
        rest: [Some("args".into()), Some("kwargs".into())],
        rest_at: 0,
        parameters: 0,
        bound_self: false,
    })
}

/// The code that runs where something is called: a function's, or that of a module's `forward`.
pub fn code_of(callee: &PyObject, vm: &VirtualMachine) -> Option<PyObjectRef> {
    let forward = || callee.class().get_attr(vm.ctx.intern_str("forward"));
    let function = if own_attribute(callee, "_modules", vm).is_some() { forward()? } else { callee.to_owned() };
    function.get_attr("__code__", vm).ok()
}

/// Finds the names of a call's arguments.
pub fn bind(callee: &PyObject, args: &FuncArgs, vm: &VirtualMachine) -> Option<Bound> {
    let mut positional = args.args.clone();
    let (function, bound_self) = if callee.downcast_ref::<PyFunction>().is_some() {
        (callee.to_owned(), false)
    } else if own_attribute(callee, "_modules", vm).is_some() {
        if crate::dynamo::variables::nn_module::has_forward_of_library(callee, vm) {
            return called_as_it_is(callee, args, vm);
        }
        positional.insert(0, callee.to_owned());
        (callee.class().get_attr(vm.ctx.intern_str("forward"))?, true)
    } else if let Ok(function) = callee.get_attr("__func__", vm) {
        let own = callee.get_attr("__self__", vm).ok()?;
        let is_call =
            callee.get_attr("__name__", vm).is_ok_and(|n| n.downcast_ref::<PyStr>().is_some_and(|n| n.as_bytes() == b"_call_impl"));
        if is_call && own_attribute(&own, "_modules", vm).is_some() {
            // `module.compile()`
            return bind(&own, args, vm);
        }
        positional.insert(0, own);
        (function, true)
    } else {
        return called_as_it_is(callee, args, vm);
    };
    function.downcast_ref::<PyFunction>()?;
    let code = function.get_attr("__code__", vm).ok()?;
    let code = code.downcast_ref::<PyCode>()?;
    let names: Vec<Rc<str>> = code.varnames.iter().map(|n| n.as_str().into()).collect();
    let (count, only) = (code.arg_count as usize, code.kwonlyarg_count as usize);
    let mut locals: Locals = names.iter().take(count).cloned().zip(positional.iter().cloned()).collect();
    let others = vm.ctx.new_dict();
    for (name, value) in &args.kwargs {
        let name = name.to_string_lossy();
        if names.iter().take(count + only).any(|n| **n == *name) {
            locals.push((name.as_ref().into(), value.clone()));
        } else {
            others.set_item(&*name, value.clone(), vm).ok()?;
        }
    }
    let rest = rest_variables(code).map(|i| names.get(i?).cloned());
    if let Some(name) = &rest[0] {
        locals.push((name.clone(), vm.ctx.new_tuple(positional.get(count..).unwrap_or_default().to_vec()).into()));
    }
    if let Some(name) = &rest[1] {
        locals.push((name.clone(), others.into()));
    }
    let defaults = function.get_attr("__defaults__", vm).ok().and_then(|d| d.downcast_ref::<PyTuple>().map(|t| t.as_slice().to_vec()));
    for (i, value) in defaults.unwrap_or_default().into_iter().rev().enumerate() {
        if let Some(name) = count.checked_sub(i + 1).and_then(|s| names.get(s))
            && locals.iter().all(|(n, _)| n != name)
        {
            locals.push((name.clone(), value));
        }
    }
    let only_defaults = function.get_attr("__kwdefaults__", vm).ok();
    if let Some(defaults) = only_defaults.as_ref().and_then(|d| d.downcast_ref::<PyDict>()) {
        for name in names.iter().skip(count).take(only) {
            if let Ok(Some(value)) = defaults.get_item_opt(&**name, vm)
                && locals.iter().all(|(n, _)| n != name)
            {
                locals.push((name.clone(), value));
            }
        }
    }
    for (i, name) in code.freevars.iter().enumerate() {
        if let Some(value) = cell(&function, i, vm) {
            locals.push((name.as_str().into(), value));
        }
    }
    Some(Bound {
        callee: callee.to_owned(),
        function: Some(function),
        locals,
        names,
        rest,
        rest_at: count,
        parameters: count + only,
        bound_self,
    })
}

impl Bound {
    /// Whether one of PyTorch's modules is called.
    pub fn is_of_module(&self, vm: &VirtualMachine) -> bool {
        self.function.is_none() && own_attribute(&self.callee, "_modules", vm).is_some()
    }

    /// The code of its function.
    pub fn code(&self, vm: &VirtualMachine) -> Option<PyObjectRef> {
        self.function.as_ref()?.get_attr("__code__", vm).ok()
    }

    /// The globals of its function.
    pub fn globals(&self, vm: &VirtualMachine) -> Option<PyDictRef> {
        self.function.as_ref()?.get_attr("__globals__", vm).ok()?.downcast().ok()
    }

    /// Where in a call's arguments a part of `*args` or `**kwargs` is.
    fn slot<'a>(&self, source: &Source, args: &'a mut FuncArgs) -> Option<&'a mut PyObjectRef> {
        let is_rest = |base: &Source, which: usize| matches!(base, Source::Local(name) if self.rest[which].as_ref() == Some(name));
        match source {
            Source::Index(base, i) if is_rest(base, 0) => args.args.get_mut((self.rest_at + i).checked_sub(usize::from(self.bound_self))?),
            Source::Key(base, key) if is_rest(base, 1) => {
                let key = key.downcast_ref::<PyStr>()?.to_string_lossy();
                args.kwargs.iter_mut().find(|(k, _)| k.to_string_lossy() == key).map(|(_, v)| v)
            }
            _ => None,
        }
    }

    /// The cells of what the function closes over.
    pub fn cells(&self, vm: &VirtualMachine) -> Vec<PyObjectRef> {
        self.function.as_ref().map_or_else(Vec::new, |function| cells(function, vm))
    }

    /// The cell of a variable that the function closes over.
    fn cell(&self, name: &str, vm: &VirtualMachine) -> Option<PyObjectRef> {
        let function = self.function.as_ref()?;
        let code = function.get_attr("__code__", vm).ok()?;
        let index = code.downcast_ref::<PyCode>()?.freevars.iter().position(|n| n.as_str() == name)?;
        cells(function, vm).get(index).cloned()
    }
}

/// Whether a float that varies may become a symbol.
fn is_dynamic_float(value: &PyObject, vm: &VirtualMachine) -> bool {
    let plain = value.downcast_ref::<PyFloat>().filter(|_| value.class().is(vm.ctx.types.float_type));
    plain.is_some_and(|f| f.to_f64().is_finite()) && !switch("specialize_float")
}

/// Values that were replaced by symbols for a call.
#[derive(Default)]
pub struct Replaced(Vec<(Rc<Source>, PyObjectRef, PyObjectRef)>, Vec<PyObjectRef>);

impl Replaced {
    /// Puts the numbers back, where the script did not put something else.
    pub fn restore(self, locals: &mut Locals, vm: &VirtualMachine) {
        for cell in self.1 {
            let Ok(now) = cell.get_attr("cell_contents", vm) else { continue };
            // What the function has put there may have been computed from the symbol.
            let number: PyObjectRef = match (symbolic_hint(&now, vm), float_hint(&now, vm)) {
                (Some(n), _) => vm.ctx.new_int(n).into(),
                (_, Some(f)) => vm.ctx.new_float(f).into(),
                _ => continue,
            };
            // A cell takes any value.
            let _ = cell.set_attr("cell_contents", number, vm);
        }
        for (source, number, symbol) in self.0 {
            if source.value(locals, vm).is_some_and(|now| now.is(&symbol)) {
                source.set(locals, number, vm);
            }
        }
    }
}

impl Values {
    /// Of a code whose numbers were seen before, when it was asked for in another way.
    pub fn of_code(known: &Values) -> Self {
        Values { seen: known.seen.clone(), ..Values::default() }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.entries.borrow_mut().clear();
        self.idle.borrow_mut().clear();
        self.seen.borrow_mut().clear();
        self.numbers.borrow_mut().clear();
    }

    /// An entry was made for inputs that were found there.
    pub fn push(&self, place: usize, needs: Rc<Needs>, inputs: Rc<[Found]>) {
        self.entries.borrow_mut().entry(place).or_default().push((needs, inputs));
    }

    /// A place computes nothing in a call of this verdict: the facts that did not hold, newest entry first, where no cache entry was hit
    /// before.
    pub fn idle(&self, place: usize, verdict: &Verdict) -> Option<Vec<String>> {
        let unmet = &verdict.unmet;
        if unmet.iter().any(Vec::is_empty) {
            return None;
        }
        let mut idle = self.idle.borrow_mut();
        let known = idle.entry(place).or_default();
        // A number that was another one is a symbol, and nothing asks for it.
        let varied = |fact: &Fact| {
            let is_number = |kind: &Kind| matches!(kind, Kind::Equals(n) if n.downcast_ref::<PyInt>().is_some() || n.downcast_ref::<PyFloat>().is_some());
            let differs = |f: &Fact| !matches!((&f.kind, &fact.kind), (Kind::Equals(a), Kind::Equals(b)) if a.is(b) || number_equals(a, b));
            let same = |f: &Fact| is_number(&f.kind) && f.source.root() == fact.source.root() && differs(f);
            is_number(&fact.kind) && matches!(*fact.source, Source::Local(_)) && known.iter().any(|needs| needs.facts.iter().any(same))
        };
        let facts = verdict.needs.facts.iter().map(|fact| match &fact.kind {
            Kind::Equals(number) if varied(fact) => Fact { kind: Kind::Type(number.class().to_owned().into()), ..fact.clone() },
            _ => fact.clone(),
        });
        let needs = Needs { facts: facts.collect(), dynamic: verdict.needs.dynamic.clone(), ..Needs::default() };
        known.push(Rc::new(needs));
        Some(unmet.iter().enumerate().rev().filter_map(|(i, unmet)| Some(format!("{i}: {}", first_of(unmet)?))).collect())
    }

    /// What a cache entry is guarded on, and the sources of its inputs.
    pub fn entry(&self, place: usize, index: usize) -> Option<(Rc<Needs>, Rc<[Found]>)> {
        self.entries.borrow().get(&place)?.get(index).cloned()
    }

    fn judge(
        &self,
        at: CodeId,
        locals: &Locals,
        read: impl FnOnce() -> (Vec<Fact>, Vec<Realized>),
        (function, dynamic): (&CompiledFunction, Option<bool>),
        vm: &VirtualMachine,
    ) -> Verdict {
        let place = at.place;
        let mut known = self.entries.borrow().get(&place).cloned().unwrap_or_default();
        let idle = self.idle.borrow().get(&place).cloned().unwrap_or_default();
        let idle_unmet = idle.iter().map(|needs| unmet(&needs.facts, locals, vm)).collect();
        if known.is_empty() {
            known.extend(idle.into_iter().map(|needs| (needs, Rc::default())));
        }
        let failed: Vec<Vec<Unmet>> = known.iter().map(|(n, _)| unmet(&n.facts, locals, vm)).collect();
        let met: Vec<usize> = (0..known.len()).filter(|i| failed[*i].is_empty()).collect();
        // Where numbers are symbols in one and not in another, it is the first whose other guards hold, too.
        let differ = met.len() > 1 && met.iter().any(|i| !known[*i].0.dynamic.is_empty());
        let asked = if differ { function.cache.borrow().asked(place) } else { Vec::new() };
        let first = asked.into_iter().find(|i| met.contains(i) && holds(function, place, *i, locals, vm));
        // An entry with a number that has varied since is hit only by calls that pass its other guards.
        // So is one with values that are not guarded: another one would read what they have become.
        let is_exact = |i: usize| known[i].0.unguarded.is_empty() && !self.is_outdated(at, &known[i].0, vm);
        let serves = |i: &usize| is_exact(*i) || holds(function, place, *i, locals, vm);
        let needs = match first.or_else(|| met.iter().copied().find(serves)) {
            Some(i) => known[i].0.clone(),
            None => {
                let (facts, realized) = read();
                let (facts, unguarded) = match function.asked.guard_filter.as_ref() {
                    Some(filter) => super::filter::kept(facts, filter, locals, vm),
                    None => (facts, Vec::new()),
                };
                Rc::new(Needs { realized, unguarded, ..self.needs(at, locals, facts, (function, dynamic), vm) })
            }
        };
        Verdict { unmet: failed, needs, idle: idle_unmet, others: HashMap::new() }
    }

    /// Whether a number that an entry was made for has varied since.
    fn is_outdated(&self, at: CodeId, needs: &Needs, vm: &VirtualMachine) -> bool {
        let seen = self.seen.borrow();
        let varied: HashSet<&str> =
            seen.iter().filter(|((seen_at, _), value)| *seen_at == at && value.is_none()).map(|((_, s), _)| &**s).collect();
        let is_varied = |fact: &Fact| matches!(fact.kind, Kind::Equals(_)) && varied.contains(fact.source.text(vm).as_str());
        !varied.is_empty() && needs.facts.iter().any(is_varied)
    }

    /// What the values of a call mean at the start of a function. `closure`: which functions it closes over.
    pub fn at_start(&self, bound: &Bound, closure: usize, function: &CompiledFunction, vm: &VirtualMachine) -> Verdict {
        let read = || match bound.function.as_ref().and_then(|f| f.downcast_ref::<PyFunction>()) {
            Some(python) => {
                let (facts, realized) = symbolic_convert::facts(python, &bound.locals, !function.passed.borrow().is_empty(), vm);
                (as_others(facts, &bound.locals, vm), realized)
            }
            None => (symbolic_convert::facts_of_call(&bound.callee, &bound.locals, vm), Vec::new()),
        };
        self.judge(CodeId { place: 0, closure }, &bound.locals, read, (function, function.dynamic()), vm)
    }

    /// What they mean at the start of a function that is recorded on its own because another calls it.
    pub fn at_entry(&self, entered: &Resumed, closure: usize, function: (&CompiledFunction, Option<bool>), vm: &VirtualMachine) -> Verdict {
        let verdict = self.judge(CodeId { place: 0, closure }, &entered.locals, || read_from(entered, function.0, vm), function, vm);
        Verdict { others: classes(entered, vm), ..verdict }
    }

    /// What the values of a call meant at its beginning, where entries were made since: what those depend on is compared with what it
    /// depends on itself.
    pub fn catch_up(&self, before: &Verdict, count: usize, locals: &Locals, vm: &VirtualMachine) -> Verdict {
        let known = self.entries.borrow().get(&0).cloned().unwrap_or_default();
        let mut verdict = before.clone();
        verdict.unmet.truncate(count);
        for (needs, _) in known.iter().skip(count) {
            let unmet = differing(&needs.facts, &before.needs.facts, locals, vm);
            if unmet.is_empty() {
                verdict.needs = needs.clone();
            }
            verdict.unmet.push(unmet);
        }
        verdict
    }

    /// Which floats were needed as numbers is not known any more.
    pub fn forget_numbers(&self) {
        self.numbers.borrow_mut().clear();
    }

    /// How many entries a function has from its beginning.
    pub fn count(&self) -> usize {
        self.entries.borrow().get(&0).map_or(0, Vec::len)
    }

    /// What they mean where a function goes on.
    pub fn at_break(&self, at: CodeId, resumed: &Resumed, function: &CompiledFunction, vm: &VirtualMachine) -> Verdict {
        let verdict = self.judge(at, &resumed.locals, || read_from(resumed, function, vm), (function, function.dynamic()), vm);
        Verdict { others: classes(resumed, vm), ..verdict }
    }

    /// What a cache entry is guarded on where some floats were specialized.
    pub fn with_numbers(&self, needs: &Needs, origins: &[String]) -> Needs {
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            // Where a graph ends at a break, it is asked once more whether it needs them.
            if !ends_in_break() {
                self.numbers.borrow_mut().extend(origins.iter().cloned());
            }
            let is_needed = |source: &Source| origins.contains(&source.text(vm));
            let number = |source: &Rc<Source>| needs.replaced.iter().find(|(s, _)| Rc::ptr_eq(s, source)).map(|(_, value)| value.clone());
            let facts = needs.facts.iter().map(|fact| match number(&fact.source).filter(|_| is_needed(&fact.source)) {
                Some(value) => Fact { kind: Kind::Equals(value), ..fact.clone() },
                None => fact.clone(),
            });
            let keep = |(source, _): &&(Rc<Source>, PyObjectRef)| !is_needed(source);
            Needs {
                facts: facts.collect(),
                dynamic: needs.dynamic.iter().filter(|s| !is_needed(s)).cloned().collect(),
                replaced: needs.replaced.iter().filter(keep).cloned().collect(),
                realized: needs.realized.clone(),
                unguarded: needs.unguarded.clone(),
            }
        })
    }

    /// Whether a number was found there when something was compiled.
    pub fn was_number(&self, at: CodeId, source: &str) -> bool {
        self.seen.borrow().keys().any(|(known_at, known)| *known_at == at && known == source)
    }

    /// Notes a number that is found there; whether it has varied, now or before. One that was a tensor has.
    fn note_number(&self, at: (CodeId, String), value: &PyObjectRef, was_tensor: bool, vm: &VirtualMachine) -> bool {
        let mut seen = self.seen.borrow_mut();
        let before = seen.entry(at).or_insert_with(|| Some(value.clone()));
        if was_tensor || before.as_ref().is_some_and(|b| !vm.bool_eq(b, value).unwrap_or(false)) {
            *before = None;
        }
        before.is_none()
    }

    /// Facts with those numbers as symbols that varied, or that were tensors before.
    pub fn needs(
        &self,
        at: CodeId,
        locals: &Locals,
        facts: Vec<Fact>,
        (function, dynamic): (&CompiledFunction, Option<bool>),
        vm: &VirtualMachine,
    ) -> Needs {
        let mut needs = Needs::default();
        let unspecialized = switch("allow_unspec_int_on_nn_module");
        let specializes_ints = switch("specialize_int");
        for fact in facts {
            let Kind::Equals(value) = &fact.kind else {
                needs.facts.push(fact);
                continue;
            };
            let is_variable = at.place == 0 || matches!(*fact.source, Source::Local(_));
            let is_float = is_dynamic_float(value, vm) && is_variable && !self.numbers.borrow().contains(&fact.source.text(vm));
            let is_int = value.class().is(vm.ctx.types.int_type) && !specializes_ints;
            let is_local = !fact.source.root().0 && (!fact.source.is_in_module(locals, vm) || unspecialized);
            let key = (at, fact.source.text(vm));
            if !is_float && (!is_int || !is_local) {
                // It is a number all the same: where it is another float in a later call, it has varied.
                if (is_int || value.class().is(vm.ctx.types.float_type)) && is_variable {
                    self.note_number(key, value, false, vm);
                }
                needs.facts.push(fact);
                continue;
            }
            let was_tensor = function.seen.borrow().has(at, &key.1);
            let has_varied = self.note_number(key, value, was_tensor, vm);
            let named = if is_int { named_number(&fact.source.text(vm), value, vm) } else { None };
            if named.unwrap_or(dynamic != Some(false) && has_varied || dynamic == Some(true)) {
                let class = value.class().to_owned().into();
                needs.dynamic.push(fact.source.clone());
                needs.replaced.push((fact.source.clone(), value.clone()));
                if is_float {
                    needs.facts.push(Fact { source: fact.source.clone(), kind: Kind::NotNan, place: None, hint: None, read: None });
                }
                needs.facts.push(Fact { kind: Kind::Type(class), ..fact });
            } else if at.place > 0 && has_varied {
                needs.facts.push(Fact { kind: Kind::Type(value.class().to_owned().into()), ..fact });
            } else {
                needs.facts.push(fact);
            }
        }
        needs
    }
}

/// Whether `torch.compiler.config` names an integer by its source or value, and what it is then: a symbol, or not.
fn named_number(source: &str, value: &PyObjectRef, vm: &VirtualMachine) -> Option<bool> {
    let modules = vm.sys_module.get_attr("modules", vm).ok()?;
    modules.get_item("torch.compiler.config", vm).ok()?;
    let named = imported("torch._dynamo._named_sources", vm).ok()?.get_attr("number", vm).ok()?.call((source, value.clone()), vm).ok()?;
    if vm.is_none(&named) { None } else { named.try_to_bool(vm).ok() }
}

/// A symbol for a number that is found there.
fn symbol(source: &Source, value: &PyObject, recorder: &Recorder, vm: &VirtualMachine) -> Option<PyObjectRef> {
    let text = source.text(vm);
    let number = symbol_number(&text);
    match (value.downcast_ref::<PyInt>(), value.downcast_ref::<PyFloat>()) {
        (Some(i), _) => {
            let object = size_object(&recorder.number(&text, number, i.try_to_primitive::<i64>(vm).ok()?), vm).ok()?;
            note_made(&object, vm).ok()?;
            Some(object)
        }
        (_, Some(f)) => float_object(&recorder.float_number(&text, number, f.to_f64()), vm).ok(),
        _ => None,
    }
}

/// Tuples that hold numbers for which there are symbols, by where they are found, with what takes their place: what a tuple holds
/// cannot be changed.
#[derive(Default)]
struct Tuples(Vec<(String, PyObjectRef)>);

impl Tuples {
    /// The outermost tuple that a number is in, where it is in any, and that with a symbol for the number.
    fn around(
        &mut self,
        source: &Rc<Source>,
        value: PyObjectRef,
        symbol: PyObjectRef,
        locals: &Locals,
        vm: &VirtualMachine,
    ) -> (Rc<Source>, PyObjectRef, PyObjectRef) {
        let Source::Index(base, index) = &**source else { return (source.clone(), value, symbol) };
        let outer = base.value(locals, vm).filter(|outer| outer.class().is(vm.ctx.types.tuple_type));
        let Some(outer) = outer else { return (source.clone(), value, symbol) };
        let text = base.text(vm);
        let known = self.0.iter().find(|(at, _)| *at == text).map_or(&outer, |(_, known)| known);
        let mut items = items(known).unwrap_or_default();
        items.get_mut(*index).into_iter().for_each(|item| *item = symbol.clone());
        let made: PyObjectRef = vm.ctx.new_tuple(items).into();
        self.0.retain(|(at, _)| *at != text);
        self.0.push((text, made.clone()));
        self.around(base, outer, made, locals, vm)
    }
}

/// What a call finds, and what stands there while it is traced: symbols for dynamic numbers, and what values were that are not guarded.
fn replacements(needs: &Needs, locals: &Locals, recorder: &Recorder, vm: &VirtualMachine) -> Vec<(Rc<Source>, PyObjectRef, PyObjectRef)> {
    let dynamic = needs.dynamic.iter().filter_map(|source| {
        let value = source.value(locals, vm)?;
        let symbol = symbol(source, &value, recorder, vm)?;
        Some((source.clone(), value, symbol))
    });
    let dynamic: Vec<_> = dynamic.collect();
    dynamic.into_iter().chain(needs.outdated(locals, vm)).collect()
}

/// Puts symbols where a call finds its dynamic numbers.
pub fn replace(bound: &mut Bound, needs: &Needs, recorder: &Recorder, args: &mut FuncArgs, vm: &VirtualMachine) -> Replaced {
    let mut replaced = Replaced::default();
    let mut tuples = Tuples::default();
    for (source, value, symbol) in replacements(needs, &bound.locals, recorder, vm) {
        let is_given = bound.slot(&source, args).is_some();
        let (source, value, symbol) =
            if is_given { (source, value, symbol) } else { tuples.around(&source, value, symbol, &bound.locals, vm) };
        let source = &source;
        if let Source::Local(name) = &**source {
            let at = bound.names.iter().position(|n| n == name).and_then(|i| i.checked_sub(usize::from(bound.bound_self)));
            if let Some(slot) = args.kwargs.iter_mut().find(|(k, _)| k.to_string_lossy() == **name).map(|(_, v)| v) {
                *slot = symbol;
            } else if let Some(slot) = at.and_then(|i| args.args.get_mut(i)) {
                *slot = symbol;
            } else if at.is_some_and(|i| i + usize::from(bound.bound_self) < bound.parameters) {
                // A default.
                args.kwargs.insert((&**name).into(), symbol);
            } else if let Some(cell) = bound.cell(name, vm) {
                // What the function closes over.
                if cell.set_attr("cell_contents", symbol, vm).is_ok() {
                    replaced.1.push(cell);
                }
            }
        } else if let Some(slot) = bound.slot(source, args) {
            *slot = symbol;
        } else if source.set(&mut bound.locals, symbol.clone(), vm) {
            replaced.0.push((source.clone(), value, symbol));
        }
    }
    replaced
}

/// Puts symbols where a function that goes on, or has just begun, finds its dynamic numbers.
pub fn replace_in_frame(resumed: &mut Resumed, needs: &Needs, recorder: &Recorder, vm: &VirtualMachine) -> Replaced {
    let mut replaced = Replaced::default();
    let mut tuples = Tuples::default();
    for (source, value, symbol) in replacements(needs, &resumed.locals, recorder, vm) {
        let (source, value, symbol) = tuples.around(&source, value, symbol, &resumed.locals, vm);
        let source = &source;
        match &**source {
            Source::Local(name) if resumed.given.as_ref().is_some_and(|(given, _)| given == name) => {
                resumed.given = Some((name.clone(), symbol));
            }
            // What an expression holds stays a number, as does a variable that cannot be written: the graph is another one then.
            Source::Local(name) if name.starts_with("___stack") => {}
            Source::Local(name) => drop(set_variable(&resumed.frame, name, symbol, vm)),
            _ if source.set(&mut resumed.locals, symbol.clone(), vm) => replaced.0.push((source.clone(), value, symbol)),
            _ => {}
        }
    }
    replaced
}

fn number_equals(a: &PyObject, b: &PyObject) -> bool {
    match (a.downcast_ref::<PyFloat>(), b.downcast_ref::<PyFloat>(), a.downcast_ref::<PyInt>(), b.downcast_ref::<PyInt>()) {
        (Some(a), Some(b), ..) => a.to_f64() == b.to_f64(),
        (.., Some(a), Some(b)) => a.as_bigint() == b.as_bigint(),
        _ => false,
    }
}

/// The tensor or the symbolic number that an object is, or those that it has, where it is a tuple or a list.
pub fn held(object: &PyObject, vm: &VirtualMachine) -> Vec<Value> {
    if let Some(t) = to_tensor(object) {
        return vec![Value::Tensor(t)];
    }
    let is_computed = |f: &SymFloat| f.hint().is_none() || !matches!(*f.expr, FloatExpr::Symbol(_));
    match (symbolic(object, vm), symbolic_float(object, vm).filter(is_computed), items(object)) {
        (Some(size), ..) => vec![Value::Int(size)],
        (_, Some(float), _) => vec![Value::SymFloat(float)],
        (.., Some(items)) => items.iter().flat_map(|o| held(o, vm)).collect(),
        _ => Vec::new(),
    }
}

/// Symbolic numbers among indices become inputs now.
pub fn touch_numbers(index: &PyObject, vm: &VirtualMachine) -> PyResult<()> {
    let Some(recorder) = crate::dynamo::eval_frame::recorder::recorder() else { return Ok(()) };
    let parts = items(index).unwrap_or_else(|| vec![index.to_owned()]);
    let ends = |part: PyObjectRef| match part.downcast_ref::<PySlice>() {
        Some(slice) => slice.start.iter().chain([&slice.stop]).chain(&slice.step).cloned().collect(),
        None => vec![part],
    };
    let parts: Vec<PyObjectRef> = parts.into_iter().flat_map(ends).collect();
    let sizes = parts.iter().filter_map(|o| symbolic(o, vm)).filter(|size| recorder.has_size(size));
    sizes.map(Value::Int).try_for_each(|size| recorder.argument(&size).map(|_| ())).map_err(|e| raise(e, vm))
}
