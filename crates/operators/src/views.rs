//! Views: operators whose results share their first argument's storage.

use super::geometry as geo;
use super::shapes::wrap_dim;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Batch, Call, Complex, Grads, OpBuilder, OpClasses, Rule, Tags, Value};
use shape::{SymInt, numel};
use std::rc::Rc;
use tensor::{Geometry, Tensor, TensorSpec};

fn base(call: &Call) -> Result<Rc<Geometry>> {
    Ok(call.get("self").tensor()?.geometry())
}

fn opt_sym_int(value: &Value) -> Result<Option<SymInt>> {
    match value {
        Value::None => Ok(None),
        other => other.sym_int().map(Some),
    }
}

/// How messages name a tensor's type: `torch.FloatTensor`.
pub fn type_name(tensor: &Tensor) -> String {
    format!("torch.{}Tensor", tensor.dtype().scalar_type())
}

/// What C++ calls its type: names of its own for complex numbers.
pub(super) fn cpp_name(tensor: &Tensor) -> String {
    if tensor.dtype().is_complex() { format!("CPU{}Type", tensor.dtype().scalar_type()) } else { type_name(tensor) }
}

fn view(call: &Call) -> Result<Vec<Geometry>> {
    let base = base(call)?;
    let mut view = geo::view(&base, &call.sym_ints("size")?)?;
    if call.tensor("self")?.is_fake()
        && let Some(strides) = traced_view_strides(&base, &view.sizes)
    {
        view.strides = strides;
    }
    Ok(vec![view])
}

/// The strides that tracing gives a view that exists: dimensions of size one keep the step they had or take that of the
/// dimension they are split from. `None` where that is not known, as for symbolic sizes.
fn traced_view_strides(base: &Geometry, wanted: &[SymInt]) -> Option<Vec<SymInt>> {
    let numbers = |values: &[SymInt]| values.iter().map(SymInt::as_int).collect::<Option<Vec<i64>>>();
    let (mut sizes, mut strides, wanted) = (numbers(&base.sizes)?, base.strides.clone(), numbers(wanted)?);
    let is_row = sizes.len() == 1 && wanted.len() == 2 && strides[0].statically_eq(1);
    if wanted.is_empty() || sizes.is_empty() || is_row || sizes.contains(&0) {
        return None;
    }
    for (at, length) in wanted.iter().enumerate() {
        if at >= sizes.len() {
            sizes.push(1);
            strides.push(strides[at - 1].clone());
            continue;
        }
        if sizes[at] == *length {
            continue;
        }
        let (mut whole, mut end) = (sizes[at], at);
        while whole % length != 0 {
            end += 1;
            whole *= sizes.get(end)?;
        }
        // The dimensions up to `end` become one.
        let step = (at..end).filter(|d| sizes[*d] != 1).fold(strides[end].clone(), |step, d| step.min(&strides[d]));
        sizes.splice(at..=end, [whole]);
        strides.splice(at..=end, [step.clone()]);
        if whole != *length {
            let inner = whole / length;
            sizes.splice(at..=at, [*length, inner]);
            strides.splice(at..=at, [&step * inner, step]);
        }
    }
    sizes[wanted.len()..].iter().all(|s| *s == 1).then(|| strides[..wanted.len()].to_vec())
}

fn expand(call: &Call) -> Result<Vec<Geometry>> {
    let tensor = call.tensor("self")?;
    let (base, wanted) = (base(call)?, call.sym_ints("size")?);
    let mut view = geo::expand(&base, &wanted, &cpp_name(tensor))
        .map_err(|error| if tensor.is_fake() { super::mismatch::of_expanding(&base.sizes, &wanted, error) } else { error })?;
    if tensor.is_fake() {
        step_over_new(&mut view, &base);
    }
    Ok(vec![view])
}

/// What tracing says of new dimensions of size one: the step over everything behind them.
fn step_over_new(view: &mut Geometry, base: &Geometry) {
    let step = base.sizes.first().zip(base.strides.first()).map_or(SymInt::Int(1), |(size, stride)| size * stride);
    for i in 0..view.sizes.len() - base.sizes.len() {
        view.strides[i] = if view.sizes[i].statically_eq(1) { step.clone() } else { SymInt::Int(0) };
    }
}

