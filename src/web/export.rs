//! The worker that makes exports, an instance of its own: a script that never ends does not hold them up.

use wasm_bindgen::prelude::*;

use super::{from_js, scope};
use crate::export;
use crate::report::protocol::{FromExport, ToExport};

/// Serves as the worker that makes exports. `waiting`: messages that came before the module.
///
/// # Errors
/// Outside of a worker.
#[wasm_bindgen]
pub fn serve_exports(waiting: Vec<JsValue>) -> Result<(), JsValue> {
    scope::serve(waiting, |message| {
        let made = from_js(message).and_then(|message| match message {
            ToExport::Graph { graph, format, about, bundle } => {
                export::graph(&graph, format, &about, bundle.as_ref()).map_err(|error| error.to_string())
            }
            ToExport::Logs { report } => Ok(export::logs(&report)),
        });
        scope::post(&made.map_or_else(|message| FromExport::Failed { message }, |text| FromExport::Made { text }));
    })
}
