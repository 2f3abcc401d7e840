//! Attention as it is written out, and the fused call in its place, by the numbers that PyTorch gives to its patterns.

use super::Argument;
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::t;
use crate::tensor::{Device, Dtype, Tensor, TensorSpec};

/// A function of a pattern's arguments; a probability of dropout is the last one.
pub type Function = fn(&[Value]) -> Result<Vec<Tensor>>;

/// The parameters of a pattern, with what it is first traced on.
#[derive(Clone, Copy, PartialEq)]
pub enum Parameter {
    /// `query`, `key` or `value` by number, in these sizes.
    Input(usize, &'static [i64]),
    /// The same, with its last two dimensions the other way round in memory.
    Transposed(usize, &'static [i64]),
    /// A mask in these sizes, and in this dtype where it is not that of the others.
    Mask(&'static [i64], Option<Dtype>),
    /// A mask to choose by.
    Causal(&'static [i64]),
    /// A scale that may be a tensor where it is first looked for.
    Scale(&'static str),
    /// A scale that is a number.
    Number,
    /// The probability of dropout.
    Dropout,
}

use Parameter::{Causal, Dropout, Input, Mask, Number, Scale, Transposed};

impl Parameter {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Input(n, _) | Transposed(n, _) => ["query", "key", "value"][*n],
            Mask(..) => "attn_mask",
            Causal(_) => "causal_mask",
            Scale(name) => name,
            Number => "inv_scale",
            Dropout => "dropout_p",
        }
    }

    /// The number that stands for it in a trace.
    pub fn stands_for(&self) -> Option<f64> {
        match self {
            Number => Some(0.66666),
            Dropout => Some(0.113377),
            _ => None,
        }
    }

    /// Whether it scales the products.
    pub fn is_scale(&self) -> bool {
        matches!(self, Scale(_) | Number)
    }

    /// Whether the training form has its gradient.
    pub fn requires_grad(&self) -> bool {
        matches!(self, Input(..) | Transposed(..))
    }

    /// What a pattern is first traced on.
    pub fn example(&self, dtype: Dtype) -> Result<Argument> {
        let spec = |sizes: &[i64], dtype| TensorSpec::contiguous(sizes.iter().map(|n| (*n).into()).collect(), dtype, Device::CPU);
        Ok(match self {
            Input(_, sizes) => Argument::Tensor(spec(sizes, dtype), true),
            Transposed(_, sizes) => {
                let base = Tensor::fake(&spec(sizes, dtype))?;
                Argument::Tensor(t!("transpose.int", base, -2, -1)?.spec(), true)
            }
            Mask(sizes, own) => Argument::Tensor(spec(sizes, own.unwrap_or(dtype)), false),
            Causal(sizes) => Argument::Tensor(spec(sizes, Dtype::Bool), false),
            Scale(_) => Argument::Tensor(spec(&[], dtype), false),
            Number | Dropout => Argument::Number(Value::Float(self.stands_for().unwrap_or_default())),
        })
    }
}

/// Something to look for, and what to put in its place.
pub struct Candidate {
    /// What its functions are called with.
    pub all: &'static [Parameter],
    /// What is looked for.
    pub search: Function,
    /// What is put there.
    pub replace: Function,
    /// Whether only the forward is looked for.
    pub inference_only: bool,
    /// Whether it is for short floats alone.
    pub half_only: bool,
}

impl Candidate {
    /// Its parameters: without training, nothing is dropped.
    pub fn parameters(&self, trains: bool) -> impl Iterator<Item = &'static Parameter> {
        self.all.iter().filter(move |p| trains || **p != Dropout)
    }

    /// Whether it drops.
    pub fn drops(&self) -> bool {
        self.all.contains(&Dropout)
    }

    /// Whether it is looked for in a dtype.
    pub fn serves(&self, dtype: Dtype) -> bool {
        dtype == Dtype::Float16 || !self.half_only
    }
}

fn wrong() -> Error {
    Error::runtime("attention: unexpected arguments")
}

macro_rules! bind {
    ($args:ident as $($name:ident),*) => { let [$($name),*] = $args else { return Err(wrong()) }; };
}

fn swapped(x: &Value) -> Result<Value> {
    t!("transpose.int", x, -2, -1).map(Value::from)
}

/// Heads before places.
fn heads(x: &Value) -> Result<Value> {
    t!("permute", x, vec![0i64, 2, 1, 3]).map(Value::from)
}

fn softmax(x: impl Into<Value>) -> Result<Tensor> {
    t!("softmax.int", x.into(), -1)
}

fn dropout(x: Tensor, p: &Value) -> Result<Tensor> {
    t!("dropout", x, p, true)
}

fn product(a: impl Into<Value>, b: impl Into<Value>) -> Result<Tensor> {
    t!("matmul", a.into(), b.into())
}

fn to(x: impl Into<Value>, dtype: Dtype) -> Result<Tensor> {
    t!("to.dtype", x.into(), dtype)
}

/// `q @ k.transpose(-2, -1) / scale`
fn divided(q: &Value, k: &Value, scale: &Value) -> Result<Tensor> {
    t!("div.Tensor", product(q, swapped(k)?)?, scale)
}

/// The fused operator.
fn fused(q: &Value, k: &Value, v: &Value, mask: Value, p: &Value, scale: f64) -> Result<Tensor> {
    t!("scaled_dot_product_attention", q, k, v, mask, p, false; scale = scale)
}

fn inverse(scale: &Value) -> Result<f64> {
    Ok(1.0 / scale.float()?)
}

/// A mask in the dtype of what it is added to.
fn like(mask: &Value, q: &Value) -> Result<Value> {
    to(mask, q.tensor()?.dtype()).map(Value::from)
}

fn zero() -> Value {
    Value::Float(0.0)
}

const Q: [Parameter; 3] = [Input(0, G), Input(1, G), Input(2, G)];
const G: &[i64] = &[2, 4, 8, 16];
const G1: &[i64] = &[1, 4, 8, 16];
const G3: &[i64] = &[1024, 128, 128];
const P: &[i64] = &[2, 8, 4, 16];
const P1: &[i64] = &[1, 8, 4, 16];
const T: &[i64] = &[2, 6, 8, 16];
const B: &[i64] = &[1, 1, 8, 8];
const M: &[i64] = &[2, 1, 1, 4];
const M1: &[i64] = &[1, 1, 1, 4];
const ONE: [Parameter; 3] = [Input(0, G1), Input(1, G1), Input(2, G1)];
const F: Option<Dtype> = Some(Dtype::Float32);

const fn both(all: &'static [Parameter], search: Function, replace: Function) -> Candidate {
    Candidate { all, search, replace, inference_only: false, half_only: false }
}

const fn forward(all: &'static [Parameter], search: Function, replace: Function) -> Candidate {
    Candidate { all, search, replace, inference_only: true, half_only: false }
}

const fn half(all: &'static [Parameter], search: Function, replace: Function) -> Candidate {
    Candidate { all, search, replace, inference_only: false, half_only: true }
}

const DIV: Parameter = Scale("inv_scale");
const MUL: Parameter = Scale("scale_factor");

/// In PyTorch's order.
pub static CANDIDATES: &[Candidate] = &[
    both(&[Q[0], Q[1], Q[2], DIV], plain, plain_fused),
    both(&[Q[0], Q[1], Q[2], MUL], multiplied, multiplied_fused),
    both(&[Q[0], Q[1], Q[2], DIV, Dropout], dropped, dropped_fused),
    both(&[Q[0], Q[1], Q[2], MUL, Dropout], multiplied_dropped, multiplied_dropped_fused),
    both(&[Q[0], Q[1], Q[2], Mask(B, None), Number], masked, masked_fused),
    both(&[Q[0], Q[1], Q[2], Mask(B, None), Number, Dropout], masked_dropped, masked_dropped_fused),
    both(&[Q[0], Q[1], Q[2], Number, Dropout], |a| widened(a, false, true), |a| heads_fused(a, true)),
    both(&[Q[0], Q[1], Q[2], Number], |a| widened(a, false, false), |a| heads_fused(a, false)),
    both(&[Q[0], Q[1], Q[2], Number, Dropout], |a| widened(a, true, true), |a| heads_fused(a, true)),
    both(&[Q[0], Q[1], Q[2], Number], |a| widened(a, true, false), |a| heads_fused(a, false)),
    both(&[Q[0], Q[1], Q[2], DIV], |a| with_heads(a, plain), |a| heads_fused(a, false)),
    both(&[Q[0], Q[1], Q[2], DIV, Dropout], |a| with_heads(a, dropped), |a| heads_fused(a, true)),
    forward(&[Input(0, G3), Input(1, G3), Input(2, G3), Dropout], flat, flat_fused),
    both(&[Q[0], Q[1], Q[2], Mask(M, None), DIV], |a| with_heads(a, masked), heads_masked_fused),
    forward(&[Q[0], Q[1], Q[2], Mask(&[2, 4], None), DIV], |a| filled(a, false), filled_fused),
    both(&[Q[0], Q[1], Q[2], Mask(M, None), DIV, Dropout], bert, bert_fused),
    both(&[ONE[0], ONE[1], ONE[2], Mask(M1, None), DIV, Dropout], bert, bert_fused),
    forward(&[Q[0], Q[1], Q[2], Mask(&[2, 4], None), DIV, Dropout], |a| filled(a, false), filled_fused),
    forward(&[Q[0], Q[1], Q[2], Causal(M), Number, Dropout], causal, causal_fused),
    forward(&[ONE[0], ONE[1], ONE[2], Causal(M1), Number, Dropout], causal, causal_fused),
    forward(&[Q[0], Q[1], Q[2], Causal(B), Mask(B, F), Number, Dropout], causal_masked, causal_masked_fused),
    forward(&[Q[0], Q[1], Q[2], Mask(&[2, 4], None), Number, Dropout], |a| filled(a, true), filled_fused),
    forward(&[Q[0], Q[1], Q[2], Mask(M, F)], |a| unscaled(a, false), |a| unscaled_fused(a, false)),
    forward(&[ONE[0], ONE[1], ONE[2], Mask(M1, F)], |a| unscaled(a, false), |a| unscaled_fused(a, false)),
    forward(&[Q[0], Q[1], Q[2], Mask(M, F)], |a| unscaled(a, true), |a| unscaled_fused(a, true)),
    forward(&[ONE[0], ONE[1], ONE[2], Mask(M1, F)], |a| unscaled(a, true), |a| unscaled_fused(a, true)),
    forward(&[Input(0, G), Input(1, G), Input(2, G), Mask(B, F)], flattened, flattened_fused),
    both(&[Q[0], Q[1], Q[2], Mask(M, None), Dropout], |a| unscaled_dropped(a, false), |a| unscaled_dropped_fused(a, false)),
    both(&[ONE[0], ONE[1], ONE[2], Mask(M1, None), Dropout], |a| unscaled_dropped(a, false), |a| unscaled_dropped_fused(a, false)),
    both(&[Q[0], Q[1], Q[2], Mask(M, None), Dropout], |a| unscaled_dropped(a, true), |a| unscaled_dropped_fused(a, true)),
    both(&[ONE[0], ONE[1], ONE[2], Mask(M1, None), Dropout], |a| unscaled_dropped(a, true), |a| unscaled_dropped_fused(a, true)),
    both(&[Transposed(0, T), Transposed(1, T), Transposed(2, T), MUL, Dropout], multiplied_dropped, |a| {
        bind!(a as q, k, v, scale, p);
        let lying = |x: &Value| t!("contiguous", x).map(Value::from);
        Ok(vec![fused(&lying(q)?, &lying(k)?, &lying(v)?, Value::None, p, scale.float()?)?])
    }),
    both(&[Input(0, P), Input(1, P), Input(2, P), Mask(B, None), Number], |a| split_scale(a, true), |a| split_scale_fused(a, true)),
    both(&[Input(0, P1), Input(1, P1), Input(2, P1), Mask(B, None), Number], |a| split_scale(a, true), |a| split_scale_fused(a, true)),
    both(&[Input(0, P), Input(1, P), Input(2, P), Number], |a| split_scale(a, false), |a| split_scale_fused(a, false)),
    both(&[Input(0, P1), Input(1, P1), Input(2, P1), Number], |a| split_scale(a, false), |a| split_scale_fused(a, false)),
    half(&[Q[0], Q[1], Q[2], Mask(M, F), DIV, Dropout], bert, bert_fused),
    half(&[ONE[0], ONE[1], ONE[2], Mask(M1, F), DIV, Dropout], bert, bert_fused),
];

fn plain(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, scale);
    Ok(vec![product(softmax(divided(q, k, scale)?)?, v)?])
}

fn plain_fused(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, scale);
    Ok(vec![fused(q, k, v, Value::None, &zero(), inverse(scale)?)?])
}

