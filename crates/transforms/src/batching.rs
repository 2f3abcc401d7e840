//! `vmap`: what an operator does to tensors with a hidden dimension.
//!
//! Rules are by category: elementwise operators broadcast, operators with dimensions or sizes among their arguments have them
//! shifted by one, products are `matmul`s of one more dimension. An operator without a rule runs item by item, and the
//! results are stacked, as PyTorch's own fallback does.

use super::batch_rules;
use super::levels::{Level, Randomness, below, wrap, wrapped};
use diagnostics::error::{Error, Result};
use dispatch::{Call, OpEntry, Rule, Tags, Type, Value, op};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Dtype, Tensor};

/// One tensor among the arguments, as the level below sees it.
pub(super) struct Item {
    pub(super) value: Tensor,
    pub(super) batch_dim: Option<usize>,
}

impl Item {
    pub(super) fn of(t: &Tensor, level: &Level) -> Item {
        match wrapped(t) {
            Some(w) if w.number == level.number => Item { value: w.value, batch_dim: w.batch_dim },
            _ => Item { value: t.clone(), batch_dim: None },
        }
    }

    /// Dimensions that the script sees.
    pub(super) fn rank(&self) -> usize {
        self.value.dim() - usize::from(self.batch_dim.is_some())
    }

    /// With the hidden dimension first.
    pub(super) fn front(&self) -> Result<Tensor> {
        match self.batch_dim {
            Some(dim) if dim > 0 => t!("movedim.int", &self.value, dim as i64, 0),
            _ => Ok(self.value.clone()),
        }
    }

    /// With a hidden dimension in front in any case.
    pub(super) fn every(&self, size: i64) -> Result<Tensor> {
        if self.batch_dim.is_some() {
            return self.front();
        }
        let mut sizes = vec![SymInt::from(size)];
        sizes.extend(self.value.sizes());
        t!("expand", &self.value, sizes)
    }

    /// With a hidden dimension in front in any case, by views that name every dimension.
    fn aligned(&self, size: i64) -> Result<Tensor> {
        let value = match self.batch_dim {
            Some(dim) => {
                let dims = std::iter::once(dim).chain((0..self.value.dim()).filter(|d| *d != dim)).map(|d| d as i64);
                return t!("permute", &self.value, dims.collect::<Vec<_>>());
            }
            None => t!("unsqueeze", &self.value, 0)?,
        };
        let mut sizes = value.sizes();
        sizes[0] = SymInt::from(size);
        t!("expand", value, sizes)
    }

    /// With the hidden dimension first, and so many dimensions after it.
    pub(super) fn padded(&self, rank: usize) -> Result<Tensor> {
        if self.batch_dim.is_none() || self.rank() >= rank { self.front() } else { self.viewed(rank) }
    }

    /// The same as a view, also where nothing is to be filled in.
    fn viewed(&self, rank: usize) -> Result<Tensor> {
        let value = self.front()?;
        let sizes = value.sizes();
        let mut padded = vec![sizes[0].clone()];
        padded.extend((self.rank()..rank).map(|_| SymInt::Int(1)));
        padded.extend(sizes.into_iter().skip(1));
        t!("view", value, padded)
    }
}

