//! Bodies of control flow, traced: a function's calls as a subgraph of the call, and its backward as another.

use super::mod_index::{index, with_own_gradient};
use super::operator::{HigherOrderCall, run_untraced, runs_traced_calls};
use crate::aot::functional_tensor::{state, unwrap, wrap};
use crate::aot::functionalize::FunctionalizeLayer;
use crate::aot::interpret::run;
use crate::aot::like::made_like;
use crate::aot::make_fx::{self, make_fx};
use crate::aot::schemas::Provider;
use crate::aot::trace::{Piece, Tracer, current_tracer};
use crate::aot::tracing::Tracing;
use crate::autograd::{BackwardOptions, Edge, Node, gradient_edge, meta, run_backward};
use crate::dispatch::{Exclude, Key, Modes, Value, has_layer, modes, set_modes};
use crate::error::{Error, Result};
use crate::graph::{Arg, Graph};
use crate::tensor::{Layout, Tensor, TensorSpec};
use std::ops::Range;
use std::rc::Rc;

/// Inputs of a subgraph: fake tensors like those given, and functional wrappers around them; symbolic sizes as they are.
fn inputs_like(tracer: &Tracer, role: &str, like: &[Value]) -> Result<Vec<Value>> {
    let input = |(i, value): (usize, &Value)| {
        let name = if role == "arg" { format!("arg{i}_1") } else { format!("{role}_{i}") };
        match value {
            Value::Tensor(t) => {
                let inner = Tensor::fake(&t.spec())?;
                tracer.placeholder(&name, &inner)?;
                wrap(&inner).map(Value::Tensor)
            }
            Value::Int(size) if size.as_int().is_none() => {
                tracer.symbol(&name, size);
                Ok(value.clone())
            }
            other => {
                tracer.plain_input(&name, other);
                Ok(other.clone())
            }
        }
    };
    like.iter().enumerate().map(input).collect()
}

/// The calls of a function on inputs that look like these.
pub(super) fn calls_of(f: &dyn Fn(&[Value]) -> Result<Vec<Value>>, like: &[Value]) -> Result<Graph> {
    calls_and_writes(f, like).map(|(graph, _)| graph)
}

/// The same, and which inputs are written to: their new values are returned last.
fn calls_and_writes(f: &dyn Fn(&[Value]) -> Result<Vec<Value>>, like: &[Value]) -> Result<(Graph, Vec<usize>)> {
    let tracer = Tracer::new("<lambda>");
    let inputs = inputs_like(&tracer, "arg", like)?;
    let (outputs, written) = {
        let _tracing = Tracing::start(&tracer);
        set_modes(Modes { grad: false, ..modes() });
        let mut outputs = f(&inputs)?;
        let is_written = |v: &Value| v.as_tensor().and_then(state).is_some_and(|s| s.storage.writes.get() > 0);
        let written: Vec<usize> = (0..inputs.len()).filter(|i| is_written(&inputs[*i])).collect();
        outputs.extend(written.iter().map(|i| inputs[*i].clone()));
        (outputs.iter().map(|v| v.map_tensors(&mut unwrap)).collect::<Result<Vec<_>>>()?, written)
    };
    Ok((tracer.finish(&outputs)?, written))
}

/// The same, recorded where they are called: nothing is functionalized.
fn calls_as_made(f: &dyn Fn(&[Value]) -> Result<Vec<Value>>, like: &[Value], provider: Provider) -> Result<Graph> {
    let names: Vec<String> = (0..like.len()).map(|i| format!("arg{i}_1")).collect();
    let mut fake = |t: &Tensor| Tensor::fake(&t.spec());
    let inputs = like.iter().map(|v| v.map_tensors(&mut fake)).collect::<Result<Vec<_>>>()?;
    require_grad(&inputs, like)?;
    make_fx(
        f,
        &names,
        &inputs,
        make_fx::Tracing {
            class_name: "<lambda>".to_owned(),
            real: false,
            decompose: None,
            pre_dispatch: Some(provider),
            calls_as_aten: false,
            symbols: None,
        },
    )
}

