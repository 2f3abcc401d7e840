//! `while_loop`: on values the body runs as long as the condition holds; while tracing both become subgraphs. One that is differentiated
//! gives what was carried out of every step, in rows, and its backward is a loop over these from the last to the first.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use super::rows::{in_rows, lists, stack};
use super::subgraphs::{
    calls_of, differentiable_edges, forward_of, given_gradients, gradients_of, in_backward, own_memory, record, record_values,
    refuse_shared_memory, result_spec, result_specs, returns, with_history,
};
use crate::aot::interpret;
use crate::aot::like::made_like;
use crate::aot::trace::{Piece, current_tracer};
use crate::autograd::{Body, Edge, Node, gradient_edge, meta};
use crate::dispatch::{Modes, Value, modes, set_modes};
use crate::error::{Error, Result};
use crate::graph::{Arg, FakeValue, Graph, Node as GraphNode};
use crate::shape::{ShapeEnv, SymInt};
use crate::t;
use crate::tensor::{Device, Dtype, MemoryFormat, Tensor};
use std::any::Any;
use std::cell::OnceCell;
use std::rc::Rc;

/// `torch.ops.higher_order.while_loop`, called with cond_graph, body_graph, carried, others.
pub(super) static WHILE_LOOP: HigherOrderOperator = HigherOrderOperator { name: "while_loop", run, trace: Some(trace) };

/// The same, with the results of all steps in rows.
pub(super) static WHILE_LOOP_STACK_OUTPUT: HigherOrderOperator =
    HigherOrderOperator { name: "while_loop_stack_output", run: run_in_rows, trace: Some(trace_in_rows) };

fn trace(call: &HigherOrderCall) -> Result<Value> {
    let [decides, body] = call.bodies()?;
    let [carried, others] = lists(call)?;
    let all: Vec<Value> = carried.iter().chain(&others).cloned().collect();
    refuse_shared_memory(&all, "cond_fn")?;
    if let Some(edges) = differentiable_edges(&all)? {
        return differentiated([decides, body], carried, others, edges);
    }
    let inside: Vec<Value> = in_steps(&carried, body).chain(others.iter().cloned()).collect();
    let (decides, body) = (forward_of(decides, &inside)?, forward_of(body, &inside)?);
    let results = results_of(&body, call.captured)?;
    record_values(WHILE_LOOP.name, pieces(decides, body, carried, others), results).map(Value::List)
}

/// What is carried as a step sees it: numbers are known to the run alone.
fn in_steps<'a>(carried: &'a [Value], body: &'a Graph) -> impl Iterator<Item = Value> + 'a {
    let number = |value: &Value, input: &GraphNode| match (value, &input.meta.value) {
        (Value::Int(_), Some(FakeValue::Int(SymInt::Sym(_, env)))) => Value::Int(env.unbacked("while_loop", i64::MIN)),
        _ => value.clone(),
    };
    carried.iter().zip(body.placeholders()).map(move |(value, input)| number(value, input))
}

/// What the loop gives: tensors that look like those of the body, and numbers, as they were called when the loop was captured.
fn results_of(body: &Graph, captured: Option<&FakeValue>) -> Result<Vec<Value>> {
    let captured = if let Some(FakeValue::List(items)) = captured { &items[..] } else { &[] };
    let result = |(i, given): (usize, &Arg)| match captured.get(i) {
        Some(FakeValue::Int(number)) => Ok(Value::Int(number.clone())),
        _ => result_spec(body, given)?.as_ref().map(Tensor::fake).transpose().map(Value::from),
    };
    body.outputs().iter().enumerate().map(result).collect()
}

fn pieces(decides: Graph, body: Graph, carried: Vec<Value>, others: Vec<Value>) -> Vec<Piece> {
    vec![
        Piece::Body("while_loop_cond_graph", decides),
        Piece::Body("while_loop_body_graph", body),
        Piece::Tuple(carried),
        Piece::Tuple(others),
    ]
}

/// Where the symbols in the sizes of these come from; a place of its own for those that have none.
fn env_of(values: &[Value]) -> ShapeEnv {
    let sizes = values.iter().filter_map(Value::as_tensor).flat_map(|t| t.sizes());
    let env = |size: SymInt| if let SymInt::Sym(_, env) = size { Some(env) } else { None };
    sizes.filter_map(env).next().unwrap_or_default()
}

