//! Reading and writing at positions along one dimension: gather, scatter, index_select and their kin.

use super::geometry as geo;
use super::joining::{like, preserved};
use super::shapes::wrap_dim;
use super::views::zeros_of;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Batch, Call, CastPolicy, Complex, Grads, OpBuilder, OpClasses, Rule, Tags, Value};
use shape::{Relation, SymInt};
use tensor::{Dtype, Layout, Tensor, TensorSpec};

/// `grad.new_zeros(sizes)` of the dtype and device of another tensor, as formulas with explicit options write it.
pub(super) fn new_zeros_like(grad: &Tensor, spec: &TensorSpec) -> Result<Tensor> {
    let layout = Value::Layout(Layout::Strided);
    t!("new_zeros", grad, &spec.geometry.sizes; dtype = spec.dtype, layout = layout, device = spec.device)
}

fn positions(index: &Tensor, name: &str) -> Result<()> {
    // What holds no positions may be of any dtype.
    if !matches!(index.dtype(), Dtype::Int64 | Dtype::Int32) && !index.numel().statically_eq(0) {
        return Err(Error::runtime(format!("{name}(): Expected dtype int32/int64 for index")));
    }
    Ok(())
}

/// A size, of a scalar taken as a vector of one.
fn size_at(sizes: &[SymInt], d: usize) -> SymInt {
    sizes.get(d).cloned().unwrap_or(SymInt::Int(1))
}

fn gather(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, index) = (call.tensor("self")?, call.tensor("index")?);
    let d = wrap_dim(call.int("dim")?, tensor.dim())?;
    positions(index, "gather")?;
    let (own, wanted) = (tensor.sizes(), index.sizes());
    if !index.numel().statically_eq(0) {
        if own.len().max(1) != wanted.len().max(1) {
            return Err(Error::runtime("Index tensor must have the same number of dimensions as input tensor"));
        }
        for i in 0..own.len().max(1) {
            if i != d && size_at(&wanted, i).compare(Relation::Gt, &size_at(&own, i))? {
                return Err(Error::runtime(format!(
                    "Size does not match at dimension {i} expected index {} to be no larger than self {} apart from dimension {d}",
                    geo::list(&wanted),
                    geo::list(&own)
                )));
            }
        }
    }
    Ok(like(tensor, wanted))
}

/// What every scatter checks of its index and source.
fn scatter(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, index) = (call.tensor("self")?, call.tensor("index")?);
    let reduces = call.entry.schema.name.starts_with("scatter_reduce");
    let d = wrap_dim(call.int("dim")?, tensor.dim())?;
    positions(index, "scatter")?;
    let source = call.opt_tensor("src");
    if let Some(source) = source
        && source.dtype() != tensor.dtype()
    {
        return Err(Error::runtime("scatter(): Expected self.dtype to be equal to src.dtype"));
    }
    let (own, wanted) = (tensor.sizes(), index.sizes());
    if !index.numel().statically_eq(0) {
        if own.len().max(1) != wanted.len().max(1) {
            return Err(Error::runtime("Index tensor must have the same number of dimensions as self tensor"));
        }
        let from = source.map(Tensor::sizes);
        if from.as_ref().is_some_and(|f| f.len().max(1) != wanted.len().max(1)) {
            return Err(Error::runtime("Index tensor must have the same number of dimensions as src tensor"));
        }
        let mut fits = true;
        for i in 0..own.len().max(1) {
            fits &= i == d || !size_at(&wanted, i).compare(Relation::Gt, &size_at(&own, i))?;
            if let Some(from) = &from {
                fits &= !size_at(&wanted, i).compare(Relation::Gt, &size_at(from, i))?;
            }
        }
        if !fits {
            let rest = from.map_or(String::new(), |f| format!(" and to be no larger size than src {}", geo::list(&f)));
            return Err(Error::runtime(format!(
                "Expected index {} to be no larger than self {} apart from dimension {d}{rest}",
                geo::list(&wanted),
                geo::list(&own)
            )));
        }
    }
    if !call.get("reduce").is_none() {
        let reduce = call.str("reduce")?;
        if !reduces && !matches!(reduce, "add" | "multiply") {
            return Err(Error::runtime("reduce argument must be either add or multiply."));
        }
        if reduces && !matches!(reduce, "sum" | "prod" | "mean" | "amax" | "amin" | "max" | "min") {
            return Err(Error::runtime(format!("reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")));
        }
    }
    Ok(like(tensor, own))
}