/// The calls of a body on inputs that look like these.
pub(super) fn forward_of(body: &Graph, like: &[Value]) -> Result<Graph> {
    let call = |inputs: &[Value]| run(body, &mut inputs.to_vec(), true);
    let provider = current_tracer().and_then(|tracer| tracer.sees_script.get());
    let mut graph = match provider {
        // A program is exported with the calls as they are made.
        Some(provider) => calls_as_made(&call, like, provider)?,
        None => calls_of(&call, like)?,
    };
    // It returns what the body returns, in a tuple, in a list or in neither.
    let returned = body.output().and_then(|o| o.args.first());
    match returned {
        Some(Arg::Tuple(_)) | None => {}
        Some(Arg::List(_)) => returns(&mut graph, Arg::List),
        Some(_) => returns(&mut graph, |mut items| if items.is_empty() { Arg::None } else { items.swap_remove(0) }),
    }
    Ok(graph)
}

/// The calls of a body on inputs that look like these, and which inputs it writes to: their new values are returned last. A program that
/// is exported has the calls as they are made.
pub(super) fn forward_and_writes(body: &Graph, like: &[Value]) -> Result<(Graph, Vec<usize>)> {
    if current_tracer().is_some_and(|tracer| tracer.sees_script()) {
        return forward_of(body, like).map(|graph| (graph, Vec::new()));
    }
    calls_and_writes(&|inputs: &[Value]| run(body, &mut inputs.to_vec(), true), like)
}

pub(super) fn returns(graph: &mut Graph, container: impl FnOnce(Vec<Arg>) -> Arg) {
    let items = graph.outputs();
    if let Some(output) = graph.output().map(|o| o.id) {
        graph.node_mut(output).args = vec![container(items)];
    }
}

/// Runs a body as its backward will be traced, for the sequence numbers that its calls take: PyTorch traces the backward's
/// graph before the call gets its own number.
pub(super) fn count_calls(body: &Graph, operands: &[Value]) -> Result<()> {
    let tracer = Tracer::new("<lambda>");
    // Where a program is exported, its tracer would see them as calls of its own.
    let _capture = Exclude::capture_too();
    let mut inputs = inputs_like(&tracer, "arg", operands)?;
    require_grad(&inputs, operands)?;
    let _tracing = Tracing::start(&tracer);
    set_modes(Modes { grad: true, ..modes() });
    run(body, &mut inputs, false).map(|_| ())
}

fn require_grad(inputs: &[Value], like: &[Value]) -> Result<()> {
    inputs.iter().zip(like).try_for_each(|(t, like)| match (t, like) {
        (Value::Tensor(t), Value::Tensor(like)) => meta::set_requires_grad(t, meta::requires_grad(like)),
        _ => Ok(()),
    })
}

/// Which inputs of a backward's subgraph are what: those of the forward, in two parts, and the gradients of its results.
pub(super) struct Roles {
    /// The first of the forward's inputs.
    pub first: Range<usize>,
    /// Gradients.
    pub grads: Range<usize>,
    /// The rest of the forward's inputs.
    pub rest: Range<usize>,
}

/// A body's backward: a gradient for every tensor that the forward takes, zeros where it has none.
pub(super) fn backward_of(body: &Graph, like: &[Value], roles: &Roles) -> Result<Graph> {
    let tracer = Tracer::new("<lambda>");
    let inputs = inputs_like(&tracer, "arg", like)?;
    let given = |range: &Range<usize>| inputs[range.clone()].to_vec();
    let primals: Vec<Value> = given(&roles.first).into_iter().chain(given(&roles.rest)).collect();
    let likes: Vec<Value> = like[roles.first.clone()].iter().chain(&like[roles.rest.clone()]).cloned().collect();
    require_grad(&primals, &likes)?;
    let outputs = {
        let _tracing = Tracing::start(&tracer);
        set_modes(Modes { grad: true, ..modes() });
        let outputs = run(body, &mut primals.clone(), true)?;
        tracer.enter_backward();
        let roots = roots(outputs.iter().zip(&inputs[roles.grads.clone()]))?;
        let grads = gradients_of(&primals, roots)?;
        own_memory(&inputs, grads)?.iter().map(|t| unwrap(t).map(Value::Tensor)).collect::<Result<Vec<_>>>()?
    };
    tracer.finish(&outputs)
}

