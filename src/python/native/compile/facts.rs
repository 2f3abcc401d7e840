//! Facts about Python values that a compiled region depends on: where the value is found, what must hold of it there, and how
//! a guard says it.

use std::rc::Rc;

use rustpython_vm::builtins::{PyDict, PyDictRef, PyFunction, PyList, PyStr, PyTuple};
use rustpython_vm::{AsObject, PyObject, PyObjectRef, VirtualMachine};

use crate::capture::{Unmet, strip_locals};
use crate::span;

/// The Python values that a call starts from: arguments by name, and what the function closes over.
pub type Locals = Vec<(Rc<str>, PyObjectRef)>;

/// Where a Python value is found.
#[derive(Clone, Debug)]
pub enum Source {
    /// An argument, or a variable of an enclosing function: `L['n']`.
    Local(Rc<str>),
    /// A global of the function's: `G['scale']`.
    Global(PyDictRef, Rc<str>),
    /// An attribute: `L['self'].gain`.
    Attr(Rc<Source>, Rc<str>),
    /// A submodule: `L['self']._modules['drop']`.
    Module(Rc<Source>, Rc<str>),
    /// An element of a list or tuple.
    Index(Rc<Source>, usize),
    /// A value of a dictionary.
    Key(Rc<Source>, PyObjectRef),
    /// What a function closes over, by position.
    Cell(Rc<Source>, usize),
}

/// An attribute that an object has itself.
pub fn own_attribute(o: &PyObject, name: &str, vm: &VirtualMachine) -> Option<PyObjectRef> {
    o.dict()?.get_item_opt(name, vm).ok().flatten()
}

/// A module's own submodule.
pub fn submodule(o: &PyObject, name: &str, vm: &VirtualMachine) -> Option<PyObjectRef> {
    let modules = own_attribute(o, "_modules", vm)?;
    modules.downcast_ref::<PyDict>()?.get_item_opt(name, vm).ok().flatten()
}

/// The value of a function's cell.
pub fn cell(o: &PyObject, index: usize, vm: &VirtualMachine) -> Option<PyObjectRef> {
    let cells = o.downcast_ref::<PyFunction>()?.as_object().get_attr("__closure__", vm).ok()?;
    cells.downcast_ref::<PyTuple>()?.as_slice().get(index)?.get_attr("cell_contents", vm).ok()
}

fn element(o: &PyObject, index: usize) -> Option<PyObjectRef> {
    match o.downcast_ref::<PyTuple>() {
        Some(items) => items.as_slice().get(index).cloned(),
        None => o.downcast_ref::<PyList>()?.borrow_vec().get(index).cloned(),
    }
}

impl Source {
    /// The value that is there now.
    pub fn value(&self, locals: &Locals, vm: &VirtualMachine) -> Option<PyObjectRef> {
        match self {
            Source::Local(name) => locals.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone()),
            Source::Global(globals, name) => globals.get_item_opt(&**name, vm).ok().flatten(),
            Source::Attr(base, name) => {
                let base = base.value(locals, vm)?;
                own_attribute(&base, name, vm).or_else(|| base.class().get_attr(vm.ctx.intern_str(&**name)))
            }
            Source::Module(base, name) => submodule(&*base.value(locals, vm)?, name, vm),
            Source::Index(base, index) => element(&*base.value(locals, vm)?, *index),
            Source::Key(base, key) => base.value(locals, vm)?.downcast_ref::<PyDict>()?.get_item_opt(&**key, vm).ok().flatten(),
            Source::Cell(base, index) => cell(&*base.value(locals, vm)?, *index, vm),
        }
    }

    /// As a guard writes it: `L['self']._modules['drop'].training`.
    pub fn text(&self, vm: &VirtualMachine) -> String {
        match self {
            Source::Local(name) => format!("L['{name}']"),
            Source::Global(_, name) => format!("G['{name}']"),
            Source::Attr(base, name) => format!("{}.{name}", base.text(vm)),
            Source::Module(base, name) => format!("{}._modules['{name}']", base.text(vm)),
            Source::Index(base, index) => format!("{}[{index}]", base.text(vm)),
            Source::Key(base, key) => format!("{}[{}]", base.text(vm), repr(key, vm)),
            Source::Cell(base, index) => format!("{}.__closure__[{index}].cell_contents", base.text(vm)),
        }
    }

    /// What it starts from, by the name that orders guards.
    pub fn root(&self) -> (bool, Rc<str>) {
        match self {
            Source::Local(name) => (false, name.clone()),
            Source::Global(_, name) => (true, name.clone()),
            Source::Attr(base, _) | Source::Module(base, _) | Source::Index(base, _) | Source::Key(base, _) | Source::Cell(base, _) => {
                base.root()
            }
        }
    }

    /// Whether it is an attribute of a module.
    pub fn is_in_module(&self, locals: &Locals, vm: &VirtualMachine) -> bool {
        let Source::Attr(base, _) = self else { return false };
        base.value(locals, vm).is_some_and(|o| own_attribute(&o, "_modules", vm).is_some())
    }

    /// Puts a value there. False where that cannot be done.
    pub fn set(&self, locals: &mut Locals, value: PyObjectRef, vm: &VirtualMachine) -> bool {
        match self {
            Source::Local(name) => locals.iter_mut().find(|(n, _)| n == name).map(|slot| slot.1 = value).is_some(),
            Source::Global(globals, name) => globals.set_item(&**name, value, vm).is_ok(),
            Source::Attr(base, name) => {
                let dict = base.value(locals, vm).and_then(|o| o.dict());
                dict.is_some_and(|d| d.set_item(&**name, value, vm).is_ok())
            }
            Source::Index(base, index) => base.value(locals, vm).is_some_and(|o| {
                let list = o.downcast_ref::<PyList>();
                list.is_some_and(|l| l.borrow_vec_mut().get_mut(*index).map(|slot| *slot = value).is_some())
            }),
            Source::Key(base, key) => base.value(locals, vm).is_some_and(|o| {
                let dict = o.downcast_ref::<PyDict>();
                dict.is_some_and(|d| d.set_item(&**key, value, vm).is_ok())
            }),
            Source::Module(..) | Source::Cell(..) => false,
        }
    }
}

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
    /// The key of a dictionary at a position is this one.
    KeyAt(usize, PyObjectRef),
    /// A dictionary has, or has not, this key.
    Contains(PyObjectRef, bool),
    /// It is the object that is found there.
    Same(Rc<Source>),
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
}