/// Of two operands, one that is a single element per item is promoted as such: both are brought to the common dtype first.
fn promote_single(level: &Level, entry: &OpEntry, args: &mut [Value]) -> Result<()> {
    let are_operands =
        entry.schema.arguments.len() >= 2 && ["self", "other"].iter().zip(&entry.schema.arguments).all(|(n, a)| a.name == *n);
    if !entry.tags.has(Tags::POINTWISE) || !are_operands || !matches!(entry.schema.arguments[1].ty, Type::Tensor) || entry.is_mutable() {
        return Ok(());
    }
    let item = |v: &Value| v.as_tensor().map(|t| Item::of(t, level));
    let is_single = |v: &Value| item(v).is_some_and(|i| i.rank() == 0 && i.batch_dim.is_some());
    let (single, second) = match (is_single(&args[0]), is_single(&args[1])) {
        (true, false) => (0, 1),
        (false, true) => (1, 0),
        _ => return Ok(()),
    };
    let Some(all) = item(&args[single]) else { return Ok(()) };
    let other = item(&args[second]);
    let have = match (&other, &args[second]) {
        (Some(other), _) => other.value.dtype(),
        (_, Value::Int(_)) => Dtype::Int64,
        (_, Value::Float(_)) => Dtype::Float64,
        _ => return Ok(()),
    };
    let one = Value::from(t!("select.int", all.front()?, 0, 0)?);
    let beside = other.as_ref().map_or_else(|| args[second].clone(), |other| other.value.clone().into());
    let wanted = operators::shapes::result_type(&[&one, &beside])?;
    if all.value.dtype() != wanted {
        args[single] = wrap(&t!("_to_copy", all.front()?; dtype = wanted)?, level, Some(0)).into();
    }
    if have != wanted {
        args[second] = match other {
            Some(other) => wrap(&t!("_to_copy", other.front()?; dtype = wanted)?, level, other.batch_dim.map(|_| 0)).into(),
            None => t!("_to_copy", &args[second]; dtype = wanted)?.into(),
        };
    }
    Ok(())
}

/// Elementwise on one tensor, though not tagged so.
const UNARY: &str = " dropout clone _to_copy detach alias ones_like zeros_like full_like empty_like positive contiguous lift_fresh lift \
    _conj _neg_view fill zero convert_element_type real imag nan_to_num isnan native_dropout_backward ";
/// Elementwise on several tensors, though not tagged so.
const BROADCASTING: &str = " where masked_fill copy copy_ tanh_backward sigmoid_backward threshold_backward gelu_backward \
    silu_backward softplus_backward elu_backward leaky_relu_backward hardtanh_backward logit_backward lerp addcmul addcdiv mse_loss mse_loss_backward ";
/// Operators whose dimensions and sizes are shifted.
const SHIFTED: &str = " transpose select slice unsqueeze squeeze unbind split split_with_sizes unsafe_split unsafe_chunk flip roll \
    sum mean amax amin max min argmax argmin prod any all logsumexp var std var_mean std_mean cumsum cumprod logcumsumexp sort \
    topk kthvalue median mode softmax log_softmax _softmax _log_softmax _softmax_backward_data _log_softmax_backward_data gather \
    scatter scatter_add scatter_reduce index_add cat stack view reshape expand _unsafe_view _reshape_alias new_zeros new_ones \
    new_empty new_full select_backward slice_backward diagonal diagonal_backward unfold permute sum_to_size linalg_vector_norm \
    select_scatter slice_scatter diagonal_scatter tril triu cummax cummin norm ";
/// Names of arguments that are dimensions.
const DIMS: &[&str] = &["dim", "dim0", "dim1", "dim2", "dims", "dimension"];
/// Names of arguments that are sizes.
const SIZES: &[&str] = &["size", "sizes", "input_sizes", "shape"];

fn listed(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|n| n == name.trim_end_matches('_') || n == name)
}

/// Composite operators that are not taken apart here: their rule is simpler whole.
pub fn keeps_whole(entry: &OpEntry) -> bool {
    matches!(entry.base_name(), "reshape" | "softmax" | "log_softmax" | "contiguous" | "dropout")
}