fn multiplied(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, scale);
    Ok(vec![product(softmax(t!("mul.Tensor", product(q, swapped(k)?)?, scale)?)?, v)?])
}

fn multiplied_fused(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, scale);
    Ok(vec![fused(q, k, v, Value::None, &zero(), scale.float()?)?])
}

fn dropped(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, scale, p);
    Ok(vec![product(dropout(softmax(divided(q, k, scale)?)?, p)?, v)?])
}

fn dropped_fused(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, scale, p);
    Ok(vec![fused(q, k, v, Value::None, p, inverse(scale)?)?])
}

fn multiplied_dropped(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, scale, p);
    let scores = t!("mul.Tensor", product(q, swapped(k)?)?, scale)?;
    Ok(vec![product(dropout(softmax(scores)?, p)?, v)?])
}

fn multiplied_dropped_fused(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, scale, p);
    Ok(vec![fused(q, k, v, Value::None, p, scale.float()?)?])
}

fn masked(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask, scale);
    Ok(vec![product(softmax(t!("add.Tensor", divided(q, k, scale)?, mask)?)?, v)?])
}

fn masked_fused(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask, scale);
    Ok(vec![fused(q, k, v, like(mask, q)?, &zero(), inverse(scale)?)?])
}

fn masked_dropped(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask, scale, p);
    let weights = softmax(t!("add.Tensor", divided(q, k, scale)?, mask)?)?;
    Ok(vec![product(dropout(weights, p)?, v)?])
}

