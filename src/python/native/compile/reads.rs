//! Which Python values a function reads: its bytecode is followed without running it, with the values that its arguments,
//! globals and modules have, into the functions and modules that it calls.
//!
//! Branches on known values are taken one way, others both ways, a loop's body once. What comes out are the facts that the
//! front end guards on; a read that is missed costs a guard, never a wrong result: regions are compared as they are recorded.

use std::collections::HashSet;
use std::rc::Rc;

use rustpython_vm::builtins::{PyCode, PyDict, PyDictRef, PyFunction, PyInt, PyList, PyStr, PyTuple, PyType};
use rustpython_vm::bytecode::{Instruction, oparg};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, VirtualMachine};

use super::facts::{Fact, Kind, MODULE_INTEGER};
use super::frames::decoded;
use super::sources::{Locals, Source, cell, own_attribute, submodule};
use crate::python::native::tensor::TensorBase;
use crate::span;

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
    /// A tuple or list made here.
    Items(Vec<Seen>),
    /// What a loop goes through.
    Each(Box<Seen>),
}

fn constant(o: PyObjectRef) -> Seen {
    Seen::Known(vec![(o, None)])
}

/// Puts two together.
fn join(a: Seen, b: Seen) -> Seen {
    match (a, b) {
        (Seen::Known(mut a), Seen::Known(b)) => {
            a.extend(b);
            Seen::Known(a)
        }
        (Seen::Unknown, _) | (_, Seen::Unknown) => Seen::Unknown,
        (a, _) => a,
    }
}

/// The facts that a call of a function depends on.
pub struct Reader<'a> {
    vm: &'a VirtualMachine,
    globals: Option<PyDictRef>,
    facts: Vec<Fact>,
    known: HashSet<String>,
    place: Option<span::Source>,
    budget: usize,
}

impl<'a> Reader<'a> {
    fn new(globals: Option<PyDictRef>, vm: &'a VirtualMachine) -> Self {
        Reader { vm, globals, facts: Vec::new(), known: HashSet::new(), place: None, budget: BUDGET }
    }
}

/// Where a function goes on after a graph ended.
pub struct Resumed {
    /// Its code.
    pub code: PyObjectRef,
    /// Its globals.
    pub globals: Option<PyDictRef>,
    /// Its variables.
    pub locals: Locals,
    /// The instruction that ended the graph; none at the function's beginning.
    pub position: Option<usize>,
    /// Which way Python goes, where that was the question.
    pub truth: Option<bool>,
    /// Its frame.
    pub frame: PyObjectRef,
}

fn slots_of(code: &Py<PyCode>, locals: &Locals) -> Vec<Seen> {
    let slot = |name: String| match locals.iter().find(|(n, _)| **n == *name) {
        Some((n, v)) => Seen::Known(vec![(v.clone(), Some(Rc::new(Source::Local(n.clone()))))]),
        None => Seen::Unknown,
    };
    slot_names(code).map(slot).collect()
}

/// Facts that a call of a function depends on. `locals` are its arguments by name, and what it closes over.
pub fn facts(function: &Py<PyFunction>, locals: &Locals, vm: &VirtualMachine) -> Vec<Fact> {
    let globals = function.as_object().get_attr("__globals__", vm).ok().and_then(|g| g.downcast::<PyDict>().ok());
    let mut reader = Reader::new(globals.clone(), vm);
    if let Ok(code) = function.as_object().get_attr("__code__", vm)
        && let Some(code) = code.downcast_ref::<PyCode>()
    {
        reader.run(code, Path { position: 0, stack: Vec::new(), slots: slots_of(code, locals) }, globals, 0);
    }
    reader.facts
}

/// Facts that a call of one of PyTorch's modules depends on: it is `fn`, called with `args` and `kwargs`.
pub fn facts_of_module(module: &PyObjectRef, locals: &Locals, vm: &VirtualMachine) -> Vec<Fact> {
    let mut reader = Reader::new(None, vm);
    let args = locals.iter().find(|(n, _)| &**n == "args").and_then(|(_, v)| v.downcast_ref::<PyTuple>().map(|t| t.as_slice().to_vec()));
    let source = Rc::new(Source::Local("args".into()));
    let args = args.unwrap_or_default().into_iter().enumerate();
    let args = args.map(|(i, v)| Seen::Known(vec![(v, Some(Rc::new(Source::Index(source.clone(), i))))])).collect();
    let callee = Seen::Known(vec![(module.clone(), Some(Rc::new(Source::Local("fn".into()))))]);
    reader.call(&callee, args, Vec::new(), 0);
    reader.facts
}

/// Facts that the rest of a function depends on.
pub fn facts_from(resumed: &Resumed, vm: &VirtualMachine) -> Vec<Fact> {
    let mut reader = Reader::new(resumed.globals.clone(), vm);
    let Some(code) = resumed.code.downcast_ref::<PyCode>() else { return Vec::new() };
    let slots = slots_of(code, &resumed.locals);
    let decoded = decoded(code);
    let Some(last) = resumed.position else {
        reader.run(code, Path { position: 0, stack: Vec::new(), slots }, resumed.globals.clone(), 0);
        return reader.facts;
    };
    let jumps = decoded.steps.get(last).is_some_and(|s| s.target.is_some());
    let top = resumed.truth.map_or(Seen::Unknown, |t| constant(vm.ctx.new_bool(t).into()));
    let position = if jumps { last } else { last + 1 };
    if position < decoded.steps.len() {
        reader.run(code, Path { position, stack: vec![top], slots }, resumed.globals.clone(), 0);
    }
    reader.facts
}