/// Calls an operator in a level of `vmap`.
pub fn call(level: &Level, size: i64, randomness: Randomness, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let mut batched = false;
    for arg in &args {
        arg.for_each_tensor(&mut |t| batched |= wrapped(t).is_some_and(|w| w.number == level.number));
    }
    let drops = entry.name == "aten.dropout.default" && args[2].bool()? && args[1].float()? != 0.0;
    let draws = entry.tags.has(Tags::RANDOM) || drops;
    if draws && randomness == Randomness::Error {
        return Err(Error::runtime(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on vmap or perform the randomness operation out of vmap",
        ));
    }
    if drops && randomness == Randomness::Same && batched {
        let out = below(level.number, || same_dropout(&Item::of(args[0].tensor()?, level), &args))?;
        return Ok(wrap(&out, level, Some(0)).into());
    }
    if draws && randomness == Randomness::Same && batched {
        return Err(Error::runtime(
            "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch",
        ));
    }
    let different = draws && randomness == Randomness::Different;
    if !batched && !different {
        return below(level.number, || dispatch::call(entry, args));
    }
    if entry.tags.has(Tags::DYNAMIC_SHAPE) {
        return Err(Error::runtime(format!(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature",
            entry.name["aten.".len()..].trim_end_matches(".default")
        )));
    }
    if matches!(entry.rule, Rule::Data) {
        return Err(Error::runtime(match entry.base_name() {
            "_local_scalar_dense" => {
                "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a bug report.".to_owned()
            }
            "is_nonzero" => CONTROL_FLOW.to_owned(),
            name => format!("vmap: It looks like you attempted to use an operator whose result has a size that depends on data: {name}"),
        }));
    }
    if !different && let Some(out) = batch_rules::taken_apart(&Call { entry, args: &args })? {
        return Ok(out);
    }
    if !different && let Some(out) = below(level.number, || batch_rules::call(level, size, entry, &args))? {
        return Ok(out);
    }
    let given = args.clone();
    let out = below(level.number, || physical(level, size, different, entry, args))?;
    // What was written to is what was given.
    if entry.is_mutable()
        && let Some(i) = entry.schema.arguments.iter().position(|a| a.mutated)
        && entry.schema.returns.len() == 1
    {
        return Ok(given[i].clone());
    }
    let outer = |(value, dim): (Value, usize)| value.map_tensors(&mut |t| Ok(wrap(t, level, Some(dim))));
    outer(out)
}

/// Why a batched tensor cannot decide where Python goes.
pub const CONTROL_FLOW: &str = "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues .";

/// Every item loses the same elements.
fn same_dropout(item: &Item, args: &[Value]) -> Result<Tensor> {
    let all = item.front()?;
    let noise = t!("dropout", t!("ones_like", t!("select.int", &all, 0, 0)?)?, &args[1], &args[2])?;
    t!("mul.Tensor", all, noise)
}

type Batched = (Value, usize);

