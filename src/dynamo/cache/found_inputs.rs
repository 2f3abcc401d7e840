//! Entries of a compiled function as the calls that follow see them: where their inputs were found, so that a tensor found there
//! again needs no new name, and whether their guards hold for given values without anything being recorded.

use std::rc::Rc;

use rustpython_vm::builtins::{PyDictRef, PyFloat, PyInt};
use rustpython_vm::{AsObject, PyObjectRef, VirtualMachine};

use super::compiled_function::CompiledFunction;
use crate::dynamo::cache::Admitted;
use crate::dynamo::source::{Locals, Source, own_attribute};
use crate::dynamo::{CacheEntry, CapturedGraph, InputSource, Number};
use crate::python::native::tensor::{to_tensor, wrap};
use crate::tensor::Tensor;

/// The source of an input of a cache entry.
pub struct Found {
    path: Option<Rc<Source>>,
    /// What the recorder was told.
    source: InputSource,
    /// Its number of dimensions, which says what the numbers of its symbols stand for.
    dims: usize,
}

/// The sources of the inputs of a captured graph.
pub fn found(captured: &CapturedGraph, globals: Option<&PyDictRef>, vm: &VirtualMachine) -> Rc<[Found]> {
    let one = |input: &crate::dynamo::output_graph::graph_arg::GraphArg| Found {
        path: Source::parse(&input.source.source, globals, vm),
        source: input.source.clone(),
        dims: input.real.dim(),
    };
    captured.touched.iter().map(one).collect()
}

/// The values that a call starts from, and the sources of the inputs of the entry that was hit last.
pub struct Remembered {
    /// The values.
    pub locals: Locals,
    /// The inputs.
    pub inputs: Rc<[Found]>,
}

impl Remembered {
    /// Where a tensor is found, if it is where the input of that number was.
    pub fn source(&self, t: &Tensor, index: usize, vm: &VirtualMachine) -> Option<InputSource> {
        let known = self.inputs.get(index).filter(|f| f.source.marks.is_empty() && f.dims == t.dim())?;
        let object = wrap(t, vm).ok()?;
        let is_there = known.path.as_ref()?.value(&self.locals, vm)?.is(&object);
        (is_there && own_attribute(&object, "_dynamo_marks", vm).is_none()).then(|| known.source.clone())
    }
}

/// Whether the guards of an entry hold for a function's variables.
pub fn holds(function: &CompiledFunction, place: usize, index: usize, locals: &Locals, vm: &VirtualMachine) -> bool {
    let entry = function.cache.borrow().entry(place, index);
    entry.is_some_and(|entry| admitted(function, (place, index), &entry, locals, vm).is_some())
}

/// What an entry, the one of that place and index, runs with for a function's variables, where its guards hold for them.
pub fn admitted(
    function: &CompiledFunction,
    (place, index): (usize, usize),
    entry: &CacheEntry,
    locals: &Locals,
    vm: &VirtualMachine,
) -> Option<Admitted> {
    let (needs, inputs) = function.values.entry(place, index)?;
    if !needs.facts.iter().all(|f| f.holds(locals, vm)) {
        return None;
    }
    let tensor = |i: usize| to_tensor(&*inputs.get(i)?.path.as_ref()?.value(locals, vm)?);
    let number = |origin: &str| {
        let source = needs.dynamic.iter().find(|s| s.text(vm) == origin)?;
        let value: PyObjectRef = source.value(locals, vm)?;
        match (value.downcast_ref::<PyInt>(), value.downcast_ref::<PyFloat>()) {
            (Some(i), _) => i.try_to_primitive(vm).ok().map(Number::Int),
            (_, f) => f.map(|f| Number::Float(f.to_f64())),
        }
    };
    entry.admits(&tensor, &number)
}
