//! Effect tokens: calls that do something in an order that counts, such as checks that fail, take a token and give the next one.
//!
//! A graph in which there are such calls takes the first token as an input before all others and returns the last one before all
//! other outputs (PyTorch's `with_effects`). Tokens hold nothing; the runtime makes the first and drops the last.

use super::schemas::GraphCallable;
use crate::dispatch::Value;
use crate::error::Result;
use crate::ops::shapes::default_dtype;
use crate::tensor::{Device, Tensor, TensorSpec};
use std::cell::Cell;
use std::rc::Rc;

/// The operator that a call with a token is shown as.
pub(super) const WITH_EFFECTS: &str = "with_effects";

thread_local! {
    static SEEN: Cell<bool> = const { Cell::new(false) };
}

/// What was seen so far does not count.
pub(super) fn forget() {
    SEEN.set(false);
}

/// A call is made whose order counts.
pub(super) fn see() {
    SEEN.set(true);
}

/// Whether such a call was made since [`forget`].
pub(super) fn were_seen() -> bool {
    SEEN.get()
}

/// What a token looks like: an empty tensor as a script would make it.
pub(super) fn token_spec() -> TensorSpec {
    TensorSpec::contiguous(vec![0.into()], default_dtype(), Device::CPU)
}

/// A token to begin with, or the one after a call.
pub(super) fn token() -> Result<Tensor> {
    crate::t!("empty.memory_format", vec![0i64]; dtype = default_dtype(), device = Device::CPU)
}

/// A graph with a token, called without.
struct WithToken(Rc<dyn GraphCallable>);

impl GraphCallable for WithToken {
    fn call(&self, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
        let mut given = vec![Value::Tensor(token()?)];
        given.append(inputs);
        let mut returned = self.0.call(&mut given)?;
        if !returned.is_empty() {
            returned.remove(0);
        }
        Ok(returned)
    }
}

/// What the runtime calls in place of a graph that has a token.
pub(super) fn hide_token(graph: Rc<dyn GraphCallable>, has_token: bool) -> Rc<dyn GraphCallable> {
    if has_token { Rc::new(WithToken(graph)) } else { graph }
}
