//! `scan`: a loop that carries values over rows. On values its body runs once a row; while tracing it is a subgraph.
//!
//! Where it is differentiated, the body's joint graph is split by a min cut. The call runs the forward part, which also gives, in rows,
//! what the backward part needs; the backward is a `scan` over those rows from the last to the first.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use super::rows::{count_rows, first_rows, in_rows, lists, rows_at, stack};
use super::subgraphs::{
    calls_of, differentiable_edges, forward_of, given_gradients, in_backward, joint_of, record, result_specs, returns, share_memory,
    with_history,
};
use crate::aot::interpret;
use crate::aot::like::made_like;
use crate::aot::trace::Piece;
use crate::autograd::{Body, Node, meta};
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::graph::{Arg, Graph, NodeId};
use crate::partition::{PartitionConfig, partition};
use crate::shape::SymInt;
use crate::tensor::{Tensor, TensorSpec};
use std::any::Any;
use std::rc::Rc;

/// `torch.ops.higher_order.scan`, called with combine_graph, first, rows, others.
pub(super) static SCAN: HigherOrderOperator = HigherOrderOperator { name: "scan", run, trace: Some(trace) };

fn run(call: &HigherOrderCall) -> Result<Value> {
    let [body] = call.bodies()?;
    let [first, rows, others] = lists(call)?;
    let count = count_rows(SCAN.name, &rows)?;
    let (carries, mut carried, mut steps) = (first.len(), first, Vec::new());
    for i in 0..count.guard_int()? {
        let mut given = interpret::run(body, &mut [&carried[..], &rows_at(&rows, i)?, &others].concat(), call.tell)?;
        steps.push(given.split_off(carries.min(given.len())));
        carried = given;
    }
    Ok(Value::List([carried, stack(steps)?].concat()))
}

fn trace(call: &HigherOrderCall) -> Result<Value> {
    let [body] = call.bodies()?;
    let [first, rows, others] = lists(call)?;
    let count = count_rows(SCAN.name, &rows)?;
    let operands = [&first[..], &rows, &others].concat();
    let like = [&first[..], &first_rows(&rows)?, &others].concat();
    if share_memory(like.iter()) {
        return Err(shared());
    }
    let Some(edges) = differentiable_edges(&operands)? else {
        let traced = forward_of(body, &like)?;
        let results = looks(&traced, first.len(), &count)?;
        let pieces = vec![Piece::Body("scan_combine_graph", traced), Piece::List(first), Piece::List(rows), Piece::Tuple(others)];
        return Ok(with_history(record(SCAN.name, pieces, &results)?, None));
    };
    differentiated(body, [first, rows, others], &like, &count, edges)
}

fn shared() -> Error {
    Error::runtime("scan might be aliasing the input or the output!")
}

/// What the results of a loop look like: what is carried, and rows.
fn looks(traced: &Graph, carries: usize, count: &SymInt) -> Result<Vec<Option<TensorSpec>>> {
    let specs = result_specs(traced)?;
    let (carried, given) = specs.split_at(carries.min(specs.len()));
    Ok([carried, &in_rows(given, count)].concat())
}

/// How the backward gets a value that its part of the body needs.
#[derive(Clone, Copy)]
enum Need {
    /// In rows that the forward gives.
    Rows,
    /// It is what was carried into the step: a copy of it, in rows.
    Carried,
    /// One of the rows gone over.
    Row(usize),
    /// One of the values that are the same in every step.
    Same(usize),
}

/// The body in two parts.
struct Parts {
    forward: Graph,
    backward: Graph,
    /// How many results the body has.
    results: usize,
    /// What the backward part takes before the gradients of the results, and which output of the forward part that is.
    needs: Vec<(Need, usize)>,
}

