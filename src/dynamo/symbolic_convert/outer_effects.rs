//! Side effects of a function that a higher-order operator takes: what its code changes outside of itself. Its code is followed, not run,
//! since the operator may run it several times, or not at all: PyTorch takes no such function.
//!
//! The library's own code is not followed, but for modules that hold others.

use rustpython_vm::builtins::{PyCode, PyDict, PyList, PySet, PyType};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, VirtualMachine};

use super::values::{is_constant, is_module, is_tensor};
use super::{Reader, Seen, constant};
use crate::dynamo::Unsupported;
use crate::dynamo::bytecode_analysis::decoded::place_of;
use crate::dynamo::source::{deque, own_attribute};

/// Methods that change the list, dictionary, set or deque that they are called on.
const CHANGES: &[&str] = &[
    "add",
    "append",
    "appendleft",
    "clear",
    "difference_update",
    "discard",
    "extend",
    "extendleft",
    "insert",
    "intersection_update",
    "pop",
    "popitem",
    "popleft",
    "remove",
    "reverse",
    "rotate",
    "setdefault",
    "sort",
    "symmetric_difference_update",
    "update",
];

/// What is known of side effects so far.
#[derive(Default)]
pub(super) struct OuterEffects {
    found: Option<Unsupported>,
    /// Attributes of objects from outside that were set: whether they are what they were is asked when the function returns.
    attributes: Vec<(PyObjectRef, String)>,
    /// Whether the instruction that is followed is the script's.
    is_in_script: bool,
    /// How deep the function itself is called.
    depth: Option<usize>,
}

/// The first side effect of a function that an operator takes, called with these and some tensors.
pub(in crate::dynamo) fn side_effect(function: &PyObjectRef, args: &[PyObjectRef], vm: &VirtualMachine) -> Option<Unsupported> {
    let mut reader = Reader::new(None, vm);
    reader.effects = Some(OuterEffects::default());
    let seen = |o: &PyObjectRef| if is_tensor(o) { Seen::Tensor } else { constant(o.clone()) };
    reader.call(&constant(function.clone()), args.iter().map(seen).collect(), Vec::new(), 0);
    reader.effects.and_then(|effects| effects.found)
}

/// What Dynamo calls an object that is changed.
fn variable(o: &PyObject, vm: &VirtualMachine) -> String {
    if let Some(list) = o.downcast_ref::<PyList>() {
        return format!("ListVariable(length={})", list.borrow_vec().len());
    }
    match o {
        o if o.downcast_ref::<PyDict>().is_some() => "ConstDictVariable()".to_owned(),
        o if o.downcast_ref::<PySet>().is_some() => "SetVariable()".to_owned(),
        o if deque(o, vm).is_some() => "DequeVariable()".to_owned(),
        o if is_module(o, vm) => format!("UnspecializedNNModuleVariable({})", o.class().name()),
        o => format!("UserDefinedObjectVariable({})", o.class().name()),
    }
}

