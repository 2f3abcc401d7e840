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

    /// Gets ready for the next run, where time between runs is free.
    #[wasm_bindgen]
    pub fn warm_up() {
        INTERPRETER.with(Interpreter::warm_up);
    }
}

/// The GPU's module.
#[cfg(feature = "gpu")]
pub mod gpu {
    use std::cell::RefCell;
    use std::rc::Rc;

    use wasm_bindgen::prelude::*;

    use super::to_js;
    use crate::backend::{cpu, gpu};
    use crate::bundle::{RunError, RunResult};

    thread_local! {
        // One for the life of the worker, with its pipelines; another once it is lost.
        static DEVICE: RefCell<Option<Rc<gpu::GpuDevice>>> = const { RefCell::new(None) };
    }

    /// Runs a bundle on the GPU and gives a `RunResult`; rejects with a `RunError`.
    #[wasm_bindgen]
    pub async fn run_bundle(#[wasm_bindgen(unchecked_param_type = "any")] bundle: JsValue) -> Result<JsValue, JsValue> {
        let bundle = serde_wasm_bindgen::from_value(bundle)?;
        let result = match device().await {
            Ok(device) => gpu::run_bundle(&device, &bundle).await,
            Err(error) => Err(error),
        };
        answer(result)
    }

    /// Runs a bundle on the CPU and gives a `RunResult`; throws a `RunError`.
    #[wasm_bindgen]
    pub fn run_bundle_cpu(#[wasm_bindgen(unchecked_param_type = "any")] bundle: JsValue) -> Result<JsValue, JsValue> {
        answer(cpu::bundle::run_bundle_cpu(&serde_wasm_bindgen::from_value(bundle)?))
    }

    fn answer(result: Result<RunResult, RunError>) -> Result<JsValue, JsValue> {
        match result {
            Ok(result) => to_js(&result),
            Err(error) => Err(to_js(&error)?),
        }
    }

    async fn device() -> Result<Rc<gpu::GpuDevice>, RunError> {
        let known = DEVICE.with_borrow(Option::clone);
        if let Some(device) = known.filter(|device| device.check().is_ok()) {
            return Ok(device);
        }
        let failed = |message: String| RunError { message, node: None };
        let device = gpu::GpuDevice::request().await.map_err(|error| failed(error.to_string()))?;
        let device = Rc::new(device.ok_or_else(|| failed("There is no WebGPU adapter.".to_owned()))?);
        DEVICE.set(Some(device.clone()));
        Ok(device)
    }
}