impl Parts {
    fn of(body: &Graph, like: &[Value], [first, rows]: [usize; 2]) -> Result<Self> {
        let floats = |v: &Value| v.as_tensor().is_some_and(|t| !t.dtype().is_integral());
        // A gradient goes through what is carried, whoever it came from.
        let requires_grad = |(i, v): (usize, &Value)| floats(v) && (i < first || v.as_tensor().is_some_and(meta::requires_grad));
        let requires_grad: Vec<bool> = like.iter().enumerate().map(requires_grad).collect();
        let (joint, results) = joint_of(body, like, &requires_grad)?;
        let split = partition(&joint, results, &PartitionConfig::default())?;
        let (forward, backward) = (split.forward, split.backward);
        let inputs: Vec<NodeId> = forward.placeholders().map(|n| n.id).collect();
        let returned = forward.outputs();
        let taken = backward.placeholders().count() - results;
        let mut needs = Vec::new();
        for node in backward.placeholders().take(taken) {
            let is_it = |a: &Arg| matches!(a, Arg::Node(id) if forward.node(*id).name == node.name);
            let at = (results..returned.len()).find(|i| is_it(&returned[*i]));
            let at = at.ok_or_else(|| Error::runtime(format!("scan: the forward does not give {}", node.name)))?;
            let input = inputs.iter().position(|id| matches!(&returned[at], Arg::Node(n) if n == id));
            let need = match input {
                None => Need::Rows,
                Some(i) if i < first => Need::Carried,
                Some(i) if i < first + rows => Need::Row(i - first),
                Some(i) => Need::Same(i - first - rows),
            };
            needs.push((need, at));
        }
        Ok(Parts { forward, backward, results, needs })
    }

    /// What a step gives: the body's results, then what the backward needs in rows.
    fn step(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let all = interpret::run(&self.forward, &mut inputs.to_vec(), false)?;
        let mut given = all[..self.results].to_vec();
        for (need, at) in &self.needs {
            match need {
                Need::Rows => given.push(all[*at].clone()),
                Need::Carried => given.push(crate::t!("clone", all[*at].tensor()?)?.into()),
                Need::Row(_) | Need::Same(_) => {}
            }
        }
        if share_memory(inputs.iter().chain(&given)) { Err(shared()) } else { Ok(given) }
    }
}

/// Records the forward of a loop that is differentiated.
fn differentiated(
    body: &Graph,
    [first, rows, others]: [Vec<Value>; 3],
    like: &[Value],
    count: &SymInt,
    edges: Vec<Option<crate::autograd::Edge>>,
) -> Result<Value> {
    let parts = Rc::new(Parts::of(body, like, [first.len(), rows.len()])?);
    let backward = Rc::new(ScanBackward { parts: parts.clone(), first, rows, others, kept: Default::default() });
    let node = Node::new("ScanAutogradOpBackward", edges, Box::new(Shared(backward.clone())));
    let traced = calls_of(&|inputs| parts.step(inputs), like)?;
    let results = looks(&traced, backward.first.len(), count)?;
    let ScanBackward { first, rows, others, .. } = &*backward;
    let pieces = vec![
        Piece::Body("scan_combine_graph", traced),
        Piece::Tuple(first.clone()),
        Piece::Tuple(rows.clone()),
        Piece::Tuple(others.clone()),
    ];
    let mut made = record(SCAN.name, pieces, &results)?;
    *backward.kept.borrow_mut() = made.split_off(parts.results.min(made.len())).into_iter().map(Value::from).collect();
    Ok(with_history(made, Some(&node)))
}

/// The backward of a traced `scan`.
struct ScanBackward {
    parts: Rc<Parts>,
    first: Vec<Value>,
    rows: Vec<Value>,
    others: Vec<Value>,
    /// What the forward gave in rows for it.
    kept: std::cell::RefCell<Vec<Value>>,
}

/// A node's body, which the call that makes it fills.
struct Shared(Rc<ScanBackward>);

