//! Control flow captured as higher-order operators: `torch.cond`, `while_loop`, `map`, `scan`. Their functions take leaves and give
//! leaves (`torch/_higher_order_ops/_flat.py`); each is run once on what is recorded, and what it recorded is cut out as a body.

use std::rc::Rc;

use rustpython_vm::builtins::PyTuple;
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObjectRef, PyResult, VirtualMachine};

use super::higher_order_ops::{Recorded, nodes, tensors_in};
use super::torch::name_results;
use crate::autograd::{Node, gradient_edge, meta};
use crate::dispatch::{Value, modes};
use crate::dynamo::eval_frame::call::in_body;
use crate::dynamo::eval_frame::within_trace;
use crate::dynamo::tracing::symbol_number;
use crate::dynamo::{Mark, Part, Recorder, from_user_code};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Arg, NodeId};
use crate::python::native::tensor::{from_value, raise, to_tensor, to_value, wrap};
use crate::shape::SymInt;
use crate::tensor::{Dtype, Tensor, TensorSpec};

/// A function that was run on what is recorded.
pub(super) struct Traced {
    pub part: Part,
    /// What it returned: tensors, `None`, and numbers where the operator takes them.
    pub results: Vec<Value>,
}

impl Traced {
    /// The tensors that it returned; nothing where it returned something else.
    fn tensors(&self) -> Vec<Option<Tensor>> {
        self.results.iter().map(|v| v.as_tensor().cloned()).collect()
    }
}

/// Runs one of the functions of an operator. `takes` are nodes of what it is given, which its body takes first.
pub(super) fn trace(
    recorder: &Rc<Recorder>,
    mark: &Mark,
    (name, function): (&str, &PyObjectRef),
    args: Vec<PyObjectRef>,
    takes: Vec<NodeId>,
    vm: &VirtualMachine,
) -> PyResult<Traced> {
    let error = |e: Error| raise(e, vm);
    let start = recorder.position();
    let own: Vec<Tensor> = args.iter().filter_map(|o| to_tensor(o)).collect();
    let before: Vec<(Tensor, u64)> = recorder.known_tensors().into_iter().chain(own).map(|t| (t.clone(), t.version())).collect();
    // A loop may carry numbers, which are computed in the body that returns them.
    let takes_number =
        |leaf: &Value| name == "while_loop" && (leaf.condition().is_some() || matches!(leaf, Value::Int(_) | Value::Bool(_)));
    let run = || -> PyResult<(Vec<Value>, Vec<Arg>)> {
        let returned = in_body(|| function.call(FuncArgs::from(args), vm))?;
        if !recorder.is_since(mark) {
            flat("uncaptured", (format!("a graph ends in a function of {name}"),), vm)?;
        }
        let leaves = returned.downcast_ref::<PyTuple>().map(|t| t.as_slice().to_vec()).unwrap_or_default();
        // Leaves of a container are variables of the function that takes it apart.
        let is_nested = function.get_attr("is_nested", vm)?.is(&vm.ctx.true_value);
        let (mut results, mut nodes) = (Vec::new(), Vec::new());
        for leaf in &leaves {
            let value = to_value(leaf, vm).filter(|v| v.is_none() || v.as_tensor().is_some() || takes_number(v));
            let Some(value) = value else {
                let said = leaf.repr(vm)?.to_string_lossy().into_owned();
                return Err(error(Error::type_error(format!("Expected functions of {name} to return tensors, but got {said}"))));
            };
            nodes.push(match &value {
                Value::Tensor(t) => {
                    if is_nested {
                        recorder.name_argument(t, "child");
                    }
                    recorder.node_of(t).map(Arg::Node).map_err(error)?
                }
                other => recorder.argument(other).map_err(error)?,
            });
            results.push(value);
        }
        Ok((results, nodes))
    };
    let (results, returned) = recorder.with_sizes_of_body(run)?;
    let traced = Traced { part: Part { range: start..recorder.position(), takes, returns: Arg::Tuple(returned) }, results };
    // A function of an attention may give back what it is given.
    if name != "flex_attention" {
        check_memory(recorder, name, &traced, &before, vm)?;
    }
    Ok(traced)
}

