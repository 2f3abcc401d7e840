//! What autograd knows of a tensor.

use super::accumulate::AccumulateGrad;
use super::node::{GradHook, Node};
use super::views::{self, ViewInfo, ViewStep};
use diagnostics::error::{Error, Result};
use std::rc::{Rc, Weak};
use tensor::Tensor;

/// What forward mode knows of a tensor.
#[derive(Default)]
pub struct ForwardMeta {
    /// Its tangent.
    pub(super) tangent: Option<Tensor>,
    /// The tensor that it is a view of, as tangents go, and how.
    pub(super) view: Option<(Tensor, Vec<ViewStep>)>,
}

/// How a view came about, which decides what in-place writes to it may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CreationMeta {
    /// In grad mode.
    #[default]
    Default,
    /// By a custom function.
    CustomFunction,
    /// By an operator with several views as results.
    MultiOutputNode,
    /// Under no_grad.
    NoGrad,
    /// Under inference mode.
    Inference,
}

/// The state in a tensor's autograd slot.
#[derive(Default)]
pub struct AutogradMeta {
    /// Set by the user on a leaf.
    pub requires_grad: bool,
    /// `.grad`
    pub grad: Option<Tensor>,
    /// What made it, and which of its results it is.
    pub grad_fn: Option<(Rc<Node>, usize)>,
    /// The accumulator of a leaf, while a tape holds it.
    pub accumulator: Weak<Node>,
    /// Hooks on the gradient of a leaf: handle, hook.
    pub hooks: Vec<(u64, GradHook)>,
    /// Hooks after a leaf's gradient was accumulated: handle, hook.
    pub post_accumulate_hooks: Vec<(u64, GradHook)>,
    /// `.retain_grad()` was called.
    pub retains_grad: bool,
    /// The tensor it views.
    pub view: Option<ViewInfo>,
    /// Made in inference mode: autograd must not meet it.
    pub inference: bool,
    /// What forward mode knows of it.
    pub forward: Option<Box<ForwardMeta>>,
}

/// Reads or changes the state, made on first use.
pub fn with<R>(t: &Tensor, f: impl FnOnce(&mut AutogradMeta) -> R) -> R {
    let mut slot = t.imp().autograd.borrow_mut();
    let any = slot.get_or_insert_with(|| Box::<AutogradMeta>::default());
    match any.downcast_mut::<AutogradMeta>() {
        Some(meta) => f(meta),
        None => f(&mut AutogradMeta::default()),
    }
}

/// Reads the state, if there is any.
pub fn peek<R: Default>(t: &Tensor, f: impl FnOnce(&AutogradMeta) -> R) -> R {
    let slot = t.imp().autograd.borrow();
    slot.as_ref().and_then(|any| any.downcast_ref::<AutogradMeta>()).map(f).unwrap_or_default()
}

/// `t.requires_grad`
pub fn requires_grad(t: &Tensor) -> bool {
    peek(t, |m| m.requires_grad || m.grad_fn.is_some() || m.view.as_ref().is_some_and(|v| v.differentiable && has_edge(&v.base)))
}

/// Whether `requires_grad` was set on this very tensor.
pub fn is_marked(t: &Tensor) -> bool {
    peek(t, |m| m.requires_grad)
}

/// Whether a gradient can flow to it, as far as its history was made: not to a view made under no_grad.
pub fn has_edge(t: &Tensor) -> bool {
    peek(t, |m| m.requires_grad || m.grad_fn.is_some())
}

/// `t.is_inference()`
pub fn is_inference(t: &Tensor) -> bool {
    peek(t, |m| m.inference)
}

/// `t.is_leaf`
pub fn is_leaf(t: &Tensor) -> bool {
    !peek(t, |m| m.grad_fn.is_some())
}

/// `t.requires_grad_(value)`, with PyTorch's errors.
pub fn set_requires_grad(t: &Tensor, value: bool) -> Result<()> {
    if !is_leaf(t) && !value {
        return Err(Error::runtime(
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().",
        ));
    }
    if value && t.dtype().is_integral() {
        return Err(Error::runtime("only Tensors of floating point dtype can require gradients"));
    }
    if value && is_inference(t) && !dispatch::modes().inference {
        return Err(Error::runtime("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."));
    }
    if is_leaf(t) {
        with(t, |m| m.requires_grad = value);
    }
    Ok(())
}

/// `t.grad`
pub fn grad(t: &Tensor) -> Option<Tensor> {
    peek(t, |m| m.grad.clone())
}

/// Sets `t.grad`.
pub fn set_grad(t: &Tensor, grad: Option<Tensor>) {
    with(t, |m| m.grad = grad);
}

/// `t.grad_fn` with the index of the result; regenerated for a view whose base was written to.
pub fn grad_fn(t: &Tensor) -> Result<Option<(Rc<Node>, usize)>> {
    views::refresh(t)?;
    Ok(peek(t, |m| m.grad_fn.clone()))
}

/// Makes a tensor the result of a node.
pub fn set_history(t: &Tensor, node: &Rc<Node>) {
    let index = node.add_input(t);
    with(t, |m| m.grad_fn = Some((node.clone(), index)));
}

/// A tensor that was written is now result `index` of a node. A gradient that it retains is that of what it is now; its hooks stay where they
/// are.
pub(super) fn set_grad_fn(t: &Tensor, node: Rc<Node>, index: usize) {
    let (before, retains) = with(t, |m| (m.grad_fn.replace((node.clone(), index)), m.retains_grad));
    if !retains {
        return;
    }
    if let Some((before, _)) = before {
        before.retain_grad.borrow_mut().retain(|(_, kept)| !std::ptr::eq(kept.as_ptr(), t.imp()));
    }
    node.retain_grad.borrow_mut().push((index, t.downgrade()));
}

/// The accumulator of a leaf that requires grad.
pub fn accumulator(t: &Tensor) -> Rc<Node> {
    if let Some(node) = peek(t, |m| m.accumulator.upgrade()) {
        return node;
    }
    let node = Node::with_seq_nr("AccumulateGrad", u64::MAX, Vec::new(), Box::new(AccumulateGrad { variable: t.clone() }));
    node.add_input(t);
    with(t, |m| m.accumulator = Rc::downgrade(&node));
    node
}

/// A tensor is to hold the data of another (`t.data = value`): a leaf's accumulator expects gradients of the dtype and the device that the
/// leaf had, so that another one is made where those change.
pub fn set_data(t: &Tensor, value: &Tensor) -> Result<()> {
    if requires_grad(t) && value.dtype().is_integral() {
        return Err(Error::runtime("data set to a tensor that requires gradients must be floating point or complex dtype"));
    }
    if (t.dtype(), t.device()) != (value.dtype(), value.device()) {
        with(t, |m| m.accumulator = Weak::new());
    }
    Ok(())
}

/// `t._base`
pub fn base(t: &Tensor) -> Option<Tensor> {
    peek(t, |m| m.view.as_ref().map(|v| v.base.clone()))
}

/// Whether it was made by a view operator through which gradients flow: not by one that reads bytes as another dtype.
pub fn is_differentiable_view(t: &Tensor) -> bool {
    peek(t, |m| m.view.as_ref().is_some_and(|v| v.differentiable && !v.steps.last().is_some_and(|s| s.entry.not_differentiable)))
}

/// Forgets history and view (what `detach_()` leaves).
pub fn clear(t: &Tensor) {
    *t.imp().autograd.borrow_mut() = None;
}
