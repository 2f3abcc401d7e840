//! Reading values: what is used of them, and what their attributes and elements are.

use std::collections::hash_map::Entry;
use std::rc::Rc;

use rustpython_vm::builtins::{PyDict, PyFloat, PyFunction, PyInt, PyList, PyStr, PyTuple, PyType};
use rustpython_vm::class::StaticType;
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, VirtualMachine};

use super::{Reader, Seen, constant, join};
use crate::dynamo::guards::guard::{Fact, Kind, MODULE_INTEGER};
use crate::dynamo::source::{
    Source, attribute_of_class, class_with, count, deque, entry, field, gradient, has_attribute, is_known_dict, own_attribute, submodule,
};
use crate::python::native::tensor::{TensorBase, numpy_input, wrap};
use crate::python::span::is_beside;

/// Whether a constant of this type is compared by value.
pub(super) fn is_constant(o: &PyObject, vm: &VirtualMachine) -> bool {
    let types = &vm.ctx.types;
    let class = o.class();
    [types.int_type, types.bool_type, types.float_type, types.str_type, types.none_type, types.complex_type].iter().any(|t| class.is(*t))
        || matches!(class.name().to_string().as_str(), "dtype" | "device" | "memory_format" | "layout")
}

/// Whether a class is of PyTorch or of Python: what it has never changes.
fn is_library(class: &Py<PyType>, vm: &VirtualMachine) -> bool {
    let module = string(attribute_of_class(class, "__module__", vm).as_ref()).unwrap_or_default();
    module == "builtins" || module == "torch" || module.starts_with("torch.")
}

fn is_float(o: &PyObject) -> bool {
    o.downcast_ref::<PyFloat>().is_some()
}

/// Whether a constant is one whose value matters only when it is used.
fn is_literal(o: &PyObject, vm: &VirtualMachine) -> bool {
    let types = &vm.ctx.types;
    [types.int_type, types.bool_type, types.float_type, types.str_type].iter().any(|t| o.class().is(*t))
}

/// Whether a value is what a module holds: constants there are static, and so is a tuple of them. A method's `self` counts as one.
fn is_of_module(source: &Source) -> bool {
    match source {
        Source::Attr(base, _) => match &**base {
            Source::Module(..) => true,
            Source::Local(name) => &**name == "self",
            other => is_of_module(other),
        },
        Source::Key(base, _) | Source::Index(base, _) => is_of_module(base),
        _ => false,
    }
}

pub(super) fn is_module(o: &PyObject, vm: &VirtualMachine) -> bool {
    own_attribute(o, "_modules", vm).is_some() && own_attribute(o, "_parameters", vm).is_some()
}

/// Whether it is one of numpy's arrays or scalars, of which a graph has the tensor: that one's guard says all that is asked of it.
pub(super) fn is_of_numpy(o: &PyObject, vm: &VirtualMachine) -> bool {
    o.class().has_attr(vm.ctx.intern_str("__torch_input__"))
}

pub(super) fn is_tensor(o: &PyObject) -> bool {
    o.downcast_ref::<TensorBase>().is_some()
}

/// A method that a script's class defines.
pub(super) fn own_method(o: &PyObject, name: &str, vm: &VirtualMachine) -> Option<PyObjectRef> {
    if o.downcast_ref::<PyType>().is_some() {
        return None;
    }
    o.class().get_attr(vm.ctx.intern_str(name)).filter(|m| m.downcast_ref::<PyFunction>().is_some())
}

/// A class's own `__getattr__` or `__setattr__`: a module's is followed as modules are.
pub(super) fn own_accessor(o: &PyObject, name: &str, vm: &VirtualMachine) -> Option<PyObjectRef> {
    own_method(o, name, vm).filter(|_| !is_module(o, vm))
}

pub(super) fn is_enum(o: &PyObject, vm: &VirtualMachine) -> bool {
    own_attribute(o, "_value_", vm).is_some() && own_attribute(o, "_name_", vm).is_some()
}

