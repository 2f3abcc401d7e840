//! The wasm-bindgen surface: converts, and calls the rooms that do the work.
//!
//! Two modules are built from this crate, each for a worker of its own: the interpreter (feature `python`) and the GPU
//! (feature `gpu`). Reports and bundles cross as plain objects in the shape of the generated TypeScript types: absent values
//! as `null`, maps as objects, bytes as `Uint8Array`.

use serde::Serialize;
use wasm_bindgen::prelude::*;

/// Makes panics readable in the browser's console. A panic is a bug, and ends the instance.
#[wasm_bindgen(start)]
fn start() {
    console_error_panic_hook::set_once();
}

/// `value` as a plain JavaScript object.
fn to_js(value: &impl Serialize) -> Result<JsValue, JsValue> {
    let serializer = serde_wasm_bindgen::Serializer::json_compatible().serialize_bytes_as_arrays(false);
    Ok(value.serialize(&serializer)?)
}

/// The interpreter's module.
#[cfg(feature = "python")]
pub mod interpreter {
    use std::rc::Rc;

    use serde::Deserialize;
    use wasm_bindgen::prelude::*;

    use super::to_js;
    use crate::python::{Interpreter, RunOptions};

    /// What the script is called in tracebacks.
    const FILENAME: &str = "script.py";

    thread_local! {
        // One for the life of the worker: an interpreter does not give all its memory back.
        static INTERPRETER: Interpreter = Interpreter::new();
    }

    #[derive(Deserialize)]
    struct Options {
        backend: String,
    }

    /// Runs a script and hands each event to `sink` the moment it is known; the last one is `finished`.
    #[wasm_bindgen]
    pub fn run(
        program: &str,
        #[wasm_bindgen(unchecked_param_type = "{ backend: string }")] options: JsValue,
        #[wasm_bindgen(unchecked_param_type = "(event: any) => void")] sink: js_sys::Function,
    ) -> Result<(), JsValue> {
        let Options { backend } = serde_wasm_bindgen::from_value(options)?;
        let options = RunOptions { backend, ..RunOptions::default() };
        let sink = Rc::new(move |event| {
            // A sink that throws has nowhere to tell it: the page is told by what is missing.
            let _ = to_js(&event).and_then(|event| sink.call1(&JsValue::NULL, &event));
        });
        INTERPRETER.with(|interpreter| interpreter.run(program, FILENAME, &options, sink));
        Ok(())
    }
}

/// The GPU's module.
#[cfg(feature = "gpu")]
pub mod gpu {
    use wasm_bindgen::prelude::*;

    use super::to_js;
    use crate::bundle::{BUNDLE_VERSION, Bundle, RunError};

    /// Runs a bundle on the GPU and gives a `RunResult`; rejects with a `RunError`.
    #[wasm_bindgen]
    pub async fn run_bundle(#[wasm_bindgen(unchecked_param_type = "any")] bundle: JsValue) -> Result<JsValue, JsValue> {
        read(bundle)?;
        Err(to_js(&RunError { message: "This build has no GPU backend.".to_owned(), node: None })?)
    }

    /// Runs a bundle on the CPU and gives a `RunResult`; throws a `RunError`.
    #[wasm_bindgen]
    pub fn run_bundle_cpu(#[wasm_bindgen(unchecked_param_type = "any")] bundle: JsValue) -> Result<JsValue, JsValue> {
        read(bundle)?;
        Err(to_js(&RunError { message: "This build has no CPU backend.".to_owned(), node: None })?)
    }

    fn read(bundle: JsValue) -> Result<Bundle, JsValue> {
        let bundle: Bundle = serde_wasm_bindgen::from_value(bundle)?;
        if bundle.version == BUNDLE_VERSION {
            return Ok(bundle);
        }
        let message = format!("This bundle is of version {}; version {BUNDLE_VERSION} is understood.", bundle.version);
        Err(to_js(&RunError { message, node: None })?)
    }
}
