//! Order: sort, topk, unique values, searches in sorted sequences, counting.

use super::joining::{like, preserved};
use super::shapes::wrap_dim;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Batch, Call, Grads, OpBuilder, Rule, Tags, Value};
use shape::{Relation, SymInt, ints};
use tensor::strided::integers;
use tensor::{Dtype, Tensor, TensorSpec};

fn with_indices(mut values: Vec<Option<TensorSpec>>) -> Vec<Option<TensorSpec>> {
    let indices = values[0].clone().map(|v| TensorSpec { dtype: Dtype::Int64, ..v });
    values.push(indices);
    values
}

fn sort(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let tensor = call.tensor("self")?;
    wrap_dim(call.int("dim")?, tensor.dim())?;
    Ok(with_indices(preserved(tensor)?))
}

fn topk(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, k) = (call.tensor("self")?, call.sym_int("k")?);
    let d = wrap_dim(call.int("dim")?, tensor.dim())?;
    let mut sizes = tensor.sizes();
    let size = sizes.get(d).cloned().unwrap_or(SymInt::Int(1));
    if k.compare(Relation::Lt, &SymInt::Int(0))? || k.compare(Relation::Gt, &size)? {
        return Err(Error::runtime("selected index k out of range"));
    }
    if let Some(size) = sizes.get_mut(d) {
        *size = k;
    }
    Ok(with_indices(like(tensor, sizes)))
}

/// `kthvalue` and `mode`: one value per row.
fn one_of_row(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let tensor = call.tensor("self")?;
    let d = wrap_dim(call.int("dim")?, tensor.dim())?;
    let mut sizes = tensor.sizes();
    if call.entry.base_name() == "mode" && sizes.get(d).is_some_and(|size| size.as_int() == Some(0)) {
        return Err(Error::index(format!("mode(): Expected reduction dim {d} to have non-zero size.")));
    }
    if let Value::Int(k) = call.get("k") {
        let size = sizes.get(d).cloned().unwrap_or(SymInt::Int(1));
        if k.compare(Relation::Lt, &SymInt::Int(1))? || k.compare(Relation::Gt, &size)? {
            return Err(Error::runtime(format!("kthvalue(): selected number k out of range for dimension {d}")));
        }
    }
    if !sizes.is_empty() {
        if call.bool("keepdim")? {
            sizes[d] = SymInt::Int(1);
        } else {
            sizes.remove(d);
        }
    }
    Ok(with_indices(like(tensor, sizes)))
}

/// The gradient of values that were selected along a dimension goes to where they came from.
pub fn value_selecting_grad(grad: &Tensor, dim: &Value, indices: &Tensor, sizes: &[SymInt], keepdim: bool) -> Result<Tensor> {
    let spread = |grad: &Tensor, indices: &Tensor| t!("scatter.src", t!("new_zeros", grad, sizes)?, dim, indices, grad);
    if !keepdim && !sizes.is_empty() {
        return spread(&t!("unsqueeze", grad, dim)?, &t!("unsqueeze", indices, dim)?);
    }
    spread(grad, indices)
}

fn selecting_grad(b: &Backward) -> Result<Grads> {
    let keepdim = match b.arg("keepdim") {
        Value::None => true,
        given => given.bool()?,
    };
    let mut grads = Grads::new(b);
    if b.grads.first().is_some_and(Option::is_some) {
        grads.set(b, "self", || value_selecting_grad(b.grad()?, b.arg("dim"), b.result(1)?, &b.sizes("self")?, keepdim))?;
    }
    Ok(grads)
}

fn positions_like(tensor: &Tensor, sizes: Vec<SymInt>, small: bool) -> Vec<Option<TensorSpec>> {
    let dtype = if small { Dtype::Int32 } else { Dtype::Int64 };
    vec![Some(TensorSpec::contiguous(sizes, dtype, tensor.device()))]
}

fn searchsorted(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let sequence = match call.get("sorted_sequence") {
        Value::Tensor(t) => t,
        _ => call.tensor("boundaries")?,
    };
    let sizes = call.opt_tensor("self").map_or(vec![], Tensor::sizes);
    let own = sequence.sizes();
    if call.get("sorted_sequence").is_none() {
        if own.len() != 1 && !sequence.is_fake() {
            return Err(Error::runtime(format!("boundaries tensor must be 1 dimension, but got dim({})", own.len())));
        }
    } else if own.is_empty() {
        return Err(Error::runtime(
            "torch.searchsorted(): input value can be a scalar only when sequence tensor dimension is 1, but we got sequence with dim(0)",
        ));
    } else if own.len() > 1 {
        let same = own.len() == sizes.len() && super::geometry::same_sizes(&own[..own.len() - 1], &sizes[..own.len() - 1])?;
        if !same {
            return Err(Error::runtime(format!(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor must match, but we got boundaries tensor {} and input value tensor {}",
                super::geometry::list(&own),
                super::geometry::list(&sizes)
            )));
        }
    }
    if let Some(sorter) = call.opt_tensor("sorter")
        && !super::shapes::may_be_same(&sorter.sizes(), &own)
    {
        return Err(Error::runtime(format!(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor {}and got sorter tensor {}",
            super::geometry::list(&own),
            super::geometry::list(&sorter.sizes())
        )));
    }
    if !call.get("side").is_none() {
        let side = call.str("side")?;
        if !matches!(side, "left" | "right") {
            return Err(Error::runtime(format!("torch.searchsorted(): side can only be 'left' or 'right' but got {side}")));
        }
        if side == "left" && call.bool("right")? {
            return Err(Error::runtime(
                "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True",
            ));
        }
    }
    Ok(positions_like(sequence, sizes, call.bool("out_int32")?))
}