impl Reader<'_> {
    /// Whether a function that is called is followed.
    pub(super) fn follows(&self, code: &Py<PyCode>, args: &[Seen]) -> bool {
        let holds_modules = |o: &PyObjectRef| {
            own_attribute(o, "_modules", self.vm).is_some_and(|held| held.downcast_ref::<PyDict>().is_some_and(|d| d.__len__() > 0))
        };
        let is_container = || matches!(args.first(), Some(Seen::Known(all)) if all.iter().any(|(o, _)| holds_modules(o)));
        self.effects.is_none() || place_of(code, 0).is_some() || is_container()
    }

    /// Code at this depth is followed now, and whether it is the script's.
    pub(super) fn note_code(&mut self, is_in_script: bool, depth: usize) {
        if let Some(effects) = &mut self.effects {
            effects.is_in_script = is_in_script;
            effects.depth.get_or_insert(depth);
        }
    }

    fn changes(&mut self, what: impl FnOnce() -> String) {
        if let Some(effects) = self.effects.as_mut().filter(|effects| effects.is_in_script && effects.found.is_none()) {
            effects.found = Some(Unsupported::unsafe_side_effect(&what()));
        }
    }

    /// A global variable or one of a function around is set.
    pub(super) fn sets_variable(&mut self, is_global: bool) {
        self.changes(|| if is_global { "NewGlobalVariable()" } else { "CellVariable()" }.to_owned());
    }

    /// An object that was there before is changed.
    pub(super) fn changes_object(&mut self, seen: &Seen) {
        let vm = self.vm;
        if let (Seen::Known(all), true) = (seen, self.effects.is_some())
            && let Some((o, _)) = all.iter().find(|(o, _)| !is_tensor(o) && !is_constant(o, vm))
        {
            self.changes(|| variable(o, vm));
        }
    }

    /// A method is going to be called.
    pub(super) fn calls_method(&mut self, seen: &Seen, name: &str) {
        let Seen::Known(all) = seen else { return };
        let vm = self.vm;
        let is_container = |o: &PyObjectRef| {
            o.downcast_ref::<PyList>().is_some()
                || o.downcast_ref::<PyDict>().is_some()
                || o.downcast_ref::<PySet>().is_some()
                || deque(o, vm).is_some()
        };
        if self.effects.is_some() && CHANGES.contains(&name) && all.iter().any(|(o, _)| is_container(o)) {
            self.changes_object(seen);
        }
    }

    /// An attribute is set.
    pub(super) fn sets_attribute(&mut self, object: &Seen, name: &str) {
        let Seen::Known(all) = object else { return };
        let known = |effects: &&mut OuterEffects| effects.is_in_script;
        for (o, _) in all.iter().filter(|(o, _)| !is_tensor(o)) {
            if o.downcast_ref::<PyType>().is_some() {
                self.changes_object(object);
            } else if let Some(effects) = self.effects.as_mut().filter(known) {
                effects.attributes.push((o.clone(), name.to_owned()));
            }
        }
    }

    /// Something built in is called that changes what it is given.
    pub(super) fn calls_builtin(&mut self, name: &str, args: &[Seen]) {
        match (name, args) {
            ("next", [iterator, ..]) => self.changes_object(iterator),
            ("setattr" | "delattr", [object, ..]) => self.changes_object(object),
            _ => {}
        }
    }

    /// A function returns: attributes may be set that are what they were by then.
    pub(super) fn returns_at(&mut self, depth: usize) {
        let Some(effects) = self.effects.as_mut().filter(|effects| effects.depth == Some(depth) && effects.found.is_none()) else {
            return;
        };
        let vm = self.vm;
        for (o, name) in std::mem::take(&mut effects.attributes) {
            let Some(stored) = self.stored.get(&(o.get_id(), name.clone())).cloned() else { continue };
            let before = own_attribute(&o, &name, vm).filter(|before| is_constant(before, vm));
            let after = self.known_constant(&stored);
            let reason = match (before, after) {
                (Some(before), Some(after)) if vm.bool_eq(&before, &after).unwrap_or(false) => continue,
                (Some(before), Some(after)) => {
                    let shown = |o: &PyObjectRef| o.repr(vm).map_or_else(|_| String::new(), |r| r.to_string_lossy().into_owned());
                    Unsupported::side_effect_that_stays(&name, &shown(&before), &shown(&after))
                }
                _ => Unsupported::unsafe_side_effect(&variable(&o, vm)),
            };
            if let Some(effects) = &mut self.effects {
                effects.found.get_or_insert(reason);
            }
        }
    }
}

/// Whether a value is a list that was there before: `+=` changes it.
pub(super) fn is_list(seen: &Seen) -> bool {
    matches!(seen, Seen::Known(all) if all.iter().any(|(o, _)| o.downcast_ref::<PyList>().is_some()))
}
