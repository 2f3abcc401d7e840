//! What a few operators are composed of where a transform is in force.

use diagnostics::error::{Error, Result};
use dispatch::{Call, Value, t};
use tensor::{Dtype, Layout, Tensor};

/// `linear` where transforms are in force: only whole batches of rows are one `addmm`.
pub(super) fn linear(c: &Call) -> Result<Value> {
    let (input, weight) = (c.tensor("input")?, t!("t", c.tensor("weight")?)?);
    let Some(bias) = c.opt_tensor("bias") else { return t!("matmul", input, weight).map(Value::from) };
    if input.dim() == 2 {
        return t!("addmm", bias, input, weight).map(Value::from);
    }
    if input.dim() == 3 && input.is_contiguous()? {
        let (sizes, width) = (input.sizes(), weight.size(1));
        let rows = t!("view", input, vec![&sizes[0] * &sizes[1], sizes[2].clone()])?;
        let product = t!("addmm", bias, rows, weight)?;
        return t!("_unsafe_view", product, vec![sizes[0].clone(), sizes[1].clone(), width]).map(Value::from);
    }
    t!("add.Tensor", t!("matmul", input, weight)?, bias).map(Value::from)
}

/// `one_hot` of a batch: a comparison with the classes, whose number values cannot say.
pub(super) fn one_hot(c: &Call) -> Result<Value> {
    let (x, classes) = (c.tensor("self")?, c.int("num_classes")?);
    if !x.dtype().is_integral() || x.dtype() == Dtype::Bool {
        return Err(Error::runtime("one_hot is only applicable to index tensor."));
    }
    if classes <= 0 {
        return Err(Error::runtime("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument."));
    }
    let layout = Value::Layout(Layout::Strided);
    let range = t!("arange", classes; dtype = x.dtype(), layout = layout, device = x.device())?;
    t!("_to_copy", t!("eq.Tensor", t!("unsqueeze", x, -1)?, range)?; dtype = Dtype::Int64).map(Value::from)
}

/// `binary_cross_entropy_with_logits` where transforms are in force: taken apart.
pub(super) fn bce_with_logits(c: &Call) -> Result<Value> {
    let (input, target) = (c.tensor("self")?, c.tensor("target")?);
    let one_less =
        |t: &Tensor| t!("sub_.Tensor", t!("fill_.Scalar", t!("empty_like", t; memory_format = tensor::MemoryFormat::Preserve)?, 1)?, t);
    let highest = t!("clamp_min", t!("neg", input)?, 0)?;
    let negative = match c.opt_tensor("pos_weight") {
        Some(weight) => {
            let weight = t!("add_.Scalar", t!("mul.Tensor", t!("sub.Scalar", weight, 1)?, target)?, 1)?;
            let loss = t!("mul.Tensor", one_less(target)?, input)?;
            let rest = t!("add_.Tensor", t!("log_", exponentials(input, &highest)?)?, &highest)?;
            t!("add.Tensor", loss, t!("mul.Tensor", weight, rest)?)?
        }
        None => {
            let loss = t!("add_.Tensor", t!("mul.Tensor", one_less(target)?, input)?, &highest)?;
            t!("add_.Tensor", loss, t!("log_", exponentials(input, &highest)?)?)?
        }
    };
    let weighted = match c.opt_tensor("weight") {
        Some(weight) => t!("mul.Tensor", negative, weight)?,
        None => negative,
    };
    super::loss::apply_reduction(weighted, c.get("reduction").int()?)
}

/// `exp(-highest) + exp(-input - highest)`
fn exponentials(input: &Tensor, highest: &Tensor) -> Result<Tensor> {
    let first = t!("exp_", t!("neg", highest)?)?;
    t!("add.Tensor", first, t!("exp_", t!("sub.Tensor", t!("neg", input)?, highest)?)?)
}

/// `addmm`: a product, and a sum.
pub(super) fn addmm(c: &Call) -> Result<Value> {
    let product = t!("mm", c.tensor("mat1")?, c.tensor("mat2")?)?;
    let scaled = t!("mul.Scalar", c.tensor("self")?, c.get("beta"))?;
    t!("add.Tensor", scaled, product; alpha = c.get("alpha").clone()).map(Value::from)
}

/// `beta * self + alpha * product`
fn added(c: &Call, product: Tensor) -> Result<Value> {
    let (alpha, beta) = (c.get("alpha"), c.get("beta"));
    let product = if alpha.float()? == 1.0 { product } else { t!("mul.Scalar", product, alpha)? };
    let result = if beta.float()? == 0.0 { product } else { t!("add.Tensor", t!("mul.Scalar", c.tensor("self")?, beta)?, product)? };
    Ok(result.into())
}

pub(super) fn addmv(c: &Call) -> Result<Value> {
    added(c, t!("mv", c.tensor("mat")?, c.tensor("vec")?)?)
}

pub(super) fn baddbmm(c: &Call) -> Result<Value> {
    added(c, t!("bmm", c.tensor("batch1")?, c.tensor("batch2")?)?)
}

pub(super) fn addbmm(c: &Call) -> Result<Value> {
    added(c, t!("sum.dim_IntList", t!("bmm", c.tensor("batch1")?, c.tensor("batch2")?)?, vec![0i64])?)
}
