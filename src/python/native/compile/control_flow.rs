//! Control flow captured as higher-order operators: `torch.cond`, `while_loop`, `map`, `scan`. Their functions take leaves and give
//! leaves (`torch/_higher_order_ops/_flat.py`); each is run once on what is recorded, and what it recorded is cut out as a body.

use std::rc::Rc;

use rustpython_vm::builtins::PyTuple;
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObjectRef, PyResult, VirtualMachine};

use super::bodies::{Recorded, nodes, tensors_in};
use super::call::in_body;
use super::written::name_results;
use crate::autograd::{Node, gradient_edge, meta};
use crate::capture::{Mark, Part, Recorder};
use crate::dispatch::modes;
use crate::error::{Error, Result};
use crate::graph::{Arg, NodeId};
use crate::python::native::tensor::{raise, to_tensor, wrap};
use crate::tensor::{Tensor, TensorSpec};

/// A function that was run on what is recorded.
struct Traced {
    part: Part,
    /// What it returned; nothing where it returned `None`.
    results: Vec<Option<Tensor>>,
}

/// Runs one of the functions of an operator. `takes` are nodes of what it is given, which its body takes first.
fn trace(
    recorder: &Rc<Recorder>,
    mark: &Mark,
    (name, function): (&str, &PyObjectRef),
    args: Vec<PyObjectRef>,
    takes: Vec<NodeId>,
    vm: &VirtualMachine,
) -> PyResult<Traced> {
    let error = |e: Error| raise(e, vm);
    let start = recorder.position();
    let returned = in_body(|| function.call(FuncArgs::from(args), vm))?;
    if !recorder.is_since(mark) {
        return Err(error(Error::runtime(format!("{name} doesn't work unless it is captured completely with torch.compile"))));
    }
    let leaves = returned.downcast_ref::<PyTuple>().map(|t| t.as_slice().to_vec()).unwrap_or_default();
    // Leaves of a container are variables of the function that takes it apart.
    let is_nested = function.get_attr("is_nested", vm)?.is(&vm.ctx.true_value);
    let mut results = Vec::new();
    for leaf in &leaves {
        let t = to_tensor(leaf);
        if t.is_none() && !vm.is_none(leaf) {
            let said = leaf.repr(vm)?.to_string_lossy().into_owned();
            return Err(error(Error::type_error(format!("Expected functions of {name} to return tensors, but got {said}"))));
        }
        if let Some(t) = t.as_ref().filter(|_| is_nested) {
            recorder.name_argument(t, "child");
        }
        results.push(t);
    }
    let node = |t: &Option<Tensor>| t.as_ref().map_or(Ok(Arg::None), |t| recorder.node_of(t).map(Arg::Node));
    let returned = results.iter().map(node).collect::<Result<Vec<_>>>().map_err(error)?;
    Ok(Traced { part: Part { range: start..recorder.position(), takes, returns: Arg::Tuple(returned) }, results })
}

/// Values that the bodies read from outside, as the operator takes them: those that all of them read, then those of each, by name.
fn lifted(recorder: &Recorder, traced: &[Traced]) -> Vec<NodeId> {
    let names = recorder.shown_names();
    let by_name = |mut ids: Vec<NodeId>| {
        ids.sort_by(|a, b| names.get(a).cmp(&names.get(b)));
        ids
    };
    let free: Vec<Vec<NodeId>> = traced.iter().map(|t| recorder.free_values(&t.part)).collect();
    let in_all = |id: &NodeId| free.iter().all(|ids| ids.contains(id));
    let mut all = by_name(free.first().into_iter().flatten().copied().filter(in_all).collect());
    for ids in &free {
        let own = ids.iter().copied().filter(|id| !all.contains(id)).collect();
        all.extend(by_name(own));
    }
    all
}

/// Fresh inputs of a body that look like these, with their nodes.
fn fresh(
    recorder: &Recorder,
    like: &[TensorSpec],
    given: &mut Vec<NodeId>,
    vm: &VirtualMachine,
) -> PyResult<(Vec<PyObjectRef>, Vec<NodeId>)> {
    let (mut made, mut ids) = (Vec::new(), Vec::new());
    for spec in like {
        let t = Tensor::fake(spec).map_err(|e| raise(e, vm))?;
        ids.push(recorder.given("child", &t));
        made.push(wrap(&t, vm)?);
    }
    given.extend(&ids);
    Ok((made, ids))
}

