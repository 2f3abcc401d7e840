//! The order in which sets of numbers are gone through: that of CPython's hash table, which scripts print. The interpreter keeps elements
//! in the order in which they were added.
//!
//! How a table is probed and when it grows is that of CPython 3.11's `Objects/setobject.c`. Elements are taken as added one by one, none
//! removed in between: what was removed only matters where it had been in another's way. Elements whose hashes are the same in every
//! process have an order: numbers, and tuples of them. A set that has any other keeps its own.

use std::cell::Cell;
use std::sync::OnceLock;

use rustpython_vm::builtins::{PyFloat, PyFrozenSet, PySet, PyStr, PyTuple};
use rustpython_vm::class::PyClassImpl;
use rustpython_vm::function::{ItemDoc, PyMethodFlags};
use rustpython_vm::protocol::PyIterReturn;
use rustpython_vm::types::{IterNext, Iterable, SelfIter};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyPayload, PyRef, PyResult, VirtualMachine, pyclass};

/// Slots behind the first that are tried before the hash's other bits are asked.
const LINEAR_PROBES: usize = 9;
const PERTURB_SHIFT: u32 = 5;
const SMALLEST: usize = 8;
/// From here on a table grows by less.
const LARGE: usize = 50_000;

type Iter = fn(PyObjectRef, &VirtualMachine) -> PyResult;
type Repr = fn(&PyObject, &VirtualMachine) -> PyResult<PyRef<PyStr>>;

static PLAIN_SET_ITER: OnceLock<Iter> = OnceLock::new();
static PLAIN_FROZEN_ITER: OnceLock<Iter> = OnceLock::new();
static PLAIN_SET_REPR: OnceLock<Repr> = OnceLock::new();
static PLAIN_FROZEN_REPR: OnceLock<Repr> = OnceLock::new();

/// Adapts both types. A thread's types outlive an interpreter: another one may have been here.
pub(super) fn adapt(vm: &VirtualMachine) {
    let (set, frozen) = (vm.ctx.types.set_type, vm.ctx.types.frozenset_type);
    let iters = [(set, &PLAIN_SET_ITER, set_iter as Iter), (frozen, &PLAIN_FROZEN_ITER, frozen_iter)];
    for (class, plain, ours) in iters {
        if let Some(iter) = class.slots.iter.load().filter(|iter| !std::ptr::fn_addr_eq(*iter, ours)) {
            plain.get_or_init(|| iter);
            class.slots.iter.store(Some(ours));
        }
    }
    let reprs = [(set, &PLAIN_SET_REPR, set_repr as Repr), (frozen, &PLAIN_FROZEN_REPR, frozen_repr)];
    for (class, plain, ours) in reprs {
        if let Some(repr) = class.slots.repr.load().filter(|repr| !std::ptr::fn_addr_eq(*repr, ours)) {
            plain.get_or_init(|| repr);
            class.slots.repr.store(Some(ours));
        }
    }
    // Classes of the script's take these methods, and not the slots.
    for class in [set, frozen] {
        for (name, call) in [("__iter__", iter_of as fn(PyObjectRef, &VirtualMachine) -> PyResult), ("__repr__", repr_of)] {
            let method = vm.ctx.new_method_def(name, call, PyMethodFlags::METHOD, ItemDoc::NONE);
            class.set_attr(vm.ctx.intern_str(name), method.build_method(class, vm).into());
        }
    }
    drop(SetIterator::make_static_type());
    let method = vm.ctx.new_method_def("pop", set_pop, PyMethodFlags::METHOD, ItemDoc::NONE);
    set.set_attr(vm.ctx.intern_str("pop"), method.build_method(set, vm).into());
}

/// An open table of hashes, each with the number of its element.
struct Table {
    slots: Vec<Option<(u64, usize)>>,
    used: usize,
}

impl Table {
    fn new(size: usize) -> Self {
        Table { slots: vec![None; size], used: 0 }
    }