/// A subgraph that is differentiated, what it is given, and the gradients of its results.
pub(super) struct Region<'a> {
    pub body: &'a Graph,
    pub primals: &'a [Value],
    pub tangents: &'a [Value],
}

/// The backward of a region, which runs its forward once more: a gradient for every input, none for those that require none, then what
/// the forward gives.
pub(super) fn region_backward(region: &Region) -> Result<Graph> {
    let tracer = Tracer::new("<lambda>");
    let like = [region.primals, region.tangents].concat();
    let inputs = inputs_like(&tracer, "arg", &like)?;
    let (primals, tangents) = inputs.split_at(region.primals.len());
    require_grad(primals, region.primals)?;
    // A gradient that is given more than once is the last of them.
    let is_same = |a: &Value, b: &Value| a.as_tensor().zip(b.as_tensor()).is_some_and(|(a, b)| a.is(b));
    let last = |of: &Value| region.tangents.iter().rposition(|other| is_same(of, other));
    let tangents: Vec<&Value> = region.tangents.iter().enumerate().map(|(i, of)| &tangents[last(of).unwrap_or(i)]).collect();
    let outputs = {
        let _tracing = Tracing::start(&tracer);
        set_modes(Modes { grad: true, ..modes() });
        let outputs = run(region.body, &mut primals.to_vec(), true)?;
        tracer.enter_backward();
        let differentiable = outputs.iter().filter(|v| v.as_tensor().is_some_and(|t| t.dtype().is_floating() || t.dtype().is_complex()));
        let roots = roots(differentiable.zip(tangents))?;
        let wanted: Vec<Option<Edge>> =
            primals.iter().map(|v| v.as_tensor().map(gradient_edge).transpose().map(Option::flatten)).collect::<Result<_>>()?;
        let edges: Vec<Edge> = wanted.iter().flatten().cloned().collect();
        let mut found = run_backward(roots, Some(&edges), BackwardOptions::default())?.into_iter();
        set_modes(Modes { grad: false, ..modes() });
        let mut all: Vec<Value> = wanted.iter().map(|edge| edge.as_ref().and_then(|_| found.next().flatten()).into()).collect();
        all.extend(outputs);
        all.iter().map(|v| v.map_tensors(&mut unwrap)).collect::<Result<Vec<_>>>()?
    };
    tracer.finish(&outputs)
}

/// A body's joint graph, every operator a call of its own and views copies: inputs `primals_*`, of which some require grad, and
/// `tangents_*`; the body's results, then a gradient for every tensor among the inputs, zeros where there is none.
pub(super) fn joint_of(body: &Graph, like: &[Value], requires_grad: &[bool]) -> Result<(Graph, usize)> {
    let specs = result_specs(&calls_of(&|inputs| run(body, &mut inputs.to_vec(), false), like)?)?;
    let all = specs.iter().flatten().map(Tensor::fake).map(|t| t.map(Value::Tensor)).collect::<Result<Vec<_>>>()?;
    if all.len() != specs.len() {
        return Err(Error::type_error("a loop that is differentiated gives tensors alone"));
    }
    let tracer = Tracer::as_called("<lambda>");
    tracer.decompose(None);
    let primals = inputs_like(&tracer, "primals", like)?;
    let tangents = inputs_like(&tracer, "tangents", &all)?;
    for (primal, wanted) in primals.iter().zip(requires_grad) {
        if let Value::Tensor(t) = primal {
            meta::set_requires_grad(t, *wanted)?;
        }
    }
    let outputs = {
        let _tracing = Tracing::start_with(&tracer, FunctionalizeLayer { copies_views: true, views_stale: true });
        set_modes(Modes { grad: true, ..modes() });
        let mut outputs = run(body, &mut primals.clone(), false)?;
        tracer.enter_backward();
        let roots = roots(outputs.iter().zip(&tangents))?;
        let given: Vec<Value> = primals.iter().chain(&tangents).cloned().collect();
        let gradients = gradients_of(&primals, roots)?;
        let mut gradients = own_memory(&given, gradients)?.into_iter();
        outputs.extend(primals.iter().map(|p| match p {
            Value::Tensor(_) => gradients.next().into(),
            _ => Value::None,
        }));
        outputs.iter().map(|v| v.map_tensors(&mut unwrap)).collect::<Result<Vec<_>>>()?
    };
    Ok((tracer.finish_as_called(&outputs)?, specs.len()))
}

