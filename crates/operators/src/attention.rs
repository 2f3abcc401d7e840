//! Scaled dot product attention: the fused CPU operator where it serves, plain products and a softmax elsewhere.

use crate::layout;
use crate::loss::like;
use crate::shapes::{may_be_same, need_broadcast_to, need_elements, need_sizes};
use diagnostics::error::{Error, Result};
use dispatch::aten;
use dispatch::t;
use dispatch::{Backward, Call, CastPolicy, Grads, OpBuilder, OpClasses, Rule, Value};
use shape::{Relation, SymInt};
use tensor::{Dtype, Layout, Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
        Rule::Composite(attention),
    ).doc("`softmax(query @ key.T * scale) @ value`.").classes(OpClasses::SEEDED).autocast(CastPolicy::LowerPrecisionFp);
    b.op(
        "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
        Rule::Composite(|c| {
            let (q, k, v) = (c.tensor("query")?.clone(), c.tensor("key")?.clone(), c.tensor("value")?.clone());
            let mask = additive(c.opt_tensor("attn_mask"), q.dtype())?;
            let (output, weights) = math(c, Inputs { q, k, v, mask })?;
            Ok(Value::List(vec![output.into(), weights.into()]))
        }),
    ).classes(OpClasses::SEEDED);
    b.op("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Rule::Fresh(safe_softmax_spec))
        .refuses("c", "softmax_lastdim_kernel_impl")
        .grad("SafeSoftmaxBackward", &["result"], |b| {
            let dtype = b.spec("self")?.dtype;
            Grads::one(b, "self", || t!("_softmax_backward_data", b.grad()?, b.result(0)?, b.arg("dim"), dtype))
        });
    b.op(
        "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
        Rule::Fresh(flash_spec),
    ).classes(OpClasses::SEEDED)
    .grad("ScaledDotProductFlashAttentionForCpuBackward", &["query", "key", "value", "attn_mask", "result", "result1"], flash_grad)
    .indices_without_grad(&[1]);
    b.op(
        "_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)",
        Rule::Fresh(flash_backward_spec),
    );
}

fn last(t: &Tensor, from_end: usize) -> SymInt {
    t.size(t.dim() - from_end)
}

fn check(c: &Call) -> Result<()> {
    let (q, k, v) = (c.tensor("query")?, c.tensor("key")?, c.tensor("value")?);
    if q.dtype() != k.dtype() || q.dtype() != v.dtype() {
        return Err(Error::runtime(format!(
            "Expected query, key, and value to have the same dtype, but got query.dtype: {} key.dtype: {} and value.dtype: {} instead.",
            q.dtype().scalar_type(),
            k.dtype().scalar_type(),
            v.dtype().scalar_type()
        )));
    }
    if q.dim() < 2 || k.dim() < 2 || v.dim() < 2 {
        return Err(Error::runtime(format!(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {} key.dim: {} and value.dim: {} instead.",
            q.dim(),
            k.dim(),
            v.dim()
        )));
    }
    if let Some(mask) = c.opt_tensor("attn_mask") {
        if c.bool("is_causal")? {
            return Err(Error::runtime("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"));
        }
        if mask.dtype() != Dtype::Bool && mask.dtype() != Dtype::Float32 && mask.dtype() != q.dtype() {
            return Err(Error::runtime(format!(
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {} and  query.dtype: {} instead.",
                mask.dtype().scalar_type(),
                q.dtype().scalar_type()
            )));
        }
    }
    Ok(())
}