/// What the operators are called where one is refused.
fn full_name(name: &str) -> &str {
    match name {
        "Cond" => "torch.cond",
        "while_loop" => "torch.while_loop",
        "map" => "torch.ops.higher_order.map_impl",
        _ => "torch.ops.higher_order.scan",
    }
}

/// Calls a function of `torch/_higher_order_ops/_flat.py`.
pub(super) fn flat(function: &'static str, args: impl rustpython_vm::function::IntoFuncArgs, vm: &VirtualMachine) -> PyResult<()> {
    crate::python::native::calls::imported("torch._higher_order_ops._flat", vm)?.get_attr(function, vm)?.call(args, vm).map(drop)
}

/// A function may not write to what it is given or reads from outside, and none of that nor of what it gives may share memory: a call
/// is one operator, whose arguments and results are values. Where no gradients are computed `torch.cond` may have both, the others writes.
fn check_memory(recorder: &Recorder, name: &str, traced: &Traced, before: &[(Tensor, u64)], vm: &VirtualMachine) -> PyResult<()> {
    let (part, is_free) = (&traced.part, !modes().grad);
    let ids: Vec<NodeId> = part.takes.iter().copied().chain(recorder.free_values(part)).collect();
    // Inputs of the body alone are among what was there before.
    let own = before.iter().map(|(t, _)| t.clone()).filter(|t| recorder.known_node(t).is_some_and(|id| part.takes.contains(&id)));
    let mut given: Vec<Tensor> = Vec::new();
    for t in own.chain(recorder.tensors_of(&ids)).map(|t| recorder.seen(&t)) {
        if !given.iter().any(|g| g.is(&t)) {
            given.push(t);
        }
    }
    let names = recorder.shown_names();
    let name_of = |t: &Tensor| recorder.known_node(t).and_then(|id| names.get(&id)).map_or("_".to_owned(), |n| n.to_string());
    let refuse = |is_write: bool, found: String| {
        let place = from_user_code(crate::span::current_source().as_ref());
        flat("refuse", (full_name(name), is_write, found, place), vm)
    };
    let is_written = |t: &&Tensor| before.iter().find(|(b, _)| b.is(t)).map_or(0, |(_, version)| *version) != t.version();
    let written: Vec<String> = given.iter().filter(is_written).map(name_of).collect();
    if !written.is_empty() && !is_free {
        refuse(true, format!("Input mutation detected at [{}]", written.join(", ")))?;
    }
    if !written.is_empty() {
        let said =
            format!("{}: a function that writes to what it is given is not supported where no gradients are computed", full_name(name));
        return Err(raise(Error::new(ErrorKind::NotImplemented, said), vm));
    }
    if is_free && name == "Cond" {
        return Ok(());
    }
    let results: Vec<Tensor> = traced.results.iter().filter_map(Value::as_tensor).map(|t| recorder.seen(t)).collect();
    let share = |a: &Tensor, b: &Tensor| a.storage().id() == b.storage().id();
    let pair =
        |all: &[Tensor]| (1..all.len()).find_map(|i| all[..i].iter().find(|a| share(a, &all[i])).map(|a| (name_of(a), name_of(&all[i]))));
    if let Some((a, b)) = pair(&given) {
        return refuse(false, format!("Input-to-input aliasing detected at nodes {a} and {b}"));
    }
    if let Some((a, b)) = pair(&results) {
        return refuse(false, format!("Output-to-output aliasing detected at nodes {a} and {b}"));
    }
    let through: Vec<String> =
        given.iter().filter_map(|i| results.iter().rfind(|o| share(i, o)).map(|o| format!("{} and {}", name_of(i), name_of(o)))).collect();
    match through.is_empty() {
        true => Ok(()),
        false => refuse(false, format!("Input-to-output aliasing detected at nodes {}", through.join(", "))),
    }
}

