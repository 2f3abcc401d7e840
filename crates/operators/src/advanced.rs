//! Indexing by tensors and masks: `index`, `index_put`, `masked_select`, `nonzero`.

use super::gathering::new_zeros_like;
use super::geometry as geo;
use super::joining::{like, preserved};
use super::shapes::{broadcast, broadcast_two};
use super::views::zeros_of;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Batch, Call, Complex, Grads, OpBuilder, OpClasses, Rule, Tags, Value};
use shape::{SymInt, numel};
use tensor::strided::{dense_bytes, numbers};
use tensor::{Dtype, Tensor, TensorSpec};

/// Which dimension each index tensor indexes, masks as one position tensor per dimension they cover.
pub struct Plan {
    /// Index tensors by dimension; `None` where a dimension is taken whole.
    pub indices: Vec<Option<Tensor>>,
    /// The shape the index tensors broadcast to.
    pub shape: Vec<SymInt>,
    /// Dimensions before, among and after which the indexed ones stand in the result: the order in which the dimensions of
    /// the indexed tensor are walked, indexed ones together.
    pub order: Vec<usize>,
    /// How many dimensions come before the indexed ones.
    pub before: usize,
}

/// Positions of the elements of a mask that are set, one row per dimension.
pub fn set_positions(mask: &Tensor) -> Result<Vec<Vec<i64>>> {
    let sizes = mask.concrete()?.sizes;
    let mut rows = vec![Vec::new(); sizes.len()];
    for (i, value) in numbers(mask)?.into_iter().enumerate() {
        if value.truth() {
            let mut rest = i;
            for d in (0..sizes.len()).rev() {
                rows[d].push((rest % sizes[d]) as i64);
                rest /= sizes[d];
            }
        }
    }
    Ok(rows)
}

impl Plan {
    /// The plan of indexing a tensor by a list of tensors and `None`.
    pub fn new(tensor: &Tensor, list: &[Value]) -> Result<Plan> {
        let sizes = tensor.sizes();
        let mut indices: Vec<Option<Tensor>> = Vec::new();
        for item in list {
            let Some(index) = item.as_tensor() else {
                indices.push(None);
                continue;
            };
            match index.dtype() {
                Dtype::Int64 | Dtype::Int32 => indices.push(Some(index.clone())),
                Dtype::Bool | Dtype::UInt8 => {
                    for (i, size) in index.sizes().iter().enumerate() {
                        let at = indices.len() + i;
                        if !sizes.get(at).is_some_and(|s| s.sym_eq(size.clone()).unwrap_or(false)) {
                            return Err(Error::index(format!(
                                "The shape of the mask {} at index {i} does not match the shape of the indexed tensor {} at index {at}",
                                geo::list(&index.sizes()),
                                geo::list(&sizes)
                            )));
                        }
                    }
                    if index.is_fake() {
                        let positions = vec![dispatch::size_of_nonzero(index)?];
                        let positions = TensorSpec::contiguous(positions, Dtype::Int64, index.device());
                        for _ in 0..index.dim() {
                            indices.push(Some(Tensor::fake(&positions)?));
                        }
                        continue;
                    }
                    for row in set_positions(index)? {
                        indices.push(Some(Tensor::from_slice(&row, &[row.len() as i64])?));
                    }
                }
                _ => return Err(Error::index("tensors used as indices must be long, int, byte or bool tensors")),
            }
        }
        if indices.len() > sizes.len() {
            return Err(Error::index(format!("too many indices for tensor of dimension {} (got {})", sizes.len(), indices.len())));
        }
        indices.resize(sizes.len(), None);
        let shapes: Vec<Vec<SymInt>> = indices.iter().flatten().map(Tensor::sizes).collect();
        let shape = broadcast(&shapes).map_err(|_| {
            let all: Vec<String> = shapes.iter().map(|s| geo::list(s)).collect();
            Error::index(format!("shape mismatch: indexing tensors could not be broadcast together with shapes {}", all.join(", ")))
        })?;
        let indexed: Vec<usize> = (0..sizes.len()).filter(|d| indices[*d].is_some()).collect();
        if indexed.iter().any(|d| sizes[*d].statically_eq(0)) && !shape.iter().any(|s| s.statically_eq(0)) {
            return Err(Error::index("index is out of bounds for dimension with size 0"));
        }
        let adjacent = indexed.windows(2).all(|w| w[1] == w[0] + 1);
        let (order, before) = if adjacent {
            ((0..sizes.len()).collect(), indexed.first().copied().unwrap_or(0))
        } else {
            let rest = (0..sizes.len()).filter(|d| indices[*d].is_none());
            (indexed.iter().copied().chain(rest).collect(), 0)
        };
        Ok(Plan { indices, shape, order, before })
    }

