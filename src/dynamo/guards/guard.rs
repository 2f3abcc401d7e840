//! Facts about Python values that a compiled graph is guarded on: the value's source, what must hold of it there, and how
//! a guard says it.

use std::rc::Rc;

use rustpython_vm::builtins::{PyDict, PyFloat, PyFunction, PyList, PyStr, PyTuple, PyType};
use rustpython_vm::class::StaticType;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, VirtualMachine};

use crate::dynamo::source::{Locals, Source, count, has_attribute, item};
use crate::dynamo::variables::nn_module::is_at_home;
use crate::dynamo::{Holder, Unmet, strip_locals};
use crate::python::native::tensor::TensorBase;
use crate::span;

/// What must hold of a value.
#[derive(Clone, Debug)]
pub enum Kind {
    /// It is a number, a string, or another constant equal to this.
    Equals(PyObjectRef),
    /// It is this very object.
    Is(PyObjectRef),
    /// It is of this type.
    Type(PyObjectRef),
    /// It has this many elements.
    Length(usize),
    /// A dictionary has this many entries.
    Entries(usize),
    /// An iterator of a tuple has this many elements left.
    Remaining(usize),
    /// The key of a dictionary at a position is this one.
    KeyAt(usize, PyObjectRef),
    /// A dictionary has this key, wherever.
    Key(PyObjectRef),
    /// A dictionary was asked for this key, and has it, or has it not.
    Contains(PyObjectRef, bool),
    /// It has, or has not, an attribute of this name; where its class looks for such in a dictionary, that dictionary's place.
    HasAttr(Rc<str>, bool, Option<Rc<Source>>),
    /// It is the object that is found there.
    Same(Rc<Source>),
    /// A float that is a symbol is not NaN: no symbol stands for that.
    NotNan,
    /// It is an object that lives for one call: what was compiled with it is never used again.
    Temporary,
}

/// A fact, and the line that read it.
#[derive(Clone, Debug)]
pub struct Fact {
    /// Where the value is found.
    pub source: Rc<Source>,
    /// What must hold.
    pub kind: Kind,
    /// The script's line.
    pub place: Option<span::Source>,
    /// Advice that PyTorch adds.
    pub hint: Option<&'static str>,
    /// Where in the function's own code it is read, and whether by something that is called there. None for what is no read.
    pub read: Option<(usize, bool)>,
}

/// What PyTorch says of integers that modules hold.
pub const MODULE_INTEGER: &str = "torch.compile considers integer attributes of the nn.Module to be static. If you are observing recompilation, you might want to make this integer dynamic using torch._dynamo.config.allow_unspec_int_on_nn_module = True, or convert this integer into a tensor.";

const BUILTIN: &str = "<class 'builtin_function_or_method'>";

/// Whether a value is a number, a string or None: such one can be kept without keeping anything alive.
fn is_constant(o: &PyObject, vm: &VirtualMachine) -> bool {
    let types = &vm.ctx.types;
    vm.is_none(o) || [types.bool_type, types.int_type, types.float_type, types.str_type].iter().any(|t| o.class().is(*t))
}

/// A constant that a fact asks for, as Python writes it.
pub(super) fn constant(fact: &Fact, vm: &VirtualMachine) -> Option<String> {
    match &fact.kind {
        Kind::Equals(value) if is_constant(value, vm) => Some(repr(value, vm)),
        _ => None,
    }
}

