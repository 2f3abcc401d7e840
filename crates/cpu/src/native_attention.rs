//! Attention and encoder layers that are one operator each, of products, softmax and normalizations.

use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Call, KernelTable};
use shape::SymInt;
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten._native_multi_head_attention.default", |c, out| {
        let heads = Heads::of(c, c.int("num_head")?)?;
        let (output, scores) = heads.attend(c.tensor("query")?)?;
        t!("copy_", &out[0], output)?;
        if !c.bool("need_weights")? {
            return Ok(());
        }
        let weights = if c.bool("average_attn_weights")? {
            t!("div.Scalar", t!("sum.dim_IntList", scores, vec![1i64], false)?, heads.count)?
        } else {
            scores
        };
        t!("copy_", &out[1], weights).map(|_| ())
    });
    t.fill("aten._transformer_encoder_layer_fwd.default", |c, out| t!("copy_", &out[0], encoder_layer(c)?).map(|_| ()));
}

/// What is not attended to.
struct Mask<'a> {
    mask: Option<&'a Tensor>,
    /// 0 hides pairs of places, 1 places of items of the batch, 2 pairs of a head of an item.
    kind: i64,
}

impl<'a> Mask<'a> {
    fn of(c: &'a Call) -> Result<Self> {
        let kind = if c.get("mask_type").is_none() { 2 } else { c.int("mask_type")? };
        Ok(Mask { mask: c.opt_tensor("mask"), kind })
    }

    /// Softmax over the places that are not hidden: scores are (batch, heads, queries, keys).
    fn softmax(&self, scores: Tensor) -> Result<Tensor> {
        let Some(mask) = self.mask else { return t!("_softmax", scores, -1, false) };
        let hidden = t!("to.dtype", mask, Dtype::Bool)?;
        let hidden = match self.kind {
            1 => t!("unsqueeze", t!("unsqueeze", hidden, 1)?, 1)?,
            _ => hidden,
        };
        t!("_softmax", t!("masked_fill.Scalar", scores, hidden, f64::NEG_INFINITY)?, -1, false)
    }
}

struct Heads<'a> {
    count: i64,
    /// Of the three projections in, one after the other, and of the one out: weight and bias.
    weights: [&'a Tensor; 4],
    mask: Mask<'a>,
}

impl<'a> Heads<'a> {
    fn of(c: &'a Call, count: i64) -> Result<Self> {
        if count <= 0 {
            return Err(Error::runtime(format!("the number of heads must be above zero, got {count}")));
        }
        let weights = [c.tensor("qkv_weight")?, c.tensor("qkv_bias")?, c.tensor("proj_weight")?, c.tensor("proj_bias")?];
        Ok(Heads { count, weights, mask: Mask::of(c)? })
    }

    /// What items attend to in themselves, and how much: (batch, length, width) and (batch, heads, length, length).
    fn attend(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let [qkv_weight, qkv_bias, weight, bias] = self.weights;
        let (batch, length) = (x.size(0), x.size(1));
        let width = qkv_bias.size(0).guard_int()? / 3;
        let split = [SymInt::Int(3), self.count.into(), (width / self.count).into()];
        let projected = t!("matmul", x, t!("t", qkv_weight)?)?;
        let parted = [&[batch.clone(), length.clone()][..], &split].concat();
        let parts = t!("add.Tensor", t!("view", projected, parted)?, t!("view", qkv_bias, split.to_vec())?)?;
        let part = |i: i64| t!("transpose.int", t!("select.int", &parts, 2, i)?, 1, 2);
        let q = t!("mul.Scalar", part(0)?, 1.0 / ((width / self.count) as f64).sqrt())?;
        let scores = self.mask.softmax(t!("matmul", q, t!("transpose.int", part(1)?, 2, 3)?)?)?;
        let context = t!("transpose.int", t!("matmul", &scores, part(2)?)?, 1, 2)?;
        let context = t!("reshape", context, vec![batch, length, width.into()])?;
        Ok((t!("linear", context, weight, bias)?, scores))
    }
}

fn encoder_layer(c: &Call) -> Result<Tensor> {
    let src = c.tensor("src")?;
    let norm_first = c.bool("norm_first")?;
    let norm = |x: &Tensor, weight: &str, bias: &str| {
        t!("layer_norm", x, vec![c.int("embed_dim")?], c.tensor(weight)?, c.tensor(bias)?, c.float("eps")?)
    };
    let heads = Heads::of(c, c.int("num_heads")?)?;
    let (first, second) = (("norm_weight_1", "norm_bias_1"), ("norm_weight_2", "norm_bias_2"));
    let given = if norm_first { norm(src, first.0, first.1)? } else { src.clone() };
    let x = t!("add.Tensor", heads.attend(&given)?.0, src)?;
    let x = if norm_first { x } else { norm(&x, first.0, first.1)? };
    let given = if norm_first { norm(&x, second.0, second.1)? } else { x.clone() };
    let hidden = t!("linear", given, c.tensor("ffn_weight_1")?, c.tensor("ffn_bias_1")?)?;
    let hidden = if c.bool("use_gelu")? { t!("gelu", hidden)? } else { t!("relu", hidden)? };
    let fed = t!("linear", hidden, c.tensor("ffn_weight_2")?, c.tensor("ffn_bias_2")?)?;
    let x = t!("add.Tensor", fed, x)?;
    if norm_first { Ok(x) } else { norm(&x, second.0, second.1) }
}