    fn insert(&mut self, hash: u64, element: usize) {
        let mask = self.slots.len() - 1;
        let (mut at, mut perturb) = (hash as usize & mask, hash);
        let free = loop {
            let probes = if at + LINEAR_PROBES <= mask { LINEAR_PROBES } else { 0 };
            if let Some(free) = (at..=at + probes).find(|slot| self.slots[*slot].is_none()) {
                break free;
            }
            perturb >>= PERTURB_SHIFT;
            at = at.wrapping_mul(5).wrapping_add(1).wrapping_add(perturb as usize) & mask;
        };
        self.slots[free] = Some((hash, element));
        self.used += 1;
    }

    /// Adds one; the table may grow after it.
    fn add(&mut self, hash: u64, element: usize) {
        self.insert(hash, element);
        if self.used * 5 < (self.slots.len() - 1) * 3 {
            return;
        }
        let least = self.used * if self.used > LARGE { 2 } else { 4 };
        let mut larger = Table::new((least + 1).next_power_of_two().max(SMALLEST));
        for (hash, element) in self.slots.iter().flatten() {
            larger.insert(*hash, *element);
        }
        *self = larger;
    }
}

/// Whether an object's hash is the same in every process, and its own.
fn has_fixed_hash(o: &PyObject, vm: &VirtualMachine) -> bool {
    let types = &vm.ctx.types;
    let class = o.class();
    if class.is(types.tuple_type) {
        return o.downcast_ref::<PyTuple>().is_some_and(|items| items.iter().all(|item| has_fixed_hash(item, vm)));
    }
    // What is no number hashes as the object that it is.
    let is_nan = || o.downcast_ref::<PyFloat>().is_some_and(|float| float.to_f64().is_nan());
    [types.int_type, types.bool_type, types.float_type].iter().any(|number| class.is(*number)) && !is_nan()
}

/// The elements in the table's order; None where they are in it, or where they have none.
fn in_order(elements: &[PyObjectRef], vm: &VirtualMachine) -> Option<Vec<PyObjectRef>> {
    if elements.len() < 2 || !elements.iter().all(|o| has_fixed_hash(o, vm)) {
        return None;
    }
    let mut table = Table::new(SMALLEST);
    for (number, o) in elements.iter().enumerate() {
        table.add(o.hash(vm).ok()? as u64, number);
    }
    let order: Vec<usize> = table.slots.iter().flatten().map(|(_, number)| *number).collect();
    (!order.is_sorted()).then(|| order.into_iter().map(|number| elements[number].clone()).collect())
}

/// A frozen set with its elements in order, where the given one has another.
fn settled(set: &PyObject, vm: &VirtualMachine) -> PyResult<Option<PyObjectRef>> {
    let elements = set.downcast_ref::<PyFrozenSet>().and_then(|set| in_order(&set.elements(), vm));
    elements.map(|elements| Ok(PyFrozenSet::from_iter(vm, elements)?.into_pyobject(vm))).transpose()
}

/// Goes through a set in another order than that of its elements.
#[pyclass(module = false, name = "set_iterator")]
#[derive(Debug, PyPayload)]
struct SetIterator {
    set: PyRef<PySet>,
    elements: Vec<PyObjectRef>,
    position: Cell<usize>,
}

#[pyclass(flags(DISALLOW_INSTANTIATION), with(IterNext, Iterable))]
impl SetIterator {
    #[pymethod]
    fn __length_hint__(zelf: PyRef<Self>) -> usize {
        zelf.elements.len().saturating_sub(zelf.position.get())
    }
}