/// The tensors among leaves; a body that takes something else as an input of its own is refused.
fn tensors(leaves: &[PyObjectRef], vm: &VirtualMachine) -> PyResult<Vec<Tensor>> {
    leaves.iter().map(|o| to_tensor(o).ok_or_else(|| vm.new_type_error("Expected a tensor"))).collect()
}

/// The fake tensor that a call gives for what its body returned.
fn result_like(t: &Option<Tensor>, spec: impl Fn(&Tensor) -> Result<TensorSpec>) -> Result<Option<Tensor>> {
    t.as_ref().map(|t| Tensor::fake(&spec(t)?)).transpose()
}

/// A recorded operator whose results are still to be given to the script.
struct Made<'a> {
    recorder: &'a Recorder,
    name: &'a str,
    /// What has a derivative through it.
    operands: Vec<Tensor>,
    results: Vec<Option<Tensor>>,
}

impl Made<'_> {
    /// Gives the results as the script's function would: with a history, in its containers, under its names.
    fn give(self, together: &PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let Made { recorder, name, operands, results } = self;
        if modes().grad && operands.iter().any(meta::requires_grad) {
            let edges = operands.iter().map(gradient_edge).collect::<Result<Vec<_>>>().map_err(|e| raise(e, vm))?;
            let node = Node::new(format!("{name}AutogradOpBackward"), edges, Box::new(Recorded(name.to_lowercase())));
            let differentiable = |t: &&Tensor| t.dtype().is_floating() || t.dtype().is_complex();
            results.iter().flatten().filter(differentiable).for_each(|t| meta::set_history(t, &node));
        }
        let wrapped = results.iter().map(|t| t.as_ref().map_or_else(|| Ok(vm.ctx.none()), |t| wrap(t, vm)));
        let wrapped = wrapped.collect::<PyResult<Vec<_>>>()?;
        let result = together.call((vm.ctx.new_tuple(wrapped),), vm)?;
        name_results(recorder, &result);
        Ok(result)
    }
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
    let chooser = to_tensor(predicate).ok_or_else(|| vm.new_type_error("Expected pred to be a tensor"))?;
    let mut given = Vec::new();
    operands.iter().for_each(|o| tensors_in(o, &mut given));
    given.iter().try_for_each(|t| recorder.node_of(t).map(drop)).map_err(error)?;
    recorder.node_of(&chooser).map_err(error)?;
    let mark = recorder.mark();
    let mut traced = Vec::new();
    for branch in branches {
        traced.push(trace(recorder, &mark, ("Cond", branch), operands.to_vec(), Vec::new(), vm)?);
    }
    if let [yes, no] = traced.as_slice()
        && yes.results.len() != no.results.len()
    {
        return Err(error(Error::runtime("Expected branches to return the same pytree structure.")));
    }
    let all = lifted(recorder, &traced);
    traced.iter_mut().for_each(|t| t.part.takes = all.clone());
    let first = traced.swap_remove(0);
    let results: Vec<_> = first.results.iter().map(|t| result_like(t, |t| Ok(t.spec()))).collect::<Result<_>>().map_err(error)?;
    let operands: Vec<Tensor> = recorder.tensors_of(&all);
    let parts: Vec<Part> = std::iter::once(first).chain(traced).map(|t| t.part).collect();
    let cut = recorder.cut(mark, &parts, &[]);
    if let [yes, no] = cut.bodies.as_slice() {
        let mut call = vec![Arg::Node(recorder.node_of(&chooser).map_err(error)?)];
        call.push(Arg::Node(recorder.subgraph("cond_true", yes.graph.clone())));
        call.push(Arg::Node(recorder.subgraph("cond_false", no.graph.clone())));
        call.push(Arg::Tuple(nodes(all.iter().filter_map(|id| cut.moved(*id)))));
        recorder.call_higher_order("cond", call, Vec::new(), &results);
    }
    Made { recorder, name: "Cond", operands, results }.give(together, vm)
}

