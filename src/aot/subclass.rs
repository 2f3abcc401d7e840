//! Tensors of the script's own classes in a compiled function. Its graph has the plain tensors that they are made of, in their place among
//! inputs, outputs, tangents and gradients; around the graph they are taken apart and put together again. Behind a tensor of an input or
//! of an output come those of its sizes and strides that are symbolic, and behind all tensors that it is made of, its own.
//!
//! The function itself is traced with tensors of these classes: autograd sees those, the class's `__torch_dispatch__` answers below
//! it, and what that calls is functionalized and recorded.

use crate::dispatch::{Modes, Value, modes, set_modes};
use crate::error::{Error, Result};
use crate::shape::SymInt;
use crate::tensor::{Geometry, Recipe, Tensor, TensorSpec, contiguous_strides};
use std::rc::Rc;

/// How a tensor is put together (PyTorch's `SubclassCreationMeta`).
pub struct SubclassCreationMeta {
    recipe: Rc<dyn Recipe>,
    attrs: Vec<(Rc<str>, Inner)>,
    spec: TensorSpec,
    /// Whether symbolic sizes and strides stand behind the tensors (PyTorch's `included_subclass_symints`).
    with_sizes: bool,
}

/// What an attribute holds.
#[derive(Clone)]
enum Inner {
    Plain(TensorSpec),
    Subclass(Rc<SubclassCreationMeta>),
}

/// The symbolic ones among sizes and strides of these.
fn symbolic(of: &Geometry) -> impl Iterator<Item = &SymInt> {
    of.sizes.iter().chain(&of.strides).filter(|size| size.as_int().is_none())
}

/// What a tensor has where another one like it has symbolic sizes and strides.
fn in_place_of_symbols(of: &Geometry, t: &Geometry) -> Vec<Value> {
    let pairs = of.sizes.iter().zip(&t.sizes).chain(of.strides.iter().zip(&t.strides));
    pairs.filter(|(of, _)| of.as_int().is_none()).map(|(_, has)| Value::Int(has.clone())).collect()
}

/// Sizes and strides of a tensor that holds elements of one of these: symbolic where a size or stride of that was as large.
fn made_symbolic(g: &Geometry, outer: &Geometry) -> Geometry {
    let known = |at: usize, size: &SymInt, of: &[SymInt]| {
        let is_it = |s: &&SymInt| s.as_int().is_none() && s.hint().is_some() && s.hint() == size.as_int();
        of.get(at).filter(is_it).or_else(|| of.iter().find(is_it)).cloned()
    };
    let each = |sizes: &[SymInt], of: &[SymInt]| -> Vec<SymInt> {
        sizes.iter().enumerate().map(|(at, size)| known(at, size, of).unwrap_or_else(|| size.clone())).collect()
    };
    let sizes = each(&g.sizes, &outer.sizes);
    let is_contiguous = SymInt::all_statically_eq(&contiguous_strides(&g.sizes), &g.strides);
    let strides = if is_contiguous { contiguous_strides(&sizes) } else { each(&g.strides, &outer.strides) };
    Geometry { sizes, strides, offset: g.offset.clone() }
}

/// A value of a graph that stands for a tensor, or for a part of one.
pub enum Part {
    /// A plain tensor.
    Tensor(TensorSpec),
    /// A symbolic size or stride.
    Size(SymInt),
}

/// A tensor's, or that it is a plain one.
pub type MaybeSubclass = Option<Rc<SubclassCreationMeta>>;

impl std::fmt::Debug for SubclassCreationMeta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({})", self.recipe.class_name(), self.spec.annotation())
    }
}

impl SubclassCreationMeta {
    /// How a tensor is put together; nothing of a plain one.
    pub fn of(t: &Tensor) -> Result<MaybeSubclass> {
        let Some(parts) = parts(t)? else { return Ok(None) };
        let inner = |t: &Tensor| Ok(Self::of(t)?.map_or_else(|| Inner::Plain(t.spec()), Inner::Subclass));
        let attrs = parts.inner.iter().map(|(name, t)| Ok((name.clone(), inner(t)?))).collect::<Result<_>>()?;
        Ok(Some(Rc::new(SubclassCreationMeta { recipe: parts.recipe, attrs, spec: t.spec(), with_sizes: false })))
    }

