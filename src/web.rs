//! The wasm-bindgen surface: converts, and calls the rooms that do the work.
//!
//! `crates/page` makes two modules of this crate, each for a worker of its own: the interpreter (feature `python`) and the GPU
//! (feature `gpu`). What crosses is plain objects in the shape of the generated TypeScript types: absent values as `null`, maps
//! as objects, bytes as `Uint8Array`. Events without bytes cross as JSON: one string is handed on to the page in a fraction of
//! the time that its objects, made one by one and cloned, would take.

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
    use crate::export;
    use crate::python::{Interpreter, RunOptions, set_library};
    use crate::report::{CapturedGraph, Event, Throttle, Trial};

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

    /// Says where the rest of the library is to be had: `fetch` gives its bytes, or throws why it can't. A module that was not
    /// split has it in itself.
    #[wasm_bindgen]
    pub fn set_library_source(#[wasm_bindgen(unchecked_param_type = "() => Uint8Array")] fetch: js_sys::Function) {
        set_library(Box::new(move || own_library().map_or_else(|| fetched(&fetch), Ok)));
    }

    fn own_library() -> Option<Vec<u8>> {
        let sections = js_sys::WebAssembly::Module::custom_sections(wasm_bindgen::module().unchecked_ref(), "library");
        sections.iter().next().map(|section| js_sys::Uint8Array::new(&section).to_vec())
    }

    fn fetched(fetch: &js_sys::Function) -> Result<Vec<u8>, String> {
        let said =
            |thrown: JsValue| thrown.dyn_ref::<js_sys::Error>().map_or_else(|| format!("{thrown:?}"), |error| error.message().into());
        Ok(js_sys::Uint8Array::new(&fetch.call0(&JsValue::NULL).map_err(said)?).to_vec())
    }

    /// Runs a script and hands each event to `sink` the moment it is known, as JSON or, where it holds bytes, as an object; the
    /// last one is `finished`.
    #[wasm_bindgen]
    pub fn run(
        program: &str,
        #[wasm_bindgen(unchecked_param_type = "{ backend: string }")] options: JsValue,
        #[wasm_bindgen(unchecked_param_type = "(event: any) => void")] sink: js_sys::Function,
    ) -> Result<(), JsValue> {
        let Options { backend } = serde_wasm_bindgen::from_value(options)?;
        let options = RunOptions { backend, ..RunOptions::default() };
        let throttle = Throttle::new(move |event| {
            let told = match event {
                Event::Runnable { .. } => to_js(&event),
                _ => serde_json::to_string(&event).map(JsValue::from).map_err(|error| JsValue::from(error.to_string())),
            };
            // A sink that throws has nowhere to tell it: the page is told by what is missing.
            let _ = told.and_then(|event| sink.call1(&JsValue::NULL, &event));
        });
        let began = web_time::Instant::now();
        let sink = Rc::new(move |event| throttle.take(event, began.elapsed().as_secs_f64()));
        INTERPRETER.with(|interpreter| interpreter.run(program, FILENAME, &options, sink));
        Ok(())
    }

    /// Answers a question about a compilation of the last run; nothing is run again.
    #[wasm_bindgen]
    pub fn ask(compilation: u32, #[wasm_bindgen(unchecked_param_type = "any")] question: JsValue) -> Result<JsValue, JsValue> {
        let question = serde_wasm_bindgen::from_value(question)?;
        to_js(&INTERPRETER.with(|interpreter| interpreter.ask(compilation, &question)))
    }

    /// A graph in another form: `python`, `dot` or `table`. `bundle` is the compilation's, or null.
    #[wasm_bindgen]
    pub fn export_graph(
        readable: &str,
        format: &str,
        about: &str,
        #[wasm_bindgen(unchecked_param_type = "any")] bundle: JsValue,
    ) -> Result<String, JsValue> {
        let format = export::Format::named(format).ok_or_else(|| JsValue::from_str("there is no such format"))?;
        let bundle = serde_wasm_bindgen::from_value::<Option<crate::bundle::Bundle>>(bundle)?;
        export::graph(readable, format, about, bundle.as_ref()).map_err(|error| JsValue::from_str(&error.to_string()))
    }

    /// Every graph of a report, as PyTorch logs them.
    #[wasm_bindgen]
    pub fn export_logs(#[wasm_bindgen(unchecked_param_type = "any")] report: JsValue) -> Result<String, JsValue> {
        Ok(export::logs(&serde_wasm_bindgen::from_value(report)?))
    }

    /// What would become of a call with other sizes: gives a `WhatIf`; throws a sentence.
    #[wasm_bindgen]
    pub fn what_if(
        #[wasm_bindgen(unchecked_param_type = "any[]")] graphs: JsValue,
        frame: u32,
        #[wasm_bindgen(unchecked_param_type = "any[]")] trials: JsValue,
    ) -> Result<JsValue, JsValue> {
        let (graphs, trials): (Vec<CapturedGraph>, Vec<Trial>) =
            (serde_wasm_bindgen::from_value(graphs)?, serde_wasm_bindgen::from_value(trials)?);
        let answer = crate::dynamo::guards::what_if::what_if(&graphs, frame, &trials).map_err(|e| JsValue::from_str(&e.message))?;
        to_js(&answer)
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
    use crate::bundle::{Bundle, Named, Recipe, RunError, Training};

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

    /// A tensor as PyTorch prints it.
    #[wasm_bindgen]
    pub fn print_tensor(#[wasm_bindgen(unchecked_param_type = "any")] tensor: JsValue) -> Result<String, JsValue> {
        let tensor = serde_wasm_bindgen::from_value(tensor)?;
        cpu::bundle::printed(&tensor).map_err(|error| JsValue::from_str(&error.message))
    }

    /// A training in progress, on whichever device it was started on.
    enum Trainer {
        Gpu(gpu::GpuTrainer),
        Cpu(cpu::training::CpuTrainer),
    }

    thread_local! {
        // A page trains one thing at a time. It is taken out while it is at work.
        static TRAINER: RefCell<Option<Trainer>> = const { RefCell::new(None) };
    }

    /// Gets a training ready and gives a `Training`; rejects with a `RunError`. What was trained before is let go of.
    #[wasm_bindgen]
    pub async fn start_training(
        #[wasm_bindgen(unchecked_param_type = "any")] bundle: JsValue,
        #[wasm_bindgen(unchecked_param_type = "any")] recipe: JsValue,
        on_gpu: bool,
    ) -> Result<JsValue, JsValue> {
        TRAINER.take();
        let (bundle, recipe) = (serde_wasm_bindgen::from_value(bundle)?, serde_wasm_bindgen::from_value(recipe)?);
        answer(begin(&bundle, &recipe, on_gpu).await)
    }

    async fn begin(bundle: &Bundle, recipe: &Recipe, on_gpu: bool) -> Result<Training, RunError> {
        let (trainer, training) = if on_gpu {
            let (trainer, training) = gpu::GpuTrainer::start(device().await?, bundle, recipe).await?;
            (Trainer::Gpu(trainer), training)
        } else {
            let (trainer, training) = cpu::training::CpuTrainer::start(bundle, recipe)?;
            (Trainer::Cpu(trainer), training)
        };
        TRAINER.set(Some(trainer));
        Ok(training)
    }

    /// Takes steps and gives the loss before each; rejects with a `RunError`.
    #[wasm_bindgen(unchecked_return_type = "number[]")]
    pub async fn training_steps(count: u32, lr: f64) -> Result<JsValue, JsValue> {
        let Some(mut trainer) = TRAINER.take() else { return answer::<Vec<f64>>(Err(nothing())) };
        let losses = match &mut trainer {
            Trainer::Gpu(trainer) => trainer.steps(count, lr).await,
            Trainer::Cpu(trainer) => trainer.steps(count, lr),
        };
        TRAINER.set(Some(trainer));
        answer(losses)
    }

    /// The parameters as they are now, as `Named[]`; rejects with a `RunError`.
    #[wasm_bindgen]
    pub async fn trained_parameters() -> Result<JsValue, JsValue> {
        let Some(mut trainer) = TRAINER.take() else { return answer::<Vec<Named>>(Err(nothing())) };
        let values = match &mut trainer {
            Trainer::Gpu(trainer) => trainer.parameters().await,
            Trainer::Cpu(trainer) => trainer.parameters(),
        };
        TRAINER.set(Some(trainer));
        answer(values)
    }

    fn nothing() -> RunError {
        RunError { message: "no training is going on".to_owned(), node: None }
    }

    fn answer<T: serde::Serialize>(result: Result<T, RunError>) -> Result<JsValue, JsValue> {
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
