//! The interpreter's worker. Python is synchronous, so it hears nothing while a script runs: whoever wants it to stop ends the worker.
//! What becomes known is therefore sent the moment it is known.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use wasm_bindgen::prelude::*;

use super::{from_js, minimize, scope};
use crate::python::{Interpreter, ModulePath, RunOptions, set_library, set_packages};
use crate::report::protocol::{FromInterpreter, Reply, ScriptFile, ScriptOptions, ToInterpreter, Told};
use crate::report::{Event, Throttle};

/// What the script is called in tracebacks.
pub(super) const FILENAME: &str = "script.py";

thread_local! {
    // One for the life of the worker: an interpreter does not give all its memory back.
    static INTERPRETER: Interpreter = Interpreter::new();
}

/// Serves as the interpreter's worker. `library`: where the rest of the library is to be had, which few scripts import. `packages`: where
/// packages are to be had that are no part of it, by name. `waited`: whether a script waits already. `waiting`: messages that came before the module.
///
/// # Errors
/// Outside of a worker.
#[wasm_bindgen]
pub fn serve_interpreter(library: String, packages: JsValue, waited: bool, waiting: Vec<JsValue>) -> Result<(), JsValue> {
    scope::scope()?;
    set_library_source(move || scope::fetch(&library));
    let packages: BTreeMap<String, String> = from_js(packages)?;
    set_packages(Box::new(move |name| {
        let absent = || format!("this page was built without the package '{name}'");
        let url = packages.get(name).ok_or_else(absent)?;
        scope::fetch(url).map_err(|why| format!("the package '{name}' could not be fetched: {why}"))
    }));
    // The first run of an interpreter imports what later ones find: let it happen before the visitor waits for it.
    if !waited {
        INTERPRETER.with(|interpreter| {
            interpreter.run("import torch", FILENAME, &RunOptions::default(), Rc::new(|_| {}));
            interpreter.warm_up();
        });
    }
    scope::post(&FromInterpreter::Ready);
    scope::serve(waiting, |message| match from_js(message) {
        Ok(message) => {
            let ran = matches!(message, ToInterpreter::Run { .. });
            handle(message, |answer| scope::post(&answer));
            // What this script imported, the next one will: imported now, it costs nobody time.
            if ran {
                scope::later(|| INTERPRETER.with(Interpreter::warm_up));
            }
        }
        Err(message) => scope::post(&FromInterpreter::Failed { message }),
    })
}

/// Where the rest of the library is to be had. A module that was not split has it in itself.
pub fn set_library_source(fetch: impl Fn() -> Result<Vec<u8>, String> + 'static) {
    set_library(Box::new(move || own_library().map_or_else(&fetch, Ok)));
}

fn own_library() -> Option<Vec<u8>> {
    let sections = js_sys::WebAssembly::Module::custom_sections(wasm_bindgen::module().unchecked_ref(), "library");
    sections.iter().next().map(|section| js_sys::Uint8Array::new(&section).to_vec())
}

/// Does what the page asks for; everything there is to say goes to `post` at once.
pub fn handle(message: ToInterpreter, post: impl Fn(FromInterpreter) + Clone + 'static) {
    match message {
        ToInterpreter::Run { run, program, files, options } => {
            let began = scope::now();
            let tell = post.clone();
            execute(&program, files, &options, move |event| tell(FromInterpreter::Event { run, event }));
            post(FromInterpreter::Done { run, took: scope::now() - began });
        }
        ToInterpreter::Ask { ask, regions, frame, trials, last } => {
            post(match crate::dynamo::guards::what_if::what_if(&regions, frame, &trials, last.as_ref()) {
                Ok(answer) => FromInterpreter::Answer { ask, answer: Reply::WhatIf(answer) },
                Err(error) => FromInterpreter::Unanswered { ask, message: error.message },
            });
        }
        ToInterpreter::Study { ask, compilation, question } => {
            let answer = INTERPRETER.with(|interpreter| interpreter.ask(compilation, &question));
            post(FromInterpreter::Answer { ask, answer: Reply::Answer(answer) });
        }
        ToInterpreter::Minimize { ask, program, files, options, keep, lost } => {
            let options = run_options(files, &options);
            INTERPRETER.with(|interpreter| minimize::minimize(interpreter, ask, &program, &options, &keep, &lost, &post));
        }
    }
}

fn execute(program: &str, files: Vec<ScriptFile>, options: &ScriptOptions, tell: impl Fn(Told) + 'static) {
    let throttle = Throttle::new(move |event| match event {
        Event::Runnable { .. } => tell(Told::Event(event)),
        // What has no JSON has no other form, either.
        _ => tell(serde_json::to_string(&event).map_or(Told::Event(event), Told::Text)),
    });
    let began = web_time::Instant::now();
    let sink = Rc::new(move |event| throttle.take(event, began.elapsed().as_secs_f64()));
    INTERPRETER.with(|interpreter| interpreter.run(program, FILENAME, &run_options(files, options), sink));
}

fn run_options(files: Vec<ScriptFile>, options: &ScriptOptions) -> RunOptions {
    let mut modules = ModulePath::default();
    // They lie beside the script, in its folder.
    modules.add("", files.into_iter().map(|ScriptFile { name, text }| (name, text)));
    RunOptions {
        backend: options.backend.clone(),
        check: options.check,
        pretend_cuda: options.pretend_cuda,
        modules: Arc::new(modules),
        ..RunOptions::default()
    }
}
