//! Functional tensors: what stands for a tensor while writes are taken out of a function.
//!
//! A functional tensor wraps the current value of a tensor. Tensors that alias share a [`FunctionalStorage`]: it holds the
//! value of the base and the writes not yet applied to it. A write replaces the writer's value, is queued on the storage and
//! applied at once for the writer; other aliases notice by the generation that they are stale, and replay their views from
//! the updated base when they are next used. (The design of PyTorch's FunctionalTensorWrapper.)

use super::functional_inverses::inverse;
use super::trace::{origin, set_replayed};
use crate::autograd::ViewSteps;
use crate::dispatch::{Exclude, Key, OpRef, Value, modes};
use crate::error::{Error, Result};
use crate::span::Source;
use crate::tensor::{Layout, Tensor};
use crate::{aten, t};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What aliases share.
pub struct FunctionalStorage {
    base: RefCell<Tensor>,
    updates: RefCell<Vec<(Tensor, ViewSteps)>>,
    generation: Cell<u64>,
    /// How many writes there were.
    pub writes: Cell<u64>,
    /// Of them, under no_grad or inference mode.
    pub writes_no_grad: Cell<u64>,
    /// Lines that wrote, each once.
    pub written_at: RefCell<Vec<Source>>,
}

/// The state of one functional tensor.
#[derive(Clone)]
pub struct Functional {
    /// Its value when it was used last.
    pub(super) value: Tensor,
    /// Shared with its aliases.
    pub storage: Rc<FunctionalStorage>,
    /// From the base to this tensor.
    pub steps: ViewSteps,
    /// The generation of the storage that the value belongs to.
    pub(super) generation: u64,
    /// Whether its geometry was changed in place.
    pub metadata_mutated: bool,
    /// Whether it was given another tensor's memory: `t.data = other`.
    pub data_replaced: bool,
}

impl Functional {
    /// Whether it was reached through an operator with several views as results.
    pub fn is_multi_output_view(&self) -> bool {
        self.steps.has_several_results()
    }
}

/// Reads the state of a functional tensor.
pub fn state(t: &Tensor) -> Option<Functional> {
    t.imp().functional.borrow().as_ref().and_then(|b| b.downcast_ref::<Functional>()).cloned()
}

pub(super) fn set_state(t: &Tensor, state: Functional) {
    *t.imp().functional.borrow_mut() = Some(Box::new(state));
}

/// Wraps a value that aliases nothing.
pub fn wrap(value: &Tensor) -> Result<Tensor> {
    let outer = Tensor::fake(&value.spec())?;
    outer.set_math_bits(value.math_bits());
    let storage = Rc::new(FunctionalStorage {
        base: RefCell::new(value.clone()),
        updates: RefCell::default(),
        generation: Cell::new(0),
        writes: Cell::new(0),
        writes_no_grad: Cell::new(0),
        written_at: RefCell::default(),
    });
    set_state(
        &outer,
        Functional {
            value: value.clone(),
            storage,
            steps: ViewSteps::default(),
            generation: 0,
            metadata_mutated: false,
            data_replaced: false,
        },
    );
    Ok(outer)
}

/// The current value of a tensor, writes through its aliases included; a tensor that is not functional is its own value.
pub fn unwrap(t: &Tensor) -> Result<Tensor> {
    sync(t)?;
    Ok(state(t).map_or_else(|| t.clone(), |s| s.value))
}

/// Arguments of a call: what has to be made anew for it is traced as the value it replaces was.
pub(super) fn unwrap_args(args: &[Value]) -> Result<Vec<Value>> {
    let mut current = |t: &Tensor| {
        let before = set_replayed(state(t).map(|s| s.value.id()));
        let value = unwrap(t);
        set_replayed(before);
        value
    };
    args.iter().map(|v| v.map_tensors(&mut current)).collect()
}

/// Applies queued writes to the base and regenerates the value from it.
pub fn sync(t: &Tensor) -> Result<()> {
    let Some(mut s) = state(t) else { return Ok(()) };
    if s.generation == s.storage.generation.get() {
        return Ok(());
    }
    apply_updates(&s.storage)?;
    let base = s.storage.base.borrow().clone();
    s.value = replay_below(&s.steps, &base)?;
    s.generation = s.storage.generation.get();
    set_state(t, s);
    Ok(())
}