    /// The same for a graph that takes or gives symbolic sizes, too.
    pub fn with_sizes(&self) -> Rc<Self> {
        let inner = |inner: &Inner| match inner {
            Inner::Plain(spec) => Inner::Plain(spec.clone()),
            Inner::Subclass(meta) => Inner::Subclass(meta.with_sizes()),
        };
        let attrs = self.attrs.iter().map(|(name, of)| (name.clone(), inner(of))).collect();
        Rc::new(SubclassCreationMeta { recipe: self.recipe.clone(), attrs, spec: self.spec.clone(), with_sizes: true })
    }

    /// The same for a tensor of these sizes and strides, which may be symbolic: so are those of the tensors that it is made of that are
    /// as large. Another size is part of what is guarded.
    pub fn made_symbolic(&self, outer: &Geometry) -> Rc<Self> {
        let inner = |inner: &Inner| match inner {
            Inner::Plain(spec) => Inner::Plain(TensorSpec { geometry: made_symbolic(&spec.geometry, outer), ..spec.clone() }),
            Inner::Subclass(meta) => Inner::Subclass(meta.made_symbolic(&made_symbolic(&meta.spec.geometry, outer))),
        };
        let attrs = self.attrs.iter().map(|(name, of)| (name.clone(), inner(of))).collect();
        let spec = TensorSpec { geometry: outer.clone(), ..self.spec.clone() };
        Rc::new(SubclassCreationMeta { recipe: self.recipe.clone(), attrs, spec, with_sizes: self.with_sizes })
    }

    /// What a graph takes for a tensor, or gives for it: `plain` are those that it is made of.
    fn values(&self, t: &Tensor, plain: &mut dyn Iterator<Item = Tensor>) -> Result<Vec<Value>> {
        let inner = parts(t)?.map_or_else(Vec::new, |parts| parts.inner);
        let sizes = |of: &Geometry, t: &Tensor| if self.with_sizes { in_place_of_symbols(of, &t.geometry()) } else { Vec::new() };
        let mut all = Vec::new();
        for ((_, of), (_, inner)) in self.attrs.iter().zip(&inner) {
            match of {
                Inner::Plain(spec) => {
                    let t = plain.next().ok_or_else(|| Error::runtime("a tensor subclass lacks an inner tensor"))?;
                    all.push(Value::from(&t));
                    all.extend(sizes(&spec.geometry, &t));
                }
                Inner::Subclass(meta) => all.extend(meta.values(inner, plain)?),
            }
        }
        all.extend(sizes(&self.spec.geometry, t));
        Ok(all)
    }

    /// What the graph takes or gives for it, in order: a tensor that looks like this, or a size.
    fn parts(&self) -> Vec<Part> {
        let sizes = |g: &Geometry| symbolic(g).filter(|_| self.with_sizes).cloned().map(Part::Size).collect::<Vec<_>>();
        let mut all = Vec::new();
        for (_, inner) in &self.attrs {
            match inner {
                Inner::Plain(spec) => {
                    all.push(Part::Tensor(spec.clone()));
                    all.extend(sizes(&spec.geometry));
                }
                Inner::Subclass(meta) => all.extend(meta.parts()),
            }
        }
        all.extend(sizes(&self.spec.geometry));
        all
    }

    /// The class.
    pub fn class_name(&self) -> String {
        self.recipe.class_name()
    }

    /// How many values of a graph stand for it.
    pub fn arg_count(&self) -> usize {
        let sizes = |g: &Geometry| if self.with_sizes { symbolic(g).count() } else { 0 };
        let each = |(_, inner): &(Rc<str>, Inner)| match inner {
            Inner::Plain(spec) => 1 + sizes(&spec.geometry),
            Inner::Subclass(meta) => meta.arg_count(),
        };
        self.attrs.iter().map(each).sum::<usize>() + sizes(&self.spec.geometry)
    }