fn masked_dropped_fused(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask, scale, p);
    Ok(vec![fused(q, k, v, like(mask, q)?, p, inverse(scale)?)?])
}

/// A pattern of query, key and value whose heads come after places.
fn with_heads(a: &[Value], function: Function) -> Result<Vec<Tensor>> {
    let mut args = a.iter().take(3).map(heads).collect::<Result<Vec<_>>>()?;
    args.extend_from_slice(&a[3..]);
    function(&args)
}

/// The softmax in float32, of half-precision products; the query may be scaled before.
fn widened(a: &[Value], scales_query: bool, drops: bool) -> Result<Vec<Tensor>> {
    let (q, k, v, scale) = (heads(&a[0])?, heads(&a[1])?, heads(&a[2])?, &a[3]);
    let scores = if scales_query {
        let q = Value::from(t!("div.Tensor", q, scale)?);
        product(&q, swapped(&k)?)?
    } else {
        divided(&q, &k, scale)?
    };
    let mut weights = softmax(to(scores, Dtype::Float32)?)?;
    if drops {
        weights = dropout(weights, &a[4])?;
    }
    let weights = to(weights, Dtype::Float16)?;
    let v = to(v, Dtype::Float16)?;
    Ok(vec![product(weights, v)?])
}

fn heads_fused(a: &[Value], drops: bool) -> Result<Vec<Tensor>> {
    let p = if drops { a[4].clone() } else { zero() };
    Ok(vec![fused(&heads(&a[0])?, &heads(&a[1])?, &heads(&a[2])?, Value::None, &p, inverse(&a[3])?)?])
}

