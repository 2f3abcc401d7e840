//! Views composed of other views: what tracing never sees, because it takes itself apart above autograd.

use super::geometry as geo;
use super::shapes::{broadcast, wrap_dim};
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Batch, Call, Key, OpBuilder, OpClasses, Rule, Tags, Value, add_sizes, divide_sizes, has_layer, subtract_sizes};
use shape::{Relation, SymInt};
use tensor::{Geometry, MemoryFormat, Tensor};

fn own(call: &Call) -> Result<Tensor> {
    call.tensor("self").cloned()
}

/// The tensor itself where it is contiguous, else a contiguous clone.
pub fn contiguous(tensor: &Tensor) -> Result<Tensor> {
    dispatch::ask_contiguity(tensor)?;
    if tensor.is_contiguous()? { Ok(tensor.clone()) } else { t!("clone", tensor; memory_format = MemoryFormat::Contiguous) }
}

/// `reshape`: a view where strides allow it, else a copy.
pub fn reshape(tensor: &Tensor, shape: &[SymInt]) -> Result<Tensor> {
    dispatch::ask_contiguity(tensor)?;
    if tensor.is_contiguous()? {
        return t!("view", tensor, shape);
    }
    let computed = dispatch::ask_view(tensor, shape)?;
    let inferred = geo::infer_size(shape, &tensor.numel())?;
    let sizes = computed.unwrap_or(inferred);
    match geo::view_strides(&tensor.geometry(), &sizes)? {
        Some(_) if tensor.is_fake() || has_layer(Key::Trace) => t!("view", tensor, sizes),
        Some(strides) => t!("_reshape_alias", tensor, sizes, strides),
        None => t!("_unsafe_view", t!("clone", tensor; memory_format = MemoryFormat::Contiguous)?, sizes),
    }
}

fn flatten(call: &Call) -> Result<Value> {
    let tensor = own(call)?;
    let n = tensor.dim();
    let (start, end) = (wrap_dim(call.int("start_dim")?, n)?, wrap_dim(call.int("end_dim")?, n)?);
    if start > end {
        return Err(Error::runtime("flatten() has invalid args: start_dim cannot come after end_dim"));
    }
    if n == 0 {
        return reshape(&tensor, &[SymInt::Int(1)]).map(Value::from);
    }
    if start == end {
        return Ok(tensor.into());
    }
    let mut sizes = tensor.sizes();
    let product = dispatch::multiply(&sizes[start..=end])?;
    sizes.splice(start..=end, [product]);
    reshape(&tensor, &sizes).map(Value::from)
}

fn unflatten(call: &Call) -> Result<Value> {
    let (tensor, given) = (own(call)?, call.sym_ints("sizes")?);
    let d = wrap_dim(call.int("dim")?, tensor.dim())?;
    if given.is_empty() {
        return Err(Error::runtime("unflatten: sizes must be non-empty"));
    }
    if tensor.dim() == 0 {
        return Err(Error::runtime("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions"));
    }
    let size = tensor.size(d);
    let parts = geo::infer_size(&given, &size).map_err(|e| {
        if !e.message.contains("is invalid for input of size") {
            return Error::runtime(format!("unflatten got an unexpected error:\n{}", e.message));
        }
        Error::runtime(format!(
            "unflatten: Provided sizes {} don't multiply up to the size of dim {d} ({size}) in the input tensor",
            geo::list(&given)
        ))
    })?;
    let mut sizes = tensor.sizes();
    sizes.splice(d..=d, parts);
    t!("view", tensor, sizes).map(Value::from)
}

fn movedim(call: &Call) -> Result<Value> {
    let (tensor, source, destination) = (own(call)?, call.ints("source")?, call.ints("destination")?);
    let n = tensor.dim();
    if source.len() != destination.len() {
        return Err(Error::runtime(format!(
            "movedim: Invalid source or destination dims: source ({source:?} dims) should contain the same number of dims as destination ({destination:?} dims)"
        )));
    }
    let unique = |dims: &[i64], what: &str| -> Result<Vec<usize>> {
        let wrapped = dims.iter().map(|d| wrap_dim(*d, n)).collect::<Result<Vec<_>>>()?;
        let mut sorted = wrapped.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() < wrapped.len() {
            return Err(Error::runtime(format!("movedim: repeated dim in `{what}` ({dims:?})")));
        }
        Ok(wrapped)
    };
    let (from, to) = (unique(&source, "source")?, unique(&destination, "destination")?);
    if n == 0 {
        return t!("alias", tensor).map(Value::from);
    }
    let mut order: Vec<Option<usize>> = vec![None; n];
    for (s, d) in from.iter().zip(&to) {
        order[*d] = Some(*s);
    }
    let mut rest = (0..n).filter(|d| !from.contains(d));
    let dims: Vec<i64> = order.into_iter().map(|o| o.or_else(|| rest.next()).unwrap_or_default() as i64).collect();
    t!("permute", tensor, dims).map(Value::from)
}

