//! Tensors and numbers that a function leaves in objects (`self.last = y`, `cache.append(y)`, a dataclass it returns), in the order in
//! which Dynamo returns them: object by object, the elements of a container as they stand, attributes from the last to the first, because
//! its code puts them on a stack.

use std::collections::{HashMap, HashSet, VecDeque};

use rustpython_vm::builtins::{PyCode, PyDict, PyDictRef, PyFunction, PyStr, PyStrInterned, PyTuple, PyType};
use rustpython_vm::{AsObject, PyObject, PyObjectRef, VirtualMachine};

use crate::dynamo::bytecode_analysis::decoded::decoded;
use crate::dynamo::containers::elements_of;
use crate::dynamo::source::{Locals, cell, own_attribute};
use crate::python::native::tensor::TensorBase;

/// How many objects are searched.
const BUDGET: usize = 4_000;

/// Where a tensor is kept: by what, and at which position of that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// What its class was called with comes before everything that is returned.
    is_later: bool,
    holder: usize,
    depth: usize,
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
    /// Cells of what it closes over.
    pub cells: &'a [PyObjectRef],
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
    /// All objects that keep something wanted, each with what it keeps.
    kept: Vec<(PyObjectRef, usize)>,
    /// Per object, the one that it was found in.
    outer: HashMap<usize, usize>,
    seen: HashSet<usize>,
    modules: HashSet<usize>,
    queue: VecDeque<(PyObjectRef, bool)>,
    /// Names of arguments that the function's calls give by name.
    keywords: HashSet<String>,
}

impl Search<'_> {
    /// What a class was called with: a container is made on the way to the call, so that its elements come where it stands.
    fn argument(&mut self, called: &PyObject, holder: &PyObject, value: PyObjectRef, place: &mut usize) {
        if self.wanted.contains_key(&value.get_id()) {
            self.found.entry(value.get_id()).or_insert((called.get_id(), *place, true));
            self.kept.push((holder.to_owned(), value.get_id()));
            *place += 1;
        } else if let Some(items) = elements_of(&value).filter(|_| self.seen.len() < BUDGET) {
            if self.seen.insert(value.get_id()) {
                self.outer.insert(value.get_id(), holder.get_id());
                items.into_iter().for_each(|item| self.argument(called, &value, item, place));
            }
        } else {
            self.visit(holder, 0, value, true, false);
        }
    }

    fn visit(&mut self, holder: &PyObject, position: usize, value: PyObjectRef, is_result: bool, is_first: bool) {
        if self.wanted.contains_key(&value.get_id()) {
            self.found.entry(value.get_id()).or_insert((holder.get_id(), position, is_first));
            self.kept.push((holder.to_owned(), value.get_id()));
        } else if value.downcast_ref::<TensorBase>().is_some() {
        } else if self.seen.len() < BUDGET && self.seen.insert(value.get_id()) {
            self.outer.insert(value.get_id(), holder.get_id());
            self.queue.push_back((value, is_result));
        }
    }

    fn elements(&mut self, holder: &PyObject, items: impl IntoIterator<Item = PyObjectRef>, is_result: bool) {
        items.into_iter().enumerate().for_each(|(i, item)| self.visit(holder, i, item, is_result, false));
    }

    fn look_into(&mut self, o: &PyObjectRef, is_result: bool) {
        let vm = self.vm;
        if let Some(items) = elements_of(o) {
            self.elements(o, items, is_result);
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
            if own_attribute(o, "_modules", vm).is_some() {
                self.modules.insert(o.get_id());
            }
            // A module's buffers are its attributes.
            let mut buffer_count = 0;
            if let Some(buffers) = own_attribute(o, "_buffers", vm).and_then(|b| b.downcast::<PyDict>().ok()) {
                let held: Vec<(String, PyObjectRef)> = buffers.into_iter().map(|(k, v)| (name(&k), v)).collect();
                buffer_count = held.len();
                named.splice(0..0, held);
            }
            let count = named.len();
            let mut place = 0;
            let is_wanted = |(_, value): &&(String, PyObjectRef)| self.wanted.contains_key(&value.get_id());
            let written: Vec<&str> = named[buffer_count..].iter().filter(is_wanted).map(|(name, _)| name.as_str()).collect();
            let stores = stored_in_order(o, &written, vm);
            for (i, (name, value)) in named.into_iter().enumerate() {
                if is_dataclass && !self.keywords.contains(&name) {
                    self.argument(o, o, value, &mut place);
                } else {
                    // Buffers are items of a dictionary, which is made anew item by item.
                    let stored = stores.iter().position(|stored| *stored == name);
                    let position = match stored {
                        _ if i < buffer_count => count - buffer_count + 1 + i,
                        Some(stored) => count - stored.min(count),
                        None => count - i,
                    };
                    self.visit(o, position, value, is_result, false);
                }
            }
        }
    }
}

