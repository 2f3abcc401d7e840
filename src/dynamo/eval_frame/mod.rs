//! A compiled function is called: from its arguments to its result, and whatever graph is left to end with it.

pub(super) mod call;
pub(super) mod frames;
pub(super) mod inlined;
pub(super) mod recorder;
pub mod replay;
pub(super) mod resumption;
pub(super) mod skipped;
pub mod within_trace;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustpython_vm::builtins::{PyBaseExceptionRef, PyCode};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyRef, PyResult, VirtualMachine};

use super::bytecode_analysis::decoded::decoded;
use super::cache::compiled_function::{self, CompiledFunction, closure_of, count_frame, note_recompiled, stance};
use super::cache::found_inputs::Remembered;
use super::graph_breaks::unsupported::Unsupported;
use super::graph_breaks::user_code::from_user_code;
use super::guards::manager;
use super::resume_functions::About;
use super::settings::switch;
use super::side_effects::outputs::{add_escaped, is_known, lone_input, numbers_for_sizes, returned};
use super::side_effects::undone::Before;
use super::symbolic_convert::translator::Session;
use crate::aot::trace::Pushed;
use crate::dispatch::{Exclude, Key, Modes, Value, is_excluded, modes, set_modes};
use crate::dynamo::{CaptureLayer, InputSource, Recorder, Surroundings};
use crate::error::{Error, ErrorKind, Result};
use crate::python::escape;
use crate::python::native::tensor::{has_mode, raise, raised, said, take_unknown};
use crate::python::span::{frame_mark, instructions_above};
use crate::tensor::{Geometry, Tensor};
use call::{Around, Call, capturing, current};

/// Forgets what an earlier run compiled, and a call that was ended from outside.
pub fn reset() {
    TAPE.set(None);
    call::reset();
    within_trace::reset();
    compiled_function::reset();
}

/// Whether a compiled function runs as it is: what is called inside of a transform, or while a script's mode sees operators, is not
/// compiled.
pub fn runs_eagerly(vm: &VirtualMachine) -> bool {
    stance() == "force_eager" || crate::transforms::levels::current().is_some() || has_mode(vm)
}

