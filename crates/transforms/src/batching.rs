//! `vmap`: what a level does with a call whose tensors hide a dimension. How the operator is batched, its entry says
//! (`dispatch::Batch`).

use super::levels::{below, wrap, wrapped};
use diagnostics::error::{Error, Result};
use dispatch::levels::{self, Level, Randomness};
use dispatch::{Batch, BatchCall, BatchedTensor, Call, OpEntry, OpRef, Rule, Tags, Type, Value, named, t};
use operators::batch_rules::{dims_after_first, is_size, names_dims_unlike, prefixed, shifted};
use tensor::{Dtype, Tensor};

static DROPOUT: OpRef = OpRef::new("dropout");
static MASKED_SELECT: OpRef = OpRef::new("masked_select");

/// Operators that PyTorch refuses to batch, because how much they give depends on values. Others of that kind go item by item.
const OF_UNKNOWN_SIZE: &[&str] = &["nonzero", "unique_dim", "unique_consecutive", "unique_dim_consecutive", "_unique2"];

/// Of two operands, one that is a single element per item is promoted as such: both are brought to the common dtype first.
fn promote_single(level: &Level, entry: &OpEntry, args: &mut [Value]) -> Result<()> {
    let are_operands =
        entry.schema.arguments.len() >= 2 && ["self", "other"].iter().zip(&entry.schema.arguments).all(|(n, a)| a.name == *n);
    if !entry.is_elementwise() || !are_operands || !matches!(entry.schema.arguments[1].ty, Type::Tensor) || entry.is_mutable() {
        return Ok(());
    }
    let item = |v: &Value| v.as_tensor().map(|t| BatchedTensor::of(t, level));
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

/// Calls an operator in a level of `vmap`.
pub fn call(level: &Level, randomness: Randomness, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let mut batched = false;
    for arg in &args {
        arg.for_each_tensor(&mut |t| batched |= wrapped(t).is_some_and(|w| w.number == level.number));
    }
    let drops = DROPOUT.is(entry) && args[2].bool()? && args[1].float()? != 0.0;
    let draws = entry.tags.has(Tags::RANDOM) || drops;
    if draws && randomness == Randomness::Error {
        return Err(Error::runtime(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on vmap or perform the randomness operation out of vmap",
        ));
    }
    if drops && randomness == Randomness::Same && batched {
        let out = below(level.number, || same_dropout(&BatchedTensor::of(args[0].tensor()?, level), &args))?;
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
    if MASKED_SELECT.is(entry) && BatchedTensor::of(args[1].tensor()?, level).batch_dim.is_some() {
        return Err(Error::runtime(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each batch this would return a differently shaped Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature.",
        ));
    }
    if selects_by_mask(level, entry, &args) {
        return Err(Error::runtime(
            "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a boolean mask.",
        ));
    }
    if OF_UNKNOWN_SIZE.contains(&entry.base_name()) {
        return Err(Error::runtime(format!(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature.",
            entry.name["aten.".len()..].trim_end_matches(".default")
        )));
    }
    if matches!(entry.rule, Rule::Data) {
        return Err(Error::runtime(match () {
            () if levels::is_below_another(level.number) => WITHIN.to_owned(),
            () if named::LOCAL_SCALAR_DENSE.is(entry) => {
                "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a bug report.".to_owned()
            }
            () if named::IS_NONZERO.is(entry) => no_truth(args[0].tensor()?).to_owned(),
            () if entry.base_name() == "allclose" => {
                "vmap over torch.allclose isn't supported yet. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature.".to_owned()
            }
            () => format!("Batching rule not implemented for aten::{}. We could not generate a fallback.", entry.base_name()),
        }));
    }
    if dispatch::script_has(dispatch::Part::Batch, entry) {
        return dispatch::call_script_batched(entry, level, &args);
    }
    if !different {
        refuse_write(level, entry, &args)?;
        match entry.batch() {
            Batch::Composed(composed) => return composed(&Call { entry, args: &args }),
            Batch::Decomposed => {
                if let Some(out) = decompositions::inductor().apply(entry, &args)? {
                    return Ok(out);
                }
            }
            _ => {}
        }
    }
    let out = below(level.number, || physical(level, different, entry, &args))?;
    if let (Rule::InplaceView(_), Some(Value::Tensor(target)), Value::Tensor(made)) = (entry.rule, args.first(), &out) {
        levels::become_as(target, made);
        return Ok(args[0].clone());
    }
    // What was written to is what was given.
    if entry.is_mutable()
        && let Some(i) = entry.schema.arguments.iter().position(|a| a.mutated)
        && entry.schema.returns.len() == 1
    {
        return Ok(args[i].clone());
    }
    Ok(out)
}

/// Refuses a write of a batched tensor to one that is the same for all examples: it would hold that of the last alone.
fn refuse_write(level: &Level, entry: &OpEntry, args: &[Value]) -> Result<()> {
    let is_batched = |t: &Tensor| BatchedTensor::of(t, level).batch_dim.is_some();
    let (true, Some(Value::Tensor(written))) = (entry.is_mutable() && entry.schema.arguments[0].mutated, args.first()) else {
        return Ok(());
    };
    if is_batched(written) {
        return Ok(());
    }
    let name = entry.base_name();
    let (said, whereto) = match name {
        "add_" | "atan2_" | "bitwise_and_" | "bitwise_or_" | "bitwise_xor_" => {
            let mut all = Vec::new();
            args.iter().for_each(|v| v.for_each_tensor(&mut |t| all.push(BatchedTensor::of(t, level))));
            let rank = all.iter().map(BatchedTensor::rank).max().unwrap_or(0);
            let sizes = all.iter().map(|i| i.padded(rank).map(|t| t.sizes())).collect::<Result<Vec<_>>>()?;
            let (own, broadcast) = (written.sizes(), operators::shapes::broadcast(&sizes)?);
            let [own, broadcast] = [own, broadcast].map(|sizes| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
            return Err(Error::runtime(format!("output with shape [{own}] doesn't match the broadcast shape [{broadcast}]")));
        }
        "sub_" | "mul_" | "div_" | "copy_" | "clamp_min_" | "clamp_max_" | "masked_fill_" => {
            ("inplace arithmetic".to_owned(), "in a vmap".to_owned())
        }
        "fill_" | "index_put_" | "index_add_" | "index_fill_" | "scatter_add_" => (name.to_owned(), "in a vmap".to_owned()),
        _ => (format!("aten::{name}"), format!("at level {}", level.number)),
    };
    Err(Error::runtime(format!(
        "vmap: {said}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over {whereto}. Please try to use out-of-place operators instead of {said}. If said operator is being called inside the PyTorch framework, please file a bug report instead."
    )))
}

/// Why a number of a batched tensor is not known, where another transform asks for it.
const WITHIN: &str = "vmap: It looks like you're either (1) calling .item() on a Tensor or (2) attempting to use a Tensor in some data-dependent control flow or (3) encountering this error in PyTorch internals. For (1): we don't support vmap over calling .item() on a Tensor, please try to rewrite what you're doing with other operations. For (2): we don't support data-dependent control flow in vmap yet, please file an issue at https://github.com/pytorch/pytorch/issues . For (3): please file an issue.";

/// Whether examples have masks of their own, which select so many elements each.
fn selects_by_mask(level: &Level, entry: &OpEntry, args: &[Value]) -> bool {
    let is_mask = |v: &Value| v.as_tensor().is_some_and(|t| t.dtype() == Dtype::Bool && BatchedTensor::of(t, level).batch_dim.is_some());
    named::INDEX.is(entry) && args.get(1).and_then(|v| v.list().ok()).is_some_and(|indices| indices.iter().any(is_mask))
}

/// Why a batched tensor cannot decide where Python goes.
const CONTROL_FLOW: &str = "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues .";

/// The same of a tensor, which may be another transform's of a batched one.
pub fn no_truth(t: &Tensor) -> &'static str {
    match wrapped(t) {
        Some(outer) if outer.batch_dim.is_none() => WITHIN,
        _ => CONTROL_FLOW,
    }
}

/// Every item loses the same elements.
fn same_dropout(item: &BatchedTensor, args: &[Value]) -> Result<Tensor> {
    let all = item.front()?;
    let noise = t!("dropout", t!("ones_like", t!("select.int", &all, 0, 0)?)?, &args[1], &args[2])?;
    t!("mul.Tensor", all, noise)
}

/// The call one level below, its results wrapped.
fn physical(level: &Level, different: bool, entry: &'static OpEntry, args: &[Value]) -> Result<Value> {
    let b = BatchCall { level, size: &level.size, entry, args };
    if different && !matches!(entry.rule, Rule::Script) {
        return drawn_apart(&b);
    }
    match entry.batch() {
        Batch::Elementwise => elementwise(&b),
        Batch::Shifted if names_dims_unlike(&b) => item_by_item(&b),
        Batch::Shifted => shifted(&b),
        Batch::Rule(rule) => rule(&b)?.map_or_else(|| item_by_item(&b), Ok),
        Batch::ByItem | Batch::Composed(_) | Batch::Decomposed => item_by_item(&b),
    }
}

/// Every item draws its own random numbers.
fn drawn_apart(b: &BatchCall) -> Result<Value> {
    let mut new = b.map(|i| i.every(b.size))?;
    let makes = b.tensors().is_empty();
    for (argument, value) in b.entry.schema.arguments.iter().zip(&mut new) {
        if makes && is_size(&argument.name) {
            *value = prefixed(value, b.size)?;
        }
    }
    b.wrap_all(&dispatch::call(b.entry, new)?, 0)
}

fn elementwise(b: &BatchCall) -> Result<Value> {
    let mut promoted = b.args.to_vec();
    promote_single(b.level, b.entry, &mut promoted)?;
    let b = &BatchCall { args: &promoted, ..*b };
    let (entry, tensors) = (b.entry, b.tensors());
    if let Some(at) = entry.schema.position("reduction").filter(|at| b.args[*at].int().is_ok_and(|r| r != 0)) {
        return b.wrap_all(&reduced(b, at)?, 0);
    }
    // A number beside a tensor is an operand like another: the batch comes to the front.
    let has_operands = entry.schema.arguments.get(1).is_some_and(|second| matches!(second.ty, Type::Tensor));
    if let ([one], false) = (tensors.as_slice(), has_operands) {
        let dim = one.batch_dim.unwrap_or(0);
        return b.wrap_all(&dispatch::call(entry, b.map(|i| Ok(i.value.clone()))?)?, dim);
    }
    let rank = tensors.iter().map(BatchedTensor::rank).max().unwrap_or(0);
    b.wrap_all(&dispatch::call(entry, b.map(|i| i.padded(rank))?)?, 0)
}

/// A pointwise loss, or its gradient, that is reduced per example; its argument `at` says how.
fn reduced(b: &BatchCall, at: usize) -> Result<Value> {
    let rank = b.tensors().iter().map(BatchedTensor::rank).max().unwrap_or(0);
    let mut new = b.map(|i| i.padded(rank))?;
    let averages = std::mem::replace(&mut new[at], Value::from(0)).int()? == 1;
    let each = dispatch::call(b.entry, new)?.into_tensor()?;
    if b.entry.schema.position("grad_output").is_some() {
        let count = shape::numel(&each.sizes()[1..]);
        return if averages { t!("div.Tensor", each, count).map(Value::from) } else { Ok(each.into()) };
    }
    match (rank, averages) {
        (0, _) => Ok(each.into()),
        (_, true) => t!("mean.dim", each, dims_after_first(rank)).map(Value::from),
        _ => t!("sum.dim_IntList", each, dims_after_first(rank)).map(Value::from),
    }
}

/// Item after item, the results stacked.
fn item_by_item(b: &BatchCall) -> Result<Value> {
    let mut columns: Vec<Vec<Value>> = Vec::new();
    let mut several = false;
    for i in 0..b.size.guard_int()? {
        let given = b.map(|item| match item.batch_dim {
            Some(dim) => t!("select.int", &item.value, dim as i64, i),
            None => Ok(item.value.clone()),
        })?;
        let out = dispatch::call(b.entry, given)?;
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
    let out = if several { Value::List(stacked) } else { stacked.pop().unwrap_or_default() };
    b.wrap_all(&out, 0)
}
