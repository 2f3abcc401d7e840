//! Regions that a script marks to be compiled once (`torch.compiler.nested_compile_region`), captured as calls of `invoke_subgraph`.

use std::rc::Rc;

use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObjectRef, PyResult, VirtualMachine};

use super::control_flow::flat;
use super::higher_order_ops::tensors_in;
use super::torch::name_results;
use crate::autograd::meta;
use crate::dispatch::Value;
use crate::dynamo::eval_frame::call::in_body;
use crate::dynamo::{Part, Recorder, from_user_code};
use crate::graph::Arg;
use crate::graph::regions::INVOKE_SUBGRAPH;
use crate::python::native::tensor::raise;
use crate::tensor::Tensor;

/// The operator where it is refused.
const FULL_NAME: &str = "torch.ops.higher_order.invoke_subgraph";

/// Runs a region on what is recorded, and cuts it out as a subgraph. It is captured whole, or refused.
pub fn region(recorder: &Rc<Recorder>, function: &PyObjectRef, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    let error = |e| raise(e, vm);
    let mut given = Vec::new();
    args.args.iter().for_each(|o| tensors_in(o, &mut given));
    args.kwargs.values().for_each(|o| tensors_in(o, &mut given));
    given.iter().try_for_each(|t| recorder.touch(t, false)).map_err(error)?;
    let before = recorder.known_tensors();
    let mark = recorder.mark();
    let start = recorder.position();
    let place = from_user_code(crate::span::current_source().as_ref());
    let run = || recorder.with_sizes_of_body(|| in_body(|| function.call(args, vm)));
    let (result, refused) = recorder.attempt(run);
    if let Some(reason) = refused {
        flat("uncaptured", (reason.in_operator(FULL_NAME).text() + &place,), vm)?;
    }
    let result = result?;
    let mut outputs = Vec::new();
    tensors_in(&result, &mut outputs);
    if !recorder.is_since(&mark) || outputs.is_empty() {
        return Ok(result);
    }
    refuse_shared_memory(recorder, &outputs, &before, start, place, vm)?;
    for t in recorder.kept_since(start) {
        if !outputs.iter().any(|o| o.is(&t)) {
            outputs.push(t);
        }
    }
    let returns = outputs.iter().filter_map(|t| recorder.computed_since(t, start)).map(Arg::Node).collect();
    let mut part = Part { range: start..recorder.position(), takes: Vec::new(), returns: Arg::Tuple(returns) };
    part.takes = recorder.lifted_values(&part);
    let takes = part.takes.clone();
    let requires_grad: Vec<bool> = takes.iter().map(|id| recorder.tensors_of(&[*id]).iter().any(meta::requires_grad)).collect();
    let code = function.get_attr("__code__", vm).map_or(function.get_id(), |code| code.get_id());
    let cut = recorder.cut(mark, &[part], &[]);
    let results: Vec<Value> = outputs.into_iter().map(Value::Tensor).collect();
    for body in &cut.bodies {
        let (named, name) = recorder.shared_subgraph(code, &body.graph, &requires_grad);
        let mut call = vec![Arg::Node(named), Arg::Str(name)];
        call.extend(takes.iter().filter_map(|id| cut.moved(*id)).map(Arg::Node));
        recorder.call_higher_order(INVOKE_SUBGRAPH, call, Vec::new(), &results);
    }
    name_results(recorder, &result);
    Ok(result)
}

/// Refuses a region that gives back what it is given, or the same memory twice.
fn refuse_shared_memory(
    recorder: &Recorder,
    outputs: &[Tensor],
    before: &[Tensor],
    start: usize,
    place: String,
    vm: &VirtualMachine,
) -> PyResult<()> {
    let names = recorder.shown_names();
    let name_of = |t: &Tensor| recorder.known_node(t).and_then(|id| names.get(&id)).map_or("_".to_owned(), |n| n.to_string());
    let share = |a: &Tensor, b: &Tensor| a.storage().id() == b.storage().id();
    for (i, output) in outputs.iter().enumerate() {
        let is_given = recorder.computed_since(output, start).is_none();
        let other = match outputs[..i].iter().find(|o| share(o, output)) {
            Some(other) => Some(("Output", other)),
            None => before.iter().find(|t| share(t, output)).or(is_given.then_some(output)).map(|t| ("Input", t)),
        };
        if let Some((whose, other)) = other {
            let found = format!("{whose}-to-output aliasing detected at nodes {} and {}", name_of(other), name_of(output));
            flat("refuse", (FULL_NAME, false, found, place), vm)?;
            return Ok(());
        }
    }
    Ok(())
}
