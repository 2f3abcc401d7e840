//! `invoke_subgraph`: a region of the script's that is compiled once. Calls of one region share a subgraph, and so do their backwards where
//! the gradients look alike. While it is traced, a backward computes the forward once more: the partitioner splits the two.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use super::subgraphs::{
    Region, count_calls, differentiable_edges, forward_and_writes, forward_of, given_gradients, record_values, region_backward,
    result_specs,
};
use crate::aot::functional_tensor::{replace, state, unwrap};
use crate::aot::interpret;
use crate::aot::trace::{Piece, current_tracer};
use crate::autograd::{Body, Node, meta};
use crate::dispatch::{OpEntry, Value, lookup};
use crate::error::{Error, Result};
use crate::graph::regions::{FIRST_OPERAND, INVOKE_SUBGRAPH};
use crate::graph::{Arg, Graph, Opcode};
use crate::tensor::{Tensor, TensorSpec};
use std::any::Any;
use std::rc::Rc;

/// `torch.ops.higher_order.invoke_subgraph`, called with a subgraph, what tells it from others, and what it is given.
pub(super) static INVOKE_SUBGRAPH_OPERATOR: HigherOrderOperator = HigherOrderOperator { name: INVOKE_SUBGRAPH, run, trace: Some(trace) };

fn operands(call: &HigherOrderCall) -> Vec<Value> {
    call.args.get(FIRST_OPERAND..).unwrap_or_default().to_vec()
}

fn run(call: &HigherOrderCall) -> Result<Value> {
    let [body] = call.bodies()?;
    let mut operands = operands(call);
    if writes_to_inputs(body) && differentiable_edges(&operands)?.is_some() {
        return Err(no_training());
    }
    interpret::run(body, &mut operands, call.tell).map(Value::List)
}

/// Whether a captured region writes to what it is given.
fn writes_to_inputs(body: &Graph) -> bool {
    let is_input = |arg: Option<&Arg>| matches!(arg, Some(Arg::Node(id)) if body.node(*id).opcode == Opcode::Placeholder);
    body.nodes().any(|node| is_input(node.args.first()) && node.op().and_then(lookup).is_some_and(OpEntry::is_mutable))
}

fn no_training() -> Error {
    Error::runtime(
        "The invoke_subgraph HigherOrderOperator does not currently support training with in-place input or buffer mutations If you require this feature, please submit an issue to PyTorch. Alternatively, consider creating your own custom autograd.Function. ",
    )
}

fn trace(call: &HigherOrderCall) -> Result<Value> {
    let [body] = call.bodies()?;
    let Some(Value::Str(identifier)) = call.args.get(1) else { return Err(Error::type_error("invoke_subgraph takes an identifier")) };
    let operands = operands(call);
    let Some(edges) = differentiable_edges(&operands)? else {
        let (graph, written) = forward_and_writes(body, &operands)?;
        if written.is_empty() {
            return record(identifier.clone(), graph, operands).map(Value::List);
        }
        let mut results = record(format!("functionalized_{identifier}").into(), graph, operands.clone())?;
        let values = results.split_off(results.len() - written.len());
        for (i, value) in written.into_iter().zip(values) {
            write(operands[i].tensor()?, value.tensor()?)?;
        }
        return Ok(Value::List(results));
    };
    if !forward_and_writes(body, &operands)?.1.is_empty() {
        return Err(no_training());
    }
    count_calls(body, &operands)?;
    let backward = Backward { body: body.clone(), identifier: identifier.clone(), operands: operands.clone() };
    let node = Node::new("InvokeSubgraphAutogradOpBackward", edges, Box::new(backward));
    let results = record(format!("fw_{identifier}").into(), forward_of(body, &operands)?, operands)?;
    let floats = results.iter().filter_map(Value::as_tensor).filter(|t| t.dtype().is_floating() || t.dtype().is_complex());
    floats.for_each(|t| meta::set_history(t, &node));
    Ok(Value::List(results))
}

/// What a region was given has another value from here on.
fn write(operand: &Tensor, value: &Tensor) -> Result<()> {
    match state(operand) {
        Some(_) => replace(operand, unwrap(value)?),
        None => crate::aten!("copy_", operand, value).map(drop),
    }
}

/// Records a call of a subgraph that all calls of this identifier share.
fn record(identifier: Rc<str>, body: Graph, operands: Vec<Value>) -> Result<Vec<Value>> {
    let like = |spec: &Option<TensorSpec>| spec.as_ref().map(Tensor::fake).transpose().map(Value::from);
    let results = result_specs(&body)?.iter().map(like).collect::<Result<Vec<_>>>()?;
    let mut pieces = vec![Piece::Repeated(identifier.clone(), body), Piece::One(Value::Str(identifier))];
    pieces.extend(operands.into_iter().map(Piece::One));
    record_values(INVOKE_SUBGRAPH, pieces, results)
}

/// The backward of a traced call.
struct Backward {
    body: Graph,
    identifier: Rc<str>,
    operands: Vec<Value>,
}

impl Body for Backward {
    fn apply(&self, node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        let tangents = given_gradients(node, grads)?;
        let region = Region { body: &self.body, primals: &self.operands, tangents: &tangents };
        let traced = region_backward(&region)?;
        let number = current_tracer().map_or(0, |tracer| tracer.number_of_backward(&self.identifier, &tangents));
        let identifier = format!("bw_{}_{}", self.identifier, number);
        let found = record(identifier.into(), traced, [&self.operands[..], &tangents].concat())?;
        let grads = self.operands.iter().zip(found).filter(|(operand, _)| operand.as_tensor().is_some());
        grads.map(|(_, grad)| if grad.is_none() { Ok(None) } else { grad.into_tensor().map(Some) }).collect()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
