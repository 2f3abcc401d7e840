//! Where calls come from while a graph is replayed: the script's line, its modules, what checkpointing asks of them.

use crate::dispatch::{OpEntry, Value};
use crate::error::Result;
use crate::graph::{Annotation, Recompute, SourceFn};
use crate::shape::Expr;
use crate::span::{ModuleStack, Source, current_modules};
use crate::tensor::Tensor;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What a replayed graph says about the calls it makes.
#[derive(Clone, Default)]
pub struct Origin {
    /// The script's line.
    pub source: Option<Source>,
    /// Modules it ran in.
    pub modules: Option<Rc<ModuleStack>>,
    /// What the script called.
    pub source_fn: Option<Rc<SourceFn>>,
    /// What checkpointing asks of it.
    pub recompute: Option<Recompute>,
    /// Which checkpointed region it belongs to.
    pub checkpoint_region: Option<u32>,
    /// What the script annotated it with.
    pub annotation: Option<Rc<Annotation>>,
    /// The node that is replayed.
    pub from_node: Option<Rc<str>>,
    /// Symbolic numbers that the script hands to it.
    pub numbers: Vec<Expr>,
    /// How many checkpointed regions it is in.
    pub checkpoint_depth: usize,
}

/// A script's checkpoint policy: what becomes of a call, given its arguments and its result.
pub type CheckpointPolicy = Rc<dyn Fn(&'static OpEntry, &[Value], &Value) -> Result<Recompute>>;

/// A script's `context_fn`: called for every pass over a checkpointed body, it gives the policy of that pass.
pub type CheckpointContexts = Rc<dyn Fn() -> Result<CheckpointPolicy>>;

thread_local! {
    static ORIGIN: RefCell<Origin> = RefCell::default();
    static UNWATCHED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static CONTEXTS: RefCell<Vec<CheckpointContexts>> = const { RefCell::new(Vec::new()) };
    static REGIONS: Cell<u32> = const { Cell::new(0) };
    static REPLAYED: Cell<Option<u64>> = const { Cell::new(None) };
    static ANNOTATION: RefCell<Option<Rc<Annotation>>> = const { RefCell::new(None) };
    static KEEPS_ANNOTATIONS: Cell<bool> = const { Cell::new(false) };
    static PRESERVES_META: Cell<bool> = const { Cell::new(false) };
}

/// Says which value is being made anew because an alias of it was written to; gives what was said before. Its nodes keep the
/// number and the line of the value's own.
pub fn set_replayed(value: Option<u64>) -> Option<u64> {
    REPLAYED.replace(value)
}

/// Does something that comes from a place of the script, in the module that runs.
pub fn coming_from<R>(source: Option<Source>, f: impl FnOnce() -> R) -> R {
    let before = set_origin(Origin { source, modules: current_modules(), ..origin() });
    let done = f();
    set_origin(before);
    done
}

/// Says where the calls that follow come from; gives what was said before.
pub fn set_origin(origin: Origin) -> Origin {
    crate::span::set_asking(origin.source.clone());
    ORIGIN.replace(origin)
}

/// Where calls come from at the moment.
pub fn origin() -> Origin {
    ORIGIN.with_borrow(Clone::clone)
}

/// What the script annotates its calls with from now on.
pub fn set_annotation(annotation: Option<Annotation>) {
    ANNOTATION.set(annotation.map(Rc::new));
}

/// What the script annotates its calls with at the moment.
pub fn script_annotation() -> Option<Rc<Annotation>> {
    ANNOTATION.with_borrow(Clone::clone)
}

/// Whether calls that the script makes while it is traced keep its annotations; gives what was said before.
pub fn keep_annotations(keeps: bool) -> bool {
    KEEPS_ANNOTATIONS.replace(keeps)
}

/// Says whether a script's block of `preserve_node_meta` runs.
pub fn preserve_meta(preserves: bool) {
    PRESERVES_META.set(preserves);
}

/// Whether one runs.
pub(super) fn preserves_meta() -> bool {
    PRESERVES_META.get()
}

/// The annotation of a call that the script makes while it is traced.
pub(super) fn annotation() -> Option<Rc<Annotation>> {
    if KEEPS_ANNOTATIONS.get() { script_annotation() } else { None }
}

/// Whether the call being replayed is one of a checkpointed region.
pub(super) fn is_in_region() -> bool {
    ORIGIN.with_borrow(|o| o.checkpoint_region.is_some())
}

/// Whether the script itself hands a symbolic number to the call being replayed.
pub(super) fn hands_on(number: &Expr) -> bool {
    ORIGIN.with_borrow(|o| o.numbers.contains(number))
}

/// The value that is being made anew.
pub(super) fn replayed() -> Option<u64> {
    REPLAYED.get()
}

/// The tensors of [`set_unwatched`], which forgets them.
pub(super) fn take_unwatched() -> Vec<u64> {
    UNWATCHED.take()
}

/// The policy of a pass over a checkpointed body, by the number of its contexts.
pub fn enter_checkpoint(number: u32) -> Result<Option<CheckpointPolicy>> {
    CONTEXTS.with_borrow(|known| known.get(number as usize).cloned()).map(|contexts| contexts()).transpose()
}

/// Says that a traced tensor is kept by a script's own backward without `save_for_backward`: writes to it go unnoticed.
pub fn set_unwatched(t: &Tensor) {
    UNWATCHED.with_borrow_mut(|u| u.push(t.id()));
}

/// The number of the next checkpointed region.
pub fn next_checkpoint_region() -> u32 {
    REGIONS.set(REGIONS.get() + 1);
    REGIONS.get()
}

/// Keeps a script's `context_fn` under a number.
pub fn add_checkpoint_contexts(contexts: CheckpointContexts) -> u32 {
    CONTEXTS.with_borrow_mut(|known| {
        known.push(contexts);
        known.len() as u32 - 1
    })
}

/// Counts checkpointed regions anew and forgets contexts.
pub fn reset_checkpoint_regions() {
    REGIONS.set(0);
    CONTEXTS.take();
}
