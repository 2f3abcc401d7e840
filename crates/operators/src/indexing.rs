//! Python's square brackets: `x[1:, None, mask]` as the operator calls that PyTorch makes of it.
//!
//! Integers, slices and `None` become views, in order; tensors are collected and become one `index.Tensor`, or on writing
//! one `index_put_`, `index_fill_` or `masked_fill_`.

use super::geometry as geo;
use super::view_composites::reshape;
use super::views::type_name;
use diagnostics::error::{Error, Result};
use dispatch::Value;
use dispatch::{aten, t};
use shape::{Relation, SymInt};
use tensor::{Dtype, Layout, Number, Tensor, from_values};

/// One item between the brackets.
#[derive(Clone, Debug)]
pub enum IndexItem {
    /// An integer.
    Int(SymInt),
    /// `start:stop:step`
    Slice(Option<SymInt>, Option<SymInt>, Option<SymInt>),
    /// `None`
    NewAxis,
    /// `...`
    Ellipsis,
    /// `True`, `False`
    Bool(bool),
    /// A tensor of indices or a mask.
    Tensor(Tensor),
    /// Such a tensor that a list between the brackets gave: a constant of what is captured.
    Constant(Tensor),
    /// A tensor without dimensions that stays one: its number is never read.
    Position(Tensor),
}

/// A mask rather than positions.
fn is_mask(tensor: &Tensor) -> bool {
    matches!(tensor.dtype(), Dtype::Bool | Dtype::UInt8)
}

/// The tensors among the items, each at the dimension it indexes.
#[derive(Default)]
struct Collected {
    tensors: Vec<(usize, Tensor)>,
}

impl Collected {
    /// As `index.Tensor` takes them: `None` for dimensions that are not indexed.
    fn list(&self) -> Vec<Value> {
        let (mut list, mut covered) = (Vec::new(), 0);
        for (dim, tensor) in &self.tensors {
            while covered < *dim {
                list.push(Value::None);
                covered += 1;
            }
            list.push(tensor.into());
            covered += spans(tensor);
        }
        list
    }
}

/// How many dimensions an index covers.
fn spans(tensor: &Tensor) -> usize {
    if is_mask(tensor) { tensor.dim() } else { 1 }
}

fn select(tensor: &Tensor, dim: usize, index: &SymInt, position: usize) -> Result<Tensor> {
    if tensor.dim() == 0 {
        return Err(Error::index(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number",
        ));
    }
    let size = match index.as_int() {
        _ if dim >= tensor.dim() => SymInt::Int(0),
        Some(_) => tensor.size(dim),
        None => dispatch::recorded_size(tensor, dim)?,
    };
    let fits = match index.as_int() {
        Some(i) if i < 0 => size.compare(Relation::Ge, &SymInt::Int(i.saturating_neg()))?,
        _ => size.compare(Relation::Gt, index)?,
    };
    if !fits {
        return Err(Error::index(format!("index {index} is out of bounds for dimension {position} with size {size}")));
    }
    t!("select.int", tensor, dim, index)
}

/// A slice; one that takes everything is left out, unless it stands alone.
fn slice(tensor: &Tensor, dim: usize, item: (&Option<SymInt>, &Option<SymInt>, &Option<SymInt>), alone: bool) -> Result<Tensor> {
    let step = item.2.clone().unwrap_or(SymInt::Int(1));
    if step.statically_eq(0) {
        return Err(Error::value("slice step cannot be zero"));
    }
    if !step.compare(Relation::Gt, &SymInt::Int(0))? {
        return Err(Error::value("step must be greater than zero"));
    }
    if tensor.dim() == 0 {
        return Err(Error::index("slice() cannot be applied to a 0-dim tensor."));
    }
    let start = item.0.clone().unwrap_or(SymInt::Int(0));
    let stop = item.1.clone().unwrap_or(SymInt::Int(i64::MAX));
    if !alone && start.as_int() == Some(0) && step.as_int() == Some(1) && dim < tensor.dim() {
        // A symbolic size is not known to be below any end.
        if dispatch::recorded_size(tensor, dim)?.decide(Relation::Le, &stop) == Some(true) {
            return Ok(tensor.clone());
        }
    }
    t!("slice.Tensor", tensor, dim, start, stop, step)
}

