//! `map_impl`: on values the body runs once a row; while tracing it becomes a subgraph, and so does its backward.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use super::rows::{count_rows, first_rows, in_rows, lists, rows_at, stack};
use super::subgraphs::{
    Roles, backward_of, differentiable_edges, forward_of, given_gradients, in_backward, per_tensor, record, result_specs, with_history,
};
use crate::aot::interpret;
use crate::aot::trace::Piece;
use crate::autograd::{Body, Node};
use crate::dispatch::Value;
use crate::error::Result;
use crate::graph::Graph;
use crate::tensor::Tensor;
use std::any::Any;
use std::rc::Rc;

/// `torch.ops.higher_order.map_impl`, called with body_graph, rows, others.
pub(super) static MAP: HigherOrderOperator = HigherOrderOperator { name: "map_impl", run, trace: Some(trace) };

fn run(call: &HigherOrderCall) -> Result<Value> {
    let [body] = call.bodies()?;
    let [rows, others] = lists(call)?;
    let count = count_rows(MAP.name, &rows)?;
    let step = |i| interpret::run(body, &mut [rows_at(&rows, i)?, others.clone()].concat(), call.tell);
    stack((0..count.guard_int()?).map(step).collect::<Result<_>>()?).map(Value::List)
}

fn trace(call: &HigherOrderCall) -> Result<Value> {
    let [body]: [&Graph; 1] = call.bodies()?;
    let [rows, others] = lists(call)?;
    count_rows(MAP.name, &rows)?;
    let operands: Vec<Value> = rows.iter().chain(&others).cloned().collect();
    let node = differentiable_edges(&operands)?.map(|edges| {
        let backward = MapBackward { body: body.clone(), rows: rows.clone(), others: others.clone() };
        Node::new("MapAutogradOpBackward", edges, Box::new(backward))
    });
    let traced = forward_of(body, &[first_rows(&rows)?, others.clone()].concat())?;
    Ok(with_history(over_rows(traced, rows, others)?, node.as_ref()))
}

/// Records a call of `map_impl`.
fn over_rows(body: Graph, rows: Vec<Value>, others: Vec<Value>) -> Result<Vec<Option<Tensor>>> {
    let results = in_rows(&result_specs(&body)?, &count_rows(MAP.name, &rows)?);
    record(MAP.name, vec![Piece::Body("body_graph", body), Piece::List(rows), Piece::List(others)], &results)
}

/// The backward of a traced `map_impl`: one over the rows and the gradients' rows, whose results for what all rows read are summed.
struct MapBackward {
    body: Graph,
    rows: Vec<Value>,
    others: Vec<Value>,
}

impl Body for MapBackward {
    fn apply(&self, node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        let rows: Vec<Value> = self.rows.iter().cloned().chain(given_gradients(node, grads)?).collect();
        let like = [first_rows(&rows)?, self.others.clone()].concat();
        let roles = Roles { first: 0..self.rows.len(), grads: self.rows.len()..rows.len(), rest: rows.len()..like.len() };
        let traced = in_backward(backward_of(&self.body, &like, &roles)?);
        let found = over_rows(traced, rows, self.others.clone())?;
        let operands: Vec<Value> = self.rows.iter().chain(&self.others).cloned().collect();
        Ok(per_tensor(&operands, found))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
