//! While a function is traced: calls are functionalized, and what is left of them is recorded.

use super::functionalize::FunctionalizeLayer;
use super::trace::{Pushed, TraceLayer, Tracer, begin_tracing, end_tracing};
use crate::dispatch::{Modes, modes, set_modes};
use std::rc::Rc;

/// While it lives, calls are functionalized and recorded; afterwards modes are as before.
pub(super) struct Tracing {
    before: Modes,
    _trace: Pushed,
    _functionalize: Pushed,
}

impl Tracing {
    pub(super) fn start(tracer: &Rc<Tracer>) -> Self {
        Self::start_with(tracer, FunctionalizeLayer::default())
    }

    pub(super) fn start_with(tracer: &Rc<Tracer>, functionalize: FunctionalizeLayer) -> Self {
        let before = modes();
        begin_tracing(tracer);
        set_modes(Modes { fake: true, ..before });
        Tracing { before, _trace: Pushed::new(Rc::new(TraceLayer(tracer.clone()))), _functionalize: Pushed::new(Rc::new(functionalize)) }
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        end_tracing();
        set_modes(self.before);
    }
}
