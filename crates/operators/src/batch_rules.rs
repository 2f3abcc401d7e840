//! `vmap`: rules of single operators: reductions to one element, choices of dimensions, products, normalizations.
//!
//! A rule is called with what the level's call was given, one level below; an entry names its own (`Batch::Rule`).

use super::shapes::wrap_dim;
use diagnostics::error::{Error, Result};
use dispatch::{BatchCall, BatchedTensor, Value, aten, t};
use shape::SymInt;
use tensor::{Dtype, Tensor};

/// Names of arguments that are dimensions.
const DIMS: &[&str] = &["dim", "dim0", "dim1", "dim2", "dims", "dimension"];
/// Names of arguments that are sizes.
const SIZES: &[&str] = &["size", "sizes", "input_sizes", "shape"];

type Ruled = Result<Option<Value>>;

/// Whether an argument of a name is a size.
pub fn is_size(name: &str) -> bool {
    SIZES.contains(&name)
}

/// Sizes, with that of the hidden dimension in front.
///
/// # Errors
/// Where they are no sizes.
pub fn prefixed(sizes: &Value, size: &SymInt) -> Result<Value> {
    let mut all = vec![size.clone()];
    all.extend(sizes.sym_ints()?);
    Ok(Value::from(all))
}

/// All dimensions of an item.
pub fn dims_after_first(rank: usize) -> Value {
    Value::from((1..=rank as i64).collect::<Vec<_>>())
}

/// Arguments whose tensors have the hidden dimension in front: dimensions are shifted by one, sizes get one more. `room` is how
/// many dimensions a number may name.
fn shift(b: &BatchCall, room: usize, new: &mut [Value]) -> Result<()> {
    let shift = |dim: i64, room: usize| -> Result<i64> { Ok(wrap_dim(dim, room.max(1))? as i64 + 1) };
    let rank = b.tensors()[0].rank();
    for (argument, value) in b.entry.schema.arguments.iter().zip(new) {
        let label = argument.name.as_str();
        if DIMS.contains(&label) {
            // Gradients of views name dimensions of what was viewed.
            let room = match b.get("input_sizes") {
                Value::List(items) => items.len(),
                _ => room,
            };
            *value = match &*value {
                Value::Int(_) => Value::from(shift(value.int()?, room)?),
                Value::List(dims) if !dims.is_empty() => {
                    Value::from(dims.iter().map(|d| shift(d.int()?, room)).collect::<Result<Vec<_>>>()?)
                }
                // No dimensions are all of them where they are reduced.
                Value::List(_) if b.entry.is_view() || b.entry.base_name() == "flip" => Value::List(Vec::new()),
                _ => dims_after_first(rank),
            };
        } else if is_size(label) && matches!(value, Value::List(_)) {
            *value = prefixed(value, b.size)?;
        }
    }
    Ok(())
}

/// The arguments of an operator with dimensions or sizes among them, every tensor with the hidden dimension in front.
fn shifted_arguments(b: &BatchCall) -> Result<Vec<Value>> {
    let mut new = b.map(|i| i.every(b.size))?;
    shift(b, b.tensors()[0].rank(), &mut new)?;
    Ok(new)
}

fn run(b: &BatchCall, args: Vec<Value>) -> Ruled {
    b.wrap_all(&dispatch::call(b.entry, args)?, 0).map(Some)
}

fn front(b: &BatchCall, result: Tensor) -> Ruled {
    Ok(Some(b.wrap(&result, Some(0))))
}

/// An operator with dimensions or sizes among its arguments.
///
/// # Errors
/// Those of the operator.
pub fn shifted(b: &BatchCall) -> Result<Value> {
    if names_dims_of_scalars(b) {
        return with_one_dim(b);
    }
    b.wrap_all(&dispatch::call(b.entry, shifted_arguments(b)?)?, 0)
}

/// Whether the dimensions that a call names are not those of all of its items alike: some are numbers, which have the one dimension that is
/// named, or vectors of nothing, which are joined with anything.
pub fn names_dims_unlike(b: &BatchCall) -> bool {
    let ranks: Vec<usize> = b.tensors().iter().map(BatchedTensor::rank).collect();
    let differ = ranks.iter().any(|rank| *rank != ranks[0]);
    let is_named = b.entry.schema.arguments.iter().any(|a| DIMS.contains(&a.name.as_str()));
    let is_list = b.args.iter().any(|v| matches!(v, Value::List(items) if items.iter().any(|v| v.as_tensor().is_some())));
    is_named && (ranks[0] == 0 && (differ || b.entry.is_view()) || is_list && differ)
}

