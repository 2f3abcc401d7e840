//! Indexing, embeddings, and the gradients of views.

use super::expr::*;
use super::table::{Decomposed, Table, computation_dtype};
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Call, Value, compare_sizes};
use operators::shapes::wrap_dim;
use shape::Relation;
use tensor::{Dtype, Tensor};

/// Registers the rules.
pub fn register(table: &mut Table) {
    table.add("aten.embedding_dense_backward.default", embedding_backward);
    table.add("aten.index_select.default", index_select).takes_complex();
    table.add("aten.index_add.default", |c| {
        let source = c.tensor("source")?;
        let one = matches!(c.get("alpha"), Value::Int(i) if i.as_int() == Some(1));
        let source = if one { source.clone() } else { mul(source, c.get("alpha"))? };
        put(c, &source, true)
    });
    table.add("aten.index_copy.default", |c| put(c, c.tensor("source")?, false));
    table.add("aten.index_fill.int_Scalar", |c| {
        let x = c.tensor("self")?;
        if x.dim() == 0 {
            return Ok(None);
        }
        let value = c.get("value");
        let layout = Value::Layout(tensor::Layout::Strided);
        let number = t!("scalar_tensor", value; dtype = x.dtype(), layout = layout, device = x.device(), pin_memory = false)?;
        let mut sizes = x.sizes();
        sizes[wrap_dim(c.int("dim")?, x.dim())?] = c.tensor("index")?.numel();
        put(c, &t!("expand", number, sizes)?, false)
    });
    table.add("aten.index_fill.int_Tensor", |c| {
        let x = c.tensor("self")?;
        if x.dim() == 0 {
            return Ok(None);
        }
        let mut sizes = x.sizes();
        sizes[wrap_dim(c.int("dim")?, x.dim())?] = c.tensor("index")?.numel();
        put(c, &t!("expand", c.tensor("value")?, sizes)?, false)
    });
    table.add("aten.select_backward.default", |c| {
        let grad = c.tensor("grad_output")?;
        let zeros = new_full(grad, c.get("input_sizes"), 0)?;
        done(t!("select_scatter", zeros, grad, c.get("dim"), c.get("index"))?)
    });
    table.add("aten.slice_backward.default", |c| {
        let grad = c.tensor("grad_output")?;
        let zeros = new_full(grad, c.get("input_sizes"), 0)?;
        done(t!("slice_scatter", zeros, grad, c.get("dim"), c.get("start"), c.get("end"), c.get("step"))?)
    });
    table.add("aten.diagonal_backward.default", |c| {
        let grad = c.tensor("grad_output")?;
        let zeros = new_full(grad, c.get("input_sizes"), 0)?;
        done(t!("diagonal_scatter", zeros, grad, c.get("offset"), c.get("dim1"), c.get("dim2"))?)
    });
    table.add("aten.unfold_backward.default", unfold_backward);
    table.add("aten._unsafe_index_put.default", |c| {
        done(t!("index_put", c.tensor("self")?, c.get("indices"), c.tensor("values")?, c.get("accumulate"))?)
    });
    table.add("aten.repeat_interleave.Tensor", |c| {
        let repeats = c.tensor("repeats")?;
        let Value::Int(length) = c.get("output_size") else { return Ok(None) };
        if length.as_int().is_none() || repeats.dim() != 1 {
            return Ok(None);
        }
        let ends = t!("cumsum", repeats, 0)?;
        let places = iota(length, 0, 1, Dtype::Int64, repeats.device())?;
        let narrow = repeats.dtype() == Dtype::Int32;
        let found = if narrow {
            t!("searchsorted.Tensor", ends, places; out_int32 = true, right = true)?
        } else {
            t!("searchsorted.Tensor", ends, places; right = true)?
        };
        done(t!("clamp", found, Value::None, repeats.size(0).guard_int()? - 1)?)
    });
    for name in ["aten.isin.Tensor_Tensor", "aten.isin.Tensor_Scalar", "aten.isin.Scalar_Tensor"] {
        table.add(name, isin);
    }
    table.add("aten.take.default", |c| {
        let flat = t!("reshape", c.tensor("self")?, vec![-1i64])?;
        let index = c.tensor("index")?;
        done(t!("index.Tensor", flat, vec![index.clone()])?)
    });
    table.add("aten.put.default", |c| {
        let (x, index) = (c.tensor("self")?, c.tensor("index")?);
        let flat = t!("flatten.using_ints", x)?;
        let source = t!("reshape", c.tensor("source")?, index.sizes())?;
        let put = t!("index_put", flat, vec![index.clone()], source, c.get("accumulate"))?;
        done(t!("reshape", put, x.sizes())?)
    });
}

