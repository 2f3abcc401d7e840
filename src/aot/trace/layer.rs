//! The layer of dispatch that records what reaches it.

use super::Tracer;
use crate::dispatch::{Call, Exclude, Fact, Key, Layer, OpEntry, Tags, Value, is_kept_whole, named, run_backend};
use crate::error::Result;
use crate::graph::compute_float;
use crate::shape::{SymFloat, SymInt};
use crate::tensor::Tensor;
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
        self.0.arriving(entry, || self.answer(entry, args))
    }

    fn measure_float(&self, float: &SymFloat) -> Result<()> {
        if self.0.takes_apart.get() {
            self.0.own_floats.borrow_mut().push(float.expr.clone());
            // While the engine runs, it is computed where something reads it.
            if self.0.in_backward.get() {
                return Ok(());
            }
        }
        compute_float(&*self.0, float).map(drop)
    }

    fn calculate(&self, name: &'static str, a: &SymInt, b: &SymInt, result: &SymInt) -> Result<()> {
        self.0.calculate(name, [a, b], result)
    }

    fn condition(&self, name: &'static str, a: &SymInt, b: &SymInt) -> Result<()> {
        self.0.compare(name, [a, b]);
        Ok(())
    }

    fn takes_apart(&self) -> bool {
        self.0.takes_apart.get()
    }

    fn learns(&self, t: &Tensor, fact: Fact) -> bool {
        self.0.facts.borrow_mut().insert((t.id(), fact))
    }

    fn counted(&self, sizes: &[SymInt]) -> Option<SymInt> {
        self.0.counted(sizes)
    }

    fn count_of(&self, t: &Tensor) -> Option<SymInt> {
        self.0.count_of(t)
    }

    fn note_count(&self, sizes: Vec<SymInt>, count: SymInt) {
        self.0.note_count(sizes, count);
    }
}

impl TraceLayer {
    fn answer(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        let rules = self.0.script_decompositions.borrow().clone();
        if let Some(rules) = rules
            && let Some(made) = rules(entry, &args)?
        {
            return Ok(made);
        }
        if let Some(table) = self.0.decompositions.get()
            && let Some(made) = self.0.taking_apart(|| table.apply(entry, &args))?
        {
            return Ok(made);
        }
        let draws = self.0.draws.borrow().clone();
        if let Some(draws) = draws
            && let Some(made) = draws(entry, &args)?
        {
            return Ok(made);
        }
        let entry = self.0.shown(entry);
        let result = {
            // What a whole composite operator is composed of is not seen.
            let _unseen = is_kept_whole(entry, &args).then(|| Exclude::down_to(Key::Trace));
            run_backend(entry, &args, true)?
        };
        // How a view lies is found out where it is made.
        if let (true, Value::Tensor(view)) = (named::VIEW.is(entry), &result) {
            self.0.facts.borrow_mut().insert((view.id(), Fact::Contiguity));
        }
        match self.0.token.get().filter(|_| entry.tags.has(Tags::ORDERED) && !self.0.in_backward.get()) {
            Some(token) => self.0.record_with_token(token, entry, &args, &result)?,
            None => self.0.record(entry, &args, &result)?,
        }
        Ok(result)
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