/// Values that the bodies read from outside, as the operator takes them: those that all of them read, then those of each, by name.
fn lifted(recorder: &Recorder, traced: &[Traced]) -> Vec<NodeId> {
    let names = recorder.shown_names();
    let by_name = |mut ids: Vec<NodeId>| {
        ids.sort_by(|a, b| names.get(a).cmp(&names.get(b)));
        ids
    };
    let free: Vec<Vec<NodeId>> = traced.iter().map(|t| recorder.lifted_values(&t.part)).collect();
    let in_all = |id: &NodeId| free.iter().all(|ids| ids.contains(id));
    let mut all = by_name(free.first().into_iter().flatten().copied().filter(in_all).collect());
    for ids in &free {
        let own = ids.iter().copied().filter(|id| !all.contains(id)).collect();
        all.extend(by_name(own));
    }
    all
}

/// What a body is given anew in each call, as it looks in all of them.
pub(super) enum Carried {
    /// A tensor.
    Tensor(TensorSpec),
    /// An integer, as it is said where the loop begins.
    Number(String),
}

impl Carried {
    fn of(recorder: &Recorder, value: &Value) -> Self {
        match value {
            Value::Tensor(t) => Carried::Tensor(recorder.seen(t).spec()),
            Value::Int(number) => Carried::Number(number.to_string()),
            _ => Carried::Number("a number".to_owned()),
        }
    }
}

/// Fresh inputs of a body that look like these, with their nodes.
pub(super) fn fresh(
    recorder: &Recorder,
    like: &[Carried],
    given: &mut Vec<NodeId>,
    vm: &VirtualMachine,
) -> PyResult<(Vec<PyObjectRef>, Vec<NodeId>)> {
    let (mut made, mut ids) = (Vec::new(), Vec::new());
    for carried in like {
        match carried {
            Carried::Tensor(spec) => {
                let t = Tensor::fake(spec).map_err(|e| raise(e, vm))?;
                ids.push(recorder.given("child", &t));
                made.push(wrap(&t, vm)?);
            }
            Carried::Number(_) => {
                let (number, id) = recorder.given_number();
                ids.push(id);
                made.push(from_value(Value::Int(number), vm)?);
            }
        }
    }
    given.extend(&ids);
    Ok((made, ids))
}

/// The tensors among leaves; a body that takes something else as an input of its own is refused.
fn tensors(leaves: &[PyObjectRef], vm: &VirtualMachine) -> PyResult<Vec<Tensor>> {
    leaves.iter().map(|o| to_tensor(o).ok_or_else(|| vm.new_type_error("Expected a tensor"))).collect()
}

/// The fake tensor that a call gives for what its body returned.
fn result_like(t: &Option<Tensor>, spec: impl Fn(&Tensor) -> Result<TensorSpec>) -> Result<Value> {
    t.as_ref().map(|t| Tensor::fake(&spec(t)?)).transpose().map(Value::from)
}

/// A recorded operator whose results are still to be given to the script.
pub(super) struct Made<'a> {
    pub recorder: &'a Recorder,
    pub name: &'a str,
    /// What has a derivative through it.
    pub operands: Vec<Tensor>,
    pub results: Vec<Value>,
}

impl Made<'_> {
    /// Gives the results as the script's function would: with a history, in its containers, under its names.
    pub(super) fn give(self, together: &PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let Made { recorder, name, operands, results } = self;
        if modes().grad && operands.iter().any(meta::requires_grad) {
            let edges = operands.iter().map(gradient_edge).collect::<Result<Vec<_>>>().map_err(|e| raise(e, vm))?;
            let node = Node::new(format!("{name}AutogradOpBackward"), edges, Box::new(Recorded(name.to_lowercase())));
            let differentiable = |t: &&Tensor| t.dtype().is_floating() || t.dtype().is_complex();
            results.iter().filter_map(Value::as_tensor).filter(differentiable).for_each(|t| meta::set_history(t, &node));
        }
        let wrapped = results.into_iter().map(|value| from_value(value, vm)).collect::<PyResult<Vec<_>>>()?;
        let result = together.call((vm.ctx.new_tuple(wrapped),), vm)?;
        name_results(recorder, &result);
        Ok(result)
    }
}