fn bincount(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let tensor = call.tensor("self")?;
    if !matches!(tensor.dtype(), Dtype::Int64 | Dtype::Int32 | Dtype::Int16 | Dtype::Int8 | Dtype::UInt8) {
        return Err(Error::not_implemented(format!("\"bincount_cpu\" not implemented for '{}'", tensor.dtype().scalar_type())));
    }
    let least = call.int("minlength")?;
    if least < 0 {
        return Err(Error::runtime("minlength should be >= 0"));
    }
    if tensor.is_fake() {
        let length = match tensor.numel().as_int() {
            Some(0) => SymInt::Int(least),
            _ => dispatch::size_of_values(None)?,
        };
        let dtype = match call.opt_tensor("weights").filter(|_| length.as_int().is_none()) {
            None => Dtype::Int64,
            Some(w) if w.dtype() == Dtype::Float32 => Dtype::Float32,
            Some(_) => Dtype::Float64,
        };
        return Ok(vec![Some(TensorSpec::contiguous(vec![length], dtype, tensor.device()))]);
    }
    let values = integers(tensor)?;
    if tensor.dim() != 1 || values.iter().any(|v| *v < 0) {
        return Err(Error::runtime("bincount only supports 1-d non-negative integral inputs."));
    }
    let dtype = match call.opt_tensor("weights") {
        // Of nothing PyTorch counts before it looks at weights.
        _ if values.is_empty() => Dtype::Int64,
        None => Dtype::Int64,
        Some(w) if w.dim() != 1 || !w.size(0).sym_eq(tensor.size(0))? => {
            return Err(Error::runtime("weights should be 1-d and have the same length as input"));
        }
        Some(w) if w.dtype() == Dtype::Float32 => Dtype::Float32,
        Some(_) => Dtype::Float64,
    };
    let length = values.iter().max().map_or(0, |m| m + 1).max(least);
    Ok(vec![Some(TensorSpec::contiguous(ints(&[length]), dtype, tensor.device()))])
}

/// What the distinct elements of a tensor look like, with where each was found and how often, where that is asked for.
fn distinct(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let tensor = c.tensor("self")?;
    let along = match c.entry.schema.arguments.iter().any(|a| a.name == "dim") && !c.get("dim").is_none() {
        true => Some(super::shapes::dim_of(tensor, c.int("dim")?)?),
        false => None,
    };
    let whole = along.map_or_else(|| tensor.numel(), |d| tensor.size(d));
    let count = dispatch::size_of_values(whole.as_int())?;
    let mut sizes = vec![count.clone()];
    if let Some(d) = along {
        sizes = tensor.sizes();
        sizes[d] = count.clone();
    }
    let asked = |name: &str| Ok::<bool, Error>(c.entry.schema.arguments.iter().any(|a| a.name == name) && c.bool(name)?);
    let numbers = |is_asked: bool, sizes: Vec<SymInt>| {
        let sizes = if is_asked { sizes } else { vec![SymInt::Int(0)] };
        Some(TensorSpec::contiguous(sizes, Dtype::Int64, tensor.device()))
    };
    let places = if along.is_some() { vec![whole] } else { tensor.sizes() };
    let mut specs = vec![Some(TensorSpec::contiguous(sizes, tensor.dtype(), tensor.device())), numbers(asked("return_inverse")?, places)];
    if c.entry.schema.returns.len() > 2 {
        specs.push(numbers(asked("return_counts")?, vec![count]));
    }
    Ok(specs)
}