fn matrix_transpose(call: &Call, name: &str) -> Result<Value> {
    let tensor = own(call)?;
    if tensor.dim() == 0 {
        return Ok(tensor.into());
    }
    if tensor.dim() < 2 {
        return Err(Error::runtime(match name {
            "adjoint" => format!("tensor.adjoint() is only supported on matrices or batches of matrices. Got {}-D tensor.", tensor.dim()),
            _ => format!("tensor.{name} is only supported on matrices or batches of matrices. Got {}-D tensor.", tensor.dim()),
        }));
    }
    let turned = t!("transpose.int", tensor, -2, -1)?;
    if name != "mT" && turned.dtype().is_complex() { t!("conj", turned).map(Value::from) } else { Ok(turned.into()) }
}

fn matrix_h(call: &Call) -> Result<Value> {
    let tensor = own(call)?;
    let n = tensor.dim();
    if n != 0 && n != 2 {
        return Err(Error::runtime(format!(
            "tensor.H is only supported on matrices (2-D tensors). Got {n}-D tensor.{}",
            if n > 2 { " For batches of matrices, consider using tensor.mH" } else { "" }
        )));
    }
    let turned = if n == 0 { tensor } else { t!("transpose.int", tensor, -2, -1)? };
    if turned.dtype().is_complex() { t!("conj", turned).map(Value::from) } else { Ok(turned.into()) }
}

fn narrow(call: &Call) -> Result<Value> {
    let (tensor, dim, length) = (own(call)?, call.int("dim")?, call.sym_int("length")?);
    if tensor.dim() == 0 {
        return Err(Error::runtime("narrow() cannot be applied to a 0-dim tensor."));
    }
    if length.compare(Relation::Lt, &SymInt::Int(0))? {
        return Err(Error::runtime("narrow(): length must be non-negative."));
    }
    let size = tensor.size(wrap_dim(dim, tensor.dim())?);
    let mut start = match call.get("start") {
        Value::Tensor(t) => dispatch::aten!("_local_scalar_dense", t)?.sym_int()?,
        other => other.sym_int()?,
    };
    if start.compare(Relation::Gt, &size)? || (&start + &size).compare(Relation::Lt, &SymInt::Int(0))? {
        return Err(Error::index(format!("start out of range (expected to be in range of [{}, {size}], but got {start})", &size * -1)));
    }
    if start.compare(Relation::Lt, &SymInt::Int(0))? {
        start = &start + &size;
    }
    subtract_sizes(&size, &length)?;
    if (&start + &length).compare(Relation::Gt, &size)? {
        return Err(Error::runtime(format!("start ({start}) + length ({length}) exceeds dimension size ({size}).")));
    }
    let end = add_sizes(&start, &length)?;
    t!("slice.Tensor", tensor, dim, start, end, 1).map(Value::from)
}

fn chunk(
    call: &Call,
    split: fn(&Tensor, SymInt, i64) -> Result<Value>,
    with_sizes: fn(&Tensor, Vec<SymInt>, i64) -> Result<Value>,
) -> Result<Value> {
    let (tensor, chunks, dim) = (own(call)?, call.int("chunks")?, call.int("dim")?);
    if tensor.dim() == 0 {
        return Err(Error::runtime("chunk expects at least a 1-dimensional tensor"));
    }
    if chunks <= 0 {
        return Err(Error::runtime(format!("chunk expects `chunks` to be greater than 0, got: {chunks}")));
    }
    let size = tensor.size(wrap_dim(dim, tensor.dim())?);
    let count = SymInt::Int(chunks);
    let sum = dispatch::add_sizes(&size, &count)?;
    let last = dispatch::subtract_sizes(&sum, &SymInt::Int(1))?;
    let each = dispatch::divide_sizes(&last, &count)?;
    dispatch::compare_sizes(&each, Relation::Eq, &SymInt::Int(0))?;
    tensor::check_count(if size.as_int() == Some(0) { chunks } else { 0 })?;
    if size.sym_eq(0)? { with_sizes(&tensor, vec![SymInt::Int(0); chunks as usize], dim) } else { split(&tensor, each, dim) }
}

