//! Tensors of the script's own classes in a compiled function. Its graph has the plain tensors that they are made of, in their place among
//! inputs, outputs, tangents and gradients; around the graph they are taken apart and put together again.
//!
//! The function itself is traced with tensors of these classes: autograd sees those, the class's `__torch_dispatch__` answers below
//! it, and what that calls is functionalized and recorded.

use crate::dispatch::{Modes, Value, modes, set_modes};
use crate::error::{Error, Result};
use crate::shape::SymInt;
use crate::tensor::{Recipe, Tensor, TensorSpec};
use std::rc::Rc;

/// How a tensor is put together (PyTorch's `SubclassCreationMeta`).
pub struct SubclassCreationMeta {
    recipe: Rc<dyn Recipe>,
    attrs: Vec<(Rc<str>, Inner)>,
    spec: TensorSpec,
}

/// What an attribute holds.
enum Inner {
    Plain(TensorSpec),
    Subclass(Rc<SubclassCreationMeta>),
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
        Ok(Some(Rc::new(SubclassCreationMeta { recipe: parts.recipe, attrs, spec: t.spec() })))
    }

    /// The class.
    pub fn class_name(&self) -> String {
        self.recipe.class_name()
    }

    /// What the plain tensors look like, in order.
    fn plain_specs(&self) -> Vec<TensorSpec> {
        let each = |(_, inner): &(Rc<str>, Inner)| match inner {
            Inner::Plain(spec) => vec![spec.clone()],
            Inner::Subclass(meta) => meta.plain_specs(),
        };
        self.attrs.iter().flat_map(each).collect()
    }

    /// How many plain tensors it is made of.
    pub fn arg_count(&self) -> usize {
        self.attrs.iter().map(|(_, inner)| if let Inner::Subclass(meta) = inner { meta.arg_count() } else { 1 }).sum()
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

    /// Puts a tensor together of plain ones, as many as it takes.
    pub fn wrap(&self, plain: &mut dyn Iterator<Item = Tensor>) -> Result<Tensor> {
        let mut inner = Vec::with_capacity(self.attrs.len());
        for (name, of) in &self.attrs {
            let t = match of {
                Inner::Plain(_) => plain.next().ok_or_else(|| Error::runtime("a tensor subclass lacks an inner tensor"))?,
                Inner::Subclass(meta) => meta.wrap(plain)?,
            };
            inner.push((name.clone(), t));
        }
        let (sizes, strides) = self.looks(&inner)?;
        self.recipe.make(&inner, &sizes, &strides)
    }

    /// The same while something is traced.
    fn wrap_fake(&self, plain: &mut dyn Iterator<Item = Tensor>) -> Result<Tensor> {
        let before = set_modes(Modes { fake: true, ..modes() });
        let made = self.wrap(plain);
        set_modes(Modes { fake: before.fake, ..modes() });
        made
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

/// Values as a graph has them: those of classes taken apart.
pub fn plain_values(values: &[Value]) -> Result<Vec<Value>> {
    let mut all = Vec::with_capacity(values.len());
    for value in values {
        match value {
            Value::Tensor(t) => all.extend(plain(t)?.into_iter().map(Value::Tensor)),
            other => all.push(other.clone()),
        }
    }
    Ok(all)
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
            Some(meta) => {
                let plain: Vec<Tensor> = given.by_ref().take(meta.arg_count()).map(Value::into_tensor).collect::<Result<_>>()?;
                Value::Tensor(meta.wrap(&mut plain.into_iter())?)
            }
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

/// The same, of plain tensors of one dtype, device, sizes and strides.
pub fn made_alike(a: &MaybeSubclass, b: &MaybeSubclass) -> bool {
    same(a, b, &|a, b| a.annotation() == b.annotation())
}

/// What the plain tensors look like that a tensor is made of, in order; a plain one itself.
pub fn plain_specs(meta: &MaybeSubclass, spec: &TensorSpec) -> Vec<TensorSpec> {
    meta.as_ref().map_or_else(|| vec![spec.clone()], |meta| meta.plain_specs())
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