    /// Whether another tensor is put together likewise, of plain tensors that look alike as `alike` has it.
    fn same(&self, other: &Self, alike: &dyn Fn(&TensorSpec, &TensorSpec) -> bool) -> bool {
        self.recipe.same(&*other.recipe)
            && self.attrs.len() == other.attrs.len()
            && self.attrs.iter().zip(&other.attrs).all(|((a, x), (b, y))| {
                a == b
                    && match (x, y) {
                        (Inner::Plain(x), Inner::Plain(y)) => alike(x, y),
                        (Inner::Subclass(x), Inner::Subclass(y)) => x.same(y, alike),
                        _ => false,
                    }
            })
    }

    /// Puts a tensor together of what is given, as much as it takes: plain tensors, and behind them sizes if those are among it.
    fn wrap(&self, given: &mut dyn Iterator<Item = Value>, with_sizes: bool) -> Result<Tensor> {
        let mut inner = Vec::with_capacity(self.attrs.len());
        for (name, of) in &self.attrs {
            let t = match of {
                Inner::Plain(spec) => {
                    let t = given.next().ok_or_else(|| Error::runtime("a tensor subclass lacks an inner tensor"))?.into_tensor()?;
                    // The tensor has them itself.
                    symbolic(&spec.geometry).filter(|_| with_sizes).for_each(|_| drop(given.next()));
                    t
                }
                Inner::Subclass(meta) => meta.wrap(given, with_sizes)?,
            };
            inner.push((name.clone(), t));
        }
        let (sizes, strides) = if with_sizes { self.given_looks(given)? } else { self.looks(&inner)? };
        self.recipe.make(&inner, &sizes, &strides)
    }

    /// The same of plain tensors, while something is traced.
    fn wrap_fake(&self, plain: &mut dyn Iterator<Item = Tensor>) -> Result<Tensor> {
        let before = set_modes(Modes { fake: true, ..modes() });
        let made = self.wrap(&mut plain.map(Value::Tensor), false);
        set_modes(Modes { fake: before.fake, ..modes() });
        made
    }

    /// Sizes and strides of the tensor, of which the symbolic ones are given.
    fn given_looks(&self, given: &mut dyn Iterator<Item = Value>) -> Result<(Vec<SymInt>, Vec<SymInt>)> {
        let mut known = |size: &SymInt| match size.as_int() {
            Some(_) => Ok(size.clone()),
            None => given.next().ok_or_else(|| Error::runtime("a tensor subclass lacks a size"))?.sym_int(),
        };
        let mut all = |sizes: &[SymInt]| sizes.iter().map(&mut known).collect::<Result<Vec<_>>>();
        Ok((all(&self.spec.geometry.sizes)?, all(&self.spec.geometry.strides)?))
    }

    /// Sizes and strides of the tensor. Symbolic ones are numbers in a run: those of the inner tensor that had the same ones.
    fn looks(&self, inner: &[(Rc<str>, Tensor)]) -> Result<(Vec<SymInt>, Vec<SymInt>)> {
        let is_symbolic = |sizes: &[SymInt]| sizes.iter().any(|s| s.as_int().is_none());
        let g = &self.spec.geometry;
        let is_traced = inner.iter().any(|(_, t)| is_symbolic(&t.sizes()) || is_symbolic(&t.geometry().strides));
        if is_traced || !(is_symbolic(&g.sizes) || is_symbolic(&g.strides)) {
            return Ok((g.sizes.clone(), g.strides.clone()));
        }
        let spec = |of: &Inner| if let Inner::Subclass(meta) = of { meta.spec.clone() } else { self.plain_spec(of) };
        let found = |wanted: &[SymInt], get: &dyn Fn(&crate::tensor::Geometry) -> Vec<SymInt>| {
            let at = self.attrs.iter().position(|(_, of)| SymInt::all_statically_eq(&get(&spec(of).geometry), wanted))?;
            Some(get(&inner[at].1.geometry()))
        };
        let sizes = found(&g.sizes, &|g| g.sizes.clone());
        let strides = if is_symbolic(&g.strides) { found(&g.strides, &|g| g.strides.clone()) } else { Some(g.strides.clone()) };
        sizes.zip(strides).ok_or_else(|| {
            Error::not_implemented(format!(
                "a {} whose symbolic sizes are not those of one of its inner tensors is not supported in compiled functions yet",
                self.class_name()
            ))
        })
    }