/// What both branches of `torch.cond` give looks the same. Sizes that differ would be known to the run alone.
fn check_branches(yes: &[Option<Tensor>], no: &[Option<Tensor>]) -> Result<()> {
    for (a, b) in yes.iter().flatten().zip(no.iter().flatten()) {
        let differs = [
            ("dtype", a.dtype() != b.dtype(), a.dtype().to_string(), b.dtype().to_string()),
            ("dim", a.dim() != b.dim(), a.dim().to_string(), b.dim().to_string()),
        ];
        if let Some((what, _, a, b)) = differs.into_iter().find(|(_, differs, ..)| *differs) {
            return Err(Error::new(
                ErrorKind::TorchRuntime,
                format!(
                    "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node with fake tensors: call_function cond: got RuntimeError(\"When merging two branches' output in torch.cond,  expected same {what} but got {a} and {b}.\")"
                ),
            ));
        }
        if !a.sizes().iter().zip(b.sizes()).all(|(x, y)| x.statically_eq(y.clone())) {
            return Err(Error::new(ErrorKind::NotImplemented, "torch.cond: branches whose results differ in size are not supported yet"));
        }
    }
    Ok(())
}

/// Nodes of the symbolic sizes that the operands have in a trace that goes through this graph later, in the order in which Dynamo hands
/// them in: that of their symbols' names. An exported program hands in none.
fn sizes_of_trace(recorder: &Recorder, operands: &[Tensor]) -> Vec<NodeId> {
    if !within_trace::hands_in_sizes() {
        return Vec::new();
    }
    let mut named: Vec<(String, NodeId, usize, SymInt)> = Vec::new();
    for (i, t) in operands.iter().enumerate() {
        let Some(node) = recorder.known_node(t) else { continue };
        for (d, size) in t.sizes().iter().enumerate().filter(|(_, size)| size.as_int().is_none()) {
            // The fourth argument of the call that PyTorch captures.
            let name = format!("s{}", symbol_number(&format!("L['args'][3][{i}].size()[{d}]")));
            named.push((name, node, d, size.clone()));
        }
    }
    named.sort_by(|a, b| a.0.cmp(&b.0));
    named.iter().map(|(_, node, d, size)| recorder.size_of_input(*node, *d, size)).collect()
}

/// Records `torch.cond`.
pub fn cond(
    recorder: &Rc<Recorder>,
    predicate: &PyObjectRef,
    branches: [&PyObjectRef; 2],
    operands: &[PyObjectRef],
    together: &PyObjectRef,
    vm: &VirtualMachine,
) -> PyResult {
    let error = |e: Error| raise(e, vm);
    let chooser = to_value(predicate, vm).filter(|v| v.as_tensor().is_some() || v.condition().is_some());
    let chooser = chooser.ok_or_else(|| vm.new_type_error("Expected pred to be a tensor"))?;
    let mut given = Vec::new();
    operands.iter().for_each(|o| tensors_in(o, &mut given));
    given.iter().try_for_each(|t| recorder.node_of(t).map(drop)).map_err(error)?;
    let outer = sizes_of_trace(recorder, &given);
    let chooser = match &chooser {
        Value::Tensor(t) => recorder.node_of(t).map(Arg::Node),
        condition => recorder.argument(condition),
    };
    let chooser = chooser.map_err(error)?;
    let mark = recorder.mark();
    let mut traced = Vec::new();
    for branch in branches {
        traced.push(trace(recorder, &mark, ("Cond", branch), operands.to_vec(), Vec::new(), vm)?);
    }
    if let [yes, no] = traced.as_slice()
        && yes.results.len() != no.results.len()
    {
        together.call((vm.ctx.new_tuple(Vec::new()),), vm)?;
    }
    check_branches(&traced[0].tensors(), &traced[1].tensors()).map_err(error)?;
    let mut all = lifted(recorder, &traced);
    all.extend(outer);
    traced.iter_mut().for_each(|t| t.part.takes = all.clone());
    let first = traced.swap_remove(0);
    let results: Vec<_> = first.tensors().iter().map(|t| result_like(t, |t| Ok(t.spec()))).collect::<Result<_>>().map_err(error)?;
    let operands: Vec<Tensor> = recorder.tensors_of(&all);
    let parts: Vec<Part> = std::iter::once(first).chain(traced).map(|t| t.part).collect();
    let cut = recorder.cut(mark, &parts, &[]);
    if let [yes, no] = cut.bodies.as_slice() {
        let mut call = vec![chooser];
        call.push(Arg::Node(recorder.subgraph("cond_true", yes.graph.clone())));
        call.push(Arg::Node(recorder.subgraph("cond_false", no.graph.clone())));
        call.push(Arg::Tuple(nodes(all.iter().filter_map(|id| cut.moved(*id)))));
        recorder.call_higher_order("cond", call, Vec::new(), &results);
    }
    Made { recorder, name: "Cond", operands, results }.give(together, vm)
}

