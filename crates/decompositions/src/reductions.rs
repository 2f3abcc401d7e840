//! Reductions and norms.

use super::expr::*;
use super::table::{Decomposed, Table, computation_dtype};
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Call, Value};
use shape::Relation;
use tensor::{Dtype, Tensor};

/// Registers the rules.
pub fn register(table: &mut Table) {
    table.add("aten.amax.default", |c| of_bools(c, any));
    table.add("aten.amin.default", |c| of_bools(c, |x, dims, keep| t!("logical_not", any(&t!("logical_not", x)?, dims, keep)?)));
    table.add("aten.aminmax.default", |c| {
        let (x, keep) = (c.tensor("self")?, c.get("keepdim"));
        let dims = match c.get("dim") {
            Value::None => Value::List(Vec::new()),
            dim => Value::List(vec![dim.clone()]),
        };
        all(vec![t!("amin", x, &dims, keep)?.into(), t!("amax", x, &dims, keep)?.into()])
    });
    table.add("aten.all.default", |c| done(t!("logical_not", t!("any.dims", t!("logical_not", c.tensor("self")?)?)?)?));
    table.add("aten.all.dims", |c| {
        let inverse = t!("logical_not", c.tensor("self")?)?;
        done(t!("logical_not", t!("any.dims", inverse, c.get("dim"), c.get("keepdim"))?)?)
    });
    table.add("aten.all.dim", |c| {
        let inverse = t!("logical_not", c.tensor("self")?)?;
        done(t!("logical_not", t!("any.dim", inverse, c.get("dim"), c.get("keepdim"))?)?)
    });
    table.add("aten.logsumexp.default", logsumexp);
    table.add("aten.linalg_vector_norm.default", |c| {
        done(vector_norm(c.tensor("self")?, c.get("ord"), c.get("dim"), c.bool("keepdim")?, c.dtype("dtype")?)?)
    });
    for name in ["aten.norm.ScalarOpt_dim", "aten.norm.Scalar"] {
        table.add(name, |c| {
            let order = if c.get("p").is_none() { &Value::Int(2.into()) } else { c.get("p") };
            done(vector_norm(c.tensor("self")?, order, c.get("dim"), c.get("keepdim").bool().unwrap_or(false), None)?)
        });
    }
    table.add("aten.dist.default", |c| {
        let difference = sub(c.tensor("self")?, c.tensor("other")?)?;
        done(vector_norm(&difference, c.get("p"), &Value::None, false, None)?)
    });
    table.add("aten.std.correction", |c| {
        let (x, dims, correction) = (c.tensor("self")?, c.get("dim"), correction(c)?);
        done(t!("sqrt", t!("var.correction", x, dims; correction = correction, keepdim = c.get("keepdim"))?)?)
    });
    table.add("aten.std_mean.correction", |c| {
        let (x, dims, correction) = (c.tensor("self")?, c.get("dim"), correction(c)?);
        let both = dispatch::aten!("var_mean.correction", x, dims; correction = correction, keepdim = c.get("keepdim"))?.tensors()?;
        all(vec![t!("sqrt", &both[0])?.into(), (&both[1]).into()])
    });
    table.add("aten.nansum.default", |c| {
        let x = c.tensor("self")?;
        let kept = choose(&isnan(x)?, 0, x)?;
        done(t!("sum.dim_IntList", kept, c.get("dim"), c.get("keepdim"); dtype = c.get("dtype"))?)
    });
    for name in ["aten.count_nonzero.default", "aten.count_nonzero.dim_IntList"] {
        table.add(name, |c| {
            let dims = match c.get("dim") {
                Value::Int(i) => Value::List(vec![Value::Int(i.clone())]),
                other => other.clone(),
            };
            done(t!("sum.dim_IntList", ne(c.tensor("self")?, 0)?, dims)?)
        });
    }
    table.add("aten.trace.default", |c| done(sum_all(&t!("diagonal_copy", c.tensor("self")?)?)?));
    table.add("aten.renorm.default", renorm);
}