fn flat(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, p);
    let weights = softmax(t!("bmm", q, t!("transpose.int", k, 1, 2)?)?)?;
    Ok(vec![t!("bmm", dropout(weights, p)?, v)?])
}

fn flat_fused(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, p);
    let one = |x: &Value| t!("unsqueeze", x, 0).map(Value::from);
    Ok(vec![t!("squeeze.dim", fused(&one(q)?, &one(k)?, &one(v)?, Value::None, p, 1.0)?, 0)?])
}

fn heads_masked_fused(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask, scale);
    let mask = like(mask, q)?;
    Ok(vec![fused(&heads(q)?, &heads(k)?, &heads(v)?, mask, &zero(), inverse(scale)?)?])
}

fn infinity(q: &Value) -> Result<Tensor> {
    let q = q.tensor()?;
    t!("full", Vec::<i64>::new(), f64::NEG_INFINITY; dtype = q.dtype(), device = q.device())
}

/// A mask of two dimensions, where it is zero.
fn filled(a: &[Value], scales_query: bool) -> Result<Vec<Tensor>> {
    let (mut q, k, v, mask, scale) = (heads(&a[0])?, heads(&a[1])?, heads(&a[2])?, &a[3], &a[4]);
    let (batch, length) = (q.tensor()?.size(0), k.tensor()?.size(2));
    if scales_query {
        q = t!("div.Tensor", q, scale)?.into();
    }
    let mut scores = product(&q, swapped(&k)?)?;
    if !scales_query {
        scores = t!("div.Tensor", scores, scale)?;
    }
    let low = infinity(&a[0])?;
    let hidden = t!("view", t!("eq.Scalar", mask, 0)?, vec![batch, 1.into(), 1.into(), length])?;
    let hidden = t!("expand", hidden, scores.sizes())?;
    let mut weights = softmax(t!("masked_fill.Tensor", scores, hidden, low)?)?;
    if let Some(p) = a.get(5) {
        weights = dropout(weights, p)?;
    }
    Ok(vec![product(weights, v)?])
}