/// Records `while_loop`. Numbers that are carried are known to the run alone.
pub fn while_loop(
    recorder: &Rc<Recorder>,
    functions: [&PyObjectRef; 2],
    carried: &[PyObjectRef],
    together: &PyObjectRef,
    vm: &VirtualMachine,
) -> PyResult {
    let error = |e: Error| raise(e, vm);
    let values: Vec<Value> = carried.iter().map(|o| to_value(o, vm).unwrap_or_default()).collect();
    let mut first = Vec::new();
    for value in &values {
        first.push(match value {
            Value::Tensor(t) => {
                let node = recorder.node_of(t).map_err(error)?;
                recorder.name_argument(t, "child");
                Arg::Node(node)
            }
            other => recorder.argument(other).map_err(error)?,
        });
    }
    let specs: Vec<Carried> = values.iter().map(|v| Carried::of(recorder, v)).collect();
    let mark = recorder.mark();
    let (mut given, mut traced) = (Vec::new(), Vec::new());
    for function in functions {
        let (args, takes) = fresh(recorder, &specs, &mut given, vm)?;
        traced.push(trace(recorder, &mark, ("while_loop", function), args, takes, vm)?);
    }
    let [decides, body] = traced.as_mut_slice() else { return Err(error(Error::runtime("while_loop takes two functions"))) };
    // What decides is one value, in no tuple.
    let Arg::Tuple(returned) = &mut decides.part.returns else { return Err(error(Error::runtime("a body returns a tuple"))) };
    let ([goes_on], 1) = (decides.results.as_slice(), returned.len()) else {
        return Err(error(Error::runtime("cond_fn must return a boolean scalar tensor or a boolean")));
    };
    if !is_decision(goes_on) {
        return Err(error(Error::runtime("Expected cond_fn to return a scalar tensor or a bool")));
    }
    decides.part.returns = returned.swap_remove(0);
    let given_back: Vec<Carried> = body.results.iter().map(|v| Carried::of(recorder, v)).collect();
    check_carried("while_loop", ["body_fn_output", "carried_inputs"], &given_back, &specs, vm)?;
    let result = |spec: &Carried| match spec {
        Carried::Tensor(spec) => Tensor::fake(spec).map(Value::Tensor),
        Carried::Number(_) => Ok(Value::Int(recorder.number_of_run("while_loop"))),
    };
    let more = lifted(recorder, &traced);
    traced.iter_mut().for_each(|t| t.part.takes.extend(&more));
    let mut operands: Vec<Tensor> = values.iter().filter_map(Value::as_tensor).cloned().collect();
    operands.extend(recorder.tensors_of(&more));
    if specs.iter().any(|spec| matches!(spec, Carried::Number(_))) && modes().grad && operands.iter().any(meta::requires_grad) {
        return Err(error(no_gradient_of_numbers(&specs)));
    }
    let results = given_back.iter().map(result).collect::<Result<Vec<_>>>().map_err(error)?;
    let parts: Vec<Part> = traced.into_iter().map(|t| t.part).collect();
    let cut = recorder.cut(mark, &parts, &given);
    if let [decides, body] = cut.bodies.as_slice() {
        let names = ["cond_fn", "body_fn"].map(|name| (name, if name == "cond_fn" { decides } else { body }));
        let mut call: Vec<Arg> = names.into_iter().map(|(name, b)| Arg::Node(recorder.subgraph(name, b.graph.clone()))).collect();
        call.push(Arg::Tuple(first));
        call.push(Arg::Tuple(nodes(more.iter().filter_map(|id| cut.moved(*id)))));
        recorder.call_higher_order("while_loop", call, Vec::new(), &results);
    }
    Made { recorder, name: "WhileLoop", operands, results }.give(together, vm)
}

