//! What `flex_attention` computes, written out: all scores at once, each changed and masked by functions of one score's position, which
//! four levels of `vmap` map over batches, heads, queries and keys.

use super::flex_attention::Flex;
use crate::aot::interpret;
use crate::dispatch::{Exclude, Key, Modes, Value, modes, set_modes};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::shape::SymInt;
use crate::tensor::{Dtype, Geometry, Layout, Tensor};
use crate::transforms::levels::{self, Level, Randomness};
use crate::{aten, t};
use std::f64::consts::LN_2;

/// A tensor with a dimension of the scores, or one that is the same everywhere.
enum Input {
    Each(Tensor),
    /// Along one dimension of the scores.
    Along(usize, Tensor),
    Same(Value),
}

/// Levels of `vmap` over the dimensions of the scores, ended when dropped.
struct Levels(Vec<(Level, i64)>);

impl Levels {
    fn begin(sizes: &[i64]) -> Result<Self> {
        let mut begun = Levels(Vec::new());
        for size in sizes {
            let number = levels::push_vmap(SymInt::from(*size), Randomness::Error);
            let level = levels::level(number).ok_or_else(|| Error::runtime("a level of vmap did not begin"))?;
            begun.0.push((level, *size));
        }
        Ok(begun)
    }
}

impl Drop for Levels {
    fn drop(&mut self) {
        self.0.iter().for_each(|_| levels::pop());
    }
}

/// Calls a body at every position; its results have the dimensions of the scores first.
fn at_every_position(body: &Graph, sizes: &[i64], inputs: Vec<Input>) -> Result<Vec<Value>> {
    let _transforms = Exclude::lift(Key::Transform);
    let mapped = Levels::begin(sizes)?;
    let mut given = Vec::with_capacity(inputs.len());
    for input in inputs {
        given.push(match input {
            Input::Each(t) => Value::Tensor(mapped.0.iter().fold(t, |t, (level, _)| levels::wrap(&t, level, Some(0)))),
            Input::Along(dim, t) => Value::Tensor(levels::wrap(&t, &mapped.0[dim].0, Some(0))),
            Input::Same(value) => value,
        });
    }
    let results = interpret::run(body, &mut given, false)?;
    results.into_iter().map(|result| result.map_tensors(&mut |t| unmapped(&mapped, t))).collect()
}

/// A result with the dimensions of all levels, in order.
fn unmapped(mapped: &Levels, t: &Tensor) -> Result<Tensor> {
    let mut t = t.clone();
    for (level, size) in mapped.0.iter().rev() {
        let found = levels::wrapped(&t).filter(|w| w.number == level.number);
        t = levels::below(level.number, || match found {
            Some(w) => match w.batch_dim {
                Some(0) => Ok(w.value),
                Some(at) => t!("movedim.int", w.value, at as i64, 0),
                None => Ok(w.value),
            },
            None => {
                let one = t!("unsqueeze", &t, 0)?;
                let mut sizes = one.sizes();
                sizes[0] = SymInt::from(*size);
                t!("expand", one, sizes)
            }
        })?;
    }
    Ok(t)
}

/// Scores before and after they are changed and masked.
struct Scores {
    plain: Tensor,
    changed: Tensor,
    masked_in: Tensor,
    sizes: Vec<i64>,
    positions: Vec<Tensor>,
}

fn working_precision(t: &Tensor) -> Dtype {
    if t.dtype() == Dtype::Float64 { Dtype::Float64 } else { Dtype::Float32 }
}

fn to(t: &Tensor, dtype: Dtype) -> Result<Tensor> {
    if t.dtype() == dtype { Ok(t.clone()) } else { t!("_to_copy", t; dtype = dtype) }
}

fn number(value: f64, dtype: Dtype) -> Result<Tensor> {
    t!("full", Vec::<i64>::new(), value; dtype = dtype)
}

