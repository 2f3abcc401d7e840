//! `while_loop`: on values the body runs as long as the condition holds; while tracing both become subgraphs.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use super::rows::lists;
use super::subgraphs::{differentiable_edges, forward_of, record, refuse_shared_memory, result_specs, with_history};
use crate::aot::interpret;
use crate::aot::trace::Piece;
use crate::dispatch::Value;
use crate::error::{Error, Result};

/// `torch.ops.higher_order.while_loop`, called with cond_graph, body_graph, carried, others.
pub(super) static WHILE_LOOP: HigherOrderOperator = HigherOrderOperator { name: "while_loop", run, trace: Some(trace) };

/// A backward would be a loop over all its steps.
fn without_backward(operands: &[Value]) -> Result<()> {
    match differentiable_edges(operands)? {
        None => Ok(()),
        Some(_) => Err(Error::not_implemented("while_loop: a backward of the loop is not supported yet")),
    }
}

fn trace(call: &HigherOrderCall) -> Result<Value> {
    let [decides, body] = call.bodies()?;
    let [carried, others] = lists(call)?;
    let all: Vec<Value> = carried.iter().chain(&others).cloned().collect();
    without_backward(&all)?;
    refuse_shared_memory(&all, "cond_fn")?;
    let (decides, body) = (forward_of(decides, &all)?, forward_of(body, &all)?);
    let results = result_specs(&body)?;
    let pieces = vec![
        Piece::Body("while_loop_cond_graph", decides),
        Piece::Body("while_loop_body_graph", body),
        Piece::Tuple(carried),
        Piece::Tuple(others),
    ];
    Ok(with_history(record(WHILE_LOOP.name, pieces, &results)?, None))
}

fn run(call: &HigherOrderCall) -> Result<Value> {
    let [decides, body] = call.bodies()?;
    let [carried, others] = lists(call)?;
    let goes_on = |values: &[Value]| -> Result<bool> {
        let given = interpret::run(decides, &mut [values, &others].concat(), call.tell)?;
        crate::aten!("_local_scalar_dense", given.first().cloned().unwrap_or_default().into_tensor()?)?.bool()
    };
    let mut values = carried;
    if !goes_on(&values)? {
        let copies = values.iter().map(|v| v.map_tensors(&mut |t| crate::t!("clone", t)));
        return copies.collect::<Result<_>>().map(Value::List);
    }
    loop {
        values = interpret::run(body, &mut [&values[..], &others].concat(), call.tell)?;
        if !goes_on(&values)? {
            return Ok(Value::List(values));
        }
    }
}
