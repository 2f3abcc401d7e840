//! Negative log likelihood and cross entropy.

use crate::loss::{MEAN, NONE, SUM};
use crate::shapes::may_be_same;
use diagnostics::error::{Error, ErrorKind, Result};
use dispatch::aten;
use dispatch::t;
use dispatch::{Batch, Call, CastPolicy, Grads, OpBuilder, Rule, Value};
use shape::{FloatExpr, Relation, SymFloat, SymInt};
use tensor::{Dtype, Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor",
        Rule::Composite(cross_entropy),
    ).doc("The cross entropy between logits and classes or class probabilities.").function().autocast(CastPolicy::Fp32);
    b.op(
        "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor",
        Rule::Composite(|c| {
            nll_loss_nd(c.tensor("self")?, c.tensor("target")?, c.get("weight"), c.int("reduction")?, c.get("ignore_index"))
                .map(Value::from)
        }),
    )
    .function();
    b.op(
        "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor",
        Rule::Composite(|c| first(aten!("nll_loss_forward", &c.args[0], &c.args[1], &c.args[2], &c.args[3], &c.args[4])?)),
    )
    .doc("The negative log likelihood of classes.")
    .function()
    .autocast(CastPolicy::Fp32);
    b.op(
        "nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor",
        Rule::Composite(|c| first(aten!("nll_loss2d_forward", &c.args[0], &c.args[1], &c.args[2], &c.args[3], &c.args[4])?)),
    )
    .autocast(CastPolicy::Fp32);
    b.op(
        "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
        Rule::Fresh(forward_spec),
    ).refuses("c", "nll_loss_out_frame").function().batch(Batch::Decomposed)
    .grad("NllLossBackward", &["self", "target", "weight", "result1"], |b| {
        let (input, target, weight, total) = (b.saved("self")?, b.saved("target")?, b.opt_saved("weight")?, b.result(1)?);
        Grads::one(b, "self", || {
            t!("nll_loss_backward", b.grad()?, input, target, weight, b.arg("reduction"), b.arg("ignore_index"), total)
        })
    })
    .indices_without_grad(&[1]);
    b.op(
        "nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
        Rule::Fresh(backward_spec),
    ).batch(Batch::Decomposed)
    .grad("NllLossBackwardBackward", &["target", "weight"], |b| {
        let mut grads = Grads::new(b);
        let (grad, target, weight) = (b.grad()?, b.saved("target")?, b.opt_saved("weight")?);
        grads.set(b, "grad_output", || t!("nll_loss", grad, target, weight, b.arg("reduction"), b.arg("ignore_index")))?;
        grads.set(b, "self", || t!("zeros_like", grad))?;
        Ok(grads)
    });
    b.op(
        "nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
        Rule::Fresh(forward_2d_spec),
    ).function()
    .grad("NllLoss2DBackward", &["self", "target", "weight", "result1"], |b| {
        let (input, target, weight, total) = (b.saved("self")?, b.saved("target")?, b.opt_saved("weight")?, b.result(1)?);
        Grads::one(b, "self", || {
            t!("nll_loss2d_backward", b.grad()?, input, target, weight, b.arg("reduction"), b.arg("ignore_index"), total)
        })
    })
    .indices_without_grad(&[1]);
    b.op(
        "nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
        Rule::Fresh(backward_spec),
    );
}

/// The first of several results.
pub fn first(results: Value) -> Result<Value> {
    Ok(results.list()?.first().cloned().unwrap_or_default())
}

fn check_common(c: &Call, classes: SymInt) -> Result<()> {
    if let Some(weight) = c.opt_tensor("weight")
        && !(weight.dim() == 1 && weight.numel().sym_eq(classes.clone())?)
    {
        return Err(Error::runtime(format!(
            "weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: {:?}",
            weight.sizes()
        )));
    }
    let target = c.tensor("target")?.dtype();
    if !matches!(target, Dtype::Int64 | Dtype::UInt8) {
        return Err(Error::runtime(format!("expected target dtype to be Long or Byte, but got {}", target.scalar_type())));
    }
    Ok(())
}

