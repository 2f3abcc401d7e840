//! Layer, group, batch and weight normalization, and their gradients.

use super::expr::*;
use super::reductions::vector_norm;
use super::table::{Decomposed, Table, computation_dtype};
use diagnostics::error::{Error, Result};
use dispatch::{Call, Value, divide_sizes, multiply};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Dtype, MemoryFormat, Tensor};

/// Registers the rules.
pub fn register(table: &mut Table) {
    table.add("aten.native_layer_norm.default", layer_norm);
    table.add("aten.native_layer_norm_backward.default", layer_norm_backward);
    table.add("aten.native_group_norm.default", group_norm);
    table.compute("aten.native_group_norm_backward.default", group_norm_backward);
    table.add("aten.native_batch_norm.default", |c| {
        let trains = c.bool("training")?;
        // Statistics are written by an operator of its own.
        if trains && c.opt_tensor("running_mean").is_some() { Ok(None) } else { all(batch_norm(c, trains)?.results) }
    });
    table.add("aten._native_batch_norm_legit.no_stats", |c| all(batch_norm(c, c.bool("training")?)?.results));
    table.add("aten._native_batch_norm_legit_no_training.default", |c| all(batch_norm(c, false)?.results));
    table.add("aten._native_batch_norm_legit_functional.default", |c| {
        let made = batch_norm(c, c.bool("training")?)?;
        all(made.results.into_iter().chain(made.statistics.into_iter().map(Value::from)).collect())
    });
    table.add("aten.native_batch_norm_backward.default", batch_norm_backward);
    table.add("aten._weight_norm_interface.default", |c| {
        let (v, g) = (c.tensor("v")?, c.tensor("g")?);
        let dim = operators::shapes::wrap_dim(c.int("dim")?, v.dim())?;
        let others: Vec<usize> = (0..v.dim()).filter(|d| *d != dim).collect();
        let norm = vector_norm(v, &Value::from(2), &dims(&others), true, None)?;
        all(vec![mul(v, div(g, &norm)?)?.into(), norm.into()])
    });
}

/// The mean and one over the deviation along dimensions, which stay.
struct Moments {
    variance: Tensor,
    mean: Tensor,
    rstd: Tensor,
}

fn moments(x: &Tensor, along: &[usize], eps: &Value) -> Result<Moments> {
    let both = aten!("var_mean.correction", x, dims(along); correction = 0, keepdim = true)?.tensors()?;
    let [variance, mean] = <[Tensor; 2]>::try_from(both).map_err(|_| Error::runtime("var_mean: expected two results"))?;
    let rstd = rsqrt(&add(&variance, eps)?)?;
    Ok(Moments { variance, mean, rstd })
}

fn layer_norm(c: &Call) -> Decomposed {
    let rows = |t: &Tensor| contiguous(t, MemoryFormat::Contiguous);
    let x = &rows(c.tensor("input")?)?;
    let inner = c.get("normalized_shape").list()?.len();
    let along: Vec<usize> = (x.dim() - inner..x.dim()).collect();
    let wide = cast(x, computation_dtype(x.dtype()))?;
    let m = moments(&wide, &along, c.get("eps"))?;
    let mut out = mul(sub(&wide, &m.mean)?, &m.rstd)?;
    if let Some(weight) = c.opt_tensor("weight") {
        out = mul(out, rows(weight)?)?;
    }
    if let Some(bias) = c.opt_tensor("bias") {
        out = add(out, rows(bias)?)?;
    }
    all(vec![cast(&out, x.dtype())?.into(), cast(&m.mean, x.dtype())?.into(), cast(&m.rstd, x.dtype())?.into()])
}

fn mask(c: &Call) -> Result<Vec<bool>> {
    c.get("output_mask").list()?.iter().map(Value::bool).collect()
}

/// The tensor in a dtype; in row-major order where that is another one.
fn wide_rows(x: &Tensor, dtype: Dtype) -> Result<Tensor> {
    if x.dtype() == dtype {
        return Ok(x.clone());
    }
    t!("_to_copy", x; dtype = dtype, memory_format = MemoryFormat::Contiguous)
}

