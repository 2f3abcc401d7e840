//! Forward derivatives of what reads many elements: reductions, normalizations, softmax and losses.

use super::common::*;
use super::forward::{mul, sum};
use super::shapes::wrap_dims;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Call, Dual, OpBuilder, Value};
use shape::SymInt;
use tensor::{Layout, Tensor};

/// Says it of the operators that are registered already.
pub fn register(b: &mut OpBuilder) {
    register_exponentials(b);
    register_moments(b);
    register_extrema(b);
    register_normalizations(b);
    register_losses(b);
}

fn register_exponentials(b: &mut OpBuilder) {
    b.at("logsumexp").forward(&["self_t", "self_p"], |d| logsumexp(d.t("self_p")?, d.t("self_t")?, d.arg("dim"), d.arg("keepdim").bool()?));
    b.at("_softmax").forward(&["self_t", "self_p"], |d| mul(d.result(0)?, centred(d)?));
    b.at("_log_softmax").forward(&["self_t", "self_p"], centred);
    b.at("_softmax_backward_data").composed_forward(|c| {
        let (grad, output, dim) = (c.tensor("grad_output")?, c.tensor("output")?, c.int("dim")?);
        let product = mul(grad, output)?;
        let total = t!("sum.dim_IntList", &product, vec![dim], true)?;
        typed(c, t!("sub.Tensor", &product, mul(output, total)?)?)
    });
    b.at("_log_softmax_backward_data").composed_forward(|c| {
        let (grad, output, dim) = (c.tensor("grad_output")?, c.tensor("output")?, c.int("dim")?);
        let shares = t!("exp", output)?;
        let total = t!("sum.dim_IntList", grad, vec![dim], true)?;
        typed(c, t!("sub.Tensor", grad, mul(&shares, total)?)?)
    });
}

fn typed(c: &Call, grad: Tensor) -> Result<Value> {
    match c.dtype("input_dtype")? {
        Some(dtype) if dtype != grad.dtype() => t!("to.dtype", grad, dtype).map(Value::from),
        _ => Ok(grad.into()),
    }
}

/// The tangent of `logsumexp`: that of its argument, weighted by the shares.
fn logsumexp(x: &Tensor, tangent: &Tensor, dim: &Value, keepdim: bool) -> Result<Tensor> {
    let shifted = t!("sub.Tensor", x, t!("amax", x, dim, true)?)?;
    let exponentials = t!("exp", shifted)?;
    let total = t!("sum.dim_IntList", &exponentials, dim, keepdim)?;
    let weighted = t!("sum.dim_IntList", mul(&exponentials, tangent)?, dim, keepdim)?;
    t!("div_.Tensor", weighted, total)
}

fn centred(d: &Dual) -> Result<Tensor> {
    let (tangent, dim) = (d.t("self_t")?, d.arg("dim").int()?);
    t!("sub.Tensor", tangent, logsumexp(d.t("self_p")?, tangent, &vec![dim].into(), true)?)
}

/// Runs a piece of an operator's gradient formula: dimensions kept, on a gradient of those sizes.
fn with_dims_kept(d: &Dual, formula: impl FnOnce(&Backward) -> Result<Tensor>) -> Result<Tensor> {
    let mut args = d.args.to_vec();
    let at = |name: &str| d.entry.schema.position(name).ok_or_else(|| Error::runtime(format!("no argument {name}")));
    args[at("self")?] = d.t("self_p")?.into();
    if let Ok(keepdim) = at("keepdim") {
        args[keepdim] = Value::Bool(true);
    }
    let specs: Vec<Vec<_>> = args.iter().map(|v| v.as_tensor().map(Tensor::spec).into_iter().collect()).collect();
    let result_specs: Vec<_> = d.results.iter().map(|r| r.as_ref().map(Tensor::spec)).collect();
    let needs = vec![true; args.len()];
    formula(&Backward {
        entry: d.entry,
        args: &args,
        specs: &specs,
        results: d.results,
        result_specs: &result_specs,
        grads: &[],
        needs: &needs,
        numel: None,
    })
}

fn dims(d: &Dual) -> Value {
    if d.arg("dim").is_none() { Vec::<i64>::new().into() } else { d.arg("dim").clone() }
}