fn physical(level: &Level, size: i64, different: bool, entry: &'static OpEntry, args: Vec<Value>) -> Result<Batched> {
    if matches!(entry.rule, Rule::Script) {
        return item_by_item(level, size, entry, &args);
    }
    let name = entry.base_name();
    // What is computed of all of an item's elements.
    if name == "renorm" || matches!(name, "median" | "nanmedian") && entry.schema.position("dim").is_none() {
        return item_by_item(level, size, entry, &args);
    }
    let mut args = args;
    promote_single(level, entry, &mut args)?;
    let mut tensors = Vec::new();
    for arg in &args {
        arg.for_each_tensor(&mut |t| tensors.push(Item::of(t, level)));
    }
    let call = |entry: &'static OpEntry, args: Vec<Value>| dispatch::call(entry, args);
    let map = |f: &dyn Fn(&Item) -> Result<Tensor>| -> Result<Vec<Value>> {
        args.iter().map(|v| v.map_tensors(&mut |t| f(&Item::of(t, level)))).collect()
    };
    if name == "_linalg_check_errors" {
        let info = tensors.first().ok_or_else(|| Error::runtime("a check takes what there is to be checked"))?.front()?;
        return Ok((aten!("_linalg_check_errors", info, &args[1]; is_matrix = false)?, 0));
    }
    if different {
        let mut new = map(&|i| i.every(size))?;
        for (argument, value) in entry.schema.arguments.iter().zip(&mut new) {
            if tensors.is_empty() && SIZES.contains(&argument.name.as_str()) {
                *value = prefixed(value, size)?;
            }
        }
        return Ok((call(entry, new)?, 0));
    }
    if let Some(done) = product(level, name, &args)? {
        return Ok(done);
    }
    let elementwise = entry.tags.has(Tags::POINTWISE) || listed(BROADCASTING, name);
    if let Some(at) = entry.schema.position("reduction").filter(|at| elementwise && args[*at].int().is_ok_and(|r| r != 0)) {
        return loss(entry, at, &tensors, &map).map(|v| (v, 0));
    }
    if tensors.len() == 1 && (entry.tags.has(Tags::POINTWISE) || listed(UNARY, name)) {
        let dim = tensors[0].batch_dim.unwrap_or(0);
        return Ok((call(entry, map(&|i| Ok(i.value.clone()))?)?, dim));
    }
    if elementwise || listed(UNARY, name) {
        let rank = tensors.iter().map(Item::rank).max().unwrap_or(0);
        if entry.is_mutable() && tensors[0].batch_dim.is_none() {
            return Err(Error::runtime(format!(
                "vmap: aten::{name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place operators instead of aten::{name}. If said operator is being called inside the PyTorch framework, please file a bug report instead."
            )));
        }
        return Ok((call(entry, map(&|i| i.padded(rank))?)?, 0));
    }
    let dims_given = entry.schema.arguments.iter().any(|a| DIMS.contains(&a.name.as_str()));
    if listed("sum mean", name) && !dims_given {
        // A number is a row of one.
        let (each, rank) = (tensors[0].front()?, tensors[0].rank());
        let rows = if rank == 0 { t!("unsqueeze", each, -1)? } else { each };
        if let Some(over) = op(if name == "sum" { "sum.dim_IntList" } else { "mean.dim" }) {
            let dtype = Call { entry, args: &args }.get("dtype").clone();
            return Ok((call(over, vec![rows.into(), dims_after_first(rank.max(1)), Value::Bool(false), dtype])?, 0));
        }
    }
    if listed("max min prod any all", name) && !dims_given {
        let flat = t!("reshape", tensors[0].front()?, vec![size, -1])?;
        return Ok((
            match name {
                "max" => t!("amax", flat, vec![1i64])?,
                "min" => t!("amin", flat, vec![1i64])?,
                "prod" => t!("prod.dim_int", flat, 1)?,
                "any" => t!("any.dim", flat, 1)?,
                _ => t!("all.dim", flat, 1)?,
            }
            .into(),
            0,
        ));
    }
    if name == "t" {
        let value = tensors[0].front()?;
        return Ok((if tensors[0].rank() < 2 { value } else { t!("transpose.int", value, 1, 2)? }.into(), 0));
    }
    if listed(SHIFTED, name) && (dims_given || !listed("sum mean", name)) {
        return shifted(size, entry, &args, &tensors, &map).map(|v| (v, 0));
    }
    if name == "embedding" && tensors[0].batch_dim.is_none() {
        return Ok((call(entry, map(&Item::front)?)?, 0));
    }
    if name == "native_layer_norm" && tensors[1..].iter().all(|t| t.batch_dim.is_none()) {
        return Ok((call(entry, map(&Item::front)?)?, 0));
    }
    item_by_item(level, size, entry, &args)
}

/// A pointwise loss, or its gradient, that is reduced per example; its argument `at` says how.
fn loss(
    entry: &'static OpEntry,
    at: usize,
    tensors: &[Item],
    map: &dyn Fn(&dyn Fn(&Item) -> Result<Tensor>) -> Result<Vec<Value>>,
) -> Result<Value> {
    let rank = tensors.iter().map(Item::rank).max().unwrap_or(0);
    let mut new = map(&|i| i.padded(rank))?;
    let averages = std::mem::replace(&mut new[at], Value::from(0)).int()? == 1;
    let each = dispatch::call(entry, new)?.into_tensor()?;
    if entry.base_name().ends_with("_backward") {
        let count = shape::numel(&each.sizes()[1..]);
        return if averages { t!("div.Tensor", each, count).map(Value::from) } else { Ok(each.into()) };
    }
    match (rank, averages) {
        (0, _) => Ok(each.into()),
        (_, true) => t!("mean.dim", each, dims_after_first(rank)).map(Value::from),
        _ => t!("sum.dim_IntList", each, dims_after_first(rank)).map(Value::from),
    }
}

