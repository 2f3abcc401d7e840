//! `segment_reduce`: runs of a dimension reduced each to one element, by their lengths or by where they begin.

use super::common::*;
use super::shapes::{may_be_same, need_sizes, wrap_dim};
use diagnostics::error::{Error, Result};
use dispatch::{Call, Grads, OpBuilder, Rule, t};
use shape::SymInt;
use tensor::{Dtype, Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
        Rule::Fresh(reduced),
    )
    .doc("Runs of a dimension reduced each to one element.")
    .function()
    .grad("SegmentReduceBackward", &["data", "lengths", "offsets", "result"], |b| {
        let (lengths, offsets) = (b.opt_saved("lengths")?, b.opt_saved("offsets")?);
        Grads::one(b, "data", || {
            t!("_segment_reduce_backward", b.grad()?, b.result(0)?, b.saved("data")?, b.arg("reduce");
                lengths = lengths, offsets = offsets, axis = b.arg("axis"), initial = b.arg("initial"))
        })
    });
    b.op(
        "_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None, Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor",
        Rule::Fresh(|c| {
            let data = c.tensor("data")?;
            let sizes = result_sizes(c, data)?;
            for name in ["grad", "output"] {
                need_sizes("_segment_reduce_backward", name, c.tensor(name)?, &sizes)?;
            }
            Ok(vec![Some(TensorSpec::contiguous(data.sizes(), data.dtype(), data.device()))])
        }),
    );
}

/// The sizes of a reduction: along the axis, as many elements as there are runs.
fn result_sizes(c: &Call, data: &Tensor) -> Result<Vec<SymInt>> {
    let axis = wrap_dim(c.int("axis")?, data.dim())?;
    let (runs, count) = match (c.opt_tensor("lengths"), c.opt_tensor("offsets")) {
        (_, Some(offsets)) => (offsets, &last_size(offsets, axis)? - 1),
        (Some(lengths), None) => (lengths, last_size(lengths, axis)?),
        (None, None) => return Err(Error::runtime("segment_reduce(): Either lengths or offsets must be defined.")),
    };
    if axis >= data.dim() {
        return Err(Error::runtime("segment_reduce(): Expected data to have at least as many dimensions as the lengths of its runs."));
    }
    let mut sizes = data.sizes();
    if !may_be_same(&runs.sizes()[..axis], &sizes[..axis]) {
        return Err(Error::runtime("segment_reduce(): Expected data and the lengths of its runs to have the same sizes before the axis."));
    }
    if count.as_int().is_some_and(|count| count < 0) {
        return Err(Error::runtime("segment_reduce(): Expected offsets to have at least one element along the axis."));
    }
    sizes[axis] = count;
    Ok(sizes)
}

fn reduced(c: &Call) -> Specs {
    let (data, reduce) = (c.tensor("data")?, c.str("reduce")?);
    let axis = wrap_dim(c.int("axis")?, data.dim())?;
    if !matches!(reduce, "sum" | "prod" | "mean" | "max" | "min" | "amax" | "amin") {
        return Err(Error::runtime(format!("reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")));
    }
    if c.opt_tensor("indices").is_some() {
        return Err(Error::runtime("segment_reduce(): indices based reduction is not supported yet."));
    }
    let sizes = result_sizes(c, data)?;
    if let (Some(lengths), None) = (c.opt_tensor("lengths").filter(|t| !t.is_fake()), c.opt_tensor("offsets")) {
        check_lengths(lengths, &data.size(axis), c.bool("unsafe")?)?;
    }
    Ok(vec![Some(TensorSpec::contiguous(sizes, data.dtype(), data.device()))])
}

fn last_size(runs: &Tensor, axis: usize) -> Result<SymInt> {
    if runs.dim() != axis + 1 {
        return Err(Error::runtime(format!(
            "segment_reduce(): Expected the runs of axis {axis} to have {} dimension(s), but got {}",
            axis + 1,
            runs.dim()
        )));
    }
    Ok(runs.size(axis))
}

fn check_lengths(lengths: &Tensor, size: &SymInt, is_unsafe: bool) -> Result<()> {
    if !matches!(lengths.dtype(), Dtype::Int32 | Dtype::Int64) {
        return Err(Error::not_implemented(format!(
            "\"_segment_reduce_lengths_cpu_kernel1\" not implemented for '{}'",
            lengths.dtype().scalar_type()
        )));
    }
    let values = tensor::strided::integers(lengths)?;
    if values.iter().any(|length| *length < 0) {
        return Err(Error::runtime("lengths contains negative value!"));
    }
    let per_row = lengths.concrete()?.sizes.last().copied().unwrap_or(1);
    let total = |row: &[i64]| row.iter().sum::<i64>();
    let (mut rows, size) = (values.chunks(per_row.max(1)), size.as_int());
    let fits = |row: &[i64]| size.is_none_or(|size| if is_unsafe { total(row) <= size } else { total(row) == size });
    if rows.all(fits) {
        return Ok(());
    }
    Err(Error::runtime("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."))
}