/// Whether a function decides on a value: one boolean, of a tensor or of numbers.
fn is_decision(value: &Value) -> bool {
    match value {
        Value::Tensor(t) => t.dim() == 0 && t.dtype() == Dtype::Bool,
        other => other.condition().is_some() || matches!(other, Value::Bool(_)),
    }
}

/// A loop that carries numbers has no derivative: what every step gave would have to be stacked.
fn no_gradient_of_numbers(carried: &[Carried]) -> Error {
    let class = |c: &Carried| match c {
        Carried::Tensor(_) => "<class 'torch._subclasses.fake_tensor.FakeTensor'>",
        Carried::Number(_) => "<class 'int'>",
    };
    let classes: Vec<&str> = carried.iter().map(class).collect();
    Error::new(
        ErrorKind::TorchRuntime,
        format!(
            "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node with fake tensors: call_function while_loop: got AssertionError(\"all carried_inputs must be tensors for stack_output, got [{}]\")",
            classes.join(", ")
        ),
    )
}

/// Records `map`: the function is run on the first row of each of the tensors.
pub fn map(
    recorder: &Rc<Recorder>,
    function: &PyObjectRef,
    rows: &[PyObjectRef],
    others: &[PyObjectRef],
    together: &PyObjectRef,
    vm: &VirtualMachine,
) -> PyResult {
    let error = |e: Error| raise(e, vm);
    let mapped = tensors(rows, vm)?;
    mapped.iter().try_for_each(|t| recorder.node_of(t).map(drop)).map_err(error)?;
    let mut positional = Vec::new();
    for t in others.iter().filter_map(|o| to_tensor(o)) {
        positional.push(recorder.node_of(&t).map_err(error)?);
        recorder.name_argument(&t, "child");
    }
    let mark = recorder.mark();
    let mut given = Vec::new();
    let specs: Vec<Carried> = mapped.iter().map(|t| Carried::Tensor(row_of(&recorder.seen(t), false))).collect();
    let (mut args, mut takes) = fresh(recorder, &specs, &mut given, vm)?;
    args.extend(others.iter().cloned());
    takes.extend(&positional);
    let mut traced = trace(recorder, &mark, ("map", function), args, takes, vm)?;
    let free = recorder.lifted_values(&traced.part);
    traced.part.takes.extend(&free);
    let in_rows = |t: &Tensor| rows_of(t, &recorder.seen(&mapped[0]));
    let results: Vec<_> = traced.tensors().iter().map(|t| result_like(t, in_rows)).collect::<Result<_>>().map_err(error)?;
    positional.extend(free);
    let mut operands = mapped.clone();
    operands.extend(recorder.tensors_of(&positional));
    let cut = recorder.cut(mark, &[traced.part], &given);
    for body in &cut.bodies {
        let call = vec![
            Arg::Node(recorder.subgraph("map_body", body.graph.clone())),
            Arg::List(nodes(mapped.iter().filter_map(|t| recorder.known_node(t)))),
            Arg::List(nodes(positional.iter().filter_map(|id| cut.moved(*id)))),
        ];
        recorder.call_higher_order("map_impl", call, Vec::new(), &results);
    }
    Made { recorder, name: "Map", operands, results }.give(together, vm)
}