fn slices(tensor: &Tensor, dim: i64, bounds: &[SymInt]) -> Result<Value> {
    let parts: Result<Vec<Tensor>> = bounds.windows(2).map(|w| t!("slice.Tensor", tensor, dim, &w[0], &w[1], 1)).collect();
    parts.map(Value::from)
}

fn splittable(tensor: &Tensor, dim: i64) -> Result<SymInt> {
    if tensor.dim() == 0 {
        return Err(Error::runtime(format!(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with {} dims",
            tensor.dim()
        )));
    }
    Ok(tensor.size(wrap_dim(dim, tensor.dim())?))
}

fn split_in_sections(tensor: &Tensor, sections: i64, dim: i64) -> Result<Value> {
    let size = splittable(tensor, dim)?;
    if sections <= 0 {
        return Err(Error::runtime(format!("number of sections must be larger than 0, got {sections}")));
    }
    tensor::check_count(sections)?;
    let (each, extra) = (divide_sizes(&size, &SymInt::Int(sections))?, size.modulo(&SymInt::Int(sections))?);
    let mut start = SymInt::Int(0);
    let mut parts = Vec::new();
    for i in 0..sections {
        let longer = SymInt::Int(i).compare(Relation::Lt, &extra)?;
        let length = if longer { add_sizes(&each, &SymInt::Int(1))? } else { each.clone() };
        parts.push(t!("slice.Tensor", tensor, dim, &start, add_sizes(&start, &length)?, 1)?);
        start = add_sizes(&start, &length)?;
    }
    Ok(parts.into())
}

fn split_at_indices(tensor: &Tensor, indices: Vec<SymInt>, dim: i64) -> Result<Value> {
    let size = splittable(tensor, dim)?;
    let mut bounds = vec![SymInt::Int(0)];
    bounds.extend(indices);
    bounds.push(size);
    slices(tensor, dim, &bounds)
}

fn tensor_split_by_tensor(call: &Call) -> Result<Value> {
    let (tensor, given, dim) = (own(call)?, call.tensor("tensor_indices_or_sections")?, call.int("dim")?);
    if given.dtype() != tensor::Dtype::Int64 {
        let dtype = given.dtype().scalar_type();
        return Err(Error::runtime(format!("tensor_split expected tensor_indices_or_sections to have dtype of long, but got {dtype}")));
    }
    if given.dim() > 1 {
        return Err(Error::runtime(format!(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor of dtype int64, but got a {}-dimensional tensor",
            given.dim()
        )));
    }
    let numbers = tensor::strided::integers(given)?;
    if given.dim() == 0 {
        split_in_sections(&tensor, numbers.first().copied().unwrap_or_default(), dim)
    } else {
        split_at_indices(&tensor, shape::ints(&numbers), dim)
    }
}

/// `hsplit`, `vsplit`, `dsplit`: which dimension, and how many the tensor needs.
fn directed_split(call: &Call, name: &str, least: usize) -> Result<Value> {
    let tensor = own(call)?;
    if tensor.dim() < least {
        return Err(Error::runtime(format!(
            "torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {} dimensions!",
            tensor.dim()
        )));
    }
    let dim = if name == "hsplit" { i64::from(tensor.dim() > 1) } else { least as i64 - if name == "vsplit" { 2 } else { 1 } };
    match call.get("sections") {
        Value::None => split_at_indices(&tensor, call.sym_ints("indices")?, dim),
        sections => {
            let (sections, size) = (sections.int()?, tensor.size(dim as usize));
            if sections == 0 || !size.modulo(&SymInt::Int(sections))?.sym_eq(0)? {
                return Err(Error::runtime(format!(
                    "torch.{name} attempted to split along dimension {dim}, but the size of the dimension {size} is not divisible by the split_size {sections}!"
                )));
            }
            split_in_sections(&tensor, sections, dim)
        }
    }
}

fn at_least(tensor: &Tensor, n: usize) -> Result<Tensor> {
    match (tensor.dim(), n) {
        (0, _) => reshape(tensor, &vec![SymInt::Int(1); n]),
        (1, 2) => t!("unsqueeze", tensor, 0),
        (1, 3) => t!("unsqueeze", t!("unsqueeze", tensor, 0)?, -1),
        (2, 3) => t!("unsqueeze", tensor, -1),
        _ => Ok(tensor.clone()),
    }
}

/// `torch.atleast_1d` and its kin on a list.
pub fn at_least_all(tensors: &[Tensor], n: usize) -> Result<Vec<Tensor>> {
    tensors.iter().map(|t| at_least(t, n)).collect()
}