fn mismatch(input: &Tensor, target: &Tensor) -> Error {
    Error::runtime(format!("size mismatch (got input: {:?} , target: {:?}", input.sizes(), target.sizes()))
}

fn outputs(c: &Call, unreduced: Vec<SymInt>) -> Result<Vec<Option<TensorSpec>>> {
    let input = c.tensor("self")?;
    let sizes = if c.int("reduction")? == NONE { unreduced } else { Vec::new() };
    let spec = |sizes| Some(TensorSpec::contiguous(sizes, input.dtype(), input.device()));
    Ok(vec![spec(sizes), spec(Vec::new())])
}

fn forward_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (input, target) = (c.tensor("self")?, c.tensor("target")?);
    if !(1..=2).contains(&input.dim()) {
        return Err(Error::runtime("input tensor should be 1D or 2D"));
    }
    if target.dim() > 1 {
        return Err(Error::runtime("0D or 1D target tensor expected, multi-target not supported"));
    }
    let batched = input.dim() == 2;
    if batched && (target.dim() == 0 || !input.size(0).sym_eq(target.size(0))?) {
        return Err(Error::runtime(format!("size mismatch (got input: {:?}, target: {:?})", input.sizes(), target.sizes())));
    }
    if !batched && !may_be_same(&[target.numel()], &[SymInt::Int(1)]) {
        return Err(Error::value(format!("For 1D input, 1D target must have size 1, but got target size: {}", target.numel())));
    }
    check_common(c, input.size(input.dim() - 1))?;
    outputs(c, if batched { vec![input.size(0)] } else { Vec::new() })
}

fn forward_2d_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (input, target) = (c.tensor("self")?, c.tensor("target")?);
    if target.dim() != 3 {
        return Err(Error::runtime(format!(
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: {}",
            target.dim()
        )));
    }
    if input.dim() != 4 {
        return Err(Error::runtime(format!(
            "only batches of spatial inputs supported (4D tensors), but got input of dimension: {}",
            input.dim()
        )));
    }
    for (a, b) in [(0, 0), (2, 1), (3, 2)] {
        if !input.size(a).sym_eq(target.size(b))? {
            return Err(mismatch(input, target));
        }
    }
    check_common(c, input.size(1))?;
    outputs(c, target.sizes())
}

fn backward_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (input, grad, total) = (c.tensor("self")?, c.tensor("grad_output")?, c.tensor("total_weight")?);
    let planes = c.entry.base_name() == "nll_loss2d_backward";
    let expected = if planes { forward_2d_spec(c)? } else { forward_spec(c)? };
    for spec in expected.into_iter().flatten().take(1) {
        if spec.geometry.sizes.is_empty() && !may_be_same(&[grad.numel()], &[SymInt::Int(1)]) {
            return Err(Error::runtime(format!("Expected a single element grad_output tensor, but got: {:?}", grad.sizes())));
        }
        if !spec.geometry.sizes.is_empty() {
            crate::pooling::check_shape(grad, &spec.geometry.sizes)?;
        }
    }
    if !may_be_same(&[total.numel()], &[SymInt::Int(1)]) {
        return Err(Error::runtime(format!(
            "expected total_weight to be a single element tensor, got: {:?} ({} elements)",
            total.sizes(),
            total.numel()
        )));
    }
    Ok(vec![Some(TensorSpec::contiguous(input.sizes(), input.dtype(), input.device()))])
}

fn same_sizes(a: &[SymInt], b: &[SymInt]) -> Result<bool> {
    let mut same = a.len() == b.len();
    for (x, y) in a.iter().zip(b) {
        same = same && x.sym_eq(y.clone())?;
    }
    Ok(same)
}