/// Records `scan`: the function is run on what is carried first and the first row of each of the tensors.
pub fn scan(
    recorder: &Rc<Recorder>,
    function: &PyObjectRef,
    first: &[PyObjectRef],
    rows: &[PyObjectRef],
    together: &PyObjectRef,
    vm: &VirtualMachine,
) -> PyResult {
    let error = |e: Error| raise(e, vm);
    let (carried, scanned) = (tensors(first, vm)?, tensors(rows, vm)?);
    carried.iter().chain(&scanned).try_for_each(|t| recorder.node_of(t).map(drop)).map_err(error)?;
    let starts = || carried.iter().map(|t| Carried::Tensor(recorder.seen(t).spec()));
    let specs: Vec<Carried> = starts().chain(scanned.iter().map(|t| Carried::Tensor(row_of(&recorder.seen(t), true)))).collect();
    let mark = recorder.mark();
    let mut given = Vec::new();
    let (args, takes) = fresh(recorder, &specs, &mut given, vm)?;
    let mut traced = trace(recorder, &mark, ("scan", function), args, takes, vm)?;
    let given_back = traced.tensors();
    if given_back.len() < carried.len() {
        return Err(error(Error::runtime("Expect combine_fn to return a tuple (next_carry, y)")));
    }
    let (carries, given_rows) = given_back.split_at(carried.len());
    check_carried("scan", ["init", "carry"], &starts().collect::<Vec<_>>(), &specs_of(carries), vm)?;
    let mut results: Vec<_> = carries.iter().map(|t| result_like(t, |t| Ok(t.spec()))).collect::<Result<_>>().map_err(error)?;
    for t in given_rows {
        results.push(result_like(t, |t| rows_of(t, &recorder.seen(&scanned[0]))).map_err(error)?);
    }
    let free = recorder.lifted_values(&traced.part);
    traced.part.takes.extend(&free);
    if let Arg::Tuple(items) = traced.part.returns {
        traced.part.returns = Arg::List(items);
    }
    let operands: Vec<Tensor> = carried.iter().chain(&scanned).cloned().chain(recorder.tensors_of(&free)).collect();
    let cut = recorder.cut(mark, &[traced.part], &given);
    let known = |all: &[Tensor]| Arg::List(nodes(all.iter().filter_map(|t| recorder.known_node(t))));
    for body in &cut.bodies {
        let call = vec![
            Arg::Node(recorder.subgraph("scan_combine_fn", body.graph.clone())),
            known(&carried),
            known(&scanned),
            Arg::List(nodes(free.iter().filter_map(|id| cut.moved(*id)))),
        ];
        recorder.call_higher_order("scan", call, Vec::new(), &results);
    }
    Made { recorder, name: "Scan", operands, results }.give(together, vm)
}

/// What the first row of a tensor looks like: as it stands, or copied.
fn row_of(t: &Tensor, copied: bool) -> TensorSpec {
    let spec = t.spec();
    let (sizes, strides) = (spec.geometry.sizes[1..].to_vec(), spec.geometry.strides[1..].to_vec());
    match copied {
        true => TensorSpec::contiguous(sizes, spec.dtype, spec.device),
        false => TensorSpec::strided(sizes, strides, spec.dtype, spec.device),
    }
}

/// What copies of a tensor in rows look like, as many as another tensor has.
fn rows_of(t: &Tensor, like: &Tensor) -> Result<TensorSpec> {
    let mut sizes = vec![like.size(0)];
    sizes.extend(t.sizes());
    Ok(TensorSpec::contiguous(sizes, t.dtype(), t.device()))
}

fn specs_of(tensors: &[Option<Tensor>]) -> Vec<Carried> {
    tensors.iter().flatten().map(|t| Carried::Tensor(t.spec())).collect()
}