fn filled_fused(a: &[Value]) -> Result<Vec<Tensor>> {
    let (q, k) = (a[0].tensor()?, a[1].tensor()?);
    let (batch, count, length, along) = (q.size(0), q.size(2), q.size(1), k.size(1));
    let shown = t!("view", t!("eq.Scalar", &a[3], 1)?, vec![batch.clone(), 1.into(), 1.into(), along.clone()])?;
    let shown = to(t!("expand", shown, vec![batch, count, length, along])?, Dtype::Bool)?;
    let p = a.get(5).cloned().unwrap_or_else(zero);
    Ok(vec![fused(&heads(&a[0])?, &heads(&a[1])?, &heads(&a[2])?, shown.into(), &p, inverse(&a[4])?)?])
}

fn bert(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask, scale, p);
    let dtype = q.tensor()?.dtype();
    let (q, k, v) = (heads(q)?, heads(k)?, heads(v)?);
    let weights = softmax(t!("add.Tensor", divided(&q, &k, scale)?, mask)?)?;
    Ok(vec![product(to(dropout(weights, p)?, dtype)?, v)?])
}

fn bert_fused(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask, scale, p);
    let (q, k, v) = (heads(q)?, heads(k)?, heads(v)?);
    let mask = like(mask, &q)?;
    Ok(vec![fused(&q, &k, &v, mask, p, inverse(scale)?)?])
}

/// Scores over a tensor of the scale, and the least number where the mask is false.
fn chosen(q: &Value, k: &Value, mask: &Value, scale: &Value) -> Result<Tensor> {
    let scores = product(q, t!("permute", k, vec![0i64, 1, 3, 2])?)?;
    let full = |n: Value, x: &Tensor| t!("full", Vec::<i64>::new(), n; dtype = x.dtype(), device = x.device());
    let by = full(scale.clone(), &scores)?;
    let scores = t!("div.Tensor", scores, by)?;
    let q = q.tensor()?;
    let least = match q.dtype() {
        Dtype::Float16 => half::f16::MIN.to_f64(),
        Dtype::BFloat16 => half::bf16::MIN.to_f64(),
        Dtype::Float64 => f64::MIN,
        _ => f64::from(f32::MIN),
    };
    let least = full(Value::Float(least), q)?;
    t!("where.self", mask, scores, least)
}

fn causal(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask, scale, p);
    let (q, k, v) = (heads(q)?, heads(k)?, heads(v)?);
    let weights = dropout(softmax(chosen(&q, &k, mask, scale)?)?, p)?;
    Ok(vec![product(weights, &v)?, k.into_tensor()?, v.into_tensor()?])
}

fn causal_fused(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask, scale, p);
    let (k, v) = (heads(k)?, heads(v)?);
    let made = fused(&heads(q)?, &k, &v, mask.clone(), p, inverse(scale)?)?;
    Ok(vec![made, k.into_tensor()?, v.into_tensor()?])
}

fn causal_masked(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, shown, mask, scale, p);
    let scores = t!("add.Tensor", chosen(q, k, shown, scale)?, mask)?;
    let weights = to(softmax(scores)?, v.tensor()?.dtype())?;
    Ok(vec![product(dropout(weights, p)?, v)?])
}

fn causal_masked_fused(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, shown, mask, scale, p);
    let low = infinity(q)?;
    let mask = t!("where.self", shown, mask, low)?;
    Ok(vec![fused(q, k, v, mask.into(), p, inverse(scale)?)?])
}