/// The gradients of a function that changes a score: its inputs, with the result's gradient before what it reads besides; a gradient
/// for the score and for each of the tensors that it reads and that require grad.
pub(super) fn gradient_of_body(body: &Graph, examples: Vec<Value>, buffers: &[Value], requires_grad: &[bool]) -> Result<Graph> {
    let specs = result_specs(&calls_of(&|inputs| run(body, &mut inputs.to_vec(), false), &[&examples[..], buffers].concat())?)?;
    let Some(Some(spec)) = specs.first() else { return Err(Error::runtime("Expected output of score_mod to be a tensor.")) };
    let like = [&examples[..], &[Tensor::fake(spec)?.into()], buffers].concat();
    let tracer = Tracer::as_called("<lambda>");
    tracer.decompose(None);
    let inputs = inputs_like(&tracer, "arg", &like)?;
    let (given, rest) = inputs.split_at(examples.len());
    let (Some((grad, read)), Some(score)) = (rest.split_first(), given.first()) else {
        return Err(Error::runtime("a function of flex_attention takes a score"));
    };
    let mut asked = vec![score.tensor()?.clone()];
    for (t, _) in read.iter().zip(requires_grad).filter(|(_, wanted)| **wanted) {
        asked.push(t.tensor()?.clone());
    }
    asked.iter().try_for_each(|t| meta::set_requires_grad(t, true))?;
    let outputs = {
        let _tracing = Tracing::start(&tracer);
        set_modes(Modes { grad: true, ..modes() });
        let mut primals = given.to_vec();
        for (value, wanted) in read.iter().zip(requires_grad) {
            let is_number = |t: &&Tensor| *wanted && t.dim() == 0;
            primals
                .push(value.as_tensor().filter(is_number).map(|t| index(t, &[])).transpose()?.map_or_else(|| value.clone(), Value::from));
        }
        let results = run(&with_own_gradient(body), &mut primals, false)?;
        tracer.enter_backward();
        let edge = results.first().and_then(Value::as_tensor).map(gradient_edge).transpose()?.flatten();
        let roots = vec![(edge.ok_or_else(no_gradient)?, grad.tensor()?.clone())];
        let edges: Vec<Edge> = asked.iter().map(gradient_edge).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        let mut found = run_backward(roots, Some(&edges), BackwardOptions::default())?.into_iter();
        let of_score = found.next().flatten().ok_or_else(no_gradient)?;
        let mut outputs = vec![Value::Tensor(of_score)];
        outputs.extend(given.iter().skip(1).map(|_| Value::None));
        outputs.extend(requires_grad.iter().map(|wanted| if *wanted { found.next().flatten().into() } else { Value::None }));
        outputs.iter().map(|v| v.map_tensors(&mut unwrap)).collect::<Result<Vec<_>>>()?
    };
    tracer.finish(&outputs)
}

fn no_gradient() -> Error {
    Error::runtime(
        "flex_attention backward requires the output of score_mod to depend on score. Got a score_mod whose output does not require gradients with respect to score.",
    )
}

/// Where a backward begins: outputs that have a derivative, with the gradients given for them.
fn roots<'a>(outputs: impl Iterator<Item = (&'a Value, &'a Value)>) -> Result<Vec<(Edge, Tensor)>> {
    let mut roots = Vec::new();
    for (output, grad) in outputs {
        if let (Some(edge), Value::Tensor(grad)) = (output.as_tensor().map(gradient_edge).transpose()?.flatten(), grad) {
            roots.push((edge, grad.clone()));
        }
    }
    Ok(roots)
}