fn variance(d: &Dual) -> Result<Tensor> {
    let tangent = super::complex::conj(d.t("self_t")?)?;
    let slope = with_dims_kept(d, |b| super::reduce::var_backward(b, &tangent))?;
    let slope = if slope.dtype().is_complex() { t!("real", slope)? } else { slope };
    t!("sum.dim_IntList", slope, dims(d), d.arg("keepdim"))
}

fn deviation(d: &Dual) -> Result<Tensor> {
    let result = d.result(0)?;
    let twice = t!("mul.Scalar", result, 2.0)?;
    let quotient = t!("div.Tensor", variance(d)?, twice)?;
    t!("masked_fill_.Scalar", quotient, t!("eq.Scalar", result, 0)?, 0)
}

fn register_moments(b: &mut OpBuilder) {
    b.at("var.correction").forward(&["self_t", "self_p"], variance);
    b.at("std.correction").forward(&["self_t", "self_p"], deviation);
    b.at("var_mean.correction").forward(&["self_t", "self_p"], variance);
    b.at("std_mean.correction").forward(&["self_t", "self_p"], deviation);
    for name in ["var_mean.correction", "std_mean.correction"] {
        b.at(name).forward_of(1, &["self_t"], |d| t!("mean.dim", d.t("self_t")?, dims(d), d.arg("keepdim")));
    }
    b.at("linalg_vector_norm").forward(&["self_t", "self_p"], |d| norm(d, d.arg("ord")));
    b.at("norm.ScalarOpt_dim").forward(&["self_t", "self_p"], |d| norm(d, d.arg("p")));
    b.at("prod").forward(&["self_t", "self_p"], |d| {
        let result = d.result(0)?;
        let layout = Value::Layout(Layout::Strided);
        let one = t!("ones", Vec::<i64>::new(); dtype = result.dtype(), layout = layout, device = result.device())?;
        let slope = with_dims_kept(d, |b| super::reduce::prod_all(b, &t!("expand", one, result.sizes())?))?;
        t!("sum", mul(&slope, d.t("self_t")?)?)
    });
}

/// The tangent of a norm: that of the argument, weighted by what each element adds.
fn norm(d: &Dual, order: &Value) -> Result<Tensor> {
    let (x, tangent, norm, keepdim) = (d.t("self_p")?, d.t("self_t")?, d.result(0)?, d.arg("keepdim"));
    let p = if order.is_none() { 2.0 } else { order.float()? };
    let total = |t: Tensor| t!("sum.dim_IntList", t, dims(d), keepdim);
    let flat_at_zero = |t: Tensor| t!("masked_fill_.Scalar", t, t!("eq.Scalar", norm, 0)?, 0);
    if x.dtype().is_complex() {
        return Err(Error::not_implemented("the forward derivative of a norm of complex numbers is not in the playground"));
    }
    if p == 0.0 {
        return t!("zeros_like", norm);
    }
    if p == 1.0 {
        return total(mul(&t!("sgn", x)?, tangent)?);
    }
    if p == 2.0 {
        let product = total(mul(x, tangent)?)?;
        return flat_at_zero(t!("div_.Tensor", product, norm)?);
    }
    if p.is_infinite() {
        let whole = with_dims_kept(d, |b| restored(norm, b.arg("dim"), x, b.call().bool("keepdim").is_ok() && d.arg("keepdim").bool()?))?;
        let reached = t!("eq.Tensor", t!("abs", x)?, whole)?;
        let count = total(t!("to.dtype", &reached, x.dtype())?)?;
        let slopes = mul(&mul(&t!("sgn", x)?, tangent)?, reached)?;
        return t!("div.Tensor", total(slopes)?, count);
    }
    let powers = t!("pow.Tensor_Scalar", t!("abs", x)?, p - 1.0)?;
    let powers = t!("masked_fill.Scalar", powers, t!("eq.Scalar", x, 0)?, 0)?;
    let product = total(mul(&mul(&t!("sgn", x)?, powers)?, tangent)?)?;
    flat_at_zero(mul(&product, t!("pow.Tensor_Scalar", norm, 1.0 - p)?)?)
}