fn index_select(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, index) = (call.tensor("self")?, call.tensor("index")?);
    let d = wrap_dim(call.int("dim")?, tensor.dim())?;
    if index.dim() > 1 {
        return Err(Error::index("index_select(): Index is supposed to be a vector"));
    }
    if !matches!(index.dtype(), Dtype::Int64 | Dtype::Int32) {
        return Err(Error::runtime("index_select(): Expected dtype int32 or int64 for index"));
    }
    let mut sizes = tensor.sizes();
    if let Some(size) = sizes.get_mut(d) {
        *size = index.numel();
    }
    Ok(like(tensor, sizes))
}

/// What `index_add`, `index_copy` and `index_reduce` check.
fn index_source(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, index, source) = (call.tensor("self")?, call.tensor("index")?, call.tensor("source")?);
    let name = call.entry.schema.name.trim_end_matches('_');
    let d = wrap_dim(call.int("dim")?, tensor.dim())?;
    if index.dim() > 1 {
        let text = format!(
            "{name}_(): Index is supposed to be a vector, but got dim: {} with type: {} and size: {}",
            index.dim(),
            index.dtype().scalar_type(),
            geo::list(&index.sizes())
        );
        return Err(match name {
            "index_copy" => Error::index(format!("index_copy_(): Index should have dimension 1 or 0 (got {})", index.dim())),
            _ => Error::index(text),
        });
    }
    if !matches!(index.dtype(), Dtype::Int64 | Dtype::Int32) || (name == "index_copy" && index.dtype() != Dtype::Int64) {
        return Err(match name {
            "index_copy" => {
                Error::runtime(format!("index_copy_(): Expected a long tensor for index, but got {}", index.dtype().scalar_type()))
            }
            _ => Error::runtime(format!("{name}_(): Expected dtype int32/int64 for index but got: {}", index.dtype().scalar_type())),
        });
    }
    // PyTorch's kernels ask: a graph of fake tensors may hold such a call.
    if tensor.dtype() != source.dtype() && !tensor.is_fake() {
        return Err(Error::runtime(match name {
            "index_copy" => format!(
                "index_copy_(): self and source expected to have the same dtype, but got (self) {} and (source) {}",
                tensor.dtype().scalar_type(),
                source.dtype().scalar_type()
            ),
            _ => format!(
                "{name}_(): self ({}) and source ({}) must have the same scalar type",
                tensor.dtype().scalar_type(),
                source.dtype().scalar_type()
            ),
        }));
    }
    let (dims, from) = (tensor.dim(), source.dim());
    if name == "index_copy" && dims != from && dims > 0 && from > 0 {
        return Err(Error::index(format!(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source dimensionality ({from}), destination dimensionality ({dims})"
        )));
    }
    if name != "index_copy" && d > 0 && d >= from {
        return Err(Error::runtime(format!("{name}_(): Indexing dim {d} is out of bounds of the source tensor with dim {from}")));
    }
    if dims != from && dims.max(from) > 1 {
        return Err(Error::runtime(format!(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = {} source.shape = {}",
            geo::list(&tensor.sizes()),
            geo::list(&source.sizes())
        )));
    }
    let count = size_at(&source.sizes(), d);
    if !index.numel().sym_eq(count.clone())? {
        let text = format!("{name}_(): Number of indices ({}) should be equal to source.size(dim)", index.numel());
        return Err(match name {
            "index_copy" => Error::index(format!("{text} ({count})")),
            _ => Error::runtime(format!("{text}: ({count}), for dim: {d}")),
        });
    }
    let (mut own, mut from) = (tensor.sizes(), source.sizes());
    if !own.is_empty() && !from.is_empty() && own.len() == from.len() {
        own.remove(d);
        from.remove(d);
        if !geo::same_sizes(&own, &from)? {
            return Err(Error::runtime(match name {
                "index_copy" => format!(
                    "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: {} at dimension {d} and source slice shape: {} at dimension {d}.",
                    geo::list(&own).replace([',', '[', ']'], ""),
                    geo::list(&from).replace([',', '[', ']'], "")
                ),
                _ => format!(
                    "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = {} source.shape = {}",
                    geo::list(&tensor.sizes()),
                    geo::list(&source.sizes())
                ),
            }));
        }
    }
    Ok(like(tensor, tensor.sizes()))
}

