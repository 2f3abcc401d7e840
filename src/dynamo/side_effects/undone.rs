//! What a function changes in Python's objects while it is traced, undone where that ends in an error: PyTorch's Dynamo only records changes,
//! and the code that it writes makes them.

use std::collections::{HashSet, VecDeque};

use rustpython_vm::builtins::{PyBoundMethod, PyCode, PyDict, PyDictRef, PyFunction, PyList, PySet, PyStr, PyTuple, PyType};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyRef, PyResult, VirtualMachine};

use crate::dynamo::source::{cells, deque};
use crate::python::current::current;
use crate::python::native::tensor::TensorBase;

/// How many objects are kept: what a function changes that reaches more stays changed.
const BUDGET: usize = 4_000;

/// An object that a function may change, with what it held.
enum Held {
    List(PyRef<PyList>, Vec<PyObjectRef>),
    Dict(PyDictRef, Vec<(PyObjectRef, PyObjectRef)>),
    Set(PyRef<PySet>, Vec<PyObjectRef>),
    Deque(PyObjectRef, Vec<PyObjectRef>),
    /// An attribute of a cell or a class, or none.
    Attribute(PyObjectRef, &'static str, Option<PyObjectRef>),
    /// A global variable, or none.
    Global(PyDictRef, &'static str, Option<PyObjectRef>),
}

/// What everything that a call reaches held before it.
pub struct Before(Vec<Held>);

struct Search<'a> {
    vm: &'a VirtualMachine,
    held: Vec<Held>,
    seen: HashSet<usize>,
    queue: VecDeque<PyObjectRef>,
}

impl Before {
    /// Before a call of `callee`; None where it reaches too much.
    pub fn of(callee: &PyObject, args: &FuncArgs, vm: &VirtualMachine) -> Option<Self> {
        let mut search = Search { vm, held: Vec::new(), seen: HashSet::new(), queue: VecDeque::new() };
        search.queue.push_back(callee.to_owned());
        search.queue.extend(args.args.iter().chain(args.kwargs.values()).cloned());
        while let Some(o) = search.queue.pop_front() {
            if search.seen.insert(o.get_id()) {
                search.enter(&o);
            }
            if search.held.len() > BUDGET {
                return None;
            }
        }
        Some(Before(search.held))
    }

    /// Puts everything back that holds something else now.
    pub fn restore(self, vm: &VirtualMachine) -> PyResult<()> {
        self.0.into_iter().try_for_each(|held| held.restore(vm))
    }
}

fn are_same(a: &[PyObjectRef], b: &[PyObjectRef]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(b))
}

impl Held {
    fn restore(self, vm: &VirtualMachine) -> PyResult<()> {
        match self {
            Held::List(list, items) => {
                let mut now = list.borrow_vec_mut();
                if !are_same(&now, &items) {
                    *now = items;
                }
            }
            Held::Dict(dict, items) => {
                let now: Vec<_> = (&dict).into_iter().collect();
                if now.len() != items.len() || now.iter().zip(&items).any(|(now, before)| !now.0.is(&before.0) || !now.1.is(&before.1)) {
                    dict.clear();
                    items.into_iter().try_for_each(|(key, value)| dict.set_item(&*key, value, vm))?;
                }
            }
            Held::Set(set, items) => {
                if !are_same(&set.elements(), &items) {
                    set.clear();
                    items.into_iter().try_for_each(|item| set.add(item, vm))?;
                }
            }
            Held::Deque(o, items) => {
                if !are_same(&deque(&o, vm).unwrap_or_default(), &items) {
                    vm.call_method(&o, "clear", ())?;
                    vm.call_method(&o, "extend", (vm.ctx.new_list(items),))?;
                }
            }
            Held::Attribute(o, name, value) => {
                let now = o.get_attr(name, vm).ok();
                match (now, value) {
                    (Some(now), Some(value)) if now.is(&value) => {}
                    (_, Some(value)) => o.set_attr(name, value, vm)?,
                    (Some(_), None) => o.del_attr(name, vm)?,
                    (None, None) => {}
                }
            }
            Held::Global(globals, name, value) => {
                let now = globals.get_item_opt(name, vm)?;
                match (now, value) {
                    (Some(now), Some(value)) if now.is(&value) => {}
                    (_, Some(value)) => globals.set_item(name, value, vm)?,
                    (Some(_), None) => globals.del_item(name, vm)?,
                    (None, None) => {}
                }
            }
        }
        Ok(())
    }
}

