//! Loops: `while_loop`, `map_impl`. On values their bodies run as often as they have to; while tracing they become subgraphs.

use super::interpret::run;
use super::subgraphs::{
    Roles, backward_of, differentiable_edges, forward_of, given_gradients, in_backward, per_tensor, record, result_specs, with_history,
};
use super::trace::Piece;
use crate::autograd::{Body, Node, meta};
use crate::dispatch::{Value, modes};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::shape::SymInt;
use crate::tensor::{Tensor, TensorSpec};
use std::any::Any;
use std::rc::Rc;

pub(super) fn lists<const N: usize>(name: &str, args: &[Value]) -> Result<[Vec<Value>; N]> {
    let lists = args.iter().filter_map(|a| a.list().ok()).map(<[Value]>::to_vec).collect::<Vec<_>>();
    lists.try_into().map_err(|_| Error::type_error(format!("{name}() takes {N} lists of values")))
}

/// A loop whose backward would be one over all its steps.
fn without_backward(name: &str, operands: &[Value]) -> Result<()> {
    match differentiable_edges(operands)? {
        None => Ok(()),
        Some(_) => Err(Error::not_implemented(format!("{name}: a backward of the loop is not supported yet"))),
    }
}

/// Calls `while_loop(cond_graph, body_graph, carried, others)`.
pub(super) fn while_loop(bodies: [&Graph; 2], args: &[Value], tell: bool) -> Result<Value> {
    let [carried, others] = lists("while_loop", args)?;
    let all: Vec<Value> = carried.iter().chain(&others).cloned().collect();
    let [decides, body] = bodies;
    if modes().fake {
        without_backward("while_loop", &all)?;
        let traced = [forward_of(decides, &all)?, forward_of(body, &all)?];
        let results = result_specs(&traced[1])?;
        let [decides, body] = traced;
        let pieces = vec![
            Piece::Body("while_loop_cond_graph", decides),
            Piece::Body("while_loop_body_graph", body),
            Piece::Tuple(carried),
            Piece::Tuple(others),
        ];
        return Ok(with_history(record("while_loop", pieces, &results)?, None));
    }
    let goes_on = |values: &[Value]| -> Result<bool> {
        let given = run(decides, &mut [values, &others].concat(), tell)?;
        crate::aten!("_local_scalar_dense", given.first().cloned().unwrap_or_default().into_tensor()?)?.bool()
    };
    let mut values = carried;
    if !goes_on(&values)? {
        let copies = values.iter().map(|v| v.map_tensors(&mut |t| crate::t!("clone", t)));
        return copies.collect::<Result<_>>().map(Value::List);
    }
    loop {
        values = run(body, &mut [&values[..], &others].concat(), tell)?;
        if !goes_on(&values)? {
            return Ok(Value::List(values));
        }
    }
}

/// How many rows the tensors that a loop goes over have.
pub(super) fn count_rows(name: &str, rows: &[Value]) -> Result<SymInt> {
    let first = rows.first().ok_or_else(|| Error::type_error(format!("{name}() takes tensors to go over")))?;
    Ok(first.tensor()?.size(0))
}

/// The rows of all tensors at a place.
pub(super) fn rows_at(rows: &[Value], at: i64) -> Result<Vec<Value>> {
    rows.iter().map(|t| crate::t!("select.int", t.tensor()?, 0, at).map(Value::Tensor)).collect()
}

/// Copies of the first rows.
pub(super) fn first_rows(rows: &[Value]) -> Result<Vec<Value>> {
    let made = |value: &Value| {
        let of = value.tensor()?;
        let spec = of.spec();
        let row = Tensor::fake(&TensorSpec::contiguous(spec.geometry.sizes[1..].to_vec(), spec.dtype, spec.device))?;
        meta::set_requires_grad(&row, meta::requires_grad(of))?;
        Ok(Value::Tensor(row))
    };
    rows.iter().map(made).collect()
}

/// What results look like in rows.
pub(super) fn in_rows(results: &[Option<TensorSpec>], count: &SymInt) -> Vec<Option<TensorSpec>> {
    let stacked = |spec: &TensorSpec| {
        let sizes = std::iter::once(count.clone()).chain(spec.geometry.sizes.iter().cloned()).collect();
        TensorSpec::contiguous(sizes, spec.dtype, spec.device)
    };
    results.iter().map(|spec| spec.as_ref().map(stacked)).collect()
}

/// Puts the results of steps into rows.
pub(super) fn stack(steps: Vec<Vec<Value>>) -> Result<Vec<Value>> {
    let count = steps.first().map_or(0, Vec::len);
    let column = |i: usize| {
        let all: Vec<Value> = steps.iter().map(|step| step[i].clone()).collect();
        if matches!(all.first(), Some(Value::None)) { Ok(Value::None) } else { crate::t!("stack", Value::List(all), 0).map(Value::Tensor) }
    };
    (0..count).map(column).collect()
}

/// Calls `map_impl(body_graph, rows, others)`.
pub(super) fn map(body: &Graph, args: &[Value], tell: bool) -> Result<Value> {
    let [rows, others] = lists("map_impl", args)?;
    let count = count_rows("map_impl", &rows)?;
    if !modes().fake {
        let steps = (0..count.guard_int()?).map(|i| run(body, &mut [rows_at(&rows, i)?, others.clone()].concat(), tell));
        return stack(steps.collect::<Result<_>>()?).map(Value::List);
    }
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
    let results = in_rows(&result_specs(&body)?, &count_rows("map_impl", &rows)?);
    record("map_impl", vec![Piece::Body("body_graph", body), Piece::List(rows), Piece::List(others)], &results)
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