/// The loss over any number of dimensions after the class dimension.
fn nll_loss_nd(input: &Tensor, target: &Tensor, weight: &Value, reduction: i64, ignore: &Value) -> Result<Tensor> {
    let (sizes, target_sizes) = (input.sizes(), target.sizes());
    if sizes.is_empty() {
        return Err(Error::new(ErrorKind::Value, "Expected 1 or more dimensions (got 0)"));
    }
    let batch = target_sizes.first().cloned().unwrap_or_default();
    if sizes.len() != 1 {
        dispatch::compare_sizes(&sizes[0], Relation::Eq, &batch)?;
    }
    if sizes.len() != 1 && !(target_sizes.is_empty() && sizes.len() == 1) && !sizes[0].sym_eq(batch.clone())? {
        return Err(Error::new(
            ErrorKind::Value,
            format!("Expected input batch_size ({}) to match target batch_size ({batch}).", sizes[0]),
        ));
    }
    if sizes.len() == 1 && target_sizes.len() == 1 && !batch.sym_eq(1)? {
        return Err(Error::new(ErrorKind::Value, format!("For 1D input, 1D target must have size 1, but got target size: {batch}")));
    }
    match sizes.len() {
        1 | 2 => return t!("nll_loss", input, target, weight, reduction, ignore),
        4 => return t!("nll_loss2d", input, target, weight, reduction, ignore),
        _ => {}
    }
    let mut result = vec![sizes[0].clone()];
    result.extend_from_slice(&sizes[2..]);
    if !same_sizes(&target_sizes[1..], &sizes[2..])? {
        return Err(Error::runtime(format!("Expected target size {result:?}, got {target_sizes:?}")));
    }
    let (input, target) = (t!("contiguous", input)?, t!("contiguous", target)?);
    let flat = |t: Tensor, lead: &[SymInt], empty: &[i64], full: &[i64]| {
        let tail = if t.numel().sym_eq(0)? { empty } else { full };
        t!("view", t, lead.iter().cloned().chain(tail.iter().map(|i| SymInt::Int(*i))).collect::<Vec<_>>())
    };
    let input = flat(input, &sizes[..2], &[0, 0], &[1, -1])?;
    let target = flat(target, &sizes[..1], &[0, 0], &[1, -1])?;
    let loss = t!("nll_loss2d", input, target, weight, reduction, ignore)?;
    if reduction == NONE { t!("view", loss, result) } else { Ok(loss) }
}

fn cross_entropy(c: &Call) -> Result<Value> {
    let (input, target, reduction) = (c.tensor("self")?, c.tensor("target")?, c.int("reduction")?);
    let (ignore, smoothing) = (c.get("ignore_index"), c.float("label_smoothing")?);
    let (weight, class_dim) = (c.opt_tensor("weight"), usize::from(input.dim() != 1));
    let probabilities = same_sizes(&input.sizes(), &target.sizes())?;
    if probabilities {
        if !target.dtype().is_floating() {
            return Err(Error::runtime(format!(
                "Expected floating point type for target with class probabilities, got {}",
                target.dtype().scalar_type()
            )));
        }
        if c.int("ignore_index")? >= 0 {
            return Err(Error::runtime("ignore_index is not supported for floating point target"));
        }
    }
    if smoothing > 1.0 {
        return Err(Error::runtime(format!("label_smoothing must be between 0.0 and 1.0. Got: {smoothing}")));
    }
    if probabilities && input.dim() > 0 {
        check_weight(weight, &input.size(class_dim))?;
    }
    let log_input = t!("log_softmax.int", input, class_dim, input.dtype())?;
    Ok(Value::from(if probabilities {
        soft_targets(&log_input, target, weight, reduction, smoothing, class_dim)?
    } else if smoothing > 0.0 {
        let nll = t!("nll_loss_nd", &log_input, target, weight, reduction, ignore)?;
        smoothed(&log_input, target, weight, reduction, ignore, smoothing, class_dim, nll)?
    } else {
        t!("nll_loss_nd", log_input, target, weight, reduction, ignore)?
    }))
}