    /// Dimensions taken whole that come after the indexed ones.
    pub fn after(&self) -> &[usize] {
        let indexed = self.indices.iter().flatten().count();
        &self.order[self.before + indexed..]
    }

    /// The shape of the result, for a tensor of these sizes.
    pub fn result_sizes(&self, sizes: &[SymInt]) -> Vec<SymInt> {
        let whole = |dims: &[usize]| dims.iter().map(|d| sizes[*d].clone()).collect::<Vec<_>>();
        [whole(&self.order[..self.before]), self.shape.clone(), whole(self.after())].concat()
    }

    /// Result strides: the order in memory of the dimensions taken whole, as a pointwise operator of tensor and indices keeps it.
    fn result_strides(&self, tensor: &Tensor) -> Result<Vec<SymInt>> {
        let g = tensor.geometry();
        let whole = |dims: &[usize]| dims.iter().map(|d| g.strides[*d].hint().unwrap_or(1)).collect::<Vec<i64>>();
        let (before, after) = (whole(&self.order[..self.before]), whole(self.after()));
        let mut operands = vec![[before.clone(), vec![0; self.shape.len()], after.clone()].concat()];
        let sizes = self.result_sizes(&g.sizes);
        let ones = |n: usize| vec![SymInt::Int(1); n];
        let empty = sizes.iter().any(|s| s.statically_eq(0));
        let padded = [ones(before.len()), self.shape.clone(), ones(after.len())].concat();
        if empty && sizes.iter().zip(&padded).all(|(a, b)| a.statically_eq(b.clone())) {
            // Nothing is repeated, and what is empty counts as contiguous.
            return Ok(geo::dense_strides(&sizes, &[]));
        }
        for index in self.indices.iter().flatten() {
            // An index has size one where the tensor's own dimensions are, and no stride where that is repeated.
            let own = geo::expand(&index.geometry(), &self.shape, "")?;
            let wide = geo::view_strides(&own, &padded)?.unwrap_or_else(|| geo::dense_strides(&padded, &[]));
            let repeated = |d: usize| padded[d].statically_eq(1) && !sizes[d].statically_eq(1);
            operands.push(wide.iter().enumerate().map(|(d, s)| if repeated(d) { 0 } else { s.hint().unwrap_or(1) }).collect());
        }
        Ok(geo::dense_strides(&sizes, &operands))
    }

    /// Row-major offsets into the indexed tensor of every element of the result, in the result's order.
    pub fn offsets(&self, sizes: &[usize]) -> Result<Vec<usize>> {
        let mut strides = vec![1usize; sizes.len()];
        for d in (0..sizes.len().saturating_sub(1)).rev() {
            strides[d] = strides[d + 1] * sizes[d + 1];
        }
        let walk = |dims: &[usize]| -> Vec<usize> {
            let mut at = vec![0];
            for d in dims {
                let (size, stride) = (sizes[*d], strides[*d]);
                at = at.iter().flat_map(|o| (0..size).map(move |i| o + i * stride)).collect();
            }
            at
        };
        let count = numel(&self.shape).guard_int()? as usize;
        let whole = |dims: &[usize]| dims.iter().all(|d| sizes[*d] > 0);
        if count == 0 || !whole(&self.order[..self.before]) || !whole(self.after()) {
            // Nothing is picked, and no index read.
            return Ok(Vec::new());
        }
        let mut picked = vec![0usize; count];
        let indexed = self.indices.iter().enumerate().filter_map(|(d, i)| i.as_ref().map(|i| (d, i)));
        for (ordinal, (d, index)) in indexed.enumerate() {
            let wide = index.view_as(geo::expand(&index.geometry(), &self.shape, "")?);
            for (at, position) in picked.iter_mut().zip(tensor::strided::integers(&wide)?) {
                let size = sizes[d] as i64;
                if position < -size || position >= size {
                    return Err(Error::index(format!("index {position} is out of bounds for dimension {ordinal} with size {size}")));
                }
                *at += position.rem_euclid(size) as usize * strides[d];
            }
        }
        let (before, after) = (walk(&self.order[..self.before]), walk(self.after()));
        let mut all = Vec::with_capacity(before.len() * count * after.len());
        for b in &before {
            for p in &picked {
                all.extend(after.iter().map(|a| b + p + a));
            }
        }
        Ok(all)
    }
}