/// A fake tensor as tracing expands it, which nothing is told of; another tensor as it is.
pub fn expanded_as_traced(t: &Tensor, sizes: &[SymInt]) -> Result<Tensor> {
    if !t.is_fake() {
        return Ok(t.clone());
    }
    let base = (*t.geometry()).clone();
    let mut geometry = geo::expand(&base, sizes, &cpp_name(t))?;
    step_over_new(&mut geometry, &base);
    Tensor::fake(&TensorSpec { geometry, ..t.spec() })
}

/// The geometry of `as_strided` on a tensor; one that reaches beyond its storage is an error.
fn as_strided_geometry(call: &Call) -> Result<Geometry> {
    let tensor = call.tensor("self")?;
    let offset = opt_sym_int(call.get("storage_offset"))?;
    let g = geo::as_strided(&tensor.geometry(), &call.sym_ints("size")?, &call.sym_ints("stride")?, offset.as_ref())?;
    let itemsize = tensor.dtype().itemsize() as i64;
    if g.sizes.iter().any(|s| s.as_int().is_some_and(|s| s < 0)) {
        return Err(Error::runtime(format!("as_strided: Negative sizes are not supported, got sizes: {}", geo::list(&g.sizes))));
    }
    let (needed, have) = (&g.storage_elements()? * itemsize, tensor.storage().nbytes());
    if let (Some(n), Some(h)) = (needed.as_int(), have.as_int())
        && (n > h || g.offset.as_int().is_some_and(|o| o < 0))
    {
        return Err(Error::runtime(format!(
            "setStorage: sizes {}, strides {}, storage offset {}, and itemsize {itemsize} requiring a storage size of {n} are out of bounds for storage of size {h}",
            geo::list(&g.sizes),
            geo::list(&g.strides),
            g.offset
        )));
    }
    Ok(g)
}

fn squeeze_rule(call: &Call) -> Result<Geometry> {
    let dims = match call.get("dim") {
        Value::None => None,
        other => Some(other.ints()?),
    };
    geo::squeeze(&*base(call)?, dims.as_deref())
}

fn unsafe_view_spec(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let tensor = call.tensor("self")?;
    let g = geo::view(&tensor.geometry(), &call.sym_ints("size")?)?;
    Ok(vec![Some(TensorSpec::strided(g.sizes, g.strides, tensor.dtype(), tensor.device()))])
}

fn split_parts(call: &Call) -> Result<Vec<Geometry>> {
    let (g, dim) = (base(call)?, call.int("dim")?);
    geo::split_with_sizes(&g, &geo::split_sizes(&g, &call.sym_int("split_size")?, dim)?, dim)
}

fn dense_copies(call: &Call, parts: Vec<Geometry>) -> Result<Vec<Option<TensorSpec>>> {
    let tensor = call.tensor("self")?;
    Ok(parts.into_iter().map(|g| Some(TensorSpec::strided(g.sizes, g.strides, tensor.dtype(), tensor.device()))).collect())
}

