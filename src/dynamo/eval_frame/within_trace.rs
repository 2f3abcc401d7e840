//! A function that a tracer meets is captured as one graph, which the tracer then goes through: so `make_fx`, AOTAutograd and
//! `torch.export` find operators that take functions.

use std::cell::RefCell;
use std::rc::Rc;

use rustpython_vm::function::FuncArgs;
use rustpython_vm::{PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::call::{outside, without_call};
use super::recorder::is_called;
use super::runs_eagerly;
use crate::aot::trace::{Tracer, current_tracer, replace_tracers};
use crate::dispatch::{Key, Layer, Modes, Restore, modes, set_modes, take_layers};
use crate::dynamo::cache::compiled_function::CompiledFunction;

/// What a capture must not see.
const BELOW: [Key; 3] = [Key::Capture, Key::Functionalize, Key::Trace];

/// A trace under way: its layers and tracers, what they see, and its modes.
struct Trace {
    layers: Vec<Vec<Rc<dyn Layer>>>,
    tracers: Vec<Rc<Tracer>>,
    seen: Restore,
    modes: Modes,
}

thread_local! {
    static TRACE: RefCell<Option<Rc<Trace>>> = const { RefCell::new(None) };
}

/// Forgets a trace that was ended from outside.
pub fn reset() {
    TRACE.set(None);
}

/// Whether a tracer is at work, and nothing is captured for it as yet.
pub fn is_traced(vm: &VirtualMachine) -> bool {
    current_tracer().is_some() && !is_called() && !runs_eagerly(vm)
}

/// Whether a graph is captured for a trace whose graphs hand symbolic sizes in: one that is not exported.
pub fn hands_in_sizes() -> bool {
    TRACE.with_borrow(|trace| trace.as_ref().is_some_and(|t| !t.tracers.iter().any(|tracer| tracer.sees_script())))
}

/// Puts the layers of a trace in place of those there are.
fn replace_layers(layers: &[Vec<Rc<dyn Layer>>]) -> Vec<Vec<Rc<dyn Layer>>> {
    let before = BELOW.iter().map(|key| take_layers(*key)).collect();
    layers.iter().flatten().cloned().for_each(crate::dispatch::push_layer);
    before
}

/// Calls a function whose calls are captured as one graph; the tracer at work goes through that.
pub fn call(
    function: &Rc<CompiledFunction>,
    callee: &PyObject,
    name: String,
    namer: PyObjectRef,
    args: FuncArgs,
    vm: &VirtualMachine,
) -> PyResult {
    let (seen, before) = (Restore::current(), modes());
    let trace = Rc::new(Trace { layers: replace_layers(&[]), tracers: replace_tracers(Vec::new()), seen, modes: before });
    let outer = TRACE.replace(Some(trace.clone()));
    set_modes(Modes { fake: false, ..before });
    let result = outside(|| super::call(function, true, callee, name, namer, args, vm));
    set_modes(Modes { fake: before.fake, ..modes() });
    TRACE.set(outer);
    replace_tracers(trace.tracers.clone());
    replace_layers(&trace.layers);
    result
}

/// Where a graph was captured for a trace: lets the trace go through it.
pub fn gone_through<R>(graph: impl FnOnce() -> R) -> Option<R> {
    let trace = TRACE.take()?;
    let own = replace_layers(&trace.layers);
    replace_tracers(trace.tracers.clone());
    let before = set_modes(Modes { fake: trace.modes.fake, ..modes() });
    let result = {
        let _seen = trace.seen.enter();
        without_call(graph)
    };
    set_modes(before);
    replace_tracers(Vec::new());
    replace_layers(&own);
    TRACE.set(Some(trace));
    Some(result)
}