    fn plain_spec(&self, of: &Inner) -> TensorSpec {
        if let Inner::Plain(spec) = of { spec.clone() } else { self.spec.clone() }
    }
}

/// What a tensor is made of; nothing of a plain one.
fn parts(t: &Tensor) -> Result<Option<crate::tensor::Parts>> {
    let Some(subclass) = t.imp().subclass.borrow().clone() else { return Ok(None) };
    let parts = subclass.flatten(t)?;
    match parts {
        Some(parts) => Ok(Some(parts)),
        None => Err(Error::not_implemented(
            "a tensor whose class has a __torch_dispatch__ but does not say what it is made of (__tensor_flatten__, __tensor_unflatten__) is not supported in compiled functions",
        )),
    }
}

/// The plain tensors that a tensor is made of, in order; a plain one alone.
pub fn plain(t: &Tensor) -> Result<Vec<Tensor>> {
    match parts(t)? {
        None => Ok(vec![t.clone()]),
        Some(parts) => {
            let each: Vec<Vec<Tensor>> = parts.inner.iter().map(|(_, t)| plain(t)).collect::<Result<_>>()?;
            Ok(each.into_iter().flatten().collect())
        }
    }
}

/// A value as a graph has it: one of a class taken apart.
pub fn graph_values(value: &Value, meta: &MaybeSubclass) -> Result<Vec<Value>> {
    Ok(match (value, meta) {
        (Value::Tensor(t), Some(meta)) => meta.values(t, &mut plain(t)?.into_iter())?,
        (other, _) => vec![other.clone()],
    })
}

/// What a graph has for a tensor, with these in place of those that it is made of.
pub fn values_of(inner: &[Tensor], outer: &Tensor, meta: &MaybeSubclass) -> Result<Vec<Value>> {
    match meta {
        Some(meta) => meta.values(outer, &mut inner.iter().cloned()),
        None => Ok(inner.iter().map(Value::from).collect()),
    }
}

/// Values as the script sees them: plain tensors put together where they are to be.
pub fn wrap_values(values: Vec<Value>, metas: &[MaybeSubclass]) -> Result<Vec<Value>> {
    if metas.iter().all(Option::is_none) {
        return Ok(values);
    }
    let mut given = values.into_iter();
    let mut all = Vec::with_capacity(metas.len());
    for meta in metas {
        all.push(match meta {
            None => given.next().unwrap_or_default(),
            Some(meta) => Value::Tensor(meta.wrap(&mut given, meta.with_sizes)?),
        });
    }
    Ok(all)
}

/// Whether two tensors are put together likewise, of plain tensors that look alike as `alike` has it, or are plain.
fn same(a: &MaybeSubclass, b: &MaybeSubclass, alike: &dyn Fn(&TensorSpec, &TensorSpec) -> bool) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.same(b, alike),
        _ => false,
    }
}

/// The same, of plain tensors of one dtype and device whose sizes and strides are as `sizes` has it.
pub fn made_alike(a: &MaybeSubclass, b: &MaybeSubclass, sizes: &dyn Fn(&[SymInt], &[SymInt]) -> bool) -> bool {
    same(a, b, &|a, b| {
        let (l, r) = (&a.geometry, &b.geometry);
        a.dtype == b.dtype && a.device == b.device && sizes(&l.sizes, &r.sizes) && sizes(&l.strides, &r.strides)
    })
}

/// What a graph takes for an input, in order.
pub fn parts_of(meta: &MaybeSubclass, spec: &TensorSpec) -> Vec<Part> {
    meta.as_ref().map_or_else(|| vec![Part::Tensor(spec.clone())], |meta| meta.parts())
}