/// Registers sorting and counting.
pub fn register(b: &mut OpBuilder) {
    b.op("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", Rule::Fresh(sort))
        .doc("Sorted, and the indices that sort.")
        .refuses("c", "T: Sort does not support complex dtypes on CPU")
        .batch(Batch::Shifted)
        .grad("SortBackward", &["result1"], selecting_grad)
        .indices_without_grad(&[1]);
    b.op(
        "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
        Rule::Fresh(sort),
    )
    .batch(Batch::Shifted)
    .grad("SortBackward1", &["result1"], selecting_grad)
    .indices_without_grad(&[1]);
    b.op(
        "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
        Rule::Composite(|c| Ok(dispatch::aten!("sort", c.tensor("self")?, c.get("dim"), c.get("descending"))?.list()?[1].clone())),
    )
    .doc("The indices that would sort.");
    b.op(
        "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
        Rule::Composite(|c| {
            let (stable, dim, descending) = (c.get("stable"), c.get("dim"), c.get("descending"));
            Ok(dispatch::aten!("sort.stable", c.tensor("self")?; stable = stable, dim = dim, descending = descending)?.list()?[1].clone())
        }),
    );
    b.op("msort(Tensor self) -> Tensor", Rule::Composite(|c| Ok(dispatch::aten!("sort", c.tensor("self")?, 0, false)?.list()?[0].clone())))
        .doc("Sorted along the first dimension.");
    b.op(
        "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
        Rule::Fresh(topk),
    )
    .doc("The k largest and where they are.")
    .refuses("b", "topk does not support bool dtypes on CPU")
    .refuses("c", "T: topk does not support complex dtypes on CPU")
    .batch(Batch::Shifted)
    .grad("TopkBackward", &["result1"], selecting_grad)
    .indices_without_grad(&[1]);
    b.op("kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", Rule::Fresh(one_of_row))
        .doc("The k-th smallest and where it is.")
        .refuses("b", "kthvalue_cpu")
        .batch(Batch::Shifted)
        .grad("KthvalueBackward", &["result1"], selecting_grad)
        .indices_without_grad(&[1]);
    b.op("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", Rule::Fresh(one_of_row))
        .doc("The most frequent value and where it is.")
        .batch(Batch::Shifted)
        .grad("ModeBackward", &["result1"], selecting_grad)
        .indices_without_grad(&[1]);
    b.op("_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)", Rule::Data)
        .tags(Tags::DYNAMIC_SHAPE)
        .looks_like(distinct)
        .not_differentiable();
    b.op(
        "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
        Rule::Data,
    )
    .refuses("c", "unique")
    .tags(Tags::DYNAMIC_SHAPE)
    .looks_like(distinct)
    .not_differentiable();
    b.op(
        "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
        Rule::Data,
    )
    .tags(Tags::DYNAMIC_SHAPE)
    .looks_like(distinct)
    .not_differentiable();
    b.op(
        "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
        Rule::Data,
    ).function()
    .tags(Tags::DYNAMIC_SHAPE)
    .looks_like(distinct)
    .not_differentiable();
    for own in ["Tensor", "Scalar"] {
        b.op(
            &format!(
                "searchsorted.{own}(Tensor sorted_sequence, {own} self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor"
            ),
            Rule::Fresh(searchsorted),
        ).doc("Where values belong in sorted sequences.").refuses("b", "searchsorted_out_cpu")
        .not_differentiable();
        b.op(
            &format!("bucketize.{own}({own} self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor"),
            Rule::Fresh(searchsorted),
        )
        .doc("The buckets that values fall into.")
        .function()
        .refuses("b", "searchsorted_out_cpu")
        .not_differentiable();
    }
    b.op("bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", Rule::Fresh(bincount))
        .doc("How often every number occurs.")
        .tags(Tags::DYNAMIC_SHAPE)
        .not_differentiable();
    b.op(
        "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
        Rule::Fresh(|c| {
            let bins = c.int("bins")?;
            if bins <= 0 {
                return Err(Error::runtime(format!("torch.histogram(): bins must be > 0, but got {bins} for dimension 0")));
            }
            Ok(like(c.tensor("self")?, ints(&[bins])))
        }),
    )
    .refuses("c", "T:aminmax not implemented for ComplexFloat")
    .doc("Counts per bin.")
    .not_differentiable();
    for (elements, tests) in [
        ("Tensor elements", "Tensor test_elements"),
        ("Tensor elements", "Scalar test_element"),
        ("Scalar element", "Tensor test_elements"),
    ] {
        let overload = format!("{}_{}", &elements[..6], &tests[..6]);
        b.op(
            &format!("isin.{overload}({elements}, {tests}, *, bool assume_unique=False, bool invert=False) -> Tensor"),
            Rule::Fresh(|c| {
                let sizes = c.args[0].as_tensor().map_or(vec![], Tensor::sizes);
                let device = c.args.iter().find_map(Value::as_tensor).map_or(tensor::Device::CPU, Tensor::device);
                // Tracing compares every element with every other and reduces.
                match c.args[0].as_tensor().filter(|t| t.is_fake()) {
                    Some(t) => super::common::one(&[&Value::from(t)], Dtype::Bool),
                    None => Ok(vec![Some(TensorSpec::contiguous(sizes, Dtype::Bool, device))]),
                }
            }),
        )
        .doc("Whether elements are among given ones.")
        .refuses("+b", "Unsupported input type encountered for isin(): Bool")
        .not_differentiable();
    }
}