/// Names of a code's slots, in order.
fn slot_names(code: &Py<PyCode>) -> impl Iterator<Item = String> {
    let names: Vec<String> = code.varnames.iter().map(|n| n.as_str().to_owned()).collect();
    let cells: Vec<String> = code.cellvars.iter().map(|n| n.as_str().to_owned()).filter(|n| !names.contains(n)).collect();
    let free: Vec<String> = code.freevars.iter().map(|n| n.as_str().to_owned()).collect();
    names.into_iter().chain(cells).chain(free)
}

/// Whether a constant of this type is compared by value.
fn is_constant(o: &PyObject, vm: &VirtualMachine) -> bool {
    let types = &vm.ctx.types;
    let class = o.class();
    [types.int_type, types.bool_type, types.float_type, types.str_type, types.none_type, types.complex_type].iter().any(|t| class.is(*t))
        || matches!(class.name().to_string().as_str(), "dtype" | "device" | "memory_format" | "layout")
}

fn is_module(o: &PyObject, vm: &VirtualMachine) -> bool {
    own_attribute(o, "_modules", vm).is_some() && own_attribute(o, "_parameters", vm).is_some()
}

fn is_tensor(o: &PyObject) -> bool {
    o.downcast_ref::<TensorBase>().is_some()
}

impl Reader<'_> {
    fn note(&mut self, source: &Rc<Source>, kind: Kind, hint: Option<&'static str>) {
        let fact = Fact { source: source.clone(), kind, place: self.place.clone(), hint };
        if self.known.insert(fact.text(self.vm)) {
            self.facts.push(fact);
        }
    }

    /// A value is used: what it is matters.
    fn realize(&mut self, seen: &Seen) {
        match seen {
            Seen::Known(all) => {
                for (o, source) in all.clone() {
                    let Some(source) = source else { continue };
                    self.realize_one(&o, &source);
                }
            }
            Seen::Each(inner) => self.realize(&inner.clone()),
            _ => {}
        }
    }

    fn realize_one(&mut self, o: &PyObjectRef, source: &Rc<Source>) {
        let vm = self.vm;
        if is_tensor(o) {
            return;
        }
        if is_constant(o, vm) {
            let in_module = o.class().is(vm.ctx.types.int_type)
                && matches!(&**source, Source::Attr(base, _) if matches!(**base, Source::Module(..) | Source::Local(_)));
            let holder = in_module && matches!(&**source, Source::Attr(_, name) if &**name != "training");
            self.note(source, Kind::Equals(o.clone()), holder.then_some(MODULE_INTEGER));
        } else if let Some(list) = o.downcast_ref::<PyList>() {
            self.note(source, Kind::Type(o.class().to_owned().into()), None);
            let n = list.borrow_vec().len();
            self.note(source, Kind::Length(n), None);
        } else if let Some(tuple) = o.downcast_ref::<PyTuple>() {
            self.note(source, Kind::Type(o.class().to_owned().into()), None);
            self.note(source, Kind::Length(tuple.as_slice().len()), None);
        } else if o.downcast_ref::<PyDict>().is_some() {
            self.note(source, Kind::Type(o.class().to_owned().into()), None);
        } else if o.class().fast_issubclass(vm.ctx.types.type_type) || o.class().name().to_string() == "module" {
            // Classes and modules of Python hardly ever change.
        } else if is_enum(o, vm)
            || (o.downcast_ref::<PyFunction>().is_some() || o.is_callable())
                && !is_module(o, vm)
                && own_attribute(o, "__dict__", vm).is_none()
                && o.dict().is_none_or(|_| o.downcast_ref::<PyFunction>().is_some())
        {
            if matches!(**source, Source::Local(_) | Source::Key(..) | Source::Index(..) | Source::Attr(..)) || is_enum(o, vm) {
                self.note(source, Kind::Is(o.clone()), None);
            }
        } else if !is_module(o, vm) {
            self.note(source, Kind::Type(o.class().to_owned().into()), None);
        }
    }

    /// The one constant that a value is.
    fn known_constant(&self, seen: &Seen) -> Option<PyObjectRef> {
        match seen {
            Seen::Known(all) => match all.as_slice() {
                [(o, _)] if is_constant(o, self.vm) => Some(o.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    fn truth(&self, seen: &Seen) -> Option<bool> {
        match seen {
            Seen::Known(all) => match all.as_slice() {
                [(o, _)] if is_tensor(o) => None,
                [(o, _)]
                    if is_constant(o, self.vm)
                        || o.downcast_ref::<PyDict>().is_some()
                        || o.downcast_ref::<PyList>().is_some()
                        || o.downcast_ref::<PyTuple>().is_some() =>
                {
                    o.clone().try_to_bool(self.vm).ok()
                }
                [(o, _)] if o.downcast_ref::<PyFunction>().is_some() || is_module(o, self.vm) => Some(true),
                _ => None,
            },
            Seen::Method(..) => Some(true),
            Seen::Items(items) => Some(!items.is_empty()),
            _ => None,
        }
    }

    /// An attribute of a value.
    fn attribute(&mut self, seen: &Seen, name: &str) -> Seen {
        let Seen::Known(all) = seen else { return Seen::Unknown };
        let mut found: Option<Seen> = None;
        for (o, source) in all.clone() {
            let one = self.attribute_of(&o, source.as_ref(), name);
            found = Some(match found {
                None => one,
                Some(f) => join(f, one),
            });
        }
        found.unwrap_or(Seen::Unknown)
    }

    fn attribute_of(&mut self, o: &PyObjectRef, source: Option<&Rc<Source>>, name: &str) -> Seen {
        let vm = self.vm;
        if is_tensor(o) {
            return Seen::Unknown;
        }
        let attr = |s: &Rc<Source>| Rc::new(Source::Attr(s.clone(), name.into()));
        if is_module(o, vm) {
            if let Some(sub) = submodule(o, name, vm) {
                let source = source.map(|s| Rc::new(Source::Module(s.clone(), name.into())));
                return Seen::Known(vec![(sub, source)]);
            }
            if name == "_modules" {
                return Seen::Unknown;
            }
        }
        if let Some(source) = source
            && !is_module(o, vm)
            && !is_constant(o, vm)
            && o.class().name().to_string() != "module"
        {
            self.realize_one(o, source);
        }
        if let Some(own) = own_attribute(o, name, vm) {
            let is_python_module = o.class().name().to_string() == "module";
            return Seen::Known(vec![(own, source.filter(|_| !is_python_module).map(attr))]);
        }
        let class = if let Some(class) = o.downcast_ref::<PyType>() { class.to_owned() } else { o.class().to_owned() };
        let Some(inherited) = class.get_attr(vm.ctx.intern_str(name)) else { return Seen::Unknown };
        if inherited.downcast_ref::<PyFunction>().is_some() {
            if o.downcast_ref::<PyType>().is_some() {
                return constant(inherited);
            }
            return Seen::Method(inherited, Box::new(Seen::Known(vec![(o.clone(), source.cloned())])));
        }
        let kind = inherited.class().name().to_string();
        match kind.as_str() {
            "property" => {
                let getter = inherited.get_attr("fget", vm).ok();
                let own = Seen::Known(vec![(o.clone(), source.cloned())]);
                getter.map_or(Seen::Unknown, |g| self.call(&constant(g), vec![own], Vec::new(), 1))
            }
            "staticmethod" => inherited.get_attr("__func__", vm).map_or(Seen::Unknown, constant),
            _ if is_constant(&inherited, vm) => Seen::Known(vec![(inherited, source.map(attr))]),
            _ if is_enum(&inherited, vm) => constant(inherited),
            _ => Seen::Unknown,
        }
    }

    /// What a loop over a value goes through.
    fn elements(&mut self, seen: &Seen) -> Seen {
        self.realize(seen);
        let vm = self.vm;
        match seen {
            Seen::Each(_) => seen.clone(),
            Seen::Items(items) => Seen::Each(Box::new(items.iter().cloned().reduce(join).unwrap_or(Seen::Unknown))),
            Seen::Known(all) => {
                let mut found = Vec::new();
                for (o, source) in all {
                    let index = |i: usize| source.as_ref().map(|s| Rc::new(Source::Index(s.clone(), i)));
                    if let Some(items) = o.downcast_ref::<PyTuple>() {
                        found.extend(items.as_slice().iter().enumerate().map(|(i, v)| (v.clone(), index(i))));
                    } else if let Some(items) = o.downcast_ref::<PyList>() {
                        let items = items.borrow_vec().to_vec();
                        found.extend(items.into_iter().enumerate().map(|(i, v)| (v, index(i))));
                    } else if let Some(modules) = own_attribute(o, "_modules", vm) {
                        let Some(modules) = modules.downcast_ref::<PyDict>() else { continue };
                        if let Some(s) = source {
                            let held = Rc::new(Source::Attr(s.clone(), "_modules".into()));
                            self.note(&held, Kind::Entries(modules.__len__()), None);
                        }
                        for (key, sub) in modules {
                            let Some(key) = key.downcast_ref::<PyStr>().map(|k| k.to_string_lossy().into_owned()) else { continue };
                            found.push((sub, source.as_ref().map(|s| Rc::new(Source::Module(s.clone(), key.as_str().into())))));
                        }
                    } else if o.downcast_ref::<PyDict>().is_some() {
                        self.entries(o, source.as_ref());
                        return Seen::Each(Box::new(Seen::Unknown));
                    } else {
                        return Seen::Each(Box::new(Seen::Unknown));
                    }
                }
                Seen::Each(Box::new(if found.is_empty() || found.len() > 256 { Seen::Unknown } else { Seen::Known(found) }))
            }
            _ => Seen::Each(Box::new(Seen::Unknown)),
        }
    }

    /// All keys of a dictionary matter; gives its values.
    fn entries(&mut self, o: &PyObjectRef, source: Option<&Rc<Source>>) -> Seen {
        let (Some(dict), Some(source)) = (o.downcast_ref::<PyDict>(), source) else { return Seen::Unknown };
        self.note(source, Kind::Entries(dict.__len__()), None);
        let mut values = Vec::new();
        for (i, (key, value)) in dict.into_iter().enumerate().take(64) {
            self.note(source, Kind::KeyAt(i, key.clone()), None);
            values.push((value, Some(Rc::new(Source::Key(source.clone(), key)))));
        }
        if values.is_empty() { Seen::Unknown } else { Seen::Known(values) }
    }

    /// `container[key]`
    fn item(&mut self, container: &Seen, key: &Seen) -> Seen {
        self.realize(key);
        let vm = self.vm;
        let at = self.known_constant(key);
        if let Seen::Items(items) = container {
            let index = at.and_then(|o| o.downcast_ref::<PyInt>().and_then(|i| i.try_to_primitive::<i64>(vm).ok()));
            let index = index.map(|i| if i < 0 { i + items.len() as i64 } else { i });
            return index.and_then(|i| items.get(usize::try_from(i).ok()?).cloned()).unwrap_or(Seen::Unknown);
        }
        self.realize(container);
        let (Seen::Known(all), Some(key)) = (container, at) else { return Seen::Unknown };
        let mut found = Vec::new();
        for (o, source) in all.clone() {
            if let Some(dict) = o.downcast_ref::<PyDict>() {
                let Ok(Some(value)) = dict.get_item_opt(&*key, vm) else { return Seen::Unknown };
                found.push((value, source.map(|s| Rc::new(Source::Key(s, key.clone())))));
                continue;
            }
            let index = key.downcast_ref::<PyInt>().and_then(|i| i.try_to_primitive::<i64>(vm).ok());
            let Some(index) = index else { return Seen::Unknown };
            if let Some(modules) = own_attribute(&o, "_modules", vm) {
                let modules = modules.downcast_ref::<PyDict>().map(|d| d.into_iter().collect::<Vec<_>>()).unwrap_or_default();
                let index = if index < 0 { index + modules.len() as i64 } else { index };
                let Some((name, sub)) = usize::try_from(index).ok().and_then(|i| modules.get(i).cloned()) else { return Seen::Unknown };
                let name = name.downcast_ref::<PyStr>().map(|k| k.to_string_lossy().into_owned()).unwrap_or_default();
                found.push((sub, source.map(|s| Rc::new(Source::Module(s, name.as_str().into())))));
                continue;
            }
            let items = match (o.downcast_ref::<PyTuple>(), o.downcast_ref::<PyList>()) {
                (Some(t), _) => t.as_slice().to_vec(),
                (_, Some(l)) => l.borrow_vec().to_vec(),
                _ => return Seen::Unknown,
            };
            let index = if index < 0 { index + items.len() as i64 } else { index };
            let Some(i) = usize::try_from(index).ok().filter(|i| *i < items.len()) else { return Seen::Unknown };
            found.push((items[i].clone(), source.map(|s| Rc::new(Source::Index(s, i)))));
        }
        if found.is_empty() { Seen::Unknown } else { Seen::Known(found) }
    }

    /// What a call gives.
    fn call(&mut self, callee: &Seen, args: Vec<Seen>, names: Vec<String>, depth: usize) -> Seen {
        let vm = self.vm;
        if depth > DEPTH {
            return Seen::Unknown;
        }
        match callee {
            Seen::Method(function, own) => {
                let mut all = vec![(**own).clone()];
                all.extend(args);
                self.call(&constant(function.clone()), all, names, depth)
            }
            Seen::Known(all) => {
                let mut result = None;
                for (o, source) in all.clone() {
                    let one = if let Some(function) = o.downcast_ref::<PyFunction>() {
                        if let Some(source @ (Source::Local(_) | Source::Attr(..) | Source::Index(..) | Source::Key(..))) =
                            source.as_deref()
                        {
                            self.note(&Rc::new(source.clone()), Kind::Is(o.clone()), None);
                        }
                        self.call_function(function, source.as_ref(), args.clone(), &names, depth)
                    } else if is_module(&o, vm) {
                        let own = Seen::Known(vec![(o.clone(), source.clone())]);
                        match o.class().get_attr(vm.ctx.intern_str("forward")) {
                            Some(forward) if own_attribute(&o, "forward", vm).is_none() => {
                                self.call(&Seen::Method(forward, Box::new(own)), args.clone(), names.clone(), depth + 1)
                            }
                            _ => Seen::Unknown,
                        }
                    } else if let Some(call) = own_method(&o, "__call__", vm) {
                        let own = Seen::Known(vec![(o.clone(), source.clone())]);
                        if let Some(source) = &source {
                            self.realize_one(&o, source);
                        }
                        self.call(&Seen::Method(call, Box::new(own)), args.clone(), names.clone(), depth + 1)
                    } else {
                        if let Some(source) = &source {
                            self.realize_one(&o, source);
                        }
                        self.call_native(&o, &args, &names)
                    };
                    result = Some(match result {
                        None => one,
                        Some(r) => join(r, one),
                    });
                }
                result.unwrap_or(Seen::Unknown)
            }
            _ => {
                args.iter().for_each(|a| self.realize(a));
                Seen::Unknown
            }
        }
    }

    /// A call of something that is not written in Python.
    fn call_native(&mut self, o: &PyObjectRef, args: &[Seen], names: &[String]) -> Seen {
        let vm = self.vm;
        let name = o.get_attr("__name__", vm).ok().and_then(|n| n.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned()));
        let name = name.unwrap_or_default();
        match (name.as_str(), args) {
            ("print", _) => return Seen::Unknown,
            ("enumerate", [items, ..]) => {
                return match self.elements(items) {
                    Seen::Each(one) => Seen::Each(Box::new(Seen::Items(vec![Seen::Unknown, *one]))),
                    _ => Seen::Unknown,
                };
            }
            ("zip", _) => {
                let each = args.iter().map(|a| match self.elements(a) {
                    Seen::Each(one) => *one,
                    _ => Seen::Unknown,
                });
                return Seen::Each(Box::new(Seen::Items(each.collect())));
            }
            ("reversed" | "iter" | "list" | "tuple", [items]) => return self.elements(items),
            ("len", [Seen::Known(all)]) => {
                self.realize(&args[0]);
                return match all.as_slice() {
                    [(o, _)] if o.downcast_ref::<PyList>().is_some() || o.downcast_ref::<PyTuple>().is_some() => {
                        o.length(vm).map_or(Seen::Unknown, |n| constant(vm.ctx.new_int(n).into()))
                    }
                    _ => Seen::Unknown,
                };
            }
            ("isinstance", [Seen::Known(all), Seen::Known(classes)]) => {
                let class = classes.first().map(|(c, _)| c.clone());
                let (Some(class), [(o, source)]) = (class, all.as_slice()) else { return Seen::Unknown };
                if let Some(source) = source.as_ref().filter(|_| !is_tensor(o) && !is_module(o, vm)) {
                    self.note(source, Kind::Type(o.class().to_owned().into()), None);
                }
                return o.is_instance(&class, vm).map_or(Seen::Unknown, |b| constant(vm.ctx.new_bool(b).into()));
            }
            ("getattr" | "hasattr", [object, attr, ..]) => {
                let Some(attr) = self.known_constant(attr) else { return Seen::Unknown };
                let Some(attr) = attr.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned()) else { return Seen::Unknown };
                let found = self.attribute(object, &attr);
                return if name == "getattr" { found } else { Seen::Unknown };
            }
            _ => {}
        }
        args.iter().for_each(|a| match a {
            Seen::Items(items) => items.iter().for_each(|i| self.realize(i)),
            other => self.realize(other),
        });
        let constants: Option<Vec<PyObjectRef>> = args.iter().map(|a| self.known_constant(a)).collect();
        match (name.as_str(), constants) {
            ("int" | "float" | "bool" | "abs" | "min" | "max" | "round" | "str", Some(values)) if names.is_empty() => {
                o.call(FuncArgs::from(values), vm).map_or(Seen::Unknown, constant)
            }
            _ => Seen::Unknown,
        }
    }

    fn call_function(
        &mut self,
        function: &Py<PyFunction>,
        source: Option<&Rc<Source>>,
        args: Vec<Seen>,
        names: &[String],
        depth: usize,
    ) -> Seen {
        let vm = self.vm;
        let object = function.as_object();
        let Ok(code) = object.get_attr("__code__", vm) else { return Seen::Unknown };
        let Some(code) = code.downcast_ref::<PyCode>() else { return Seen::Unknown };
        // What `disable` keeps out is not followed; a compiled function is.
        if let Ok(inner) = object.get_attr("_torchdynamo_orig_callable", vm) {
            return self.call(&constant(inner), args, names.to_vec(), depth + 1);
        }
        if object.get_attr("_torchdynamo_disable", vm).is_ok() {
            return Seen::Unknown;
        }
        let slots: Vec<String> = slot_names(code).collect();
        let mut values: Vec<Seen> = vec![Seen::Unknown; slots.len()];
        let (count, only) = (code.arg_count as usize, code.kwonlyarg_count as usize);
        let split = args.len() - names.len().min(args.len());
        let (positional, keywords) = args.split_at(split);
        let mut given = vec![false; count + only];
        for (i, v) in positional.iter().take(count).enumerate() {
            values[i] = v.clone();
            given[i] = true;
        }
        for (name, v) in names.iter().zip(keywords) {
            if let Some(i) = slots.iter().take(count + only).position(|s| s == name) {
                values[i] = v.clone();
                given[i] = true;
            }
        }
        if code.flags.contains(rustpython_vm::bytecode::CodeFlags::VARARGS)
            && let Some(rest) = values.get_mut(count + only)
        {
            *rest = Seen::Items(positional.iter().skip(count).cloned().collect());
        }
        let defaults = object.get_attr("__defaults__", vm).ok().and_then(|d| d.downcast_ref::<PyTuple>().map(|t| t.as_slice().to_vec()));
        for (i, v) in defaults.unwrap_or_default().into_iter().rev().enumerate() {
            if let Some(slot) = count.checked_sub(i + 1).filter(|s| !given[*s]) {
                values[slot] = constant(v);
            }
        }
        let cells = code.freevars.len();
        for i in 0..cells {
            let Some(value) = cell(object, i, vm) else { continue };
            let slot = slots.len() - cells + i;
            values[slot] = Seen::Known(vec![(value, source.map(|s| Rc::new(Source::Cell(s.clone(), i))))]);
        }
        let globals = object.get_attr("__globals__", vm).ok().and_then(|g| g.downcast::<PyDict>().ok());
        self.run(code, Path { position: 0, stack: Vec::new(), slots: values }, globals, depth + 1)
    }
}

/// A method that a script's class defines.
fn own_method(o: &PyObject, name: &str, vm: &VirtualMachine) -> Option<PyObjectRef> {
    if o.downcast_ref::<PyType>().is_some() {
        return None;
    }
    o.class().get_attr(vm.ctx.intern_str(name)).filter(|m| m.downcast_ref::<PyFunction>().is_some())
}

fn is_enum(o: &PyObject, vm: &VirtualMachine) -> bool {
    own_attribute(o, "_value_", vm).is_some() && own_attribute(o, "_name_", vm).is_some()
}

/// A path that is still to be followed.
struct Path {
    position: usize,
    stack: Vec<Seen>,
    slots: Vec<Seen>,
}

impl Reader<'_> {
    /// Follows a function's code; gives what it returns.
    fn run(&mut self, code: &Py<PyCode>, start: Path, globals: Option<PyDictRef>, depth: usize) -> Seen {
        let decoded = decoded(code);
        let here = self.place.clone();
        let mut visited = HashSet::new();
        let mut paths = vec![start];
        let mut result: Option<Seen> = None;
        while let Some(mut path) = paths.pop() {
            while visited.insert(path.position) && self.budget > 0 {
                self.budget -= 1;
                let step = decoded.steps[path.position];
                if let Some(place) = super::frames::place_of(code, step.at) {
                    self.place = Some(place);
                }
                if matches!(step.op, Instruction::ReturnValue) {
                    let value = path.stack.pop().unwrap_or(Seen::Unknown);
                    result = Some(match result {
                        None => value,
                        Some(r) => join(r, value),
                    });
                    break;
                }
                let jump = self.step(code, &step, &mut path, globals.as_ref(), depth);
                let next =
                    decoded.position(step.next).filter(|_| (step.next as usize) <= decoded.steps.last().map_or(0, |s| s.at as usize));
                let target = step.target.and_then(|t| decoded.position(t));
                match (jump, next, target) {
                    (Jump::Never, Some(next), _) => path.position = next,
                    (Jump::Always, _, Some(target)) => path.position = target,
                    (Jump::Maybe, Some(next), Some(target)) => {
                        paths.push(Path { position: target, stack: path.stack.clone(), slots: path.slots.clone() });
                        path.position = next;
                    }
                    _ => break,
                }
            }
        }
        self.place = here;
        result.unwrap_or(Seen::Unknown)
    }

    /// One instruction.
    fn step(&mut self, code: &Py<PyCode>, step: &super::code::Step, path: &mut Path, globals: Option<&PyDictRef>, depth: usize) -> Jump {
        let vm = self.vm;
        let arg = step.arg as usize;
        let stack = &mut path.stack;
        let slot = |slots: &[Seen], i: u32| slots.get(i as usize).cloned().unwrap_or(Seen::Unknown);
        let pair = || {
            let (a, b) = oparg::VarNums::from_u32(step.arg).indexes();
            (a.as_u32(), b.as_u32())
        };
        fn pop(stack: &mut Vec<Seen>) -> Seen {
            stack.pop().unwrap_or(Seen::Unknown)
        }
        fn take(stack: &mut Vec<Seen>, n: usize) -> Vec<Seen> {
            let at = stack.len().saturating_sub(n);
            stack.split_off(at)
        }
        match step.op {
            Instruction::LoadConst { .. } => {
                let value: PyObjectRef = code.constants[step.arg.into()].clone().into();
                stack.push(constant(value));
            }
            Instruction::LoadSmallInt { .. } => stack.push(constant(vm.ctx.new_int(step.arg).into())),
            Instruction::LoadFast { .. }
            | Instruction::LoadFastBorrow { .. }
            | Instruction::LoadFastCheck { .. }
            | Instruction::LoadFastAndClear { .. }
            | Instruction::LoadDeref { .. } => stack.push(slot(&path.slots, step.arg)),
            Instruction::LoadFastLoadFast { .. } | Instruction::LoadFastBorrowLoadFastBorrow { .. } => {
                let (a, b) = pair();
                stack.push(slot(&path.slots, a));
                stack.push(slot(&path.slots, b));
            }
            Instruction::StoreFast { .. } | Instruction::StoreDeref { .. } => {
                let value = pop(stack);
                if let Some(s) = path.slots.get_mut(arg) {
                    *s = value;
                }
            }
            Instruction::StoreFastStoreFast { .. } => {
                let (a, b) = pair();
                for i in [a, b] {
                    let value = pop(stack);
                    if let Some(s) = path.slots.get_mut(i as usize) {
                        *s = value;
                    }
                }
            }
            Instruction::StoreFastLoadFast { .. } => {
                let (a, b) = pair();
                let value = pop(stack);
                if let Some(s) = path.slots.get_mut(a as usize) {
                    *s = value;
                }
                stack.push(slot(&path.slots, b));
            }
            Instruction::LoadGlobal { .. } | Instruction::LoadName { .. } => {
                let is_global = matches!(step.op, Instruction::LoadGlobal { .. });
                let name = code.names[if is_global { arg >> 1 } else { arg }];
                let own = globals.and_then(|g| g.get_item_opt(name.as_str(), vm).ok().flatten());
                let is_root = globals.zip(self.globals.as_ref()).is_some_and(|(a, b)| a.is(b));
                stack.push(match (own, globals) {
                    (Some(value), Some(globals)) if is_root => {
                        Seen::Known(vec![(value, Some(Rc::new(Source::Global(globals.clone(), name.as_str().into()))))])
                    }
                    (Some(value), _) => constant(value),
                    (None, _) => vm.builtins.get_attr(name, vm).map_or(Seen::Unknown, constant),
                });
                if is_global && arg & 1 == 1 {
                    stack.push(Seen::Null);
                }
            }
            Instruction::LoadAttr { .. } => {
                let object = pop(stack);
                let name = code.names[arg >> 1];
                let found = self.attribute(&object, name.as_str());
                let stack = &mut path.stack;
                stack.push(found);
                if arg & 1 == 1 {
                    stack.push(Seen::Null);
                }
            }
            Instruction::LoadSuperAttr { .. } => {
                let taken = take(stack, 3);
                let name = code.names[arg >> 2];
                let found = match (taken.get(1), taken.get(2)) {
                    (Some(Seen::Known(classes)), Some(own @ Seen::Known(objects))) => {
                        let class = classes.first().and_then(|(c, _)| c.downcast_ref::<PyType>().map(|c| c.to_owned()));
                        let mro = objects.first().map(|(o, _)| o.class().mro_map_collect(|c| c.to_owned())).unwrap_or_default();
                        let after = mro.iter().position(|c| class.as_ref().is_some_and(|k| c.is(k))).map_or(mro.len(), |i| i + 1);
                        let held = |c: &Py<PyType>| c.as_object().get_attr("__dict__", vm).ok()?.get_item(name.as_str(), vm).ok();
                        let found = mro[after.min(mro.len())..].iter().find_map(|c| held(c));
                        found
                            .filter(|f| f.downcast_ref::<PyFunction>().is_some())
                            .map_or(Seen::Unknown, |f| Seen::Method(f, Box::new(own.clone())))
                    }
                    _ => Seen::Unknown,
                };
                stack.push(found);
                if arg & 1 == 1 {
                    stack.push(Seen::Null);
                }
            }
            Instruction::Call { .. } | Instruction::CallKw { .. } => {
                let names = match step.op {
                    Instruction::CallKw { .. } => match pop(stack) {
                        Seen::Known(all) => all.first().and_then(|(o, _)| {
                            o.downcast_ref::<PyTuple>().map(|t| {
                                t.as_slice()
                                    .iter()
                                    .filter_map(|n| n.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned()))
                                    .collect()
                            })
                        }),
                        _ => None,
                    }
                    .unwrap_or_default(),
                    _ => Vec::new(),
                };
                let mut args = take(stack, arg);
                let own = pop(stack);
                let callee = pop(stack);
                if !matches!(own, Seen::Null) {
                    args.insert(0, own);
                }
                let result = self.call(&callee, args, names, depth);
                path.stack.push(result);
            }
            Instruction::CallFunctionEx => {
                let (keywords, args) = (pop(stack), pop(stack));
                let own = pop(stack);
                let callee = pop(stack);
                let mut given = match args {
                    Seen::Items(items) => items,
                    _ => Vec::new(),
                };
                if !matches!(own, Seen::Null) {
                    given.insert(0, own);
                }
                drop(keywords);
                let result = self.call(&callee, given, Vec::new(), depth);
                path.stack.push(result);
            }
            Instruction::PushNull => stack.push(Seen::Null),
            Instruction::Copy { .. } => {
                let value = stack.len().checked_sub(arg).and_then(|i| stack.get(i)).cloned().unwrap_or(Seen::Unknown);
                stack.push(value);
            }
            Instruction::Swap { .. } => {
                let top = stack.len().wrapping_sub(1);
                if let Some(other) = stack.len().checked_sub(arg).filter(|_| !stack.is_empty()) {
                    stack.swap(top, other);
                }
            }
            Instruction::BuildTuple { .. } | Instruction::BuildList { .. } => {
                let items = take(stack, arg);
                stack.push(Seen::Items(items));
            }
            Instruction::ListExtend { .. } => {
                let more = pop(stack);
                if let (Some(Seen::Items(items)), Seen::Items(more)) = (stack.last_mut(), more) {
                    items.extend(more);
                }
            }
            Instruction::CallIntrinsic1 { .. } if matches!(stack.last(), Some(Seen::Items(_))) => {}
            Instruction::UnpackSequence { .. } => {
                let value = pop(stack);
                let parts: Vec<Seen> = match &value {
                    Seen::Items(items) if items.len() == arg => items.clone(),
                    Seen::Known(_) => (0..arg).map(|i| self.item(&value, &constant(vm.ctx.new_int(i).into()))).collect(),
                    _ => vec![Seen::Unknown; arg],
                };
                path.stack.extend(parts.into_iter().rev());
            }
            Instruction::BinaryOp { op } => {
                let (b, a) = (pop(stack), pop(stack));
                let op = op.get(rustpython_vm::bytecode::OpArg::new(step.arg));
                let result = if matches!(op, oparg::BinaryOperator::Subscr) {
                    self.item(&a, &b)
                } else {
                    self.realize(&a);
                    self.realize(&b);
                    match (self.known_constant(&a), self.known_constant(&b)) {
                        (Some(a), Some(b)) => binary(op, &a, &b, vm).map_or(Seen::Unknown, constant),
                        _ => Seen::Unknown,
                    }
                };
                path.stack.push(result);
            }
            Instruction::CompareOp { opname } => {
                let (b, a) = (pop(stack), pop(stack));
                self.realize(&a);
                self.realize(&b);
                let op = opname.get(rustpython_vm::bytecode::OpArg::new(step.arg));
                let single = |s: &Seen| match s {
                    Seen::Known(all) if all.len() == 1 && (is_constant(&all[0].0, vm) || is_enum(&all[0].0, vm)) => Some(all[0].0.clone()),
                    _ => None,
                };
                let result = match (single(&a), single(&b)) {
                    (Some(a), Some(b)) => a.rich_compare_bool(&b, compare_op(op), vm).ok().map(|t| constant(vm.ctx.new_bool(t).into())),
                    _ => None,
                };
                path.stack.push(result.unwrap_or(Seen::Unknown));
            }
            Instruction::IsOp { invert } => {
                let (b, a) = (pop(stack), pop(stack));
                self.realize(&a);
                self.realize(&b);
                let negated = matches!(invert.get(rustpython_vm::bytecode::OpArg::new(step.arg)), oparg::Invert::Yes);
                let result = match (&a, &b) {
                    (Seen::Known(a), Seen::Known(b)) if a.len() == 1 && b.len() == 1 => {
                        Some(constant(vm.ctx.new_bool(a[0].0.is(&b[0].0) != negated).into()))
                    }
                    _ => None,
                };
                path.stack.push(result.unwrap_or(Seen::Unknown));
            }
            Instruction::ContainsOp { invert } => {
                let (container, key) = (pop(stack), pop(stack));
                let negated = matches!(invert.get(rustpython_vm::bytecode::OpArg::new(step.arg)), oparg::Invert::Yes);
                self.realize(&key);
                let mut result = Seen::Unknown;
                if let (Seen::Known(all), Some(key)) = (&container, self.known_constant(&key)) {
                    match all.as_slice() {
                        [(o, Some(source))] if o.downcast_ref::<PyDict>().is_some() => {
                            let has = o.downcast_ref::<PyDict>().is_some_and(|d| d.get_item_opt(&*key, vm).ok().flatten().is_some());
                            self.note(source, Kind::Type(o.class().to_owned().into()), None);
                            self.note(source, Kind::Contains(key, has), None);
                            result = constant(vm.ctx.new_bool(has != negated).into());
                        }
                        _ => self.realize(&container),
                    }
                }
                path.stack.push(result);
            }
            Instruction::ToBool => {
                let value = pop(stack);
                self.realize_truth(&value);
                let truth = self.truth(&value).map_or(Seen::Unknown, |t| constant(vm.ctx.new_bool(t).into()));
                path.stack.push(truth);
            }
            Instruction::UnaryNot => {
                let value = pop(stack);
                let truth = self.truth(&value).map_or(Seen::Unknown, |t| constant(vm.ctx.new_bool(!t).into()));
                path.stack.push(truth);
            }
            Instruction::PopJumpIfFalse { .. } | Instruction::PopJumpIfTrue { .. } => {
                let value = pop(stack);
                self.realize_truth(&value);
                let on = matches!(step.op, Instruction::PopJumpIfTrue { .. });
                return match self.truth(&value) {
                    Some(t) if t == on => Jump::Always,
                    Some(_) => Jump::Never,
                    None => Jump::Maybe,
                };
            }
            Instruction::PopJumpIfNone { .. } | Instruction::PopJumpIfNotNone { .. } => {
                let value = pop(stack);
                self.realize(&value);
                let on = matches!(step.op, Instruction::PopJumpIfNone { .. });
                return match &value {
                    Seen::Known(all) if all.len() == 1 => {
                        if vm.is_none(&all[0].0) == on {
                            Jump::Always
                        } else {
                            Jump::Never
                        }
                    }
                    Seen::Method(..) | Seen::Items(_) => {
                        if on {
                            Jump::Never
                        } else {
                            Jump::Always
                        }
                    }
                    _ => Jump::Maybe,
                };
            }
            Instruction::GetIter => {
                let value = pop(stack);
                let each = self.elements(&value);
                path.stack.push(each);
            }
            Instruction::ForIter { .. } => {
                let one = match stack.last() {
                    Some(Seen::Each(one)) => (**one).clone(),
                    _ => Seen::Unknown,
                };
                stack.push(one);
                return Jump::Maybe;
            }
            Instruction::JumpForward { .. } | Instruction::JumpBackward { .. } | Instruction::JumpBackwardNoInterrupt { .. } => {
                return Jump::Always;
            }
            Instruction::RaiseVarargs { .. } | Instruction::Reraise { .. } => return Jump::Nowhere,
            op => {
                let effect = op.stack_effect_info(step.arg);
                let (popped, pushed) = (effect.popped() as usize, effect.pushed() as usize);
                let uses = !matches!(
                    op,
                    Instruction::PopTop
                        | Instruction::StoreAttr { .. }
                        | Instruction::StoreSubscr
                        | Instruction::StoreGlobal { .. }
                        | Instruction::EndFor
                        | Instruction::PopIter
                );
                for value in take(stack, popped) {
                    if uses {
                        self.realize(&value);
                    }
                }
                path.stack.extend(std::iter::repeat_n(Seen::Unknown, pushed));
            }
        }
        Jump::Never
    }

    /// A value decides which way to go.
    fn realize_truth(&mut self, seen: &Seen) {
        if let Seen::Known(all) = seen {
            for (o, source) in all.clone() {
                if let (Some(dict), Some(source)) = (o.downcast_ref::<PyDict>(), &source) {
                    self.note(source, Kind::Entries(dict.__len__()), None);
                }
            }
        }
        self.realize(seen);
    }
}

