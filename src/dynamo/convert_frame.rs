//! A captured graph that has ended: looked up in the cache, compiled after a cache miss, and run; its fake tensors get their values.

use std::collections::HashMap;
use std::rc::Rc;

use web_time::Instant;

use super::backends::{Backend, backend_failed, compile_graph, freezing};
use super::cache::MOST_REASONS;
use super::cache::compiled_function::{
    CompiledFunction, count, count_frame, dynamo_error, ends_in_break, exception, forget_numbers, next_graph, note_compile_time,
    note_recompiled, reached_limit, recompile_limit, specialize_memos, stance,
};
use super::cache::found_inputs;
use super::eval_frame::call::{called_from, is_whole};
use super::eval_frame::{replay, within_trace};
use super::guards::{explain, last_call, validation};
use super::resume_functions::About;
use super::settings::{switch, switch_of};
use crate::aot::{replay_graph, with_backward_state};
use crate::dispatch::{Exclude, Key, Value};
use crate::dynamo::output_graph::captured_graph;
use crate::dynamo::output_graph::graph_arg::GraphArg;
use crate::dynamo::{Attribute, CacheEntry, CapturedGraph, CodeId, Lookup, Recorder, Runner, what_if};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::FakeValue;
use crate::python::current::emit;
use crate::python::native::tensor::replace_payload;
use crate::report::{self, Event};
use crate::shape::{SymInt, Symbol};
use crate::tensor::Tensor;

/// Ends the graph that is captured: `outputs` get their values. Gives whether it computes anything.
pub fn flush(
    function: &Rc<CompiledFunction>,
    recorder: &Recorder,
    place: usize,
    outputs: &[Value],
    about: &About,
    compiles: bool,
) -> Result<bool> {
    let (read_again, outputs): (Vec<_>, Vec<_>) = outputs.iter().cloned().partition(|o| recorder.attribute_of_input(o).is_some());
    let attributes: Vec<_> = read_again.iter().filter_map(|o| Some((o.as_tensor()?.clone(), recorder.attribute_of_input(o)?))).collect();
    let gradients = recorder.output().gradients.borrow().clone();
    let computes = run(function, recorder, place, &outputs, about, compiles)?;
    recorder.settle_gradients(&gradients);
    let _capture = Exclude::only(Key::Capture);
    for (fake, (of, attribute)) in attributes {
        let real = match attribute {
            Attribute::Data => crate::t!("detach", of)?.shallow_copy(),
            Attribute::Real => crate::t!("real", of)?,
            Attribute::Imaginary => crate::t!("imag", of)?,
        };
        replace_payload(&fake, &real);
        recorder.arrive(&fake, &real);
    }
    Ok(computes)
}