/// Whether a call that is no view goes over a dimension of examples that have none: the first and the last of those name all of it.
fn names_dims_of_scalars(b: &BatchCall) -> bool {
    let names = |wanted: fn(&str) -> bool| b.entry.schema.arguments.iter().any(|a| wanted(&a.name));
    let is_view = b.entry.is_view();
    !is_view && b.args[0].as_tensor().is_some() && b.tensors()[0].rank() == 0 && names(|n| DIMS.contains(&n)) && !names(is_size)
}

/// The call on examples of one dimension with one element, which its results have no more.
fn with_one_dim(b: &BatchCall) -> Result<Value> {
    let mut new = b.map(|i| {
        let all = i.every(b.size)?;
        if all.dim() == 1 { t!("unsqueeze", all, -1) } else { Ok(all) }
    })?;
    for (argument, value) in b.entry.schema.arguments.iter().zip(&mut new) {
        if DIMS.contains(&argument.name.as_str()) {
            let given: Vec<i64> = match &*value {
                Value::Int(_) => vec![value.int()?],
                Value::List(dims) => dims.iter().map(Value::int).collect::<Result<_>>()?,
                _ => Vec::new(),
            };
            given.iter().try_for_each(|dim| wrap_dim(*dim, 1).map(drop))?;
            *value = if matches!(value, Value::Int(_)) { Value::from(1) } else { dims_after_first(1) };
        }
    }
    let mut without = |t: &Tensor| if t.dim() == 2 { t!("squeeze.dim", t, 1) } else { Ok(t.clone()) };
    b.wrap_all(&dispatch::call(b.entry, new)?.map_tensors(&mut without)?, 0)
}

/// Positions in a dimension, which are a vector: those of all examples together.
pub(super) fn at_positions(b: &BatchCall) -> Ruled {
    let index = b.tensor("index")?;
    let (None, Some(at)) = (index.batch_dim, b.entry.schema.position("index")) else { return Ok(None) };
    if names_dims_unlike(b) {
        return Ok(None);
    }
    let mut new = shifted_arguments(b)?;
    new[at] = index.value.into();
    run(b, new)
}

/// New dimensions count among those a number may name.
pub(super) fn unsqueeze(b: &BatchCall) -> Ruled {
    let mut new = b.map(|i| i.every(b.size))?;
    shift(b, b.tensors()[0].rank() + 1, &mut new)?;
    run(b, new)
}

pub(super) fn stack(b: &BatchCall) -> Ruled {
    let mut new = b.map(|i| i.aligned(b.size))?;
    shift(b, b.tensors()[0].rank() + 1, &mut new)?;
    run(b, new)
}

pub(super) fn expand(b: &BatchCall) -> Ruled {
    let wanted = b.get("size").list()?.len();
    let mut new = b.map(|i| i.viewed(wanted))?;
    shift(b, b.tensors()[0].rank(), &mut new)?;
    run(b, new)
}

pub(super) fn permute(b: &BatchCall) -> Ruled {
    let mut new = shifted_arguments(b)?;
    let mut dims = vec![Value::from(0)];
    dims.extend(new[1].list()?.iter().cloned());
    new[1] = Value::List(dims);
    run(b, new)
}

/// Without dimensions an item is rolled as the row of all of its elements.
pub(super) fn roll(b: &BatchCall) -> Ruled {
    if !b.get("dims").list()?.is_empty() {
        return shifted(b).map(Some);
    }
    let whole = b.tensor("self")?.every(b.size)?;
    let sizes = whole.sizes();
    let rows = t!("flatten.using_ints", whole, 1)?;
    front(b, t!("reshape", t!("roll", rows, b.get("shifts"), vec![1i64])?, sizes)?)
}

/// What lies in memory as an item does not is copied.
pub(super) fn reshape_alias(b: &BatchCall) -> Ruled {
    let new = shifted_arguments(b)?;
    front(b, t!("reshape", &new[0], &new[1])?)
}

pub(super) fn squeeze(b: &BatchCall) -> Ruled {
    let all = b.tensor("self")?;
    let each = all.every(b.size)?;
    let sizes = all.front()?.sizes().into_iter().enumerate();
    let sizes: Vec<SymInt> = sizes.filter(|(i, s)| *i == 0 || s.as_int() != Some(1)).map(|(_, s)| s).collect();
    front(b, t!("view", each, sizes)?)
}

pub(super) fn squeeze_dim(b: &BatchCall) -> Ruled {
    if b.tensor("self")?.rank() == 0 {
        return widened(b).map(Some);
    }
    let new = shifted_arguments(b)?;
    front(b, t!("squeeze.dims", &new[0], Value::List(vec![new[1].clone()]))?)
}