fn layer_norm_backward(c: &Call) -> Decomposed {
    let x = c.tensor("input")?;
    let dtype = computation_dtype(x.dtype());
    let grad = wide_rows(c.tensor("grad_out")?, dtype)?;
    let wide = wide_rows(x, dtype)?;
    let weight = c.opt_tensor("weight").map(|w| wide_rows(w, dtype)).transpose()?;
    let bias = c.opt_tensor("bias").map(|b| wide_rows(b, dtype)).transpose()?;
    let first = x.dim() - c.get("normalized_shape").list()?.len();
    let (outer, inner): (Vec<usize>, Vec<usize>) = ((0..first).collect(), (first..x.dim()).collect());
    let product = |dims: &[usize]| dims.iter().fold(SymInt::Int(1), |n, d| &n * &x.size(*d));
    let (rows, columns) = (product(&outer), product(&inner));
    let mask = mask(c)?;
    if [&rows, &columns].iter().any(|n| n.as_int() == Some(0)) {
        return Ok(None);
    }
    let (mean, rstd) = (unsqueeze_to(c.tensor("mean")?, x.dim())?, unsqueeze_to(c.tensor("rstd")?, x.dim())?);
    let normal = mul(sub(&wide, mean)?, &rstd)?;
    let scaled = weight.as_ref().map_or_else(|| Ok(grad.clone()), |w| mul(&grad, w))?;
    let a = mul(&scaled, &columns)?;
    let b = sum(&scaled, dims(&inner), true)?;
    let along = sum(&mul(&scaled, &normal)?, dims(&inner), true)?;
    let c3 = mul(&normal, along)?;
    let inner_part = sub(sub(a, b)?, c3)?;
    let mut made: [Option<Tensor>; 3] = [None, None, None];
    if mask[0] {
        made[0] = Some(mul(div(&rstd, &columns)?, inner_part)?);
    }
    if mask[1] && weight.is_some() {
        let product = mul(&grad, &normal)?;
        made[1] = Some(if outer.is_empty() { product } else { sum(&product, dims(&outer), false)? });
    }
    if mask[2] && bias.is_some() {
        made[2] = Some(if outer.is_empty() { t!("clone", &grad)? } else { sum(&grad, dims(&outer), false)? });
    }
    let dtypes = [Some(x), c.opt_tensor("weight"), c.opt_tensor("bias")].map(|t| t.map_or(x.dtype(), Tensor::dtype));
    let results = made.iter().zip(dtypes).map(|(t, dtype)| t.as_ref().map(|t| cast(t, dtype)).transpose().map(Value::from));
    all(results.collect::<Result<_>>()?)
}

fn group_norm(c: &Call) -> Decomposed {
    let format = suggested_format(c.tensor("input")?)?;
    let x = contiguous(c.tensor("input")?, format)?;
    let rows = |name: &str| c.opt_tensor(name).map(|t| contiguous(t, MemoryFormat::Contiguous)).transpose();
    let (weight, bias) = (rows("weight")?, rows("bias")?);
    let (n, channels, size, groups) = (c.sym_int("N")?, c.sym_int("C")?, c.sym_int("HxW")?, c.int("group")?);
    let per_group = || divide_sizes(&channels, &groups.into());
    let wide = cast(&x, computation_dtype(x.dtype()))?;
    let grouped = t!("reshape", &wide, vec![n.clone(), groups.into(), per_group()?, size])?;
    let m = moments(&grouped, &[2, 3], c.get("eps"))?;
    let out = match weight {
        Some(weight) => {
            let shape = || Ok(vec![1.into(), groups.into(), per_group()?, 1.into()]);
            let w = mul(&m.rstd, t!("reshape", weight, shape()?)?)?;
            let mut b = mul(neg(&m.mean)?, &w)?;
            if let Some(bias) = bias {
                b = add(b, t!("reshape", bias, shape()?)?)?;
            }
            let flat = |t: &Tensor| -> Result<Tensor> {
                let rows = contiguous(t, MemoryFormat::Contiguous)?;
                t!("as_strided", rows, vec![n.clone(), channels.clone()], vec![channels.clone(), 1.into()])
            };
            let (w, b) = (flat(&w)?, flat(&b)?);
            let (w, b) = (unsqueeze_each(&w, 2, x.dim())?, unsqueeze_each(&b, 2, x.dim())?);
            add(mul(&wide, w)?, b)?
        }
        None => {
            let mut out = t!("view", mul(sub(&grouped, &m.mean)?, &m.rstd)?, x.sizes())?;
            if let Some(bias) = bias {
                out = add(out, unsqueeze_each(&t!("unsqueeze", bias, 0)?, 2, x.dim())?)?;
            }
            out
        }
    };
    let out = contiguous(&cast(&out, x.dtype())?, format)?;
    let stat = |t: &Tensor| cast(t, x.dtype());
    let (mean, rstd) = (stat(&m.mean)?, stat(&m.rstd)?);
    let squeezed = |t: Tensor| t!("squeeze.dims", t, vec![2i64, 3]);
    all(vec![out.into(), squeezed(mean)?.into(), squeezed(rstd)?.into()])
}

/// Unsqueezed at every place from one on.
fn unsqueeze_each(x: &Tensor, from: usize, ndim: usize) -> Result<Tensor> {
    (from..ndim).try_fold(x.clone(), |x, d| t!("unsqueeze", x, d))
}

