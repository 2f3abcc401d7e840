//! Regions that a script marks to be compiled once (`torch.compiler.nested_compile_region`), captured as calls of `invoke_subgraph`. Calls
//! of one function that compute the same of inputs that look the same share a subgraph; one that a single call has stands in its place.

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
use crate::graph::regions::{INVOKE_SUBGRAPH, identifier, inline, is_same_computation};
use crate::graph::{Arg, Graph, NodeId, Opcode};
use crate::python::native::tensor::raise;
use crate::tensor::Tensor;

/// A subgraph that calls may share.
pub(in crate::dynamo) struct Region {
    /// The code that it is a call of.
    code: usize,
    /// Its subgraph, and the name of that.
    body: Graph,
    name: Rc<str>,
    /// Which of its inputs require grad.
    requires_grad: Vec<bool>,
}

/// The operator where it is refused.
const FULL_NAME: &str = "torch.ops.higher_order.invoke_subgraph";

/// Runs a region on what is recorded, and cuts it out as a subgraph. It is captured whole, or refused. One that writes to what is outside
/// of it stays part of the graph.
pub fn region(recorder: &Rc<Recorder>, function: &PyObjectRef, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    let error = |e| raise(e, vm);
    let mut given = Vec::new();
    args.args.iter().for_each(|o| tensors_in(o, &mut given));
    args.kwargs.values().for_each(|o| tensors_in(o, &mut given));
    given.iter().try_for_each(|t| recorder.touch(t, false)).map_err(error)?;
    let before: Vec<(Tensor, u64)> = recorder.known_tensors().into_iter().map(|t| (t.clone(), t.version())).collect();
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
    let writes = before.iter().any(|(t, version)| t.version() != *version);
    if !recorder.is_since(&mark) || writes || outputs.is_empty() {
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
    before: &[(Tensor, u64)],
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
            None => before.iter().map(|(t, _)| t).find(|t| share(t, output)).or(is_given.then_some(output)).map(|t| ("Input", t)),
        };
        if let Some((whose, other)) = other {
            let found = format!("{whose}-to-output aliasing detected at nodes {} and {}", name_of(other), name_of(output));
            flat("refuse", (FULL_NAME, false, found, place), vm)?;
            return Ok(());
        }
    }
    Ok(())
}

impl Recorder {
    /// The node that names the subgraph of a region, and the name: that of an earlier call where it computes the same.
    fn shared_subgraph(&self, code: usize, body: &Graph, requires_grad: &[bool]) -> (NodeId, Rc<str>) {
        let output = self.output();
        let is_it = |r: &&Region| r.code == code && r.requires_grad == requires_grad && is_same_computation(&r.body, body);
        let known = output.regions.borrow().iter().find(is_it).map(|region| region.name.clone());
        let name = known.unwrap_or_else(|| {
            let name: Rc<str> = format!("subgraph_{}", output.regions.borrow().len()).into();
            let region = Region { code, body: body.clone(), name: name.clone(), requires_grad: requires_grad.to_vec() };
            output.regions.borrow_mut().push(region);
            name
        });
        // One that was met in another body is no subgraph of this graph yet.
        let is_there = output.graph.borrow().subgraphs.iter().any(|(known, _)| *known == name);
        if !is_there {
            output.graph.borrow_mut().subgraphs.push((name.clone(), body.clone()));
        }
        (self.names_subgraph(&name), name)
    }
}

/// Regions that a single call has stand in its place.
pub(in crate::dynamo) fn inline_single_calls(graph: &mut Graph) {
    let calls: Vec<(NodeId, Rc<str>)> = graph.nodes().filter_map(|n| Some((n.id, identifier(n)?.clone()))).collect();
    for (call, name) in &calls {
        if calls.iter().filter(|(_, other)| other == name).count() == 1 {
            inline(graph, *call);
        }
    }
    let named: Vec<String> = graph.nodes().filter(|n| n.opcode == Opcode::GetAttr).map(|n| n.target.text()).collect();
    let singles = |name: &Rc<str>| calls.iter().any(|(_, of)| of == name) && !named.iter().any(|n| *n == **name);
    graph.subgraphs.retain(|(name, _)| !singles(name));
}
