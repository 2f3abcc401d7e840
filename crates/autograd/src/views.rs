//! Views and in-place writes: what a view is a view of, and how a write through it changes history.
//!
//! A write to a view makes the base's history a `CopySlices` node; every other view regenerates its grad_fn when next asked
//! (its version tells). Real tensors regenerate through `as_strided`, functional ones, and views in another dtype, by replaying the
//! view operators, as in PyTorch.

use super::lift::{Lift, Lifted};
use super::meta::{self, CreationMeta};
use super::node::{Body, Edge, Node, gradient_edge};
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Call, Exclude, OpEntry, Value, call};
use shape::SymInt;
use std::any::Any;
use std::rc::Rc;
use tensor::{Geometry, Tensor};

/// One view operator with its arguments; the first is the tensor and is left out.
#[derive(Clone)]
pub struct ViewStep {
    /// The operator.
    pub entry: &'static OpEntry,
    /// Its arguments, the first one `None`.
    pub args: Vec<Value>,
    /// Which result, for operators with several.
    pub result: Option<usize>,
}

impl ViewStep {
    /// Applies the view operator to a tensor.
    pub fn apply(&self, base: &Tensor) -> Result<Tensor> {
        if let Some(one) = self.result.map(|i| self.one_of_several(base, i)).transpose()?.flatten() {
            return Ok(one);
        }
        let mut args = self.args.clone();
        args[0] = base.into();
        let value = call(self.entry, args)?;
        match self.result {
            Some(i) => value.list()?[i].tensor().cloned(),
            None => value.into_tensor(),
        }
    }
}

impl ViewStep {
    /// One result of an operator with several views, made alone.
    fn one_of_several(&self, base: &Tensor, index: usize) -> Result<Option<Tensor>> {
        let call = Call { entry: self.entry, args: &self.args };
        let dim = call.get("dim");
        let size = |d: &Value| Ok::<_, diagnostics::error::Error>(base.size(d.int()?.rem_euclid(base.dim().max(1) as i64) as usize));
        let (start, end) = match self.entry.base_name() {
            "unbind" => return t!("select.int", base, dim, index).map(Some),
            "split" => {
                let each = call.sym_int("split_size")?;
                let start = &each * index as i64;
                let end = (&start + &each).min(&size(dim)?);
                (start, end)
            }
            "split_with_sizes" => {
                let sizes = call.sym_ints("split_sizes")?;
                let start = sizes[..index].iter().fold(SymInt::Int(0), |n, s| &n + s);
                let end = &start + &sizes[index];
                (start, end)
            }
            _ => return Ok(None),
        };
        t!("slice.Tensor", base, dim, start, end).map(Some)
    }
}

/// View operators one after the other, from a base to a view. A view of a view shares those of what it views: a chain of views takes
/// time and memory by its length alone.
#[derive(Clone, Default)]
pub struct ViewSteps(Option<Rc<Link>>);

/// The last of several view operators, and those before it.
struct Link {
    step: ViewStep,
    before: ViewSteps,
    /// Whether one of them has several results.
    several: bool,
}

impl ViewSteps {
    /// These and one more.
    #[must_use]
    pub fn and(&self, step: ViewStep) -> Self {
        let several = step.result.is_some() || self.has_several_results();
        ViewSteps(Some(Rc::new(Link { step, before: self.clone(), several })))
    }

    /// The operator that made the view.
    pub fn last(&self) -> Option<&ViewStep> {
        self.0.as_deref().map(|link| &link.step)
    }

    /// Whether the view is its base.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether one of the operators has several results.
    pub fn has_several_results(&self) -> bool {
        self.0.as_deref().is_some_and(|link| link.several)
    }

    /// From the base on.
    pub fn iter(&self) -> std::vec::IntoIter<&ViewStep> {
        let mut steps: Vec<_> = std::iter::successors(self.0.as_deref(), |link| link.before.0.as_deref()).map(|link| &link.step).collect();
        steps.reverse();
        steps.into_iter()
    }
}

