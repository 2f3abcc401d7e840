//! Rules for complex numbers.

use super::expr::*;
use super::table::{Decomposed, Table};
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Call, Value};
use shape::SymInt;
use tensor::{Dtype, Tensor};

/// Registers the rules.
pub fn register(table: &mut Table) {
    table
        .add("aten.sgn.default", |c| {
            let x = c.tensor("self")?;
            if !x.dtype().is_complex() {
                return done(sign(x)?);
            }
            let size = abs(x)?;
            done(choose(&eq(&size, 0)?, 0, div(x, &size)?)?)
        })
        .takes_complex();
    table.add("aten.add.Tensor", sum).takes_complex();
}

/// A sum of complex tensors is one of real tensors: their elements as pairs. One of a tensor and a number stays.
fn sum(c: &Call) -> Decomposed {
    let (Some(x), Some(y)) = (c.get("self").as_tensor(), c.get("other").as_tensor()) else { return Ok(None) };
    let is_spread = |t: &Tensor| t.dim() > 0 && !t.geometry().strides[t.dim() - 1].statically_eq(1);
    if !x.dtype().is_complex() || !y.dtype().is_complex() {
        return Ok(None);
    }
    let is_number = x.dim() == 0 && y.dim() == 0;
    let line = |t: &Tensor| if t.dim() == 0 { t!("reshape", t, vec![1]) } else { Ok(t.clone()) };
    let (x, y) = (line(x)?, line(y)?);
    let alpha = c.get("alpha");
    let y = if matches!(alpha, Value::Int(one) if one.as_int() == Some(1)) { y } else { mul(&y, alpha)? };
    if is_spread(&x) || is_spread(&y) {
        return Ok(None);
    }
    let complex = tensor::promote(x.dtype(), y.dtype());
    let (x, y) = (add(&x, 0)?, add(&y, 0)?);
    let result = add(&pairs(&x)?, &pairs(&y)?)?;
    let mut sizes = result.sizes().to_vec();
    let two = sizes.pop().unwrap_or(SymInt::Int(2));
    if let Some(last) = sizes.last_mut() {
        *last = &*last * &two;
    }
    let result = t!("view.dtype", t!("view", &result, sizes)?, complex)?;
    done(if is_number { t!("select.int", result, 0, 0)? } else { result })
}

/// Complex elements as a last dimension of two real ones.
fn pairs(t: &Tensor) -> Result<Tensor> {
    let real: Dtype = t.dtype().to_real();
    // The real part is asked for its dtype: nobody reads it, but it has names.
    t!("select.int", t!("view_as_real", t)?, t.dim(), 0)?;
    let mut sizes = t.sizes().to_vec();
    sizes.push(SymInt::Int(2));
    t!("view", t!("view.dtype", t, real)?, sizes)
}