/// The attributes that a method of an object's class stores, in order: of the first method that stores all that are `written`. The
/// object's dictionary does not say so, where an attribute was there before. None where there is nothing to put in order.
fn stored_in_order(o: &PyObject, written: &[&str], vm: &VirtualMachine) -> Vec<&'static str> {
    if written.len() < 2 {
        return Vec::new();
    }
    let stores = |(name, method): (&PyStrInterned, PyObjectRef)| {
        let method = method.downcast_ref::<PyFunction>().filter(|_| name.as_str() != "__init__")?;
        let code = method.as_object().get_attr("__code__", vm).ok()?;
        let code = code.downcast_ref::<PyCode>()?;
        let mut names: Vec<&'static str> = Vec::new();
        for name in decoded(code).stored_attributes(code) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        written.iter().all(|name| names.contains(name)).then_some(names)
    };
    o.class().get_attributes(&vm.ctx).into_iter().find_map(|(name, method)| stores((name, method))).unwrap_or_default()
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

/// Where what escapes is kept.
pub struct Kept {
    /// What is found nowhere has none.
    pub ranks: Vec<Option<Rank>>,
    /// The objects that keep something, each with the object that it keeps.
    pub holders: Vec<(PyObjectRef, usize)>,
}

/// The rank of what is found nowhere: that of an object of its own, for what escaped as number `i`.
pub fn alone(i: usize) -> Rank {
    Rank { is_later: true, holder: i, depth: 0, position: 0 }
}

/// Finds what escapes, given by its objects in the order in which they were made. Objects come in the order in which the function looks
/// at them, where that is known (`guarded`), and before those that are found in them. What modules hold comes as it was made: which
/// submodules a function calls first is not read from its code.
/// Every object that keeps something is found where `all` are wanted.
pub fn find(escaped: &[usize], roots: &Roots, guarded: &HashMap<usize, usize>, all: bool, vm: &VirtualMachine) -> Kept {
    let wanted: HashMap<usize, usize> = escaped.iter().enumerate().map(|(i, id)| (*id, i)).collect();
    let mut search = Search {
        vm,
        wanted: &wanted,
        found: HashMap::new(),
        kept: Vec::new(),
        outer: HashMap::new(),
        seen: HashSet::new(),
        modules: HashSet::new(),
        queue: VecDeque::new(),
        keywords: HashSet::new(),
    };
    if let Some(code) = roots.code {
        keywords(code, &mut search.keywords);
    }
    // What holds the variables: nothing that they hold.
    let top: PyObjectRef = vm.ctx.new_dict().into();
    if let Some(result) = roots.result {
        search.queue.push_back((result.clone(), true));
    }
    for (_, value) in roots.locals.iter().filter(|(_, v)| v.downcast_ref::<TensorBase>().is_none()) {
        search.visit(&top, 0, value.clone(), false, false);
    }
    for cell in roots.cells {
        // A variable may have no value.
        if let Ok(value) = cell.get_attr("cell_contents", vm)
            && value.downcast_ref::<TensorBase>().is_none()
        {
            search.visit(cell, 0, value, false, false);
        }
    }
    if let (Some(globals), Some(code)) = (roots.globals, roots.code.and_then(|c| c.downcast_ref::<PyCode>())) {
        for name in code.names.iter() {
            if let Ok(Some(value)) = globals.get_item_opt(name.as_str(), vm)
                && value.downcast_ref::<TensorBase>().is_none()
            {
                search.visit(globals.as_object(), 0, value, false, false);
            }
        }
    }
    while let Some((o, is_result)) = search.queue.pop_front() {
        if search.found.len() == escaped.len() && !all {
            break;
        }
        search.look_into(&o, is_result);
    }
    let (found, outer, modules) = (search.found, search.outer, search.modules);
    let around = |holder: usize| std::iter::successors(Some(holder), |o| outer.get(o).copied()).take(BUDGET);
    let holder = |id: &usize| found.get(id).map(|(holder, ..)| *holder);
    let earliest = |of: usize| escaped.iter().position(|id| holder(id).is_some_and(|h| around(h).any(|o| o == of))).unwrap_or(0);
    let place = |of: usize| around(of).find_map(|o| guarded.get(&o).copied()).filter(|_| !around(of).any(|o| modules.contains(&o)));
    let order = |of: usize| place(of).unwrap_or_else(|| guarded.len() + earliest(of));
    let rank = |id: &usize| {
        let (holder, position, is_first) = found.get(id)?;
        Some(Rank { is_later: !is_first, holder: order(*holder), depth: around(*holder).count(), position: *position })
    };
    Kept { ranks: escaped.iter().map(rank).collect(), holders: search.kept }
}