/// Whether the fused operator takes these arguments.
fn fits_flash(c: &Call, q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Result<bool> {
    let same = |a: &SymInt, b: &SymInt| a.sym_eq(b.clone());
    // Without a GPU there is no fused operator for one.
    if q.device().kind == tensor::DeviceType::Cuda {
        return Ok(false);
    }
    if [q, k, v].iter().any(|t| t.dim() != 4) || c.float("dropout_p")? > 0.0 || !q.dtype().is_floating() {
        return Ok(false);
    }
    let (sq, sk, sv) = (q.sizes(), k.sizes(), v.sizes());
    let shared = c.bool("enable_gqa")? || sk[1].sym_eq(1)?;
    let divides = || Ok::<bool, Error>(shared && !sk[1].sym_eq(0)? && sq[1].modulo(&sk[1])?.sym_eq(0)?);
    let heads = same(&sk[1], &sv[1])? && (same(&sq[1], &sk[1])? || divides()?);
    if !heads || !same(&sq[0], &sk[0])? || !same(&sq[0], &sv[0])? || !same(&sq[3], &sk[3])? || !same(&sq[3], &sv[3])? {
        return Ok(false);
    }
    // Symbolic lengths of keys and values are not compared.
    let unequal = sk[2].as_int().zip(sv[2].as_int()).is_some_and(|(keys, values)| keys != values);
    if unequal || sq[2].sym_eq(0)? || sk[2].sym_eq(0)? {
        return Ok(false);
    }
    for t in [q, k, v] {
        if !t.geometry().strides[3].sym_eq(1)? {
            return Ok(false);
        }
    }
    let Some(mask) = mask else { return Ok(true) };
    if autograd::meta::requires_grad(mask) || mask.dim() < 2 {
        return Ok(false);
    }
    let sm = mask.sizes();
    let n = sm.len();
    let broadcasts = |size: &SymInt, full: &SymInt| Ok::<bool, Error>(size.sym_eq(1)? || same(size, full)?);
    let inner = broadcasts(&sm[n - 2], &sq[2])? && broadcasts(&sm[n - 1], &sk[2])?;
    Ok(inner && (n == 2 || (n == 4 && broadcasts(&sm[0], &sq[0])? && broadcasts(&sm[1], &sq[1])?)))
}

/// Compares the sizes that PyTorch asks to choose the fused operator.
fn compare_for_flash(c: &Call, q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Result<()> {
    use dispatch::compare_sizes;
    dispatch::ask_empty(v)?;
    if [q, k, v].iter().any(|t| t.dim() != 4) || c.float("dropout_p")? > 0.0 {
        return Ok(());
    }
    let (zero, sq, sk, sv) = (SymInt::Int(0), q.sizes(), k.sizes(), v.sizes());
    compare_sizes(&sq[2], Relation::Eq, &zero)?;
    for other in [&sk[0], &sv[0]] {
        compare_sizes(&sq[0], Relation::Eq, other)?;
    }
    if let Some(sizes) = mask.map(Tensor::sizes).filter(|sizes| sizes.len() >= 2) {
        let n = sizes.len();
        compare_sizes(&sizes[n - 2], Relation::Eq, &sq[2])?;
        compare_sizes(&sizes[n - 1], Relation::Eq, &sk[2])?;
        for (size, full) in sizes[..n - 2].iter().zip(&sq) {
            compare_sizes(size, Relation::Eq, full)?;
        }
    }
    for length in [&sq[2], &sk[2]] {
        compare_sizes(length, Relation::Ne, &zero)?;
    }
    Ok(())
}

/// A boolean mask as numbers to add: zero where it is true, minus infinity elsewhere.
fn additive(mask: Option<&Tensor>, dtype: Dtype) -> Result<Option<Tensor>> {
    let Some(mask) = mask.filter(|m| m.dtype() == Dtype::Bool) else { return Ok(mask.cloned()) };
    let low = t!("scalar_tensor", f64::NEG_INFINITY; dtype = dtype, device = mask.device())?;
    let zero = t!("scalar_tensor", 0.0; dtype = dtype, layout = Value::Layout(Layout::Strided), device = mask.device())?;
    t!("where.self", mask, zero, low).map(Some)
}

/// Query, key and value, with the mask to add.
struct Inputs {
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Option<Tensor>,
}

fn attention(c: &Call) -> Result<Value> {
    check(c)?;
    let (mut q, mut k, mut v) = (c.tensor("query")?.clone(), c.tensor("key")?.clone(), c.tensor("value")?.clone());
    let mut mask = c.opt_tensor("attn_mask").cloned();
    // Three dimensions are a single item of a batch.
    let alone = [&q, &k, &v].iter().all(|t| t.dim() == 3);
    if alone {
        for t in [&mut q, &mut k, &mut v] {
            *t = t!("unsqueeze", &*t, 0)?;
        }
        mask = match mask {
            Some(m) if m.dim() == 2 => Some(t!("unsqueeze", t!("unsqueeze", m, 0)?, 0)?),
            Some(m) if m.dim() == 3 => Some(t!("unsqueeze", m, 0)?),
            other => other,
        };
    }
    compare_for_flash(c, &q, &k, &v, mask.as_ref())?;
    let flash = fits_flash(c, &q, &k, &v, mask.as_ref())?;
    let mask = additive(mask.as_ref(), q.dtype())?;
    let output = if flash {
        let (dropout, causal, scale) = (c.get("dropout_p"), c.get("is_causal"), c.get("scale"));
        let results = aten!("_scaled_dot_product_flash_attention_for_cpu", q, k, v, dropout, causal; attn_mask = mask, scale = scale)?;
        results.list()?[0].tensor()?.clone()
    } else {
        math(c, Inputs { q, k, v, mask })?.0
    };
    Ok(if alone { t!("squeeze.dim", output, 0)? } else { output }.into())
}

fn math(c: &Call, inputs: Inputs) -> Result<(Tensor, Tensor)> {
    for (name, t) in [("query", &inputs.q), ("key", &inputs.k), ("value", &inputs.v)] {
        crate::shapes::need_dims("scaled_dot_product_attention", name, t, 2)?;
    }
    let origin = inputs.q.dtype();
    let narrow = matches!(origin, Dtype::Float16 | Dtype::BFloat16);
    let widen = |t: &Tensor| if narrow { t!("to.dtype", t, Dtype::Float32) } else { Ok(t.clone()) };
    let (q, k, v) = (widen(&inputs.q)?, widen(&inputs.k)?, widen(&inputs.v)?);
    let mut mask = inputs.mask;
    let given = if c.get("scale").is_none() { None } else { Some(c.float("scale")?) };
    let scale = given.map_or_else(|| Ok(1.0 / (last(&q, 1).guard_int()? as f64).sqrt()), |s| Ok::<f64, Error>(s.abs()))?.sqrt();
    let q = t!("mul.Scalar", q, if given.is_some_and(|s| s < 0.0) { -scale } else { scale })?;
    if c.bool("is_causal")? {
        let device = q.device();
        let ones =
            t!("ones", vec![last(&q, 2), last(&k, 2)]; dtype = Dtype::Bool, layout = Value::Layout(Layout::Strided), device = device)?;
        mask = additive(Some(&t!("tril", ones)?), q.dtype())?;
    }
    let (k, v) = if c.bool("enable_gqa")? { (grouped(&q, &k)?, grouped(&q, &v)?) } else { (k, v) };
    let scaled = t!("mul.Scalar", t!("transpose.int", k, -2, -1)?, scale)?;
    let mut weights = t!("matmul", q, scaled)?;
    if let Some(mask) = mask {
        weights = t!("add.Tensor", weights, mask)?;
    }
    weights = t!("_safe_softmax", weights, -1)?;
    let dropout = c.float("dropout_p")?;
    if dropout > 0.0 {
        weights = match c.opt_tensor("dropout_mask") {
            Some(keep) => {
                let dropped = t!("masked_fill.Scalar", &weights, t!("logical_not", keep)?, 0.0)?;
                let scaled = t!("mul.Scalar", &v, 1.0 / (1.0 - dropout))?;
                return Ok((t!("matmul", dropped, scaled)?, weights));
            }
            None => t!("dropout", weights, dropout, true)?,
        };
    }
    let back = |t: &Tensor| if narrow { t!("to.dtype", t, origin) } else { Ok(t.clone()) };
    // The weights are rounded before the product is made of those that are not.
    let rounded = back(&weights)?;
    Ok((back(&t!("matmul", &weights, v)?)?, rounded))
}

/// Keys or values repeated so that every query head has its own.
fn grouped(q: &Tensor, t: &Tensor) -> Result<Tensor> {
    for t in [q, t] {
        crate::shapes::wrap_dim(-3, t.dim())?;
    }
    let repeats = last(q, 3).floor_div(&last(t, 3))?;
    if repeats.sym_eq(1)? { Ok(t.clone()) } else { t!("repeat_interleave.self_int", t, repeats, -3) }
}

fn safe_softmax_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let input = c.tensor("self")?;
    crate::shapes::wrap_dim(c.int("dim")?, input.dim())?;
    let dtype = c.dtype("dtype")?.unwrap_or(input.dtype());
    Ok(vec![Some(TensorSpec::contiguous(input.sizes(), dtype, input.device()))])
}

/// A result of four (or three) dimensions that lies as batch x places x heads (x width).
fn heads_inside(sizes: &[SymInt], dtype: Dtype, like: &Tensor) -> TensorSpec {
    let mut lying = sizes.to_vec();
    lying.swap(1, 2);
    let mut strides = layout::strides(&lying, tensor::MemoryFormat::Contiguous);
    strides.swap(1, 2);
    TensorSpec::strided(sizes.to_vec(), strides, dtype, like.device())
}

/// Refuses what the fused operator does not serve: its kernel reads every operand by the sizes of queries and keys.
fn check_flash(c: &Call) -> Result<()> {
    const NAME: &str = "scaled_dot_product_attention_flash_attention";
    let (q, k, v) = (c.tensor("query")?, c.tensor("key")?, c.tensor("value")?);
    if !q.dtype().is_floating() {
        return Err(Error::runtime(format!(
            "{NAME}: Expected data type in FP32, FP64, BF16, FP16, but got {} instead.",
            q.dtype().scalar_type()
        )));
    }
    if [q, k, v].iter().any(|t| t.dim() != 4) {
        return Err(Error::runtime(format!("{NAME}: Accept only 4 dims inputs shape of {{B, H, T, K}}")));
    }
    let (sq, sk, sv) = (q.sizes(), k.sizes(), v.sizes());
    let is = |a: &SymInt, b: &SymInt| may_be_same(std::slice::from_ref(a), std::slice::from_ref(b));
    if !is(&sq[3], &sk[3]) || !is(&sq[3], &sv[3]) {
        return Err(Error::runtime(format!("{NAME}: Q/K/V should have the same head size")));
    }
    need_sizes(NAME, "key", k, &[sq[0].clone(), sk[1].clone(), sk[2].clone(), sq[3].clone()])?;
    need_sizes(NAME, "value", v, &sk)?;
    let divides = sk[1].as_int().zip(sq[1].as_int()).is_none_or(|(keys, queries)| keys > 0 && queries % keys == 0);
    if !divides && !sq.iter().any(|size| size.as_int() == Some(0)) {
        return Err(Error::runtime(format!(
            "{NAME}: expected as many heads of keys as of queries, or a share, but got {} and {}",
            sk[1], sq[1]
        )));
    }
    if let Some(mask) = c.opt_tensor("attn_mask") {
        if mask.dim() != 2 && mask.dim() != 4 {
            return Err(Error::runtime(format!("{NAME}: Attention mask dim in {{2, 4}}")));
        }
        need_broadcast_to(&scores(&sq, &sk), &[mask])?;
    }
    Ok(())
}

/// Sizes of attention's scores.
fn scores(q: &[SymInt], k: &[SymInt]) -> Vec<SymInt> {
    vec![q[0].clone(), q[1].clone(), q[2].clone(), k[2].clone()]
}

fn flash_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    check_flash(c)?;
    let q = c.tensor("query")?;
    let sums = if matches!(q.dtype(), Dtype::Float16 | Dtype::BFloat16) { Dtype::Float32 } else { q.dtype() };
    Ok(vec![Some(like(q)?), Some(heads_inside(&q.sizes()[..3], sums, q))])
}