impl SelfIter for SetIterator {}
impl IterNext for SetIterator {
    fn next(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<PyIterReturn> {
        let position = zelf.position.get();
        if length(zelf.set.as_object(), vm)? != zelf.elements.len() {
            return Err(vm.new_runtime_error("Set changed size during iteration"));
        }
        zelf.position.set(position + 1);
        Ok(zelf.elements.get(position).map_or(PyIterReturn::StopIteration(None), |o| PyIterReturn::Return(o.clone())))
    }
}

/// How many elements a set has, whatever a class of the script's says.
fn length(set: &PyObject, vm: &VirtualMachine) -> PyResult<usize> {
    match vm.ctx.types.set_type.slots.as_sequence.length.load() {
        Some(length) => length(set.sequence_unchecked(), vm),
        None => set.length(vm),
    }
}

fn plain<T: Copy>(slot: &OnceLock<T>, vm: &VirtualMachine) -> PyResult<T> {
    slot.get().copied().ok_or_else(|| vm.new_runtime_error("the interpreter was not adapted"))
}

fn set_iter(zelf: PyObjectRef, vm: &VirtualMachine) -> PyResult {
    let set = zelf.downcast_ref::<PySet>();
    match set.and_then(|set| Some((set, in_order(&set.elements(), vm)?))) {
        Some((set, elements)) => Ok(SetIterator { set: set.to_owned(), elements, position: Cell::new(0) }.into_pyobject(vm)),
        None => plain(&PLAIN_SET_ITER, vm)?(zelf, vm),
    }
}

/// `__iter__` and `__repr__`, of both.
fn iter_of(zelf: PyObjectRef, vm: &VirtualMachine) -> PyResult {
    if zelf.downcast_ref::<PySet>().is_some() { set_iter(zelf, vm) } else { frozen_iter(zelf, vm) }
}

fn repr_of(zelf: PyObjectRef, vm: &VirtualMachine) -> PyResult {
    Ok(if zelf.downcast_ref::<PySet>().is_some() { set_repr(&zelf, vm)? } else { frozen_repr(&zelf, vm)? }.into())
}

fn frozen_iter(zelf: PyObjectRef, vm: &VirtualMachine) -> PyResult {
    let ordered = settled(&zelf, vm)?;
    plain(&PLAIN_FROZEN_ITER, vm)?(ordered.unwrap_or(zelf), vm)
}

/// As the elements in order are shown, in a set of the same class.
fn set_repr(zelf: &PyObject, vm: &VirtualMachine) -> PyResult<PyRef<PyStr>> {
    let elements = zelf.downcast_ref::<PySet>().and_then(|set| in_order(&set.elements(), vm));
    let Some(elements) = elements else { return plain(&PLAIN_SET_REPR, vm)?(zelf, vm) };
    let shown = elements.iter().map(|o| Ok(o.repr(vm)?.to_string_lossy().into_owned())).collect::<PyResult<Vec<String>>>()?.join(", ");
    let is_plain = zelf.class().is(vm.ctx.types.set_type);
    Ok(vm.ctx.new_str(if is_plain { format!("{{{shown}}}") } else { format!("{}({{{shown}}})", zelf.class().name()) }))
}

fn frozen_repr(zelf: &PyObject, vm: &VirtualMachine) -> PyResult<PyRef<PyStr>> {
    // One of a class of the script's is shown as such.
    let ordered = if zelf.class().is(vm.ctx.types.frozenset_type) { settled(zelf, vm)? } else { None };
    plain(&PLAIN_FROZEN_REPR, vm)?(ordered.as_deref().unwrap_or(zelf), vm)
}

thread_local! {
    /// The set that lost an element last, and how many it has had left: they are in the table's order by now.
    static POPPED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// `set.pop`: the first of the table.
fn set_pop(zelf: PyRef<PySet>, vm: &VirtualMachine) -> PyResult {
    let (address, elements) = (zelf.as_object().get_id(), zelf.elements());
    // A table does not shrink: what is left has the order that it had.
    let ordered = if POPPED.get() == (address, elements.len()) { None } else { in_order(&elements, vm) };
    if let Some(ordered) = &ordered {
        zelf.clear();
        ordered.iter().try_for_each(|o| zelf.add(o.clone(), vm))?;
    }
    let elements = ordered.unwrap_or(elements);
    let Some(first) = elements.first() else {
        return Err(vm.new_key_error(vm.ctx.new_str("pop from an empty set").into()));
    };
    zelf.discard(first.clone(), vm)?;
    POPPED.set((address, elements.len() - 1));
    Ok(first.clone())
}