fn any(x: &Tensor, dims: &Value, keepdim: &Value) -> Result<Tensor> {
    t!("any.dims", x, dims, keepdim)
}

/// The largest of bools is whether any is true.
fn of_bools(c: &Call, reduce: fn(&Tensor, &Value, &Value) -> Result<Tensor>) -> Decomposed {
    let x = c.tensor("self")?;
    if x.dtype() == Dtype::Bool { done(reduce(x, c.get("dim"), c.get("keepdim"))?) } else { Ok(None) }
}

fn correction(c: &Call) -> Result<f64> {
    if c.get("correction").is_none() { Ok(1.0) } else { c.float("correction") }
}

fn logsumexp(c: &Call) -> Decomposed {
    let (x, dims, keep) = (c.tensor("self")?, c.get("dim"), c.bool("keepdim")?);
    if x.numel().as_int() == Some(0) || !x.dtype().is_floating() {
        return Ok(None);
    }
    let max = t!("amax", x, dims, true)?;
    let max = t!("masked_fill.Scalar", &max, eq(abs(&max)?, f64::INFINITY)?, 0)?;
    let shown = if keep { max.clone() } else { t!("squeeze.dims", &max, dims)? };
    let total = sum(&exp(&sub(x, max)?)?, dims, keep)?;
    done(add(log(&total)?, shown)?)
}

/// The norm of all elements along dimensions.
pub fn vector_norm(x: &Tensor, order: &Value, dims: &Value, keepdim: bool, dtype: Option<Dtype>) -> Result<Tensor> {
    let p = order.float()?;
    let result = dtype.unwrap_or(x.dtype());
    let dims = if matches!(dims, Value::List(items) if items.is_empty()) { &Value::None } else { dims };
    if p == 0.0 {
        return t!("sum.dim_IntList", ne(x, 0.0)?, dims, keepdim; dtype = result);
    }
    if p.is_infinite() {
        let (x, dims) = (abs(x)?, if dims.is_none() { Value::List(Vec::new()) } else { dims.clone() });
        return if p > 0.0 { t!("amax", x, dims, keepdim) } else { t!("amin", x, dims, keepdim) };
    }
    let x = cast(x, computation_dtype(result))?;
    let along = match dims {
        Value::None => Value::None,
        dims => super::expr::dims(&operators::shapes::wrap_dims(&dims.ints()?, x.dim())?),
    };
    // Of a single element it would be the absolute value: dimensions are asked until one is larger.
    for d in along.ints().unwrap_or_default() {
        let size = x.size(d as usize);
        dispatch::compare_sizes(&size, Relation::Eq, &1.into())?;
        if size.as_int() != Some(1) {
            break;
        }
    }
    // Even powers need no absolute value.
    let base = if p % 2.0 == 0.0 { x } else { abs(&x)? };
    let total = sum(&power(base, order)?, along, keepdim)?;
    cast(&power(total, 1.0 / p)?, result)
}

fn renorm(c: &Call) -> Decomposed {
    let (x, limit) = (c.tensor("self")?, c.get("maxnorm"));
    if !x.dtype().is_floating() || x.dtype() != computation_dtype(x.dtype()) {
        return Ok(None);
    }
    let dim = operators::shapes::wrap_dim(c.int("dim")?, x.dim())?;
    let others: Vec<usize> = (0..x.dim()).filter(|d| *d != dim).collect();
    let norm = vector_norm(x, c.get("p"), &dims(&others), true, None)?;
    let longer = gt(&norm, limit)?;
    let factor = mul(t!("reciprocal", add(&norm, 1e-7)?)?, limit)?;
    let factor = choose(&longer, factor, 1.0)?;
    done(contiguous(&mul(x, factor)?, tensor::MemoryFormat::Contiguous)?)
}