/// Records `while_loop`.
pub fn while_loop(
    recorder: &Rc<Recorder>,
    functions: [&PyObjectRef; 2],
    carried: &[PyObjectRef],
    together: &PyObjectRef,
    vm: &VirtualMachine,
) -> PyResult {
    let error = |e: Error| raise(e, vm);
    let values = tensors(carried, vm)?;
    for t in &values {
        recorder.node_of(t).map_err(error)?;
        recorder.name_argument(t, "child");
    }
    let specs: Vec<TensorSpec> = values.iter().map(Tensor::spec).collect();
    let mark = recorder.mark();
    let (mut given, mut traced) = (Vec::new(), Vec::new());
    for function in functions {
        let (args, takes) = fresh(recorder, &specs, &mut given, vm)?;
        traced.push(trace(recorder, &mark, ("while_loop", function), args, takes, vm)?);
    }
    let [decides, body] = traced.as_mut_slice() else { return Err(error(Error::runtime("while_loop takes two functions"))) };
    let [Some(goes_on)] = decides.results.as_slice() else {
        return Err(error(Error::runtime("cond_fn must return a boolean scalar tensor or a boolean")));
    };
    if goes_on.dim() != 0 || goes_on.dtype() != crate::tensor::Dtype::Bool {
        return Err(error(Error::runtime("Expected cond_fn to return a scalar tensor or a bool")));
    }
    // What decides is one value, in no tuple.
    decides.part.returns = Arg::Node(recorder.node_of(goes_on).map_err(error)?);
    check_carried("carried_inputs", &specs, "body_output", &body.results).map_err(error)?;
    let results: Vec<_> = body.results.iter().map(|t| result_like(t, |t| Ok(t.spec()))).collect::<Result<_>>().map_err(error)?;
    let more = lifted(recorder, &traced);
    traced.iter_mut().for_each(|t| t.part.takes.extend(&more));
    let mut operands = values.clone();
    operands.extend(recorder.tensors_of(&more));
    let parts: Vec<Part> = traced.into_iter().map(|t| t.part).collect();
    let cut = recorder.cut(mark, &parts, &given);
    if let [decides, body] = cut.bodies.as_slice() {
        let names = ["cond_fn", "body_fn"].map(|name| (name, if name == "cond_fn" { decides } else { body }));
        let mut call: Vec<Arg> = names.into_iter().map(|(name, b)| Arg::Node(recorder.subgraph(name, b.graph.clone()))).collect();
        call.push(Arg::Tuple(nodes(values.iter().filter_map(|t| recorder.known_node(t)))));
        call.push(Arg::Tuple(nodes(more.iter().filter_map(|id| cut.moved(*id)))));
        recorder.call_higher_order("while_loop", call, Vec::new(), &results);
    }
    Made { recorder, name: "WhileLoop", operands, results }.give(together, vm)
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
    let specs: Vec<TensorSpec> = mapped.iter().map(|t| row_of(t, false)).collect();
    let (mut args, mut takes) = fresh(recorder, &specs, &mut given, vm)?;
    args.extend(others.iter().cloned());
    takes.extend(&positional);
    let mut traced = trace(recorder, &mark, ("map", function), args, takes, vm)?;
    let free = recorder.free_values(&traced.part);
    traced.part.takes.extend(&free);
    let in_rows = |t: &Tensor| rows_of(t, &mapped[0]);
    let results: Vec<_> = traced.results.iter().map(|t| result_like(t, in_rows)).collect::<Result<_>>().map_err(error)?;
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
    let mut specs: Vec<TensorSpec> = carried.iter().map(Tensor::spec).collect();
    let starts = specs.clone();
    specs.extend(scanned.iter().map(|t| row_of(t, true)));
    let mark = recorder.mark();
    let mut given = Vec::new();
    let (args, takes) = fresh(recorder, &specs, &mut given, vm)?;
    let mut traced = trace(recorder, &mark, ("scan", function), args, takes, vm)?;
    if traced.results.len() < carried.len() {
        return Err(error(Error::runtime("Expect combine_fn to return a tuple (next_carry, y)")));
    }
    let (carries, given_rows) = traced.results.split_at(carried.len());
    check_carried("init", &starts, "carry", carries).map_err(error)?;
    let mut results: Vec<_> = carries.iter().map(|t| result_like(t, |t| Ok(t.spec()))).collect::<Result<_>>().map_err(error)?;
    for t in given_rows {
        results.push(result_like(t, |t| rows_of(t, &scanned[0])).map_err(error)?);
    }
    let free = recorder.free_values(&traced.part);
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

/// What is carried from one call to the next looks the same.
fn check_carried(what: &str, before: &[TensorSpec], other: &str, after: &[Option<Tensor>]) -> Result<()> {
    let looks = |a: &TensorSpec, b: &TensorSpec| {
        let (x, y) = (&a.geometry.sizes, &b.geometry.sizes);
        x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.statically_eq(y.clone())) && a.dtype == b.dtype && a.device == b.device
    };
    let same = before.len() == after.len() && before.iter().zip(after).all(|(b, a)| a.as_ref().is_some_and(|a| looks(b, &a.spec())));
    if same {
        return Ok(());
    }
    Err(Error::runtime(format!("Expected {what} and {other} to have same metadata but found:\n{before:?}\n{after:?}")))
}