impl<'a> IntoIterator for &'a ViewSteps {
    type Item = &'a ViewStep;
    type IntoIter = std::vec::IntoIter<&'a ViewStep>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Drop for ViewSteps {
    /// One after the other: a chain may be longer than the stack is deep.
    fn drop(&mut self) {
        let mut last = self.0.take();
        while let Some(link) = last {
            last = Rc::into_inner(link).and_then(|mut link| link.before.0.take());
        }
    }
}

/// Applies view operators one after the other.
pub fn replay<'a>(steps: impl IntoIterator<Item = &'a ViewStep>, base: &Tensor) -> Result<Tensor> {
    steps.into_iter().try_fold(base.clone(), |t, step| step.apply(&t))
}

/// What a view knows of its base.
#[derive(Clone)]
pub struct ViewInfo {
    /// The tensor it views, which is no view itself.
    pub base: Tensor,
    /// How to get from the base to the view.
    pub steps: ViewSteps,
    /// How it came about.
    pub creation: CreationMeta,
    /// Whether gradients flow through it (not through `detach()`).
    pub differentiable: bool,
    /// The version its grad_fn was made for.
    pub version: u64,
}

/// Makes `view` a view of `of` (or of its base).
pub fn make_view(view: &Tensor, of: &Tensor, step: ViewStep, creation: CreationMeta, differentiable: bool) {
    let info = meta::peek(of, |m| m.view.clone());
    let info = match info {
        Some(parent) if parent.differentiable => {
            let steps = parent.steps.and(step);
            let creation = if creation == CreationMeta::Default { parent.creation } else { creation };
            ViewInfo { base: parent.base, steps, creation, differentiable, version: view.version() }
        }
        _ => ViewInfo { base: of.clone(), steps: ViewSteps::default().and(step), creation, differentiable, version: view.version() },
    };
    meta::with(view, |m| m.view = Some(info));
}

/// A custom function's output, one of several or the only one, goes on being a view: of the input that it is, or of what it was a view
/// of inside (`info`).
pub fn keep_view(output: &Tensor, info: Option<ViewInfo>, input: Option<&Tensor>, is_one_of_several: bool) {
    let creation = if is_one_of_several { CreationMeta::MultiOutputNode } else { CreationMeta::CustomFunction };
    static ALIAS: dispatch::OpRef = dispatch::OpRef::new("alias");
    match (input, info) {
        (Some(input), _) => {
            let step = ViewStep { entry: ALIAS.get(), args: vec![Value::None], result: None };
            make_view(output, input, step, creation, true);
        }
        (None, Some(info)) => {
            let info = ViewInfo { creation, version: output.version(), ..info };
            meta::with(output, |m| m.view = Some(info));
        }
        (None, None) => {}
    }
}

/// A custom function's output goes on being a view of a tensor whose memory it has, wherever it begins there.
pub fn keep_view_into(output: &Tensor, of: &Tensor) {
    static AS_STRIDED: dispatch::OpRef = dispatch::OpRef::new("as_strided");
    let geometry = output.geometry();
    let list = |numbers: &[SymInt]| Value::List(numbers.iter().cloned().map(Value::Int).collect());
    let args = vec![Value::None, list(&geometry.sizes), list(&geometry.strides), Value::Int(geometry.offset.clone())];
    let step = ViewStep { entry: AS_STRIDED.get(), args, result: None };
    make_view(output, of, step, CreationMeta::CustomFunction, true);
}

/// Says how a view came about.
pub fn set_creation(view: &Tensor, creation: CreationMeta) {
    meta::with(view, |m| {
        if let Some(info) = &mut m.view {
            info.creation = creation;
        }
    });
}

/// Whether a view is made again by its operators: strides alone do not say how it reads its base's bytes, or must not be shown.
fn is_replayed(base: &Tensor, view: &Tensor) -> bool {
    is_functional(base) || base.dtype() != view.dtype() || base.math_bits() != view.math_bits()
}