fn group_norm_backward(c: &Call) -> Decomposed {
    let (grad, x, mean, rstd) = (c.tensor("grad_out")?, c.tensor("input")?, c.tensor("mean")?, c.tensor("rstd")?);
    let (n, channels, size, groups) = (c.sym_int("N")?, c.sym_int("C")?, c.sym_int("HxW")?, c.int("group")?);
    let per_group = divide_sizes(&channels, &groups.into())?;
    let grouped_shape = || vec![1.into(), groups.into(), per_group.clone()];
    let gamma = c.opt_tensor("weight");
    let mask = mask(c)?;
    let by_channel = |t: Tensor| sum(&t!("reshape", t, vec![n.clone(), channels.clone(), size.clone()])?, vec![2i64], false);
    let by_group = |t: &Tensor| sum(&t!("reshape", t, vec![n.clone(), groups.into(), per_group.clone()])?, vec![2i64], false);
    let ds = by_channel(mul(grad, x)?)?;
    let db = by_channel(grad.clone())?;
    let mut results = vec![Value::None; 3];
    if mask[0] {
        let s = calculate("truediv", 1.0, multiply(&[size.clone(), per_group.clone()])?)?;
        let weighted = |t: &Tensor| match gamma {
            Some(gamma) => by_group(&mul(t, t!("unsqueeze", gamma, 0)?)?),
            None => by_group(t),
        };
        let (ds_value, db_value) = (weighted(&ds)?, weighted(&db)?);
        let outer = t!("unsqueeze", rstd, -1)?;
        let c1 = match gamma {
            Some(gamma) => mul(outer, t!("reshape", gamma, grouped_shape())?)?,
            None => mul(outer, full(grouped_shape(), 1, operators::shapes::default_dtype(), rstd.device())?)?,
        };
        let c2 = t!("addcmul", neg(&ds_value)?, &db_value, mean)?;
        let c2 = mul(mul(mul(mul(c2, rstd)?, rstd)?, rstd)?, &s)?;
        let left = mul(neg(&c2)?, mean)?;
        let c3 = sub(left, mul(mul(db_value, rstd)?, s)?)?;
        let c1 = t!("unsqueeze", c1, -1)?;
        let (c2, c3) = (unsqueeze_to(&c2, 4)?, unsqueeze_to(&c3, 4)?);
        let grouped = |t: &Tensor| t!("reshape", t, vec![n.clone(), groups.into(), per_group.clone(), size.clone()]);
        let first = mul(grouped(grad)?, c1)?;
        let made = add(add(first, mul(grouped(x)?, c2)?)?, c3)?;
        let made = t!("reshape", made, x.sizes())?;
        results[0] = contiguous(&made, suggested_format(x)?)?.into();
    }
    if mask[1] {
        let shaped = |t: &Tensor| t!("view", t, vec![n.clone(), groups.into(), per_group.clone()]);
        let ds = shaped(&ds)?;
        let centred = sub(ds, mul(shaped(&db)?, t!("unsqueeze", mean, -1)?)?)?;
        let made = sum(&mul(centred, t!("unsqueeze", rstd, -1)?)?, vec![0i64], false)?;
        results[1] = t!("reshape", made, vec![channels.clone()])?.into();
    }
    if mask[2] {
        results[2] = sum(&db, vec![0i64], false)?.into();
    }
    all(results)
}

/// What batch normalization comes to: output, saved mean and deviation; and new running statistics.
struct Normalized {
    results: Vec<Value>,
    statistics: Vec<Option<Tensor>>,
}