pub(super) fn repr(o: &PyObject, vm: &VirtualMachine) -> String {
    o.repr(vm).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

fn length(o: &PyObject, vm: &VirtualMachine) -> Option<usize> {
    match (o.downcast_ref::<PyTuple>(), o.downcast_ref::<PyList>(), o.downcast_ref::<PyDict>()) {
        (Some(t), ..) => Some(t.as_slice().len()),
        (_, Some(l), _) => Some(l.borrow_vec().len()),
        (.., Some(d)) => Some(d.__len__()),
        _ => count(o, vm),
    }
}

fn is_nan(o: &PyObject) -> bool {
    o.downcast_ref::<PyFloat>().is_some_and(|f| f.to_f64().is_nan())
}

/// Whether two constants are the same: of one type, and equal. NaN is a constant like others.
fn same(a: &PyObject, b: &PyObject, vm: &VirtualMachine) -> bool {
    a.is(b) || (a.class().is(b.class()) && (vm.bool_eq(a, b).unwrap_or(false) || is_nan(a) && is_nan(b)))
}

/// Whether two functions run the same code: one that is made anew on every call does.
fn same_code(a: &PyObject, b: &PyObject, vm: &VirtualMachine) -> bool {
    let code = |o: &PyObject| o.downcast_ref::<PyFunction>()?.as_object().get_attr("__code__", vm).ok();
    code(a).zip(code(b)).is_some_and(|(a, b)| a.is(&b))
}

impl Kind {
    /// Whether a value of which the other one holds tells that this one does, or does not.
    pub(super) fn is_told_by(&self, other: &Kind, vm: &VirtualMachine) -> bool {
        match (self, other) {
            (Kind::Contains(a, _), Kind::Contains(b, _)) => same(a, b, vm),
            (Kind::Key(a), Kind::Key(b)) => same(a, b, vm),
            (Kind::KeyAt(i, _), Kind::KeyAt(j, _)) => i == j,
            (Kind::HasAttr(a, ..), Kind::HasAttr(b, ..)) => a == b,
            (Kind::Type(_), Kind::Equals(_)) => true,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// Whether the other one says the same.
    pub(super) fn says(&self, other: &Kind, vm: &VirtualMachine) -> bool {
        match (self, other) {
            (Kind::Equals(a), Kind::Equals(b)) => same(a, b, vm),
            (Kind::Is(a), Kind::Is(b)) => a.is(b) || same_code(a, b, vm),
            (Kind::Type(a), Kind::Type(b)) => a.is(b),
            (Kind::Type(class), Kind::Equals(value)) => value.class().as_object().is(class),
            (Kind::Length(a), Kind::Length(b)) | (Kind::Entries(a), Kind::Entries(b)) | (Kind::Remaining(a), Kind::Remaining(b)) => a == b,
            (Kind::Key(a), Kind::Key(b)) => same(a, b, vm),
            (Kind::KeyAt(i, a), Kind::KeyAt(j, b)) => i == j && same(a, b, vm),
            (Kind::Contains(a, has), Kind::Contains(b, had)) => has == had && same(a, b, vm),
            (Kind::HasAttr(a, has, _), Kind::HasAttr(b, had, _)) => a == b && has == had,
            (Kind::Same(a), Kind::Same(b)) => a.text(vm) == b.text(vm),
            _ => false,
        }
    }
}

impl Fact {
    /// Whether it holds.
    pub fn holds(&self, locals: &Locals, vm: &VirtualMachine) -> bool {
        let Some(value) = self.source.value(locals, vm) else { return false };
        match &self.kind {
            Kind::Equals(want) => same(&value, want, vm),
            Kind::Is(want) => value.is(want) || same_code(&value, want, vm),
            Kind::Type(class) => value.class().as_object().is(class),
            Kind::Length(n) | Kind::Entries(n) => length(&value, vm) == Some(*n),
            Kind::Remaining(n) => value.length_hint(0, vm).is_ok_and(|left| left == *n),
            Kind::KeyAt(index, key) => {
                value.downcast_ref::<PyDict>().and_then(|d| d.into_iter().nth(*index)).is_some_and(|(k, _)| same(&k, key, vm))
            }
            Kind::Key(key) => item(&value, key, vm).is_some(),
            Kind::Contains(key, has) => {
                let is_dict = value.downcast_ref::<PyDict>().is_some() || value.downcast_ref::<PyType>().is_some();
                is_dict && item(&value, key, vm).is_some() == *has
            }
            Kind::HasAttr(name, has, found) => {
                let key = || vm.ctx.new_str(&**name);
                let held = || found.as_ref().and_then(|of| item(&*of.value(locals, vm)?, key().as_object(), vm));
                (has_attribute(&value, name, vm) || held().is_some()) == *has
            }
            Kind::Same(other) => other.value(locals, vm).is_some_and(|o| o.is(&value)),
            Kind::NotNan => !is_nan(&value),
            Kind::Temporary => false,
        }
    }

    /// What kind of module it says its value is.
    pub fn holder(&self, vm: &VirtualMachine) -> Option<Holder> {
        let Kind::Type(class) = &self.kind else { return None };
        let class = class.downcast_ref::<PyType>()?;
        class.get_attr(vm.ctx.intern_str("register_forward_pre_hook"))?;
        Some(if is_at_home(class.as_object(), "torch.nn.", vm) { Holder::Library } else { Holder::Own })
    }

    /// As a guard says it.
    pub fn text(&self, vm: &VirtualMachine) -> String {
        let source = self.source.text(vm);
        let class = |o: &PyObject| {
            let text = |name: &str| o.class().as_object().get_attr(vm.ctx.intern_str(name), vm).ok()?.str(vm).ok().map(|s| s.to_string());
            match (text("__module__"), text("__qualname__")) {
                // A function of torch is one of C's there.
                (Some(module), Some(name)) if module == "torch._ops" && name == "OpOverloadPacket" => BUILTIN.to_owned(),
                (Some(module), Some(name)) if module != "builtins" => format!("<class '{module}.{name}'>"),
                (_, name) => format!("<class '{}'>", name.unwrap_or_default()),
            }
        };
        match &self.kind {
            Kind::Equals(want) if vm.is_none(want) => format!("{source} is None"),
            Kind::Equals(want) if is_nan(want) => format!("(type({source}) is float and __math_isnan({source}))"),
            Kind::Equals(want) => format!("{source} == {}", repr(want, vm)),
            Kind::Is(want) => match want.downcast_ref::<PyFunction>() {
                Some(_) => format!("___check_obj_id({source}.__code__, ID), type=<class 'code'>"),
                None => format!("___check_obj_id({source}, ID), type={}", class(want)),
            },
            Kind::Type(want) => format!("___check_type_id({source}, ID), type={}", repr(want, vm)),
            Kind::Length(0) => format!("not {source}"),
            Kind::Length(n) => format!("len({source}) == {n}"),
            Kind::Entries(n) => format!("len({source}) != {n}"),
            Kind::Remaining(n) => format!("___tuple_iterator_len({source}) == {n}"),
            Kind::KeyAt(index, key) => format!("list(dict.keys({source}))[{index}] == {}", repr(key, vm)),
            Kind::Key(key) => format!("{source}[{}]", repr(key, vm)),
            Kind::Contains(key, has) => format!("{}___dict_contains({}, {source})", if *has { "" } else { "not " }, repr(key, vm)),
            Kind::HasAttr(name, has, _) => format!("{}hasattr({source}, '{name}')", if *has { "" } else { "not " }),
            Kind::Same(other) => format!("{} is {source}", other.text(vm)),
            Kind::NotNan => {
                format!("not math.isnan({source})  # implicit guard for float input due to NaN specialization in the framework")
            }
            Kind::Temporary => format!("___check_obj_id({source}, ID), type={BUILTIN}"),
        }
    }

    fn advice(&self, vm: &VirtualMachine) -> String {
        let name = |s: String| strip_locals(&s);
        match (&self.kind, self.hint) {
            (_, Some(hint)) => format!(" (HINT: {hint})"),
            (Kind::Type(class), _) => {
                let class =
                    class.get_attr("__name__", vm).ok().and_then(|o| o.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned()));
                format!(" (HINT: type {})", class.unwrap_or_default())
            }
            // What objects and classes have is no dictionary of the script's.
            (Kind::Contains(..), _) if self.source.is_of_attributes() => String::new(),
            (Kind::Contains(key, has), _) => {
                let (must, found) = if *has { ("must", "present") } else { ("must not", "absent") };
                let (d, k) = (name(self.source.text(vm)), repr(key, vm));
                format!(" (HINT: Dictionary {d} {must} contain key {k}; Dynamo specialized the compiled code on this key being {found}.)")
            }
            _ => String::new(),
        }
    }

    /// In the words of `TORCH_LOGS=recompiles`, where it does not hold.
    pub fn failure(&self, locals: &Locals, vm: &VirtualMachine) -> String {
        if matches!(self.kind, Kind::Temporary) {
            return format!("Cache line invalidated because {} got deallocated", self.source.text(vm));
        }
        if let (Source::Key(base, key), None) = (&*self.source, self.source.value(locals, vm))
            && base.value(locals, vm).is_some()
        {
            return format!("KeyError on {}[{}]", strip_locals(&base.text(vm)), repr(key, vm));
        }
        if let (Kind::Key(_), Some(_)) = (&self.kind, self.source.value(locals, vm)) {
            return format!("KeyError on {}", strip_locals(&self.text(vm)));
        }
        if let (Source::Module(base, name), None) = (&*self.source, self.source.value(locals, vm))
            && base.value(locals, vm).is_some()
        {
            return format!("KeyError on {}._modules['{name}']", strip_locals(&base.text(vm)));
        }
        let text = strip_locals(&self.text(vm));
        if let (Kind::Is(want), Some(found)) = (&self.kind, self.source.value(locals, vm))
            && want.downcast_ref::<PyFunction>().is_some()
            && found.downcast_ref::<PyFunction>().is_none()
        {
            return format!("CodeGuardAccessor: Not a function on {}.__code__", strip_locals(&self.source.text(vm)));
        }
        let held = match &*self.source {
            Source::Numpy(held) => held,
            _ => &self.source,
        };
        if let (Kind::Type(class), Some(found)) = (&self.kind, held.value(locals, vm))
            && class.downcast_ref::<PyType>().is_some_and(|c| c.fast_issubclass(TensorBase::static_type()))
        {
            let (source, wanted, found) = (strip_locals(&self.source.text(vm)), repr(class, vm), repr(found.class().as_object(), vm));
            return format!("expected type of '{source}' to be {wanted}, but found {found}");
        }
        match (&self.kind, &self.place) {
            (Kind::Entries(_), _) => text,
            (_, None) => text + &self.advice(vm),
            (_, Some(p)) => format!("{text:<60}  # {}  # {}:{} in {}{}", p.code, p.file, p.line(), p.function, self.advice(vm)),
        }
    }

    /// That a call does not meet it.
    fn unmet(&self, locals: &Locals, vm: &VirtualMachine) -> Unmet {
        Unmet {
            root: self.source.root(),
            source: self.source.text(vm),
            text: self.failure(locals, vm),
            found: if matches!(self.kind, Kind::Equals(_)) { self.source.value(locals, vm).filter(|o| is_constant(o, vm)) } else { None },
            invalidates: matches!(self.kind, Kind::Temporary),
            alias_of: if let Kind::Same(other) = &self.kind { Some(other.text(vm)) } else { None },
        }
    }
}

/// The facts of a list that do not hold.
pub fn unmet(facts: &[Fact], locals: &Locals, vm: &VirtualMachine) -> Vec<Unmet> {
    let has_keys = |fact: &Fact| {
        let source = fact.source.text(vm);
        facts.iter().any(|f| matches!(f.kind, Kind::Entries(_)) && f.source.text(vm) == source)
    };
    let one = |fact: &Fact| match &fact.kind {
        // Where all of a dictionary's keys are guarded, they are checked before anything else.
        Kind::Type(_) if has_keys(fact) => {
            Unmet { text: format!("TYPE_MISMATCH({})", strip_locals(&fact.source.text(vm))), ..fact.unmet(locals, vm) }
        }
        _ => fact.unmet(locals, vm),
    };
    facts.iter().filter(|f| !f.holds(locals, vm)).map(one).chain(duplicates(facts, locals, vm)).collect()
}

/// Tensors that are one now, and were not.
fn duplicates(facts: &[Fact], locals: &Locals, vm: &VirtualMachine) -> Option<Unmet> {
    let mut tensors: Vec<(PyObjectRef, Vec<&Fact>)> = Vec::new();
    for fact in facts {
        // Parameters are not compared.
        let Kind::Type(class) = &fact.kind else { continue };
        let is_tensor =
            class.downcast_ref::<PyType>().is_some_and(|c| c.fast_issubclass(TensorBase::static_type()) && &*c.name() != "Parameter");
        let Some(value) = is_tensor.then(|| fact.source.value(locals, vm)).flatten() else { continue };
        match tensors.iter_mut().find(|(known, _)| known.is(&value)) {
            Some((_, same)) => same.push(fact),
            None => tensors.push((value, vec![fact])),
        }
    }
    let groups: Vec<&Vec<&Fact>> = tensors.iter().map(|(_, same)| same).filter(|same| same.len() > 1).collect();
    let second = groups.iter().filter_map(|same| same.get(1)).next()?;
    let names = |same: &Vec<&Fact>| {
        let names: Vec<String> = same.iter().map(|f| format!("\"{}\"", strip_locals(&f.source.text(vm)))).collect();
        format!("[{}]", names.join(", "))
    };
    let groups: Vec<String> = groups.into_iter().map(names).collect();
    Some(Unmet {
        root: second.source.root(),
        source: second.source.text(vm),
        text: format!("Duplicate tensors found: {}", groups.join(", ")),
        found: None,
        invalidates: false,
        alias_of: None,
    })
}

/// The facts of a list that differ from what others say of the same values. Values that those say nothing of are not compared.
pub fn differing(facts: &[Fact], others: &[Fact], locals: &Locals, vm: &VirtualMachine) -> Vec<Unmet> {
    let differs = |fact: &&Fact| {
        let source = fact.source.text(vm);
        let mut same = others.iter().filter(|o| o.source.text(vm) == source).peekable();
        same.peek().is_some() && !same.any(|o| fact.kind.says(&o.kind, vm))
    };
    facts.iter().filter(differs).map(|f| f.unmet(locals, vm)).collect()
}