/// Registers views and their in-place forms.
pub fn register(b: &mut OpBuilder) {
    b.op("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", Rule::View(view))
        .doc("The same elements in another shape, sharing memory.")
        .classes(OpClasses::VIEW)
        .batch(Batch::Shifted)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("ViewBackward", &[], reshape_grad);
    b.op("_unsafe_view(Tensor self, SymInt[] size) -> Tensor", Rule::Fresh(unsafe_view_spec))
        .classes(OpClasses::RECOMPUTABLE | OpClasses::ALIASING)
        .batch(Batch::Shifted)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD | Tags::CONJ_FALLTHROUGH | Tags::NEG_FALLTHROUGH | Tags::ZERO_FALLTHROUGH)
        .grad("UnsafeViewBackward", &[], reshape_grad);
    b.op(
        "_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)",
        Rule::View(|c| Ok(vec![geo::as_strided(&*base(c)?, &c.sym_ints("size")?, &c.sym_ints("stride")?, None)?])),
    )
    .batch(Batch::Rule(super::batch_rules::reshape_alias))
    .auto_linear(&["self"])
    .tags(Tags::COMPLEX_GRAD | Tags::CONJ_FALLTHROUGH | Tags::NEG_FALLTHROUGH | Tags::ZERO_FALLTHROUGH)
    .grad("ReshapeAliasBackward", &[], reshape_grad);
    b.op("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", Rule::View(expand))
        .doc("A view repeated along dimensions of size one.")
        .classes(OpClasses::VIEW)
        .batch(Batch::Rule(super::batch_rules::expand))
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("ExpandBackward", &[], |b| Grads::one(b, "self", || sum_to(b.grad()?, &b.sizes("self")?)));
    b.op("t(Tensor(a) self) -> Tensor(a)", Rule::View(|c| Ok(vec![geo::t(&*base(c)?)?])))
        .doc("The transposed matrix.")
        .classes(OpClasses::VIEW)
        .batch(Batch::Rule(super::batch_rules::t))
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("TBackward", &[], t_grad);
    b.op("t_(Tensor(a!) self) -> Tensor(a!)", Rule::InplaceView(|c| geo::t(&*base(c)?))).grad("TBackward1", &[], t_grad);
    b.op(
        "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
        Rule::View(|c| Ok(vec![geo::transpose(&*base(c)?, c.int("dim0")?, c.int("dim1")?)?])),
    )
    .doc("A view with two dimensions swapped.")
    .batch(Batch::Shifted)
    .auto_linear(&["self"])
    .tags(Tags::COMPLEX_GRAD)
    .grad("TransposeBackward", &[], transpose_grad);
    b.op(
        "transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
        Rule::InplaceView(|c| geo::transpose(&*base(c)?, c.int("dim0")?, c.int("dim1")?)),
    )
    .batch(Batch::Shifted)
    .grad("TransposeBackward1", &[], transpose_grad);
    b.op("permute(Tensor(a) self, int[] dims) -> Tensor(a)", Rule::View(|c| Ok(vec![geo::permute(&*base(c)?, &c.ints("dims")?)?])))
        .doc("A view with dimensions in another order.")
        .classes(OpClasses::VIEW)
        .batch(Batch::Rule(super::batch_rules::permute))
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("PermuteBackward", &[], permute_grad);

    b.op("squeeze(Tensor(a) self) -> Tensor(a)", Rule::View(|c| Ok(vec![squeeze_rule(c)?])))
        .doc("Without dimensions of size one.")
        .classes(OpClasses::VIEW)
        .batch(Batch::Rule(super::batch_rules::squeeze))
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("SqueezeBackward", &[], squeeze_grad);
    b.op("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", Rule::View(|c| Ok(vec![squeeze_rule(c)?])))
        .tags(Tags::COMPLEX_GRAD)
        .batch(Batch::Rule(super::batch_rules::squeeze_dim))
        .auto_linear(&["self"])
        .grad("SqueezeBackward1", &[], squeeze_grad);
    b.op("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", Rule::View(|c| Ok(vec![squeeze_rule(c)?])))
        .tags(Tags::COMPLEX_GRAD)
        .batch(Batch::Rule(super::batch_rules::reduction))
        .auto_linear(&["self"])
        .grad("SqueezeBackward2", &[], squeeze_grad);
    b.op("squeeze_(Tensor(a!) self) -> Tensor(a!)", Rule::InplaceView(squeeze_rule)).batch(Batch::Shifted).grad(
        "SqueezeBackward3",
        &[],
        squeeze_grad,
    );
    b.op("squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)", Rule::InplaceView(squeeze_rule)).batch(Batch::Shifted).grad(
        "SqueezeBackward4",
        &[],
        squeeze_grad,
    );
    b.op("squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)", Rule::InplaceView(squeeze_rule)).batch(Batch::Shifted).grad(
        "SqueezeBackward5",
        &[],
        squeeze_grad,
    );
    b.op("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", Rule::View(|c| Ok(vec![geo::unsqueeze(&*base(c)?, c.int("dim")?)?])))
        .doc("A new dimension of size one.")
        .classes(OpClasses::VIEW)
        .batch(Batch::Rule(super::batch_rules::unsqueeze))
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("UnsqueezeBackward", &[], unsqueeze_grad);
    b.op("unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)", Rule::InplaceView(|c| geo::unsqueeze(&*base(c)?, c.int("dim")?)))
        .batch(Batch::Shifted)
        .grad("UnsqueezeBackward1", &[], unsqueeze_grad);

    b.op(
        "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
        Rule::View(|c| Ok(vec![geo::select(&*base(c)?, c.int("dim")?, &c.sym_int("index")?)?])),
    )
    .doc("A view at one index of a dimension.")
    .classes(OpClasses::VIEW)
    .batch(Batch::Shifted)
    .auto_linear(&["self"])
    .tags(Tags::COMPLEX_GRAD)
    .grad("SelectBackward", &[], |b| {
        Grads::one(b, "self", || t!("select_backward", b.grad()?, b.sizes("self")?, b.arg("dim"), b.arg("index")))
    });
    b.op(
        "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
        Rule::View(|c| {
            let (start, end) = (opt_sym_int(c.get("start"))?, opt_sym_int(c.get("end"))?);
            Ok(vec![geo::slice(&*base(c)?, c.int("dim")?, start.as_ref(), end.as_ref(), &c.sym_int("step")?)?])
        }),
    )
    .function()
    .classes(OpClasses::VIEW)
    .batch(Batch::Shifted)
    .auto_linear(&["self"])
    .tags(Tags::COMPLEX_GRAD)
    .grad("SliceBackward", &[], |b| {
        let or = |name: &str, default: i64| match b.arg(name) {
            Value::None => Value::from(default),
            given => given.clone(),
        };
        Grads::one(b, "self", || {
            t!("slice_backward", b.grad()?, b.sizes("self")?, b.arg("dim"), or("start", 0), or("end", i64::MAX), b.arg("step"))
        })
    });
    b.op(
        "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
        Rule::View(|c| Ok(vec![geo::diagonal(&*base(c)?, c.int("offset")?, c.int("dim1")?, c.int("dim2")?)?])),
    )
    .doc("A view of the diagonal.")
    .batch(Batch::Shifted)
    .auto_linear(&["self"])
    .tags(Tags::COMPLEX_GRAD)
    .grad("DiagonalBackward", &[], diagonal_grad);
    b.op(
        "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
        Rule::View(|c| Ok(vec![geo::unfold(&*base(c)?, c.int("dimension")?, c.int("size")?, c.int("step")?)?])),
    )
    .doc("Windows as a new dimension.")
    .batch(Batch::Shifted)
    .auto_linear(&["self"])
    .tags(Tags::COMPLEX_GRAD)
    .grad("UnfoldBackward", &[], |b| {
        Grads::one(b, "self", || t!("unfold_backward", b.grad()?, b.sizes("self")?, b.arg("dimension"), b.arg("size"), b.arg("step")))
    });
    b.op(
        "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
        Rule::View(|c| Ok(vec![as_strided_geometry(c)?])),
    )
    .doc("A view of the storage by sizes, strides and offset.")
    .classes(OpClasses::VIEW)
    .batch(Batch::Rule(super::batch_rules::as_strided))
    .auto_linear(&["self"])
    .tags(Tags::COMPLEX_GRAD)
    .grad("AsStridedBackward", &[], as_strided_grad);
    b.op(
        "as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)",
        Rule::InplaceView(as_strided_geometry),
    )
    .grad("AsStridedBackward1", &[], as_strided_grad);

    b.op("split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", Rule::View(split_parts))
        .doc("The tensor in pieces of a size.")
        .classes(OpClasses::VIEW)
        .batch(Batch::Shifted)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("SplitBackward", &[], split_grad);
    b.op(
        "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
        Rule::View(|c| geo::split_with_sizes(&*base(c)?, &c.sym_ints("split_sizes")?, c.int("dim")?)),
    )
    .doc("The tensor in pieces of given sizes.")
    .batch(Batch::Shifted)
    .auto_linear(&["self"])
    .tags(Tags::COMPLEX_GRAD)
    .grad("SplitWithSizesBackward", &[], split_grad);
    b.op("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", Rule::Fresh(|c| dense_copies(c, split_parts(c)?)))
        .classes(OpClasses::ALIASING)
        .batch(Batch::Shifted)
        .auto_linear(&["self"])
        .grad("UnsafeSplitBackward", &[], split_grad);
    b.op(
        "unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
        Rule::Fresh(|c| dense_copies(c, geo::split_with_sizes(&*base(c)?, &c.sym_ints("split_sizes")?, c.int("dim")?)?)),
    )
    .classes(OpClasses::ALIASING)
    .auto_linear(&["self"])
    .grad("UnsafeSplitWithSizesBackward", &[], split_grad);
    b.op("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", Rule::View(|c| geo::unbind(&*base(c)?, c.int("dim")?)))
        .doc("All slices along a dimension.")
        .batch(Batch::Shifted)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("UnbindBackward", &[], unbind_grad);
    b.op(
        "diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
        Rule::Fresh(|c| {
            let g = geo::diagonal(&*base(c)?, c.int("offset")?, c.int("dim1")?, c.int("dim2")?)?;
            let tensor = c.tensor("self")?;
            Ok(vec![Some(TensorSpec::contiguous(g.sizes, tensor.dtype(), tensor.device()))])
        }),
    )
    .tags(Tags::COMPLEX_GRAD)
    .complex(Complex::ByParts)
    .grad("DiagonalBackward0_copy", &[], diagonal_grad);
}