fn broadcast_tensors(call: &Call) -> Result<Value> {
    let tensors = call.tensors("tensors")?;
    let sizes: Vec<_> = tensors.iter().map(Tensor::sizes).collect();
    dispatch::ask_broadcast_all(&sizes.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    expand_all(&tensors).map(Value::from)
}

/// Every tensor expanded to the shape they broadcast to; those that have it stay themselves.
pub fn expand_all(tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    let sizes = broadcast(&tensors.iter().map(Tensor::sizes).collect::<Vec<_>>())?;
    tensors.iter().map(|t| if geo::same_sizes(&t.sizes(), &sizes)? { Ok(t.clone()) } else { t!("expand", t, &sizes) }).collect()
}

fn resize(call: &Call) -> Result<Geometry> {
    let (tensor, sizes) = (call.tensor("self")?, call.sym_ints("size")?);
    if let Some(size) = sizes.iter().find(|s| s.as_int().is_some_and(|s| s < 0)) {
        return Err(Error::runtime(format!("Trying to create tensor with negative dimension {size}: {}", geo::list(&sizes))));
    }
    let mut g = Geometry::contiguous(sizes);
    if geo::same_sizes(&g.sizes, &tensor.sizes())? {
        return Ok((*tensor.geometry()).clone());
    }
    g.offset = tensor.geometry().offset.clone();
    let needed = &g.storage_elements()? * tensor.dtype().itemsize() as i64;
    let storage = tensor.storage().clone();
    if storage.nbytes().compare(Relation::Lt, &needed)? {
        storage.resize(needed)?;
    }
    Ok(g)
}

/// Registers composed views.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
        Rule::Composite(|c| reshape(&own(c)?, &c.sym_ints("shape")?).map(Value::from)),
    )
    .doc("The same elements in another shape; a view where possible.")
    .classes(OpClasses::RECOMPUTABLE)
    .batch(Batch::Shifted);
    b.op(
        "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        Rule::Composite(|c| reshape(&own(c)?, &c.tensor("other")?.sizes()).map(Value::from)),
    )
    .doc("The same elements in another tensor's shape.");
    b.op(
        "view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        Rule::Composite(|c| t!("view", own(c)?, c.tensor("other")?.sizes()).map(Value::from)),
    )
    .doc("A view in another tensor's shape.");
    b.op(
        "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        Rule::Composite(|c| t!("expand", own(c)?, c.tensor("other")?.sizes()).map(Value::from)),
    )
    .doc("A view expanded to another tensor's sizes.");
    b.op(
        "broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)",
        Rule::Composite(|c| t!("expand", own(c)?, c.get("size")).map(Value::from)),
    )
    .doc("The tensor expanded to a shape.");
    b.op("broadcast_tensors(Tensor[] tensors) -> Tensor[]", Rule::Composite(broadcast_tensors)).classes(OpClasses::RECOMPUTABLE);
    b.op("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", Rule::Composite(flatten))
        .doc("Dimensions joined into one.");
    b.op("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", Rule::Composite(unflatten))
        .doc("One dimension as several.");
    b.op("ravel(Tensor(a) self) -> Tensor(a)", Rule::Composite(|c| t!("view", contiguous(&own(c)?)?, vec![-1i64]).map(Value::from)))
        .doc("The elements in one dimension.");
    for name in ["movedim", "moveaxis"] {
        b.op(&format!("{name}.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)"), Rule::Composite(movedim));
        b.op(&format!("{name}.int(Tensor(a) self, int source, int destination) -> Tensor(a)"), Rule::Composite(movedim))
            .doc("Dimensions moved to other places.");
    }
    for (name, first, second) in [("swapaxes", "axis0", "axis1"), ("swapdims", "dim0", "dim1")] {
        b.op(
            &format!("{name}(Tensor(a) self, int {first}, int {second}) -> Tensor(a)"),
            Rule::Composite(|c| t!("transpose.int", own(c)?, &c.args[1], &c.args[2]).map(Value::from)),
        )
        .doc("Two dimensions swapped.");
        b.op(
            &format!("{name}_(Tensor(a!) self, int {first}, int {second}) -> Tensor(a!)"),
            Rule::Composite(|c| t!("transpose_", own(c)?, &c.args[1], &c.args[2]).map(Value::from)),
        );
    }
    b.op("mT(Tensor(a) self) -> Tensor(a)", Rule::Composite(|c| matrix_transpose(c, "mT"))).doc("The transposed matrices.");
    b.op("mH(Tensor(a) self) -> Tensor(a)", Rule::Composite(|c| matrix_transpose(c, "mH")))
        .doc("The conjugate of the transposed matrices.");
    b.op("adjoint(Tensor(a) self) -> Tensor(a)", Rule::Composite(|c| matrix_transpose(c, "adjoint")))
        .doc("The conjugate of the transposed matrices.");
    b.op("matrix_H(Tensor(a) self) -> Tensor(a)", Rule::Composite(matrix_h));
    b.op(
        "numpy_T(Tensor(a) self) -> Tensor(a)",
        Rule::Composite(|c| {
            let tensor = own(c)?;
            let dims: Vec<i64> = (0..tensor.dim() as i64).rev().collect();
            t!("permute", tensor, dims).map(Value::from)
        }),
    );
    b.op("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", Rule::Composite(narrow))
        .doc("A view of a part of a dimension.");
    b.op("narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)", Rule::Composite(narrow));
    b.op(
        "split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
        Rule::Composite(|c| dispatch::aten!("split_with_sizes", own(c)?, c.get("split_size"), c.get("dim"))),
    );
    b.op(
        "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
        Rule::Composite(|c| {
            chunk(c, |t, s, d| dispatch::aten!("split.Tensor", t, s, d), |t, s, d| dispatch::aten!("split_with_sizes", t, s, d))
        }),
    )
    .doc("The tensor in so many pieces along a dimension.");
    b.op(
        "unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
        Rule::Composite(|c| {
            chunk(
                c,
                |t, s, d| dispatch::aten!("unsafe_split.Tensor", t, s, d),
                |t, s, d| dispatch::aten!("unsafe_split_with_sizes", t, s, d),
            )
        }),
    )
    .classes(OpClasses::ALIASING)
    .tags(Tags::APART_IN_EXPORT);
    b.op(
        "tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
        Rule::Composite(|c| split_in_sections(&own(c)?, c.int("sections")?, c.int("dim")?)),
    );
    b.op(
        "tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
        Rule::Composite(|c| split_at_indices(&own(c)?, c.sym_ints("indices")?, c.int("dim")?)),
    )
    .doc("The tensor in pieces, by number or at indices.");
    b.op(
        "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]",
        Rule::Composite(tensor_split_by_tensor),
    );
    b.op("hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", Rule::Composite(|c| directed_split(c, "hsplit", 1)));
    b.op("hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", Rule::Composite(|c| directed_split(c, "hsplit", 1)))
        .doc("Pieces along columns.");
    b.op("vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", Rule::Composite(|c| directed_split(c, "vsplit", 2)));
    b.op("vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", Rule::Composite(|c| directed_split(c, "vsplit", 2)))
        .doc("Pieces along rows.");
    b.op("dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", Rule::Composite(|c| directed_split(c, "dsplit", 3)));
    b.op("dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", Rule::Composite(|c| directed_split(c, "dsplit", 3)))
        .doc("Pieces along the third dimension.");
    b.op("atleast_1d(Tensor self) -> Tensor", Rule::Composite(|c| at_least(&own(c)?, 1).map(Value::from)))
        .doc("The tensor with at least one dimension.")
        .tags(Tags::APART_IN_EXPORT);
    b.op("atleast_2d(Tensor self) -> Tensor", Rule::Composite(|c| at_least(&own(c)?, 2).map(Value::from)))
        .doc("The tensor with at least two dimensions.")
        .tags(Tags::APART_IN_EXPORT);
    b.op("atleast_3d(Tensor self) -> Tensor", Rule::Composite(|c| at_least(&own(c)?, 3).map(Value::from)))
        .doc("The tensor with at least three dimensions.")
        .tags(Tags::APART_IN_EXPORT);
    b.op(
        "atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]",
        Rule::Composite(|c| at_least_all(&c.tensors("tensors")?, 1).map(Value::from)),
    );
    b.op(
        "atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]",
        Rule::Composite(|c| at_least_all(&c.tensors("tensors")?, 2).map(Value::from)),
    );
    b.op(
        "atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]",
        Rule::Composite(|c| at_least_all(&c.tensors("tensors")?, 3).map(Value::from)),
    );
    b.op(
        "linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
        Rule::Composite(|c| t!("diagonal", c.tensor("A")?, c.get("offset"), c.get("dim1"), c.get("dim2")).map(Value::from)),
    )
    .doc("A view of the diagonal.");
    b.op("resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)", Rule::InplaceView(resize))
        .doc("Other sizes in place.")
        .tags(Tags::CONJ_FALLTHROUGH | Tags::NEG_FALLTHROUGH | Tags::ZERO_FALLTHROUGH)
        .not_differentiable();
}
