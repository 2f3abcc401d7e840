//! Sequences of different lengths: packed (step by step, only those that go on) and padded.

use super::shapes::wrap_dim;
use diagnostics::error::{Error, Result};
use dispatch::{Call, OpBuilder, Rule, Tags, Value, modes};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side=\"right\") -> Tensor",
        Rule::Composite(pad_sequence),
    )
    .doc("Sequences padded to the longest and stacked.");
    b.op("_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)", Rule::Composite(pack))
        .tags(Tags::APART_IN_EXPORT);
    b.op(
        "_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> (Tensor, Tensor)",
        Rule::Composite(pad_packed),
    );
}

/// Sequences side by side in a tensor as long as the longest, the rest filled up.
fn pad_sequence(call: &Call) -> Result<Value> {
    let sequences = call.tensors("sequences")?;
    let (batch_first, left) = (call.bool("batch_first")?, call.str("padding_side")? == "left");
    let Some(first) = sequences.first() else { return Err(Error::runtime("received an empty list of sequences")) };
    let lengths = sequences.iter().map(|s| s.sizes().first().cloned().unwrap_or(SymInt::Int(1))).collect::<Vec<_>>();
    let longest = lengths.iter().skip(1).fold(lengths[0].clone(), |max, n| max.max(n));
    let count = SymInt::from(sequences.len() as i64);
    let mut sizes = if batch_first { vec![count, longest.clone()] } else { vec![longest.clone(), count] };
    sizes.extend(first.sizes().into_iter().skip(1));
    if modes().fake && !modes().calls_as_aten {
        return padded_by_calls(call, first, sizes, &longest);
    }
    let out = t!("full", sizes, call.get("padding_value"); dtype = first.dtype(), device = first.device())?;
    let (time, batch) = if batch_first { (0, 0) } else { (0, 1) };
    for (i, (sequence, length)) in sequences.iter().zip(&lengths).enumerate() {
        let start = if left { &longest - length } else { SymInt::Int(0) };
        let row = if batch_first {
            t!("narrow", t!("select.int", &out, batch, i as i64)?, time, start, length)?
        } else {
            t!("select.int", t!("narrow", &out, time, start, length)?, batch, i as i64)?
        };
        t!("copy_", row, sequence)?;
    }
    Ok(Value::Tensor(out))
}

/// The same as graphs have it: every sequence is filled up and put into its place.
fn padded_by_calls(call: &Call, first: &Tensor, sizes: Vec<SymInt>, longest: &SymInt) -> Result<Value> {
    let (batch, left) = (i64::from(!call.bool("batch_first")?), call.str("padding_side")? == "left");
    let mut out = t!("new_full", first, sizes, call.get("padding_value"); pin_memory = false)?;
    for (i, sequence) in call.tensors("sequences")?.into_iter().enumerate() {
        let rest = dispatch::subtract_sizes(longest, &sequence.size(0))?;
        let (before, after) = if left { (rest, SymInt::Int(0)) } else { (SymInt::Int(0), rest) };
        let mut padding = vec![SymInt::Int(0); 2 * (first.dim() - 1)];
        padding.extend([before, after]);
        let sequence = if sequence.dtype() == out.dtype() { sequence } else { t!("_to_copy", sequence; dtype = out.dtype())? };
        let row = t!("constant_pad_nd", sequence, padding, call.get("padding_value"))?;
        out = t!("select_scatter", out, row, batch, i as i64)?;
    }
    Ok(Value::Tensor(out))
}

/// The integers of a one-dimensional tensor.
fn numbers(t: &Tensor) -> Result<Vec<i64>> {
    if t.dim() != 1 || t.dtype() != Dtype::Int64 {
        return Err(Error::runtime(format!(
            "'lengths' argument should be a 1D CPU int64 tensor, but got {}D {} {} tensor",
            t.dim(),
            t.device(),
            t.dtype().scalar_type()
        )));
    }
    let count = t.size(0).guard_int()?;
    (0..count).map(|i| aten!("item", t!("select.int", t, 0, i)?)?.int()).collect()
}

fn integers(values: &[i64]) -> Result<Tensor> {
    Tensor::from_slice(values, &[values.len() as i64])
}

fn pack(call: &Call) -> Result<Value> {
    let input = call.tensor("input")?;
    let input = if call.bool("batch_first")? { t!("transpose.int", input, 0, 1)? } else { input.clone() };
    let lengths = numbers(call.tensor("lengths")?)?;
    let batch = input.size(wrap_dim(1, input.dim())?).guard_int()?;
    if lengths.len() as i64 != batch {
        return Err(Error::runtime(format!(
            "Expected `len(lengths)` to be equal to batch_size, but got {} (batch_size={batch})",
            lengths.len()
        )));
    }
    if lengths.iter().any(|n| *n <= 0) {
        return Err(Error::runtime("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"));
    }
    if lengths.windows(2).any(|w| w[0] < w[1]) {
        return Err(Error::runtime(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability.",
        ));
    }
    let longest = lengths.first().copied().unwrap_or(0);
    // A step more than the input has is refused before all are listed.
    t!("narrow", &input, 0, 0, longest)?;
    let sizes: Vec<i64> = (0..longest).map(|step| lengths.iter().filter(|n| **n > step).count() as i64).collect();
    let steps = sizes
        .iter()
        .enumerate()
        .map(|(step, size)| t!("narrow", t!("select.int", &input, 0, step as i64)?, 0, 0, *size))
        .collect::<Result<Vec<_>>>()?;
    Ok(Value::List(vec![t!("cat", steps, 0)?.into(), integers(&sizes)?.into()]))
}

fn pad_packed(call: &Call) -> Result<Value> {
    let (data, sizes) = (call.tensor("data")?, numbers(call.tensor("batch_sizes")?)?);
    let Some(batch) = sizes.first().copied() else { return Err(Error::runtime("batch_sizes can not be empty")) };
    if batch < 0 {
        let steps = sizes.len();
        return Err(Error::runtime(format!("Trying to create tensor with negative dimension {batch}: [{steps}, {batch}]")));
    }
    tensor::check_count(batch)?;
    let mut shape: Vec<SymInt> = vec![call.sym_int("total_length")?, batch.into()];
    shape.extend(data.sizes().into_iter().skip(1));
    let padded = t!("full", shape, call.get("padding_value"); dtype = data.dtype(), device = data.device())?;
    let mut at = 0;
    for (step, size) in sizes.iter().enumerate() {
        let place = t!("narrow", t!("select.int", &padded, 0, step as i64)?, 0, 0, *size)?;
        t!("copy_", place, t!("narrow", data, 0, at, *size)?)?;
        at += size;
    }
    let lengths: Vec<i64> = (0..batch).map(|i| sizes.iter().filter(|size| **size > i).count() as i64).collect();
    let padded = if call.bool("batch_first")? { t!("transpose.int", padded, 0, 1)? } else { padded };
    Ok(Value::List(vec![padded.into(), integers(&lengths)?.into()]))
}