/// A reduction's result with the reduced dimensions as ones.
fn restored(result: &Tensor, dim: &Value, of: &Tensor, keepdim: bool) -> Result<Tensor> {
    if keepdim || of.dim() == 0 {
        return Ok(result.clone());
    }
    let mut sizes = of.sizes();
    let all = dim.is_none() || matches!(dim, Value::List(items) if items.is_empty());
    let reduced = match all {
        true => (0..of.dim()).collect(),
        false => wrap_dims(&dim.ints().or_else(|_| dim.int().map(|d| vec![d]))?, of.dim())?,
    };
    reduced.into_iter().for_each(|d| sizes[d] = SymInt::Int(1));
    t!("reshape", result, sizes)
}

fn register_extrema(b: &mut OpBuilder) {
    for name in ["max", "min", "median", "nanmedian"] {
        b.at(name).forward(&["self_t", "self_p"], |d| {
            let reached = t!("eq.Tensor", d.t("self_p")?, d.result(0)?)?;
            let share = t!("div.Tensor", d.t("self_t")?, t!("sum", &reached)?)?;
            t!("sum", mul(&reached, share)?)
        });
    }
    for name in ["amax", "amin"] {
        b.at(name).forward(&["self_t", "self_p"], |d| {
            let (x, dim, keepdim) = (d.t("self_p")?, d.arg("dim"), d.arg("keepdim"));
            let reached = t!("eq.Tensor", x, restored(d.result(0)?, dim, x, keepdim.bool()?)?)?;
            let count = t!("sum.dim_IntList", &reached, dim, keepdim)?;
            let tangents = t!("where.self", reached, d.t("self_t")?, scalar_like(0.0, x)?)?;
            t!("div.Tensor", t!("sum.dim_IntList", tangents, dim, keepdim)?, count)
        });
    }
}

/// What a normalization does to a tangent, by the moments that it subtracts and divides by.
fn normalized(x: &Tensor, tangent: &Tensor, mean: &Tensor, rstd: &Tensor, dims: &[i64], count: &SymInt) -> Result<Tensor> {
    let from_mean = || t!("sub.Tensor", x, mean);
    let from_its_mean = || t!("sub.Tensor", tangent, t!("mean.dim", tangent, dims.to_vec(), true)?);
    let of_rstd = {
        let deviations = from_mean()?;
        let tangents = from_its_mean()?;
        let cube = t!("neg", t!("pow.Tensor_Scalar", rstd, 3)?)?;
        let products = mul(&mul(&cube, tangents)?, deviations)?;
        t!("div_.Scalar", t!("sum.dim_IntList", products, dims.to_vec(), true)?, count.clone())?
    };
    sum(|| mul(&from_its_mean()?, rstd), || mul(&from_mean()?, of_rstd))
}

/// `result * weight + bias`, for its tangent; weight and bias are viewed in these sizes.
fn scaled(d: &Dual, tangent: Tensor, primal: impl FnOnce() -> Result<Tensor>, sizes: &[SymInt]) -> Result<Tensor> {
    let viewed = |name: &str| t!("view", d.t(name)?, sizes.to_vec());
    let has_weight = d.opt("weight_p")?.is_some();
    let primal = if has_weight { Some(primal()?) } else { None };
    let bias = if d.opt("bias_p")?.is_some() { Some(viewed("bias_t")?) } else { None };
    let mut result = tangent;
    if let Some(primal) = primal {
        let weight_t = viewed("weight_t")?;
        let weight_p = viewed("weight_p")?;
        result = sum(|| mul(&result, weight_p), || mul(&primal, weight_t))?;
    }
    bias.map_or(Ok(result.clone()), |bias| t!("add.Tensor", result, bias))
}