/// A boolean as an index of its own dimension: position zero, or nothing.
fn boolean_index(tensor: &Tensor, value: bool) -> Result<Tensor> {
    let layout = Value::Layout(Layout::Strided);
    let index = t!("empty.memory_format", vec![i64::from(value)]; dtype = Dtype::Int64, layout = layout, device = tensor.device())?;
    if value { t!("fill_.Scalar", index, 0.0) } else { Ok(index) }
}

fn item_of(tensor: &Tensor) -> Result<Value> {
    aten!("_local_scalar_dense", tensor)
}

/// Applies everything but tensors, which are collected.
fn apply(tensor: &Tensor, items: &[IndexItem], collected: &mut Collected) -> Result<Tensor> {
    let specified: usize = items
        .iter()
        .map(|item| match item {
            IndexItem::Tensor(t) | IndexItem::Constant(t) | IndexItem::Position(t) => spans(t),
            IndexItem::Int(_) | IndexItem::Slice(..) => 1,
            _ => 0,
        })
        .sum();
    let own = tensor.dim();
    if specified > own {
        return Err(Error::index(format!("too many indices for tensor of dimension {own}")));
    }
    let (mut result, mut dim) = (tensor.clone(), 0);
    for (position, item) in items.iter().enumerate() {
        match item {
            IndexItem::Int(i) => result = select(&result, dim, i, position)?,
            IndexItem::Slice(start, stop, step) => {
                result = slice(&result, dim, (start, stop, step), false)?;
                dim += 1;
            }
            IndexItem::Ellipsis => dim += own - specified,
            IndexItem::NewAxis => {
                result = t!("unsqueeze", result, dim)?;
                dim += 1;
            }
            IndexItem::Bool(b) => {
                result = t!("unsqueeze", result, dim)?;
                collected.tensors.push((dim, boolean_index(&result, *b)?));
                dim += 1;
            }
            IndexItem::Tensor(index) if index.dim() == 0 && index.dtype().is_integral() => {
                if is_mask(index) {
                    result = t!("unsqueeze", result, dim)?;
                    let value = item_of(index)?.bool()?;
                    collected.tensors.push((dim, boolean_index(&result, value)?));
                    dim += 1;
                } else if index.imp().transform.borrow().is_some() {
                    // In a transform it has no one number.
                    collected.tensors.push((dim, index.clone()));
                    dim += 1;
                } else {
                    result = select(&result, dim, &item_of(index)?.sym_int()?, position)?;
                }
            }
            IndexItem::Tensor(index) | IndexItem::Position(index) => {
                collected.tensors.push((dim, index.clone()));
                dim += spans(index);
            }
            // It is read after what stands before it.
            IndexItem::Constant(index) => {
                collected.tensors.push((dim, t!("lift_fresh", index)?));
                dim += spans(index);
            }
        }
    }
    Ok(result)
}

/// `tensor[items]`
pub fn getitem(tensor: &Tensor, items: &[IndexItem]) -> Result<Tensor> {
    match items {
        [IndexItem::NewAxis] => return t!("unsqueeze", tensor, 0),
        [IndexItem::Ellipsis] => return t!("alias", tensor),
        [IndexItem::Int(i)] => return select(tensor, 0, i, 0),
        [IndexItem::Slice(start, stop, step)] => return slice(tensor, 0, (start, stop, step), true),
        _ => {}
    }
    let mut collected = Collected::default();
    let sliced = apply(tensor, items, &mut collected)?;
    if !collected.tensors.is_empty() {
        return t!("index.Tensor", sliced, collected.list());
    }
    if sliced.is(tensor) { t!("alias", sliced) } else { Ok(sliced) }
}

/// Sizes without leading ones.
fn without_leading_ones(sizes: &[SymInt]) -> Result<Vec<SymInt>> {
    let mut first = sizes.len();
    for (i, size) in sizes.iter().enumerate() {
        if !size.sym_eq(1)? {
            first = i;
            break;
        }
    }
    Ok(sizes[first..].to_vec())
}

/// Writes a value over the whole of a tensor, broadcasting it.
fn copy_to(target: &Tensor, value: &Value) -> Result<()> {
    let Value::Tensor(source) = value else {
        return aten!("fill_.Scalar", target, value).map(drop);
    };
    let sizes = target.sizes();
    if geo::same_sizes(&sizes, &source.sizes())? {
        return aten!("copy_", target, source).map(drop);
    }
    if source.dim() == 0 {
        return aten!("fill_.Tensor", target, source).map(drop);
    }
    let mut view = t!("view", source, without_leading_ones(&source.sizes())?)?;
    if !geo::same_sizes(&sizes, &view.sizes())? {
        view = t!("expand", view, sizes)?;
    }
    aten!("copy_", target, view).map(drop)
}

