//! Embedding tables.

use crate::common::like_self;
use crate::shapes::{dim_of, may_be_same};
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Batch, Call, Complex, Grads, OpBuilder, Rule, Tags, Value};
use tensor::{Dtype, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
        Rule::Fresh(embedding_spec),
    )
    .complex(Complex::ByParts)
    .doc("Rows of a table by index.")
    .batch(Batch::Rule(super::batch_rules::embedding))
    .auto_linear(&["weight"])
    .grad("EmbeddingBackward", &["indices"], |b| {
        let rows = b.sizes("weight")?[0].clone();
        Grads::one(b, "weight", || {
            t!(
                "embedding_backward",
                b.grad()?,
                b.saved("indices")?,
                rows,
                b.arg("padding_idx"),
                b.arg("scale_grad_by_freq"),
                b.arg("sparse")
            )
        })
    });
    b.op("embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor", Rule::Fresh(renorm_spec))
        .doc("The table, its rows at the indices made no longer than the norm.")
        .function()
        .grad("NotImplemented", &[], |_| Err(Error::not_implemented("the derivative for 'embedding_renorm' is not implemented.")))
        .inplace();
    b.op(
        "embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq, bool sparse) -> Tensor",
        Rule::Composite(|c| {
            if c.bool("sparse")? {
                return Err(Error::not_implemented("embedding with sparse=True: sparse gradients are not implemented in this playground"));
            }
            let args = [0, 1, 2, 3, 4].map(|i| Value::from(&c.args[i]));
            let [grad, indices, rows, padding, scale] = args;
            Ok(t!("embedding_dense_backward", grad, indices, rows, padding, scale)?.into())
        }),
    );
    b.op(
        "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
        Rule::Fresh(|c| {
            let (grad, indices) = (c.tensor("grad_output")?, c.tensor("indices")?);
            let width = grad.size(dim_of(grad, -1)?);
            if !matches!(indices.dtype(), Dtype::Int64 | Dtype::Int32) {
                return Err(Error::runtime(format!(
                    "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got torch.{}Tensor instead (while checking arguments for embedding_backward)",
                    indices.dtype().scalar_type()
                )));
            }
            let expected = &indices.numel() * &width;
            if !may_be_same(&[grad.numel()], std::slice::from_ref(&expected)) {
                return Err(Error::runtime(format!(
                    "shape '[{}, {width}]' is invalid for input of size {}",
                    indices.numel(),
                    grad.numel()
                )));
            }
            let sizes = vec![c.sym_int("num_weights")?, width];
            Ok(vec![Some(TensorSpec::contiguous(sizes, grad.dtype(), grad.device()))])
        }),
    ).complex(Complex::ByParts).tags(Tags::COMPLEX_GRAD).auto_linear(&["grad_output"]);
}

fn renorm_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (table, indices) = (c.tensor("self")?, c.tensor("indices")?);
    if table.dim() != 2 {
        return Err(Error::runtime(format!(
            "Expected 2-dimensional tensor, but got {}-dimensional tensor for argument #1 'self' (while checking arguments for embedding_renorm_)",
            table.dim()
        )));
    }
    if !matches!(indices.dtype(), Dtype::Int64 | Dtype::Int32) {
        return Err(Error::runtime(format!(
            "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got torch.{}Tensor instead (while checking arguments for embedding_renorm_)",
            indices.dtype().scalar_type()
        )));
    }
    like_self(c)
}

fn embedding_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (weight, indices) = (c.tensor("weight")?, c.tensor("indices")?);
    if weight.dim() != 2 {
        return Err(Error::runtime("'weight' must be 2-D"));
    }
    if !matches!(indices.dtype(), Dtype::Int64 | Dtype::Int32) {
        return Err(Error::runtime(format!(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch.{}Tensor instead (while checking arguments for embedding)",
            indices.dtype().scalar_type()
        )));
    }
    let mut sizes = indices.sizes();
    sizes.push(weight.size(1));
    Ok(vec![Some(TensorSpec::contiguous(sizes, weight.dtype(), weight.device()))])
}