fn register_normalizations(b: &mut OpBuilder) {
    const READS: &[&str] = &["input_t", "input_p", "weight_t", "weight_p", "bias_t", "bias_p"];
    b.at("native_layer_norm").forward(READS, |d| {
        let (x, tangent) = (d.t("input_p")?, d.t("input_t")?);
        let sizes = x.sizes();
        let outer = sizes.len() - d.call().sym_ints("normalized_shape")?.len();
        let each = |outside: bool| {
            let kept = |i: usize| (i < outer) == outside;
            sizes.iter().enumerate().map(|(i, size)| if kept(i) { size.clone() } else { SymInt::Int(1) }).collect::<Vec<_>>()
        };
        let dims: Vec<i64> = (outer as i64..sizes.len() as i64).collect();
        let count = sizes[outer..].iter().fold(SymInt::Int(1), |n, size| &n * size);
        let mean = t!("view", d.result(1)?, each(true))?;
        let rstd = t!("view", d.result(2)?, each(true))?;
        let result = normalized(x, tangent, &mean, &rstd, &dims, &count)?;
        scaled(d, result, || mul(&t!("sub.Tensor", x, &mean)?, &rstd), &each(false))
    });
    for name in ["_native_batch_norm_legit", "_native_batch_norm_legit.no_stats", "_native_batch_norm_legit_no_training"] {
        b.at(name).forward(READS, batch_norm);
    }
    b.at("native_layer_norm_backward").composed_forward(layer_norm_backward);
}

fn batch_norm(d: &Dual) -> Result<Tensor> {
    let (x, tangent, call) = (d.t("input_p")?, d.t("input_t")?, d.call());
    let sizes = x.sizes();
    let per_channel: Vec<SymInt> = (0..sizes.len()).map(|i| if i == 1 { sizes[1].clone() } else { SymInt::Int(1) }).collect();
    let dims: Vec<i64> = (0..sizes.len() as i64).filter(|i| *i != 1).collect();
    let count = dims.iter().fold(SymInt::Int(1), |n, i| &n * &sizes[*i as usize]);
    let (mean, rstd, result);
    if matches!(call.get("training"), Value::Bool(true)) {
        mean = t!("view", d.result(1)?, &per_channel)?;
        rstd = t!("view", d.result(2)?, &per_channel)?;
        result = normalized(x, tangent, &mean, &rstd, &dims, &count)?;
    } else {
        mean = t!("view", call.tensor("running_mean")?, &per_channel)?;
        let deviation = t!("sqrt", t!("add.Scalar", call.tensor("running_var")?, call.get("eps"))?)?;
        rstd = t!("view", number_over(1, &deviation)?, &per_channel)?;
        result = mul(tangent, &rstd)?;
    }
    scaled(d, result, || mul(&t!("sub.Tensor", x, &mean)?, &rstd), &per_channel)
}

/// The gradients of a layer norm, of operators that can be differentiated forward; moments are computed anew.
fn layer_norm_backward(c: &Call) -> Result<Value> {
    let (grad, x, rstd) = (c.tensor("grad_out")?, c.tensor("input")?, c.tensor("rstd")?);
    let (weight, bias) = (c.opt_tensor("weight"), c.opt_tensor("bias"));
    let wanted: Vec<bool> = match c.get("output_mask") {
        Value::List(items) => items.iter().map(Value::bool).collect::<Result<_>>()?,
        other => vec![other.bool()?],
    };
    let outer = x.dim() - c.sym_ints("normalized_shape")?.len();
    let inner_dims: Vec<i64> = (outer as i64..x.dim() as i64).collect();
    let outer_dims: Vec<i64> = (0..outer as i64).collect();
    let count = x.sizes()[outer..].iter().fold(SymInt::Int(1), |n, size| &n * size);
    let moments = dispatch::aten!("var_mean.correction", x, inner_dims.clone(); correction = 0, keepdim = true)?.tensors()?;
    let eps = t!("sub.Tensor", t!("pow.Tensor_Scalar", t!("reciprocal", rstd)?, 2)?, &moments[0])?;
    let rstd = t!("rsqrt", t!("add.Tensor", &moments[0], t!("detach", eps)?)?)?;
    let normal = mul(&t!("sub.Tensor", x, &moments[1])?, &rstd)?;
    let by_weight = weight.map_or_else(|| Ok(grad.clone()), |weight| mul(grad, weight))?;
    let scaled = t!("mul.Scalar", &by_weight, count.clone())?;
    let total = t!("sum.dim_IntList", &by_weight, inner_dims.clone(), true)?;
    let along = t!("sum.dim_IntList", mul(&by_weight, &normal)?, inner_dims, true)?;
    let along = mul(&normal, along)?;
    let rest = t!("sub.Tensor", t!("sub.Tensor", scaled, total)?, along)?;
    let nothing = || t!("zeros", Vec::<i64>::new());
    let of_input = if wanted[0] { mul(&t!("div.Scalar", rstd, count)?, rest)? } else { t!("zeros_like", x)? };
    let summed = |t: Tensor| if outer_dims.is_empty() { Ok(t) } else { t!("sum.dim_IntList", t, outer_dims.clone(), false) };
    let of_weight = match weight {
        Some(_) if wanted[1] => summed(mul(grad, &normal)?)?,
        Some(weight) => t!("zeros_like", weight)?,
        None => nothing()?,
    };
    let of_bias = match bias {
        Some(_) if wanted[2] => summed(t!("clone", grad)?)?,
        Some(bias) => t!("zeros_like", bias)?,
        None => nothing()?,
    };
    Ok(Value::List(vec![of_input.into(), of_weight.into(), of_bias.into()]))
}