fn flash_backward_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    check_flash(c)?;
    let sizes = c.tensor("query")?.sizes();
    for name in ["grad_out", "out"] {
        need_sizes(c.entry.base_name(), name, c.tensor(name)?, &sizes)?;
    }
    need_elements(c.entry.base_name(), "logsumexp", c.tensor("logsumexp")?, &shape::numel(&sizes[..3]))?;
    ["query", "key", "value"].iter().map(|n| c.tensor(n).map(|t| Some(heads_inside(&t.sizes(), t.dtype(), t)))).collect()
}

fn flash_grad(b: &Backward) -> Result<Grads> {
    let (grad, output, sums) = (b.grad()?, b.result(0)?, b.result(1)?);
    let (q, k, v) = (b.saved("query")?, b.saved("key")?, b.saved("value")?);
    let (mask, dropout, causal, scale) = (b.opt_saved("attn_mask")?, b.arg("dropout_p"), b.arg("is_causal"), b.arg("scale"));
    let results = aten!("_scaled_dot_product_flash_attention_for_cpu_backward", grad, q, k, v, output, sums, dropout, causal; attn_mask = mask, scale = scale)?;
    let mut grads = Grads::new(b);
    for (name, value) in ["query", "key", "value"].iter().zip(results.list()?) {
        grads.put(b, name, value.as_tensor().cloned())?;
    }
    Ok(grads)
}