fn is_functional(t: &Tensor) -> bool {
    t.imp().functional.borrow().is_some()
}

/// Regenerates the grad_fn of a view whose base has been written to since.
pub fn refresh(view: &Tensor) -> Result<()> {
    let Some(info) = meta::peek(view, |m| m.view.clone()) else { return Ok(()) };
    let has_history = meta::peek(view, |m| m.grad_fn.is_some());
    if !info.differentiable || info.version == view.version() || !(has_history || meta::requires_grad(&info.base)) {
        return Ok(());
    }
    allow_write(view, info.creation, "its base or another view of its base has been")?;
    let fresh = {
        let _grad = GradMode::set(true);
        let _all = Exclude::capture_alone();
        if is_replayed(&info.base, view) {
            replay(&info.steps, &info.base)?
        } else {
            let g = view.geometry();
            t!("as_strided", &info.base, &g.sizes, &g.strides, &g.offset)?
        }
    };
    let history = meta::peek(&fresh, |m| m.grad_fn.clone());
    if let Some((node, index)) = history {
        meta::set_grad_fn(view, node, index);
        let version = view.version();
        meta::with(view, |m| m.view.iter_mut().for_each(|v| v.version = version));
    }
    Ok(())
}

/// Refuses a write to a view (`what`: to it, or to what it shares memory with) where the way in which it was made leaves its history
/// in doubt.
pub(super) fn allow_write(view: &Tensor, creation: CreationMeta, what: &str) -> Result<()> {
    if creation == CreationMeta::Default {
        return Ok(());
    }
    let history = meta::peek(view, |m| m.grad_fn.as_ref().map(|(n, i)| format!("Output {i} of {}", super::saved::operation(&n.name))));
    let (mode, now) = match creation {
        CreationMeta::Inference => ("inference", "in normal mode"),
        _ => ("no_grad", "with grad mode enabled"),
    };
    let in_mode = matches!(creation, CreationMeta::Inference | CreationMeta::NoGrad);
    let said = match &history {
        Some(output) if in_mode => {
            format!("{output} is a view of a view which was created in {mode} mode and {what} modified inplace {now}.")
        }
        Some(output) => format!("{output} is a view and {what} modified inplace."),
        None => format!("A view was created in {mode} mode and {what} modified inplace {now}."),
    };
    let why = match creation {
        CreationMeta::MultiOutputNode => "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace the inplace operation by an out-of-place one.".to_owned(),
        CreationMeta::CustomFunction => "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.".to_owned(),
        _ => {
            let block = if creation == CreationMeta::Inference { "inference_mode" } else { "no_grad" };
            format!("Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace either both inside the {block} block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked).")
        }
    };
    Err(Error::runtime(format!("{said} {why}")))
}

/// Sets `torch.set_grad_enabled` until dropped.
pub(super) struct GradMode(dispatch::Modes);

impl GradMode {
    pub(super) fn set(grad: bool) -> Self {
        let before = dispatch::modes();
        dispatch::set_modes(dispatch::Modes { grad, ..before });
        GradMode(before)
    }
}

impl Drop for GradMode {
    fn drop(&mut self) {
        let now = dispatch::modes();
        dispatch::set_modes(dispatch::Modes { grad: self.0.grad, ..now });
    }
}

