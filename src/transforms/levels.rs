//! The levels of `torch.func`: which transforms are in force, innermost last, and the tensors that stand for values in them.
//!
//! Each call of `grad` or `vmap` is a level. A tensor of a level wraps one of the level below: for `grad` it has a tape of its
//! own, for `vmap` it hides a dimension. A call goes to the innermost level first, which hands it on to the one below.
//!
//! A `grad` or `jvp` level gives the call to autograd, on its own wrappers, and takes it up again below autograd (`Key::Lower`), where
//! it unwraps and goes on from the top of the stack, one level lower. Below the last level the stack is as it is without
//! transforms, so that what is captured or traced is what the transforms make of a call.

use super::{batch_rules, batching};
use crate::autograd::forward;
use crate::dispatch::{Call, Exclude, Key, Layer, OpEntry, Restore, Rule, Value, call, push_layer};
use crate::error::Result;
use crate::tensor::Tensor;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

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
    /// `vmap` over so many items.
    Vmap(i64, Randomness),
}

/// A level in force.
#[derive(Clone)]
pub struct Level {
    /// Its number, from one.
    pub number: usize,
    /// Its transform.
    pub kind: Kind,
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
    /// Calls that a `grad` level has given to autograd: what was excluded before, and the depth.
    static FRAMES: RefCell<Vec<(Restore, usize)>> = const { RefCell::new(Vec::new()) };
}

/// Puts the layers into this thread's stack; needed once per thread.
pub fn install() {
    thread_local! {
        static DONE: Cell<bool> = const { Cell::new(false) };
    }
    if !DONE.replace(true) {
        push_layer(Rc::new(TransformLayer));
        push_layer(Rc::new(LowerLayer));
    }
}

/// Ends every level.
pub fn reset() {
    LEVELS.take().iter().for_each(|l| l.alive.set(false));
    forward::reset();
    FRAMES.take();
    DEPTH.set(0);
    USED.set(false);
}

/// Begins a level; gives its number.
pub fn push(kind: Kind) -> usize {
    USED.set(true);
    if kind == Kind::Jvp {
        forward::nest(1);
    }
    let number = LEVELS.with_borrow_mut(|l| {
        l.push(Level { number: l.len() + 1, kind, alive: Rc::new(Cell::new(true)) });
        l.len()
    });
    DEPTH.set(number);
    number
}

/// Ends the innermost level: its tensors become what they stand for.
pub fn pop() {
    let left = LEVELS.with_borrow_mut(|l| {
        if let Some(level) = l.pop() {
            level.alive.set(false);
            if level.kind == Kind::Jvp {
                forward::nest(-1);
            }
        }
        l.len()
    });
    DEPTH.set(left);
}

/// The innermost level that the call under way sees.
pub fn current() -> Option<Level> {
    LEVELS.with_borrow(|l| l.get(DEPTH.get().checked_sub(1)?).cloned())
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
    outer.set_lazy(crate::tensor::Lazy { zero: false, ..value.lazy() });
    *outer.imp().transform.borrow_mut() =
        Some(Box::new(Wrapped { number: level.number, value: value.clone(), batch_dim, alive: level.alive.clone() }));
    outer
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
        Some(w) if w.number == number => w.value,
        _ => t.clone(),
    }
}

/// Lets calls see so many levels; gives how many they saw before.
pub fn set_depth(depth: usize) -> usize {
    DEPTH.replace(depth)
}

/// Runs something as the levels below one see it.
pub fn below<R>(number: usize, f: impl FnOnce() -> R) -> R {
    struct Back(usize);
    impl Drop for Back {
        fn drop(&mut self) {
            DEPTH.set(self.0);
        }
    }
    let _back = Back(DEPTH.replace(number - 1));
    f()
}

/// The innermost level takes calls first.
struct TransformLayer;

impl Layer for TransformLayer {
    fn key(&self) -> Key {
        Key::Transform
    }

    fn wants(&self, _call: &Call) -> bool {
        USED.get()
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        let args = args.iter().map(|v| v.map_tensors(&mut |t| Ok(live(t)))).collect::<Result<Vec<_>>>()?;
        let Some(level) = current() else {
            let _below = Exclude::only(Key::Transform);
            return call(entry, args);
        };
        match entry.name {
            "aten.linear.default" => return batch_rules::linear(&Call { entry, args: &args }),
            "aten.binary_cross_entropy_with_logits.default" => return batch_rules::bce_with_logits(&Call { entry, args: &args }),
            "aten.one_hot.default"
                if matches!(level.kind, Kind::Vmap(..)) && args.first().and_then(Value::as_tensor).and_then(wrapped).is_some() =>
            {
                return batch_rules::one_hot(&Call { entry, args: &args });
            }
            _ => {}
        }
        match level.kind {
            Kind::Vmap(size, randomness) => match entry.rule {
                Rule::Composite(f) if !batching::keeps_whole(entry) => f(&Call { entry, args: &args }),
                _ => batching::call(&level, size, randomness, entry, args),
            },
            Kind::Grad | Kind::Jvp => {
                let lift = |t: &Tensor| match wrapped(t) {
                    Some(w) if w.number == level.number => t.clone(),
                    _ => wrap(t, &level, None),
                };
                let args = args.iter().map(|v| v.map_tensors(&mut |t| Ok(lift(t)))).collect::<Result<Vec<_>>>()?;
                FRAMES.with_borrow_mut(|f| f.push((Restore::current(), level.number)));
                let _above = Exclude::down_to(Key::Capture);
                let result = call(entry, args);
                FRAMES.with_borrow_mut(Vec::pop);
                result
            }
        }
    }
}

/// Below autograd, a `grad` level goes on one level down.
struct LowerLayer;

impl Layer for LowerLayer {
    fn key(&self) -> Key {
        Key::Lower
    }

    fn wants(&self, _call: &Call) -> bool {
        USED.get() && FRAMES.with_borrow(|f| !f.is_empty())
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        let Some((restore, number)) = FRAMES.with_borrow_mut(Vec::pop) else { return call(entry, args) };
        let inner = args.iter().map(|v| v.map_tensors(&mut |t| Ok(unwrap(t, number)))).collect::<Result<Vec<_>>>();
        let result = inner.and_then(|inner| {
            let _stack = restore.enter();
            below(number, || call(entry, inner.clone())).map(|out| (inner, out))
        });
        FRAMES.with_borrow_mut(|f| f.push((restore, number)));
        let (inner, out) = result?;
        let Some(level) = level(number) else { return Ok(out) };
        // What was written to is what was given.
        let written = |t: &Tensor| -> Option<Tensor> {
            let mutated = entry.schema.arguments.iter().position(|a| a.mutated)?;
            let (Value::Tensor(outer), Value::Tensor(value)) = (&args[mutated], &inner[mutated]) else { return None };
            value.is(t).then(|| {
                outer.set_geometry((*value.geometry()).clone());
                outer.clone()
            })
        };
        out.map_tensors(&mut |t| Ok(written(t).unwrap_or_else(|| wrap(t, &level, None))))
    }
}