fn index_fill(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, index) = (call.tensor("self")?, call.tensor("index")?);
    wrap_dim(call.int("dim")?, tensor.dim())?;
    if index.dtype() != Dtype::Int64 {
        return Err(Error::index("index_fill_(): Expected dtype int64 for index."));
    }
    if index.dim() > 1 {
        return Err(Error::runtime("Index has to be a vector/scalar"));
    }
    if let Value::Tensor(value) = call.get("value")
        && value.dim() != 0
    {
        return Err(Error::runtime(format!(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
            value.dim()
        )));
    }
    if matches!(call.get("value"), Value::Complex(..)) && !tensor.dtype().is_complex() {
        return Err(Error::runtime("index_fill_(): Converting complex Scalar to non-complex type is not supported"));
    }
    preserved(tensor)
}

/// The gradient of what `index_select` of the same index read.
fn source_grad(b: &Backward) -> Result<Tensor> {
    let (dim, index, source) = (b.arg("dim"), b.saved("index")?, b.sizes("source")?);
    if source.is_empty() {
        return t!("index_select", b.grad()?, dim, t!("squeeze.dim", index, 0)?);
    }
    t!("expand", t!("index_select", b.grad()?, dim, index)?, source)
}

fn put(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, index, source) = (call.tensor("self")?, call.tensor("index")?, call.tensor("source")?);
    if index.dtype() != Dtype::Int64 {
        return Err(Error::runtime(format!("put_(): Expected a long tensor for index, but got {}", index.dtype().scalar_type())));
    }
    if tensor.dtype() != source.dtype() {
        return Err(Error::runtime(format!(
            "put_(): self and source expected to have the same dtype, but got self.dtype = {} and source.dtype = {}",
            tensor.dtype().scalar_type(),
            source.dtype().scalar_type()
        )));
    }
    if !super::shapes::may_be_same(&[index.numel()], &[source.numel()]) {
        return Err(Error::index(format!(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = {}, index.numel() = {}",
            source.numel(),
            index.numel()
        )));
    }
    preserved(tensor)
}

fn take_along_dim(call: &Call) -> Result<Value> {
    let (tensor, indices) = (call.tensor("self")?, call.tensor("indices")?);
    if indices.dtype() != Dtype::Int64 {
        return Err(Error::runtime(
            "torch.take_along_dim(): dtype of indices should be Long but got ".to_owned() + indices.dtype().scalar_type(),
        ));
    }
    let Value::Int(_) = call.get("dim") else {
        let flat = t!("view", super::view_composites::contiguous(tensor)?, vec![-1i64])?;
        let places = t!("view", super::view_composites::contiguous(indices)?, vec![-1i64])?;
        return t!("gather", flat, 0, places).map(Value::from);
    };
    if tensor.dim() != indices.dim() {
        return Err(Error::runtime(format!(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got {} dimensions for input, and {} dimensions for indices",
            tensor.dim(),
            indices.dim()
        )));
    }
    let d = super::shapes::dim_of(tensor, call.int("dim")?)?;
    let with = |t: &Tensor, size: SymInt| -> Vec<SymInt> {
        let mut sizes = t.sizes();
        sizes[d] = size;
        sizes
    };
    let all = super::shapes::broadcast_two(&with(tensor, indices.size(d)), &indices.sizes())?;
    let expand = |t: &Tensor, size: SymInt| -> Result<Tensor> {
        let mut sizes = all.clone();
        sizes[d] = size;
        t!("expand", t, sizes)
    };
    let places = expand(indices, indices.size(d))?;
    let whole = expand(tensor, tensor.size(d))?;
    let places = t!("remainder.Scalar", places, tensor.size(d))?;
    t!("gather", whole, d, places).map(Value::from)
}