fn index(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let tensor = call.tensor("self")?;
    let plan = Plan::new(tensor, call.get("indices").list()?)?;
    let sizes = plan.result_sizes(&tensor.sizes());
    let strides = plan.result_strides(tensor)?;
    Ok(vec![Some(TensorSpec::strided(sizes, strides, tensor.dtype(), tensor.device()))])
}

fn index_put(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, values) = (call.tensor("self")?, call.tensor("values")?);
    let mut given = call.get("indices").list()?.iter().filter_map(Value::as_tensor);
    if let (Some(index), None) = (given.next(), given.next())
        && index.dtype() == Dtype::UInt8
        && values.numel().statically_eq(1)
    {
        return Err(Error::runtime("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"));
    }
    let masked = call.get("indices").list()?.iter().filter_map(Value::as_tensor).any(|i| i.is_fake() && i.dtype() == Dtype::Bool);
    if !masked {
        let plan = Plan::new(tensor, call.get("indices").list()?)?;
        let wanted = plan.result_sizes(&tensor.sizes());
        if geo::expand(&values.geometry(), &wanted, "").is_err() {
            return Err(Error::runtime(format!(
                "shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape {}",
                geo::list(&values.sizes()),
                geo::list(&wanted)
            )));
        }
    }
    let listed = call.get("indices").list()?;
    let mut masks = listed.iter().filter_map(Value::as_tensor);
    let fills = values.numel().statically_eq(1) && masks.next().is_some_and(|m| m.dtype() == Dtype::Bool) && masks.next().is_none();
    // PyTorch's kernel asks: a graph of fake tensors may hold such a call.
    if tensor.dtype() != values.dtype() && !tensor.is_fake() && (!fills || call.bool("accumulate")?) {
        return Err(Error::runtime(format!(
            "Index put requires the source and destination dtypes match, got {} for the destination and {} for the source.",
            tensor.dtype().scalar_type(),
            values.dtype().scalar_type()
        )));
    }
    preserved(tensor)
}

/// Index tensors that were saved, as the list that the operator takes.
fn indices(b: &Backward) -> Value {
    b.arg("indices").clone()
}

fn index_put_grad(
    b: &Backward,
    put: fn(&Tensor, Value, Tensor) -> Result<Tensor>,
    get: fn(&Tensor, Value) -> Result<Tensor>,
) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "self", || {
        if b.call().bool("accumulate")? {
            return Ok(b.grad()?.clone());
        }
        let values = b.spec("values")?;
        put(b.grad()?, indices(b), zeros_of(values, &values.geometry.sizes)?)
    })?;
    grads.set(b, "values", || get(b.grad()?, indices(b)))?;
    Ok(grads)
}

/// How many elements of a broadcast mask are set.
fn selected(call: &Call) -> Result<(Vec<SymInt>, SymInt)> {
    let (tensor, mask) = (call.tensor("self")?, call.tensor("mask")?);
    if mask.dtype() != Dtype::Bool {
        return Err(Error::runtime("masked_select: expected BoolTensor for mask"));
    }
    let sizes = broadcast_two(&tensor.sizes(), &mask.sizes())?;
    let wide = mask.view_as(geo::expand(&mask.geometry(), &sizes, "")?);
    if wide.is_fake() {
        let count = dispatch::size_of_values(tensor.numel().as_int())?;
        return Ok((sizes, count));
    }
    let count = dense_bytes(&wide)?.iter().filter(|b| **b != 0).count() as i64;
    Ok((sizes, count.into()))
}