/// The call on items that are numbers, as rows of one, which its results are no more.
fn widened(b: &BatchCall) -> Result<Value> {
    let mut new = shifted_arguments(b)?;
    new[0] = t!("unsqueeze", new[0].tensor()?, -1)?.into();
    for (argument, value) in b.entry.schema.arguments.iter().zip(&mut new) {
        if DIMS.contains(&argument.name.as_str()) && matches!(value, Value::List(dims) if dims.is_empty()) {
            *value = dims_after_first(1);
        }
    }
    // A dimension that is kept is that of the row.
    let mut items = |t: &Tensor| if t.dim() > 1 { t!("squeeze.dim", t, 1) } else { Ok(t.clone()) };
    b.wrap_all(&dispatch::call(b.entry, new)?.map_tensors(&mut items)?, 0)
}

/// What takes dimensions away: an item that is a number is a row of one, whose dimension goes.
pub(super) fn reduction(b: &BatchCall) -> Ruled {
    if b.tensors()[0].rank() == 0 { widened(b).map(Some) } else { shifted(b).map(Some) }
}

/// What keeps its dimensions: an item that is a number is a row of one for as long as the call takes.
pub(super) fn along_dim(b: &BatchCall) -> Ruled {
    if b.tensors()[0].rank() > 0 {
        return shifted(b).map(Some);
    }
    let mut new = shifted_arguments(b)?;
    new[0] = t!("unsqueeze", new[0].tensor()?, 1)?.into();
    let out = dispatch::call(b.entry, new)?.into_tensor()?;
    front(b, t!("squeeze.dim", out, 1)?)
}

/// The items as rows, a number as a row of one, and their dimensions.
fn rows(b: &BatchCall) -> Result<(Tensor, Value)> {
    let x = b.tensor("self")?;
    let (each, rank) = (x.front()?, x.rank());
    Ok((if rank == 0 { t!("unsqueeze", each, -1)? } else { each }, dims_after_first(rank.max(1))))
}

pub(super) fn sum(b: &BatchCall) -> Ruled {
    let (rows, dims) = rows(b)?;
    front(b, t!("sum.dim_IntList", rows, dims, false; dtype = b.get("dtype").clone())?)
}

pub(super) fn mean(b: &BatchCall) -> Ruled {
    let (rows, dims) = rows(b)?;
    front(b, t!("mean.dim", rows, dims, false; dtype = b.get("dtype").clone())?)
}

/// Each item as one row.
fn flat(b: &BatchCall) -> Result<Tensor> {
    let x = b.tensor("self")?;
    let each = x.front()?;
    if x.rank() == 1 {
        return Ok(each);
    }
    let count = dispatch::multiply(&each.sizes()[1..])?;
    t!("reshape", each, vec![b.size.clone(), count])
}

/// The first of what an operator gives that says where an element stands, too.
fn values(b: &BatchCall, out: Value) -> Ruled {
    front(b, out.tensors()?.remove(0))
}

pub(super) fn max(b: &BatchCall) -> Ruled {
    values(b, aten!("max.dim", flat(b)?, 1)?)
}

pub(super) fn min(b: &BatchCall) -> Ruled {
    values(b, aten!("min.dim", flat(b)?, 1)?)
}

pub(super) fn median(b: &BatchCall) -> Ruled {
    values(b, aten!("median.dim", flat(b)?, 1)?)
}

pub(super) fn nanmedian(b: &BatchCall) -> Ruled {
    values(b, aten!("nanmedian.dim", flat(b)?, 1)?)
}

/// Where the whole item is reduced, it is one row.
pub(super) fn reduced_row(b: &BatchCall) -> Ruled {
    if !b.get("dim").is_none() {
        return reduction(b);
    }
    let mut new = b.args.to_vec();
    let at = b.entry.schema.position("dim").unwrap_or(1);
    let row = if b.tensor("self")?.rank() == 0 { rows(b)?.0 } else { flat(b)? };
    (new[0], new[at]) = (row.into(), Value::from(1));
    b.wrap_all(&dispatch::call(b.entry, new)?, 0).map(Some)
}

/// Dimensions are a list also where the call has one or none.
pub(super) fn count_nonzero(b: &BatchCall) -> Ruled {
    let (rows, all) = rows(b)?;
    let dims = match b.get("dim") {
        Value::None => all,
        _ => match shifted_arguments(b)?.swap_remove(1) {
            one @ Value::Int(_) => Value::List(vec![one]),
            several => several,
        },
    };
    front(b, t!("count_nonzero.dim_IntList", rows, dims)?)
}