/// Gradients of `scatter_reduce` and `index_reduce`, which only differ in how they read and add at positions.
struct Reduction<'a> {
    b: &'a Backward<'a>,
    index: &'a Tensor,
    read: fn(&Backward, &Tensor, &Tensor) -> Result<Tensor>,
    add: fn(&Backward, &Tensor, &Tensor, &Tensor) -> Result<Tensor>,
    again: fn(&Backward, &Tensor, &Tensor, &Tensor) -> Result<Tensor>,
}

impl Reduction<'_> {
    fn grads(&self, source_name: &'static str, clear: fn(&Backward, &Tensor, &Tensor) -> Result<Tensor>) -> Result<Grads> {
        let b = self.b;
        let mut grads = Grads::new(b);
        let (grad, include) = (b.grad()?, b.call().bool("include_self")?);
        let mut own = None;
        let source;
        match b.call().str("reduce")? {
            "sum" => {
                own = Some(grad.clone());
                source = (self.read)(b, grad, self.index)?;
            }
            "mean" => {
                let base = if include { t!("ones_like", grad)? } else { t!("zeros_like", grad)? };
                let mut count = (self.add)(b, &base, self.index, &t!("ones_like", b.saved(source_name)?)?)?;
                count = t!("masked_fill_.Scalar", &count, t!("eq.Scalar", &count, 0)?, 1)?;
                own = Some(t!("div.Tensor", grad, &count)?);
                let shares = (self.read)(b, &count, self.index)?;
                source = t!("div.Tensor", (self.read)(b, grad, self.index)?, shares)?;
            }
            "prod" => {
                let (input, given, result) = (b.saved("self")?, b.saved(source_name)?, b.result(0)?);
                if b.needs("self") {
                    let safe = t!("masked_fill.Scalar", input, t!("eq.Scalar", input, 0)?, 1)?;
                    let product = (self.again)(b, &safe, self.index, given)?;
                    own = Some(t!("div.Tensor", t!("mul.Tensor", grad, product)?, &safe)?);
                }
                let zero = t!("eq.Scalar", given, 0)?;
                let counts = (self.add)(b, &t!("zeros_like", input)?, self.index, &t!("_to_copy", &zero; dtype = input.dtype())?)?;
                let zeros_there = (self.read)(b, &counts, self.index)?;
                let single = t!("bitwise_and.Tensor", &zero, t!("eq.Scalar", zeros_there, 1)?)?;
                let without = t!("masked_fill.Scalar", given, &single, 1)?;
                let product = (self.again)(b, input, self.index, &without)?;
                let safe = t!("masked_fill.Scalar", given, &zero, 1)?;
                let plain = t!("div.Tensor", (self.read)(b, &t!("mul.Tensor", grad, result)?, self.index)?, safe)?;
                let lone = (self.read)(b, &t!("mul.Tensor", grad, product)?, self.index)?;
                source = t!("where.self", single, lone, plain)?;
            }
            _ => {
                let (input, given, result) = (b.saved("self")?, b.saved(source_name)?, b.result(0)?);
                let value = (self.read)(b, result, self.index)?;
                let dtype = grad.dtype();
                let own_hits = t!("_to_copy", t!("eq.Tensor", input, result)?; dtype = dtype)?;
                let hits = t!("_to_copy", t!("eq.Tensor", given, &value)?; dtype = dtype)?;
                let shared = t!("div.Tensor", grad, (self.add)(b, &own_hits, self.index, &hits)?)?;
                own = Some(t!("mul.Tensor", t!("eq.Tensor", input, result)?, &shared)?);
                let part = (self.read)(b, &shared, self.index)?;
                source = t!("mul.Tensor", t!("eq.Tensor", given, value)?, part)?;
            }
        }
        if let Some(own) = own {
            let own = if include || !b.needs("self") { own } else { clear(b, &own, self.index)? };
            grads.put(b, "self", Some(own))?;
        }
        grads.put(b, source_name, Some(source))?;
        Ok(grads)
    }
}