fn masked_scatter(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, mask, source) = (call.tensor("self")?, call.tensor("mask")?, call.tensor("source")?);
    if tensor.dtype() != source.dtype() {
        return Err(Error::runtime(format!(
            "masked_scatter: expected self and source to have same dtypes but got{} and {}",
            tensor.dtype().scalar_type(),
            source.dtype().scalar_type()
        )));
    }
    if mask.dtype() != Dtype::Bool {
        return Err(Error::runtime(format!(
            "masked_scatter_ only supports boolean masks, but got mask with dtype {}",
            mask.dtype().scalar_type()
        )));
    }
    Ok(like(tensor, broadcast_two(&tensor.sizes(), &mask.sizes())?))
}

fn nonzero_count(tensor: &Tensor) -> Result<SymInt> {
    if tensor.is_fake() {
        return dispatch::size_of_nonzero(tensor);
    }
    if tensor.dtype().is_complex() {
        return nonzero_count(&t!("ne.Scalar", tensor, 0)?);
    }
    Ok(SymInt::Int(numbers(tensor)?.iter().filter(|v| v.truth()).count() as i64))
}

/// Registers indexing by tensors.
pub fn register(b: &mut OpBuilder) {
    b.op("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", Rule::Fresh(index))
        .classes(OpClasses::RECOMPUTABLE)
        .batch(Batch::Rule(super::batch_rules::index))
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("IndexBackward", &["indices"], |b| {
            Grads::one(b, "self", || t!("index_put", new_zeros_like(b.grad()?, b.spec("self")?)?, indices(b), b.grad()?, true))
        });
    b.op("_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", Rule::Fresh(index))
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("UnsafeIndexBackward", &["indices"], |b| {
            Grads::one(b, "self", || t!("_unsafe_index_put", new_zeros_like(b.grad()?, b.spec("self")?)?, indices(b), b.grad()?, true))
        });
    b.op("index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", Rule::Fresh(index_put))
        .doc("Elements set at indices.")
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .grad("IndexPutBackward", &["indices"], |b| {
            index_put_grad(b, |g, i, zeros| t!("index_put", g, i, zeros, false), |g, i| t!("index.Tensor", g, i))
        })
        .inplace();
    b.op(
        "_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor",
        Rule::Fresh(|c| {
            let mut indices = c.get("indices").list()?.iter().filter_map(Value::as_tensor);
            if let Some(index) = indices.find(|index| !matches!(index.dtype(), Dtype::Int64 | Dtype::Int32)) {
                let dtype = index.dtype().scalar_type();
                return Err(Error::runtime(format!("_unsafe_masked_index found unexpected index type {dtype}")));
            }
            let specs = index(c)?;
            for spec in specs.iter().flatten() {
                super::shapes::need_broadcast_to(&spec.geometry.sizes, &[c.tensor("mask")?])?;
            }
            Ok(specs)
        }),
    )
    .complex(Complex::ByParts)
    .tags(Tags::COMPLEX_GRAD)
    .grad("UnsafeMaskedIndexBackward", &["mask", "indices"], |b| {
        Grads::one(b, "self", || {
            let zeros = new_zeros_like(b.grad()?, b.spec("self")?)?;
            t!("_unsafe_masked_index_put_accumulate", zeros, b.saved("mask")?, indices(b), b.grad()?)
        })
    });
    b.op(
        "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor",
        Rule::Fresh(index_put),
    )
    .complex(Complex::ByParts)
    .tags(Tags::COMPLEX_GRAD)
    .grad("UnsafeMaskedIndexPutAccumulateBackward", &["mask", "indices"], |b| {
        let mut grads = Grads::new(b);
        grads.set(b, "self", || Ok(b.grad()?.clone()))?;
        grads.set(b, "values", || t!("_unsafe_masked_index", b.grad()?, b.saved("mask")?, indices(b), 0))?;
        Ok(grads)
    });
    b.op("_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", Rule::Fresh(index_put))
        .tags(Tags::COMPLEX_GRAD)
        .complex(Complex::ByParts)
        .grad("UnsafeIndexPutBackward", &["indices"], |b| {
            index_put_grad(b, |g, i, zeros| t!("_unsafe_index_put", g, i, zeros, false), |g, i| t!("_unsafe_index.Tensor", g, i))
        });
    b.op("masked_select(Tensor self, Tensor mask) -> Tensor", Rule::Fresh(|c| Ok(like(c.tensor("self")?, vec![selected(c)?.1]))))
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .doc("The elements where a mask is true.")
        .auto_linear(&["self"])
        .tags(Tags::DYNAMIC_SHAPE)
        .grad("MaskedSelectBackward", &["self", "mask"], |b| {
            Grads::one(b, "self", || {
                let (tensor, mask) = (b.saved("self")?, b.saved("mask")?);
                let sizes = broadcast_two(&tensor.sizes(), &mask.sizes())?;
                t!("masked_scatter", t!("zeros_like", t!("expand", tensor, sizes)?)?, mask, b.grad()?)
            })
        });
    b.op("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", Rule::Fresh(masked_scatter))
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .doc("Elements of another tensor, in order, where a mask is true.")
        .grad("MaskedScatterBackward", &["mask"], |b| {
            let mut grads = Grads::new(b);
            grads.set(b, "self", || t!("masked_fill.Scalar", b.grad()?, b.saved("mask")?, 0))?;
            grads.set(b, "source", || t!("masked_scatter_backward", b.grad()?, b.saved("mask")?, b.sizes("source")?))?;
            Ok(grads)
        })
        .inplace();
    b.op(
        "masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor",
        Rule::Fresh(|c| Ok(like(c.tensor("grad_output")?, c.sym_ints("sizes")?))),
    )
    .complex(Complex::ByParts)
    .tags(Tags::COMPLEX_GRAD)
    .grad("MaskedScatterBackwardBackward", &["mask"], |b| {
        Grads::one(b, "grad_output", || {
            let output = b.spec("grad_output")?;
            t!("masked_scatter", zeros_of(output, &output.geometry.sizes)?, b.saved("mask")?, b.grad()?)
        })
    });
    b.op(
        "nonzero(Tensor self) -> Tensor",
        Rule::Fresh(|c| {
            let tensor = c.tensor("self")?;
            let (count, dims) = (nonzero_count(tensor)?, SymInt::Int(tensor.dim() as i64));
            let strides = vec![SymInt::Int(1), count.clone()];
            Ok(vec![Some(TensorSpec::strided(vec![count, dims], strides, Dtype::Int64, tensor.device()))])
        }),
    )
    .complex(Complex::Truth)
    .doc("The indices of elements that are not zero.")
    .tags(Tags::DYNAMIC_SHAPE)
    .not_differentiable();
    b.op(
        "nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
        Rule::Fresh(|c| {
            let tensor = c.tensor("self")?;
            let sizes = vec![c.sym_int("size")?, SymInt::Int(tensor.dim() as i64)];
            Ok(vec![Some(TensorSpec::contiguous(sizes, Dtype::Int64, tensor.device()))])
        }),
    )
    .complex(Complex::Truth)
    .not_differentiable();
    b.op("argwhere(Tensor self) -> Tensor", Rule::Composite(|c| t!("nonzero", c.tensor("self")?).map(Value::from)))
        .doc("The indices of elements that are not zero, a row each.");
    b.op("nonzero_numpy(Tensor self) -> Tensor[]", Rule::Composite(|c| positions_by_dimension(c.tensor("self")?))).function();
    b.op("where(Tensor condition) -> Tensor[]", Rule::Composite(|c| positions_by_dimension(c.tensor("condition")?)))
        .doc("Elements of one tensor or the other, by a condition; or the indices where it holds.")
        .tags(Tags::COMPLEX_GRAD);
}

/// `nonzero` as one tensor per dimension; a scalar counts as a vector.
fn positions_by_dimension(tensor: &Tensor) -> Result<Value> {
    let tensor = if tensor.dim() == 0 { t!("unsqueeze", tensor, 0)? } else { tensor.clone() };
    dispatch::aten!("unbind.int", t!("nonzero", tensor)?, 1)
}