impl Reader<'_> {
    pub(super) fn note(&mut self, source: &Rc<Source>, kind: Kind, hint: Option<&'static str>) {
        if self.effects.is_some() {
            return;
        }
        let fact = Fact { source: source.clone(), kind, place: self.place.clone(), hint, read: self.at };
        match self.known.entry(fact.text(self.vm)) {
            // Paths are not followed in the order of the code.
            Entry::Occupied(known) => {
                let known = &mut self.facts[*known.get()];
                known.read = known.read.min(self.at);
            }
            Entry::Vacant(new) => {
                new.insert(self.facts.len());
                self.facts.push(fact);
            }
        }
    }

    /// A value is used: what it is matters.
    pub(super) fn realize(&mut self, seen: &Seen) {
        match seen {
            Seen::Known(all) => {
                for (o, source) in all.clone() {
                    let Some(source) = source else { continue };
                    self.realize_one(&o, &source);
                }
            }
            Seen::Each(inner) => self.realize(&inner.clone()),
            Seen::Items(items) => items.iter().for_each(|item| self.realize(item)),
            Seen::Computed(_, operands) => operands.iter().for_each(|(o, source)| self.realize_one(o, source)),
            _ => {}
        }
    }

    /// A value is handed to what is not followed: so is all that a list or a tuple holds.
    pub(super) fn realize_all(&mut self, seen: &Seen) {
        self.realize(seen);
        self.realize_items(seen);
        if let Seen::Keywords(all) = seen {
            all.clone().iter().for_each(|(_, value)| self.realize_all(value));
        }
    }

    /// All that a list or a tuple holds is used.
    pub(super) fn realize_items(&mut self, seen: &Seen) {
        let Seen::Known(all) = seen else { return };
        for (o, source) in all.clone() {
            let Some(source) = source.filter(|_| o.downcast_ref::<PyTuple>().is_some() || o.downcast_ref::<PyList>().is_some()) else {
                continue;
            };
            for (i, item) in crate::python::native::tensor::items(&o).unwrap_or_default().into_iter().take(64).enumerate() {
                self.realize_all(&Seen::Known(vec![(item, Some(Rc::new(Source::Index(source.clone(), i))))]));
            }
        }
    }

    /// A value becomes that of an attribute: integers and floats have to be known, as they may be symbols.
    pub(super) fn realize_number(&mut self, seen: &Seen) {
        let number = |o: &PyObject| o.downcast_ref::<PyInt>().is_some_and(|_| !o.class().is(self.vm.ctx.types.bool_type)) || is_float(o);
        let is_number = match seen {
            Seen::Computed(_, operands) => operands.iter().any(|(o, _)| number(o)),
            Seen::Known(all) => all.iter().any(|(o, _)| number(o)),
            _ => false,
        };
        if is_number {
            self.realize(seen);
        }
    }

    /// What is computed from constants that nothing has used yet, where they are such; `None` where they have to be known.
    pub(super) fn deferred(&self, operands: &[&Seen], compute: impl FnOnce(&[PyObjectRef]) -> Option<PyObjectRef>) -> Option<Seen> {
        let (mut values, mut found) = (Vec::new(), Vec::new());
        for operand in operands {
            match operand {
                Seen::Computed(value, operands) => {
                    values.push(value.clone());
                    found.extend(operands.iter().cloned());
                }
                Seen::Known(all) => {
                    let [(o, source)] = all.as_slice() else { return None };
                    let source = source.as_ref().filter(|_| is_literal(o, self.vm));
                    // What was used before is a number that is known, or a symbol.
                    let is_used = source.is_some_and(|s| self.known.contains_key(&self.equality(s, o)));
                    if is_used || source.is_none() && !is_constant(o, self.vm) {
                        return None;
                    }
                    values.push(o.clone());
                    found.extend(source.map(|s| (o.clone(), s.clone())));
                }
                _ => return None,
            }
        }
        if found.is_empty() || found.len() > 64 {
            return None;
        }
        Some(Seen::Computed(compute(&values)?, found))
    }

    /// That a value found there is this one, as a guard says it.
    fn equality(&self, source: &Rc<Source>, value: &PyObjectRef) -> String {
        Fact { source: source.clone(), kind: Kind::Equals(value.clone()), place: None, hint: None, read: None }.text(self.vm)
    }

    pub(super) fn realize_one(&mut self, o: &PyObjectRef, source: &Rc<Source>) {
        let vm = self.vm;
        if is_tensor(o) {
            self.note(source, Kind::Type(o.class().to_owned().into()), None);
            return;
        }
        if is_of_numpy(o, vm) {
            // What is guarded is the tensor that stands for it.
            if let Some(input) = numpy_input(o, vm).and_then(|t| wrap(&t, vm).ok()) {
                self.note(&Rc::new(Source::Numpy(source.clone())), Kind::Type(input.class().to_owned().into()), None);
            }
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
        } else if let Some(tuple) = o.downcast_ref::<PyTuple>()
            && o.class().is(vm.ctx.types.tuple_type)
            && is_of_module(source)
            && tuple.as_slice().iter().all(|item| is_literal(item, vm) || vm.is_none(item))
        {
            self.note(source, Kind::Equals(o.clone()), None);
        } else if let Some(tuple) = o.downcast_ref::<PyTuple>() {
            self.note(source, Kind::Type(o.class().to_owned().into()), None);
            self.note(source, Kind::Length(tuple.as_slice().len()), None);
        } else if o.downcast_ref::<PyDict>().is_some() {
            self.note(source, Kind::Type(o.class().to_owned().into()), None);
            if !is_known_dict(o) {
                self.entries(o, Some(source));
            }
        } else if let Some(length) = count(o, vm) {
            self.note(source, Kind::Type(o.class().to_owned().into()), None);
            self.note(source, Kind::Length(length), None);
        } else if &*o.class().name() == "tuple_iterator" {
            if let Ok(left) = o.clone().length_hint(0, vm) {
                self.note(source, Kind::Remaining(left), None);
            }
        } else if self.tells && o.class().is(vm.ctx.types.module_type) {
            self.note(source, Kind::Is(o.clone()), None);
        } else if o.class().fast_issubclass(vm.ctx.types.type_type) || o.class().name().to_string() == "module" {
            // Classes and modules of Python hardly ever change.
        } else if is_enum(o, vm)
            || (o.downcast_ref::<PyFunction>().is_some() || o.is_callable())
                && !is_module(o, vm)
                && own_attribute(o, "__dict__", vm).is_none()
                && o.dict().is_none_or(|_| o.downcast_ref::<PyFunction>().is_some())
        {
            let is_held = matches!(**source, Source::Local(_) | Source::Key(..) | Source::Index(..) | Source::Attr(..));
            if is_held || self.tells || is_enum(o, vm) {
                self.note(source, Kind::Is(o.clone()), None);
            }
        } else if !is_module(o, vm) {
            self.note(source, Kind::Type(o.class().to_owned().into()), None);
        }
    }

    /// Whether a container is empty is asked: its first element becomes an input there.
    pub(super) fn realize_first_item(&mut self, container: &PyObjectRef, source: &Rc<Source>) {
        let first = if let Some(list) = container.downcast_ref::<PyList>() {
            list.borrow_vec().first().map(|o| (o.clone(), Source::Index(source.clone(), 0)))
        } else if let Some(tuple) = container.downcast_ref::<PyTuple>() {
            tuple.as_slice().first().map(|o| (o.clone(), Source::Index(source.clone(), 0)))
        } else {
            let entry = container.downcast_ref::<PyDict>().and_then(|dict| dict.into_iter().next());
            entry.map(|(key, o)| (o, Source::Key(source.clone(), key)))
        };
        if let Some((o, source)) = first {
            self.realize_tensor(&Seen::Known(vec![(o, Some(Rc::new(source)))]));
        }
    }

    /// A value is compared by identity: a tensor becomes an input there.
    pub(super) fn realize_tensor(&mut self, seen: &Seen) {
        if let Seen::Known(all) = seen
            && let [(o, Some(source))] = all.as_slice()
            && is_tensor(o)
        {
            self.realized.push((source.clone(), self.way.as_slice().into()));
        }
    }

    /// The one constant that a value is.
    pub(super) fn known_constant(&self, seen: &Seen) -> Option<PyObjectRef> {
        match seen {
            Seen::Computed(value, _) => Some(value.clone()),
            Seen::Known(all) => match all.as_slice() {
                [(o, _)] if is_constant(o, self.vm) => Some(o.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn truth(&self, seen: &Seen) -> Option<bool> {
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
            Seen::Computed(value, _) => value.clone().try_to_bool(self.vm).ok(),
            Seen::Method(..) => Some(true),
            Seen::Items(items) => Some(!items.is_empty()),
            _ => None,
        }
    }

    /// An attribute of a value.
    pub(super) fn attribute(&mut self, seen: &Seen, name: &str) -> Seen {
        if let Seen::Keywords(_) = seen {
            let method = self.vm.ctx.types.dict_type.get_attr(self.vm.ctx.intern_str(name));
            return method.map_or(Seen::Unknown, |method| Seen::Method(method, Box::new(seen.clone())));
        }
        match seen {
            Seen::Items(_) => return Seen::BuiltinMethod,
            Seen::Tensor => return self.attribute_of_tensor(name),
            _ => {}
        }
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

    /// Whether a value has an attribute, where no method of the script's says so: from then on it is a fact, if it `is_asked` or if the value
    /// has none.
    pub(super) fn has_attribute(&mut self, seen: &Seen, name: &str, is_asked: bool) -> Option<bool> {
        let Seen::Known(all) = seen else { return None };
        let [(o, Some(source))] = all.as_slice() else { return None };
        let (o, source) = (o.clone(), source.clone());
        if is_tensor(&o) || own_accessor(&o, "__getattr__", self.vm).is_some() || self.stored.contains_key(&(o.get_id(), name.to_owned())) {
            return None;
        }
        let has = has_attribute(&o, name, self.vm);
        if is_asked || !has {
            self.realize_one(&o, &source);
            self.note(&source, Kind::HasAttr(name.into(), has, None), None);
        }
        Some(has)
    }

    /// Of a tensor's attributes it matters which are methods.
    fn attribute_of_tensor(&self, name: &str) -> Seen {
        let found = TensorBase::static_type().get_attr(self.vm.ctx.intern_str(name));
        let is_method = found.is_some_and(|f| f.is_callable() && !f.class().is(self.vm.ctx.types.type_type));
        if is_method { Seen::TensorMethod(name.into()) } else { Seen::Unknown }
    }

    fn attribute_of(&mut self, o: &PyObjectRef, source: Option<&Rc<Source>>, name: &str) -> Seen {
        let vm = self.vm;
        if let Some(stored) = self.stored.get(&(o.get_id(), name.to_owned())) {
            return stored.clone();
        }
        if let Some(source) = source {
            self.found.entry(o.get_id()).or_insert_with(|| (o.clone(), source.clone()));
        }
        if is_tensor(o) {
            if let Some(source) = source.filter(|_| self.tells) {
                self.realize_one(o, source);
            }
            let source_of = source.filter(|_| own_method(o, "__tensor_flatten__", vm).is_none());
            let grad = source.filter(|_| self.reads_gradients && name == "grad").and_then(|source| Some((gradient(o, vm)?, source)));
            let source = |source: &Rc<Source>| Some(Rc::new(Source::Attr(source.clone(), name.into())));
            // What the script has put there; a wrapper's own attributes are guarded with its metadata.
            if let (Some(own), Some(of)) = (own_attribute(o, name, vm).filter(|own| !is_tensor(own)), source_of) {
                return Seen::Known(vec![(own, source(of))]);
            }
            return grad.map_or_else(|| self.attribute_of_tensor(name), |(grad, of)| Seen::Known(vec![(grad, source(of))]));
        }
        let attr = |s: &Rc<Source>| Rc::new(Source::Attr(s.clone(), name.into()));
        if is_module(o, vm) {
            if let Some(source) = source {
                self.note(source, Kind::Type(o.class().to_owned().into()), None);
            }
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
        if let Some(field) = field(o, name, vm) {
            let place = source.map(attr);
            // A tensor that a named tuple holds is realized where it is asked for.
            if let Some(place) = place.as_ref().filter(|_| is_tensor(&field)) {
                self.realize_one(&field, place);
            }
            return Seen::Known(vec![(field, place)]);
        }
        if let Some(own) = own_attribute(o, name, vm) {
            let is_python_module = o.class().name().to_string() == "module";
            if let Some(source) = source.filter(|_| is_python_module) {
                self.realize_one(o, source);
            }
            // The library's modules hardly ever change.
            let counts = self.tells || !is_python_module || is_beside(o, vm);
            return Seen::Known(vec![(own, source.filter(|_| counts).map(attr))]);
        }
        let class = if let Some(class) = o.downcast_ref::<PyType>() { class.to_owned() } else { o.class().to_owned() };
        if let Some(source) = source.filter(|_| self.tells && o.class().is(vm.ctx.types.module_type)) {
            // A module may make its names when they are asked for.
            self.realize_one(o, source);
            let found = o.get_attr(vm.ctx.intern_str(name), vm).ok();
            return found.map_or(Seen::Unknown, |found| Seen::Known(vec![(found, Some(attr(source)))]));
        }
        let Some(inherited) = class.get_attr(vm.ctx.intern_str(name)) else {
            let Some(asked) = own_accessor(o, "__getattr__", vm) else { return Seen::Unknown };
            let own = Seen::Known(vec![(o.clone(), source.cloned())]);
            return self.call(&Seen::Method(asked, Box::new(own)), vec![constant(vm.ctx.new_str(name).into())], Vec::new(), 1);
        };
        let place = source.filter(|_| o.downcast_ref::<PyType>().is_none()).and_then(|source| self.inherited(o, source, name));
        if inherited.downcast_ref::<PyFunction>().is_some() {
            if o.downcast_ref::<PyType>().is_some() {
                return constant(inherited);
            }
            if let Some(place) = place {
                self.methods.insert(inherited.get_id(), place);
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
            "method_descriptor" if o.downcast_ref::<PyDict>().is_some() => {
                Seen::Method(inherited, Box::new(Seen::Known(vec![(o.clone(), source.cloned())])))
            }
            "method_descriptor" => Seen::BuiltinMethod,
            _ if is_constant(&inherited, vm) => Seen::Known(vec![(inherited, place.or_else(|| source.map(attr)))]),
            "list" | "tuple" | "dict" => {
                let of_class = source.filter(|_| o.downcast_ref::<PyType>().is_some_and(|class| !is_library(class, vm)));
                Seen::Known(vec![(inherited, place.or_else(|| of_class.map(attr)))])
            }
            _ if is_enum(&inherited, vm) => constant(inherited),
            _ => Seen::Unknown,
        }
    }

    /// An attribute that an object has from a class of the script's: where it is found. That neither the object nor a class before that one
    /// has it is a fact.
    fn inherited(&mut self, o: &PyObjectRef, source: &Rc<Source>, name: &str) -> Option<Rc<Source>> {
        let vm = self.vm;
        let (index, _) = class_with(o.class(), name, vm).filter(|(_, class)| !is_library(class, vm))?;
        let dict = |index: usize| Rc::new(Source::ClassDict(source.clone(), index));
        let key: PyObjectRef = vm.ctx.new_str(name).into();
        if o.dict().is_some() {
            self.note(&Rc::new(Source::Attr(source.clone(), "__dict__".into())), Kind::Contains(key.clone(), false), None);
        }
        for before in 0..index {
            self.note(&dict(before), Kind::Contains(key.clone(), false), None);
        }
        Some(Rc::new(Source::Key(dict(index), key)))
    }

    /// What a loop over a value goes through.
    pub(super) fn elements(&mut self, seen: &Seen) -> Seen {
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
                    } else if let Some(items) = deque(o, vm) {
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
                        return Seen::Each(Box::new(self.entries(o, source.as_ref()).0));
                    } else {
                        return Seen::Each(Box::new(Seen::Unknown));
                    }
                }
                Seen::Each(Box::new(if found.is_empty() || found.len() > 256 { Seen::Unknown } else { Seen::Known(found) }))
            }
            _ => Seen::Each(Box::new(Seen::Unknown)),
        }
    }

    /// All keys of a dictionary matter; gives them, and its values.
    pub(super) fn entries(&mut self, o: &PyObjectRef, source: Option<&Rc<Source>>) -> (Seen, Seen) {
        let (Some(dict), Some(source)) = (o.downcast_ref::<PyDict>(), source) else { return (Seen::Unknown, Seen::Unknown) };
        self.note(source, Kind::Entries(dict.__len__()), None);
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (i, (key, value)) in dict.into_iter().enumerate().take(64) {
            self.note(source, Kind::KeyAt(i, key.clone()), None);
            keys.push((key.clone(), None));
            let place = if is_known_dict(o) { Source::Key(source.clone(), key) } else { Source::Entry(source.clone(), i) };
            values.push((value, Some(Rc::new(place))));
        }
        if values.is_empty() { (Seen::Unknown, Seen::Unknown) } else { (Seen::Known(keys), Seen::Known(values)) }
    }

    /// A key of a dictionary is asked for: whether it is there matters. Gives its value, if it is.
    pub(super) fn asked_for(&mut self, o: &PyObjectRef, source: &Rc<Source>, key: &PyObjectRef) -> Option<Seen> {
        let found = entry(o.downcast_ref::<PyDict>()?, key, self.vm);
        if !is_known_dict(o) {
            self.realize_one(o, source);
            let (index, value) = found?;
            return Some(Seen::Known(vec![(value, Some(Rc::new(Source::Entry(source.clone(), index))))]));
        }
        // One that is there is found out by its value.
        if found.is_none() {
            self.note(source, Kind::Contains(key.clone(), false), None);
        }
        Some(Seen::Known(vec![(found?.1, Some(Rc::new(Source::Key(source.clone(), key.clone()))))]))
    }

    /// `container[key]`
    pub(super) fn item(&mut self, container: &Seen, key: &Seen) -> Seen {
        self.realize(key);
        let vm = self.vm;
        if let Seen::Known(all) = container
            && let [(object, _)] = all.as_slice()
            && !is_module(object, vm)
            && let Some(method) = own_method(object, "__getitem__", vm)
        {
            self.realize(container);
            return self.call(&Seen::Method(method, Box::new(container.clone())), vec![key.clone()], Vec::new(), 1);
        }
        let at = self.known_constant(key);
        if let Seen::Items(items) = container {
            let index = at.and_then(|o| o.downcast_ref::<PyInt>().and_then(|i| i.try_to_primitive::<i64>(vm).ok()));
            let index = index.map(|i| if i < 0 { i + items.len() as i64 } else { i });
            return index.and_then(|i| items.get(usize::try_from(i).ok()?).cloned()).unwrap_or(Seen::Unknown);
        }
        if let Seen::Keywords(known) = container {
            let found = string(at.as_ref()).and_then(|name| known.iter().find(|(k, _)| *k == name));
            return found.map_or(Seen::Unknown, |(_, value)| value.clone());
        }
        self.realize(container);
        let Seen::Known(all) = container else { return Seen::Unknown };
        let keys: Vec<PyObjectRef> = match (at, key) {
            (Some(key), _) => vec![key],
            (None, Seen::Known(keys)) if keys.iter().all(|(k, _)| is_constant(k, vm)) => keys.iter().map(|(k, _)| k.clone()).collect(),
            _ => return Seen::Unknown,
        };
        let mut found = Vec::new();
        for (o, source, key) in all.iter().flat_map(|(o, source)| keys.iter().map(|k| (o.clone(), source.clone(), k.clone()))) {
            if let Some(dict) = o.downcast_ref::<PyDict>() {
                let Some((index, value)) = entry(dict, &key, vm) else {
                    // What the class makes of a key that is not there depends on all of them.
                    if &*o.class().name() == "defaultdict" {
                        self.written_to(&Seen::Known(vec![(o.clone(), source)]));
                    } else if let Some(source) = source.filter(|_| is_known_dict(&o)) {
                        self.note(&source, Kind::Contains(key, false), None);
                    }
                    return Seen::Unknown;
                };
                let place = |s| if is_known_dict(&o) { Source::Key(s, key.clone()) } else { Source::Entry(s, index) };
                found.push((value, source.map(|s| Rc::new(place(s)))));
                continue;
            }
            if let Some(name) = string(Some(&key))
                && is_module(&o, vm)
                && let Some(sub) = submodule(&o, &name, vm)
            {
                found.push((sub, source.map(|s| Rc::new(Source::Module(s, name.as_str().into())))));
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
                _ => match deque(&o, vm) {
                    Some(items) => items,
                    None => return Seen::Unknown,
                },
            };
            let index = if index < 0 { index + items.len() as i64 } else { index };
            let Some(i) = usize::try_from(index).ok().filter(|i| *i < items.len()) else { return Seen::Unknown };
            found.push((items[i].clone(), source.map(|s| Rc::new(Source::Index(s, i)))));
        }
        if found.is_empty() { Seen::Unknown } else { Seen::Known(found) }
    }

    /// `container[start:stop]` of modules in a list, of a list or of a tuple.
    pub(super) fn slice(&mut self, container: &Seen, start: &Seen, stop: &Seen) -> Seen {
        self.realize(start);
        self.realize(stop);
        let vm = self.vm;
        let bound = |seen: &Seen| {
            let value = self.known_constant(seen)?;
            if vm.is_none(&value) { Some(None) } else { Some(Some(value.downcast_ref::<PyInt>()?.try_to_primitive::<i64>(vm).ok()?)) }
        };
        let (Some(start), Some(stop)) = (bound(start), bound(stop)) else {
            self.realize(container);
            return Seen::Unknown;
        };
        let items = match (container, self.elements(container)) {
            (Seen::Items(items), _) => items.clone(),
            (Seen::Known(all), Seen::Each(each)) if all.len() == 1 => match *each {
                Seen::Known(found) => found.into_iter().map(|one| Seen::Known(vec![one])).collect(),
                _ => return Seen::Unknown,
            },
            _ => return Seen::Unknown,
        };
        let count = items.len() as i64;
        let within = |i: i64| if i < 0 { (i + count).max(0) } else { i.min(count) } as usize;
        let (start, stop) = (start.map_or(0, within), stop.map_or(items.len(), within));
        Seen::Items(items.get(start..stop.max(start)).map(<[Seen]>::to_vec).unwrap_or_default())
    }

    /// The elements of a list or tuple that is known: what `*args` gives.
    pub(super) fn parts(&mut self, seen: &Seen) -> Vec<Seen> {
        let Seen::Known(all) = seen else { return Vec::new() };
        let [(o, _)] = all.as_slice() else { return Vec::new() };
        let (tuple, list) = (o.downcast_ref::<PyTuple>(), o.downcast_ref::<PyList>());
        let count = tuple.map(|t| t.as_slice().len()).or_else(|| list.map(|l| l.borrow_vec().len())).unwrap_or(0);
        (0..count).map(|i| self.item(seen, &constant(self.vm.ctx.new_int(i).into()))).collect()
    }

    /// The entries of a dictionary that is known: what `**kwargs` gives.
    pub(super) fn keywords(&mut self, seen: &Seen) -> Vec<(String, Seen)> {
        let all = match seen {
            Seen::Keywords(known) => return known.clone(),
            Seen::Known(all) => all,
            _ => return Vec::new(),
        };
        let [(o, _)] = all.as_slice() else { return Vec::new() };
        let Some(dict) = o.downcast_ref::<PyDict>() else { return Vec::new() };
        let names: Vec<PyObjectRef> = dict.into_iter().map(|(k, _)| k).collect();
        let named = |k: PyObjectRef| Some((string(Some(&k))?, self.item(seen, &constant(k))));
        names.into_iter().filter_map(named).collect()
    }
}

/// The text of a Python string.
pub(super) fn string(o: Option<&PyObjectRef>) -> Option<String> {
    Some(o?.downcast_ref::<PyStr>()?.to_string_lossy().into_owned())
}