/// The gradients of the tensors among a body's inputs, zeros where they have none.
pub(super) fn gradients_of(primals: &[Value], roots: Vec<(Edge, Tensor)>) -> Result<Vec<Tensor>> {
    let asked: Vec<&Tensor> = primals.iter().filter_map(Value::as_tensor).collect();
    let edges: Vec<Option<Edge>> = asked.iter().map(|t| gradient_edge(t)).collect::<Result<_>>()?;
    let wanted: Vec<Edge> = edges.iter().flatten().cloned().collect();
    let mut found = run_backward(roots, Some(&wanted), BackwardOptions::default())?.into_iter();
    set_modes(Modes { grad: false, ..modes() });
    let mut grads = Vec::new();
    for (t, edge) in asked.into_iter().zip(edges) {
        let grad = if edge.is_some() { found.next().flatten() } else { None };
        grads.push(grad.map_or_else(|| made_like("zeros_like", t, &[]), Ok)?);
    }
    Ok(grads)
}

/// Whether tensors share memory among each other.
pub(super) fn share_memory<'a>(values: impl Iterator<Item = &'a Value>) -> bool {
    let mut seen = std::collections::HashSet::new();
    values.filter_map(Value::as_tensor).any(|t| !seen.insert(t.storage().id()))
}

/// Gradients that share memory neither with an input nor with each other: those that do are copied.
pub(super) fn own_memory(inputs: &[Value], grads: Vec<Tensor>) -> Result<Vec<Tensor>> {
    let mut seen: Vec<u64> = inputs.iter().filter_map(Value::as_tensor).map(|t| t.storage().id()).collect();
    let own = |grad: Tensor| {
        let grad = if seen.contains(&grad.storage().id()) { crate::t!("clone", grad)? } else { grad };
        seen.push(grad.storage().id());
        Ok(grad)
    };
    grads.into_iter().map(own).collect()
}

/// What a traced subgraph returns looks like this.
pub(super) fn result_specs(graph: &Graph) -> Result<Vec<Option<TensorSpec>>> {
    graph.outputs().iter().map(|a| result_spec(graph, a)).collect()
}

/// What one of its results looks like.
pub(super) fn result_spec(graph: &Graph, result: &Arg) -> Result<Option<TensorSpec>> {
    let spec = match result {
        Arg::Node(id) => graph.node(*id).tensor().cloned().map(Some),
        Arg::None => Some(None),
        _ => None,
    };
    spec.ok_or_else(|| Error::type_error("functions given to control flow return tensors"))
}

/// Records the call of a higher-order operator where a graph is traced; gives its results.
pub(super) fn record(op: &str, pieces: Vec<Piece>, results: &[Option<TensorSpec>]) -> Result<Vec<Option<Tensor>>> {
    let inner = results.iter().map(|s| Ok(s.as_ref().map(Tensor::fake).transpose()?.into())).collect::<Result<_>>()?;
    record_values(op, pieces, inner)?.into_iter().map(|v| if v.is_none() { Ok(None) } else { v.into_tensor().map(Some) }).collect()
}

/// The same where results may be lists; `inner` are fake tensors for them.
pub(super) fn record_values(op: &str, pieces: Vec<Piece>, inner: Vec<Value>) -> Result<Vec<Value>> {
    let values = if runs_traced_calls() { Some(values_of(op, &pieces)?) } else { None };
    if let Some(tracer) = current_tracer() {
        tracer.record_higher_order(op, pieces.into_iter().map(unwrapped).collect::<Result<_>>()?, &inner)?;
        if let Some(values) = values {
            let tensors = |of: &[Value]| {
                let mut all = Vec::new();
                of.iter().for_each(|v| v.for_each_tensor(&mut |t| all.push(t.clone())));
                all
            };
            for (value, fake) in tensors(&values).iter().zip(tensors(&inner)) {
                tracer.stands_for(&unwrap(value)?, &fake);
            }
            return Ok(values);
        }
    }
    if !has_layer(Key::Functionalize) {
        return Ok(inner);
    }
    inner.iter().map(|v| v.map_tensors(&mut wrap)).collect()
}

