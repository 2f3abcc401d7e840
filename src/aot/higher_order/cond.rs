//! `torch.cond`: on values one branch runs; while tracing both become subgraphs, and the backward chooses between theirs.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use super::subgraphs::{
    Roles, backward_of, count_calls, differentiable_edges, forward_of, given_gradients, in_backward, per_tensor, record,
    refuse_shared_memory, result_specs, with_history,
};
use crate::aot::interpret;
use crate::aot::trace::Piece;
use crate::autograd::{Body, Node};
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::Tensor;
use std::any::Any;
use std::rc::Rc;

/// `torch.ops.higher_order.cond`, called with predicate, true_graph, false_graph, operands.
pub(super) static COND: HigherOrderOperator = HigherOrderOperator { name: "cond", run, trace: Some(trace) };

fn operands(args: &[Value]) -> Result<(&Value, Vec<Value>)> {
    let [predicate, _, _, operands] = args else { return Err(Error::type_error("cond() takes four arguments")) };
    Ok((predicate, operands.list()?.to_vec()))
}

fn run(call: &HigherOrderCall) -> Result<Value> {
    let branches: [&Graph; 2] = call.bodies()?;
    let (predicate, mut operands) = operands(&call.args)?;
    let chosen = match predicate {
        Value::Tensor(t) => crate::aten!("_local_scalar_dense", t)?.bool()?,
        other => other.bool()?,
    };
    interpret::run(branches[usize::from(!chosen)], &mut operands, call.tell).map(Value::List)
}

fn trace(call: &HigherOrderCall) -> Result<Value> {
    let branches: [&Graph; 2] = call.bodies()?;
    let (predicate, operands) = operands(&call.args)?;
    let edges = differentiable_edges(&operands)?;
    if edges.is_some() {
        for branch in branches {
            count_calls(branch, &operands)?;
        }
    }
    let node = edges.map(|edges| {
        let body = Backward { branches: branches.map(Clone::clone), predicate: predicate.clone(), operands: operands.clone() };
        Node::new("CondAutogradOpBackward", edges, Box::new(body))
    });
    let results = choose([forward_of(branches[0], &operands)?, forward_of(branches[1], &operands)?], predicate, operands)?;
    Ok(with_history(results, node.as_ref()))
}

/// Records the call of both branches; its results look like those of the first.
fn choose(branches: [Graph; 2], predicate: &Value, operands: Vec<Value>) -> Result<Vec<Option<Tensor>>> {
    let (yes, no) = (result_specs(&branches[0])?, result_specs(&branches[1])?);
    if yes.len() != no.len() {
        return Err(Error::runtime(format!(
            "Expected to return same number of outputs but got:\n  true branch returns {} item(s)\n  false branch returns {} item(s)",
            yes.len(),
            no.len()
        )));
    }
    let [first, second] = branches;
    let pieces =
        vec![Piece::One(predicate.clone()), Piece::Body("true_graph", first), Piece::Body("false_graph", second), Piece::Tuple(operands)];
    record(COND.name, pieces, &yes)
}

/// The backward of a traced `cond`.
struct Backward {
    branches: [Graph; 2],
    predicate: Value,
    operands: Vec<Value>,
}

impl Body for Backward {
    fn apply(&self, node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        let count = self.operands.len();
        let all: Vec<Value> = self.operands.iter().cloned().chain(given_gradients(node, grads)?).collect();
        // Two gradients may share memory, which come of one tangent.
        refuse_shared_memory(&all, "cond_true")?;
        let roles = Roles { first: 0..count, grads: count..all.len(), rest: count..count };
        let traced = [backward_of(&self.branches[0], &all, &roles)?, backward_of(&self.branches[1], &all, &roles)?];
        let found = choose(traced.map(in_backward), &self.predicate, all)?;
        Ok(per_tensor(&self.operands, found))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