fn scatter_reduce_grad(b: &Backward) -> Result<Grads> {
    Reduction {
        b,
        index: b.saved("index")?,
        read: |b, t, i| t!("gather", t, b.arg("dim"), i),
        add: |b, t, i, s| t!("scatter_add", t, b.arg("dim"), i, s),
        again: |b, t, i, s| t!("scatter_reduce.two", t, b.arg("dim"), i, s, "prod"; include_self = b.arg("include_self")),
    }
    .grads("src", |b, t, i| t!("scatter.value", t, b.arg("dim"), i, 0))
}

/// Registers gathers and scatters.
pub fn register(b: &mut OpBuilder) {
    b.op("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", Rule::Fresh(gather))
        .tags(Tags::COMPLEX_GRAD)
        .doc("Elements by index along a dimension.")
        .classes(OpClasses::RECOMPUTABLE)
        .batch(Batch::Shifted)
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .grad("GatherBackward", &["index"], |b| {
            Grads::one(b, "self", || {
                let zeros = t!("new_zeros", b.grad()?, b.sizes("self")?)?;
                t!("scatter_add", zeros, b.arg("dim"), b.saved("index")?, b.grad()?)
            })
        });
    b.op("scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", Rule::Fresh(scatter))
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .batch(Batch::Shifted)
        .grad("ScatterBackward", &["index"], scatter_grad)
        .inplace();
    b.op("scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", Rule::Fresh(scatter))
        .complex(Complex::ByParts)
        .batch(Batch::Shifted)
        .grad("ScatterBackward1", &["index"], scatter_grad)
        .inplace();
    b.op("scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", Rule::Fresh(scatter))
        .doc("Elements written at indices along a dimension.")
        .batch(Batch::Shifted)
        .inplace();
    b.op("scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor", Rule::Fresh(scatter))
        .batch(Batch::Shifted)
        .inplace();
    b.op("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", Rule::Fresh(scatter))
        .tags(Tags::COMPLEX_GRAD)
        .doc("Elements added at indices along a dimension.")
        .batch(Batch::Shifted)
        .complex(Complex::ByParts)
        .grad("ScatterAddBackward", &["index"], |b| {
            let mut grads = Grads::new(b);
            grads.set(b, "self", || Ok(b.grad()?.clone()))?;
            grads.set(b, "src", || t!("gather", b.grad()?, b.arg("dim"), b.saved("index")?))?;
            Ok(grads)
        })
        .inplace();
    b.op(
        "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
        Rule::Fresh(scatter),
    )
    .doc("Elements reduced into indices along a dimension.")
    .batch(Batch::Shifted)
    .grad("ScatterReduceBackward", &["self", "index", "src", "result"], scatter_reduce_grad)
    .inplace();
    b.op("index_select(Tensor self, int dim, Tensor index) -> Tensor", Rule::Fresh(index_select))
        .doc("Rows by index.")
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("IndexSelectBackward", &["index"], |b| {
            Grads::one(b, "self", || {
                let zeros = new_zeros_like(b.grad()?, &TensorSpec { dtype: b.grad()?.dtype(), ..b.spec("self")?.clone() })?;
                t!("index_add", zeros, b.arg("dim"), b.saved("index")?, b.grad()?)
            })
        });
    b.op("index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", Rule::Fresh(index_source))
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .doc("Rows added at indices.")
        .batch(Batch::Rule(super::batch_rules::at_positions))
        .grad("IndexAddBackward", &["index"], |b| {
            let mut grads = Grads::new(b);
            grads.set(b, "self", || Ok(b.grad()?.clone()))?;
            grads.set(b, "source", || {
                let part = source_grad(b)?;
                match b.arg("alpha") {
                    Value::Int(SymInt::Int(1)) => Ok(part),
                    Value::Float(1.0) => Ok(part),
                    alpha => t!("mul.Scalar", part, super::common::conjugate_number(alpha)),
                }
            })?;
            Ok(grads)
        })
        .inplace();
    b.op("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", Rule::Fresh(index_source))
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .doc("Rows copied to indices.")
        .method()
        .autocast(CastPolicy::Promote)
        .grad("IndexCopyBackward", &["index"], |b| {
            let mut grads = Grads::new(b);
            grads.set(b, "self", || t!("index_fill.int_Scalar", b.grad()?, b.arg("dim"), b.saved("index")?, 0))?;
            grads.set(b, "source", || source_grad(b))?;
            Ok(grads)
        })
        .inplace();
    b.op(
        "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
        Rule::Fresh(index_source),
    )
    .doc("Rows reduced into indices.")
    .grad("IndexReduceBackward", &["self", "index", "source", "result"], |b| {
        Reduction {
            b,
            index: b.saved("index")?,
            read: |b, t, i| t!("index_select", t, b.arg("dim"), i),
            add: |b, t, i, s| t!("index_add", t, b.arg("dim"), i, s),
            again: |b, t, i, s| t!("index_reduce", t, b.arg("dim"), i, s, "prod"; include_self = b.arg("include_self")),
        }
        .grads("source", |b, t, i| t!("index_fill.int_Scalar", t, b.arg("dim"), i, 0))
    })
    .inplace();
    b.op("index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", Rule::Fresh(index_fill))
        .tags(Tags::COMPLEX_GRAD)
        .doc("Rows at indices filled.")
        .complex(Complex::ByParts)
        .grad("IndexFillBackward", &["index"], index_fill_grad)
        .inplace();
    b.op("index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", Rule::Fresh(index_fill))
        .complex(Complex::ByParts)
        .grad("IndexFillBackward1", &["index"], index_fill_grad)
        .inplace();
    b.op("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", Rule::Composite(take_along_dim))
        .doc("Elements by index along a dimension, broadcast.");
    b.op("take(Tensor self, Tensor index) -> Tensor", Rule::Fresh(|c| Ok(like(c.tensor("self")?, c.tensor("index")?.sizes()))))
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .doc("Elements by flat index.")
        .auto_linear(&["self"])
        .grad("TakeBackward", &["self", "index"], |b| {
            Grads::one(b, "self", || t!("put", t!("zeros_like", b.saved("self")?)?, b.saved("index")?, b.grad()?, true))
        });
    b.op("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", Rule::Fresh(put))
        .complex(Complex::ByParts)
        .tags(Tags::COMPLEX_GRAD)
        .doc("Elements set by flat index.")
        .grad("PutBackward", &["index"], |b| {
            let mut grads = Grads::new(b);
            grads.set(b, "self", || {
                if b.call().bool("accumulate")? {
                    return Ok(b.grad()?.clone());
                }
                let source = b.spec("source")?;
                t!("put", b.grad()?, b.saved("index")?, zeros_of(source, &source.geometry.sizes)?, false)
            })?;
            grads.set(b, "source", || t!("reshape", t!("take", b.grad()?, b.saved("index")?)?, b.sizes("source")?))?;
            Ok(grads)
        })
        .inplace();
}

fn scatter_grad(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "self", || t!("scatter.value", b.grad()?, b.arg("dim"), b.saved("index")?, 0))?;
    if b.entry.schema.position("src").is_some() {
        grads.set(b, "src", || t!("gather", b.grad()?, b.arg("dim"), b.saved("index")?))?;
    }
    Ok(grads)
}

fn index_fill_grad(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    let (dim, index) = (b.arg("dim"), b.saved("index")?);
    grads.set(b, "self", || t!("index_fill.int_Scalar", b.grad()?, dim, index, 0))?;
    if b.needs("value") {
        let places = dispatch::aten!("_unique", index, false)?.list()?[0].tensor()?.clone();
        grads.set(b, "value", || t!("sum", t!("index_select", b.grad()?, dim, places)?))?;
    }
    Ok(grads)
}