/// What the plain tensors look like that a tensor is made of, in order; a plain one itself.
pub fn plain_specs(meta: &MaybeSubclass, spec: &TensorSpec) -> Vec<TensorSpec> {
    parts_of(meta, spec).into_iter().filter_map(|part| if let Part::Tensor(spec) = part { Some(spec) } else { None }).collect()
}

/// A fake tensor that looks like this and is put together so.
pub fn fake_of(meta: &MaybeSubclass, spec: &TensorSpec) -> Result<Tensor> {
    let plain = plain_specs(meta, spec).iter().map(Tensor::fake).collect::<Result<_>>()?;
    wrap_fake(plain, meta)
}

/// A fake tensor that looks like another one, and is put together like it.
pub fn fake_like(t: &Tensor) -> Result<Tensor> {
    fake_of(&SubclassCreationMeta::of(t)?, &t.spec())
}

/// The tensor of plain ones, while something is traced.
pub fn wrap_fake(plain: Vec<Tensor>, meta: &MaybeSubclass) -> Result<Tensor> {
    let mut plain = plain.into_iter();
    match meta {
        Some(meta) => meta.wrap_fake(&mut plain),
        None => plain.next().ok_or_else(|| Error::runtime("an input is made of nothing")),
    }
}

/// How many values of a graph stand for a value of the script's.
pub fn count(meta: &MaybeSubclass) -> usize {
    meta.as_ref().map_or(1, |meta| meta.arg_count())
}

/// A tangent as it was traced: the plain tensors of one of the class that was expected, if one was. `index` counts the tangents, and
/// `output` is the function's output that it belongs to.
pub fn plain_tangent(grad: &Tensor, expected: &MaybeSubclass, index: usize, output: Option<usize>) -> Result<Vec<Tensor>> {
    let given = SubclassCreationMeta::of(grad)?;
    // It is of the same class and says the same of itself.
    let fits = |given: &MaybeSubclass| same(expected, given, &|_, _| true);
    if fits(&given) {
        return plain(grad);
    }
    let subclass = grad.imp().subclass.borrow().clone();
    if let Some(subclass) = subclass
        && let Some(made) = subclass.coerce(grad, expected.as_ref().map(|e| &*e.recipe))?
        && fits(&SubclassCreationMeta::of(&made)?)
    {
        return plain(&made);
    }
    let said = match (&given, expected) {
        (None, Some(expected)) => {
            let output = output.map(|i| format!("\n\nThe problematic output is: forward output at index {i} (0-indexed)"));
            format!(
                "Expected a {} tangent but got a plain Tensor (tangent index: {index}).\nThis happens when a compiled function returns multiple outputs that\nrequire gradients, but .backward() is only called on some of them.\nTo fix: call .detach() on forward outputs you don't need gradients for.{}\n\nThis error is also more likely to occur if your compiled model is suffering\nfrom a large number of graph breaks. For more advice on finding and fixing\ngraph breaks, see:\nhttps://docs.pytorch.org/docs/stable/user_guide/torch_compiler/compile/programming_model.graph_breaks_index.html\n\nFor more info about this error, see:\nhttps://github.com/pytorch/pytorch/issues/172556",
                expected.class_name(),
                output.unwrap_or_default()
            )
        }
        _ => {
            let plain = || ("None".to_owned(), "<class 'torch.Tensor'>".to_owned());
            let printed = |meta: &MaybeSubclass| meta.as_ref().map_or_else(plain, |meta| meta.recipe.printed());
            let ((wanted, wanted_type), (have, have_type)) = (printed(expected), printed(&given));
            format!(
                "Expected: {wanted} (type {wanted_type}),\ngot: {have} (type {have_type}), shape: torch.Size({}).\nYour tensor subclass must implement __coerce_same_metadata_as_tangent__.",
                crate::ops::geometry::list(&grad.sizes())
            )
        }
    };
    Err(Error::runtime(format!(
        "\nDuring the backward, we encountered a tensor subclass where we guessed its\nmetadata incorrectly.\n{said}"
    )))
}