/// What each class gets of the smoothing, symbolic where their number is.
fn share(smoothing: f64, classes: &SymInt) -> Result<Value> {
    if let (SymInt::Sym(_, env), Some(float)) = (classes, SymFloat::of_size(classes)) {
        return Ok(Value::SymFloat(SymFloat::binary("truediv", &FloatExpr::Number(smoothing), &float.expr, env)));
    }
    Ok(Value::Float(smoothing / classes.guard_int()? as f64))
}

fn check_weight(weight: Option<&Tensor>, classes: &SymInt) -> Result<()> {
    match weight {
        Some(w) if !(w.dim() == 1 && w.numel().sym_eq(classes.clone())?) => Err(Error::runtime(format!(
            "cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: {:?}",
            w.sizes()
        ))),
        _ => Ok(()),
    }
}

/// A weight per class, viewed so that it broadcasts over the other dimensions.
fn weight_view(weight: &Tensor, ndim: usize, class_dim: usize) -> Result<Tensor> {
    let mut sizes = vec![SymInt::Int(1); ndim];
    sizes[class_dim] = weight.size(0);
    t!("view", weight, sizes)
}

fn soft_targets(input: &Tensor, target: &Tensor, weight: Option<&Tensor>, reduction: i64, smoothing: f64, dim: usize) -> Result<Tensor> {
    let classes = input.size(dim);
    let target = if smoothing > 0.0 {
        t!("add.Scalar", t!("mul.Scalar", target, 1.0 - smoothing)?, share(smoothing, &classes)?)?
    } else {
        target.clone()
    };
    let weight = weight.map(|w| weight_view(w, input.dim(), dim)).transpose()?;
    let mut product = t!("mul.Tensor", input, target)?;
    if let Some(weight) = weight {
        product = t!("mul.Tensor", product, weight)?;
    }
    match reduction {
        MEAN => {
            let total = t!("neg", t!("sum", product)?)?;
            if input.numel().sym_eq(0)? {
                return t!("fill_.Scalar", total, f64::NAN);
            }
            t!("div.Scalar", total, input.numel().floor_div(&classes)?)
        }
        SUM => t!("neg", t!("sum", product)?),
        _ => t!("neg", t!("sum.dim_IntList", product, vec![dim as i64])?),
    }
}

#[allow(clippy::too_many_arguments)]
fn smoothed(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: i64,
    ignore: &Value,
    smoothing: f64,
    dim: usize,
    nll: Tensor,
) -> Result<Tensor> {
    let weighted = match weight {
        Some(w) => t!("mul.Tensor", input, weight_view(w, input.dim(), dim)?)?,
        None => input.clone(),
    };
    let smooth = t!("neg", t!("sum.dim_IntList", weighted, vec![dim as i64])?)?;
    let ignored = t!("eq.Scalar", target, ignore)?;
    let smooth = t!("masked_fill_.Scalar", smooth, &ignored, 0.0)?;
    let spread = match (reduction, weight) {
        (MEAN, Some(weight)) => {
            let known = t!("masked_fill.Scalar", target, &ignored, 0)?;
            let weights = t!("gather", weight, 0, t!("flatten.using_ints", known)?)?;
            let total = t!("sum", t!("masked_fill_.Scalar", weights, t!("flatten.using_ints", ignored)?, 0)?)?;
            t!("div.Tensor", t!("sum", smooth)?, total)?
        }
        (MEAN, None) => {
            let count = t!("sum", t!("bitwise_not", ignored)?)?;
            t!("div.Tensor", t!("sum", smooth)?, count)?
        }
        (SUM, _) => t!("sum", smooth)?,
        _ => smooth,
    };
    let spread = t!("mul.Scalar", spread, share(smoothing, &input.size(dim))?)?;
    t!("add.Tensor", t!("mul.Scalar", nll, 1.0 - smoothing)?, spread)
}
