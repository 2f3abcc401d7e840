//! `vmap`: convolutions and poolings, where the hidden dimension is folded into one that the kernel knows.
//!
//! A convolution takes the items as more examples, or, where each has a weight of its own, as more groups; a pooling takes them as
//! more examples.

use diagnostics::error::{Error, Result};
use dispatch::{BatchCall, BatchedTensor, Call, Value, aten, t};
use shape::SymInt;
use tensor::Tensor;

/// Folds dimension `from` into dimension `into` of what is left.
fn fold(x: &Tensor, from: usize, into: usize) -> Result<Tensor> {
    let mut sizes = x.sizes();
    let folded = sizes.remove(from);
    sizes[into] = &folded * &sizes[into];
    t!("reshape", t!("movedim.int", x, from as i64, into as i64)?, sizes)
}

/// Takes a dimension of a size out of one that it was folded into, in front of the rest of it.
fn unfold(x: &Tensor, dim: usize, size: &SymInt) -> Result<Tensor> {
    let mut sizes = x.sizes();
    sizes[dim] = sizes[dim].floor_div(size)?;
    sizes.insert(dim, size.clone());
    t!("reshape", x, sizes)
}

/// The items as more examples.
fn as_examples(b: &BatchCall, dims: usize) -> Result<Option<Value>> {
    let size = b.size;
    // Without examples of its own, an item is one.
    let alone = b.of(b.args[0].tensor()?).rank() == dims + 1;
    let folded = |t: &Tensor| -> Result<Tensor> {
        let item = b.of(t);
        match item.batch_dim {
            _ if alone => item.every(size),
            Some(dim) => fold(&item.value, dim, 0),
            None => fold(&item.every(size)?, 0, 0),
        }
    };
    let given = b.args.iter().map(|v| v.map_tensors(&mut |t| folded(t))).collect::<Result<Vec<_>>>()?;
    let result = dispatch::call(b.entry, given)?;
    let one = |t: &Tensor| -> Result<Tensor> { b.wrap(&if alone { t.clone() } else { unfold(t, 0, size)? }, Some(0)).into_tensor() };
    let apart = |v: &Value| v.map_tensors(&mut |t| one(t));
    let Value::List(results) = result else { return apart(&result).map(Some) };
    // In PyTorch's order: the last one is made first.
    let mut results = results.iter().rev().map(apart).collect::<Result<Vec<_>>>()?;
    results.reverse();
    Ok(Some(Value::List(results)))
}

/// A pooling over two dimensions.
pub(super) fn plane(b: &BatchCall) -> Result<Option<Value>> {
    as_examples(b, 2)
}

/// A pooling over three dimensions.
pub(super) fn volume(b: &BatchCall) -> Result<Option<Value>> {
    as_examples(b, 3)
}

struct Settings {
    rest: [Value; 5],
    groups: i64,
    transposed: bool,
}

impl Settings {
    fn of(c: &Call) -> Result<Self> {
        let rest = ["stride", "padding", "dilation", "transposed", "output_padding"].map(|n| c.get(n).clone());
        Ok(Self { rest, groups: c.get("groups").int()?, transposed: c.get("transposed").bool()? })
    }
}

pub(super) fn convolution(b: &BatchCall) -> Result<Option<Value>> {
    let (size, c) = (b.size, &b.call());
    let (x, w) = (b.tensor("input")?, b.tensor("weight")?);
    let bias = c.opt_tensor("bias").map(|t| b.of(t));
    let settings = Settings::of(c)?;
    // A bias that is added afterwards.
    let apart = bias.as_ref().filter(|bias| w.batch_dim.is_some() || bias.batch_dim.is_some());
    let within = Value::from(bias.as_ref().filter(|_| apart.is_none()).map(|bias| bias.value.clone()));
    let run = |x: &Tensor, w: &Tensor, groups: i64| -> Result<Tensor> {
        let [stride, padding, dilation, transposed, output_padding] = settings.rest.clone();
        t!("convolution", x, w, within.clone(), stride, padding, dilation, transposed, output_padding, groups)
    };
    let channel = usize::from(settings.transposed);
    let (out, dim) = match (x.batch_dim, w.batch_dim) {
        (Some(at), None) => (unfold(&run(&fold(&x.value, at, 0)?, &w.value, settings.groups)?, 0, size)?, Some(0)),
        (None, Some(at)) if settings.groups == 1 => (unfold(&run(&x.value, &fold(&w.value, at, channel)?, 1)?, 1, size)?, Some(1)),
        (None, Some(_)) => return Ok(None),
        (Some(at), Some(weight_at)) => {
            // Groups divide the input channels; those of a transposed weight are its first dimension.
            let (input, weight) = (fold(&x.value, at, 1)?, fold(&w.value, weight_at, 0)?);
            (unfold(&run(&input, &weight, settings.groups * size.guard_int()?)?, 1, size)?, Some(1))
        }
        (None, None) => (run(&x.value, &w.value, settings.groups)?, None),
    };
    let Some(bias) = apart else { return Ok(Some(b.wrap(&out, dim))) };
    let out = BatchedTensor { value: out, batch_dim: dim };
    let (rank, out) = (out.rank(), out.front()?);
    let mut added = bias.front()?;
    for _ in 2..rank {
        added = t!("unsqueeze", added, -1)?;
    }
    let added = BatchedTensor { value: added, batch_dim: bias.batch_dim.map(|_| 0) }.padded(rank)?;
    Ok(Some(b.wrap(&t!("add.Tensor", out, added)?, Some(0))))
}

