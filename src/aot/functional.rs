//! `torch.func.functionalize`: a function runs functionalized, on real or traced tensors, and its inputs are written to afterwards;
//! and functional tensors that a script makes by hand.

use super::functional_tensor::{copy_into, state, unwrap, wrap};
use super::functionalize::FunctionalizeLayer;
use super::trace::Pushed;
use crate::dispatch::{Call, Exclude, Key, Layer, OpEntry, Value, push_layer};
use crate::error::Result;
use crate::shape::SymInt;
use crate::t;
use crate::tensor::Tensor;
use std::cell::Cell;
use std::rc::Rc;

thread_local! {
    /// Inside of `torch.func.functionalize`: whether views become copies.
    static COPIES_VIEWS: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Inside of `torch.func.functionalize`, whether views become copies.
pub fn copies_views() -> Option<bool> {
    COPIES_VIEWS.get()
}

/// Calls a function on functional tensors that wrap its inputs, as AOTAutograd does; the inputs stay as they were.
pub fn functional_calls(f: &dyn Fn(&[Value]) -> Result<Vec<Value>>, inputs: &[Value]) -> Result<Vec<Value>> {
    let _seen = Exclude::lift(Key::Functionalize);
    let given = inputs.iter().map(|v| v.map_tensors(&mut wrap)).collect::<Result<Vec<_>>>()?;
    let _layer = Pushed::new(Rc::new(FunctionalizeLayer::default()));
    f(&given)?.iter().map(|v| v.map_tensors(&mut unwrap)).collect()
}

/// Calls a function on functional tensors that wrap its inputs; views are copies where that is asked for.
pub fn functionalized(f: &dyn Fn(&[Value]) -> Result<Vec<Value>>, inputs: &[Value], copies_views: bool) -> Result<Vec<Value>> {
    let _seen = Exclude::lift(Key::Functionalize);
    let outer = COPIES_VIEWS.replace(Some(copies_views));
    let outputs = functional_with_writes(f, inputs, copies_views);
    COPIES_VIEWS.set(outer);
    outputs
}

/// The same; what the function wrote to its inputs is written to them at its end.
fn functional_with_writes(f: &dyn Fn(&[Value]) -> Result<Vec<Value>>, inputs: &[Value], copies_views: bool) -> Result<Vec<Value>> {
    let mut pairs: Vec<(Tensor, Tensor)> = Vec::new();
    let mut to_fun = |t: &Tensor| {
        let outer = wrap(t)?;
        pairs.push((t.clone(), outer.clone()));
        Ok(outer)
    };
    let given = inputs.iter().map(|v| v.map_tensors(&mut to_fun)).collect::<Result<Vec<_>>>()?;
    let outputs = {
        let _layer = Pushed::new(Rc::new(FunctionalizeLayer { copies_views, views_stale: true }));
        let outputs = f(&given)?;
        outputs.iter().map(|v| v.map_tensors(&mut unwrap)).collect::<Result<Vec<_>>>()?
    };
    for (input, outer) in &pairs {
        // What got another shape in place gets it in the caller, too.
        let geometry = (*outer.geometry()).clone();
        if !SymInt::all_statically_eq(&input.geometry().sizes, &geometry.sizes) {
            t!("as_strided_", input, &geometry.sizes, &geometry.strides)?;
        }
        if state(outer).is_some_and(|s| s.storage.writes.get() > 0) {
            copy_into(input, &unwrap(outer)?, state(outer).is_some_and(|s| s.data_replaced))?;
        }
    }
    Ok(outputs)
}

thread_local! {
    static OWN: Cell<Own> = const { Cell::new(Own { is_in_place: false, reapplies_views: None }) };
}

/// What a script does with functional tensors by hand (`torch._to_functional_tensor`).
#[derive(Clone, Copy)]
struct Own {
    is_in_place: bool,
    /// Inside of `torch._enable_functionalization`, where every call is functionalized: whether views stay views.
    reapplies_views: Option<bool>,
}

struct OwnLayer;

impl Layer for OwnLayer {
    fn key(&self) -> Key {
        Key::Functionalize
    }

    fn wants(&self, call: &Call) -> bool {
        let mut is_functional = OWN.get().reapplies_views.is_some();
        call.args.iter().for_each(|v| v.for_each_tensor(&mut |t| is_functional |= is_functional_tensor(t)));
        is_functional
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        FunctionalizeLayer { copies_views: OWN.get().reapplies_views != Some(true), views_stale: OWN.get().reapplies_views != Some(true) }
            .handle(entry, args)
    }
}

/// Whether a tensor stands for another, which writes to it leave alone.
pub fn is_functional_tensor(t: &Tensor) -> bool {
    t.imp().functional.borrow().is_some()
}

/// A functional tensor of a script's own.
pub fn to_functional(t: &Tensor) -> Result<Tensor> {
    let own = OWN.get();
    if !own.is_in_place {
        push_layer(Rc::new(OwnLayer));
        OWN.set(Own { is_in_place: true, ..own });
    }
    wrap(t)
}

/// Every call is functionalized from here on, or, with `None`, those with functional tensors alone.
pub fn enable(reapplies_views: Option<bool>) {
    let own = OWN.get();
    if !own.is_in_place {
        push_layer(Rc::new(OwnLayer));
    }
    OWN.set(Own { is_in_place: true, reapplies_views });
}

/// Whether every call is functionalized.
pub fn is_enabled() -> bool {
    OWN.get().reapplies_views.is_some()
}

/// Forgets it all; the layer is taken away with the others of its key.
pub fn reset() {
    OWN.set(Own { is_in_place: false, reapplies_views: None });
    COPIES_VIEWS.set(None);
}