/// Attention without a scale; its keys and values may be results, too.
fn unscaled(a: &[Value], returns_all: bool) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask);
    let (q, k, v) = (heads(q)?, heads(k)?, heads(v)?);
    let dtype = q.tensor()?.dtype();
    let scores = product(&q, t!("permute", &k, vec![0i64, 1, 3, 2])?)?;
    let scores = to(t!("add.Tensor", scores, mask)?, dtype)?;
    let weights = to(softmax(to(scores, Dtype::Float32)?)?, dtype)?;
    let mut made = vec![product(weights, &v)?];
    if returns_all {
        made.extend([k.into_tensor()?, v.into_tensor()?]);
    }
    Ok(made)
}

fn unscaled_fused(a: &[Value], returns_all: bool) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask);
    let (q, k, v) = (heads(q)?, heads(k)?, heads(v)?);
    let mut made = vec![fused(&q, &k, &v, like(mask, &q)?, &zero(), 1.0)?];
    if returns_all {
        made.extend([k.into_tensor()?, v.into_tensor()?]);
    }
    Ok(made)
}

fn unscaled_dropped(a: &[Value], returns_all: bool) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask, p);
    let (q, k, v) = (heads(q)?, heads(k)?, heads(v)?);
    let dtype = q.tensor()?.dtype();
    let scores = product(&q, t!("permute", &k, vec![0i64, 1, 3, 2])?)?;
    let scores = to(t!("add.Tensor", scores, mask)?, Dtype::Float32)?;
    let weights = dropout(to(softmax(scores)?, dtype)?, p)?;
    let mut made = vec![product(weights, &v)?];
    if returns_all {
        made.extend([k.into_tensor()?, v.into_tensor()?]);
    }
    Ok(made)
}

fn unscaled_dropped_fused(a: &[Value], returns_all: bool) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask, p);
    let (q, k, v) = (heads(q)?, heads(k)?, heads(v)?);
    let mut made = vec![fused(&q, &k, &v, mask.clone(), p, 1.0)?];
    if returns_all {
        made.extend([k.into_tensor()?, v.into_tensor()?]);
    }
    Ok(made)
}

/// Batches and heads in one dimension but for the mask.
fn flattened(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask);
    let dtype = q.tensor()?.dtype();
    let [batch, count, length, width] = [0, 1, 2, 3].map(|d| q.tensor().map(|q| q.size(d)));
    let (batch, count, length, width) = (batch?, count?, length?, width?);
    let items = &batch * &count;
    let inner = vec![items.clone(), (-1).into(), width.clone()];
    let queries = t!("view", q, inner.clone())?;
    let (k, v) = (t!("reshape", k, inner.clone())?, t!("reshape", v, inner)?);
    let scores = t!("bmm", queries, t!("transpose.int", k, 1, 2)?)?;
    let scores = t!("view", scores, vec![batch.clone(), count.clone(), length.clone(), (-1).into()])?;
    let scores = t!("view", t!("add.Tensor", scores, mask)?, vec![items, length.clone(), (-1).into()])?;
    let mut weights = softmax(scores)?;
    if dtype == Dtype::Float16 {
        weights = to(weights, dtype)?;
    }
    Ok(vec![t!("view", t!("bmm", weights, v)?, vec![batch, count, length, width])?])
}

fn flattened_fused(a: &[Value]) -> Result<Vec<Tensor>> {
    bind!(a as q, k, v, mask);
    Ok(vec![fused(q, k, v, like(mask, q)?, &zero(), 1.0)?])
}

/// What the fused operator itself is composed of elsewhere: the scale is split between query and key.
fn split_scale(a: &[Value], is_masked: bool) -> Result<Vec<Tensor>> {
    let (q, k, v) = (heads(&a[0])?, heads(&a[1])?, heads(&a[2])?);
    let scale = &a[if is_masked { 4 } else { 3 }];
    let q = t!("mul.Scalar", q, scale)?;
    let k = t!("mul.Scalar", swapped(&k)?, scale)?;
    let mut weights = product(q, k)?;
    if is_masked {
        weights = t!("add.Tensor", weights, &a[3])?;
    }
    Ok(vec![product(t!("_safe_softmax", weights, -1)?, v)?])
}

fn split_scale_fused(a: &[Value], is_masked: bool) -> Result<Vec<Tensor>> {
    let (q, k, v) = (heads(&a[0])?, heads(&a[1])?, heads(&a[2])?);
    let scale = a[if is_masked { 4 } else { 3 }].float()?;
    let mask = if is_masked { like(&a[3], &a[0])? } else { Value::None };
    Ok(vec![fused(&q, &k, &v, mask, &zero(), scale * scale)?])
}