/// A tensor that only says how large one would be: an item's, with a dimension so many times as long.
fn dummy(item: &BatchedTensor, dim: usize, times: &SymInt) -> Result<Tensor> {
    let one = match item.batch_dim {
        Some(at) => t!("select.int", &item.value, at as i64, 0)?,
        None => item.value.clone(),
    };
    let long = &one.size(dim) * times;
    let one = t!("slice.Tensor", one, dim as i64, 0, 1)?;
    let mut sizes = one.sizes();
    sizes[dim] = long;
    t!("expand", t!("new_empty", one, Vec::<i64>::new())?, sizes)
}

pub(super) fn convolution_backward(b: &BatchCall) -> Result<Option<Value>> {
    let (size, c) = (b.size, &b.call());
    let [g, x, w] = ["grad_output", "input", "weight"].map(|n| b.tensor(n));
    let (g, x, w, settings) = (g?, x?, w?, Settings::of(c)?);
    let mask = c.get("output_mask").list()?.iter().map(Value::bool).collect::<Result<Vec<_>>>()?;
    let groups = settings.groups;
    let few = |item: &BatchedTensor, other: &BatchedTensor| item.batch_dim.is_none() && other.batch_dim.is_some();
    if groups != 1 && (mask[0] && few(&g, &w) || mask[1] && (few(&g, &x) || few(&x, &g))) {
        return Ok(None);
    }
    let run = |g: &Tensor, x: &Tensor, w: &Tensor, groups: i64, which: usize| -> Result<Tensor> {
        let [stride, padding, dilation, transposed, output_padding] = settings.rest.clone();
        let wanted: Value = Value::List((0..3).map(|i| Value::Bool(i == which)).collect());
        let all =
            aten!("convolution_backward", g, x, w, Value::None, stride, padding, dilation, transposed, output_padding, groups, wanted)?;
        match all {
            Value::List(mut results) if results.len() == 3 => results.swap_remove(which).into_tensor(),
            _ => Err(Error::runtime("convolution_backward has three results")),
        }
    };
    let give = |t: Tensor, dim: usize| -> Result<Value> { Ok(b.wrap(&unfold(&t, dim, size)?, Some(dim))) };
    let (inner, outer) = (usize::from(!settings.transposed), usize::from(settings.transposed));
    let bias = match mask[2] {
        true => {
            let item = BatchedTensor { value: g.front()?, batch_dim: g.batch_dim.map(|_| 0) };
            let shift = i64::from(g.batch_dim.is_some());
            let dims = (0..item.rank() as i64).filter(|d| *d != 1).map(|d| d + shift).collect::<Vec<_>>();
            b.wrap(&t!("sum.dim_IntList", item.value, dims)?, item.batch_dim)
        }
        false => Value::None,
    };
    let input = match (mask[0], g.batch_dim, w.batch_dim) {
        (false, ..) => Value::None,
        (_, Some(at), Some(weight_at)) => {
            let (g, w) = (fold(&g.value, at, 1)?, fold(&w.value, weight_at, 0)?);
            give(run(&g, &dummy(&x, 1, size)?, &w, groups * size.guard_int()?, 0)?, 1)?
        }
        (_, Some(at), None) => give(run(&fold(&g.value, at, 0)?, &dummy(&x, 0, size)?, &w.value, groups, 0)?, 0)?,
        (_, None, Some(at)) => give(run(&g.value, &dummy(&x, 1, size)?, &fold(&w.value, at, inner)?, groups, 0)?, 1)?,
        (_, None, None) => b.wrap(&run(&g.value, &dummy(&x, 0, &SymInt::Int(1))?, &w.value, groups, 0)?, None),
    };
    let weight = match (mask[1], g.batch_dim, x.batch_dim) {
        (false, ..) => Value::None,
        (_, Some(at), Some(input_at)) => {
            let (g, x) = (fold(&g.value, at, 1)?, fold(&x.value, input_at, 1)?);
            give(run(&g, &x, &dummy(&w, 0, size)?, groups * size.guard_int()?, 1)?, 0)?
        }
        (_, Some(at), None) => give(run(&fold(&g.value, at, 1)?, &x.value, &dummy(&w, outer, size)?, groups, 1)?, outer)?,
        (_, None, Some(at)) => give(run(&g.value, &fold(&x.value, at, 1)?, &dummy(&w, inner, size)?, groups, 1)?, inner)?,
        (_, None, None) => b.wrap(&run(&g.value, &x.value, &dummy(&w, 0, &SymInt::Int(1))?, groups, 1)?, None),
    };
    Ok(Some(Value::List(vec![input, weight, bias])))
}
