//! What the modules of the library are before a script can change them, and how they are made that again.
//!
//! The interpreter outlives a script, and with it the modules that it need not import anew. A script can assign to anything in them: to
//! a module, a class, a function's code and defaults, a dictionary that a module keeps. All of that is noted here and put back
//! from outside: nothing that is asked is written in Python.

use std::collections::HashSet;

use rustpython_vm::builtins::{PyClassMethod, PyDict, PyDictRef, PyFunction, PyList, PyProperty, PyStaticMethod, PyType, PyTypeRef};
use rustpython_vm::types::PyTypeFlags;
use rustpython_vm::{AsObject, PyObjectRef, PyRef, PyResult, TryFromObject, VirtualMachine};

type Items = Vec<(PyObjectRef, PyObjectRef)>;

/// Attributes of a function that can be assigned to.
const OF_FUNCTIONS: [&str; 3] = ["__code__", "__defaults__", "__kwdefaults__"];

/// Modules as they were.
#[derive(Default)]
pub(super) struct Snapshot {
    modules: Items,
    dicts: Vec<(PyDictRef, Items)>,
    lists: Vec<(PyRef<PyList>, Vec<PyObjectRef>)>,
    functions: Vec<(PyObjectRef, Vec<PyObjectRef>)>,
    types: Vec<(PyTypeRef, Items)>,
}

impl Snapshot {
    /// Notes modules, by name, and what they define. `apart` is a dictionary that is not theirs.
    pub(super) fn take(modules: Items, apart: &PyDictRef, vm: &VirtualMachine) -> PyResult<Self> {
        let mut snapshot = Snapshot { modules: modules.clone(), ..Snapshot::default() };
        let mut seen = HashSet::from([apart.get_id()]);
        let mut left: Vec<PyObjectRef> = modules.iter().filter_map(|(_, module)| Some(module.dict()?.into())).collect();
        while let Some(object) = left.pop() {
            if seen.insert(object.get_id()) {
                snapshot.note(object, &mut left, vm)?;
            }
        }
        Ok(snapshot)
    }

    /// Notes one object; what it leads to comes to `left`.
    fn note(&mut self, object: PyObjectRef, left: &mut Vec<PyObjectRef>, vm: &VirtualMachine) -> PyResult<()> {
        let get = |name: &'static str| object.get_attr(name, vm);
        if let Some(dict) = object.downcast_ref_if_exact::<PyDict>(vm) {
            let items: Items = dict.into_iter().collect();
            left.extend(items.iter().map(|(_, value)| value.clone()));
            self.dicts.push((dict.to_owned(), items));
        } else if let Some(list) = object.downcast_ref_if_exact::<PyList>(vm) {
            let items = list.borrow_vec().to_vec();
            left.extend(items.iter().cloned());
            self.lists.push((list.to_owned(), items));
        } else if object.downcast_ref::<PyFunction>().is_some() {
            let values = OF_FUNCTIONS.iter().map(|name| get(name)).collect::<PyResult<Vec<_>>>()?;
            left.extend(get("__dict__"));
            self.functions.push((object, values));
        } else if let Some(class) = object.downcast_ref::<PyType>() {
            if !class.slots.flags.has_feature(PyTypeFlags::IMMUTABLETYPE) {
                let items = attributes(class);
                left.extend(items.iter().map(|(_, value)| value.clone()));
                self.types.push((class.to_owned(), items));
            }
        } else if object.downcast_ref::<PyStaticMethod>().is_some() || object.downcast_ref::<PyClassMethod>().is_some() {
            left.extend(get("__func__"));
        } else if object.downcast_ref::<PyProperty>().is_some() {
            left.extend(["fget", "fset", "fdel"].into_iter().filter_map(|name| get(name).ok()));
        }
        Ok(())
    }

    /// Whether a module of this name is one of them.
    pub(super) fn has(&self, name: &PyObjectRef, module: &PyObjectRef, vm: &VirtualMachine) -> bool {
        self.modules.iter().any(|(known, its)| its.is(module) && vm.bool_eq(known, name).unwrap_or(false))
    }

    /// Makes everything as it was; `all` are the interpreter's modules.
    pub(super) fn restore(&self, all: &PyDictRef, vm: &VirtualMachine) -> PyResult<()> {
        for (class, items) in &self.types {
            restore_type(class, items, vm)?;
        }
        for (function, values) in &self.functions {
            for (name, value) in OF_FUNCTIONS.iter().zip(values) {
                if !function.get_attr(*name, vm)?.is(value) {
                    function.set_attr(*name, value.clone(), vm)?;
                }
            }
        }
        for (list, items) in &self.lists {
            let mut now = list.borrow_vec_mut();
            if now.len() != items.len() || now.iter().zip(items).any(|(a, b)| !a.is(b)) {
                now.clone_from(items);
            }
        }
        for (dict, items) in &self.dicts {
            let is_same = dict.__len__() == items.len()
                && dict.clone().into_iter().zip(items).all(|(now, then)| now.0.is(&then.0) && now.1.is(&then.1));
            if !is_same {
                dict.clear();
                items.iter().try_for_each(|(key, value)| dict.set_item(&**key, value.clone(), vm))?;
            }
        }
        self.modules.iter().try_for_each(|(name, module)| all.set_item(&**name, module.clone(), vm))
    }
}

/// A class's own attributes.
fn attributes(class: &PyType) -> Items {
    class.attributes.as_dict().map(|dict| dict.into_iter().collect()).unwrap_or_default()
}

fn restore_type(class: &PyTypeRef, items: &Items, vm: &VirtualMachine) -> PyResult<()> {
    let now = attributes(class);
    let holds = |items: &Items, name: &PyObjectRef, value: &PyObjectRef| items.iter().any(|(n, v)| n.is(name) && v.is(value));
    let has = |items: &Items, name: &PyObjectRef| items.iter().any(|(n, _)| n.is(name));
    let text = |name: &PyObjectRef| rustpython_vm::builtins::PyStrRef::try_from_object(vm, name.clone());
    for (name, _) in now.iter().filter(|(name, _)| !has(items, name)) {
        class.as_object().del_attr(&text(name)?, vm)?;
    }
    for (name, value) in items.iter().filter(|(name, value)| !holds(&now, name, value)) {
        class.as_object().set_attr(&text(name)?, value.clone(), vm)?;
    }
    Ok(())
}
