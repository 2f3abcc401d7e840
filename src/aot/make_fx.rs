//! `make_fx`: a function is run once, and every operator that reaches the bottom becomes a node.
//!
//! Unlike AOTAutograd's trace nothing is functionalized: an in-place operator is recorded as it is called, a view that is written
//! to stays one, and nothing is left out because nobody reads it. On real tensors the kernels run as well, on the tensors given.

use super::trace::{Pushed, TraceLayer, Tracer, begin_tracing, end_tracing};
use crate::dispatch::{Call, Exclude, Fact, Key, Layer, Modes, OpEntry, OpRef, Value, modes, run_backend, set_modes};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::shape::{SymFloat, SymInt};
use crate::tensor::Tensor;
use std::rc::Rc;

/// What calls are taken apart by: gives what a call comes to, or `None` where it stays as it is.
pub type Decompose = Rc<dyn Fn(&'static OpEntry, &[Value]) -> Result<Option<Value>>>;

/// How a function is traced.
pub struct Tracing {
    /// Name of the class that the graph prints as.
    pub class_name: String,
    /// Whether kernels run on the tensors given; otherwise the inputs are fake.
    pub real: bool,
    /// What calls are taken apart by.
    pub decompose: Option<Decompose>,
}

/// The layer of dispatch: records what comes through, and answers it.
struct Recording {
    tracer: Rc<Tracer>,
    sizes: TraceLayer,
    real: bool,
    decompose: Option<Decompose>,
}

impl Layer for Recording {
    fn key(&self) -> Key {
        Key::Trace
    }

    fn wants(&self, _call: &Call) -> bool {
        true
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        static LIFTED: OpRef = OpRef::new("lift_fresh_copy");
        if let Some(decompose) = &self.decompose
            && let Some(made) = decompose(entry, &args)?
        {
            return Ok(made);
        }
        let entry = if entry.name == "aten.lift_fresh.default" { LIFTED.get() } else { self.tracer.shown(entry) };
        if matches!(entry.name, "aten._local_scalar_dense.default" | "aten.equal.default") {
            let mut traced = false;
            args.iter().for_each(|v| v.for_each_tensor(&mut |t| traced |= self.tracer.knows(t)));
            return if traced { Err(asked_for_value(entry)) } else { run_backend(entry, &args, false) };
        }
        let result = run_backend(entry, &args, !self.real)?;
        self.tracer.record(entry, &args, &result)?;
        Ok(result)
    }

    fn measure_float(&self, float: &SymFloat) -> Result<()> {
        self.sizes.measure_float(float)
    }

    fn calculate(&self, name: &'static str, a: &SymInt, b: &SymInt, result: &SymInt) -> Result<()> {
        self.sizes.calculate(name, a, b, result)
    }

    fn condition(&self, name: &'static str, a: &SymInt, b: &SymInt) -> Result<()> {
        self.sizes.condition(name, a, b)
    }

    fn learns(&self, t: &Tensor, fact: Fact) -> bool {
        self.sizes.learns(t, fact)
    }

    fn counted(&self, sizes: &[SymInt]) -> Option<SymInt> {
        self.sizes.counted(sizes)
    }

    fn note_count(&self, sizes: Vec<SymInt>, count: SymInt) {
        self.sizes.note_count(sizes, count);
    }
}

fn asked_for_value(entry: &OpEntry) -> Error {
    Error::runtime(format!(
        "It appears that you're trying to get value out of a tracing tensor with {} - erroring out! It's likely that this is caused by \
         data-dependent control flow or similar.  It may be possible to trace this with dynamic shapes; try setting \
         tracing_mode='symbolic' in your make_fx call.",
        entry.name
    ))
}

/// Traces a function of some inputs, which have names; its results are the graph's.
pub fn make_fx(f: &dyn Fn(&[Value]) -> Result<Vec<Value>>, names: &[String], inputs: &[Value], tracing: Tracing) -> Result<Graph> {
    let tracer = Tracer::as_called(&tracing.class_name);
    for (name, input) in names.iter().zip(inputs) {
        match input {
            Value::Tensor(t) => tracer.placeholder(name, t)?,
            Value::Int(size) if size.as_int().is_none() => tracer.symbol(name, size),
            other => tracer.plain_input(name, other),
        };
    }
    let before = modes();
    let _capture = Exclude::capture_too();
    begin_tracing(&tracer);
    let layer = Recording { tracer: tracer.clone(), sizes: TraceLayer(tracer.clone()), real: tracing.real, decompose: tracing.decompose };
    set_modes(Modes { fake: !tracing.real, ..before });
    let pushed = Pushed::new(Rc::new(layer));
    let outputs = f(inputs);
    drop(pushed);
    end_tracing();
    set_modes(Modes { fake: before.fake, ..modes() });
    tracer.finish_as_called(&outputs?)
}
