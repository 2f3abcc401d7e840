//! Losses that compare two tensors element by element: mse, l1, smooth l1, huber, binary cross entropy, soft margin, ...

use crate::shapes::{need_broadcast_to, pointwise, pointwise_strides, result_type};
use diagnostics::error::{Error, ErrorKind, Result};
use dispatch::t;
use dispatch::{Backward, Batch, Call, CastPolicy, Grads, OpBuilder, Rule, Value};
use tensor::{Dtype, Tensor, TensorSpec, promote};

/// `reduction='none'`
pub const NONE: i64 = 0;
/// `reduction='mean'`
pub const MEAN: i64 = 1;
/// `reduction='sum'`
pub const SUM: i64 = 2;

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op("mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor", Rule::Fresh(pair_spec))
        .refuses("c", "mse_cpu")
        .doc("The mean squared difference.")
        .function()
        .autocast(CastPolicy::Fp32)
        .batch(Batch::Elementwise)
        .grad("MseLossBackward", &["self", "target"], |b| {
            both_ways(b, |grad, x, y| t!("mse_loss_backward", grad, x, y, b.arg("reduction")))
        });
    b.op("mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor", Rule::Fresh(grad_spec))
        .batch(Batch::Elementwise)
        .grad("MseLossBackwardBackward", &["grad_output", "self", "target"], mse_double);
    b.op("l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor", Rule::Composite(l1_loss))
        .doc("The mean absolute difference.")
        .function()
        .autocast(CastPolicy::Fp32);
    b.op("smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0) -> Tensor", Rule::Fresh(smooth_l1_spec))
        .refuses("c", "smooth_l1_cpu")
        .doc("Squares near zero, absolute values beyond.")
        .function()
        .autocast(CastPolicy::Fp32)
        .grad("SmoothL1LossBackward", &["self", "target"], |b| {
            both_ways(b, |grad, x, y| t!("smooth_l1_loss_backward", grad, x, y, b.arg("reduction"), b.arg("beta")))
        });
    b.op(
        "smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor",
        Rule::Fresh(grad_spec),
    );
    b.op("huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor", Rule::Fresh(huber_spec))
        .refuses("c", "huber_cpu")
        .doc("Squares near zero, absolute values beyond.")
        .function()
        .autocast(CastPolicy::Fp32)
        .grad("HuberLossBackward", &["self", "target"], |b| {
            both_ways(b, |grad, x, y| t!("huber_loss_backward", grad, x, y, b.arg("reduction"), b.arg("delta")))
        });
    b.op(
        "huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor",
        Rule::Fresh(grad_spec),
    );
    b.op("soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor", Rule::Fresh(like_input_spec))
        .doc("A logistic loss of labels 1 and -1.")
        .function()
        .autocast(CastPolicy::Fp32)
        .grad("SoftMarginLossBackward", &["self", "target"], |b| {
            let grad = b.grad()?;
            Grads::one(b, "self", || t!("soft_margin_loss_backward", grad, b.saved("self")?, b.saved("target")?, b.arg("reduction")))
        });
    b.op("soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor", Rule::Fresh(grad_spec));
    b.op("kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> Tensor", Rule::Composite(kl_div))
        .doc("The divergence of one distribution from another.")
        .function()
        .autocast(CastPolicy::Fp32)
        .refuses("+bi", "R:kl_div: Integral inputs not supported.");
    b.op("binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor", Rule::Fresh(bce_spec))
        .doc("The cross entropy between probabilities and targets.")
        .function()
        .autocast(CastPolicy::Fp32)
        .grad("BinaryCrossEntropyBackward", &["self", "target", "weight"], bce_grad);
    b.op(
        "binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor",
        Rule::Fresh(|c| {
            let input = c.tensor("self")?;
            let operands = [Some(input), Some(c.tensor("grad_output")?), Some(c.tensor("target")?), c.opt_tensor("weight")];
            need_broadcast_to(&input.sizes(), &operands.into_iter().flatten().collect::<Vec<_>>())?;
            Ok(vec![Some(like(input)?)])
        }),
    );
    b.op(
        "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=Mean) -> Tensor",
        Rule::Fresh(bce_logits_spec),
    ).doc("The cross entropy between logits and targets, through a sigmoid.").function().autocast(CastPolicy::Fp32).under_transforms(super::batch_composed::bce_with_logits)
    .grad("BinaryCrossEntropyWithLogitsBackward", &["self", "target", "weight", "pos_weight"], bce_logits_grad);
}

/// A tensor's spec in a result that keeps its layout.
pub fn like(t: &Tensor) -> Result<TensorSpec> {
    let sizes = t.sizes();
    let strides = pointwise_strides(&sizes, &[t])?;
    Ok(TensorSpec::strided(sizes, strides, t.dtype(), t.device()))
}

