//! softmax, log_softmax, softmin.

use crate::shapes::{may_be_same, wrap_dim};
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Batch, Call, Grads, OpBuilder, Rule, Value};
use tensor::{Dtype, Layout, Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Rule::Composite(softmax))
        .doc("Exponentials that sum to one along a dimension.")
        .batch(Batch::Rule(super::batch_rules::along_dim));
    b.op("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Rule::Composite(log_softmax))
        .doc("The logarithm of the softmax.")
        .batch(Batch::Rule(super::batch_rules::along_dim));
    b.op("special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Rule::Composite(softmax))
        .doc("Exponentials that sum to one along a dimension.");
    b.op("special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", Rule::Composite(log_softmax))
        .doc("The logarithm of the softmax.");
    b.op("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", Rule::Fresh(forward_spec))
        .refuses("c", "softmax_kernel_impl")
        .batch(Batch::Rule(super::batch_rules::along_dim))
        .grad("SoftmaxBackward", &["result"], |b| {
            let dtype = b.spec("self")?.dtype;
            Grads::one(b, "self", || t!("_softmax_backward_data", b.grad()?, b.result(0)?, b.arg("dim"), dtype))
        });
    b.op("_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", Rule::Fresh(forward_spec))
        .refuses("c", "log_softmax_kernel_impl")
        .batch(Batch::Rule(super::batch_rules::along_dim))
        .grad("LogSoftmaxBackward", &["result"], |b| {
            let dtype = b.spec("self")?.dtype;
            Grads::one(b, "self", || t!("_log_softmax_backward_data", b.grad()?, b.result(0)?, b.arg("dim"), dtype))
        });
    b.op(
        "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
        Rule::Fresh(backward_spec),
    )
    .batch(Batch::Shifted)
    .grad("SoftmaxBackwardDataBackward", &["grad_output", "output"], softmax_double);
    b.op(
        "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
        Rule::Fresh(backward_spec),
    )
    .batch(Batch::Shifted)
    .grad("LogSoftmaxBackwardDataBackward", &["grad_output", "output"], log_softmax_double);
}

/// A tensor in the dtype asked for; itself where it has it.
pub fn to_dtype(t: &Tensor, dtype: Option<Dtype>) -> Result<Tensor> {
    match dtype {
        Some(d) if d != t.dtype() => {
            t!("to.dtype_layout", t; dtype = d, layout = Value::Layout(Layout::Strided), device = t.device())
        }
        _ => Ok(t.clone()),
    }
}

/// A GPU's kernel reads short numbers and gives single ones.
fn is_half_to_float(c: &Call) -> Result<bool> {
    let input = c.tensor("self")?;
    Ok(input.device().kind == tensor::DeviceType::Cuda && input.dtype() == Dtype::Float16 && c.dtype("dtype")? == Some(Dtype::Float32))
}

fn softmax(c: &Call) -> Result<Value> {
    if is_half_to_float(c)? {
        return Ok(t!("_softmax", c.tensor("self")?, c.get("dim"), true)?.into());
    }
    let input = to_dtype(c.tensor("self")?, c.dtype("dtype")?)?;
    Ok(t!("_softmax", input, c.get("dim"), false)?.into())
}

fn log_softmax(c: &Call) -> Result<Value> {
    if is_half_to_float(c)? {
        return Ok(t!("_log_softmax", c.tensor("self")?, c.get("dim"), true)?.into());
    }
    let input = to_dtype(c.tensor("self")?, c.dtype("dtype")?)?;
    Ok(t!("_log_softmax", input, c.get("dim"), false)?.into())
}

fn forward_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let input = c.tensor("self")?;
    wrap_dim(c.int("dim")?, input.dim())?;
    let dtype = if c.bool("half_to_float")? { Dtype::Float32 } else { input.dtype() };
    Ok(vec![Some(TensorSpec::contiguous(input.sizes(), dtype, input.device()))])
}

fn backward_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (grad, output) = (c.tensor("grad_output")?, c.tensor("output")?);
    if !may_be_same(&grad.sizes(), &output.sizes()) {
        return Err(Error::runtime(format!(
            "Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 'output'; but {:?} does not equal {:?} (while checking arguments for {})",
            grad.sizes(),
            output.sizes(),
            c.entry.base_name().trim_start_matches('_').trim_end_matches("_data")
        )));
    }
    wrap_dim(c.int("dim")?, grad.dim())?;
    let dtype = c.dtype("input_dtype")?.unwrap_or(grad.dtype());
    Ok(vec![Some(TensorSpec::contiguous(grad.sizes(), dtype, grad.device()))])
}

fn sum_dim(t: &Tensor, dim: &Value) -> Result<Tensor> {
    t!("sum.dim_IntList", t, Value::List(vec![dim.clone()]), true)
}

fn softmax_double(b: &Backward) -> Result<Grads> {
    let (mut grads, dim) = (Grads::new(b), b.arg("dim"));
    let (grad, output, upstream) = (b.grad()?, b.saved("output")?, b.saved("grad_output")?);
    grads.set(b, "grad_output", || t!("_softmax_backward_data", grad, output, dim, b.arg("input_dtype")))?;
    grads.set(b, "output", || {
        let first = t!("mul.Tensor", upstream, grad)?;
        let second = t!("mul.Tensor", sum_dim(&t!("mul.Tensor", output, upstream)?, dim)?, grad)?;
        let third = t!("mul.Tensor", upstream, sum_dim(&t!("mul.Tensor", output, grad)?, dim)?)?;
        t!("sub.Tensor", t!("sub.Tensor", first, second)?, third)
    })?;
    Ok(grads)
}

fn log_softmax_double(b: &Backward) -> Result<Grads> {
    let (mut grads, dim) = (Grads::new(b), b.arg("dim"));
    let (grad, output, upstream) = (b.grad()?, b.saved("output")?, b.saved("grad_output")?);
    grads.set(b, "grad_output", || {
        let weighted = t!("mul.Tensor", grad, t!("exp", output)?)?;
        t!("sub.Tensor", grad, sum_dim(&weighted, dim)?)
    })?;
    grads.set(b, "output", || {
        let exp = t!("exp", output)?;
        let scaled = t!("mul.Tensor", t!("neg", sum_dim(upstream, dim)?)?, exp)?;
        t!("mul.Tensor", scaled, grad)
    })?;
    Ok(grads)
}