/// After an in-place operator: `t` is now the result of `node`. For a view, its base's history becomes a `CopySlices`.
pub fn rebase_history(target: &Tensor, node: &Rc<Node>) -> Result<()> {
    let info = meta::peek(target, |m| m.view.clone()).filter(|v| v.differentiable);
    let Some(info) = info else {
        let index = node.add_input(target);
        meta::set_grad_fn(target, node.clone(), index);
        return Ok(());
    };
    node.add_input(target);
    let base_edge = gradient_edge(&info.base)?;
    let mut edges = node.edges.borrow().clone();
    if edges.is_empty() {
        edges.push(None);
    }
    edges[0] = base_edge;
    let view_geometry = (*target.geometry()).clone();
    let replay_steps = is_replayed(&info.base, target).then(|| info.steps.clone());
    let body = CopySlices { base: (*info.base.geometry()).clone(), view: view_geometry, steps: replay_steps, inner: node.clone() };
    let copy_slices = Node::new("CopySlices", edges, Box::new(body));
    let index = copy_slices.add_input(&info.base);
    meta::set_grad_fn(&info.base, copy_slices, index);
    // The view's own history is regenerated from the base at once, as PyTorch does.
    meta::with(target, |m| m.view.iter_mut().for_each(|v| v.version = u64::MAX));
    refresh(target)
}

/// A tensor is the result of a node, also as the view that it is: its history is that of its base only when somebody writes again.
pub fn become_result(target: &Tensor, node: &Rc<Node>) {
    meta::set_history(target, node);
    let version = target.version();
    meta::with(target, |m| m.view.iter_mut().for_each(|view| view.version = version));
}

/// Backward of a write through a view: the written part of the gradient goes through the writer, the rest passes.
struct CopySlices {
    base: Geometry,
    view: Geometry,
    steps: Option<ViewSteps>,
    inner: Rc<Node>,
}

impl Body for CopySlices {
    fn apply(&self, node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        let edges = node.edges.borrow().len();
        let Some(grad) = grads.into_iter().next().flatten() else { return Ok(vec![None; edges]) };
        let result = t!("new_empty_strided", &grad, &self.base.sizes, &self.base.strides)?;
        let result = t!("copy_", result, &grad)?;
        let slice = match &self.steps {
            Some(steps) => replay(steps, &result)?,
            None => {
                let offset = &self.view.offset - &self.base.offset;
                t!("as_strided", &result, &self.view.sizes, &self.view.strides, &offset)?
            }
        };
        // The writer computes what CopySlices's own edges ask for; its first edge stands for the base.
        let inner_edges = self.inner.edges.borrow().clone();
        {
            let mut asked = self.inner.edges.borrow_mut();
            for (i, edge) in node.edges.borrow().iter().enumerate().take(asked.len()) {
                asked[i] = edge.clone();
            }
        }
        let cloned = t!("clone", &slice; memory_format = tensor::MemoryFormat::Contiguous)?;
        let inner = self.inner.body.apply(&self.inner, vec![Some(cloned)]);
        *self.inner.edges.borrow_mut() = inner_edges;
        let mut out = vec![None; edges];
        for (i, g) in inner?.into_iter().enumerate().take(edges) {
            if !node.should_compute(i) {
                continue;
            }
            if i == 0 {
                if let Some(g) = &g {
                    t!("copy_", &slice, g)?;
                } else {
                    t!("zero_", &slice)?;
                }
                out[0] = Some(result.clone());
            } else {
                out[i] = g;
            }
        }
        if out[0].is_none() && node.should_compute(0) {
            out[0] = Some(result);
        }
        Ok(out)
    }

    fn lift(&self, node: &Rc<Node>, lift: &mut Lift) -> Result<Lifted> {
        let (base, view) = (lift.geometry(&self.base)?, lift.geometry(&self.view)?);
        let edges: Vec<Option<Edge>> = node.edges.borrow().clone();
        let own = self.inner.edges.replace(edges);
        let inner = self.inner.body.lift(&self.inner, lift);
        self.inner.edges.replace(own);
        Ok(Lifted::CopySlices { base, view, inner: Box::new(inner?) })
    }

    fn release(&self) {
        self.inner.body.release();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// An edge list from tensors: where the gradient of each goes.
pub(super) fn edges_of(tensors: &[Option<Tensor>]) -> Result<Vec<Option<Edge>>> {
    tensors.iter().map(|t| t.as_ref().map_or(Ok(None), gradient_edge)).collect()
}