/// Where an instruction goes on.
enum Jump {
    Never,
    Always,
    Maybe,
    Nowhere,
}

fn compare_op(op: oparg::ComparisonOperator) -> rustpython_vm::types::PyComparisonOp {
    use rustpython_vm::types::PyComparisonOp as Op;
    match op {
        oparg::ComparisonOperator::Less => Op::Lt,
        oparg::ComparisonOperator::LessOrEqual => Op::Le,
        oparg::ComparisonOperator::Equal => Op::Eq,
        oparg::ComparisonOperator::NotEqual => Op::Ne,
        oparg::ComparisonOperator::Greater => Op::Gt,
        oparg::ComparisonOperator::GreaterOrEqual => Op::Ge,
    }
}

/// Arithmetic of constants.
fn binary(op: oparg::BinaryOperator, a: &PyObject, b: &PyObject, vm: &VirtualMachine) -> Option<PyObjectRef> {
    use oparg::BinaryOperator as Op;
    match op {
        Op::Add | Op::InplaceAdd => vm._add(a, b),
        Op::Subtract | Op::InplaceSubtract => vm._sub(a, b),
        Op::Multiply | Op::InplaceMultiply => vm._mul(a, b),
        Op::FloorDivide | Op::InplaceFloorDivide => vm._floordiv(a, b),
        Op::Remainder | Op::InplaceRemainder => vm._mod(a, b),
        Op::TrueDivide | Op::InplaceTrueDivide => vm._truediv(a, b),
        _ => return None,
    }
    .ok()
}
