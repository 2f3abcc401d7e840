//! `torch.autocast`: the dtypes in which operators run are chosen by the operator, by casting its arguments first.
//!
//! Three kinds of operators matter on the CPU: those that run in the short dtype (products, convolutions, attention), those
//! that need float32 (losses, factorizations, Fourier transforms), and those that take the widest dtype of their arguments
//! (`cat`, `stack`). All others run in what they are given. The casts are ordinary calls: autograd and tracing see them.
//! Casts of leaves that require grad are kept until the outermost block ends, unless something is being captured or traced.

use autograd::meta;
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Call, CastPolicy, Exclude, Key, Layer, OpEntry, Value, call, has_layer, modes, push_layer};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use tensor::{Dtype, Tensor};

thread_local! {
    static DEFAULT: Cell<Dtype> = const { Cell::new(Dtype::BFloat16) };
    static CACHE_ENABLED: Cell<bool> = const { Cell::new(true) };
    static NESTING: Cell<i64> = const { Cell::new(0) };
    /// Casts of leaves: the leaf is kept, so that its identity is not given to another tensor.
    static CACHE: RefCell<HashMap<u64, (Tensor, Tensor)>> = RefCell::default();
}

/// The short dtype, whether autocast is on or not (`torch.get_autocast_dtype("cpu")`).
pub fn short_dtype() -> Dtype {
    modes().autocast.unwrap_or_else(|| DEFAULT.get())
}

/// Sets the short dtype.
pub fn set_short_dtype(dtype: Dtype) {
    DEFAULT.set(dtype);
}

/// Whether casts of leaves are kept.
pub fn cache_enabled() -> bool {
    CACHE_ENABLED.get()
}

/// Says whether casts of leaves are kept.
pub fn set_cache_enabled(enabled: bool) {
    CACHE_ENABLED.set(enabled);
}

/// A block begins (1) or ends (-1); gives how many are open.
pub fn nest(step: i64) -> i64 {
    NESTING.set(NESTING.get() + step);
    NESTING.get()
}

/// Forgets kept casts.
pub fn clear_cache() {
    CACHE.take();
}

/// Puts everything back as it is when a script starts.
pub fn reset() {
    DEFAULT.set(Dtype::BFloat16);
    CACHE_ENABLED.set(true);
    NESTING.set(0);
    clear_cache();
}

/// Puts the layer into this thread's stack; needed once per thread.
pub fn install() {
    thread_local! {
        static DONE: Cell<bool> = const { Cell::new(false) };
    }
    if !DONE.replace(true) {
        push_layer(Rc::new(AutocastLayer));
    }
}

/// What is done with an operator's arguments: nothing where one of them is written to.
fn policy(entry: &OpEntry) -> Option<CastPolicy> {
    entry.autocast.filter(|_| !entry.is_mutable())
}

/// The dispatch layer.
pub struct AutocastLayer;

impl Layer for AutocastLayer {
    fn key(&self) -> Key {
        Key::Autocast
    }

    fn wants(&self, call: &Call) -> bool {
        modes().autocast.is_some() && policy(call.entry).is_some()
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        let _below = Exclude::down_to(Key::Autocast);
        let to = match policy(entry) {
            Some(CastPolicy::LowerPrecisionFp) => short_dtype(),
            Some(CastPolicy::Fp32) => Dtype::Float32,
            _ => widest(&args),
        };
        // PyTorch's casts come about last argument first.
        let mut cast = args.iter().rev().map(|v| v.map_tensors(&mut |t| cast(t, to))).collect::<Result<Vec<_>>>()?;
        cast.reverse();
        call(entry, cast)
    }
}

/// The dtype that arguments are promoted to: float32 where one of them is that wide.
fn widest(args: &[Value]) -> Dtype {
    let mut wide = false;
    for arg in args {
        arg.for_each_tensor(&mut |t| wide |= t.dtype() == Dtype::Float32);
    }
    if wide { Dtype::Float32 } else { short_dtype() }
}

fn cast(t: &Tensor, to: Dtype) -> Result<Tensor> {
    if !t.dtype().is_floating() || t.dtype() == Dtype::Float64 || t.dtype() == to {
        return Ok(t.clone());
    }
    let keeps = CACHE_ENABLED.get()
        && to == short_dtype()
        && t.dtype() == Dtype::Float32
        && !t.is_fake()
        && !has_layer(Key::Trace)
        && meta::requires_grad(t)
        && meta::is_leaf(t)
        && meta::base(t).is_none();
    if let Some(found) = CACHE.with_borrow(|c| c.get(&t.id()).filter(|_| keeps).map(|(_, cast)| cast.clone())) {
        return Ok(found);
    }
    let cast = t!("to.dtype", t, to)?;
    if keeps {
        CACHE.with_borrow_mut(|c| c.insert(t.id(), (t.clone(), cast.clone())));
    }
    Ok(cast)
}