/// Runs the graph, compiled or as it is; its outputs get their values.
fn run(
    function: &Rc<CompiledFunction>,
    recorder: &Recorder,
    place: usize,
    outputs: &[Value],
    about: &About,
    compiles: bool,
) -> Result<bool> {
    let mut captured = recorder.end(outputs)?;
    let state = captured.backward_state.take();
    let env = captured.env.clone();
    let fake_tensors: Vec<Tensor> = captured.touched.iter().map(|i| i.fake_tensor.clone()).collect();
    // A graph without an operator is one where it gives something (numbers, what a break needs), or leaves another grad mode.
    let sets_mode = captured.graph.nodes().any(|node| captured_graph::sets_grad_mode(node).is_some());
    if outputs.is_empty() && !sets_mode && !captured_graph::computes(&captured.graph) {
        env.settle();
        return Ok(false);
    }
    let _capture = Exclude::only(Key::Capture);
    // The graph runs in the mode it began in; its own changes of mode are recorded in it.
    let before = crate::dispatch::modes();
    crate::dispatch::set_modes(crate::dispatch::Modes { grad: captured.grad, autocast: captured.autocast, ..before });
    let outcome = with_backward_state(state, || match within_trace::gone_through(|| run_as_it_is(&captured)) {
        Some(outputs) => outputs,
        None if compiles => run_compiled(function, captured, place, about),
        None => run_uncompiled(function, place, &captured),
    });
    env.settle();
    crate::dispatch::set_modes(before);
    for (output, value) in outputs.iter().zip(outcome?) {
        match output {
            // What was stored back is the caller's tensor itself.
            Value::Tensor(fake) if fake_tensors.iter().any(|t| t.is(fake)) => {}
            Value::Tensor(fake) => {
                let real = value.into_tensor()?;
                replace_payload(fake, &real);
                recorder.arrive(fake, &real);
            }
            // A number that only the run knew.
            Value::Int(SymInt::Sym(expr, env)) => env.learn(expr, value.int()?),
            Value::SymFloat(float) if float.hint().is_none() => {
                let held = value.into_tensor()?;
                float.env.learn_float(&float.expr, crate::aten!("_local_scalar_dense", &held)?.float()?);
            }
            Value::Opaque(_) => {
                if let (Some(condition), Value::Bool(holds)) = (output.condition(), value)
                    && let Some(env) = condition.env()
                {
                    env.learn_condition(condition.to_string(), holds);
                }
            }
            _ => {}
        }
    }
    Ok(true)
}

/// Runs a graph that has no cache entry.
fn run_uncompiled(function: &Rc<CompiledFunction>, place: usize, captured: &CapturedGraph) -> Result<Vec<Value>> {
    let outputs = run_as_it_is(captured)?;
    replay::note(function, place, None, &outputs);
    Ok(outputs)
}

/// Runs a cache entry.
fn run_entry(
    function: &Rc<CompiledFunction>,
    place: usize,
    entry: &Rc<CacheEntry>,
    inputs: &[GraphArg],
    values: &HashMap<Symbol, i64>,
) -> Result<Vec<Value>> {
    last_call::note_hit(function, place, entry, values);
    let outputs = entry.run(inputs, values)?;
    replay::note(function, place, Some(entry), &outputs);
    Ok(outputs)
}

/// Runs a graph without compiling it.
fn run_as_it_is(captured: &CapturedGraph) -> Result<Vec<Value>> {
    let hints = captured.hints();
    let mut tensors = captured.inputs.iter().map(|i| Value::Tensor(i.real.clone()));
    let mut inputs: Vec<Value> = captured
        .graph
        .placeholders()
        .filter_map(|n| match &n.meta.value {
            Some(FakeValue::Int(size)) => crate::dynamo::dynamic_shapes::value_of(size, &hints).map(Value::from),
            _ => tensors.next(),
        })
        .collect();
    replay_graph(&captured.graph, &mut inputs)
}