fn prefixed(sizes: &Value, size: i64) -> Result<Value> {
    let mut all = vec![SymInt::from(size)];
    all.extend(sizes.sym_ints()?);
    Ok(Value::from(all))
}

fn dims_after_first(rank: usize) -> Value {
    Value::from((1..=rank as i64).collect::<Vec<_>>())
}

/// An operator with dimensions or sizes among its arguments.
fn shifted(
    size: i64,
    entry: &'static OpEntry,
    args: &[Value],
    tensors: &[Item],
    map: &dyn Fn(&dyn Fn(&Item) -> Result<Tensor>) -> Result<Vec<Value>>,
) -> Result<Value> {
    let name = entry.base_name();
    let rank = tensors[0].rank();
    // New dimensions count among those a number may name.
    let room = rank + usize::from(matches!(name, "unsqueeze" | "stack"));
    let sizes = Call { entry, args }.get("size").clone();
    let mut new = match name {
        "expand" => {
            let wanted = sizes.list()?.len();
            map(&|i| i.viewed(wanted))?
        }
        "stack" => map(&|i| i.aligned(size))?,
        _ => map(&|i| i.every(size))?,
    };
    if name == "roll" && (Call { entry, args }).get("dims").list()?.is_empty() {
        // An item is rolled as the row of all of its elements.
        let sizes = new[0].tensor()?.sizes();
        let rows = t!("flatten.using_ints", &new[0], 1)?;
        return aten!("reshape", t!("roll", rows, &new[1], vec![1i64])?, sizes);
    }
    let shift = |dim: i64, room: usize| -> Result<i64> { Ok(operators::shapes::wrap_dim(dim, room.max(1))? as i64 + 1) };
    for (argument, value) in entry.schema.arguments.iter().zip(&mut new) {
        let label = argument.name.as_str();
        if DIMS.contains(&label) {
            // Gradients of views name dimensions of what was viewed.
            let room = match (Call { entry, args }).get("input_sizes") {
                Value::List(items) => items.len(),
                _ => room,
            };
            *value = match &*value {
                Value::Int(_) => Value::from(shift(value.int()?, room)?),
                Value::List(dims) if !dims.is_empty() => {
                    Value::from(dims.iter().map(|d| shift(d.int()?, room)).collect::<Result<Vec<_>>>()?)
                }
                _ => dims_after_first(rank),
            };
            if name == "permute" {
                let mut dims = vec![Value::from(0)];
                dims.extend(value.list()?.iter().cloned());
                *value = Value::List(dims);
            }
        } else if SIZES.contains(&label) && matches!(value, Value::List(_)) {
            *value = prefixed(value, size)?;
        }
    }
    if name == "_reshape_alias" {
        return aten!("reshape", &new[0], &new[1]);
    }
    if name == "squeeze" && !entry.schema.arguments.iter().any(|a| a.name == "dim") {
        let sizes = tensors[0].front()?.sizes().into_iter().enumerate();
        let sizes: Vec<SymInt> = sizes.filter(|(i, s)| *i == 0 || s.as_int() != Some(1)).map(|(_, s)| s).collect();
        return aten!("view", &new[0], sizes);
    }
    if name == "squeeze" && rank > 0 && matches!(new[1], Value::Int(_)) {
        return aten!("squeeze.dims", &new[0], Value::List(vec![new[1].clone()]));
    }
    if rank == 0 && matches!(name, "softmax" | "log_softmax" | "_softmax" | "_log_softmax" | "sum" | "mean" | "squeeze" | "cumsum") {
        let widened = t!("unsqueeze", new[0].tensor()?, 1)?;
        new[0] = widened.into();
        let out = dispatch::call(entry, new)?;
        return if matches!(name, "sum" | "mean" | "squeeze") {
            Ok(out)
        } else {
            t!("squeeze.dim", out.into_tensor()?, 1).map(Value::from)
        };
    }
    dispatch::call(entry, new)
}

