//! Bodies of a script's own operators, which their rules trace inside of a trace: as the tracer at work records its own calls.

use super::make_fx::{Tracing, make_fx};
use super::schemas::Decompose;
use super::trace::{Pushed, TraceLayer, Tracer, begin_tracing, end_tracing, replace_tracers};
use crate::dispatch::{Exclude, Key, Modes, Value, modes, set_modes};
use crate::error::Result;
use crate::graph::Graph;
use std::rc::Rc;

/// A function on flat values.
type Body<'f> = &'f dyn Fn(&[Value]) -> Result<Vec<Value>>;

/// The calls of a body on the very inputs given, which have names.
pub fn body_of(tracer: &Rc<Tracer>, f: Body, names: &[String], inputs: &[Value]) -> Result<Graph> {
    let decompose = tracer.told_decompositions();
    let _seen = Exclude::lift(Key::Trace);
    let outer = replace_tracers(vec![tracer.clone()]);
    let graph = if tracer.is_as_called() {
        let before = modes();
        let tracing = Tracing {
            class_name: "<lambda>".to_owned(),
            real: !before.fake,
            decompose,
            pre_dispatch: tracer.sees_script.get(),
            calls_as_aten: before.calls_as_aten,
            symbols: None,
        };
        make_fx(f, names, inputs, tracing)
    } else {
        of_compiled(f, names, inputs, decompose)
    };
    replace_tracers(outer);
    graph
}

/// The same where the graph is compiled: what nobody reads is left out.
fn of_compiled(f: Body, names: &[String], inputs: &[Value], decompose: Option<Decompose>) -> Result<Graph> {
    let tracer = Tracer::new("<lambda>");
    tracer.decompose_as_told(decompose);
    tracer.inputs(names, inputs)?;
    let before = modes();
    begin_tracing(&tracer);
    set_modes(Modes { fake: true, ..before });
    let outputs = {
        let _layer = Pushed::new(Rc::new(TraceLayer(tracer.clone())));
        f(inputs)
    };
    end_tracing();
    set_modes(Modes { fake: before.fake, ..modes() });
    tracer.finish(&outputs?)
}