/// Records the loop with the results of all steps in rows. How many there are only the run knows: one at least.
fn in_rows_of_steps(graphs: [&Graph; 2], carried: &[Value], others: &[Value]) -> Result<Vec<Option<Tensor>>> {
    let all = [carried, others].concat();
    let (decides, body) = (forward_of(graphs[0], &all)?, forward_of(graphs[1], &all)?);
    let count = env_of(&all).unbacked("steps", 1);
    let results = in_rows(&result_specs(&body)?, &count);
    record(WHILE_LOOP_STACK_OUTPUT.name, pieces(decides, body, carried.to_vec(), others.to_vec()), &results)
}

fn trace_in_rows(call: &HigherOrderCall) -> Result<Value> {
    let [carried, others] = lists(call)?;
    Ok(with_history(in_rows_of_steps(call.bodies()?, &carried, &others)?, None))
}

fn differentiated(graphs: [&Graph; 2], carried: Vec<Value>, others: Vec<Value>, edges: Vec<Option<Edge>>) -> Result<Value> {
    let rows = Rc::new(OnceCell::new());
    let body = Backward { body: graphs[1].clone(), carried: carried.clone(), others: others.clone(), rows: rows.clone() };
    let node = Node::new("WhileLoopAutogradOpBackward", edges, Box::new(body));
    let before = set_modes(Modes { grad: false, ..modes() });
    let last = |t: &Option<Tensor>| t.as_ref().map(|t| t!("select.int", t, 0, -1)).transpose();
    let made = in_rows_of_steps(graphs, &carried, &others);
    let results = made.and_then(|made| Ok((made.iter().map(last).collect::<Result<Vec<_>>>()?, made)));
    set_modes(Modes { grad: before.grad, ..modes() });
    let (results, made) = results?;
    rows.get_or_init(|| made.into_iter().flatten().collect::<Vec<_>>());
    for t in results.iter().flatten() {
        if is_float(t) {
            meta::set_history(t, &node);
        } else {
            node.add_input(t);
        }
    }
    Ok(with_history(results, None))
}

fn is_float(t: &Tensor) -> bool {
    t.dtype().is_floating()
}

/// The backward of a traced loop.
struct Backward {
    body: Graph,
    carried: Vec<Value>,
    others: Vec<Value>,
    /// What was carried out of the steps, when they have been recorded.
    rows: Rc<OnceCell<Vec<Tensor>>>,
}

/// How many values of each kind the loop of a backward takes: gradients of what is carried and of the others, rows, others.
struct Counts {
    carries: usize,
    grads: usize,
    rows: usize,
}

