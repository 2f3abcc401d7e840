//! The levels of `torch.func`: which transforms are in force, innermost last, and the tensors that stand for values in them.
//!
//! Each call of `grad` or `vmap` is a level. A tensor of a level wraps one of the level below: for `grad` it has a tape of its
//! own, for `vmap` it hides a dimension. What a level does with calls is the business of layers (`transforms`); here is what is
//! known of levels and their tensors, which autograd asks for, too.

use shape::SymInt;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tensor::{MathBits, Tensor};

/// What `vmap` does where random numbers are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Randomness {
    /// An error.
    Error,
    /// Every item draws its own.
    Different,
    /// All items have the same.
    Same,
}

/// A transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `grad`, `vjp`
    Grad,
    /// `jvp`: tensors of the level may have tangents.
    Jvp,
    /// `vmap`
    Vmap(Randomness),
}

/// A level in force.
#[derive(Clone)]
pub struct Level {
    /// Its number, from one.
    pub number: usize,
    /// Its transform.
    pub kind: Kind,
    /// How many items a `vmap` goes over.
    pub size: SymInt,
    /// How many levels the call saw that began it: one that was begun below others is within none of those.
    outer: usize,
    alive: Rc<Cell<bool>>,
}

/// What a tensor of a level stands for.
#[derive(Clone)]
pub struct Wrapped {
    /// The level's number.
    pub number: usize,
    /// The tensor one level below.
    pub value: Tensor,
    /// The dimension that is hidden.
    pub batch_dim: Option<usize>,
    alive: Rc<Cell<bool>>,
}

thread_local! {
    static LEVELS: RefCell<Vec<Level>> = const { RefCell::new(Vec::new()) };
    /// How many levels the call under way may still see.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Whether a level was ever begun: wrappers may be about.
    static USED: Cell<bool> = const { Cell::new(false) };
}

/// Ends every level.
pub fn reset() {
    LEVELS.take().iter().for_each(|l| l.alive.set(false));
    DEPTH.set(0);
    USED.set(false);
}

/// Whether a level was ever begun.
pub fn used() -> bool {
    USED.get()
}

/// Begins a level, which goes over so many items where it is a `vmap`; gives its number.
pub fn push(kind: Kind, size: SymInt) -> usize {
    USED.set(true);
    let outer = DEPTH.get();
    let number = LEVELS.with_borrow_mut(|l| {
        l.push(Level { number: l.len() + 1, kind, size, outer, alive: Rc::new(Cell::new(true)) });
        l.len()
    });
    DEPTH.set(number);
    number
}

/// Ends the innermost level, and gives it: its tensors become what they stand for.
pub fn pop() -> Option<Level> {
    let ended = LEVELS.with_borrow_mut(Vec::pop);
    if let Some(level) = &ended {
        level.alive.set(false);
        DEPTH.set(level.outer);
    }
    ended
}

/// The innermost level that the call under way sees.
pub fn current() -> Option<Level> {
    LEVELS.with_borrow(|l| l.get(DEPTH.get().checked_sub(1)?).cloned())
}

/// Whether a level within this one is in force: what calls here is what that makes of a call.
pub fn is_below_another(number: usize) -> bool {
    LEVELS.with_borrow(|l| l.len() > number)
}

/// Whether a level makes other calls of those that a script writes: one that batches, or computes tangents.
pub fn rewrite_calls() -> bool {
    LEVELS.with_borrow(|l| l.iter().any(|level| level.kind != Kind::Grad))
}

/// The level of a number.
pub fn level(number: usize) -> Option<Level> {
    LEVELS.with_borrow(|l| l.get(number.checked_sub(1)?).cloned())
}

/// What a tensor stands for, if it belongs to a level.
pub fn wrapped(t: &Tensor) -> Option<Wrapped> {
    t.imp().transform.borrow().as_ref().and_then(|any| any.downcast_ref::<Wrapped>().cloned())
}

/// Whether a tensor has a hidden dimension in any level.
pub fn batched(t: &Tensor) -> bool {
    wrapped(t).is_some_and(|w| w.batch_dim.is_some() || batched(&w.value))
}

/// A tensor of a level that stands for a value; `batch_dim` of it is hidden.
pub fn wrap(value: &Tensor, level: &Level, batch_dim: Option<usize>) -> Tensor {
    let mut geometry = (*value.geometry()).clone();
    if let Some(dim) = batch_dim {
        geometry.sizes.remove(dim);
        geometry.strides.remove(dim);
    }
    let outer = value.view_as(geometry);
    // That all elements are zero is known below, where products are made.
    outer.set_math_bits(MathBits { zero: false, ..value.math_bits() });
    *outer.imp().transform.borrow_mut() =
        Some(Box::new(Wrapped { number: level.number, value: value.clone(), batch_dim, alive: level.alive.clone() }));
    outer
}

/// Makes a tensor stand for what another of its level does, in that one's geometry: it was given other dimensions in place.
pub fn become_as(t: &Tensor, other: &Tensor) {
    if let Some(stands_for) = wrapped(other) {
        t.set_geometry((*other.geometry()).clone());
        *t.imp().transform.borrow_mut() = Some(Box::new(stands_for));
    }
}

/// The tensor, or what it stands for where its level has ended.
pub fn live(t: &Tensor) -> Tensor {
    let mut t = t.clone();
    while let Some(w) = wrapped(&t).filter(|w| !w.alive.get()) {
        t = w.value;
    }
    t
}

/// The tensor one level down, where it belongs to this level.
pub fn unwrap(t: &Tensor, number: usize) -> Tensor {
    match wrapped(t) {
        Some(w) if w.number == number && w.alive.get() => w.value,
        _ => t.clone(),
    }
}

/// Lets calls see so many levels; gives how many they saw before.
pub fn set_depth(depth: usize) -> usize {
    DEPTH.replace(depth)
}

/// How many levels those below one see.
pub fn depth_below(number: usize) -> usize {
    level(number).map_or(number.saturating_sub(1), |level| level.outer)
}

/// Runs something as the levels below one see it.
pub fn below<R>(number: usize, f: impl FnOnce() -> R) -> R {
    struct Back(usize);
    impl Drop for Back {
        fn drop(&mut self) {
            DEPTH.set(self.0);
        }
    }
    let _back = Back(DEPTH.replace(depth_below(number)));
    f()
}

/// A tensor of a level without its history: another wrapper of what it stands for, or that where the level has ended, though another has
/// its number now. `None` for tensors of no level.
pub fn detached(t: &Tensor) -> Option<Tensor> {
    let inner = wrapped(t)?;
    let own = level(inner.number).filter(|_| inner.alive.get());
    Some(own.map_or(inner.value.clone(), |own| wrap(&inner.value, &own, inner.batch_dim)))
}

/// Whether a tensor is the very one that another, of a level, stands for.
pub fn stands_for(outer: &Tensor, value: &Tensor) -> bool {
    wrapped(outer).is_some_and(|w| w.value.is(value))
}