/// `grad.reshape(self.sizes())`
fn reshape_grad(b: &Backward) -> Result<Grads> {
    Grads::one(b, "self", || t!("reshape", b.grad()?, b.sizes("self")?))
}

fn t_grad(b: &Backward) -> Result<Grads> {
    Grads::one(b, "self", || t!("t", b.grad()?))
}

fn transpose_grad(b: &Backward) -> Result<Grads> {
    Grads::one(b, "self", || t!("transpose.int", b.grad()?, b.arg("dim0"), b.arg("dim1")))
}

fn permute_grad(b: &Backward) -> Result<Grads> {
    let dims = b.call().ints("dims")?;
    let mut back = vec![0i64; dims.len()];
    for (i, d) in dims.iter().enumerate() {
        back[wrap_dim(*d, dims.len())?] = i as i64;
    }
    Grads::one(b, "self", || t!("permute", b.grad()?, back))
}

/// Puts back the dimensions of one that `squeeze` took away.
fn squeeze_grad(b: &Backward) -> Result<Grads> {
    let sizes = b.sizes("self")?;
    let dims = match b.arg("dim") {
        Value::None => (0..sizes.len()).collect(),
        given => given.ints()?.iter().map(|d| wrap_dim(*d, sizes.len())).collect::<Result<Vec<_>>>()?,
    };
    Grads::one(b, "self", || {
        let mut grad = b.grad()?.clone();
        for (d, size) in sizes.iter().enumerate() {
            if dims.contains(&d) && size.sym_eq(1)? {
                grad = t!("unsqueeze", grad, d)?;
            }
        }
        Ok(grad)
    })
}

