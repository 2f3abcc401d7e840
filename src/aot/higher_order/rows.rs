//! Rows of tensors that loops go over.

use super::operator::HigherOrderCall;
use crate::autograd::meta;
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::shape::SymInt;
use crate::tensor::{Tensor, TensorSpec};

/// The lists of values that a loop takes.
pub(super) fn lists<const N: usize>(call: &HigherOrderCall) -> Result<[Vec<Value>; N]> {
    let lists = call.args.iter().filter_map(|a| a.list().ok()).map(<[Value]>::to_vec).collect::<Vec<_>>();
    lists.try_into().map_err(|_| Error::type_error(format!("{}() takes {N} lists of values", call.name)))
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