fn batch_norm(c: &Call, training: bool) -> Result<Normalized> {
    let x = c.tensor("input")?;
    let dtype = computation_dtype(x.dtype());
    let along: Vec<usize> = (0..x.dim()).filter(|d| *d != 1).collect();
    let (running_mean, running_var) = (c.opt_tensor("running_mean"), c.opt_tensor("running_var"));
    let momentum = c.float("momentum")?;
    let (mut out, saved, statistics);
    if training {
        let wide = cast(x, dtype)?;
        let m = moments(&wide, &along, c.get("eps"))?;
        out = mul(sub(x, &m.mean)?, &m.rstd)?;
        let squeeze = |t: &Tensor| t!("squeeze.dims", t, dims(&along));
        let (mean, rstd) = (squeeze(&m.mean)?, squeeze(&m.rstd)?);
        let mixed = |new: &Tensor, old: &Tensor| {
            let new = mul(new, momentum)?;
            add(new, mul(old, 1.0 - momentum)?)
        };
        let new_mean = running_mean.map(|old| mixed(&mean, old)).transpose()?;
        let new_var = match running_var {
            Some(old) => {
                let n = calculate("truediv", numel(x), x.size(1))?;
                let variance = squeeze(&m.variance)?;
                let correction = calculate("truediv", &n, calculate("sub", &n, 1.0)?)?;
                Some(mixed(&mul(variance, correction)?, old)?)
            }
            None => None,
        };
        (saved, statistics) = ([mean, rstd], vec![new_mean, new_var]);
    } else {
        let lacking = || Error::runtime("running_mean and running_var must not be None in eval mode");
        let mean = convert(running_mean.ok_or_else(lacking)?, dtype)?;
        let var = convert(running_var.ok_or_else(lacking)?, dtype)?;
        let rstd = rsqrt(&add(&var, c.get("eps"))?)?;
        saved = [new_full(x, vec![0i64], 0)?, new_full(x, vec![0i64], 0)?];
        let (wide_mean, wide_rstd) = (unsqueeze_to(&mean, x.dim() - 1)?, unsqueeze_to(&rstd, x.dim() - 1)?);
        out = mul(sub(x, wide_mean)?, wide_rstd)?;
        statistics = vec![Some(mean), Some(var)];
    }
    if let Some(weight) = c.opt_tensor("weight") {
        out = mul(out, unsqueeze_to(weight, x.dim() - 1)?)?;
    }
    if let Some(bias) = c.opt_tensor("bias") {
        out = add(out, unsqueeze_to(bias, x.dim() - 1)?)?;
    }
    let [mean, rstd] = saved;
    let (mean, rstd) = (cast(&mean, x.dtype())?, cast(&rstd, x.dtype())?);
    Ok(Normalized { results: vec![cast(&out, x.dtype())?.into(), mean.into(), rstd.into()], statistics })
}

fn batch_norm_backward(c: &Call) -> Decomposed {
    let x = c.tensor("input")?;
    let dtype = computation_dtype(x.dtype());
    let wide = |name: &str| c.opt_tensor(name).map(|t| cast(t, dtype)).transpose();
    let lacking = || Error::runtime("native_batch_norm_backward: statistics are missing");
    let (Some(grad), Some(input)) = (wide("grad_out")?, wide("input")?) else { return Ok(None) };
    let weight = wide("weight")?;
    let (running_mean, running_var) = (wide("running_mean")?, wide("running_var")?);
    let (save_mean, save_rstd) = (wide("save_mean")?, wide("save_invstd")?);
    let train = c.bool("train")?;
    let (mean, rstd) = if train {
        (save_mean.ok_or_else(lacking)?, save_rstd.ok_or_else(lacking)?)
    } else {
        (running_mean.ok_or_else(lacking)?, rsqrt(&add(running_var.ok_or_else(lacking)?, c.get("eps"))?)?)
    };
    let along: Vec<usize> = (0..x.dim()).filter(|d| *d != 1).collect();
    // A vector over channels, with dimensions of one element beside it.
    let wide = |t: &Tensor| {
        (0..x.dim()).try_fold(t.clone(), |t, d| {
            let is_one = d != 1 || x.size(1).as_int() == Some(1);
            let fits = d < t.dim() && t.size(d).as_int() == Some(1);
            if is_one && !fits { t!("unsqueeze", t, d) } else { Ok(t) }
        })
    };
    let per_channel = calculate("truediv", multiply(&x.sizes())?, x.size(1))?;
    let norm = &calculate("truediv", 1.0, per_channel)?;
    let mean = wide(&mean)?;
    let total = sum(&grad, dims(&along), false)?;
    let dot = sum(&mul(&grad, sub(&input, &mean)?)?, dims(&along), false)?;
    let grad_mean = wide(&mul(&total, norm)?)?;
    let slope = mul(&dot, norm)?;
    let projection = wide(&mul(slope, mul(&rstd, &rstd)?)?)?;
    let scale = match &weight {
        Some(weight) => wide(&mul(&rstd, weight)?)?,
        None => mul(wide(&rstd)?, 1.0)?,
    };
    let of_input = if train {
        let projected = mul(sub(&input, &mean)?, projection)?;
        mul(sub(sub(&grad, projected)?, grad_mean)?, scale)?
    } else {
        mul(&grad, scale)?
    };
    let mask = mask(c)?;
    let weight_dtype = c.opt_tensor("weight").map_or(x.dtype(), Tensor::dtype);
    let of_weight = if mask[1] { Some(mul(dot, rstd)?) } else { None };
    let of_bias = mask[2].then_some(total);
    let of_input = cast(&of_input, x.dtype())?;
    let in_dtype = |t: Option<Tensor>| t.map(|t| cast(&t, weight_dtype)).transpose();
    all(vec![of_input.into(), in_dtype(of_weight)?.into(), in_dtype(of_bias)?.into()])
}
