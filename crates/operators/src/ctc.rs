//! Connectionist temporal classification: the likelihood of a sequence of labels, whatever the frames it is read from.
//!
//! The table of partial likelihoods is as wide as the longest target, so its size depends on values, and capture ends before it.

use crate::loss::{MEAN, SUM};
use crate::nll::first;
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, CastPolicy, Grads, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use tensor::{Dtype, Layout, Tensor, TensorSpec};

/// Registers the family: lengths are lists of numbers, or tensors.
pub fn register(b: &mut OpBuilder) {
    for (overload, lengths) in [("", "int[]"), (".Tensor", "Tensor")] {
        let saves: &'static [&'static str] = if overload.is_empty() {
            &["log_probs", "targets", "result", "result1"]
        } else {
            &["log_probs", "targets", "input_lengths", "target_lengths", "result", "result1"]
        };
        let public = if overload.is_empty() { ".IntList" } else { overload };
        b.op(
            &format!("ctc_loss{public}(Tensor log_probs, Tensor targets, {lengths} input_lengths, {lengths} target_lengths, int blank=0, int reduction=Mean, bool zero_infinity=False) -> Tensor"),
            Rule::Composite(ctc_loss),
        ).doc("Minus the log-likelihood of a sequence of labels, over all ways to place it in frames.").autocast(CastPolicy::Fp32)
        .tags(Tags::DYNAMIC_SHAPE);
        b.op(
            &format!("_ctc_loss{overload}(Tensor log_probs, Tensor targets, {lengths} input_lengths, {lengths} target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)"),
            Rule::Data,
        )
        .tags(Tags::DYNAMIC_SHAPE)
        .grad("CtcLossBackward", saves, gradient)
        .indices_without_grad(&[1]);
        b.op(
            &format!("_ctc_loss_backward{overload}(Tensor grad, Tensor log_probs, Tensor targets, {lengths} input_lengths, {lengths} target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor"),
            Rule::Fresh(|c| {
                let x = c.tensor("log_probs")?;
                Ok(vec![Some(TensorSpec::contiguous(x.sizes(), x.dtype(), x.device()))])
            }),
        );
    }
}

/// Lengths as numbers, given as such or as a tensor.
pub fn lengths(c: &Call, name: &str) -> Result<Vec<i64>> {
    match c.get(name) {
        Value::Tensor(t) => tensor::strided::integers(t),
        _ => c.ints(name),
    }
}

fn ctc_loss(c: &Call) -> Result<Value> {
    let log_probs = c.tensor("log_probs")?;
    for name in ["input_lengths", "target_lengths"] {
        if let Some(given) = c.get(name).as_tensor()
            && (!given.dtype().is_integral() || given.dtype() == Dtype::Bool)
        {
            return Err(Error::runtime(format!("{name} must be integral")));
        }
    }
    let (inputs, targets) = (lengths(c, "input_lengths")?, lengths(c, "target_lengths")?);
    let batched = log_probs.dim() == 3;
    let wide = if batched { log_probs.clone() } else { t!("unsqueeze", log_probs, 1)? };
    let labels = t!("to.dtype", c.tensor("targets")?, Dtype::Int64)?;
    let zero_infinity = c.bool("zero_infinity")?;
    let mut loss = first(aten!("_ctc_loss", wide, labels, inputs, targets.clone(), c.get("blank"), zero_infinity)?)?.into_tensor()?;
    if zero_infinity {
        let infinite = t!("eq.Scalar", &loss, f64::INFINITY)?;
        let zero = t!("zeros", Vec::<i64>::new(); dtype = loss.dtype(), layout = Value::Layout(Layout::Strided), device = loss.device())?;
        loss = t!("where.self", infinite, zero, loss)?;
    }
    Ok(match c.int("reduction")? {
        MEAN => {
            let count = targets.len() as i64;
            let counts = t!("to.dtype", Tensor::from_slice(&targets, &[count])?, loss.dtype())?;
            t!("mean", t!("div.Tensor", loss, t!("clamp_min", counts, 1)?)?)?
        }
        SUM => t!("sum", loss)?,
        _ if batched => loss,
        _ => t!("squeeze.dim", loss, 0)?,
    }
    .into())
}

fn gradient(b: &Backward) -> Result<Grads> {
    let (grad, log_probs, targets) = (b.grad()?, b.saved("log_probs")?, b.saved("targets")?);
    let [inputs, lengths, blank, zero] = ["input_lengths", "target_lengths", "blank", "zero_infinity"].map(|n| b.arg(n).clone());
    let (loss, table) = (b.result(0)?, b.result(1)?);
    Grads::one(b, "log_probs", || {
        if inputs.as_tensor().is_some() {
            t!("_ctc_loss_backward.Tensor", grad, log_probs, targets, inputs, lengths, loss, table, blank, zero)
        } else {
            t!("_ctc_loss_backward", grad, log_probs, targets, inputs, lengths, loss, table, blank, zero)
        }
    })
}
