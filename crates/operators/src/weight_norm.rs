//! Weight normalization: a weight as direction times magnitude, and the norm over all dimensions but one.

use super::common::*;
use super::shapes::{dim_of, need_elements};
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, Grads, OpBuilder, Rule, Value, modes};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
        Rule::Composite(|c| norm_except(c.tensor("v")?, c.int("pow")?, c.int("dim")?).map(Value::from)),
    );
    b.op("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", Rule::Composite(weight_norm));
    b.op("_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)", Rule::Fresh(interface))
        .grad("WeightNormInterfaceBackward", &["v", "g", "result1"], backward)
        .indices_without_grad(&[1]);
    b.op(
        "_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim) -> (Tensor, Tensor)",
        Rule::Fresh(|c| {
            let (v, g) = (c.tensor("saved_v")?, c.tensor("saved_g")?);
            check_fused(c.entry.base_name(), "saved_v", v, g, c.int("dim")?)?;
            need_elements(c.entry.base_name(), "grad_w", c.tensor("grad_w")?, &v.numel())?;
            need_elements(c.entry.base_name(), "saved_norms", c.tensor("saved_norms")?, &g.numel())?;
            let like = |name: &str| -> Result<_> {
                let t = c.tensor(name)?;
                Ok(Some(TensorSpec::contiguous(t.sizes(), t.dtype(), t.device())))
            };
            Ok(vec![like("saved_v")?, like("saved_g")?])
        }),
    );
}

/// Sizes of one everywhere but at a dimension.
fn spread(v: &Tensor, dim: usize) -> Vec<SymInt> {
    let mut sizes = vec![SymInt::Int(1); v.dim()];
    sizes[dim] = v.size(dim);
    sizes
}

fn norm_except(v: &Tensor, pow: i64, dim: i64) -> Result<Tensor> {
    let last = v.dim() as i64 - 1;
    match dim {
        -1 => t!("norm.Scalar", v, pow),
        0 if v.dim() == 0 => Err(Error::index("Dimension specified as 0 but tensor has no dimensions")),
        0 => {
            let rows: Vec<Value> = vec![v.size(0).into(), Value::from(-1)];
            let norms = t!("norm.ScalarOpt_dim", t!("view", t!("contiguous", v)?, Value::List(rows))?, pow, vec![1i64])?;
            t!("view", norms, spread(v, 0))
        }
        d if d == last => {
            let columns: Vec<Value> = vec![Value::from(-1), v.size(d as usize).into()];
            let norms = t!("norm.ScalarOpt_dim", t!("view", t!("contiguous", v)?, Value::List(columns))?, pow, vec![0i64])?;
            t!("view", norms, spread(v, d as usize))
        }
        d => t!("transpose.int", norm_except(&t!("transpose.int", v, 0, d)?, pow, 0)?, 0, d),
    }
}

fn weight_norm(c: &Call) -> Result<Value> {
    let (v, g, dim) = (t!("contiguous", c.tensor("v")?)?, t!("contiguous", c.tensor("g")?)?, c.int("dim")?);
    if dim == 0 || dim == v.dim() as i64 - 1 {
        return Ok(aten!("_weight_norm_interface", v, g, dim)?.tensors()?.swap_remove(0).into());
    }
    let norms = norm_except(&v, 2, dim)?;
    t!("mul.Tensor", v, t!("div.Tensor", g, norms)?).map(Value::from)
}

/// Refuses what the fused kernels do not serve: another dimension than the first or the last, another number of magnitudes.
fn check_fused(operator: &str, name: &str, v: &Tensor, g: &Tensor, dim: i64) -> Result<()> {
    if dim != 0 && dim != v.dim() as i64 - 1 {
        return Err(Error::runtime(format!(
            "dim == 0 || dim == {name}.dim() - 1 INTERNAL ASSERT FAILED, please report a bug to PyTorch. fused kernels can only be applied for first or last dim"
        )));
    }
    need_elements(operator, "g", g, &v.size(dim_of(v, dim)?))
}

fn interface(c: &Call) -> Specs {
    let (v, g) = (c.tensor("v")?, c.tensor("g")?);
    check_fused(c.entry.base_name(), "v", v, g, c.int("dim")?)?;
    let spec = |t: &Tensor| Some(TensorSpec::contiguous(t.sizes(), g.dtype(), t.device()));
    Ok(vec![spec(v), spec(g)])
}

fn backward(b: &Backward) -> Result<Grads> {
    let (v, g, norms, dim) = (b.saved("v")?, b.saved("g")?, b.result(1)?, b.call().int("dim")?);
    let grad = t!("contiguous", b.grad()?)?;
    let (to_v, to_g) = if modes().grad {
        // What can be differentiated again.
        let norms = norm_except(v, 2, dim)?;
        let at = if dim == 0 { 0 } else { v.dim() - 1 };
        let flat: Vec<Value> = if dim == 0 { vec![v.size(0).into(), Value::from(-1)] } else { vec![Value::from(-1), v.size(at).into()] };
        let products = t!("view", t!("mul.Tensor", &grad, v)?, Value::List(flat))?;
        let sums = t!("sum.dim_IntList", products, vec![i64::from(dim == 0)])?;
        let sums = t!("view", sums, spread(v, at))?;
        let squares = t!("mul.Tensor", &norms, &norms)?;
        let inner = t!("sub.Tensor", &grad, t!("mul.Tensor", v, t!("div.Tensor", &sums, squares)?)?)?;
        (t!("mul.Tensor", t!("div.Tensor", g, &norms)?, inner)?, t!("div.Tensor", sums, norms)?)
    } else {
        let mut both = aten!("_weight_norm_interface_backward", grad, v, g, norms, dim)?.tensors()?;
        let to_g = both.pop();
        let to_v = both.pop();
        match (to_v, to_g) {
            (Some(v), Some(g)) => (v, g),
            _ => return Ok(Grads::new(b)),
        }
    };
    let mut grads = Grads::new(b);
    grads.set(b, "v", || Ok(to_v))?;
    grads.set(b, "g", || Ok(to_g))?;
    Ok(grads)
}
