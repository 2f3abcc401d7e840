//! Runs scripts in this process: on threads with a large stack that keep an interpreter each, for a limited time. An interpreter forgets
//! a script before it runs the next, as in the page; starting one for every script would take seventy megabytes that are not
//! given back. A panic ends its thread and fails that script alone.

use crate::module_files;
use crate::observed::{Observed, observed};
use crate::topics::Case;
use aot_playground::python::{Interpreter, RunOptions, STACK};
use aot_playground::report::Report;
use libtest_mimic::Failed;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a script may run. Most take a tenth of a second; a loaded machine takes its time.
pub const TIME_LIMIT: Duration = Duration::from_secs(120);

/// A script to run.
struct Job {
    source: String,
    /// The name of its file, as tracebacks say it.
    file: String,
    options: RunOptions,
}

/// A thread with an interpreter.
struct Worker {
    jobs: Sender<Job>,
    /// What became of each, with its exit status; nothing more after a panic.
    done: Receiver<(Report, i32)>,
}

/// Those that wait for a script.
static IDLE: Mutex<Vec<Worker>> = Mutex::new(Vec::new());

impl Worker {
    fn start() -> std::io::Result<Self> {
        let (jobs, to_do) = channel::<Job>();
        let (finished, done) = channel();
        let serve = move || {
            let interpreter = Interpreter::new();
            for job in to_do {
                let report = Rc::new(RefCell::new(Report::default()));
                let sink = report.clone();
                let status = interpreter.run(&job.source, &job.file, &job.options, Rc::new(move |event| sink.borrow_mut().fold(event)));
                // Nobody waits for it where the test program ends.
                drop(finished.send((report.take(), status)));
            }
        };
        std::thread::Builder::new().name("python".to_owned()).stack_size(STACK).spawn(serve)?;
        Ok(Worker { jobs, done })
    }
}

/// The report of a script, and its exit status.
///
/// # Errors
///
/// Where the interpreter panics.
pub fn report(source: String, file: String, options: RunOptions) -> Result<(Report, i32), Failed> {
    let idle = IDLE.lock()?.pop();
    let worker = idle.map_or_else(Worker::start, Ok)?;
    let options = RunOptions { time_limit: Some(TIME_LIMIT), ..options };
    worker.jobs.send(Job { source, file, options })?;
    let done = worker.done.recv().map_err(|_| "the interpreter panicked: see the message above")?;
    IDLE.lock()?.push(worker);
    Ok(done)
}

/// Runs a case.
///
/// # Errors
///
/// Where the interpreter panics.
pub fn run(case: &Case, backend: Option<&str>) -> Result<Observed, Failed> {
    let source = std::fs::read_to_string(&case.script)?;
    let file = case.script.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut options = RunOptions { pretend_cuda: case.topic.pretend_cuda, ..RunOptions::default() };
    if let Some(backend) = backend {
        options.backend = backend.to_owned();
    }
    if let Some(folder) = case.modules() {
        let entry = folder.file_name().unwrap_or_default().to_string_lossy();
        Arc::make_mut(&mut options.modules).add(&entry, module_files::read(&folder)?);
    }
    let (report, status) = report(source, file, options)?;
    Ok(observed(&report, status, ""))
}