fn scores(flex: &Flex, query: &Tensor, key: &Tensor) -> Result<Scores> {
    let precision = working_precision(query);
    let plain = t!("matmul", to(query, precision)?, t!("transpose.int", to(key, precision)?, -2, -1)?)?;
    let plain = to(&t!("mul.Tensor", plain, flex.scale)?, precision)?;
    let sizes: Vec<i64> = plain.sizes().iter().map(SymInt::guard_int).collect::<Result<_>>()?;
    let arange = |n: &i64| t!("arange", *n; dtype = Dtype::Int64, layout = Layout::Strided, device = plain.device());
    let positions: Vec<Tensor> = sizes.iter().map(arange).collect::<Result<_>>()?;
    let along = || positions.iter().enumerate().map(|(dim, t)| Input::Along(dim, t.clone()));
    let same = |values: &[Value]| values.iter().cloned().map(Input::Same).collect::<Vec<_>>();
    let masked = at_every_position(flex.mask, &sizes, along().chain(same(&flex.mask_buffers)).collect())?;
    let given = std::iter::once(Input::Each(plain.clone())).chain(along()).chain(same(&flex.score_buffers)).collect();
    let changed = at_every_position(flex.score, &sizes, given)?;
    let (Some(masked_in), Some(changed)) = (masked.into_iter().next(), changed.into_iter().next()) else {
        return Err(Error::runtime("functions of flex_attention give a tensor"));
    };
    let masked_in = masked_in.into_tensor()?;
    let changed = t!("where.self", &masked_in, changed.into_tensor()?, number(f64::NEG_INFINITY, precision)?)?;
    Ok(Scores { plain, changed, masked_in, sizes, positions })
}

/// Keys and values for every head and batch of the queries.
fn broadcast(query: &Tensor, t: &Tensor) -> Result<Tensor> {
    let groups = query.size(1).guard_int()? / t.size(1).guard_int()?.max(1);
    let t = t!("repeat_interleave.self_int", t, groups, 1)?;
    let mut sizes = t.sizes();
    let (of_query, own) = (query.size(0).guard_int()?, sizes[0].guard_int()?);
    if of_query != own && !(of_query > 1 && own == 1) {
        return Err(Error::runtime(format!("Bq and Bkv must broadcast. Got Bq={of_query} and Bkv={own}")));
    }
    sizes[0] = SymInt::Int(of_query);
    t!("expand", t, sizes)
}

/// The strides of a tensor of some sizes whose dimensions lie in the order of another's, the last of them innermost.
pub fn strides_like(sizes: &[SymInt], like: &Geometry) -> Vec<SymInt> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|dim| like.strides[*dim].hint().unwrap_or(i64::MAX));
    let last = sizes.len() - 1;
    // A dimension of one element may stand before it.
    let comes_first = order.iter().take_while(|dim| **dim != last).all(|dim| sizes[*dim].hint() == Some(1));
    if !comes_first {
        order.retain(|dim| *dim != last);
        order.insert(0, last);
    }
    let (mut strides, mut stride) = (vec![SymInt::Int(0); sizes.len()], SymInt::Int(1));
    for dim in order {
        strides[dim] = stride.clone();
        stride = &stride * &sizes[dim];
    }
    strides
}

/// A tensor's values, laid out like another.
fn laid_out(t: &Tensor, like: &Tensor) -> Result<Tensor> {
    let sizes = t.sizes();
    let strides = strides_like(&sizes, &like.geometry());
    let made = t!("empty_strided", &sizes, strides; dtype = t.dtype(), layout = Layout::Strided, device = t.device())?;
    aten!("copy_", &made, t)?;
    Ok(made)
}

/// Below autograd, which has a node of its own for the whole of it.
fn below_autograd<R>(compute: impl FnOnce() -> Result<R>) -> Result<R> {
    let _below = Exclude::down_to(Key::Autograd);
    let before = set_modes(Modes { grad: false, autocast: None, ..modes() });
    let result = compute();
    set_modes(Modes { grad: before.grad, autocast: before.autocast, ..modes() });
    result
}

/// The attention, the scores' log-sum-exp and their maximum, both to the base 2.
pub(super) fn attend(flex: &Flex) -> Result<[Tensor; 3]> {
    below_autograd(|| {
        let [query, key, value] = &flex.tensors;
        let (key, value) = (broadcast(query, key)?, broadcast(query, value)?);
        let Scores { changed, .. } = scores(flex, query, &key)?;
        let infinite = number(f64::NEG_INFINITY, changed.dtype())?;
        let lse = t!("logsumexp", &changed, vec![-1i64])?;
        let masked_rows = t!("all.dim", t!("eq.Scalar", &changed, f64::NEG_INFINITY)?, -1)?;
        let lse = t!("where.self", masked_rows, &infinite, lse)?;
        let largest = t!("amax", &changed, vec![-1i64])?;
        let weights = t!("_safe_softmax", &changed, -1)?;
        let out = t!("matmul", to(&weights, query.dtype())?, to(&value, query.dtype())?)?;
        Ok([laid_out(&out, query)?, t!("div.Tensor", lse, LN_2)?, t!("div.Tensor", largest, LN_2)?])
    })
}