fn run_compiled(function: &Rc<CompiledFunction>, mut captured: CapturedGraph, place: usize, about: &About) -> Result<Vec<Value>> {
    let verdict = about.verdict.borrow().clone();
    let (stance, has_ended) = (stance(), function.ended.borrow().contains(&place));
    // Where nothing is compiled any more, nobody asks why.
    let most = if has_ended && stance != "fail_on_recompile" { 0 } else { MOST_REASONS };
    let found = function.cache.borrow().find(place, &captured, (&verdict.unmet, &verdict.others), most);
    let reasons = match found {
        Lookup::Hit(entry) => return run_entry(function, place, &entry, &captured.inputs, &entry.values(&captured)),
        Lookup::Miss(reasons) => verdict.counted(reasons),
    };
    let frame = function.frame(place);
    let listed: String = reasons.iter().map(|r| format!("\n    - {frame}/{r}")).collect();
    let triggered = if reasons.is_empty() { String::new() } else { format!("\n    triggered by the following guard failure(s):{listed}") };
    let (file, line, code_name) = about.home();
    if stance == "fail_on_recompile" {
        note_recompiled(frame, &reasons);
        return Err(Error::runtime(format!(
            "Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: '{file}', function name: '{code_name}', line number: {line}{triggered}"
        )));
    }
    if has_ended {
        last_call::note_miss(function, place, &captured, &verdict.unmet);
        emit(Event::Uncompiled { frame, span: called_from() });
    }
    if stance == "eager_on_recompile" || has_ended {
        return run_uncompiled(function, place, &captured);
    }
    if !reasons.is_empty() {
        if switch("error_on_recompile") {
            let said = format!("Recompiling function {code_name} in {file}:{line}{triggered}");
            return Err(dynamo_error("RecompileError", &said));
        }
        note_recompiled(frame, &reasons);
    }
    let entries = function.cache.borrow().len(place);
    if let Some(limit) = reached_limit(entries) {
        warn_of_limit(limit, &code_name, &file, line, &frame, &reasons);
        if is_whole() || switch("fail_on_recompile_limit_hit") {
            let why = if is_whole() { "fullgraph=True" } else { "fail_on_recompile_limit_hit" };
            return Err(dynamo_error("FailOnRecompileLimitHit", &format!("Hard failure due to {why}")));
        }
        count_frame(false);
        function.ended.borrow_mut().insert(place);
        last_call::note_miss(function, place, &captured, &verdict.unmet);
        emit(Event::Uncompiled { frame, span: called_from() });
        return run_uncompiled(function, place, &captured);
    }
    if ends_in_break() {
        forget_numbers();
    }
    for input in captured.touched.iter().filter(|i| !i.source.is_number) {
        function.seen.borrow_mut().note(CodeId { place, closure: about.closure }, &input.source, &input.real.geometry());
    }
    count_frame(false);
    count("stats", "calls_captured", captured.written().nodes().filter(|n| n.opcode == crate::graph::Opcode::Call).count());
    let inputs = captured.inputs.clone();
    if let Some(rest) = &*about.resumed.borrow() {
        rest.rename(&mut captured);
    }
    freezing::refuse_discarded(&captured)?;
    let (captured, compiled, mut reported) = compile_until_it_holds((function, place), captured, about)?;
    if compiled.is_some() && !function.is_skipped(place) {
        count("stats", "unique_graphs", 1);
    }
    // A frame is in order once its backend has compiled it and the sizes that vary are those that may.
    let violated = captured.violated_constraints().filter(|_| compiled.is_some());
    if violated.is_none() {
        count("frames", "ok", 1);
    }
    if matches!(&function.asked.backend, Backend::Named(name) if name == "inductor") {
        freezing::discard(&captured, || about.modules())?;
        // No CUDA graph is recorded of what runs on the CPU; nothing but the count says so in PyTorch either.
        if switch_of("torch._inductor.config", "triton.cudagraphs") == Some(true) {
            count("inductor", "cudagraph_skips", 1);
        }
    }
    let Some(compiled) = compiled else {
        function.skip_frame(place);
        return run_uncompiled(function, place, &captured);
    };
    if let Some(message) = violated {
        return Err(exception("torch.fx.experimental.symbolic_shapes", "ConstraintViolationError", &message));
    }
    let needs = about.verdict.borrow().needs.clone();
    let hints = captured.hints();
    let inputs: Vec<_> =
        inputs.into_iter().filter(|i| captured.inputs.iter().any(|r| r.source.source == i.source.source && r.node == i.node)).collect();
    let (facts, modules) = rustpython_vm::vm::thread::with_current_vm(|vm| {
        explain::note(&needs, vm);
        (needs.guards(vm), needs.modules(vm))
    });
    let entry = Rc::new(CacheEntry::new(reported.id, captured.without_tensors(), compiled, facts, modules));
    // Guards made while the graph was traced are known now.
    reported.guards = entry.guards();
    reported.validation = validation::validated(&entry)?;
    let asked = rustpython_vm::vm::thread::with_current_vm(|vm| last_call::facts(&needs, vm));
    reported.entry = Some(what_if::view(&entry, (frame, function.dynamic(), recompile_limit()), asked));
    emit(Event::Captured { region: reported });
    function.cache.borrow_mut().insert(place, entry.clone());
    let found = rustpython_vm::vm::thread::with_current_vm(|vm| found_inputs::found(&entry.captured, about.globals.as_ref(), vm));
    function.values.push(place, needs, found);
    run_entry(function, place, &entry, &inputs, &hints)
}