fn register_losses(b: &mut OpBuilder) {
    const BOTH: &[&str] = &["self_t", "self_p", "target_t", "target_p"];
    b.at("mse_loss").forward(BOTH, |d| both_ways(d, |t, x, y| t!("mse_loss_backward", t, x, y, 0)));
    b.at("smooth_l1_loss").forward(BOTH, |d| both_ways(d, |t, x, y| t!("smooth_l1_loss_backward", t, x, y, 0, d.arg("beta"))));
    b.at("huber_loss").forward(BOTH, |d| both_ways(d, |t, x, y| t!("huber_loss_backward", t, x, y, 0, d.arg("delta"))));
    for name in ["nll_loss_backward", "nll_loss2d_backward"] {
        b.at(name).composed_forward(nll_backward);
    }
    for name in ["nll_loss_forward", "nll_loss2d_forward"] {
        b.at(name).forward(&["self_t"], |d| {
            let mut args = d.args.to_vec();
            args[0] = d.t("self_t")?.into();
            let results = dispatch::call(d.entry, args)?.tensors()?;
            results.into_iter().next().ok_or_else(|| Error::runtime("a loss without a result"))
        });
    }
}

/// The gradient of a loss of class indices, of operators that can be differentiated forward.
fn nll_backward(c: &Call) -> Result<Value> {
    let (x, target, reduction) = (c.tensor("self")?, c.tensor("target")?, c.int("reduction")?);
    let ignored = c.int("ignore_index")?;
    let channel = if x.dim() < 2 { 0 } else { 1 };
    let mut grad = c.tensor("grad_output")?.clone();
    if reduction == 1 {
        grad = t!("div.Tensor", grad, c.tensor("total_weight")?)?;
    }
    let target = t!("unsqueeze", target, channel)?;
    let number = |dtype| t!("scalar_tensor", 0; dtype = dtype, layout = Value::Layout(Layout::Strided), device = x.device());
    let kept = t!("ne.Scalar", &target, ignored)?;
    let safe = t!("where.self", kept, &target, number(target.dtype())?)?;
    let zeros = t!("zeros_like", x)?;
    let mut spread = t!("scatter.value", zeros, channel, safe, -1.0)?;
    // One loss for each place, and each place's gradient.
    if x.dim() > grad.dim() && grad.dim() > 0 {
        grad = t!("unsqueeze", grad, channel)?;
    }
    if let Some(weight) = c.opt_tensor("weight") {
        let mut sizes = vec![SymInt::Int(1); x.dim()];
        sizes[channel as usize] = weight.size(0);
        spread = mul(&spread, t!("reshape", weight, sizes)?)?;
    }
    let kept = t!("ne.Scalar", &target, ignored)?;
    let grad = t!("where.self", kept, &grad, number(grad.dtype())?)?;
    mul(&spread, grad).map(Value::from)
}

/// Of a loss of the difference of two tensors.
fn both_ways(d: &Dual, slope: impl Fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let (x, y) = (d.t("self_p")?, d.t("target_p")?);
    let each = sum(|| slope(d.t("self_t")?, x, y), || slope(d.t("target_t")?, y, x))?;
    super::loss::apply_reduction(each, d.arg("reduction").int()?)?.into_tensor()
}
