//! `torch.func.functionalize`: a function runs functionalized, on real or traced tensors, and its inputs are written to afterwards.

use super::functionalize::{FunctionalizeLayer, copy_into, state, unwrap, wrap};
use super::trace::Pushed;
use crate::dispatch::Value;
use crate::error::Result;
use crate::tensor::Tensor;
use std::rc::Rc;

/// Calls a function on functional stand-ins for its inputs; views are copies where that is asked for.
pub fn functionalized(f: &dyn Fn(&[Value]) -> Result<Vec<Value>>, inputs: &[Value], copies_views: bool) -> Result<Vec<Value>> {
    let mut pairs: Vec<(Tensor, Tensor)> = Vec::new();
    let mut stand_in = |t: &Tensor| {
        let outer = wrap(t)?;
        pairs.push((t.clone(), outer.clone()));
        Ok(outer)
    };
    let given = inputs.iter().map(|v| v.map_tensors(&mut stand_in)).collect::<Result<Vec<_>>>()?;
    let outputs = {
        let _layer = Pushed::new(Rc::new(FunctionalizeLayer { copies_views, views_stale: true }));
        let outputs = f(&given)?;
        outputs.iter().map(|v| v.map_tensors(&mut unwrap)).collect::<Result<Vec<_>>>()?
    };
    for (input, outer) in &pairs {
        if state(outer).is_some_and(|s| s.storage.writes.get() > 0) {
            copy_into(input, &unwrap(outer)?, state(outer).is_some_and(|s| s.data_replaced))?;
        }
    }
    Ok(outputs)
}