pub(super) fn nansum(b: &BatchCall) -> Ruled {
    if !b.get("dim").is_none() {
        return reduction(b);
    }
    let (rows, dims) = rows(b)?;
    front(b, t!("nansum", rows, dims, b.get("keepdim"); dtype = b.get("dtype").clone())?)
}

pub(super) fn prod(b: &BatchCall) -> Ruled {
    front(b, t!("prod.dim_int", flat(b)?, 1)?)
}

pub(super) fn any(b: &BatchCall) -> Ruled {
    front(b, t!("any.dim", flat(b)?, 1)?)
}

pub(super) fn all(b: &BatchCall) -> Ruled {
    front(b, t!("all.dim", flat(b)?, 1)?)
}

pub(super) fn t(b: &BatchCall) -> Ruled {
    let x = b.tensor("self")?;
    let value = x.front()?;
    front(b, if x.rank() < 2 { value } else { t!("transpose.int", value, 1, 2)? })
}

/// The batch of matrices says whether it is one of matrices.
pub(super) fn check_errors(b: &BatchCall) -> Ruled {
    let info = b.tensors().first().ok_or_else(|| Error::runtime("a check takes what there is to be checked"))?.front()?;
    b.wrap_all(&aten!("_linalg_check_errors", info, &b.args[1]; is_matrix = false)?, 0).map(Some)
}

/// Indices of several items into one table.
pub(super) fn embedding(b: &BatchCall) -> Ruled {
    if b.tensors()[0].batch_dim.is_some() {
        return Ok(None);
    }
    run(b, b.map(BatchedTensor::front)?)
}

/// Items that are normalized alike.
pub(super) fn native_layer_norm(b: &BatchCall) -> Ruled {
    if b.tensors()[1..].iter().any(|t| t.batch_dim.is_some()) {
        return Ok(None);
    }
    run(b, b.map(BatchedTensor::front)?)
}

/// The two operands of a product.
fn operands(b: &BatchCall) -> Option<(BatchedTensor, BatchedTensor)> {
    let item = |i: usize| b.args.get(i).and_then(Value::as_tensor).map(|t| b.of(t));
    item(0).zip(item(1))
}

/// `mm`, `bmm`
pub(super) fn matrix_product(b: &BatchCall) -> Ruled {
    let Some((x, y)) = operands(b) else { return Ok(None) };
    front(b, t!("matmul", x.front()?, y.front()?)?)
}

/// `dot`, `vdot`
pub(super) fn dot(b: &BatchCall) -> Ruled {
    let Some((x, y)) = operands(b) else { return Ok(None) };
    let product = match (x.batch_dim, y.batch_dim) {
        (Some(_), Some(_)) => {
            // In PyTorch's order: of the two, the second is made a matrix first.
            let (row, column) = (x.front()?, y.front()?);
            let column = t!("unsqueeze", column, -1)?;
            let product = t!("matmul", t!("unsqueeze", row, -2)?, column)?;
            t!("squeeze.dim", t!("squeeze.dim", product, -1)?, -1)?
        }
        (Some(_), None) => t!("matmul", x.front()?, t!("t", y.value)?)?,
        (None, _) => t!("matmul", y.front()?, x.value)?,
    };
    front(b, product)
}

pub(super) fn mv(b: &BatchCall) -> Ruled {
    let Some((x, y)) = operands(b) else { return Ok(None) };
    match (x.batch_dim, y.batch_dim) {
        (Some(dim), Some(_)) => {
            let matrix = t!("movedim.int", &x.value, dim as i64, -3)?;
            let product = t!("matmul", matrix, t!("unsqueeze", y.front()?, -1)?)?;
            front(b, t!("squeeze.dim", product, -1)?)
        }
        (Some(_), None) => front(b, t!("matmul", x.front()?, y.value)?),
        (None, Some(dim)) => {
            let product = t!("matmul", x.value, t!("movedim.int", &y.value, dim as i64, -1)?)?;
            let last = product.dim() - 1;
            Ok(Some(b.wrap(&product, Some(last))))
        }
        (None, None) => Ok(None),
    }
}

pub(super) fn constant_pad_nd(b: &BatchCall) -> Ruled {
    let all = b.tensor("self")?.front()?;
    front(b, t!("constant_pad_nd", all, b.get("pad"), b.get("value"))?)
}

