//! Margin losses over classes, composed as PyTorch's tracing composes them.

use crate::loss::{MEAN, SUM, apply_reduction};
use crate::nll::first;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Call, CastPolicy, OpBuilder, Rule, Tags, Value};
use tensor::{Dtype, Layout, Tensor};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=Mean) -> Tensor",
        Rule::Composite(multi_margin_loss),
    )
    .doc("A hinge loss over classes.")
    .function()
    .autocast(CastPolicy::Fp32)
    .tags(Tags::APART_IN_EXPORT);
    b.op(
        "multilabel_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
        Rule::Composite(|c| first(multilabel_margin_loss(c)?)),
    )
    .doc("A hinge loss over several labels.")
    .function()
    .autocast(CastPolicy::Fp32);
    b.op(
        "multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)",
        Rule::Composite(multilabel_margin_loss),
    )
    .function()
    .autocast(CastPolicy::Fp32)
    .tags(Tags::APART_IN_EXPORT);
}

/// `t` with leading dimensions of one up to `n`.
fn at_least(t: &Tensor, n: usize) -> Result<Tensor> {
    (t.dim()..n).try_fold(t.clone(), |t, _| t!("unsqueeze", t, 0))
}

/// A number where the condition does not hold.
fn or_number(condition: &Tensor, t: Tensor, number: i64) -> Result<Tensor> {
    t!("where.self", condition, &t, number_like(&t, number)?)
}

fn number_like(t: &Tensor, number: i64) -> Result<Tensor> {
    t!("scalar_tensor", number; dtype = t.dtype(), layout = Value::Layout(Layout::Strided), device = t.device())
}

fn multi_margin_loss(c: &Call) -> Result<Value> {
    let (input, target) = (at_least(c.tensor("self")?, 2)?, at_least(c.tensor("target")?, 1)?);
    let (p, reduction) = (c.float("p")?, c.int("reduction")?);
    if p != 1.0 && p != 2.0 {
        return Err(Error::runtime("only p == 1 and p == 2 supported"));
    }
    if input.dim() != 2 || input.size(1).sym_eq(0)? {
        return Err(Error::runtime(format!(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: {:?}",
            input.sizes()
        )));
    }
    if target.dim() != 1 || !target.numel().sym_eq(input.size(0))? {
        return Err(Error::runtime(format!("inconsistent target size, expected {} but got {:?}", input.size(0), target.sizes())));
    }
    // PyTorch's kernel knows two dtypes and promotes nothing; what is traced is composed of operators that do.
    if !input.is_fake() {
        let name = input.dtype().scalar_type();
        if !matches!(input.dtype(), Dtype::Float32 | Dtype::Float64) {
            return Err(Error::not_implemented(format!("\"multi_margin_loss_cpu_kernel\" not implemented for '{name}'")));
        }
        if let Some(weight) = c.opt_tensor("weight").filter(|w| w.dtype() != input.dtype()) {
            return Err(Error::runtime(format!("expected scalar type {name} but found {}", weight.dtype().scalar_type())));
        }
    }
    let index = t!("unsqueeze", &target, 1)?;
    let own = t!("gather", &input, 1, &index)?;
    let mut loss = t!("add.Tensor", t!("rsub.Scalar", own, c.get("margin"))?, &input)?;
    loss = t!("clamp_min", loss, 0)?;
    if p == 2.0 {
        loss = t!("mul.Tensor", &loss, &loss)?;
    }
    if let Some(weight) = c.opt_tensor("weight") {
        let weight = t!("index.Tensor", at_least(weight, 1)?, vec![Value::from(&target)])?;
        loss = t!("mul.Tensor", loss, t!("unsqueeze", weight, 1)?)?;
    }
    let classes = t!("arange", input.size(1); device = input.device(), pin_memory = false)?;
    let others = t!("ne.Tensor", classes, index)?;
    loss = or_number(&others, loss, 0)?;
    Ok(match reduction {
        MEAN => t!("mean", loss)?,
        SUM => {
            let classes = loss.size(1);
            t!("div.Tensor", t!("sum", loss)?, classes)?
        }
        // A single item without a dimension has a loss without one.
        _ if c.tensor("target")?.dim() == 0 => t!("squeeze", t!("mean.dim", loss, vec![1i64])?)?,
        _ => t!("mean.dim", loss, vec![1i64])?,
    }
    .into())
}

fn multilabel_margin_loss(c: &Call) -> Result<Value> {
    let (given_input, given_target, reduction) = (c.tensor("self")?, c.tensor("target")?, c.int("reduction")?);
    let (input, target) = (at_least(given_input, 2)?, at_least(given_target, 2)?);
    let count = input.size(1);
    if given_input.dim() > 2 || count.sym_eq(0)? {
        return Err(Error::runtime(format!(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: {:?}",
            given_input.sizes()
        )));
    }
    let mut same = given_input.dim() == given_target.dim();
    for (a, b) in given_input.sizes().iter().zip(given_target.sizes()) {
        same = same && a.sym_eq(b)?;
    }
    if !same {
        return Err(Error::runtime(format!(
            "inconsistent target size: {:?} for input of size: {:?}",
            given_target.sizes(),
            given_input.sizes()
        )));
    }
    // Labels after the first -1 do not count.
    let places = t!("arange", &count; device = target.device(), pin_memory = false)?;
    let ends = t!("eq.Scalar", &target, -1)?;
    let end = t!("where.self", ends, &places, number_like(&places, count.guard_int()?)?)?;
    let end = t!("amin", end, vec![-1i64], true)?;
    let counts = t!("lt.Tensor", &places, end)?;
    let own = t!("gather", &input, -1, or_number(&counts, target.clone(), 0)?)?;
    let labels = or_number(&counts, target, -1)?;
    let is_target = t!("any.dim", t!("eq.Tensor", places, t!("unsqueeze", labels, -1)?)?, 1)?;
    let turned = |t: &Tensor| t!("unsqueeze", t!("permute", t, vec![1i64, 0])?, -1);
    let mut loss = t!("add.Tensor", t!("rsub.Scalar", turned(&own)?, 1.0)?, &input)?;
    loss = t!("clamp_min", loss, 0)?;
    loss = t!("div.Tensor", loss, count)?;
    loss = t!("where.self", &is_target, number_like(&loss, 0)?, loss)?;
    loss = or_number(&turned(&counts)?, loss, 0)?;
    let loss = match reduction {
        SUM => apply_reduction(loss, SUM)?,
        _ => apply_reduction(t!("sum.dim_IntList", loss, vec![0i64, -1])?, reduction)?,
    };
    let flags = t!("reshape", t!("to.dtype", is_target, given_input.dtype())?, given_target.sizes())?;
    Ok(Value::List(vec![loss, flags.into()]))
}