fn unsqueeze_grad(b: &Backward) -> Result<Grads> {
    Grads::one(b, "self", || t!("squeeze.dim", b.grad()?, b.arg("dim")))
}

fn diagonal_grad(b: &Backward) -> Result<Grads> {
    Grads::one(b, "self", || t!("diagonal_backward", b.grad()?, b.sizes("self")?, b.arg("offset"), b.arg("dim1"), b.arg("dim2")))
}

/// `torch.zeros(sizes)` like the gradient of a tensor of this spec.
pub fn zeros_of(spec: &TensorSpec, sizes: &[SymInt]) -> Result<Tensor> {
    t!("zeros", sizes; dtype = spec.dtype, layout = Value::Layout(tensor::Layout::Strided), device = spec.device)
}

fn split_grad(b: &Backward) -> Result<Grads> {
    let (spec, dim) = (b.spec("self")?, b.call().int("dim")?);
    let d = wrap_dim(dim, spec.geometry.sizes.len())?;
    let sizes = match b.arg("split_sizes") {
        Value::None => geo::split_sizes(&spec.geometry, &b.call().sym_int("split_size")?, dim)?,
        given => given.sym_ints()?,
    };
    Grads::one(b, "self", || {
        let mut parts = Vec::with_capacity(sizes.len());
        for (size, grad) in sizes.iter().zip(b.grads) {
            parts.push(match grad {
                Some(g) => g.clone(),
                None => {
                    let mut shape = spec.geometry.sizes.clone();
                    shape[d] = size.clone();
                    zeros_of(spec, &shape)?
                }
            });
        }
        t!("cat", parts, d)
    })
}

fn unbind_grad(b: &Backward) -> Result<Grads> {
    let spec = b.spec("self")?;
    let d = wrap_dim(b.call().int("dim")?, spec.geometry.sizes.len())?;
    let mut shape = spec.geometry.sizes.clone();
    shape.remove(d);
    Grads::one(b, "self", || {
        let mut parts = Vec::with_capacity(b.grads.len());
        for grad in b.grads {
            parts.push(match grad {
                Some(g) => g.clone(),
                None => t!("expand", zeros_of(spec, &[])?, &shape)?,
            });
        }
        t!("stack", parts, b.arg("dim"))
    })
}

/// `at::sum_to`: sums a gradient down to the sizes that were broadcast from.
pub fn sum_to(grad: &Tensor, sizes: &[SymInt]) -> Result<Tensor> {
    if sizes.is_empty() {
        return t!("sum", grad);
    }
    let have = grad.sizes();
    let lead = have.len() - sizes.len();
    let mut dims: Vec<i64> = (0..lead as i64).collect();
    for (i, size) in sizes.iter().enumerate() {
        if size.sym_eq(1)? && !have[lead + i].sym_eq(1)? {
            dims.push((lead + i) as i64);
        }
    }
    let summed = if dims.is_empty() { grad.clone() } else { t!("sum.dim_IntList", grad, dims, true)? };
    if lead > 0 { t!("view", summed, sizes) } else { Ok(summed) }
}