/// Gradients of queries, keys and values, and of what the changes of scores read besides.
pub(super) fn gradients(
    flex: &Flex,
    joint: &Graph,
    [out, lse]: [&Tensor; 2],
    [grad_out, grad_lse]: [Option<&Tensor>; 2],
) -> Result<[Value; 4]> {
    below_autograd(|| {
        let [query, own_key, own_value] = &flex.tensors;
        let (key, value) = (broadcast(query, own_key)?, broadcast(query, own_value)?);
        let grad_out = grad_out.map_or_else(|| t!("zeros_like", out), |t| Ok(t.clone()))?;
        let lse = t!("mul.Tensor", lse, LN_2)?;
        let Scores { plain, changed, masked_in, sizes, positions } = scores(flex, query, &key)?;
        let precision = changed.dtype();
        let masked_rows = t!("eq.Scalar", &lse, f64::NEG_INFINITY)?;
        let weights = t!("exp", t!("sub.Tensor", &changed, t!("unsqueeze", &lse, -1)?)?)?;
        let weights = t!("where.self", t!("unsqueeze", masked_rows, -1)?, number(0.0, precision)?, weights)?;
        let grad_value = t!("matmul", t!("transpose.int", to(&weights, query.dtype())?, -2, -1)?, &grad_out)?;
        let wide = to(&grad_out, precision)?;
        let grad_weights = t!("matmul", &wide, t!("transpose.int", to(&value, precision)?, -2, -1)?)?;
        let sums = t!("sum.dim_IntList", t!("mul.Tensor", to(out, precision)?, &wide)?, vec![-1i64], true)?;
        let mut difference = t!("sub.Tensor", grad_weights, sums)?;
        if let Some(grad_lse) = grad_lse {
            let grad_lse = t!("unsqueeze", t!("div.Tensor", grad_lse, LN_2)?, -1)?;
            difference = t!("add.Tensor", difference, grad_lse)?;
        }
        let grad_changed = t!("mul.Tensor", weights, difference)?;
        let along = positions.iter().enumerate().map(|(dim, t)| Input::Along(dim, t.clone()));
        let buffers = flex.score_buffers.iter().cloned().map(Input::Same);
        let given = std::iter::once(Input::Each(plain)).chain(along).chain([Input::Each(grad_changed)]).chain(buffers).collect();
        let mut found = at_every_position(joint, &sizes, given)?.into_iter();
        let grad_scores = found.next().unwrap_or_default().into_tensor()?;
        // Every position has its part in the gradient of what all of them read.
        let summed = |v: Value| v.map_tensors(&mut |t| t!("sum.dim_IntList", t, vec![0i64, 1, 2, 3]));
        let of_buffers = found.skip(4).map(summed).collect::<Result<Vec<_>>>()?;
        let grad_scores = to(&t!("mul.Tensor", grad_scores, flex.scale)?, query.dtype())?;
        let grad_scores = t!("where.self", masked_in, grad_scores, number(0.0, query.dtype())?)?;
        let grad_query = t!("matmul", &grad_scores, &key)?;
        let grad_key = t!("matmul", t!("transpose.int", grad_scores, -2, -1)?, query)?;
        let own = |grad: Tensor, like: &Tensor| -> Result<Value> {
            let mut grad = t!("sum.dim_IntList", grouped(&grad, like)?, vec![2i64])?;
            if grad.size(0).guard_int()? != like.size(0).guard_int()? {
                grad = t!("sum.dim_IntList", grad, vec![0i64], true)?;
            }
            laid_out(&grad, like).map(Value::Tensor)
        };
        Ok([laid_out(&grad_query, query)?.into(), own(grad_key, own_key)?, own(grad_value, own_value)?, Value::List(of_buffers)])
    })
}

/// Heads that read the same keys beside each other.
fn grouped(grad: &Tensor, like: &Tensor) -> Result<Tensor> {
    let sizes = grad.sizes();
    let groups = sizes[1].guard_int()? / like.size(1).guard_int()?.max(1);
    t!("view", grad, vec![sizes[0].clone(), like.size(1), SymInt::Int(groups), sizes[2].clone(), sizes[3].clone()])
}