/// Every element is compared with every test element where these are few, and searched for among them sorted where they are many.
fn isin(c: &Call) -> Decomposed {
    let (unique, inverts) = (c.bool("assume_unique")?, c.bool("invert")?);
    let invert = |found: Tensor| if inverts { t!("bitwise_not", found) } else { Ok(found) };
    let elements = match &c.args[0] {
        Value::Tensor(x) => x.clone(),
        number => t!("scalar_tensor", number; device = c.tensor("test_elements")?.device())?,
    };
    let tests = match &c.args[1] {
        Value::Tensor(tests) => tests,
        number => return done(if inverts { ne(&elements, number)? } else { eq(&elements, number)? }),
    };
    let (count, of) = (elements.numel().guard_int()?, tests.numel().guard_int()?);
    if (of as f64) < 10.0 * (count as f64).powf(0.145) {
        if count == 0 {
            return done(t!("empty_like", elements; dtype = Dtype::Bool)?);
        }
        if tests.dim() == 0 {
            return done(invert(t!("eq.Tensor", elements, tests)?)?);
        }
        let mut sizes = elements.sizes();
        sizes.extend(vec![1.into(); tests.dim()]);
        let same = t!("eq.Tensor", t!("view", elements, sizes)?, tests)?;
        let over: Vec<i64> = (1..=tests.dim() as i64).map(|d| -d).collect();
        return done(invert(t!("any.dims", same, over)?)?);
    }
    if unique {
        return Ok(None);
    }
    let flat = t!("flatten.using_ints", &elements)?;
    let sorted = dispatch::aten!("sort", t!("flatten.using_ints", tests)?)?.tensors()?.swap_remove(0);
    let places = t!("searchsorted.Tensor", &sorted, &flat)?;
    let places = choose(&lt(&places, of)?, &places, 0)?;
    let same = t!("eq.Tensor", t!("index.Tensor", sorted, vec![places])?, flat)?;
    let same = if inverts { t!("logical_not", same)? } else { same };
    done(t!("reshape", same, elements.sizes())?)
}

/// An index along one dimension, among those of all dimensions before it.
fn along(dim: usize, index: &Tensor) -> Value {
    let mut indices = vec![Value::None; dim];
    indices.push(index.into());
    Value::List(indices)
}

/// An index as a vector.
fn vector(index: &Tensor) -> Result<Tensor> {
    if index.dim() == 0 { t!("unsqueeze", index, 0) } else { Ok(index.clone()) }
}

fn put(c: &Call, source: &Tensor, accumulate: bool) -> Decomposed {
    let x = c.tensor("self")?;
    if x.dim() == 0 {
        return Ok(None);
    }
    let indices = along(wrap_dim(c.int("dim")?, x.dim())?, &vector(c.tensor("index")?)?);
    done(t!("index_put", x, indices, source, accumulate)?)
}

fn index_select(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    if x.dim() == 0 {
        return Ok(None);
    }
    let index = vector(c.tensor("index")?)?;
    let dim = wrap_dim(c.int("dim")?, x.dim())?;
    // Indexing in Python takes the whole of the dimensions before; of one whose size may be anything that is a call.
    let whole = (0..dim).filter(|d| x.size(*d).as_int().is_none()).try_fold(x.clone(), |x, d| {
        compare_sizes(&x.size(d), Relation::Le, &i64::MAX.into())?;
        t!("slice.Tensor", x, d, 0, i64::MAX)
    })?;
    let picked = t!("index.Tensor", whole, along(dim, &index))?;
    done(contiguous(&picked, suggested_format(x)?)?)
}

/// Rows are added where their index is valid and no padding.
fn embedding_backward(c: &Call) -> Decomposed {
    let grad = c.tensor("grad_output")?;
    let (indices, rows) = (cast(c.tensor("indices")?, Dtype::Int64)?, c.get("num_weights"));
    let mut wide = cast(grad, computation_dtype(grad.dtype()))?;
    let valid = and(ge(&indices, 0)?, lt(&indices, rows)?)?;
    let list = || Value::List(vec![(&indices).into()]);
    if c.bool("scale_grad_by_freq")? {
        let zeros = new_full(&indices, Value::List(vec![rows.clone()]), 0)?;
        let ones = t!("ones_like", &indices)?;
        let counts = t!("_unsafe_masked_index_put_accumulate", zeros, &valid, list(), ones)?;
        let counts = t!("_unsafe_masked_index", counts, &valid, list(), 1)?;
        wide = div(wide, t!("unsqueeze", counts, -1)?)?;
    }
    let taken = and(&valid, ne(&indices, c.get("padding_idx"))?)?;
    let mask = unsqueeze_to(&taken, wide.dim())?;
    let mut sizes = vec![rows.clone()];
    sizes.extend(wide.sizes()[indices.dim()..].iter().map(Value::from));
    let zeros = new_full(&wide, Value::List(sizes), 0)?;
    let made = t!("_unsafe_masked_index_put_accumulate", zeros, mask, list(), wide)?;
    done(cast(&made, grad.dtype())?)
}

fn unfold_backward(c: &Call) -> Decomposed {
    let grad = c.tensor("grad_in")?;
    let sizes = c.sym_ints("input_sizes")?;
    if sizes.is_empty() {
        return Ok(None);
    }
    let dim = wrap_dim(c.int("dim")?, sizes.len())?;
    let zeros = new_full(grad, sizes.clone(), 0)?;
    let places = iota(&sizes[dim], 0, 1, Dtype::Int32, grad.device())?;
    let places = t!("flatten.using_ints", t!("unfold", places, 0, c.get("size"), c.get("step"))?)?;
    // The window's places go beside the windows, and both become one dimension.
    let mut order: Vec<usize> = (0..grad.dim() - 1).collect();
    order.insert(dim + 1, grad.dim() - 1);
    let moved = t!("permute", grad, dims(&order))?;
    let flat = t!("flatten.using_ints", moved, dim, dim + 1)?;
    done(t!("index_put", zeros, along(dim, &places), flat, true)?)
}
