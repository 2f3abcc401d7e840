//! The worker that reads logs, in a module without an interpreter: what is opened stays here, and the page asks for what it shows.

use std::cell::RefCell;
use std::collections::HashMap;

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::{from_js, scope};
use crate::partition::Study;
use crate::report::log::OfLog;
use crate::report::protocol::{FromReader, ToReader};
use crate::trace::runnable::runnable;
use crate::trace::{self, Given, Log, decision, diff, report, share, write};

thread_local! {
    static LOGS: RefCell<HashMap<u32, Log>> = RefCell::default();
    /// The joint graph that was asked about last, read and split.
    static STUDY: RefCell<Option<(OfLog, Result<Study, String>)>> = const { RefCell::new(None) };
}

/// Serves as the worker that reads logs. `waiting`: messages that came before the module.
///
/// # Errors
/// Outside of a worker.
#[wasm_bindgen]
pub fn serve_reader(waiting: Vec<JsValue>) -> Result<(), JsValue> {
    crate::logs::prepare();
    scope::post(&FromReader::Ready);
    scope::serve(waiting, |message| match from_js(message) {
        Ok(message) => {
            if let Some(answer) = handle(message) {
                scope::post(&answer);
            }
        }
        Err(message) => scope::post(&FromReader::Failed { message }),
    })
}

/// Does what the page asks for; the answer, where there is one.
pub fn handle(message: ToReader) -> Option<FromReader> {
    let (ask, answer) = match message {
        ToReader::Open { ask, log, files } => (ask, open(log, files)),
        ToReader::Close { log } => {
            LOGS.with_borrow_mut(|logs| logs.remove(&log));
            STUDY.with_borrow_mut(|study| study.take_if(|(of, _)| of.log == log));
            return None;
        }
        ToReader::Compilation { ask, of } => (ask, in_log(&of, |log, index| json(&report::compilation(log, index)))),
        ToReader::Region { ask, log, region } => (ask, with(log, |log| json(&report::region(log, region as usize).ok_or_else(nothing)?))),
        ToReader::Write { ask, report } => (ask, json(&write::write(&report, "script.py"))),
        ToReader::Pack { ask, log, name, cut } => (ask, with(log, |log| share::packed(log, &name, cut))),
        ToReader::Runnable { ask, of } => {
            let made = in_log(&of, |log, index| {
                let compilation = &log.compilations[index];
                runnable(log, compilation, index, &decision::graphs(log, compilation))
            });
            match made {
                Ok(bundle) => return Some(FromReader::Runnable { ask, bundle }),
                Err(message) => (ask, Err(message)),
            }
        }
        ToReader::Study { ask, of, question } => (ask, study(of, |study| json(&study.answer(&question)))),
        ToReader::Compare { ask, first, second } => {
            let compared = in_log(&first, |a, i| in_log(&second, |b, j| json(&diff::diff_of_two((a, i), (b, j)))));
            (ask, compared)
        }
        ToReader::Diff { ask, first, second } => {
            let found = with(first.log, |a| with(second.log, |b| json(&diff::diff_ranks((a, first.rank), (b, second.rank)))));
            (ask, found)
        }
    };
    Some(match answer {
        Ok(text) => FromReader::Answer { ask, text },
        Err(message) => FromReader::Unanswered { ask, message },
    })
}

fn nothing() -> String {
    "there is no such graph in the log".to_owned()
}

fn json(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

fn open(id: u32, files: Vec<crate::report::log::GivenFile>) -> Result<String, String> {
    let log = trace::open(files.into_iter().map(|file| Given { name: file.name, bytes: file.bytes.into_vec() }).collect())?;
    let overview = json(&report::overview(&log))?;
    STUDY.with_borrow_mut(|study| study.take_if(|(of, _)| of.log == id));
    LOGS.with_borrow_mut(|logs| logs.insert(id, log));
    Ok(overview)
}

fn with<T>(id: u32, ask: impl FnOnce(&Log) -> Result<T, String>) -> Result<T, String> {
    LOGS.with_borrow(|logs| ask(logs.get(&id).ok_or("the log is not open")?))
}

/// Asks about a compilation, at the sizes that are wanted.
fn in_log<T>(of: &OfLog, ask: impl FnOnce(&Log, usize) -> Result<T, String>) -> Result<T, String> {
    let index = of.compilation as usize;
    with(of.log, |log| {
        if index >= log.compilations.len() {
            Err(nothing())
        } else if of.sizes.is_empty() {
            ask(log, index)
        } else {
            ask(&Log { sizes: of.sizes.clone(), ..log.clone() }, index)
        }
    })
}

fn study<T>(of: OfLog, ask: impl FnOnce(&Study) -> Result<T, String>) -> Result<T, String> {
    STUDY.with_borrow_mut(|known| {
        if known.as_ref().is_none_or(|(last, _)| *last != of) {
            let made = in_log(&of, |log, index| {
                let compilation = &log.compilations[index];
                decision::decide(log, compilation, &decision::graphs(log, compilation)).map(decision::Decision::study)
            });
            *known = Some((of, made));
        }
        match known {
            Some((_, Ok(study))) => ask(study),
            Some((_, Err(why))) => Err(why.clone()),
            None => Err(nothing()),
        }
    })
}