impl Body for Backward {
    fn apply(&self, node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        let given = given_gradients(node, grads)?;
        let floats = |values: &[Value]| values.iter().filter_map(Value::as_tensor).filter(|t| is_float(t)).cloned().collect::<Vec<_>>();
        let step = t!("zeros", Vec::<i64>::new(); dtype = Dtype::Int64, device = Device::CPU, pin_memory = false)?;
        let own = |t: Tensor| t!("clone", t; memory_format = MemoryFormat::Contiguous).map(Value::Tensor);
        let of_carried = floats(&given).into_iter().map(own).collect::<Result<Vec<_>>>()?;
        let of_others =
            floats(&self.others).iter().map(|t| made_like("zeros_like", t, &[]).map(Value::Tensor)).collect::<Result<Vec<_>>>()?;
        // What every step was given: the first what the loop was, the others what the step before them gave.
        let entered = |(value, rows): (&Value, &Tensor)| {
            let (first, before) = (t!("unsqueeze", value.tensor()?, 0)?, t!("slice.Tensor", rows, 0, 0, -1)?);
            t!("cat", Value::List(vec![first.into(), before.into()])).map(Value::Tensor)
        };
        let rows = self.carried.iter().zip(self.rows.get().into_iter().flatten()).map(entered).collect::<Result<Vec<_>>>()?;
        let counts = Counts { carries: of_carried.len(), grads: of_carried.len() + of_others.len(), rows: rows.len() };
        let carried = [vec![Value::from(&step)], of_carried, of_others].concat();
        let others = [rows, self.others.clone()].concat();
        let like = [&carried[..], &others].concat();
        let count = |inputs: &[Value]| -> Result<SymInt> {
            let first = inputs.get(1 + counts.grads).ok_or_else(|| Error::runtime("a loop carries nothing"))?;
            Ok(first.tensor()?.size(0))
        };
        let mut decides = calls_of(&|inputs| Ok(vec![t!("lt.Scalar", inputs[0].tensor()?, count(inputs)?)?.into()]), &like)?;
        returns(&mut decides, |mut items| if items.is_empty() { Arg::None } else { items.swap_remove(0) });
        let env = env_of(&like);
        let body = calls_of(&|inputs| self.step(inputs, &counts, count(inputs)?, &env), &like)?;
        let results = result_specs(&body)?;
        let found = record(WHILE_LOOP.name, pieces(in_backward(decides), in_backward(body), carried, others), &results)?;
        let mut found = found.into_iter().skip(1);
        let operands = self.carried.iter().chain(&self.others).filter_map(Value::as_tensor);
        Ok(operands.map(|t| if is_float(t) { found.next().flatten() } else { None }).collect())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Backward {
    /// A step of the backward: that of the forward from the end, differentiated.
    fn step(&self, inputs: &[Value], counts: &Counts, count: SymInt, env: &ShapeEnv) -> Result<Vec<Value>> {
        let step = inputs[0].tensor()?;
        let (grads, rest) = inputs[1..].split_at(counts.grads);
        let (rows, others) = rest.split_at(counts.rows);
        let at = t!("sub.Tensor", t!("rsub.Scalar", step, count)?, 1)?;
        let number = env.unbacked("item", 0);
        if let Some(tracer) = current_tracer() {
            tracer.item(&crate::aot::functional_tensor::unwrap(&at)?, &Value::Int(number.clone()))?;
        }
        let entered =
            rows.iter().map(|t| t!("select.int", t.tensor()?, 0, number.clone()).map(Value::Tensor)).collect::<Result<Vec<_>>>()?;
        let mut primals = [&entered[..], others].concat();
        let asked: Vec<Value> = primals.iter().filter(|v| v.as_tensor().is_some_and(is_float)).cloned().collect();
        for t in asked.iter().filter_map(Value::as_tensor) {
            meta::set_requires_grad(t, true)?;
        }
        set_modes(Modes { grad: true, ..modes() });
        let outputs = interpret::run(&self.body, &mut primals, true)?;
        let mut roots = Vec::new();
        for (output, grad) in outputs.iter().filter_map(Value::as_tensor).filter(|t| is_float(t)).zip(&grads[..counts.carries]) {
            roots.extend(gradient_edge(output)?.map(|edge| Ok::<_, Error>((edge, grad.tensor()?.clone()))).transpose()?);
        }
        let computed = own_memory(inputs, gradients_of(&asked, roots)?)?;
        let mut all = vec![Value::from(t!("add.Tensor", step, 1)?)];
        for (i, grad) in computed.into_iter().enumerate() {
            // Gradients of what all steps read add up.
            all.push(if i < counts.carries { grad.into() } else { t!("add.Tensor", grad, grads[i].tensor()?)?.into() });
        }
        Ok(all)
    }
}

fn run_in_rows(call: &HigherOrderCall) -> Result<Value> {
    let mut steps = Vec::new();
    let [carried, _]: [Vec<Value>; 2] = lists(call)?;
    each_step(call, &mut |values| steps.push(values.to_vec()))?;
    if steps.is_empty() {
        steps.push(carried);
    }
    stack(steps).map(Value::List)
}

fn run(call: &HigherOrderCall) -> Result<Value> {
    let [carried, _]: [Vec<Value>; 2] = lists(call)?;
    let mut last = None;
    each_step(call, &mut |values| last = Some(values.to_vec()))?;
    match last {
        Some(values) => Ok(Value::List(values)),
        None => carried.iter().map(|v| v.map_tensors(&mut |t| t!("clone", t))).collect::<Result<_>>().map(Value::List),
    }
}

/// Runs the loop, and tells what each step gives.
fn each_step(call: &HigherOrderCall, tell: &mut dyn FnMut(&[Value])) -> Result<()> {
    let [decides, body] = call.bodies()?;
    let [mut values, others] = lists(call)?;
    loop {
        let given = interpret::run(decides, &mut [&values[..], &others].concat(), call.tell)?;
        let goes_on = match given.first() {
            Some(Value::Tensor(t)) => crate::aten!("_local_scalar_dense", t)?,
            other => other.cloned().unwrap_or_default(),
        };
        if !goes_on.bool()? {
            return Ok(());
        }
        values = interpret::run(body, &mut [&values[..], &others].concat(), call.tell)?;
        tell(&values);
    }
}