fn replay_below(steps: &ViewSteps, base: &Tensor) -> Result<Tensor> {
    let _guard = Exclude::down_to(Key::Functionalize);
    crate::autograd::replay(steps, base)
}

fn apply_updates(storage: &FunctionalStorage) -> Result<()> {
    let updates = std::mem::take(&mut *storage.updates.borrow_mut());
    let _guard = Exclude::down_to(Key::Functionalize);
    for (value, steps) in updates {
        let base = storage.base.borrow().clone();
        // Every intermediate view of the old base, then scatter back from the innermost.
        let steps: Vec<_> = steps.iter().collect();
        let mut views = vec![base];
        for step in steps.iter().take(steps.len().saturating_sub(1)) {
            let next = step.apply(&views[views.len() - 1])?;
            views.push(next);
        }
        let mut written = value;
        for (step, of) in steps.iter().zip(&views).rev() {
            written = inverse(step, of, &written)?;
        }
        *storage.base.borrow_mut() = written;
    }
    Ok(())
}

/// Remembers the line that writes.
pub(super) fn note_line(storage: &FunctionalStorage) {
    if let Some(source) = origin().source {
        let mut lines = storage.written_at.borrow_mut();
        if !lines.contains(&source) {
            lines.push(source);
        }
    }
}

/// Replaces the value of a functional tensor: the write that an in-place operator stands for.
pub fn replace(target: &Tensor, value: Tensor) -> Result<()> {
    let Some(mut s) = state(target) else {
        return Err(Error::runtime("mutating a non-functional tensor with a functional tensor is not allowed."));
    };
    let value = if value.dtype() == target.dtype() {
        value
    } else {
        let _guard = Exclude::down_to(Key::Functionalize);
        let layout = Value::Layout(Layout::Strided);
        t!("_to_copy", value; dtype = target.dtype(), layout = layout)?
    };
    check_chain(&s.steps)?;
    let storage = s.storage.clone();
    storage.writes.set(storage.writes.get() + 1);
    if !modes().grad {
        storage.writes_no_grad.set(storage.writes_no_grad.get() + 1);
    }
    note_line(&storage);
    storage.generation.set(storage.generation.get() + 1);
    storage.updates.borrow_mut().push((value.clone(), s.steps.clone()));
    s.value = value;
    set_state(target, s);
    sync(target)
}

/// Refuses a write through `as_strided` of another view: where its elements lie, the view below does not say.
fn check_chain(steps: &ViewSteps) -> Result<()> {
    static AS_STRIDED: OpRef = OpRef::new("as_strided");
    match steps.iter().skip(1).position(|step| AS_STRIDED.is(step.entry)) {
        None => Ok(()),
        Some(at) => Err(Error::runtime(format!(
            "During torch.compile, encountered a mutation on a view chain of length {}, where view {} was an as_strided() call. as_strided() is non-compositional, and therefore is not possible to functionalize properly today,so this behavior is banned in compile. As a workaround, you can either remove the mutation from the model code, or you can insert a graph break right before the mutation with torch._dynamo.graph_break(). If you would like this behavior to work properly, please comment on https://github.com/pytorch/pytorch/issues/104505.",
            steps.iter().len(),
            at + 1,
        ))),
    }
}

/// `copy_` of a value into an input at the end of a graph, seen by the tracer only; where the input was given other memory, that.
pub fn copy_into(target: &Tensor, value: &Tensor, data_replaced: bool) -> Result<()> {
    let _guard = Exclude::down_to(Key::Functionalize);
    if data_replaced {
        return aten!("shallow_copy_data_", target, value).map(|_| ());
    }
    let g = target.geometry();
    if g.sizes.iter().zip(&g.strides).any(|(size, stride)| stride.as_int() == Some(0) && size.as_int().is_some_and(|n| n > 1)) {
        return Err(Error::runtime("more than one element of the written-to tensor refers to a single memory location"));
    }
    aten!("copy_", target, value).map(|_| ())
}