/// Zeros that lie in memory as another tensor does, item by item.
pub(super) fn zeros_like_another(b: &BatchCall) -> Ruled {
    let (x, other) = (b.tensor("self")?, b.tensor("other")?);
    let outer = b.call().int("self_num_batch_dims")?;
    if other.batch_dim.is_none() {
        let zeros = t!("_new_zeros_with_same_feature_meta", x.front()?, other.value; self_num_batch_dims = outer + 1)?;
        return front(b, zeros);
    }
    // The other's items lie in memory one after the other: its own storage says how. Batches of levels within come before them.
    let x = if x.batch_dim.is_some() { x.front()? } else { x.every(b.size)? };
    let x = t!("movedim.int", x, 0, outer)?;
    let zeros = t!("_new_zeros_with_same_feature_meta", x, other.front()?; self_num_batch_dims = outer)?;
    Ok(Some(b.wrap(&zeros, usize::try_from(outer).ok())))
}

/// Elements by indices. Where indices have items of their own, so have their places among those of the tensor: one index more says which
/// item each is taken of.
pub(super) fn index(b: &BatchCall) -> Ruled {
    let x = b.tensor("self")?;
    let Value::List(given) = b.get("indices") else { return Ok(None) };
    let indices: Vec<Option<BatchedTensor>> = given.iter().map(|v| v.as_tensor().map(|t| b.of(t))).collect();
    let at: Vec<usize> = (0..indices.len()).filter(|i| indices[*i].is_some()).collect();
    let is_mask = indices.iter().flatten().any(|i| matches!(i.value.dtype(), Dtype::Bool | Dtype::UInt8));
    let (Some(first), Some(last)) = (at.first(), at.last()) else { return Ok(None) };
    let is_adjacent = last - first + 1 == at.len();
    let rank = indices.iter().flatten().map(BatchedTensor::rank).max().unwrap_or(0);
    let has_items = indices.iter().flatten().any(|i| i.batch_dim.is_some());
    if is_mask || !is_adjacent || has_items && *first > 0 {
        return Ok(None);
    }
    let padded = |item: &Option<BatchedTensor>| item.as_ref().map_or(Ok(Value::None), |i| i.padded(rank).map(Value::from));
    let mut places = indices.iter().map(padded).collect::<Result<Vec<_>>>()?;
    let out = match (x.batch_dim, has_items) {
        (Some(_), false) => {
            places.insert(0, Value::None);
            t!("index.Tensor", x.front()?, places)?
        }
        (Some(_), true) => {
            let mut sizes = vec![SymInt::Int(1); rank + 1];
            sizes[0] = b.size.clone();
            let items = t!("view", t!("arange", b.size.clone(); dtype = Dtype::Int64, device = x.value.device())?, sizes)?;
            places.insert(0, items.into());
            t!("index.Tensor", x.front()?, places)?
        }
        (None, _) => t!("index.Tensor", &x.value, places)?,
    };
    front(b, out)
}

/// Elements that a mask chooses take a value: one for all, or one of each item's own.
pub(super) fn masked_fill(b: &BatchCall) -> Ruled {
    let (x, mask, value) = (b.tensor("self")?, b.tensor("mask")?, b.tensor("value")?);
    let rank = x.rank().max(mask.rank());
    if value.batch_dim.is_none() {
        return run(b, b.map(|i| i.padded(rank))?);
    }
    if value.rank() > 0 {
        return Err(Error::runtime(format!(
            "vmap: expected masked_fill `value` to be a batched scalar (logical rank 0), but got logical rank {}",
            value.rank()
        )));
    }
    let dtype = x.value.dtype();
    let value = if value.value.dtype() == dtype {
        value
    } else {
        let value = t!("_to_copy", value.front()?; dtype = dtype, device = x.value.device())?;
        BatchedTensor { value, batch_dim: Some(0) }
    };
    let (mask, x) = (mask.padded(rank)?, x.padded(rank)?);
    let filled = t!("where.self", mask, value.viewed(rank)?, &x)?;
    front(b, if b.entry.is_mutable() { t!("copy_", x, filled)? } else { filled })
}

/// A view of every item, whose offset is counted as the whole's.
pub(super) fn as_strided(b: &BatchCall) -> Ruled {
    let whole = b.tensor("self")?.front()?;
    let apart = whole.geometry();
    let (size, stride) = (b.call().sym_ints("size")?, b.call().sym_ints("stride")?);
    let with = |first: &SymInt, rest: Vec<SymInt>| std::iter::once(first.clone()).chain(rest).collect::<Vec<_>>();
    let (size, stride) = (with(&apart.sizes[0], size), with(&apart.strides[0], stride));
    front(b, t!("as_strided", &whole, size, stride, b.get("storage_offset"))?)
}