fn may_overlap(sizes: &[SymInt], strides: &[SymInt]) -> Result<bool> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|i| strides[*i].hint());
    let mut reach = SymInt::Int(0);
    for i in order {
        if strides[i].compare(shape::Relation::Le, &reach)? {
            return Ok(true);
        }
        reach = &reach + &(&strides[i] * &(&sizes[i] - 1));
    }
    Ok(false)
}

fn reach(sizes: &[SymInt], strides: &[SymInt], offset: &SymInt) -> SymInt {
    sizes.iter().zip(strides).fold(offset + 1, |n, (size, stride)| &n + &(&(size - 1) * stride))
}

/// Spreads the gradient of an `as_strided` over a storage of its own and reads that as the input lay.
fn as_strided_grad(b: &Backward) -> Result<Grads> {
    Grads::one(b, "self", || {
        let (call, input) = (b.call(), &b.spec("self")?.geometry);
        let (sizes, strides) = (call.sym_ints("size")?, call.sym_ints("stride")?);
        let offset = opt_sym_int(call.get("storage_offset"))?.unwrap_or(input.offset.clone());
        let mut grad = b.grad()?.clone();
        let zeros = |grad: &Tensor| zeros_of(&grad.spec(), &input.sizes);
        let (mut out_sizes, mut out_strides) = (Vec::new(), Vec::new());
        for i in (0..sizes.len()).rev() {
            if sizes[i].sym_eq(0)? {
                return zeros(&grad);
            } else if sizes[i].sym_eq(1)? {
                grad = t!("squeeze.dim", grad, i)?;
            } else if strides[i].sym_eq(0)? {
                grad = t!("sum.dim_IntList", grad, vec![i as i64], false)?;
            } else {
                out_sizes.insert(0, sizes[i].clone());
                out_strides.insert(0, strides[i].clone());
            }
        }
        let (mut in_sizes, mut in_strides) = (Vec::new(), Vec::new());
        for (size, stride) in input.sizes.iter().zip(&input.strides) {
            if size.sym_eq(0)? {
                return zeros(&grad);
            }
            if !size.sym_eq(1)? {
                in_sizes.push(size.clone());
                in_strides.push(stride.clone());
            }
        }
        let (out_overlap, in_overlap) = (may_overlap(&out_sizes, &out_strides)?, may_overlap(&in_sizes, &in_strides)?);
        let shared = input.offset.min(&offset);
        let (in_offset, out_offset) = (&input.offset - &shared, &offset - &shared);
        let length = reach(&in_sizes, &in_strides, &in_offset).max(&reach(&out_sizes, &out_strides, &out_offset));
        let storage = t!("new_zeros", &grad, vec![length.clone()])?;
        let places = if out_overlap || in_overlap {
            let spec = grad.spec();
            Some(
                t!("arange.start", 0, &length; dtype = tensor::Dtype::Int64, layout = Value::Layout(tensor::Layout::Strided), device = spec.device)?,
            )
        } else {
            None
        };
        match &places {
            Some(places) if out_overlap => {
                let index = t!("as_strided", places, &out_sizes, &out_strides, &out_offset)?;
                let source = t!("reshape", &grad, vec![-1i64])?;
                t!("index_add_", &storage, 0, t!("reshape", index, vec![-1i64])?, source)?;
            }
            _ => {
                t!("copy_", t!("as_strided", &storage, &out_sizes, &out_strides, &out_offset)?, &grad)?;
            }
        }
        if let Some(places) = places.filter(|_| in_overlap) {
            let count = t!("zeros_like", &storage)?;
            let index = t!("reshape", t!("as_strided", places, &in_sizes, &in_strides, &in_offset)?, vec![-1i64])?;
            let spec = grad.spec();
            let one = t!("ones", vec![1i64]; dtype = spec.dtype, layout = Value::Layout(tensor::Layout::Strided), device = spec.device)?;
            t!("index_add_", &count, 0, &index, t!("expand", one, vec![numel(&index.sizes())])?)?;
            t!("div_.Tensor", &storage, count)?;
        }
        t!("as_strided", storage, &input.sizes, &input.strides, &in_offset)
    })
}