/// Calls a compiled function.
pub fn call(
    function: &Rc<CompiledFunction>,
    fullgraph: bool,
    callee: &PyObject,
    name: String,
    namer: PyObjectRef,
    args: FuncArgs,
    vm: &VirtualMachine,
) -> PyResult {
    if is_excluded(Key::Capture) && !is_traced() {
        // A hook, a kernel or a function's own backward runs, and nothing is captured: a compiled function called there is a call of its
        // own. Where autograd sees nothing, neither does it see what that computes.
        let before = set_modes(Modes { grad: modes().grad && !is_excluded(Key::Autograd), ..modes() });
        let _all = Exclude::nothing();
        let result = call::outside(|| self::call(function, fullgraph, callee, name, namer, args, vm));
        set_modes(Modes { grad: before.grad, ..modes() });
        return result;
    }
    if capturing() {
        // A compiled function called while another is recorded is part of that one, until the graph breaks in it.
        if let (Some(call), Some(code)) = (current(), manager::code_of(callee, vm)) {
            call.nest(code, function.clone(), fullgraph);
        }
        return callee.call(args, vm);
    }
    if runs_eagerly(vm) {
        return callee.call(args, vm);
    }
    let (base, modes_before) = (frame_mark(), modes());
    let mut args = args;
    let mut bound = manager::bind(callee, &args, vm);
    let closure = bound.as_ref().and_then(|b| b.code(vm).map(|code| closure_of(&code, &b.locals, vm)));
    let about = About { closure: closure.unwrap_or(0), ..About::new(name, namer, bound.as_ref().and_then(|b| b.globals(vm))) };
    let is_library = bound.as_ref().is_some_and(|b| b.is_of_module(vm));
    let first = Rc::new(Session::of_call(function.clone(), about, is_library, modes().grad));
    let call = Rc::new(Call::new(base, fullgraph, first.clone()));
    let recorder = recorder_of(&call);
    call.go_on(&recorder);
    if let Some(bound) = &bound {
        *first.about.verdict.borrow_mut() = function.values.at_start(bound, first.about.closure, function, vm);
    }
    let needs = first.about.verdict.borrow().needs.clone();
    if let Some(bound) = &bound {
        first.realizes(&needs, &bound.locals, vm);
    }
    // What no entry serves is traced.
    let is_served = first.about.verdict.borrow().unmet.iter().any(Vec::is_empty);
    let before = if is_served || first.skipped.get() { None } else { Before::of(callee, &args, vm) };
    let replaced = match bound.as_mut().filter(|_| !first.skipped.get()) {
        Some(bound) => manager::replace(bound, &needs, &recorder, &mut args, vm),
        None => manager::Replaced::default(),
    };
    let latest = function.cache.borrow().latest(0).and_then(|i| function.values.entry(0, i));
    if let (Some(bound), Some((_, inputs))) = (&bound, latest) {
        first.about.remembered.replace(Some(Remembered { locals: bound.locals.clone(), inputs }));
    }
    let around = Around::enter(&recorder, &call);
    let layer = Pushed::new(Rc::new(CaptureLayer(recorder.clone())));
    super::variables::nn_module::enter_root(callee, vm);
    let (tensors, holders) = ANNOUNCED.take();
    recorder.keep_inputs(&tensors, &holders).map_err(|e| raise(e, vm))?;
    let result = callee.call(args, vm);
    let has_escaped = escape::arrive(result.as_ref().err(), vm);
    if has_escaped {
        // Blocks around a `try` were not left.
        set_modes(modes_before);
    }
    let raised_in = Some(call.top()).filter(|top| result.is_err() && raises_in_trace(top, &recorder));
    super::variables::nn_module::reset();
    let mut flushed = call.leave_called(&recorder, result.is_ok());
    if !fullgraph {
        first.returns(&recorder, result.is_ok());
    }
    let mut outputs = Vec::new();
    if let Ok(value) = &result {
        returned(value, &recorder, &mut outputs, vm);
    }
    let left = add_escaped(&mut outputs, &recorder, result.as_ref().ok(), (bound.as_ref(), &needs), vm);
    if let (true, Ok(value)) = (outputs.is_empty() && !recorder.is_empty(), &result) {
        outputs.extend(lone_input(value, &recorder));
    }
    add_asked_for(&mut outputs, &recorder, vm);
    let uncaught = result.as_ref().err().and_then(|e| match has_escaped {
        true => Some(raised(e.clone())),
        false => uncaught(e, (function, first.at.get()), fullgraph, &recorder, vm),
    });
    // What Python runs of a frame that raises has written to its tensors by then.
    let is_wanted = !outputs.is_empty() || !fullgraph && recorder.mutates();
    if result.is_err() && (!is_wanted || uncaught.is_some() || call.is_refused()) {
        // An error ends the graph; nobody asks for what it computed, and where a call could not be captured, nothing is compiled.
        flushed = flushed.and_then(|()| drop_graph(&first, &recorder));
    } else if flushed.is_ok() {
        if let Some(session) = &raised_in {
            let reasons = session.about.verdict.borrow().unserved();
            note_recompiled(session.function.frame(session.at.get()), &reasons);
        }
        let compiles = result.is_ok() && !first.skipped.get();
        let computes = call.flush(&first, &recorder, &outputs, compiles);
        if let (Ok(false), true) = (&computes, compiles) {
            first.count_without_graph(true);
        }
        flushed = computes.map(|_| ());
    }
    match result.is_err() {
        // What a break refused is traced again on the next call.
        true if call.is_refused() => count_frame(false),
        true => first.count_without_graph(false),
        false => {}
    }
    drop(layer);
    around.leave();
    if let Some(bound) = &mut bound {
        replaced.restore(&mut bound.locals, vm);
    }
    left.settle(vm)?;
    let has_failed = flushed.is_err() || result.is_err() && (fullgraph || uncaught.is_some() || call.is_refused());
    // What came before a graph break was run.
    if has_failed && first.at.get() == 0 && Rc::ptr_eq(&call.top(), &first) {
        before.map_or(Ok(()), |before| before.restore(vm))?;
    }
    if let Some(error) = super::guards::filter::take_error() {
        return Err(error);
    }
    match (result, flushed) {
        (Err(e), _) => Err(match uncaught {
            Some(error) => raise(error, vm),
            None if fullgraph && !call.is_refused() => untraced(e, vm),
            None => {
                // Dynamo does not look into the frame again, unless a call is what failed: that it does not observe.
                if let Some(session) =
                    raised_in.filter(|_| !call.is_refused() && is_of_script(&e, vm) && !recorder.is_of_failed_call(&said(&e, vm)))
                {
                    session.function.skip_frame(session.at.get());
                }
                e
            }
        }),
        (Ok(_), Err(e)) => Err(raise(e, vm)),
        (Ok(value), Ok(())) => numbers_for_sizes(value, vm),
    }
}

