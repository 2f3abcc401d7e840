//! The layer of dispatch that records what reaches it.

use super::Tracer;
use super::sizes::Sizes;
use crate::dispatch::{Call, Key, Layer, OpEntry, Tags, Value, run_backend};
use crate::error::Result;
use crate::graph::{Arg, SizeNodes, compute_float};
use crate::shape::{SymFloat, SymInt};
use std::rc::Rc;

/// The layer of dispatch.
pub struct TraceLayer(pub Rc<Tracer>);

impl Layer for TraceLayer {
    fn key(&self) -> Key {
        Key::Trace
    }

    fn wants(&self, _call: &Call) -> bool {
        true
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        if let Some(table) = self.0.decompositions.get()
            && let Some(made) = table.apply(entry, &args)?
        {
            return Ok(made);
        }
        let entry = self.0.shown(entry);
        let result = run_backend(entry, &args, true)?;
        match self.0.token.get().filter(|_| entry.tags.has(Tags::ORDERED) && !self.0.in_backward.get()) {
            Some(token) => self.0.record_with_token(token, entry, &args, &result)?,
            None => self.0.record(entry, &args, &result)?,
        }
        Ok(result)
    }

    fn measure(&self, size: &SymInt) -> Result<()> {
        self.0.size(size).map(drop)
    }

    fn multiply(&self, sizes: &[SymInt]) -> Result<()> {
        self.0.product(sizes).map(drop)
    }

    fn measure_float(&self, float: &SymFloat) -> Result<()> {
        compute_float(&*self.0, float).map(drop)
    }

    fn infer(&self, all: &[SymInt], known: &[SymInt], rest: &SymInt) -> Result<()> {
        let (all, known) = (self.0.product(all)?, self.0.product(known)?);
        if let (SymInt::Sym(_, env), false) = (rest, matches!(known, Arg::Int(1))) {
            Sizes(&self.0, env).emit("floordiv", vec![all, known], &rest.expr());
        }
        Ok(())
    }

    fn calculate(&self, name: &'static str, a: &SymInt, b: &SymInt, result: &SymInt) -> Result<()> {
        let (a, b) = (self.0.size(a)?, self.0.size(b)?);
        if let SymInt::Sym(_, env) = result {
            Sizes(&self.0, env).emit(name, vec![a, b], &result.expr());
        }
        Ok(())
    }
}

/// While it lives, a layer is on the stack.
pub struct Pushed(Key);

impl Pushed {
    /// Pushes a layer.
    pub fn new(layer: Rc<dyn Layer>) -> Self {
        let key = layer.key();
        crate::dispatch::push_layer(layer);
        Pushed(key)
    }
}

impl Drop for Pushed {
    fn drop(&mut self) {
        crate::dispatch::pop_layer(self.0);
    }
}
