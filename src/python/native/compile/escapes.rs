//! Tensors that a function leaves in objects (`self.last = y`, `cache.append(y)`, a dataclass it returns), in the order in which
//! PyTorch's front end returns them: object by object, the elements of a container as they stand, attributes from the last to the
//! first, because its code puts them on a stack.

use std::collections::{HashMap, HashSet, VecDeque};

use rustpython_vm::builtins::{PyCode, PyDict, PyDictRef, PyFunction, PyList, PyStr, PyTuple, PyType};
use rustpython_vm::{AsObject, PyObject, PyObjectRef, VirtualMachine};

use super::sources::{Locals, cell, own_attribute};
use crate::python::native::tensor::TensorBase;

/// Objects that are looked at.
const BUDGET: usize = 4_000;

/// Where a tensor is kept: by what, and at which position of that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// What its class was called with comes before everything that is returned.
    is_later: bool,
    holder: usize,
    position: usize,
}

impl Rank {
    /// Whether it comes before what the function returns.
    pub fn is_first(&self) -> bool {
        !self.is_later
    }
}

/// What is searched.
pub struct Roots<'a> {
    /// What the function returns.
    pub result: Option<&'a PyObjectRef>,
    /// Its variables.
    pub locals: &'a Locals,
    /// Its globals.
    pub globals: Option<&'a PyDictRef>,
    /// Its code.
    pub code: Option<&'a PyObject>,
}

struct Search<'a> {
    vm: &'a VirtualMachine,
    /// Tensors by their objects, in the order in which they were made.
    wanted: &'a HashMap<usize, usize>,
    /// Per tensor, the object that keeps it, the position there, and whether that object's class was called with it.
    found: HashMap<usize, (usize, usize, bool)>,
    seen: HashSet<usize>,
    queue: VecDeque<(PyObjectRef, bool)>,
    /// Names of arguments that the function's calls give by name.
    keywords: HashSet<String>,
}

impl Search<'_> {
    fn visit(&mut self, holder: &PyObject, position: usize, value: PyObjectRef, is_result: bool, is_first: bool) {
        if value.downcast_ref::<TensorBase>().is_some() {
            if self.wanted.contains_key(&value.get_id()) {
                self.found.entry(value.get_id()).or_insert((holder.get_id(), position, is_first));
            }
        } else if self.seen.len() < BUDGET && self.seen.insert(value.get_id()) {
            self.queue.push_back((value, is_result));
        }
    }

    fn elements(&mut self, holder: &PyObject, items: impl IntoIterator<Item = PyObjectRef>, is_result: bool) {
        items.into_iter().enumerate().for_each(|(i, item)| self.visit(holder, i, item, is_result, false));
    }

    fn look_into(&mut self, o: &PyObjectRef, is_result: bool) {
        let vm = self.vm;
        if let Some(items) = o.downcast_ref::<PyTuple>() {
            self.elements(o, items.as_slice().to_vec(), is_result);
        } else if let Some(items) = o.downcast_ref::<PyList>() {
            let items = items.borrow_vec().to_vec();
            self.elements(o, items, is_result);
        } else if let Some(dict) = o.downcast_ref::<PyDict>() {
            self.elements(o, dict.into_iter().map(|(_, v)| v), is_result);
        } else if o.downcast_ref::<PyFunction>().is_some() {
            let cells: Vec<PyObjectRef> = (0..).map_while(|i| cell(o, i, vm)).collect();
            self.elements(o, cells, is_result);
        } else if let Some(dict) = o.dict().filter(|_| o.downcast_ref::<PyType>().is_none() && o.class().name().to_string() != "module") {
            let mut named: Vec<(String, PyObjectRef)> = Vec::new();
            let name = |k: &PyObjectRef| k.downcast_ref::<PyStr>().map(|k| k.to_string_lossy().into_owned()).unwrap_or_default();
            let is_dataclass = is_result && o.class().get_attr(vm.ctx.intern_str("__dataclass_fields__")).is_some();
            for (key, value) in dict {
                named.push((name(&key), value));
            }
            // A module's buffers are its attributes.
            if let Some(buffers) = own_attribute(o, "_buffers", vm).and_then(|b| b.downcast::<PyDict>().ok()) {
                let held: Vec<(String, PyObjectRef)> = buffers.into_iter().map(|(k, v)| (name(&k), v)).collect();
                named.splice(0..0, held);
            }
            let count = named.len();
            for (i, (name, value)) in named.into_iter().enumerate() {
                let is_first = is_dataclass && !self.keywords.contains(&name);
                self.visit(o, if is_first { i } else { count - i }, value, is_result, is_first);
            }
        }
    }
}

/// Names that a function's calls give arguments by, and those of the functions in it.
fn keywords(code: &PyObject, found: &mut HashSet<String>) {
    let Some(code) = code.downcast_ref::<PyCode>() else { return };
    for constant in code.constants.iter() {
        let constant: PyObjectRef = constant.clone().into();
        keywords(&constant, found);
        let Some(names) = constant.downcast_ref::<PyTuple>() else { continue };
        found.extend(names.as_slice().iter().filter_map(|n| n.downcast_ref::<PyStr>()).map(|n| n.to_string_lossy().into_owned()));
    }
}

/// Ranks tensors that escape, given by their objects in the order in which they were made. What is not found has the rank of
/// an object of its own.
pub fn ranks(escaped: &[usize], roots: &Roots, vm: &VirtualMachine) -> Vec<Rank> {
    let wanted: HashMap<usize, usize> = escaped.iter().enumerate().map(|(i, id)| (*id, i)).collect();
    let mut search =
        Search { vm, wanted: &wanted, found: HashMap::new(), seen: HashSet::new(), queue: VecDeque::new(), keywords: HashSet::new() };
    if let Some(code) = roots.code {
        keywords(code, &mut search.keywords);
    }
    let none = vm.ctx.none();
    if let Some(result) = roots.result {
        search.queue.push_back((result.clone(), true));
    }
    for (_, value) in roots.locals.iter().filter(|(_, v)| v.downcast_ref::<TensorBase>().is_none()) {
        search.visit(&none, 0, value.clone(), false, false);
    }
    if let (Some(globals), Some(code)) = (roots.globals, roots.code.and_then(|c| c.downcast_ref::<PyCode>())) {
        for name in code.names.iter() {
            if let Ok(Some(value)) = globals.get_item_opt(name.as_str(), vm)
                && value.downcast_ref::<TensorBase>().is_none()
            {
                search.visit(&none, 0, value, false, false);
            }
        }
    }
    while let Some((o, is_result)) = search.queue.pop_front() {
        if search.found.len() == escaped.len() {
            break;
        }
        search.look_into(&o, is_result);
    }
    let found = search.found;
    let holder = |id: &usize| found.get(id).map(|(holder, ..)| *holder);
    let earliest = |of: usize| escaped.iter().position(|id| holder(id) == Some(of)).unwrap_or(0);
    let rank = |(i, id): (usize, &usize)| match found.get(id) {
        Some((holder, position, is_first)) => Rank { is_later: !is_first, holder: earliest(*holder), position: *position },
        None => Rank { is_later: true, holder: i, position: 0 },
    };
    escaped.iter().enumerate().map(rank).collect()
}