/// The same where nothing is captured, of the leaves of what a function was given and gave.
pub fn check_leaves(operator: &str, names: [&str; 2], left: &[PyObjectRef], right: &[PyObjectRef], vm: &VirtualMachine) -> PyResult<()> {
    let looks = |leaves: &[PyObjectRef]| {
        let look = |o: &PyObjectRef| match to_tensor(o) {
            Some(t) => Ok(Carried::Tensor(t.spec())),
            None => o.repr(vm).map(|shown| Carried::Number(shown.to_string_lossy().into_owned())),
        };
        leaves.iter().map(look).collect::<PyResult<Vec<_>>>()
    };
    check_carried(operator, names, &looks(left)?, &looks(right)?, vm)
}

/// What is carried from one call to the next looks the same.
fn check_carried(operator: &str, names: [&str; 2], left: &[Carried], right: &[Carried], vm: &VirtualMachine) -> PyResult<()> {
    let sizes = |s: &TensorSpec| {
        let sizes: Vec<String> = s.geometry.sizes.iter().map(ToString::to_string).collect();
        sizes.join(", ")
    };
    let shown = |carried: &Carried| {
        let s = match carried {
            Carried::Tensor(spec) => spec,
            Carried::Number(number) => return number.clone(),
        };
        let comma = if s.geometry.sizes.len() == 1 { "," } else { "" };
        let dtype = if s.dtype == Dtype::Float32 { String::new() } else { format!(", dtype={}", s.dtype) };
        format!("FakeTensor(..., size=({}{comma}){dtype})", sizes(s))
    };
    let same = |x: &[SymInt], y: &[SymInt]| x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.statically_eq(y.clone()));
    let tuple = |numbers: &[SymInt]| match numbers {
        [one] => format!("({one},)"),
        several => format!("({})", several.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    };
    let mut found = Vec::new();
    for (i, (left, right)) in left.iter().zip(right).enumerate() {
        let (a, b) = match (left, right) {
            (Carried::Tensor(a), Carried::Tensor(b)) => (a, b),
            (Carried::Number(_), Carried::Number(_)) => continue,
            _ => {
                let (a, b) = (shown(left), shown(right));
                found.push(format!("pair[{i}] differ in type: {a} vs {b}, where lhs is {a} and rhs is {b}"));
                continue;
            }
        };
        let (x, y) = (&a.geometry.sizes, &b.geometry.sizes);
        let differs = [
            (!same(x, y), format!("shape: torch.Size([{}]) vs torch.Size([{}])", sizes(a), sizes(b))),
            (a.dtype != b.dtype, format!("dtype: {} vs {}", a.dtype, b.dtype)),
            (
                !same(&a.geometry.strides, &b.geometry.strides),
                format!("stride: {} vs {}", tuple(&a.geometry.strides), tuple(&b.geometry.strides)),
            ),
            (a.device != b.device, format!("device: {} vs {}", a.device, b.device)),
        ];
        let differs: Vec<String> = differs.into_iter().filter(|(differs, _)| *differs).map(|(_, said)| format!("'{said}'")).collect();
        if !differs.is_empty() {
            found.push(format!("pair[{i}] differ in {}, where lhs is {} and rhs is {}", differs.join(", "), shown(left), shown(right)));
        }
    }
    let [first, second] = names;
    let all = |carried: &[Carried]| carried.iter().map(shown).collect::<Vec<_>>().join(", ");
    let differ = match (left.len() == right.len(), found.is_empty()) {
        (true, true) => return Ok(()),
        (true, false) => format!("same metadata but found:\n{}", found.join("\n")),
        (false, _) => format!("same number of outputs but got lhs:[{}] and rhs:[{}]", all(left), all(right)),
    };
    let said = format!("Expected {first} and {second} to have {differ}\n  Higher Order Operator: {}", full_name(operator));
    let place = from_user_code(crate::span::current_source().as_ref());
    let class = crate::python::native::calls::imported("torch._dynamo.exc", vm)?.get_attr("UncapturedHigherOrderOpError", vm)?;
    match class.call((format!("{said}{place}"),), vm)?.downcast() {
        Ok(exception) => Err(exception),
        Err(_) => Ok(()),
    }
}
