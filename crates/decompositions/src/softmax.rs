//! Softmax and its gradients.

use super::expr::*;
use super::table::{Decomposed, Table, computation_dtype};
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Call, Value};
use shape::Relation;
use tensor::{MemoryFormat, Tensor};

/// Registers the rules.
pub fn register(table: &mut Table) {
    table.add("aten._softmax.default", |c| softmax(c, false));
    table.add("aten._log_softmax.default", |c| softmax(c, true));
    table.compute("aten._softmax_backward_data.default", |c| {
        let (grad, out) = (c.tensor("grad_output")?, c.tensor("output")?);
        let weighted = mul(grad, out)?;
        let total = sum(&weighted, along(c), true)?;
        finish(c, grad, t!("prims.fma", neg(out)?, total, weighted)?)
    });
    table.compute("aten._log_softmax_backward_data.default", |c| {
        let (grad, out) = (c.tensor("grad_output")?, c.tensor("output")?);
        let weights = exp(out)?;
        let total = sum(grad, along(c), true)?;
        finish(c, grad, sub(grad, mul(weights, total)?)?)
    });
    table.add("aten._safe_softmax.default", |c| {
        let (x, dim) = (c.tensor("self")?, c.get("dim"));
        let out = t!("softmax.int", x, dim, c.get("dtype"))?;
        let masked = eq(x, f64::NEG_INFINITY)?;
        let all_masked = t!("all.dim", masked, dim, true)?;
        let zeros = t!("zeros_like", &out)?;
        done(choose(&all_masked, zeros, out)?)
    });
}

fn along(c: &Call) -> Value {
    Value::List(vec![c.get("dim").clone()])
}

fn finish(c: &Call, grad: &Tensor, made: Tensor) -> Decomposed {
    let dtype = c.dtype("input_dtype")?.unwrap_or(grad.dtype());
    done(contiguous(&cast(&made, dtype)?, MemoryFormat::Contiguous)?)
}

/// The largest along a dimension, whose size is asked for: of nothing, it is minus infinity.
fn largest(x: &Tensor, dim: &Value) -> Result<Tensor> {
    if x.dim() > 0 {
        let at = operators::shapes::wrap_dim(dim.int()?, x.dim())?;
        dispatch::compare_sizes(&x.size(at), Relation::Gt, &0.into())?;
        if x.size(at).as_int() == Some(0) {
            let mut sizes = x.sizes();
            sizes[at] = 1.into();
            let least = new_full(x, sizes, f64::NEG_INFINITY)?;
            let padded = t!("cat", vec![x.clone(), least], dim)?;
            return t!("amax", padded, Value::List(vec![dim.clone()]), true);
        }
    }
    t!("amax", x, Value::List(vec![dim.clone()]), true)
}

fn softmax(c: &Call, is_log: bool) -> Decomposed {
    let x = contiguous(c.tensor("self")?, MemoryFormat::Contiguous)?;
    let result = x.dtype();
    let x = cast(&x, computation_dtype(result))?;
    let shifted = sub(&x, largest(&x, c.get("dim"))?)?;
    let weights = exp(&shifted)?;
    let total = sum(&weights, along(c), true)?;
    let made = if is_log { sub(shifted, log(&total)?)? } else { div(weights, total)? };
    done(if c.bool("half_to_float")? { made } else { cast(&made, result)? })
}
