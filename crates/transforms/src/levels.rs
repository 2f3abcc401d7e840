//! What the levels of `torch.func` do with calls ([`dispatch::levels`] says what a level is).
//!
//! A call goes to the innermost level first, which hands it on to the one below.
//!
//! A `grad` or `jvp` level gives the call to autograd, on its own wrappers, and takes it up again below autograd (`Key::Lower`), where
//! it unwraps and goes on from the top of the stack, one level lower. Below the last level the stack is as it is without
//! transforms, so that what is captured or traced is what the transforms make of a call.

use super::batching;
use autograd::forward;
use diagnostics::error::Result;
use dispatch::{Call, Exclude, Key, Layer, OpEntry, Restore, Rule, Value, call, levels, push_layer};
use shape::SymInt;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tensor::Tensor;

pub use dispatch::levels::{Kind, Level, Randomness, Wrapped, batched, below, current, level, live, set_depth, unwrap, wrap, wrapped};

thread_local! {
    /// How many functions are functionalized, one within another.
    static FUNCTIONALIZING: Cell<usize> = const { Cell::new(0) };
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
    levels::reset();
    forward::reset();
    FRAMES.take();
}

/// While it lives, a script's function runs in `torch.func.functionalize`, which has no level.
pub struct Functionalizing(());

impl Functionalizing {
    /// Begins.
    pub fn enter() -> Functionalizing {
        FUNCTIONALIZING.set(FUNCTIONALIZING.get() + 1);
        Functionalizing(())
    }
}

impl Drop for Functionalizing {
    fn drop(&mut self) {
        FUNCTIONALIZING.set(FUNCTIONALIZING.get() - 1);
    }
}

/// Whether a function is being transformed.
pub fn are_active() -> bool {
    current().is_some() || FUNCTIONALIZING.get() > 0
}

/// The number of the functionalization under way, among all that transforms a function; none where none is.
pub fn functionalized_at() -> Option<usize> {
    let within = FUNCTIONALIZING.get();
    (within > 0).then(|| current().map_or(0, |level| level.number) + within)
}

/// Begins a level that goes over no items; gives its number.
pub fn push(kind: Kind) -> usize {
    if kind == Kind::Jvp {
        forward::nest(1);
    }
    levels::push(kind, SymInt::Int(1))
}

/// Begins a level of `vmap` over so many items; gives its number.
pub fn push_vmap(size: SymInt, randomness: Randomness) -> usize {
    levels::push(Kind::Vmap(randomness), size)
}

/// Ends the innermost level: its tensors become what they stand for.
pub fn pop() {
    if levels::pop().is_some_and(|level| level.kind == Kind::Jvp) {
        forward::nest(-1);
    }
}

/// The innermost level takes calls first.
struct TransformLayer;

impl Layer for TransformLayer {
    fn key(&self) -> Key {
        Key::Transform
    }

    fn wants(&self, _call: &Call) -> bool {
        levels::used()
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        let args = args.iter().map(|v| v.map_tensors(&mut |t| Ok(live(t)))).collect::<Result<Vec<_>>>()?;
        let Some(level) = current() else {
            let _below = Exclude::only(Key::Transform);
            return call(entry, args);
        };
        if let Some(composed) = entry.under_transforms {
            return composed(&Call { entry, args: &args });
        }
        match level.kind {
            Kind::Vmap(randomness) => match entry.rule {
                // How it is batched is said of it as a whole, or of what it is composed of.
                Rule::Composite(f) if entry.batch.is_none() => f(&Call { entry, args: &args }),
                _ => batching::call(&level, randomness, entry, args),
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
        levels::used() && FRAMES.with_borrow(|f| !f.is_empty())
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