/// The reduced form of a spec: itself, or a scalar.
fn reduced(spec: TensorSpec, reduction: i64) -> TensorSpec {
    if reduction == NONE { spec } else { TensorSpec::contiguous(Vec::new(), spec.dtype, spec.device) }
}

fn pair_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let pair = [c.get("self"), c.get("target")];
    Ok(vec![Some(reduced(pointwise(&pair, result_type(&pair)?)?, c.int("reduction")?))])
}

/// A loss that is written into a tensor like its input, whatever the dtype that it is computed in.
fn like_input_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let pair = [c.get("self"), c.get("target")];
    let dtype = c.tensor("self")?.dtype();
    need_castable(result_type(&pair)?, dtype)?;
    Ok(vec![Some(reduced(pointwise(&pair, dtype)?, c.int("reduction")?))])
}

fn need_castable(result: Dtype, to: Dtype) -> Result<()> {
    if result.can_cast(to) {
        return Ok(());
    }
    let (result, to) = (result.scalar_type(), to.scalar_type());
    Err(Error::runtime(format!("result type {result} can't be cast to the desired output type {to}")))
}

fn smooth_l1_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    // PyTorch's kernel asks.
    if c.float("beta")? < 0.0 && !c.tensor("self")?.is_fake() {
        return Err(Error::runtime("smooth_l1_loss does not support negative values for beta."));
    }
    pair_spec(c)
}

fn huber_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    if c.float("delta")? <= 0.0 {
        return Err(Error::runtime("huber_loss does not support non-positive values for delta."));
    }
    like_input_spec(c)
}

fn grad_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (input, target, grad) = (c.tensor("self")?, c.tensor("target")?, c.tensor("grad_output")?);
    let mut sizes = crate::shapes::broadcast_two(&input.sizes(), &target.sizes())?;
    // The gradient is broadcast with them, but for the soft margin's, which is written where the operands fit.
    if c.entry.base_name() == "soft_margin_loss_backward" {
        need_broadcast_to(&sizes, &[grad])?;
    } else {
        sizes = crate::shapes::broadcast_two(&sizes, &grad.sizes())?;
    }
    // What is traced computes with the arguments, one after the other, and takes after how they lie; the kernel fills a new tensor.
    if input.is_fake() {
        let operands = if c.entry.base_name() == "soft_margin_loss_backward" { [target, input] } else { [input, target] };
        let difference = crate::shapes::pointwise_strides(&sizes, &operands)?;
        let difference = Tensor::fake(&TensorSpec::strided(sizes.clone(), difference, input.dtype(), input.device()))?;
        let strides = crate::shapes::pointwise_strides(&sizes, &[&difference, c.tensor("grad_output")?])?;
        return Ok(vec![Some(TensorSpec::strided(sizes, strides, input.dtype(), input.device()))]);
    }
    Ok(vec![Some(TensorSpec::contiguous(sizes, input.dtype(), input.device()))])
}

/// Gradients of a loss that treats input and target alike.
fn both_ways(b: &Backward, formula: impl Fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>) -> Result<Grads> {
    let (mut grads, grad) = (Grads::new(b), b.grad()?);
    let (input, target) = (b.saved("self")?, b.saved("target")?);
    grads.set(b, "self", || formula(grad, input, target))?;
    grads.set(b, "target", || formula(grad, target, input))?;
    Ok(grads)
}

fn mse_double(b: &Backward) -> Result<Grads> {
    let (mut grads, grad, reduction) = (Grads::new(b), b.grad()?, b.arg("reduction"));
    let (upstream, input, target) = (b.saved("grad_output")?, b.saved("self")?, b.saved("target")?);
    let twice = |t: &Tensor| {
        let doubled = t!("mul.Scalar", t!("mul.Tensor", grad, upstream)?, 2)?;
        if reduction.int()? == MEAN { t!("div.Scalar", doubled, t.numel()) } else { Ok(doubled) }
    };
    grads.set(b, "grad_output", || t!("mse_loss_backward", grad, input, target, reduction))?;
    grads.set(b, "self", || twice(input))?;
    grads.set(b, "target", || t!("neg", twice(target)?))?;
    Ok(grads)
}

/// Mean, sum or nothing.
pub fn apply_reduction(t: Tensor, reduction: i64) -> Result<Value> {
    Ok(Value::from(match reduction {
        MEAN => t!("mean", t)?,
        SUM => t!("sum", t)?,
        _ => t,
    }))
}

fn l1_loss(c: &Call) -> Result<Value> {
    apply_reduction(t!("abs", t!("sub.Tensor", c.tensor("self")?, c.tensor("target")?)?)?, c.int("reduction")?)
}