/// Whether what runs now is traced into a graph, by a tracer or by the compiled function that is being called.
fn is_traced() -> bool {
    modes().fake || crate::aot::trace::current_tracer().is_some() || recorder::is_recording()
}

thread_local! {
    /// Tensors that are inputs of the next graph whether they are read or not, and those that hold a size.
    static ANNOUNCED: RefCell<(Vec<Tensor>, Vec<Tensor>)> = RefCell::default();
    static TAPE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Says what the next compiled call has as inputs, whether its first graph reads it or not: `tensors`, and sizes that `holders` have in
/// their second dimension. Until the next announcement, graphs are captured for the backward of that tape.
pub fn announce_inputs(tensors: Vec<Tensor>, holders: Vec<Tensor>, tape: Option<u32>) {
    ANNOUNCED.set((tensors, holders));
    TAPE.set(tape);
}

/// The tape whose backward is running, by its number in the report.
pub fn tape() -> Option<u32> {
    TAPE.get()
}

/// What records a call: it asks the call for what only the frames that run know.
fn recorder_of(call: &Rc<Call>) -> Rc<Recorder> {
    let (base, fullgraph) = (call.base, call.fullgraph);
    let surroundings = {
        let (looks, asked, breaks, calls) = (call.clone(), call.clone(), call.clone(), call.clone());
        Surroundings {
            places: Rc::new(move || instructions_above(base)),
            look_around: Rc::new(move |recorder| looks.look_around(recorder)),
            realized: Rc::new(move || asked.realized()),
            on_break: Rc::new(move |recorder, reason, source| breaks.on_break(recorder, reason, source)),
            stores_result: Rc::new(frames::stores_result),
            wants_sizes: Rc::new(move || fullgraph || switch("capture_dynamic_output_shape_ops")),
            breaks_call: Rc::new(move || calls.breaks_call()),
            wants_scalars: Rc::new(move || fullgraph || switch("capture_scalar_outputs")),
        }
    };
    let input_name = {
        let call = call.clone();
        Rc::new(move |t: &Tensor, index: usize| call.top().about.source(t, index))
    };
    let plan = {
        let call = call.clone();
        Rc::new(move |input: &InputSource, geometry: &Geometry| {
            let top = call.top();
            let at = top.code_id();
            let was_number = top.function.values.was_number(at, &input.source);
            top.function.seen.borrow().plan(at, input, geometry, top.function.dynamic(), was_number)
        })
    };
    Recorder::new(input_name, plan, surroundings)
}

/// Numbers of the graph that Python asked for and that nothing else gives.
fn add_asked_for(outputs: &mut Vec<Value>, recorder: &Recorder, vm: &VirtualMachine) {
    for number in take_unknown(vm) {
        let belongs = match &number {
            Value::Int(size) => recorder.has_size(size),
            Value::SymFloat(float) => recorder.has_float(float),
            _ => false,
        };
        if belongs && !is_known(&number, outputs) {
            outputs.push(number);
        }
    }
}

/// What Dynamo says of an error that a call under fake tensors raised, where that is not the error itself.
fn uncaught(
    e: &PyBaseExceptionRef,
    (function, place): (&CompiledFunction, usize),
    fullgraph: bool,
    recorder: &Recorder,
    vm: &VirtualMachine,
) -> Option<Error> {
    if !is_of_operators_class(e, vm) {
        return None;
    }
    let said = said(e, vm);
    // What a handler raises again is an exception like any other: Dynamo has forgotten by then that a call failed under fake tensors. It
    // gives that frame up, but not those that the frame calls.
    let is_handled = |(code, at): &(PyRef<PyCode>, u32)| resumption::is_handled(code, &decoded(code), *at);
    let passed = crate::python::traceback::passed(e);
    let forgotten = if fullgraph { passed.iter().any(is_handled) } else { passed.last().is_some_and(is_handled) };
    if forgotten {
        return None;
    }
    // A graph compiled for a tensor that is no leaf is also used for a leaf: it runs, and what refuses the write is its copy.
    let runs = said.contains("a leaf Variable that requires grad") && may_serve(function, place, recorder);
    recorder.uncaught(&said).filter(|_| !runs)
}

/// Whether an exception is of a class that operators raise.
fn is_of_operators_class(e: &PyBaseExceptionRef, vm: &VirtualMachine) -> bool {
    let classes = &vm.ctx.exceptions;
    let of_operators = [classes.runtime_error, classes.not_implemented_error, classes.index_error, classes.type_error, classes.value_error];
    of_operators.iter().any(|class| e.class().is(*class))
}

/// Whether an entry of a place was compiled for inputs that require gradients as those do that have been read so far.
fn may_serve(function: &CompiledFunction, place: usize, recorder: &Recorder) -> bool {
    let (output, cache) = (recorder.output(), function.cache.borrow());
    let have = output.inputs.borrow();
    let mut entries = (0..cache.len(place)).filter_map(|i| cache.entry(place, i));
    entries.any(|entry| entry.captured.inputs.iter().zip(&*have).all(|(want, have)| want.spec.requires_grad == have.spec.requires_grad))
}

/// Whether the script raised an exception, or Python for it: not the compiler, nor what this library lacks, nor a limit of the run.
fn is_of_script(e: &PyBaseExceptionRef, vm: &VirtualMachine) -> bool {
    let classes = &vm.ctx.exceptions;
    let home = e.class().as_object().get_attr("__module__", vm).and_then(|m| m.str(vm));
    let is_of_compiler = home.is_ok_and(|m| m.to_string_lossy().starts_with("torch."));
    let is_of_run =
        said(e, vm).contains("the playground") || [classes.memory_error, classes.recursion_error].iter().any(|c| e.class().is(*c));
    !is_of_compiler && !is_of_run && e.fast_isinstance(classes.exception_type)
}

/// What Dynamo says of an exception that nothing in a function catches, where a graph has to hold the whole function.
fn untraced(e: PyBaseExceptionRef, vm: &VirtualMachine) -> PyBaseExceptionRef {
    let classes = &vm.ctx.exceptions;
    let message = said(&e, vm);
    if !is_of_script(&e, vm) {
        return e;
    }
    if e.class().is(classes.type_error) && message.contains("SymFloat") {
        // A call that takes no symbol.
        let message = format!("TypeError when making fake tensor call\n  Explanation: {message}");
        return raise(Error::new(ErrorKind::Unsupported, message), vm);
    }
    let source = crate::python::traceback::source(&e);
    let is_recognized = || {
        let passed = crate::python::traceback::passed(&e);
        let decoded = passed.last().map(|(code, at)| (decoded(code), *at));
        decoded.is_some_and(|(decoded, at)| decoded.position(at).is_some_and(|position| decoded.raises_for_assertion(position)))
    };
    let is_assert = e.class().is(classes.assertion_error) && is_recognized();
    let reason = match e.as_object().repr(vm) {
        Ok(_) if is_assert => Unsupported::failed_assertion(),
        Ok(shown) => Unsupported::observed_exception(&shown.to_string_lossy()),
        Err(error) => return error,
    };
    raise(Error::new(ErrorKind::Unsupported, format!("{}{}", reason.text(), from_user_code(source.as_ref()))), vm)
}

/// Whether an exception is raised while a frame is traced: no entry of it passes the guards, and what runs is not the call that broke the
/// graph before.
fn raises_in_trace(session: &Session, recorder: &Recorder) -> bool {
    let place = session.at.get();
    let is_hit = session.about.verdict.borrow().unmet.iter().any(Vec::is_empty);
    !session.skipped.get() && !session.is_library && !is_hit && (place == 0 || !recorder.is_empty())
}

/// Ends a graph of which nothing is compiled.
fn drop_graph(first: &Session, recorder: &Recorder) -> Result<()> {
    let captured = recorder.end(&[])?;
    let place = first.at.get();
    let unmet = first.about.verdict.borrow().unmet.clone();
    let reasons = first.function.cache.borrow().missed(place, &captured, &unmet);
    if !reasons.is_empty() && !first.skipped.get() {
        note_recompiled(first.function.frame(place), &reasons);
    }
    captured.env.settle();
    Ok(())
}
