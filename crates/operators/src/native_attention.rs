//! Attention and encoder layers that are one operator each: what `MultiheadAttention` and `TransformerEncoderLayer` call when
//! nothing is differentiated. They have no derivative.

use crate::loss::like;
use crate::shapes::may_be_same;
use diagnostics::error::{Error, Result};
use dispatch::{Call, CastPolicy, OpBuilder, Rule};
use shape::SymInt;
use tensor::{Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
        Rule::Fresh(attention_spec),
    ).autocast(CastPolicy::LowerPrecisionFp);
    b.op(
        "_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
        Rule::Fresh(|c| {
            let src = c.tensor("src")?;
            check_heads(c, src, c.int("num_heads")?)?;
            Ok(vec![Some(like(src)?)])
        }),
    );
}

/// Refuses a query that is no batch of sequences, and projections that are no matrices.
fn check_heads(c: &Call, query: &Tensor, heads: i64) -> Result<()> {
    if query.dim() != 3 {
        return Err(Error::runtime(format!("expected 3-D `query`, got {}-D tensor", query.dim())));
    }
    for name in ["qkv_weight", "proj_weight"] {
        let weight = c.tensor(name)?;
        if weight.dim() != 2 {
            return Err(Error::runtime(format!("expected 2-D `{name}`, got {}-D tensor", weight.dim())));
        }
    }
    let (width, dim) = (query.size(2), c.sym_int("embed_dim")?);
    if !may_be_same(std::slice::from_ref(&dim), std::slice::from_ref(&width)) {
        return Err(Error::runtime(format!("passed-in embed_dim {dim} didn't match last dim of query {width}")));
    }
    let (weight, bias) = (c.tensor("qkv_weight")?, c.tensor("qkv_bias")?);
    if bias.dim() != 1 {
        return Err(Error::runtime(format!("expected 1-D `qkv_bias`, got {}-D tensor", bias.dim())));
    }
    if !may_be_same(&[weight.size(0)], &[&dim * 3]) {
        return Err(Error::runtime("expected `qkv_weight` first dim to be 3x embed_dim"));
    }
    if heads <= 0 || !width.modulo(&heads.into())?.sym_eq(0)? {
        return Err(Error::runtime("`embed_dim` must divide evenly by `num_heads`"));
    }
    Ok(())
}

fn attention_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (query, heads) = (c.tensor("query")?, c.int("num_head")?);
    check_heads(c, query, heads)?;
    for name in ["key", "value"] {
        let t = c.tensor(name)?;
        if t.dim() != 3 {
            return Err(Error::runtime(format!("expected 3-D `{name}`, got {}-D tensor", t.dim())));
        }
        if !may_be_same(&t.sizes(), &query.sizes()) {
            return Err(Error::runtime("expected `query`/`key`/`value` shapes to match"));
        }
    }
    let made = |sizes: Vec<SymInt>| Some(TensorSpec::contiguous(sizes, query.dtype(), query.device()));
    let (batch, length) = (query.size(0), query.size(1));
    let output = made(vec![batch.clone(), length.clone(), c.tensor("proj_weight")?.size(0)]);
    let weights = match (c.bool("need_weights")?, c.bool("average_attn_weights")?) {
        (false, _) => None,
        (true, true) => made(vec![batch, length.clone(), length]),
        (true, false) => made(vec![batch, heads.into(), length.clone(), length]),
    };
    Ok(vec![output, weights])
}
