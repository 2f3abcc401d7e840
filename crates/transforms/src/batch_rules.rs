//! `vmap`: operators with a rule of their own, where the hidden dimension is folded into one that the kernel knows.
//!
//! A convolution takes the items as more examples, or, where each has a weight of its own, as more groups; a pooling takes them as
//! more examples. Products that add to something are a product and a sum there, and losses of class indices are gathered.

use super::batching::Item;
use super::levels::{Level, wrap};
use diagnostics::error::{Error, Result};
use dispatch::{Call, OpEntry, Value};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Dtype, Layout, Tensor};

/// `linear` where transforms are in force: only whole batches of rows are one `addmm`.
pub fn linear(c: &Call) -> Result<Value> {
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
pub fn one_hot(c: &Call) -> Result<Value> {
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
pub fn bce_with_logits(c: &Call) -> Result<Value> {
    let (input, target) = (c.tensor("self")?, c.tensor("target")?);
    let one_less =
        |t: &Tensor| t!("sub_.Tensor", t!("fill_.Scalar", t!("empty_like", t; memory_format = tensor::MemoryFormat::Preserve)?, 1)?, t);
    let highest = t!("clamp_min", t!("neg", input)?, 0)?;
    let negative = match c.opt_tensor("pos_weight") {
        Some(weight) => {
            let weight = t!("add_.Scalar", t!("mul.Tensor", t!("sub.Scalar", weight, 1)?, target)?, 1)?;
            let loss = t!("mul.Tensor", one_less(target)?, input)?;
            let rest = t!("add_.Tensor", t!("log_", exponentials(input, &highest)?)?, &highest)?;
            t!("add_.Tensor", loss, t!("mul.Tensor", weight, rest)?)?
        }
        None => {
            let loss = t!("add_.Tensor", t!("mul.Tensor", one_less(target)?, input)?, &highest)?;
            t!("add_.Tensor", loss, t!("log_", exponentials(input, &highest)?)?)?
        }
    };
    let weighted = match c.opt_tensor("weight") {
        Some(weight) => t!("mul_.Tensor", negative, weight)?,
        None => negative,
    };
    operators::loss::apply_reduction(weighted, c.get("reduction").int()?)
}

/// `exp(-highest) + exp(-input - highest)`
fn exponentials(input: &Tensor, highest: &Tensor) -> Result<Tensor> {
    let first = t!("exp", t!("neg", highest)?)?;
    t!("add.Tensor", first, t!("exp", t!("sub.Tensor", t!("neg", input)?, highest)?)?)
}

/// Takes apart a call with batched arguments; `None` where the operator is whole in `vmap`.
pub fn taken_apart(c: &Call) -> Result<Option<Value>> {
    let product = match c.entry.name {
        "aten.addmm.default" => {
            let product = t!("mm", c.tensor("mat1")?, c.tensor("mat2")?)?;
            let scaled = t!("mul.Scalar", c.tensor("self")?, c.get("beta"))?;
            return t!("add.Tensor", scaled, product; alpha = c.get("alpha").clone()).map(|t| Some(t.into()));
        }
        "aten.addmv.default" => t!("mv", c.tensor("mat")?, c.tensor("vec")?)?,
        "aten.baddbmm.default" => t!("bmm", c.tensor("batch1")?, c.tensor("batch2")?)?,
        "aten.addbmm.default" => t!("sum.dim_IntList", t!("bmm", c.tensor("batch1")?, c.tensor("batch2")?)?, vec![0i64])?,
        "aten.nll_loss_forward.default" | "aten.nll_loss_backward.default" => {
            return decompositions::inductor().apply(c.entry, c.args);
        }
        _ => return Ok(None),
    };
    let (alpha, beta) = (c.get("alpha"), c.get("beta"));
    let product = if alpha.float()? == 1.0 { product } else { t!("mul.Scalar", product, alpha)? };
    let result = if beta.float()? == 0.0 { product } else { t!("add.Tensor", t!("mul.Scalar", c.tensor("self")?, beta)?, product)? };
    Ok(Some(result.into()))
}

/// Folds dimension `from` into dimension `into` of what is left.
fn fold(x: &Tensor, from: usize, into: usize) -> Result<Tensor> {
    let mut sizes = x.sizes();
    let folded = sizes.remove(from);
    sizes[into] = &folded * &sizes[into];
    t!("reshape", t!("movedim.int", x, from as i64, into as i64)?, sizes)
}

/// Takes a dimension of a size out of one that it was folded into, in front of the rest of it.
fn unfold(x: &Tensor, dim: usize, size: i64) -> Result<Tensor> {
    let mut sizes = x.sizes();
    sizes[dim] = sizes[dim].floor_div(&SymInt::from(size))?;
    sizes.insert(dim, SymInt::from(size));
    t!("reshape", x, sizes)
}

/// Calls an operator that has a rule here. The arguments are what the level's call was given; this runs one level below.
pub fn call(level: &Level, size: i64, entry: &'static OpEntry, args: &[Value]) -> Result<Option<Value>> {
    let c = Call { entry, args };
    match entry.name {
        "aten.convolution.default" => convolution(level, size, &c),
        "aten.convolution_backward.default" => convolution_backward(level, size, &c),
        "aten.as_strided.default" => as_strided(level, &c).map(Some),
        "aten.index.Tensor" => index(level, size, &c),
        "aten.constant_pad_nd.default" => {
            let all = Item::of(c.tensor("self")?, level).front()?;
            let padded = t!("constant_pad_nd", all, c.get("pad"), c.get("value"))?;
            Ok(Some(wrap(&padded, level, Some(0)).into()))
        }
        "aten._new_zeros_with_same_feature_meta.default" => zeros_like_another(level, size, &c).map(Some),
        "aten.avg_pool2d.default"
        | "aten.avg_pool3d.default"
        | "aten.avg_pool2d_backward.default"
        | "aten.avg_pool3d_backward.default"
        | "aten._adaptive_avg_pool2d.default"
        | "aten._adaptive_avg_pool2d_backward.default"
        | "aten.max_pool2d_with_indices.default"
        | "aten.max_pool2d_with_indices_backward.default"
        | "aten.max_pool3d_with_indices.default"
        | "aten.max_pool3d_with_indices_backward.default" => as_examples(level, size, &c).map(Some),
        _ => Ok(None),
    }
}

/// Zeros that lie in memory as another tensor does, item by item.
fn zeros_like_another(level: &Level, size: i64, c: &Call) -> Result<Value> {
    let (x, other) = (Item::of(c.tensor("self")?, level), Item::of(c.tensor("other")?, level));
    let outer = c.int("self_num_batch_dims")?;
    let (x, other, batch) = match (x.batch_dim, other.batch_dim) {
        (Some(_), None) => (x.front()?, other.value, outer + 1),
        // The other's items lie in memory one after the other: its own storage says how.
        (Some(_), Some(_)) => (x.front()?, other.front()?, outer),
        (None, _) => (x.every(size)?, other.front()?, outer),
    };
    let zeros = t!("_new_zeros_with_same_feature_meta", x, other; self_num_batch_dims = batch)?;
    Ok(wrap(&zeros, level, Some(0)).into())
}

/// Elements by indices. Where indices have items of their own, so have their places among those of the tensor: one index more says which
/// item each is taken of.
fn index(level: &Level, size: i64, c: &Call) -> Result<Option<Value>> {
    let x = Item::of(c.tensor("self")?, level);
    let Value::List(given) = c.get("indices") else { return Ok(None) };
    let indices: Vec<Option<Item>> = given.iter().map(|v| v.as_tensor().map(|t| Item::of(t, level))).collect();
    let at: Vec<usize> = (0..indices.len()).filter(|i| indices[*i].is_some()).collect();
    let is_mask = indices.iter().flatten().any(|i| matches!(i.value.dtype(), Dtype::Bool | Dtype::UInt8));
    let (Some(first), Some(last)) = (at.first(), at.last()) else { return Ok(None) };
    let is_adjacent = last - first + 1 == at.len();
    let rank = indices.iter().flatten().map(Item::rank).max().unwrap_or(0);
    let has_items = indices.iter().flatten().any(|i| i.batch_dim.is_some());
    if is_mask || !is_adjacent || has_items && *first > 0 {
        return Ok(None);
    }
    let padded = |item: &Option<Item>| item.as_ref().map_or(Ok(Value::None), |i| i.padded(rank).map(Value::from));
    let mut places = indices.iter().map(padded).collect::<Result<Vec<_>>>()?;
    let out = match (x.batch_dim, has_items) {
        (Some(_), false) => {
            places.insert(0, Value::None);
            t!("index.Tensor", x.front()?, places)?
        }
        (Some(_), true) => {
            let mut sizes = vec![SymInt::Int(1); rank + 1];
            sizes[0] = SymInt::from(size);
            let items = t!("view", t!("arange", size; dtype = Dtype::Int64, device = x.value.device())?, sizes)?;
            places.insert(0, items.into());
            t!("index.Tensor", x.front()?, places)?
        }
        (None, _) => t!("index.Tensor", &x.value, places)?,
    };
    Ok(Some(wrap(&out, level, Some(0)).into()))
}

/// A view of every item, whose offset is counted as the whole's.
fn as_strided(level: &Level, c: &Call) -> Result<Value> {
    let whole = Item::of(c.tensor("self")?, level).front()?;
    let apart = whole.geometry();
    let (size, stride) = (c.sym_ints("size")?, c.sym_ints("stride")?);
    let with = |first: &SymInt, rest: Vec<SymInt>| std::iter::once(first.clone()).chain(rest).collect::<Vec<_>>();
    let (size, stride) = (with(&apart.sizes[0], size), with(&apart.strides[0], stride));
    Ok(wrap(&t!("as_strided", &whole, size, stride, c.get("storage_offset"))?, level, Some(0)).into())
}

/// The items as more examples.
fn as_examples(level: &Level, size: i64, c: &Call) -> Result<Value> {
    // Without examples of its own, an item is one.
    let flat = c.entry.base_name().contains("3d") as usize + 3;
    let alone = Item::of(c.args[0].tensor()?, level).rank() == flat;
    let folded = |t: &Tensor| -> Result<Tensor> {
        let item = Item::of(t, level);
        match item.batch_dim {
            _ if alone => item.every(size),
            Some(dim) => fold(&item.value, dim, 0),
            None => fold(&item.every(size)?, 0, 0),
        }
    };
    let given = c.args.iter().map(|v| v.map_tensors(&mut |t| folded(t))).collect::<Result<Vec<_>>>()?;
    let result = dispatch::call(c.entry, given)?;
    let apart = |v: &Value| v.map_tensors(&mut |t| Ok(wrap(&if alone { t.clone() } else { unfold(t, 0, size)? }, level, Some(0))));
    let Value::List(results) = result else { return apart(&result) };
    // In PyTorch's order: the last one is made first.
    let mut results = results.iter().rev().map(apart).collect::<Result<Vec<_>>>()?;
    results.reverse();
    Ok(Value::List(results))
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

fn convolution(level: &Level, size: i64, c: &Call) -> Result<Option<Value>> {
    let (x, w) = (Item::of(c.tensor("input")?, level), Item::of(c.tensor("weight")?, level));
    let bias = c.opt_tensor("bias").map(|b| Item::of(b, level));
    let settings = Settings::of(c)?;
    // A bias that is added afterwards.
    let apart = bias.as_ref().filter(|b| w.batch_dim.is_some() || b.batch_dim.is_some());
    let within = Value::from(bias.as_ref().filter(|_| apart.is_none()).map(|b| b.value.clone()));
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
            (unfold(&run(&input, &weight, settings.groups * size)?, 1, size)?, Some(1))
        }
        (None, None) => (run(&x.value, &w.value, settings.groups)?, None),
    };
    let Some(bias) = apart else { return Ok(Some(wrap(&out, level, dim).into())) };
    let out = Item { value: out, batch_dim: dim };
    let (rank, out) = (out.rank(), out.front()?);
    let mut added = bias.front()?;
    for _ in 2..rank {
        added = t!("unsqueeze", added, -1)?;
    }
    let added = Item { value: added, batch_dim: bias.batch_dim.map(|_| 0) }.padded(rank)?;
    Ok(Some(wrap(&t!("add.Tensor", out, added)?, level, Some(0)).into()))
}

/// A tensor that only says how large one would be: an item's, with a dimension so many times as long.
fn dummy(item: &Item, dim: usize, times: i64) -> Result<Tensor> {
    let one = match item.batch_dim {
        Some(at) => t!("select.int", &item.value, at as i64, 0)?,
        None => item.value.clone(),
    };
    let long = &one.size(dim) * &SymInt::from(times);
    let one = t!("slice.Tensor", one, dim as i64, 0, 1)?;
    let mut sizes = one.sizes();
    sizes[dim] = long;
    t!("expand", t!("new_empty", one, Vec::<i64>::new())?, sizes)
}

fn convolution_backward(level: &Level, size: i64, c: &Call) -> Result<Option<Value>> {
    let [g, x, w] = ["grad_output", "input", "weight"].map(|n| c.tensor(n).map(|t| Item::of(t, level)));
    let (g, x, w, settings) = (g?, x?, w?, Settings::of(c)?);
    let mask = c.get("output_mask").list()?.iter().map(Value::bool).collect::<Result<Vec<_>>>()?;
    let groups = settings.groups;
    let few = |item: &Item, other: &Item| item.batch_dim.is_none() && other.batch_dim.is_some();
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
    let give = |t: Tensor, dim: usize| -> Result<Value> { Ok(wrap(&unfold(&t, dim, size)?, level, Some(dim)).into()) };
    let (inner, outer) = (usize::from(!settings.transposed), usize::from(settings.transposed));
    let bias = match mask[2] {
        true => {
            let item = Item { value: g.front()?, batch_dim: g.batch_dim.map(|_| 0) };
            let shift = i64::from(g.batch_dim.is_some());
            let dims = (0..item.rank() as i64).filter(|d| *d != 1).map(|d| d + shift).collect::<Vec<_>>();
            wrap(&t!("sum.dim_IntList", item.value, dims)?, level, item.batch_dim).into()
        }
        false => Value::None,
    };
    let input = match (mask[0], g.batch_dim, w.batch_dim) {
        (false, ..) => Value::None,
        (_, Some(at), Some(weight_at)) => {
            let (g, w) = (fold(&g.value, at, 1)?, fold(&w.value, weight_at, 0)?);
            give(run(&g, &dummy(&x, 1, size)?, &w, groups * size, 0)?, 1)?
        }
        (_, Some(at), None) => give(run(&fold(&g.value, at, 0)?, &dummy(&x, 0, size)?, &w.value, groups, 0)?, 0)?,
        (_, None, Some(at)) => give(run(&g.value, &dummy(&x, 1, size)?, &fold(&w.value, at, inner)?, groups, 0)?, 1)?,
        (_, None, None) => wrap(&run(&g.value, &dummy(&x, 0, 1)?, &w.value, groups, 0)?, level, None).into(),
    };
    let weight = match (mask[1], g.batch_dim, x.batch_dim) {
        (false, ..) => Value::None,
        (_, Some(at), Some(input_at)) => {
            let (g, x) = (fold(&g.value, at, 1)?, fold(&x.value, input_at, 1)?);
            give(run(&g, &x, &dummy(&w, 0, size)?, groups * size, 1)?, 0)?
        }
        (_, Some(at), None) => give(run(&fold(&g.value, at, 1)?, &x.value, &dummy(&w, outer, size)?, groups, 1)?, outer)?,
        (_, None, Some(at)) => give(run(&g.value, &fold(&x.value, at, 1)?, &dummy(&w, inner, size)?, groups, 1)?, inner)?,
        (_, None, None) => wrap(&run(&g.value, &x.value, &dummy(&w, 0, 1)?, groups, 1)?, level, None).into(),
    };
    Ok(Some(Value::List(vec![input, weight, bias])))
}