/// Compiles a graph; once more, with numbers, where floats that were to be symbols turn out to be needed as numbers. Gives nothing
/// to run where a derivative needs what only values say (a size, a number): PyTorch skips such a frame.
fn compile_until_it_holds(
    (function, place): (&CompiledFunction, usize),
    captured: CapturedGraph,
    about: &About,
) -> Result<(CapturedGraph, Option<Runner>, report::CapturedGraph)> {
    let number = next_graph();
    let reported = report::CapturedGraph {
        id: number,
        function: about.function(),
        graph: crate::graph_view::view(&captured.written()),
        guards: Vec::new(),
        entry: None,
        validation: None,
        span: None,
        tape: crate::dynamo::eval_frame::tape(),
    };
    emit(Event::Captured { region: reported.clone() });
    let start = Instant::now();
    // Numbers of inputs that are symbols no tensor takes the place of: Dynamo captures the graph again, once.
    let is_abandoned = specialize_memos(&captured.float_memos());
    let compiled = compile_graph(function, &captured, number, is_abandoned);
    note_compile_time(start.elapsed().as_secs_f64());
    // Only AOTAutograd has a graph captured again: what another backend compiled takes the floats as they are.
    let needed = captured.env.restarting_floats();
    if compiled.is_err() && needed.is_empty() && is_abandoned {
        return compile_until_it_holds((function, place), captured, about);
    }
    if needed.is_empty() {
        let compiled = match compiled {
            Err(_) if switch("suppress_errors") => {
                // Whoever compiles it next, it runs as it is.
                function.skip_frame(place);
                let graph = captured.graph.clone();
                Some(Rc::new(move |inputs| replay_graph(&graph, &mut { inputs })) as Runner)
            }
            Err(e) if matches!(e.kind, ErrorKind::DataDependent | ErrorKind::DynamicOutputShape) && !is_whole() => None,
            compiled => Some(compiled.map_err(|e| backend_failed(&function.asked.backend, e))?),
        };
        return Ok((captured, compiled, reported));
    }
    let origins: Vec<String> = needed.iter().map(|(_, origin, _)| origin.clone()).collect();
    let needs = about.verdict.borrow().needs.clone();
    about.verdict.borrow_mut().needs = Rc::new(function.values.with_numbers(&needs, &origins));
    compile_until_it_holds((function, place), captured.with_numbers(&needed), about)
}

/// What PyTorch logs where a function is not compiled again.
fn warn_of_limit((kind, limit): (&str, usize), name: &str, file: &str, line: u32, frame: &u32, reasons: &[String]) {
    let last = reasons.first().map(|r| format!("{frame}/{r}")).unwrap_or_default();
    let limited = report::RecompileLimit {
        frame: *frame,
        function: name.to_owned(),
        config: kind.to_owned(),
        limit: limit as u32,
        reason: last.clone(),
        ..report::RecompileLimit::default()
    };
    emit(Event::Limited { limit: limited });
    emit(Event::Stderr {
        text: format!(
            "torch._dynamo hit config.{kind} ({limit})\n   function: '{name}' ({file}:{line})\n   last reason: {last}\nTo log all recompilation reasons, use TORCH_LOGS=\"recompiles\".\nTo diagnose recompilation issues, see https://docs.pytorch.org/docs/main/user_guide/torch_compiler/compile/programming_model.recompilation.html\n"
        ),
    });
}