/// The number to be written, where there is one; booleans are written as integers.
fn scalar(tensor: &Tensor, value: &Value) -> Result<Option<Value>> {
    match value {
        Value::Tensor(_) => Ok(None),
        Value::Bool(b) => Ok(Some(Value::from(i64::from(*b)))),
        number if number.is_scalar() => Ok(Some(number.clone())),
        other => Err(Error::type_error(format!("can't assign a {} to a {}", other.kind(), type_name(tensor)))),
    }
}

/// A complex number as an element of a tensor that has none: its real part, or its truth.
fn real_number(tensor: &Tensor, number: &Value) -> Result<Value> {
    match number {
        Value::Complex(re, im) if tensor.dtype() == Dtype::Bool => Ok(Value::from(i64::from(*re != 0.0 || *im != 0.0))),
        Value::Complex(re, 0.0) if !tensor.dtype().is_complex() => Ok(Value::Float(*re)),
        Value::Complex(..) if !tensor.dtype().is_complex() => {
            Err(Error::runtime(format!("value cannot be converted to type {} without overflow", tensor.dtype().c_name())))
        }
        other => Ok(other.clone()),
    }
}

/// Writes a number where a single index says: no gather and no broadcast is needed for that.
fn fill_indexed(target: &Tensor, dim: usize, index: &Tensor, number: &Value) -> Result<()> {
    if !is_mask(index) {
        let flat = if index.dim() == 1 { index.clone() } else { reshape(index, &[SymInt::Int(-1)])? };
        return aten!("index_fill_.int_Scalar", target, dim, flat, number).map(drop);
    }
    let (sizes, mask) = (target.sizes(), index.sizes());
    for (i, size) in mask.iter().enumerate() {
        if let Some(full) = sizes.get(dim + i) {
            dispatch::compare_sizes(size, Relation::Eq, full)?;
        }
        if !sizes.get(dim + i).is_some_and(|s| s.sym_eq(size.clone()).unwrap_or(false)) {
            return Err(Error::index(format!(
                "The shape of the mask {} at index {i} does not match the shape of the indexed tensor {} at index {}",
                geo::list(&mask),
                geo::list(&sizes),
                dim + i
            )));
        }
    }
    let mut wide = index.clone();
    for _ in dim + mask.len()..sizes.len() {
        wide = t!("unsqueeze", wide, -1)?;
    }
    aten!("masked_fill_.Scalar", target, wide, real_number(target, number)?).map(drop)
}

/// `tensor[items] = value`
pub fn setitem(tensor: &Tensor, items: &[IndexItem], value: &Value) -> Result<()> {
    let number = scalar(tensor, value)?;
    let value = number.as_ref().unwrap_or(value);
    match items {
        [IndexItem::Bool(false)] => return Ok(()),
        [IndexItem::Ellipsis] => return copy_to(tensor, value),
        [IndexItem::NewAxis | IndexItem::Bool(true)] => return copy_to(&t!("unsqueeze", tensor, 0)?, value),
        [IndexItem::Int(i)] => return copy_to(&select(tensor, 0, i, 0)?, value),
        _ => {}
    }
    let mut collected = Collected::default();
    let sliced = apply(tensor, items, &mut collected)?;
    if let (Some(number), [(dim, index)]) = (&number, collected.tensors.as_slice())
        && matches!(index.dtype(), Dtype::Int64 | Dtype::Bool | Dtype::UInt8)
    {
        return fill_indexed(&sliced, *dim, index, number);
    }
    if collected.tensors.is_empty() {
        return copy_to(&sliced, value);
    }
    let source = match value {
        Value::Tensor(source) => {
            let (sizes, wanted) = (source.sizes(), without_leading_ones(&source.sizes())?);
            if sizes.len() == wanted.len() { source.clone() } else { t!("view", source, wanted)? }
        }
        number => {
            let number = match &real_number(tensor, number)? {
                Value::Int(i) => Number::Int(i.guard_int()?),
                Value::Complex(re, im) => Number::Complex(*re, *im),
                other => Number::Float(other.float()?),
            };
            t!("lift_fresh", from_values(&[number], &[], tensor.dtype())?)?
        }
    };
    aten!("index_put_", sliced, collected.list(), source).map(drop)
}