fn kl_div(c: &Call) -> Result<Value> {
    let (input, target) = (c.tensor("self")?, c.tensor("target")?);
    let loss = if c.bool("log_target")? {
        let difference = t!("sub.Tensor", target, input)?;
        t!("mul.Tensor", t!("exp", target)?, difference)?
    } else {
        let product = t!("mul.Tensor", target, input)?;
        t!("sub.Tensor", t!("xlogy.Tensor", target, target)?, product)?
    };
    apply_reduction(loss, c.int("reduction")?)
}

fn bce_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (input, target) = (c.tensor("self")?, c.tensor("target")?);
    // Losses are multiplied by their weights in place.
    if let Some(weight) = c.opt_tensor("weight") {
        need_castable(promote(input.dtype(), weight.dtype()), input.dtype())?;
    }
    let operands = [Some(input), Some(target), c.opt_tensor("weight")];
    need_broadcast_to(&input.sizes(), &operands.into_iter().flatten().collect::<Vec<_>>())?;
    // Traced, the target is the first to be computed with.
    let spec = super::common::traced_in_order(c, vec![Some(like(input)?)], &["target", "self"])?;
    Ok(spec.into_iter().map(|s| s.map(|s| reduced(s, c.int("reduction").unwrap_or(NONE)))).collect())
}

fn bce_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad, reduction) = (Grads::new(b), b.grad()?, b.arg("reduction"));
    let (input, target, weight) = (b.saved("self")?, b.saved("target")?, b.opt_saved("weight")?);
    grads.set(b, "self", || t!("binary_cross_entropy_backward", grad, input, target, weight, reduction))?;
    grads.set(b, "target", || {
        let mut result = t!("mul.Tensor", t!("neg_", t!("logit", input)?)?, grad)?;
        if let Some(weight) = weight {
            result = t!("mul.Tensor", result, weight)?;
        }
        if reduction.int()? == MEAN { t!("div_.Scalar", result, target.numel()) } else { Ok(result) }
    })?;
    Ok(grads)
}

fn bce_logits_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (input, target) = (c.tensor("self")?, c.tensor("target")?);
    let (ss, st) = (input.sizes(), target.sizes());
    let mut same = ss.len() == st.len();
    for (a, b) in ss.iter().zip(&st) {
        same = same && a.sym_eq(b.clone())?;
    }
    if !same {
        return Err(Error::new(
            ErrorKind::Value,
            format!("Target size (torch.Size({st:?})) must be the same as input size (torch.Size({ss:?}))"),
        ));
    }
    let values: Vec<&Value> = ["self", "target", "weight", "pos_weight"].iter().map(|n| c.get(n)).filter(|v| !v.is_none()).collect();
    need_broadcast_to(&ss, &values.iter().filter_map(|v| v.as_tensor()).collect::<Vec<_>>())?;
    // One less the target is what all else is multiplied by and added to in place.
    need_castable(result_type(&values)?, target.dtype())?;
    let mut spec = pointwise(&values, target.dtype())?;
    spec.geometry.strides = pointwise_strides(&spec.geometry.sizes, &[target, input])?;
    Ok(vec![Some(reduced(spec, c.int("reduction")?))])
}

fn bce_logits_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad, mean) = (Grads::new(b), b.grad()?, b.arg("reduction").int()? == MEAN);
    let (input, target) = (b.saved("self")?, b.saved("target")?);
    let (weight, pos_weight) = (b.opt_saved("weight")?, b.opt_saved("pos_weight")?);
    let finish = |mut t: Tensor| {
        if let Some(weight) = weight {
            t = t!("mul.Tensor", t, weight)?;
        }
        if mean { t!("div_.Scalar", t, input.numel()) } else { Ok(t) }
    };
    grads.set(b, "self", || {
        let difference = match pos_weight {
            Some(p) => {
                let scaled = t!("mul.Tensor", p, target)?;
                let factor = t!("sub.Tensor", t!("add.Scalar", &scaled, 1)?, target)?;
                t!("sub.Tensor", t!("mul.Tensor", factor, t!("sigmoid", input)?)?, scaled)?
            }
            None => t!("sub.Tensor", t!("sigmoid", input)?, target)?,
        };
        finish(t!("mul.Tensor", difference, grad)?)
    })?;
    grads.set(b, "target", || {
        let slope = match pos_weight {
            Some(p) => {
                let off = t!("log_sigmoid", t!("neg", input)?)?;
                t!("sub.Tensor", off, t!("mul.Tensor", t!("log_sigmoid", input)?, p)?)?
            }
            None => t!("neg", input)?,
        };
        finish(t!("mul.Tensor", slope, grad)?)
    })?;
    Ok(grads)
}