/// What a call computes.
fn values_of(op: &str, pieces: &[Piece]) -> Result<Vec<Value>> {
    fn arg(piece: &Piece) -> Value {
        match piece {
            Piece::One(value) => value.clone(),
            Piece::Tuple(values) | Piece::List(values) => Value::List(values.clone()),
            Piece::Nested(pieces) => Value::List(pieces.iter().map(arg).collect()),
            Piece::Body(..) | Piece::Written(_) | Piece::Fresh(..) | Piece::Repeated(..) => Value::None,
        }
    }
    fn bodies<'p>(pieces: &'p [Piece], found: &mut Vec<&'p Graph>) {
        for piece in pieces {
            match piece {
                Piece::Body(_, body) | Piece::Fresh(_, body) | Piece::Repeated(_, body) => found.push(body),
                Piece::Nested(pieces) => bodies(pieces, found),
                _ => {}
            }
        }
    }
    let mut subgraphs = Vec::new();
    bodies(pieces, &mut subgraphs);
    let args = pieces.iter().map(arg).collect();
    let call =
        HigherOrderCall { name: op, subgraphs, args, written: &[], keywords: Vec::new(), operator: None, tell: false, captured: None };
    Ok(run_untraced(&call)?.list()?.to_vec())
}

fn unwrapped(piece: Piece) -> Result<Piece> {
    Ok(match piece {
        Piece::One(value) => Piece::One(value.map_tensors(&mut unwrap)?),
        Piece::Tuple(values) => Piece::Tuple(unwrap_all(&values)?),
        Piece::List(values) => Piece::List(unwrap_all(&values)?),
        Piece::Nested(pieces) => Piece::Nested(pieces.into_iter().map(unwrapped).collect::<Result<_>>()?),
        body => body,
    })
}

fn unwrap_all(values: &[Value]) -> Result<Vec<Value>> {
    values.iter().map(|v| v.map_tensors(&mut unwrap)).collect()
}

/// A subgraph traced while a call's backward runs: all its calls belong to that call.
pub(super) fn in_backward(graph: Graph) -> Graph {
    match current_tracer() {
        Some(tracer) => tracer.as_backward_of_call(graph),
        None => graph,
    }
}

/// The results of a call as values, with a history where there is a node for it.
pub(super) fn with_history(results: Vec<Option<Tensor>>, node: Option<&Rc<Node>>) -> Value {
    if let Some(node) = node {
        results.iter().flatten().for_each(|t| meta::set_history(t, node));
    }
    Value::List(results.into_iter().map(Value::from).collect())
}

/// The gradients that the results of a node have, zeros where there are none.
pub(super) fn given_gradients(node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Value>> {
    let mut given = Vec::new();
    for (grad, like) in grads.into_iter().zip(node.inputs.borrow().iter()) {
        given.push(Value::Tensor(match grad {
            Some(grad) => grad,
            None => crate::t!("zeros", &like.sizes; dtype = like.dtype, layout = Layout::Strided, device = like.device)?,
        }));
    }
    Ok(given)
}

/// One gradient per tensor among the operands, as the node's body gives them back.
pub(super) fn per_tensor(operands: &[Value], found: Vec<Option<Tensor>>) -> Vec<Option<Tensor>> {
    let mut found = found.into_iter();
    operands.iter().filter(|v| v.as_tensor().is_some()).map(|_| found.next().flatten()).collect()
}

/// What has a derivative: the edges of the tensors among the operands, where one of them requires grad.
pub(super) fn differentiable_edges(operands: &[Value]) -> Result<Option<Vec<Option<Edge>>>> {
    let tensors: Vec<&Tensor> = operands.iter().filter_map(Value::as_tensor).collect();
    if !modes().grad || !tensors.iter().any(|t| meta::requires_grad(t)) {
        return Ok(None);
    }
    tensors.into_iter().map(gradient_edge).collect::<Result<_>>().map(Some)
}

/// The arguments of a call of subgraphs, of which `name` is the first, may not share memory.
pub(super) fn refuse_shared_memory(arguments: &[Value], name: &str) -> Result<()> {
    let mut seen = Vec::new();
    for t in arguments.iter().filter_map(Value::as_tensor) {
        let id = unwrap(t)?.storage().id();
        if seen.contains(&id) {
            return Err(Error::runtime(format!("{name} might be aliasing the input or the output!")));
        }
        seen.push(id);
    }
    Ok(())
}