/// What PyTorch says of integers that modules hold.
pub const MODULE_INTEGER: &str = "torch.compile considers integer attributes of the nn.Module to be static. If you are observing recompilation, you might want to make this integer dynamic using torch._dynamo.config.allow_unspec_int_on_nn_module = True, or convert this integer into a tensor.";

fn repr(o: &PyObject, vm: &VirtualMachine) -> String {
    o.repr(vm).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

fn length(o: &PyObject) -> Option<usize> {
    match (o.downcast_ref::<PyTuple>(), o.downcast_ref::<PyList>(), o.downcast_ref::<PyDict>()) {
        (Some(t), ..) => Some(t.as_slice().len()),
        (_, Some(l), _) => Some(l.borrow_vec().len()),
        (.., Some(d)) => Some(d.__len__()),
        _ => None,
    }
}

/// Whether two constants are the same: of one type, and equal.
fn same(a: &PyObject, b: &PyObject, vm: &VirtualMachine) -> bool {
    a.is(b) || (a.class().is(b.class()) && vm.bool_eq(a, b).unwrap_or(false))
}

impl Fact {
    /// Whether it holds.
    pub fn holds(&self, locals: &Locals, vm: &VirtualMachine) -> bool {
        let Some(value) = self.source.value(locals, vm) else { return false };
        match &self.kind {
            Kind::Equals(want) => same(&value, want, vm),
            Kind::Is(want) => value.is(want),
            Kind::Type(class) => value.class().as_object().is(class),
            Kind::Length(n) | Kind::Entries(n) => length(&value) == Some(*n),
            Kind::KeyAt(index, key) => {
                value.downcast_ref::<PyDict>().and_then(|d| d.into_iter().nth(*index)).is_some_and(|(k, _)| same(&k, key, vm))
            }
            Kind::Contains(key, has) => {
                value.downcast_ref::<PyDict>().is_some_and(|d| d.get_item_opt(&**key, vm).ok().flatten().is_some() == *has)
            }
            Kind::Same(other) => other.value(locals, vm).is_some_and(|o| o.is(&value)),
        }
    }

    /// As a guard says it.
    pub fn text(&self, vm: &VirtualMachine) -> String {
        let source = self.source.text(vm);
        let class = |o: &PyObject| repr(o.class().as_object(), vm);
        match &self.kind {
            Kind::Equals(want) if vm.is_none(want) => format!("{source} is None"),
            Kind::Equals(want) => format!("{source} == {}", repr(want, vm)),
            Kind::Is(want) => match want.downcast_ref::<PyFunction>() {
                Some(_) => format!("___check_obj_id({source}.__code__, ID), type=<class 'code'>"),
                None => format!("___check_obj_id({source}, ID), type={}", class(want)),
            },
            Kind::Type(want) => format!("___check_type_id({source}, ID), type={}", repr(want, vm)),
            Kind::Length(0) => format!("not {source}"),
            Kind::Length(n) => format!("len({source}) == {n}"),
            Kind::Entries(n) => format!("len({source}) != {n}"),
            Kind::KeyAt(index, key) => format!("list(dict.keys({source}))[{index}] == {}", repr(key, vm)),
            Kind::Contains(key, has) => format!("{}___dict_contains({}, {source})", if *has { "" } else { "not " }, repr(key, vm)),
            Kind::Same(other) => format!("{} is {source}", other.text(vm)),
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
        if let (Source::Key(base, key), None) = (&*self.source, self.source.value(locals, vm))
            && base.value(locals, vm).is_some()
        {
            return format!("KeyError on {}[{}]", strip_locals(&base.text(vm)), repr(key, vm));
        }
        let text = strip_locals(&self.text(vm));
        match (&self.kind, &self.place) {
            (Kind::Entries(_), _) | (_, None) => text,
            (_, Some(p)) => format!("{text:<60}  # {}  # {}:{} in {}{}", p.code, p.file, p.span.line, p.function, self.advice(vm)),
        }
    }
}

/// The facts of a list that do not hold.
pub fn unmet(facts: &[Fact], locals: &Locals, vm: &VirtualMachine) -> Vec<Unmet> {
    let failed = facts.iter().filter(|f| !f.holds(locals, vm));
    failed.map(|f| Unmet { root: f.source.root(), source: f.source.text(vm), text: f.failure(locals, vm) }).collect()
}