impl Body for Shared {
    fn apply(&self, node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        self.0.gradients(given_gradients(node, grads)?)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl ScanBackward {
    fn gradients(&self, mut carried: Vec<Value>) -> Result<Vec<Option<Tensor>>> {
        let count = count_rows(SCAN.name, &self.rows)?;
        let mut turned = carried.split_off(self.first.len().min(carried.len()));
        let tensors = self.others.iter().filter_map(Value::as_tensor);
        let sums = tensors.map(|t| made_like("zeros_like", t, &[]).map(Value::Tensor)).collect::<Result<Vec<_>>>()?;
        let num_sums = sums.len();
        carried.extend(sums);
        let rows = self.parts.needs.iter().filter_map(|(need, _)| if let Need::Row(i) = need { Some(&self.rows[*i]) } else { None });
        turned.extend(rows.cloned());
        turned.extend(self.kept.borrow().iter().cloned());
        let same = self.parts.needs.iter().filter_map(|(need, _)| if let Need::Same(i) = need { Some(&self.others[*i]) } else { None });
        let same: Vec<Value> = same.cloned().collect();
        let like = [&carried[..], &first_rows(&turned)?, &same].concat();
        let mut traced = calls_of(&|inputs| self.step(inputs, num_sums), &like)?;
        returns(&mut traced, Arg::List);
        let traced = in_backward(traced);
        let turned = turned.iter().map(|v| crate::t!("flip", v.tensor()?, vec![0i64]).map(Value::Tensor)).collect::<Result<Vec<_>>>()?;
        let results = looks(&traced, carried.len(), &count)?;
        let pieces = vec![Piece::Body("scan_combine_graph", traced), Piece::List(carried), Piece::List(turned), Piece::Tuple(same)];
        let mut found = record(SCAN.name, pieces, &results)?;
        let of_rows = found.split_off((self.first.len() + num_sums).min(found.len()));
        let of_others = found.split_off(self.first.len().min(found.len()));
        for row in of_rows {
            found.push(row.map(|t| crate::t!("flip", t, vec![0i64])).transpose()?);
        }
        found.extend(of_others);
        Ok(found)
    }

    /// A step back: gradients of what was carried into it, sums of those of what all steps read, and gradients of its rows.
    fn step(&self, inputs: &[Value], num_sums: usize) -> Result<Vec<Value>> {
        let Parts { backward, results, needs, .. } = &*self.parts;
        let (carried, rest) = inputs.split_at(self.first.len());
        let (sums, rest) = rest.split_at(num_sums);
        let (of_rows, rest) = rest.split_at(results - self.first.len());
        let row = |need: &Need| matches!(need, Need::Row(_));
        let kept = |need: &Need| matches!(need, Need::Rows | Need::Carried);
        let (rows, rest) = rest.split_at(needs.iter().filter(|(need, _)| row(need)).count());
        let (stored, same) = rest.split_at(needs.iter().filter(|(need, _)| kept(need)).count());
        let (mut rows, mut stored, mut same) = (rows.iter(), stored.iter(), same.iter());
        let next = needs.iter().filter_map(|(need, _)| match need {
            Need::Rows | Need::Carried => stored.next(),
            Need::Row(_) => rows.next(),
            Need::Same(_) => same.next(),
        });
        let mut given: Vec<Value> = next.chain(carried).chain(of_rows).cloned().collect();
        let taken = given.clone();
        let mut found = interpret::run(backward, &mut given, false)?;
        for value in &mut found {
            let is_taken = |t: &Tensor| taken.iter().filter_map(Value::as_tensor).any(|g| g.storage().id() == t.storage().id());
            if let Value::Tensor(t) = value
                && is_taken(t)
            {
                *value = crate::t!("clone", &*t)?.into();
            }
        }
        let of_others = found.split_off((self.first.len() + self.rows.len()).min(found.len()));
        let of_rows = found.split_off(self.first.len().min(found.len()));
        for (sum, value) in sums.iter().zip(of_others.iter().filter_map(Value::as_tensor)) {
            found.push(crate::t!("add.Tensor", sum.tensor()?, value)?.into());
        }
        found.extend(of_rows);
        if share_memory(inputs.iter().chain(&found)) { Err(shared()) } else { Ok(found) }
    }
}