impl Search<'_> {
    fn enter(&mut self, o: &PyObjectRef) {
        let vm = self.vm;
        if o.downcast_ref::<TensorBase>().is_some() {
            return;
        }
        if let Some(list) = o.downcast_ref::<PyList>() {
            let items = list.borrow_vec().to_vec();
            self.queue.extend(items.iter().cloned());
            self.held.push(Held::List(list.to_owned(), items));
        } else if let Some(tuple) = o.downcast_ref::<PyTuple>() {
            self.queue.extend(tuple.as_slice().iter().cloned());
        } else if let Some(dict) = o.downcast_ref::<PyDict>() {
            self.dict(&dict.to_owned());
        } else if let Some(set) = o.downcast_ref::<PySet>() {
            self.held.push(Held::Set(set.to_owned(), set.elements()));
        } else if let Some(items) = deque(o, vm) {
            self.queue.extend(items.iter().cloned());
            self.held.push(Held::Deque(o.clone(), items));
        } else if let Some(function) = o.downcast_ref::<PyFunction>() {
            self.function(function.as_object());
        } else if o.downcast_ref::<PyBoundMethod>().is_some() {
            let parts = ["__self__", "__func__"].into_iter().filter_map(|name| o.get_attr(name, vm).ok());
            self.queue.extend(parts);
        } else if let Some(class) = o.downcast_ref::<PyType>() {
            self.class(class.as_object());
        } else if let Some(dict) = o.dict().filter(|_| &*o.class().name() != "module") {
            self.queue.push_back(o.class().to_owned().into());
            self.dict(&dict);
        }
    }

    fn dict(&mut self, dict: &PyDictRef) {
        let items: Vec<_> = dict.into_iter().collect();
        self.queue.extend(items.iter().map(|(_, value)| value.clone()));
        self.held.push(Held::Dict(dict.clone(), items));
    }

    /// A function of the script's: what it closes over, and the globals that its code names.
    fn function(&mut self, function: &PyObject) {
        let vm = self.vm;
        let code = function.get_attr("__code__", vm).ok().and_then(|code| code.downcast::<PyCode>().ok());
        let Some(code) = code.filter(|code| current().is_some_and(|run| run.has(code.source_path()))) else { return };
        for cell in cells(function, vm) {
            let content = cell.get_attr("cell_contents", vm).ok();
            self.queue.extend(content.clone());
            self.held.push(Held::Attribute(cell, "cell_contents", content));
        }
        if let Some(globals) = function.get_attr("__globals__", vm).ok().and_then(|globals| globals.downcast::<PyDict>().ok()) {
            self.globals(&code, &globals);
        }
    }

    fn globals(&mut self, code: &PyCode, globals: &PyDictRef) {
        for name in code.names.iter().map(|name| name.as_str()) {
            let value = globals.get_item_opt(name, self.vm).ok().flatten();
            self.queue.extend(value.clone());
            self.held.push(Held::Global(globals.clone(), name, value));
        }
        for constant in code.constants.iter() {
            let constant: PyObjectRef = constant.clone().into();
            if let Some(inner) = constant.downcast_ref::<PyCode>() {
                self.globals(inner, globals);
            }
        }
    }

    /// A class of the script's: its attributes, and what its methods reach.
    fn class(&mut self, class: &PyObject) {
        let vm = self.vm;
        let home = class.get_attr("__module__", vm).ok().and_then(|home| home.downcast::<PyStr>().ok());
        if home.is_none_or(|home| home.to_string_lossy() != "__main__") {
            return;
        }
        let names = class.get_attr("__dict__", vm).and_then(|dict| vm.extract_elements_with(&dict, Ok)).unwrap_or_default();
        for name in names.iter().filter_map(|name| name.downcast_ref::<PyStr>()).map(|name| name.to_string_lossy().into_owned()) {
            if name.starts_with("__") && name != "__call__" && name != "__init__" {
                continue;
            }
            let name = vm.ctx.intern_str(name).as_str();
            let value = class.downcast_ref::<PyType>().and_then(|class| class.get_attr(vm.ctx.intern_str(name)));
            self.queue.extend(value.clone());
            self.held.push(Held::Attribute(class.to_owned(), name, value));
        }
    }
}