/// Products of vectors and matrices.
fn product(level: &Level, name: &str, args: &[Value]) -> Result<Option<Batched>> {
    let item = |i: usize| args.get(i).and_then(Value::as_tensor).map(|t| Item::of(t, level));
    let (Some(a), Some(b)) = (item(0), item(1)) else { return Ok(None) };
    let both = a.batch_dim.is_some() && b.batch_dim.is_some();
    Ok(Some(match name {
        "mm" | "bmm" => (t!("matmul", a.front()?, b.front()?)?.into(), 0),
        "dot" | "vdot" if both => {
            // In PyTorch's order: of the two, the second is made a matrix first.
            let (row, column) = (a.front()?, b.front()?);
            let column = t!("unsqueeze", column, -1)?;
            let product = t!("matmul", t!("unsqueeze", row, -2)?, column)?;
            (t!("squeeze.dim", t!("squeeze.dim", product, -1)?, -1)?.into(), 0)
        }
        "dot" | "vdot" if a.batch_dim.is_some() => (t!("matmul", a.front()?, t!("t", b.value)?)?.into(), 0),
        "dot" | "vdot" => (t!("matmul", b.front()?, a.value)?.into(), 0),
        "mv" => match (a.batch_dim, b.batch_dim) {
            (Some(dim), Some(_)) => {
                let matrix = t!("movedim.int", &a.value, dim as i64, -3)?;
                let product = t!("matmul", matrix, t!("unsqueeze", b.front()?, -1)?)?;
                (t!("squeeze.dim", product, -1)?.into(), 0)
            }
            (Some(_), None) => (t!("matmul", a.front()?, b.value)?.into(), 0),
            (None, Some(dim)) => {
                let product = t!("matmul", a.value, t!("movedim.int", &b.value, dim as i64, -1)?)?;
                let last = product.dim() - 1;
                (product.into(), last)
            }
            (None, None) => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

/// Item after item, the results stacked.
fn item_by_item(level: &Level, size: i64, entry: &'static OpEntry, args: &[Value]) -> Result<Batched> {
    let mut columns: Vec<Vec<Value>> = Vec::new();
    let mut several = false;
    for i in 0..size {
        let one = |t: &Tensor| match Item::of(t, level) {
            Item { value, batch_dim: Some(dim) } => t!("select.int", value, dim as i64, i),
            Item { value, .. } => Ok(value),
        };
        let given = args.iter().map(|v| v.map_tensors(&mut |t| one(t))).collect::<Result<Vec<_>>>()?;
        let out = dispatch::call(entry, given)?;
        several = matches!(out, Value::List(_));
        let results = if let Value::List(items) = out { items } else { vec![out] };
        columns.resize_with(results.len().max(columns.len()), Vec::new);
        columns.iter_mut().zip(results).for_each(|(column, value)| column.push(value));
    }
    let mut stacked = columns
        .into_iter()
        .map(|column| match column.first() {
            Some(Value::Tensor(_)) => {
                t!("stack", column.iter().map(|v| v.tensor().cloned()).collect::<Result<Vec<_>>>()?, 0).map(Value::from)
            }
            _ => Ok(column.into_iter().next().unwrap_or_default()),
        })
        .collect::<Result<Vec<_>>>()?;
    Ok((if several { Value::List(stacked) } else { stacked.pop().unwrap_or_default() }, 0))
}
